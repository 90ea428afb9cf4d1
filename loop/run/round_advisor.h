// RoundAdvisor: gives the rounds of a loop a searched order of candidates (TrySearch of
// planning/plan_answer.h).
//
//   RoundAdvisor advisor(scale_down_options, {.iterations = 5});
//   own_rounds_options.advise = [&](const Observation& observed, int64_t now_s,
//                             const std::vector<std::string>& unneeded) {
//     return advisor.Advise(observed, now_s, unneeded);
//   };
//
// A round deletes nodes that were unneeded for a while, so a plan is worth something only if the
// next rounds make the same again.  So a search begins at most every `interval_s`, with the nodes
// that are unneeded now worth a little more than others; rounds in between try the nodes in the
// same order, and the planner's hints lead their pods to the same places.
//
// Rounds decide as ever: timers, budgets, cooldowns, filters and the verifier are theirs.  Of
// deletions in progress a search knows the taints alone.
//
// Cost:    a search every `interval_s`, else O(nodes).
// Threads: those of `parallelism`; one call at a time.

#ifndef EBB_LOOP_RUN_ROUND_ADVISOR_H_
#define EBB_LOOP_RUN_ROUND_ADVISOR_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "engine/scale_down/round.h"
#include "loop/own_rounds.h"

namespace ebb {

struct RoundAdvisorOptions {
  uint64_t iterations = 5;  // Of each search, at most.
  uint64_t seed = 1;
  int64_t interval_s = 600;  // From search to search.
  // How long a search may take on the wall clock: what is left of a round.  Absent: there is time,
  // and the same cluster has the same advice.
  std::optional<double> budget_s = {};
};

class RoundAdvisor {
 public:
  RoundAdvisor(const ScaleDownOptions& rounds, RoundAdvisorOptions options,
               const Parallelism& parallelism = Parallelism::One())
      : planner_(rounds.planner), options_(options), parallelism_(parallelism) {}

  // What OwnRoundsOptions::advise wants.  Absent: there is nothing to say.
  std::optional<RoundAdvice> Advise(const Observation& observed, int64_t now_s,
                                    const std::vector<std::string>& unneeded);

  [[nodiscard]] uint64_t searches() const { return searches_; }

 private:
  std::optional<RoundAdvice> Search(const Observation& observed, int64_t now_s,
                                    const std::vector<std::string>& unneeded);
  [[nodiscard]] std::optional<RoundAdvice> AsBefore(const Observation& observed) const;

  const PlannerOptions planner_;
  const RoundAdvisorOptions options_;
  const Parallelism& parallelism_;
  int64_t searched_s_ = std::numeric_limits<int64_t>::min();
  std::vector<std::string> order_;  // Nodes of the last search, by name.
  uint64_t searches_ = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_ROUND_ADVISOR_H_
