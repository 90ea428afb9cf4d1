// AnswerPlan answers a PlanQuery over a cluster.  Commands, the daemon, hosts that embed ebb, and
// questions that try changes all get their plans from it.
//
//   absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query, cluster);
//   Print((*answer)->Report());
//
// It assigns groups and makes a plan that takes the deletions under way into account.  As far as
// the query asks for it and the time allows, it searches for a better plan, runs trials of the plan
// and computes a bound.  It verifies the plan that it returns, and adds the warnings of
// plan_warnings.h to the cluster's warnings.
//
// A query with `stable` continues the last plan that `memory` holds, and the plan is verified only
// as often as the query says.
//
// The same query and cluster give the same plan at any number of threads, unless a time limit or a
// hook ends a step.
//
// Errors:    those of CheckQuery (query_fields.h); NotFound, naming a candidate; those of MakePlan.
// Ownership: an answer borrows the cluster.  AnswerPlan changes the cluster: pods that must move
//            off nodes in deletion are taken off these nodes and become its first pending pods
//            (deletions_under_way.h).
// Cost:      that of the plan; assigning groups is O(nodes * labels).
// Threads:   those of `parallelism`; hooks are called by the caller's thread.

#ifndef EBB_PLANNING_PLAN_ANSWER_H_
#define EBB_PLANNING_PLAN_ANSWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "engine/deletions_under_way.h"
#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "engine/stable_planner.h"
#include "groups/prices.h"
#include "planning/plan_hooks.h"
#include "planning/plan_query.h"
#include "report/plan_report.h"
#include "search/bound.h"
#include "search/frontier.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

struct PlanAnswer {
  PlanAnswer() = default;
  PlanAnswer(const PlanAnswer&) = delete;
  PlanAnswer& operator=(const PlanAnswer&) = delete;

  NodeGroups groups;
  std::optional<NodePrices> prices;
  // The request to the engine.  Its spans and pointers refer to this answer; its deadlines are
  // null.
  PlanRequest request;
  PlanResult made;
  std::optional<PlanSearch> search;  // Absent: the query asked for no search.
  std::optional<PlanBound> bound;    // Absent: not requested, or there was no time.
  std::optional<PlanTrials> trials;  // Absent: not requested, or there was no time.
  // How the plan continues the last one, without its `made`, which is the member above.  Absent:
  // the query did not ask for a stable plan.
  std::optional<StablePlan> stable;
  double pass_s = 0;  // How long passes and search took, in seconds.
  double verify_s = 0;

  // The input of reports and explanations.
  [[nodiscard]] PlanContext Context() const {
    return {.cluster = cluster,
            .groups = &groups,
            .request = &request,
            .made = &made,
            .prices = prices ? &*prices : nullptr,
            .search = search,
            .bound = bound,
            .trials = trials,
            .stable = stable ? &*stable : nullptr,
            .pass_s = pass_s,
            .verify_s = verify_s};
  }
  [[nodiscard]] PlanReport Report() const { return MakeReport(Context()); }

  const LoadedCluster* cluster = nullptr;
  // The candidates of the query; `request` refers to them.
  std::vector<NodeId> candidates;
  std::optional<DeletionsUnderWay> deletions;  // Deletions under way; `request` refers to them.
};

// `memory`: the last stable plan, for a query with `stable`; null: no plan was kept.
absl::StatusOr<std::unique_ptr<PlanAnswer>> AnswerPlan(
    const PlanQuery& query, LoadedCluster& cluster, const PlanHooks& hooks = {},
    const Parallelism& parallelism = Parallelism::One(), StablePlanner* memory = nullptr);

// Makes only a plan, over groups that are already assigned, and restores the snapshot afterwards:
// for questions that change a cluster many times.  Ignores the query's search, trials, prices,
// bound and time.
absl::StatusOr<PlanResult> TryPlan(const PlanQuery& query, const NodeGroups& groups,
                                   ClusterSnapshot& snapshot, std::span<const PodId> pending);

// The plan of TryPlan, not verified, for questions that make many plans and look closer at few.
// Cost: about half of TryPlan.
absl::StatusOr<PlanResult> TryPlanUnverified(const PlanQuery& query, const NodeGroups& groups,
                                             ClusterSnapshot& snapshot,
                                             std::span<const PodId> pending);

enum class SearchEffort : uint8_t { kFull, kQuick };  // SearchOptions::quick.

// The best plan that a search finds, for loops.  Their rounds account for nodes in deletion and
// verify their own plan, so this function does neither.  `worth`: of removing a node, by NodeId
// (search/search.h).  Uses the seed and the maximum `iterations` of `query.search`;
// `query.seconds` ends the search too.  The snapshot is restored afterwards.  `deletions`: whether
// the plan accounts for nodes in deletion itself.
absl::StatusOr<PlanResult> TrySearch(
    const PlanQuery& query, const NodeGroups& groups, ClusterSnapshot& snapshot,
    std::span<const PodId> pending, std::span<const int64_t> worth, const Parallelism& parallelism,
    DeletionsInSnapshot deletions = DeletionsInSnapshot::kLeftToCaller,
    SearchEffort effort = SearchEffort::kFull);

// An upper bound of the worth of every plan, less the price of the nodes that are bought for it
// (search/bound.h).  The snapshot has a node for each offer.
absl::StatusOr<RemovalBound> TryBound(const PlanQuery& query, const NodeGroups& groups,
                                      const ClusterSnapshot& snapshot,
                                      std::span<const PodId> pending,
                                      std::span<const int64_t> worth,
                                      std::span<const BoundOffer> offers);

// For each number of evictions, the best plan found (search/frontier.h).
struct FrontierAnswer {
  Frontier frontier;
  std::optional<NodePrices> prices;
};
// Uses from `query.search` the seed, `budget_s` for all searches together and `iterations` for each
// number of evictions; both limits end a search.  `query.seconds` ends the searches too, but
// shortens no plan.  `on_points` as for FindFrontier.
absl::StatusOr<FrontierAnswer> AnswerFrontier(const PlanQuery& query, LoadedCluster& cluster,
                                              const PlanHooks& hooks = {},
                                              const Parallelism& parallelism = Parallelism::One(),
                                              const OnFrontierPoints& on_points = nullptr);

// Takes new nodes out of their groups, so that they do not count in the groups' sizes and never go.
void HideNewNodes(const Catalog& catalog, const PlanQuery& query, NodeGroups& groups);

// The checks before a plan.  Appends warnings about the groups, then `others`, then warnings about
// the time to the cluster's warnings.  Returns the time to plan for: `now_s`, or TimeToPlanFor() if
// that is absent.
// Errors: those of CheckMinimums.
absl::StatusOr<int64_t> CheckBeforePlan(const GroupRules& rules,
                                        std::span<const InputWarning> others,
                                        std::optional<int64_t> now_s, int64_t clock_s,
                                        LoadedCluster& cluster);

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_ANSWER_H_
