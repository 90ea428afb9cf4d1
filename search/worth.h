// WorthOfNodes: the worth of removing each node, for a search (search.h).
//
//   const std::vector<int64_t> worth = WorthOfNodes(snapshot, groups, request, hourly, 0.01);
//
// The worth of a plan is the hourly cost of its nodes minus a price for every pod that is evicted.
// Each pod of a removed node is evicted once, so the worth is a sum over nodes, which the search
// and the bound need.
//
// Units:   millionths of the unit of `hourly` and `move_cost`.
// Cost:    O(pods).
// Threads: pure functions.

#ifndef EBB_SEARCH_WORTH_H_
#define EBB_SEARCH_WORTH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// The largest hourly cost of a node, and the largest price of an eviction.
inline constexpr double kHourlyMax = 1e6;

// A node that no plan can remove is worth its cost.
// REQUIRES: `hourly` has an entry for each NodeId, from 0 to kHourlyMax.  `move_cost`, the price of
// one eviction, is from 0 to four times kHourlyMax for each node: FindFrontier asks no larger.
std::vector<int64_t> WorthOfNodes(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const PlanRequest& request, std::span<const double> hourly,
                                  double move_cost);

}  // namespace ebb

#endif  // EBB_SEARCH_WORTH_H_
