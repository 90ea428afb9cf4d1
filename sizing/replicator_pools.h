// DiscoverPools: pools that nodes declare themselves, by Replicator's keys in their labels and
// annotations.
//
//   ebb.example/replicator_enabled: "true"        (prefix "ebb.example/")
//   ebb.example/replicator_worker_pool: web
//
// An annotation counts more than a label of its name.  A node that is not ready, is cordoned or
// says enabled=false is of no pool; of nodes that disagree the last one wins, by name, with a
// warning that names them (sizing/policy/replicator/replicator_registry.h).  The pool's cloud is
// bounded by replicator_min and replicator_max.
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
  std::vector<SizedPool> pools;  // By name.
  // Nodes whose keys make no pool, and nodes that disagree: a sentence each.  Nodes without any of
  // the keys are not told.
  std::vector<std::string> warnings;
};

DiscoveredPools DiscoverPools(const std::vector<PolicyNode>& nodes, std::string_view prefix,
                              const PolicyRegistry& registry);

}  // namespace ebb

#endif  // EBB_SIZING_REPLICATOR_POOLS_H_
