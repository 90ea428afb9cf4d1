// NodeAffinity: nodeSelector and required node affinity.
//
// A pod whose every affinity term asks for nodes by name (matchFields
// metadata.name In) is judged in two steps.  PreFilter takes the names literally,
// also of terms that do not parse: nodes outside are refused before any filter
// runs, with a text of their own.  The filter then evaluates the terms.  A node
// outside the names never passes the filter either, so the planner's yes or no
// needs the filter only.
//
// Cost:    O(requirements x log labels).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/nodeaffinity; the text for
//          nodes outside the names is schedule_one.go's.

#ifndef EBB_PREDICATES_NODE_AFFINITY_H_
#define EBB_PREDICATES_NODE_AFFINITY_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

inline constexpr std::string_view kNodeAffinityReason =
    "node(s) didn't match Pod's node affinity/selector";
inline constexpr std::string_view kNodeAffinityConflictReason = "pod affinity terms conflict";
inline constexpr std::string_view kOutsideNodeNamesReason =
    "node(s) didn't satisfy plugin(s) [NodeAffinity]";

bool FitsNodeAffinity(const Catalog& catalog, const Constraints& constraints, const NodeInfo& node);

// PreFilter: the terms ask for names that contradict each other.
bool NodeNamesConflict(const Constraints& constraints);

// PreFilter: `node` is none of the names asked for.
bool IsOutsideNodeNames(const Constraints& constraints, const NodeInfo& node);

}  // namespace ebb

#endif  // EBB_PREDICATES_NODE_AFFINITY_H_
