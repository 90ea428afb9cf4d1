// SearchPlan: a plan at least as good as that of a request (search), a step of AnswerPlan.
//
//   absl::StatusOr<FoundPlan> found = SearchPlan(cluster, {groups, request, nullptr}, {});
//
// The search begins with the plan that the request asks for and ends when its budget is over, or
// before (search.h).
//
// Cost:    the query's budget.
// Threads: those of `parallelism`; hooks are called by the caller's thread.
// Errors:  those of OptimizePlan.  REQUIRES: CheckQuery (query_fields.h) finds nothing wrong, and
//          there are prices where the query is for cost.

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

// What is planned for; borrowed.
struct PlanTask {
  const NodeGroups& groups;
  const PlanRequest& request;
  const NodePrices* prices = nullptr;  // Null: no prices were given.
};

struct FoundPlan {
  PlanResult made;
  PlanSearch search;
  std::optional<PlanBound> bound;  // As far as the search itself found it.
};

absl::StatusOr<FoundPlan> SearchPlan(LoadedCluster& cluster, const PlanTask& task,
                                     const SearchQuery& query, const PlanHooks& hooks = {},
                                     const Parallelism& parallelism = Parallelism::One());

// How many nodes any plan of the request removes at most, and with `query.for_cost` what it saves.
// `ends`: null, there is time for all.
PlanBound BoundPlan(const LoadedCluster& cluster, const PlanTask& task, const SearchQuery& query,
                    const Deadline* ends);

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_SEARCH_H_
