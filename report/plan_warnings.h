// Warnings that only a plan can cause: groups that lose all of their nodes without a known minimum,
// annotations `safe-to-evict: "false"` that did not keep their nodes, pods that move and request
// nothing.
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

// A pod of a removed node, whose annotation did not keep the node.
struct PassedOverPod {
  PodId pod;
  std::string words;  // PassedOverWords
};
// `snapshot` is as it was before the plan.
std::vector<PassedOverPod> PassedOverOn(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                        const PlanRequest& request, NodeId node);

// Replaces the plan warnings of an earlier plan in `warnings` with those of this plan; `snapshot`
// is as it was before the plan.
void WarnOfPlan(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                const PlanRequest& request, const PlanResult& made,
                std::vector<InputWarning>& warnings);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_WARNINGS_H_
