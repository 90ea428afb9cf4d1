// SearchPlan: the plan of a request, or a better one that was looked for (engine/search).
//
//   PlanSearchOptions options{.budget_s = 2};
//   absl::StatusOr<FoundPlan> found = SearchPlan(cluster, groups, request, nullptr, options);
//
// What `ebb plan --optimize` and a call with `search` do.  The search begins with the plan that the
// request asks for and ends when its budget is over, or before (search.h).
//
// Cost:    as long as it is given.
// Threads: those of `parallelism`; `on_better` is called by the caller's thread.
// Errors:  InvalidArgument, for options that contradict one another; those of OptimizePlan.

#ifndef EBB_SERVICE_PLAN_SEARCH_H_
#define EBB_SERVICE_PLAN_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "engine/make_plan.h"
#include "engine/node_groups.h"
#include "service/plan_report.h"
#include "service/prices.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

struct PlanSearchOptions {
  // How long, the first plan included.  0: that plan alone.
  double budget_s = 1;
  // So many iterations instead, however long they take: the same plan each time.
  std::optional<uint64_t> iterations = {};
  uint64_t seed = 1;
  bool for_cost = false;  // What nodes cost counts, and not how many they are.
  double move_cost = 0;   // Of moving a pod, with `for_cost`: to be saved within an hour.
  // The plan evicts at most so many pods.
  std::optional<size_t> max_evictions = {};
  // How many nodes any plan removes at most is told, and looked for if the search did not.
  bool bound = false;
  // Ends the search whatever `budget_s` and `iterations` say; null: nothing does.
  const Deadline* cancelled = nullptr;
  // Told of each better plan, the first one first; null: nobody is.
  std::function<void(const PlanResult&)> on_better = {};
};

struct FoundPlan {
  PlanResult made;
  PlanSearch search;
  std::optional<PlanBound> bound;  // As far as there was time for it.
};

// `prices`: what nodes cost; null: nobody gave any.
absl::StatusOr<FoundPlan> SearchPlan(LoadedCluster& cluster, const NodeGroups& groups,
                                     const PlanRequest& request, const NodePrices* prices,
                                     const PlanSearchOptions& options,
                                     const Parallelism& parallelism = Parallelism::One());

// How many nodes any plan of the request removes at most, and for_cost what it saves.
PlanBound BoundPlan(LoadedCluster& cluster, const NodeGroups& groups, const PlanRequest& request,
                    const NodePrices* prices, const PlanSearchOptions& options);

}  // namespace ebb

#endif  // EBB_SERVICE_PLAN_SEARCH_H_
