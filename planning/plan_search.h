// SearchPlan: a plan at least as good as the greedy plan of a request (search).  A step of
// AnswerPlan.
//
//   absl::StatusOr<FoundPlan> found = SearchPlan(cluster, {groups, request, nullptr}, {});
//
// The search starts from the greedy plan and ends when its budget is over, or earlier if no plan
// can be better or the hooks end it.
//
// Cost:    the query's budget.
// Threads: those of `parallelism`; hooks are called by the caller's thread.
// Errors:  those of OptimizePlan.  REQUIRES: CheckQuery (query_fields.h) returns OK, and there are
//          prices if the query is for cost.

#ifndef EBB_PLANNING_PLAN_SEARCH_H_
#define EBB_PLANNING_PLAN_SEARCH_H_

#include <optional>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "groups/prices.h"
#include "planning/plan_hooks.h"
#include "planning/plan_query.h"
#include "report/plan_report.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

// The planning problem; borrowed.
struct PlanTask {
  const NodeGroups& groups;
  const PlanRequest& request;
  const NodePrices* prices = nullptr;  // Null: no prices were given.
};

struct FoundPlan {
  PlanResult made;
  PlanSearch search;
  std::optional<PlanBound> bound;  // If the search itself found a bound.
};

absl::StatusOr<FoundPlan> SearchPlan(LoadedCluster& cluster, const PlanTask& task,
                                     const SearchQuery& query, const PlanHooks& hooks = {},
                                     const Parallelism& parallelism = Parallelism::One());

// An upper bound for the number of nodes that any plan of the request removes, and with
// `query.for_cost` for the savings.  `ends`: null: no time limit.
PlanBound BoundPlan(const LoadedCluster& cluster, const PlanTask& task, const SearchQuery& query,
                    const Deadline* ends);

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_SEARCH_H_
