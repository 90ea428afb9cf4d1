// Words on Karpenter's rules: why they keep a node, as Karpenter's own events say it; and warnings
// about NodePools and NodeClaims that do not fit together or that ebb does not understand.
//
// Cost:    KarpenterWords O(labels of the node); WarnOfKarpenter O(nodes + NodeClaims).
// Threads: pure.
// Source:  karpenter 1.14.3: the messages in pkg/controllers/disruption and
//          pkg/controllers/state/statenode.go.

#ifndef EBB_REPORT_KARPENTER_WORDS_H_
#define EBB_REPORT_KARPENTER_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

// Whether one of Karpenter's rules keeps the node.
bool IsKarpenters(const NodeGroups& groups, const UnremovableNode& why);

// What Karpenter's event says; empty if none of its rules keeps the node.
std::string KarpenterWords(const Catalog& catalog, const NodeGroups& groups,
                           const UnremovableNode& why, int64_t now_s);

// Replaces the warnings of this kind in `warnings`.
void WarnOfKarpenter(const ClusterSnapshot& snapshot, const NodeGroups& groups, const Plan& plan,
                     int64_t now_s, std::vector<InputWarning>& warnings);

}  // namespace ebb

#endif  // EBB_REPORT_KARPENTER_WORDS_H_
