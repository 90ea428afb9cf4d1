// CandidateOrder: the order in which a pass tries the nodes that may be removed.
//
// Plans (make_plan.h) and rounds (round.h) sort their candidates here.
//
// Cost:    O(candidates + pods on them); kAutoscaler stops at a node's first pod that moves.
// Threads: pure functions.
// Source:  cluster-autoscaler processors/scaledowncandidates (emptycandidates,
//          previouscandidates) and processors/nodes/pre_filtering_processor.go.

#ifndef EBB_ENGINE_PLAN_CANDIDATE_ORDER_H_
#define EBB_ENGINE_PLAN_CANDIDATE_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

enum class CandidateOrder : uint8_t {
  kAutoscaler,     // Empty nodes first, then nodes with on-completion pods only, then others; in
                   // each class nodes that were unneeded before come first, then as given.
  kInput,          // As given.
  kFewestPods,     // By the number of pods that must move.
  kLeastUtilized,  // By utilization.
};

// Whether nodes of the group can be candidates at all.  Deletions in progress do not count.
inline bool MayShrink(const NodeGroup& group) { return group.target_size > group.min_size; }

// Sorts nodes of the snapshot's catalog; equal nodes keep their given order.  `was_unneeded`: the
// nodes that the previous pass found unneeded; null: there was no previous pass.  These nodes come
// first, so that their timers continue; with kAutoscaler they come first among nodes that are
// equally empty.
void SortCandidates(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlannerOptions& options, CandidateOrder order, int64_t now_s,
                    const NodeSet* was_unneeded, std::vector<NodeId>& candidates);

// Moves the nodes of `first` that are candidates to the front, in the order of `first`.  The others
// keep their order.  `nodes`: how many ids the catalog has.
void MoveToFront(std::span<const NodeId> first, size_t nodes, std::vector<NodeId>& candidates);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_CANDIDATE_ORDER_H_
