// SessionSizing: sizes pools of a daemon's session, in a loop whose rounds the session makes.
//
//   SessionSizing sizing(calls, "prod", cluster, {.now = Remembered, .restore = Restore});
//   rounds_options.cluster = &sizing;
//   rounds_options.sizing = [&] { return sizing.ToKeep(); };
//   SessionRounds rounds(calls, rounds_options);
//   Loop loop(rounds, actuator, loop_options);
//
// The state of the policies is kept in the session's state file, written in one transaction with
// the round.  Each observation begins by reading that state.  If another writer has changed it,
// such as an earlier process or an operator who ended a failsafe, the sizer's state is replaced
// with it.  If the change comes during a round, the session rejects that round, which costs one
// turn.
//
// Errors:  those of the calls and of the cluster; Internal: an impossible reply of the session.
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

// Access to the sizer's state.
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
  // The state to store with the round that is about to be made.
  SizingState ToKeep();

 private:
  SessionCalls& calls_;
  const std::string session_;
  ClusterSource& cluster_;
  const SizingMemory memory_;
  std::optional<SizingState> last_read_;  // As the session last reported it.
  std::optional<SizingState> sent_;       // With the last round; the session may have stored it.
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_SESSION_SIZING_H_
