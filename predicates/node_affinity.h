// NodeAffinity: nodeSelector and required node affinity.
//
// If every affinity term of a pod names nodes (matchFields metadata.name In), the check has
// two steps.  PreFilter takes the names literally, even from terms that do not parse: it
// rejects all other nodes before any filter runs, with a text of its own.  The filter then
// evaluates the terms.  The filter also rejects every node outside the names, so the
// planner's yes or no needs only the filter.
//
// Cost:    O(requirements x log labels).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/nodeaffinity; the text for
//          nodes outside the names is from schedule_one.go.

#ifndef EBB_PREDICATES_NODE_AFFINITY_H_
#define EBB_PREDICATES_NODE_AFFINITY_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kNodeAffinityReason =
    "node(s) didn't match Pod's node affinity/selector";
// addedAffinity of the scheduler's configuration, which the scheduler tests first.
inline constexpr std::string_view kAddedAffinityReason =
    "node(s) didn't match scheduler-enforced node affinity";
inline constexpr std::string_view kNodeAffinityConflictReason = "pod affinity terms conflict";
inline constexpr std::string_view kOutsideNodeNamesReason =
    "node(s) didn't satisfy plugin(s) [NodeAffinity]";

bool FitsNodeAffinity(const Catalog& catalog, const Constraints& constraints, const NodeInfo& node);

// PreFilter: the terms name sets of nodes that have no node in common.
bool NodeNamesConflict(const Constraints& constraints);

// PreFilter: the terms name nodes, and `node` is not one of them.
bool IsOutsideNodeNames(const Constraints& constraints, const NodeInfo& node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_AFFINITY_H_
