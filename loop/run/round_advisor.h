// RoundAdvisor: finds an order of candidates for the rounds of a loop by search (TrySearch of
// planning/plan_answer.h).
//
//   RoundAdvisor advisor(scale_down_options, {.iterations = 5});
//   own_rounds_options.advise = [&](const Observation& observed, int64_t now_s,
//                             const std::vector<std::string>& unneeded) {
//     return advisor.Advise(observed, now_s, unneeded);
//   };
//
// A round deletes nodes that have been unneeded for a while, so a plan is useful only if the next
// rounds arrive at the same plan.  Therefore a search begins at most every `interval_s`, and in it
// the nodes that are unneeded now are worth slightly more than others.  Rounds in between try the
// nodes in the same order, and the planner's hints lead their pods to the same places.
//
// Rounds still decide as usual, by their own timers, budgets, cooldowns, filters and verifier.  The
// search sees deletions in progress only by their taints.
//
// Cost:    a search every `interval_s`, otherwise O(nodes).
// Threads: the search uses `parallelism`; one call at a time.

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
  uint64_t iterations = 5;  // For each search, at most.
  uint64_t seed = 1;
  int64_t interval_s = 600;  // Between the beginnings of two searches.
  // How long a search may take on the wall clock: what is left of a round.  Absent: no time limit,
  // and the same cluster always gets the same advice.
  std::optional<double> budget_s = {};
};

class RoundAdvisor {
 public:
  RoundAdvisor(const ScaleDownOptions& rounds, RoundAdvisorOptions options,
               const Parallelism& parallelism = Parallelism::One())
      : planner_(rounds.planner), options_(options), parallelism_(parallelism) {}

  // Call it as OwnRoundsOptions::advise.  nullopt: there is no advice.
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
  std::vector<std::string> order_;  // Nodes in the order of the last search.
  uint64_t searches_ = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_RUN_ROUND_ADVISOR_H_
