// Flags of the search for a better plan (engine/search) and of trials of a plan
// (engine/simulation/eviction_trials.h): `ebb plan --optimize --trials 20`.

#ifndef EBB_TOOLS_SEARCH_FLAGS_H_
#define EBB_TOOLS_SEARCH_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "service/planning/plan_query.h"

namespace CLI {
class App;
}

namespace ebb {

struct SearchFlags {
  bool optimize = false;
  std::string budget = "1s";
  uint64_t seed = 1;
  // So many and no more, whatever time they take.
  std::optional<uint64_t> iterations;
  std::string objective = "nodes";  // Or "cost".
  double move_cost = 0;             // Of a pod, with "cost".
  [[nodiscard]] bool ForCost() const { return objective == "cost"; }

  // The plan evicts at most so many pods.
  std::optional<size_t> max_evictions;

  // Tell how many nodes any plan removes at most.
  bool bound = false;

  // How often the plan is tried out with a scheduler that does not know it; 0: not.
  uint32_t trials = 0;
  // Shorten the plan until pods stay pending in at most that share of trials.
  std::optional<double> robust;

  // Of the pods in a trial, so many are nominated to their place in the plan.
  double nominated_share = 0;

  // Trials of each kind: with `robust` there are some even if nobody said how many.
  [[nodiscard]] uint32_t Trials() const { return robust && trials == 0 ? 20 : trials; }

  // What PlanQuery has of the flags.  REQUIRES: flags that were checked.
  [[nodiscard]] std::optional<SearchQuery> Search() const;
  [[nodiscard]] std::optional<TrialQuery> TrialsAsked() const;

  void AddTo(CLI::App& app);
};

}  // namespace ebb

#endif  // EBB_TOOLS_SEARCH_FLAGS_H_
