// BoundRemovals: no plan removes more nodes than this, or nodes worth more.
//
// A plan is as good as its distance from the best one, which nobody knows.  This says in
// milliseconds how far away that can be at most.
//
// Some nodes can go in no plan: they are not eligible, a pod blocks them, or by themselves they
// break one of the limits below.  Of the others every plan chooses some, x = 1, and keeps
//   - for each resource:  sum x * (what its pods that move ask for + its own room)
//                         <= room of all nodes,  since those pods end on nodes that stay.  Room is
//                         what whole pods can take of it (usable_room.h);
//   - the same for each set of nodes that some pods cannot leave, as selectors and taints say: the
//     room of these nodes, and what pods that cannot leave them ask for;
//   - for each group:     sum x <= how many nodes it may lose;
//   - for each budget:    sum x over nodes with pods that ask it <= disruptions allowed, and
//                         sum x * those pods <= disruptions allowed - 1 + the most on one node;
//   - for each workload:  sum x * its pods <= the share of it that may be evicted.
// The second form for budgets: a budget with one disruption left admits one more node, whatever
// number of its pods (PdbTracker).  The bound is that of the linear relaxation, 0 <= x <= 1, or
// a little above.
//
// Exactness: prices of the limits are looked for in floating point, by subgradients.  By weak
// duality any prices give a bound, good or bad, so the bound is worked out from the prices found
// in 128-bit integers: rounding may make it larger, never wrong.
//
// Not used: pod affinity, topology, atomic groups, pending pods, and that a pod
// cannot be split.  Each would only make the bound smaller.
//
// Units:   nodes, or whatever `worth` is counted in.
// Cost:    O(pods) and some thousand rounds of O(eligible nodes * limits that matter).
// Threads: pure functions.

#ifndef EBB_ENGINE_SEARCH_BOUND_H_
#define EBB_ENGINE_SEARCH_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/make_plan.h"

namespace ebb {

struct RemovalBound {
  int64_t worth = 0;     // What all nodes that go together are worth at most.
  size_t eligible = 0;   // Candidates that are idle enough and that no pod blocks.
  size_t removable = 0;  // Those of them that no limit keeps by itself and that have a worth.
  // By NodeId: its worth less what its removal takes of the limits, at the prices found.  Nodes of
  // the relaxation's best plan are above 0 or near it.  Lowest where the node cannot go.
  std::vector<double> surplus;
};

// Of every plan that MakePlan can make of `request`, in any order of its candidates.
// `worth`: by NodeId, as in SearchOptions; empty: each node counts 1.  `deadline` ends the search
// for prices early, which makes the bound larger; null: there is time.
// REQUIRES: input that check_input.h accepts, and no fork is open.
RemovalBound BoundRemovals(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                           const PlanRequest& request, std::span<const int64_t> worth = {},
                           const Deadline* deadline = nullptr);

}  // namespace ebb

#endif  // EBB_ENGINE_SEARCH_BOUND_H_
