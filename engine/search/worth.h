// WorthOfNodes: what removing each node is worth, for a search (search.h).
//
//   const std::vector<int64_t> worth = WorthOfNodes(snapshot, groups, request, hourly, 0.01);
//
// The worth of a plan is what its nodes cost an hour, less a price for every pod that is evicted.
// Each pod of a node that goes is evicted once, so this is a sum over nodes, which is what the
// search and the bound work with.
//
// Units:   millionths of what `hourly` and `move_cost` are in.
// Cost:    a look at every pod.
// Threads: pure functions.

#ifndef EBB_ENGINE_SEARCH_WORTH_H_
#define EBB_ENGINE_SEARCH_WORTH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "engine/make_plan.h"
#include "engine/node_groups.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// What a node, or the eviction of a pod, costs an hour at most.
inline constexpr double kHourlyMax = 1e6;

// A node that no plan removes is worth what it costs.  REQUIRES: `hourly` has an entry for each
// NodeId, and these and `move_cost`, of one pod, are from 0 to kHourlyMax.
std::vector<int64_t> WorthOfNodes(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const PlanRequest& request, std::span<const double> hourly,
                                  double move_cost);

}  // namespace ebb

#endif  // EBB_ENGINE_SEARCH_WORTH_H_
