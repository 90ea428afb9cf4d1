// NodeUnschedulable: a node with spec.unschedulable takes only pods that tolerate
// node.kubernetes.io/unschedulable:NoSchedule.
//
// Cost:    O(tolerations) on a cordoned node, else one load.
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/nodeunschedulable.

#ifndef EBB_PREDICATES_NODE_UNSCHEDULABLE_H_
#define EBB_PREDICATES_NODE_UNSCHEDULABLE_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kUnschedulableReason = "node(s) were unschedulable";

bool FitsNodeUnschedulable(const Catalog& catalog, const Constraints& constraints,
                           const NodeInfo& node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_UNSCHEDULABLE_H_
