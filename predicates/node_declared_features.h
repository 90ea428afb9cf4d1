// NodeDeclaredFeatures: the node declares every kubelet feature that the pod needs.
//
// Cost:    three loads for a pod that needs no feature, else O(log features).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/nodedeclaredfeatures and
//          component-helpers nodedeclaredfeatures/features.

#ifndef EBB_PREDICATES_NODE_DECLARED_FEATURES_H_
#define EBB_PREDICATES_NODE_DECLARED_FEATURES_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kDeclaredFeaturesReason =
    "node(s) didn't match Pod's required features";

bool FitsNodeDeclaredFeatures(const Catalog& catalog, const PodShape& shape, const NodeInfo& node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_DECLARED_FEATURES_H_
