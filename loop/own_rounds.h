// OwnRounds: rounds that this process makes (round.h), over a cluster that it observes.
//
//   OwnRounds rounds(scale_down, cluster, options);
//   Loop(rounds, actuator, loop_options).Run(clock);
//
// A round is recorded before it is returned, so that no part of it is carried out that the saved
// state does not contain.
//
// Ownership: borrows all of its arguments.
// Threads:   one at a time.

#ifndef EBB_LOOP_OWN_ROUNDS_H_
#define EBB_LOOP_OWN_ROUNDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/scale_down/round.h"
#include "loop/rounds.h"

namespace ebb {

// What a round tries first (RoundInput).
struct RoundAdvice {
  // All nodes that may be removed, in the order in which to try them.
  std::vector<NodeId> candidates;
  std::vector<Move> suggestions;  // The nodes to try first for their pods.
};

struct OwnRoundsOptions {
  CandidateOrder order = CandidateOrder::kAutoscaler;
  // Called before a round with the names of the nodes that were unneeded after the last one.  A
  // round decides by its own rules; advice only changes which plan it finds.  Null, or nullopt
  // returned: the round uses its own order.
  std::function<std::optional<RoundAdvice>(const Observation& observed, int64_t now_s,
                                           const std::vector<std::string>& unneeded)>
      advise = {};
  // Persists the state after a round.  Null: the state is not persisted.
  std::function<absl::Status(const ScaleDown&, const RoundResult&)> record = {};
};

class OwnRounds final : public Rounds {
 public:
  OwnRounds(ScaleDown& scale_down, ClusterSource& cluster, OwnRoundsOptions options = {})
      : scale_down_(scale_down), cluster_(cluster), options_(std::move(options)) {}

  absl::StatusOr<Observation*> Observe(int64_t now_s) override;
  absl::StatusOr<RoundOrders> Make(const ActuatorStatus& report, int64_t now_s,
                                   std::span<const std::string> left_alone) override;

  // The last round made.
  [[nodiscard]] const std::optional<RoundResult>& last() const { return last_; }

 private:
  ScaleDown& scale_down_;
  ClusterSource& cluster_;
  const OwnRoundsOptions options_;
  std::optional<Observation> observed_;  // For the next round.
  std::vector<ScaleEvent> events_;       // Since the last round made.
  // Unneeded nodes after the last round, by name; for `advise`.
  std::vector<std::string> unneeded_;
  std::optional<RoundResult> last_;
};

}  // namespace ebb

#endif  // EBB_LOOP_OWN_ROUNDS_H_
