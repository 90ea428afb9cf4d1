// TaintToleration: every NoSchedule and NoExecute taint of the node is tolerated.
//
// Cost:    O(taints x tolerations).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/tainttoleration.

#ifndef EBB_PREDICATES_TAINT_TOLERATION_H_
#define EBB_PREDICATES_TAINT_TOLERATION_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kUntoleratedTaintReason = "node(s) had untolerated taint(s)";

bool FitsTaintToleration(const Constraints& constraints, const NodeInfo& node);

}  // namespace ebb

#endif  // EBB_PREDICATES_TAINT_TOLERATION_H_
