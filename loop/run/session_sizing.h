// SessionSizing: pools of a daemon's session, for a loop whose rounds the session makes.
//
//   SessionSizing sizing(calls, "prod", cluster, {.now = Remembered, .restore = Restore});
//   rounds_options.cluster = &sizing;
//   rounds_options.sizing = [&] { return sizing.ToKeep(); };
//   SessionRounds rounds(calls, rounds_options);
//   Loop loop(rounds, actuator, loop_options);
//
// What policies remember stands in the session's state file, written in one transaction with the
// round.  Each observation begins with what stands there: where somebody else wrote it, such as
// another process before this one or an operator who ended a failsafe, it is restored.  The round
// during which that happens is refused by the session, and costs a turn.
//
// Errors:  those of the calls and of the cluster; Internal: what the session tells cannot be.
// Cost:    a call, and what observing the cluster costs.
// Threads: one at a time.

#ifndef EBB_LOOP_RUN_SESSION_SIZING_H_
#define EBB_LOOP_RUN_SESSION_SIZING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "daemon/session_calls.h"
#include "engine/scale_down/sizing_state.h"
#include "loop/rounds.h"

namespace ebb {

// Of the sizer.
struct SizingMemory {
  std::function<SizingState()> now;
  std::function<void(SizingState)> restore;
};

class SessionSizing : public ClusterSource {
 public:
  // Borrows calls and cluster.
  SessionSizing(SessionCalls& calls, std::string session, ClusterSource& cluster,
                SizingMemory memory)
      : calls_(calls),
        session_(std::move(session)),
        cluster_(cluster),
        memory_(std::move(memory)) {}

  absl::StatusOr<Observation> Observe(int64_t now_s) override;
  // What the round that is asked for now is to keep.
  SizingState ToKeep();

 private:
  SessionCalls& calls_;
  const std::string session_;
  ClusterSource& cluster_;
  const SizingMemory memory_;
  std::optional<SizingState> told_;  // As the session told it last.
  std::optional<SizingState> sent_;  // With the last round, which the session may have kept.
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_SESSION_SIZING_H_
