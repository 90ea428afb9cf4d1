// BoundRemovals: an upper bound of what a plan can remove, in nodes or in their worth.
//
// How good a plan is depends on its distance from the best plan, which is unknown.  This bound
// says, within milliseconds, how large that distance can be at most.
//
// Some nodes are in no plan: they are not eligible, a pod blocks them, or they break one of the
// limits below even alone.  Each plan chooses some of the others (x = 1), and satisfies
//   - for each resource:  sum x * (requests of its pods that move + its own room)
//                         <= room of all nodes,  since those pods end on nodes that stay.  The room
//                         of a node is what whole pods can take of it (usable_room.h);
//   - the same for each set of nodes that some pods cannot leave because of selectors and taints,
//     with the room of these nodes and the requests of the pods that cannot leave them;
//   - for each group:     sum x <= the number of nodes that it may lose;
//   - for each budget:    sum x over nodes with pods of it <= disruptions allowed, and
//                         sum x * those pods <= disruptions allowed - 1 + the most on one node;
//   - for each workload:  sum x * its pods <= the share of it that may be evicted.
// The second form for budgets is needed because a budget with one disruption left admits one more
// node, whatever the number of its pods there (PdbTracker).  The bound is that of the linear
// relaxation, 0 <= x <= 1, or slightly above it.
//
// Plans that may buy nodes first: an offer is a node of the snapshot in no group that may be bought
// up to `copies` times.  Each copy that is not bought adds its price to what a plan is worth, and
// takes the node's room out.  So the same relaxation bounds the worth of the removed nodes less the
// prices of the bought ones.
//
// Exactness: the prices (dual values) of the limits are found in floating point (relaxation.h).  By
// weak duality any prices give a valid bound.  The bound is computed from the prices in 128-bit
// integers, so rounding may make it larger but never wrong.
//
// Not used: pod affinity, topology, atomic groups, pending pods, and that a pod cannot be split.
// Each of these would only make the bound smaller.
//
// Units:   nodes, or the unit of `worth`.
// Cost:    O(pods), and some thousand rounds of O(eligible nodes * limits that can be reached).
// Threads: pure functions.

#ifndef EBB_SEARCH_BOUND_H_
#define EBB_SEARCH_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/make_plan.h"

namespace ebb {

// A node that may be bought so many times.
struct BoundOffer {
  NodeId node = kNoNode;
  int64_t copies = 1;
  int64_t price = 0;  // Of a copy, in the unit of `worth`; at most its true price.
  // The group whose Karpenter budgets count the copies; kNoGroup: none.
  GroupId group = kNoGroup;
};

struct RemovalBound {
  // An upper bound of the worth of the nodes of a plan, less the price of the bought ones.
  int64_t worth = 0;
  size_t eligible = 0;   // Candidates that are idle enough and that no pod blocks.
  size_t removable = 0;  // Eligible nodes that break no limit alone and have a worth above 0.
  // By NodeId: the node's worth minus the price of what its removal takes of the limits.  Nodes of
  // the relaxation's optimal solution have values above 0 or near it.  lowest() if the node cannot
  // be removed.
  std::vector<double> surplus;
  // By NodeId: how much of the node the relaxation's solution removes, from 0 to 1.
  std::vector<double> solution;
  // By offer: how many copies the solution buys, and what the room of a copy is worth at the prices
  // of the limits beyond its own price.
  std::vector<double> bought;
  std::vector<double> gain;
};

// The bound of every plan that MakePlan can make for `request`, in any order of its candidates.
// `worth`: by NodeId, as in SearchOptions; empty: each node is worth 1.  `deadline` ends the search
// for prices early, which makes the bound larger; null: no time limit.
// `offers`: nodes that are in the snapshot and in no group; no node may be in deletion then.
// REQUIRES: the input passes the checks of check_input.h, and no fork is open.
RemovalBound BoundRemovals(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                           const PlanRequest& request, std::span<const int64_t> worth = {},
                           const Deadline* deadline = nullptr,
                           std::span<const BoundOffer> offers = {});

}  // namespace ebb

#endif  // EBB_SEARCH_BOUND_H_
