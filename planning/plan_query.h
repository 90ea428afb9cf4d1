// PlanQuery: one question "which nodes of this cluster can go?", as data.
//
//   PlanQuery query{.now_s = now_s, .search = SearchQuery{.budget_s = 2}};
//   absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query, cluster);
//
// It refers to objects by name, owns all of its data and has no pointers.  So a caller can store
// it, send it, and ask it again about another version of the cluster.  Callbacks are not part of it
// (plan_hooks.h).
//
// Errors:  AnswerPlan rejects a wrong query (query_fields.h).
// Threads: plain data.

#ifndef EBB_PLANNING_PLAN_QUERY_H_
#define EBB_PLANNING_PLAN_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/candidate_order.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/stable_options.h"
#include "groups/groups.h"
#include "groups/prices.h"
#include "planning/deadlines.h"

namespace ebb {

// A search for a better plan (search).
struct SearchQuery {
  // Time in seconds, including the first plan; used up unless no plan can be better.  0: only the
  // first plan.
  double budget_s = 1;
  // Run exactly this many iterations instead, however long they take: the plan is the same each
  // time.
  std::optional<uint64_t> iterations = {};
  uint64_t seed = 1;
  bool for_cost = false;  // Maximise the price of the removed nodes, not their number.
  // With `for_cost`, the price of moving a pod: a move must save that much within an hour.
  double move_cost = 0;
  // The plan evicts at most this many pods.
  std::optional<size_t> max_evictions = {};
};

// Trials in which a simulated scheduler that does not know the plan places the evicted pods
// (simulation/eviction_trials.h).
struct TrialQuery {
  uint32_t trials = 20;  // In each order of evictions; 1 or more.
  uint64_t seed = 1;
  // The share of pods that are nominated to their place in the plan.
  double nominated_share = 0;
  // First shorten the plan until pods stay pending in at most this share of trials.
  std::optional<double> robust = {};
};

// A node of the cluster that does not exist yet (plan_replace.h).
struct NewNode {
  std::string name;
  double hourly = 0;
};

struct PlanQuery {
  PlannerOptions planner = {};
  GroupRules groups = {};
  int64_t now_s = 0;  // Unix time.
  CandidateOrder order = CandidateOrder::kAutoscaler;
  // Names of nodes, each at most once.  Absent: every node.  Nodes whose group may not shrink are
  // left out in both cases.
  std::optional<std::vector<std::string>> candidates = {};
  // Nodes that take pods, are in no group and never go.  The cluster has them.
  std::vector<NewNode> new_nodes = {};
  // The limit of an autoscaler's first pass.  Absent: every candidate is judged.
  std::optional<int64_t> max_scale_down_parallelism = {};
  // At most this share of a workload's pods is evicted, above 0.  1: no limit.
  double max_workload_share = 1;
  std::optional<PriceList> prices = {};    // Absent: prices are unknown.
  std::optional<SearchQuery> search = {};  // Absent: make the greedy plan.
  std::optional<TrialQuery> trials = {};   // Absent: run no trials.
  // Keep the last plan and repair it (engine/stable_planner.h).  Absent: the plan does not depend
  // on earlier ones.  Excludes `search` and `trials.robust`.
  std::optional<StableOptions> stable = {};
  // Also compute an upper bound for the number of nodes that any plan removes.
  bool bound = false;
  // Time for the whole answer, in seconds from the call; below 0: already over.  Absent: no limit.
  std::optional<double> seconds = {};
  TimeShares shares = kTimeOfCommand;  // How `seconds` is divided (deadlines.h).
};

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_QUERY_H_
