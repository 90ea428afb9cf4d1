// Explain tells why one node of a plan is kept or goes, pod by pod.
//
// It goes back to the moment of the pass when the node had its turn: removals before
// it are carried out on a copy of the cluster.  Then each pod is judged by the
// drainability rules, and for a node that no place could be found for, each pod
// that must move is tried on every node, one after the other, and the noes are
// counted in the scheduler's words.
//
// Cost: one branch of the snapshot; nodes x pods of the node filter evaluations.

#ifndef EBB_TOOLS_EXPLAIN_H_
#define EBB_TOOLS_EXPLAIN_H_

#include <iosfwd>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/plan_report.h"

namespace ebb {

// Errors: NotFound, if there is no such node.
absl::Status ExplainNode(const PlanReport& report, std::string_view node, std::ostream& out);

// "0/12 nodes are available: 7 Insufficient cpu (NodeResourcesFit), ...", over all
// nodes of `snapshot` but its ghost; `fitting` gets the first node that fits, or kNoNode.
std::string TryEverywhere(const ClusterSnapshot& snapshot, PodId pod, NodeId& fitting);

}  // namespace ebb

#endif  // EBB_TOOLS_EXPLAIN_H_
