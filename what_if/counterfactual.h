// FindRemedies: which single changes would let a node go that stays.
//
// Each is tried: the plan is made again as if it had been made, over the whole cluster.  Of changes
// by amounts (a budget that allows more, room on a node, a threshold) the smallest that was found
// is told.  None may help: a node can have two obstacles.
//
// Cost:    a plan for each that is tried, some 20 at most.
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

struct Counterfactual {
  struct Help {
    std::string what;  // "PodDisruptionBudget shop/db allows 1 disruption more"
    std::vector<ObjectPatch> objects;
    size_t removed = 0;  // Nodes that go then, this one among them.
  };
  struct InVain {
    std::string what;
    std::string still_kept_by;  // RemedyTrials::Outcome.
  };
  size_t removed = 0;           // Nodes that go as things are.
  std::vector<Help> helps;      // Each by itself.
  std::vector<InVain> in_vain;  // What was tried too.
};

// `explanation` is that of a node of the report that stays; `query` and `cluster` as of
// FindBlockers.  What is left when `stops` has expired is in `in_vain` as not tried; null: never.
absl::StatusOr<Counterfactual> FindRemedies(const PlanReport& report,
                                            const Explanation& explanation, const PlanQuery& query,
                                            LiveCluster& cluster, const Deadline* stops = nullptr);

// The same of each node; one that goes has none.
absl::StatusOr<std::vector<Counterfactual>> FindAllRemedies(const PlanReport& report,
                                                            std::span<const NodeId> nodes,
                                                            const PlanQuery& query,
                                                            LiveCluster& cluster,
                                                            const Deadline* stops = nullptr);

// What an explanation has under "remedies" of a node.
nlohmann::ordered_json CounterfactualJson(const Counterfactual& found);
// Puts that into an explanation of the same nodes (ExplanationJson).
void PutRemedies(std::span<const Counterfactual> found, nlohmann::ordered_json& explanation);

}  // namespace ebb

#endif  // EBB_WHAT_IF_COUNTERFACTUAL_H_
