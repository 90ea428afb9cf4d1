// AnswerPlan answers a PlanQuery over a cluster: the one way to a plan for commands, the daemon,
// hosts that embed it, and questions that try changes.
//
//   absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query, cluster);
//   Print((*answer)->Report());
//
// It assigns groups, plans beside the deletions that are under way, searches, tries the plan out
// and bounds it as far as the query asks for that and its time allows, verifies what it returns,
// and adds to the cluster's warnings those that only a plan shows (plan_warnings.h).
//
// The same query and cluster give the same plan at any number of threads, where no time limit and
// no hook ends a step.
//
// Errors:    those of CheckQuery (query_fields.h); NotFound, naming a candidate; those of MakePlan.
// Ownership: an answer borrows the cluster, of which the pods that must move off nodes in deletion
//            were taken off their nodes and are its first pending ones (deletions_under_way.h).
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
#include "groups/prices.h"
#include "planning/plan_hooks.h"
#include "planning/plan_query.h"
#include "report/plan_report.h"
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
  // What the engine was asked.  Its spans and pointers are into this answer; no deadline is left.
  PlanRequest request;
  PlanResult made;
  std::optional<PlanSearch> search;  // Absent: the plan was not searched for.
  std::optional<PlanBound> bound;    // Absent: not asked for, or there was no time.
  std::optional<PlanTrials> trials;  // The same.
  double pass_s = 0;                 // How long passes and search took.
  double verify_s = 0;

  // What reports and explanations are made of.
  [[nodiscard]] PlanContext Context() const {
    return {.cluster = cluster,
            .groups = &groups,
            .request = &request,
            .made = &made,
            .prices = prices ? &*prices : nullptr,
            .search = search,
            .bound = bound,
            .trials = trials,
            .pass_s = pass_s,
            .verify_s = verify_s};
  }
  [[nodiscard]] PlanReport Report() const { return MakeReport(Context()); }

  const LoadedCluster* cluster = nullptr;
  std::vector<NodeId> candidates;              // Those of the query; the request points there.
  std::optional<DeletionsUnderWay> deletions;  // The same.
};

absl::StatusOr<std::unique_ptr<PlanAnswer>> AnswerPlan(
    const PlanQuery& query, LoadedCluster& cluster, const PlanHooks& hooks = {},
    const Parallelism& parallelism = Parallelism::One());

// The plan alone, over groups that are assigned, in a snapshot that is afterwards as it was: for
// questions that change a cluster many times.  Of the query's search, trials, prices, bound and
// time nothing is read.
absl::StatusOr<PlanResult> TryPlan(const PlanQuery& query, const NodeGroups& groups,
                                   ClusterSnapshot& snapshot, std::span<const PodId> pending);

// The best plan that a search finds, for loops: their rounds account for nodes in deletion and
// verify their own plan, so this one does neither.  `worth`: of removing a node, by NodeId
// (search/search.h).  Of `query.search` it reads the seed and `iterations`, the most that
// there may be; `query.seconds` ends it too.  The snapshot is afterwards as it was.
absl::StatusOr<PlanResult> TrySearch(const PlanQuery& query, const NodeGroups& groups,
                                     ClusterSnapshot& snapshot, std::span<const PodId> pending,
                                     std::span<const int64_t> worth,
                                     const Parallelism& parallelism);

// For each number of evictions the best plan that was found (search/frontier.h).
struct FrontierAnswer {
  Frontier frontier;
  std::optional<NodePrices> prices;
};
// Of `query.search` the seed, `budget_s` for all of its searches together and `iterations` for each
// count; both end it.  `query.seconds` ends the searches and cuts no plan.
absl::StatusOr<FrontierAnswer> AnswerFrontier(const PlanQuery& query, LoadedCluster& cluster,
                                              const PlanHooks& hooks = {},
                                              const Parallelism& parallelism = Parallelism::One());

// What is left to judge before a plan: adds to the cluster's warnings those about its groups, then
// `others`, then those about the time, and returns the time to plan for: `now_s`, or that of
// TimeToPlanFor where it is absent.
// Errors: those of CheckMinimums.
absl::StatusOr<int64_t> JudgeForPlan(const GroupRules& rules, std::span<const InputWarning> others,
                                     std::optional<int64_t> now_s, int64_t clock_s,
                                     LoadedCluster& cluster);

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_ANSWER_H_
