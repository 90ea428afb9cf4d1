// PlanQuery: one question "which nodes of this cluster can go?", as data.
//
//   PlanQuery query{.now_s = now_s, .search = SearchQuery{.budget_s = 2}};
//   absl::StatusOr<std::unique_ptr<PlanAnswer>> answer = AnswerPlan(query, cluster);
//
// It names objects by name, owns all that it holds and points at nothing, so that it can be kept,
// sent and asked again of another version of the cluster.  What a caller wants to hear meanwhile
// is no part of it (PlanHooks).

#ifndef EBB_PLANNING_PLAN_QUERY_H_
#define EBB_PLANNING_PLAN_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/candidate_order.h"
#include "engine/plan/pass_input.h"
#include "groups/groups.h"
#include "groups/prices.h"
#include "planning/deadlines.h"

namespace ebb {

// A search for a better plan (search).
struct SearchQuery {
  // How long, the first plan included.  0: that plan alone.
  double budget_s = 1;
  // So many iterations instead, however long they take: the same plan each time.
  std::optional<uint64_t> iterations = {};
  uint64_t seed = 1;
  bool for_cost = false;  // What nodes cost counts, and not how many they are.
  double move_cost = 0;   // Of moving a pod, with `for_cost`: to be saved within an hour.
  // The plan evicts at most so many pods.
  std::optional<size_t> max_evictions = {};
};

// Trials of the plan with a scheduler that does not know it (simulation/eviction_trials.h).
struct TrialQuery {
  uint32_t trials = 20;  // Of each kind, 1 or more.
  uint64_t seed = 1;
  // Of the pods so many are nominated to their place in the plan.
  double nominated_share = 0;
  // First shorten the plan until pods stay pending in at most that share of trials.
  std::optional<double> robust = {};
};

struct PlanQuery {
  PlannerOptions planner = {};
  GroupRules groups = {};
  int64_t now_s = 0;  // Unix time.
  CandidateOrder order = CandidateOrder::kAutoscaler;
  // Names of nodes, each at most once.  Absent: every node.  Those whose group may not shrink are
  // left out either way.
  std::optional<std::vector<std::string>> candidates = {};
  // Absent: every candidate is judged.  Else the limit of an autoscaler's first pass.
  std::optional<int64_t> max_scale_down_parallelism = {};
  // Of the pods of a workload at most this share is evicted, above 0.  1: no limit.
  double max_workload_share = 1;
  std::optional<PriceList> prices = {};    // What nodes cost; absent: not known.
  std::optional<SearchQuery> search = {};  // Absent: the greedy plan.
  std::optional<TrialQuery> trials = {};   // Absent: the plan is not tried out.
  bool bound = false;                      // Also find how many nodes any plan removes at most.
  // For the whole answer, from the call on; below 0: it is over.  Absent: no limit.
  std::optional<double> seconds = {};
  TimeShares shares = kTimeOfCommand;  // How `seconds` is divided.
};

}  // namespace ebb

#endif  // EBB_PLANNING_PLAN_QUERY_H_
