// DiscoverPools: pools that nodes declare by Replicator's keys in their labels and annotations.
//
//   ebb.example/replicator_enabled: "true"        (prefix "ebb.example/")
//   ebb.example/replicator_worker_pool: web
//
// An annotation overrides a label of the same name.  A node that is not ready, is cordoned or says
// enabled=false belongs to no pool.  If nodes disagree, the last one by name wins, with a warning
// that names them (sizing/policy/replicator/replicator_registry.h).  replicator_min and
// replicator_max bound the pool's cloud.
//
// Cost:    O(nodes of pools squared, for warnings).
// Threads: pure.

#ifndef EBB_SIZING_REPLICATOR_POOLS_H_
#define EBB_SIZING_REPLICATOR_POOLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/policy.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/policy_file.h"

namespace ebb {

struct DiscoveredPools {
  std::vector<SizedPool> pools;  // Sorted by name.
  // A sentence for each node whose keys make no pool, and for nodes that disagree.  Nodes without
  // any of the keys are not mentioned.
  std::vector<std::string> warnings;
};

DiscoveredPools DiscoverPools(const std::vector<PolicyNode>& nodes, std::string_view prefix,
                              const PolicyRegistry& registry);

}  // namespace ebb

#endif  // EBB_SIZING_REPLICATOR_POOLS_H_
