// Warnings that only a plan shows: groups that lose all of their nodes while no minimum of theirs
// is known, and annotations `safe-to-evict: "false"` that did not keep their nodes.
//
// Cost:    O(groups + pods of the nodes that go).
// Threads: pure.

#ifndef EBB_REPORT_PLAN_WARNINGS_H_
#define EBB_REPORT_PLAN_WARNINGS_H_

#include <string>
#include <vector>

#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

// A pod of a node that goes, whose annotation did not keep the node.
struct PassedOverPod {
  PodId pod;
  std::string words;  // PassedOverWords
};
// `snapshot` is as it was before the plan.
std::vector<PassedOverPod> PassedOverOn(const ClusterSnapshot& snapshot, const PlanRequest& request,
                                        NodeId node);

// Appends them, in place of those of an earlier plan; `snapshot` is as it was before the plan.
void WarnOfPlan(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                const PlanRequest& request, const PlanResult& made,
                std::vector<InputWarning>& warnings);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_WARNINGS_H_
