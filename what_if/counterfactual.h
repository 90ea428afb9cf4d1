// FindRemedies lists single changes after which a node that stays would go.
//
// Each change is tried: it is made, and the plan for the whole cluster is made again.  For changes
// by an amount (a budget that allows more, room on a node, a threshold), the smallest amount found
// is reported.  It is possible that no single change helps, because a node can have two obstacles.
//
// Cost:    one plan per change that is tried, at most about 20.
// Threads: one at a time.
// Errors:  those of MakePlan and PatchedCluster.

#ifndef EBB_WHAT_IF_COUNTERFACTUAL_H_
#define EBB_WHAT_IF_COUNTERFACTUAL_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "planning/live_cluster.h"
#include "report/explain.h"
#include "report/plan_report.h"
#include "snapshot/ids.h"
#include "what_if/remedy.h"

namespace ebb {

// The changes that were tried so that one node goes.
struct Counterfactual {
  struct Help {
    std::string what;  // "PodDisruptionBudget shop/db allows 1 disruption more"
    std::vector<ObjectPatch> objects;
    std::vector<std::string> commands;  // Remedy::commands.
    size_t removed = 0;                 // Nodes that go after the change, including this node.
  };
  struct InVain {
    std::string what;
    std::string still_kept_by;  // RemedyPlanner::Outcome.
  };
  size_t removed = 0;           // Nodes that go without any change.
  std::vector<Help> helps;      // Each one is sufficient by itself.
  std::vector<InVain> in_vain;  // Changes that were tried and do not help.
};

// `explanation` is for a node of the report that stays; `query` and `cluster` are as for
// FindBlockers.  Changes that remain when `stops` expires are in `in_vain`, as not tried; null: no
// time limit.
absl::StatusOr<Counterfactual> FindRemedies(const PlanReport& report,
                                            const Explanation& explanation, const PlanQuery& query,
                                            LiveCluster& cluster, const Deadline* stops = nullptr);

// As FindRemedies, for each node; a node that goes has no remedies.
absl::StatusOr<std::vector<Counterfactual>> FindAllRemedies(const PlanReport& report,
                                                            std::span<const NodeId> nodes,
                                                            const PlanQuery& query,
                                                            LiveCluster& cluster,
                                                            const Deadline* stops = nullptr);

// The value of "remedies" in an explanation of a node.
nlohmann::ordered_json CounterfactualJson(const Counterfactual& found);
// Adds these values to an explanation of the same nodes (ExplanationJson).
void PutRemedies(std::span<const Counterfactual> found, nlohmann::ordered_json& explanation);

}  // namespace ebb

#endif  // EBB_WHAT_IF_COUNTERFACTUAL_H_
