// AnswerReplace: a plan that may buy nodes, so that dearer ones can go.
//
//   absl::StatusOr<std::unique_ptr<ReplaceAnswer>> answer =
//       AnswerReplace(query, {.max_new_nodes = 1}, live, version->cluster);
//   Print(MakeReport((*answer)->Context()));
//
// A new node is a node of the cluster that takes pods, is in no group and never goes.  Which nodes
// go, and where their pods land, is decided by the ordinary search for cost with the ordinary
// filters and rules, and the ordinary verifier checks the plan.  An outer loop chooses the new
// nodes (groups/machine_types.h):
//
//   1. Make the plan without new nodes.
//   2. Bound what any set of new nodes can save (search/bound.h).  The relaxed problem's solution
//      says how many nodes of each type it buys: rounded, these are the first sets that are tried,
//      and one node of each type.
//   3. For each type and for 1, 2, 4, ... nodes of it: make the plan with these nodes besides those
//      chosen so far.  Choose the set that saves the most, and repeat while that saves more.
//   4. Try each other type in place of each chosen node, and each set with one node less; repeat
//      while that saves more.
//   5. Make the plan with the chosen nodes that take pods, and verify it.
//
// Guarantees: the plan is verified; it is returned only if it costs less per hour than the plan
// without purchases, and saves `min_saving` more.  Otherwise the answer is the plan without
// purchases.  With max_new_nodes = 1 each of at most kTypesMax types was tried.  No set of new
// nodes is proven to be the best, but PlanPurchases::least_cost_per_hour says how much better
// another can be.
//
// Rules about spot nodes, as in Karpenter's consolidation.go (pkg/controllers/disruption):
//   - pods of on-demand nodes move to a new spot node only with `allow_spot`, or if the NodePool of
//     their node has spot nodes;
//   - one spot node is replaced by one spot node only if at least 15 spot types of the group are
//     cheaper.
//
// Errors:    those of AnswerPlan; InvalidArgument if the query has no prices, or asks for something
//            that does not go with purchases: `stable`, `search`, `trials`, `bound`, headroom, a
//            time limit.
// Ownership: the answer borrows `live` and `checked`.  `live` must not change until it is used, and
//            has the new nodes afterwards.
// Cost:      a quick search for each set of new nodes that is tried, at most max_tries.
// Threads:   those of `parallelism`; the answer is the same with any number of threads, unless the
//            budget ends the loop.

#ifndef EBB_PLANNING_PLAN_REPLACE_H_
#define EBB_PLANNING_PLAN_REPLACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "groups/machine_types.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "planning/plan_hooks.h"
#include "planning/plan_query.h"
#include "report/plan_purchases.h"

namespace ebb {

// The most sets of new nodes that are tried; the answer mentions if that ends the loop.
inline constexpr size_t kTriesMax = 1000;

struct ReplaceQuery {
  size_t max_new_nodes = 1;
  // What purchases must save at least: a share of the cost of the nodes that stay without them.
  double min_saving = 0;
  // The least score of the plan with purchases (PlanPurchases::Figures::score).  Karpenter's policy
  // Balanced asks for 0.5.
  double min_score = 0;
  double move_cost = 0;          // What moving a pod costs, to be saved in an hour.
  bool allow_spot = false;       // Pods may move from on-demand nodes to new spot nodes.
  size_t max_tries = kTriesMax;  // The most sets of new nodes that are tried.
  // No further set is begun after so many seconds, which makes the answer depend on the speed of
  // the machine.
  std::optional<double> budget_s = {};
  // Iterations of the search (SearchQuery::iterations) for the plans with and without the chosen
  // set.  More find better plans, and take longer.
  uint64_t iterations = 4;
  std::optional<MachineFile> machines = {};  // Absent: only the shapes of the cluster's nodes.
  // Called after some sets were tried, with their number, by the caller's thread.
  std::function<void(size_t tried)> on_tried = nullptr;
};

inline constexpr double kScoreMax = 1000;  // Of ReplaceQuery::min_score.
// At most this many new nodes.
inline constexpr size_t kNewNodesMax = 100;
// At most so many types are tried, those that the bound values most; the answer lists the others.
inline constexpr size_t kTypesMax = 64;

struct ReplaceAnswer {
  std::unique_ptr<PlanAnswer> without;
  // With the new nodes.  Null: nothing is bought.
  std::unique_ptr<PlanAnswer> with = nullptr;
  std::optional<LiveCluster::Version> version = {};  // The cluster of `with`.
  PlanPurchases purchases = {};

  [[nodiscard]] const PlanAnswer& answer() const { return with ? *with : *without; }
  [[nodiscard]] PlanContext Context() const {
    PlanContext context = answer().Context();
    context.purchases = &purchases;
    context.search = std::nullopt;  // Its savings do not count what is bought.
    for (const PlanPurchases::Purchase& each : purchases.buy)
      context.new_nodes.push_back(each.node);
    return context;
  }
};

// InvalidArgument: the query, or a setting of the purchases, does not go with purchases.
absl::Status CheckReplace(const PlanQuery& query, const ReplaceQuery& replace);

// `checked`: a version of `live`, with warnings.
absl::StatusOr<std::unique_ptr<ReplaceAnswer>> AnswerReplace(
    const PlanQuery& query, const ReplaceQuery& replace, LiveCluster& live, LoadedCluster& checked,
    const PlanHooks& hooks = {}, const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_REPLACE_H_
