// ReplicatorRegistry: which nodes belong to which worker pools, as nodes come, change and go.
//
//   ReplicatorRegistry registry;
//   std::vector<ReplicatorProblem> problems = Discover(changed_nodes, stored, &registry);
//   for (const auto& [name, pool] : registry.pools) Size(name, pool);
//
// - Discover reads each ready node (ReadReplicatorKeys) and registers it.  The first node of a pool
//   makes the pool.  The values of each later node replace the pool's values, except the provider.
//   A node whose new pool cannot be made stays in its old pool.
// - These nodes leave their pool: a ready node with an error in its keys, a node that says
//   enabled=false, a node that is draining, and a node that is down.  When its last node leaves,
//   the pool is removed.
// - A pool is still sized after its newest node said enabled=false.
//
// Cost:    O(changed nodes * (log nodes + nodes of the pool)).
// Threads: none.
// Source:  Nomad Replicator, client/node_discovery.go.  On purpose otherwise: a node that changes
//          pools leaves its old pool (there it stays forever), and a node whose values differ from
//          those of other nodes of its pool gives a warning that names them.

#ifndef EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_REGISTRY_H_
#define EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_REGISTRY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/replicator/replicator_figures.h"
#include "sizing/policy/replicator/replicator_options.h"

namespace ebb {

// A node in its present state.
struct ReplicatorNodeRecord {
  enum class Status : uint8_t { kInitializing, kReady, kDown, kOther };

  std::string id = {};
  Status status = Status::kReady;
  bool draining = false;
  uint64_t modify_index = 0;  // Increases with every change in the cluster.
  ReplicatorKeys keys = {};
  std::string address = {};
  ReplicatorResources capacity = {};
};

// A node in the state in which its pool registered it.
struct ReplicatorMember {
  std::string address = {};
  ReplicatorResources capacity = {};
  ReplicatorOptions options = {};  // Its latest values.
  bool operator==(const ReplicatorMember&) const = default;
};

struct ReplicatorPool {
  ReplicatorOptions options = {};
  std::map<std::string, ReplicatorMember> nodes = {};  // By id.
  bool operator==(const ReplicatorPool&) const = default;
};

// A pool as the program itself lists it: a node that changes pools stays listed in its old pool.
// A node that joins a known pool needs no valid provider of its own.
struct ReplicatorKnownPool {
  std::string provider = {};
  std::set<std::string> nodes = {};
  bool operator==(const ReplicatorKnownPool&) const = default;
};

struct ReplicatorRegistry {
  std::map<std::string, ReplicatorPool> pools = {};
  std::map<std::string, std::string> registered = {};  // Node -> pool.
  std::map<std::string, ReplicatorKnownPool> known = {};
  std::map<std::string, std::string> known_in = {};  // Node -> known pool.
  uint64_t last_index = 0;                           // The highest modify_index so far.
  bool operator==(const ReplicatorRegistry&) const = default;
};

// Processes `nodes` in the given order, which should be by id, and skips nodes whose modify_index
// is not above the last one seen.  `stored` maps pools to configurations.  Returns the problems in
// order.
std::vector<ReplicatorProblem> Discover(const std::vector<ReplicatorNodeRecord>& nodes,
                                        const std::map<std::string, ReplicatorKeys>& stored,
                                        ReplicatorRegistry* registry);

// Removes a node from its pool, for a node that no longer exists.  False: it was in no pool.
bool Deregister(std::string_view node, ReplicatorRegistry* registry);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_REGISTRY_H_
