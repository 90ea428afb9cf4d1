// ReplicatorRegistry: which nodes make which worker pools, as nodes come, change and go.
//
//   ReplicatorRegistry registry;
//   std::vector<ReplicatorProblem> problems = Discover(changed_nodes, stored, &registry);
//   for (const auto& [name, pool] : registry.pools) Size(name, pool);
//
// - A ready node is read (ReadReplicatorKeys) and registered.  The first node of a pool makes it;
//   each later one's values replace the pool's, but for the provider.  A node whose new pool cannot
//   be made stays in the one that it was in.
// - A ready node with an error in its keys, one that says enabled=false, one that drains and one
//   that is down leave their pool.  The last one to leave takes the pool along.
// - A pool goes on being sized though its newest node said enabled=false.
//
// Cost:    O(changed nodes * (log nodes + nodes of the pool)).
// Threads: none.
// Source:  Nomad Replicator, client/node_discovery.go.  On purpose otherwise: a node that changes
//          pools leaves the old one (there it stays for good), and a node whose values differ from
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

// A node as it is now.
struct ReplicatorNodeRecord {
  enum class Status : uint8_t { kInitializing, kReady, kDown, kOther };

  std::string id = {};
  Status status = Status::kReady;
  bool draining = false;
  uint64_t modify_index = 0;  // Grows with every change in the cluster.
  ReplicatorKeys keys = {};
  std::string address = {};
  ReplicatorResources capacity = {};
};

// A node as it was when its pool took it up.
struct ReplicatorMember {
  std::string address = {};
  ReplicatorResources capacity = {};
  ReplicatorOptions options = {};  // What it said last.
  bool operator==(const ReplicatorMember&) const = default;
};

struct ReplicatorPool {
  ReplicatorOptions options = {};
  std::map<std::string, ReplicatorMember> nodes = {};  // By id.
  bool operator==(const ReplicatorPool&) const = default;
};

// A pool that the program knows: it lists a node that changed pools in both, the old one for good.
// A node that joins a known pool needs no provider of its own.
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
  uint64_t last_index = 0;                           // The highest seen.
  bool operator==(const ReplicatorRegistry&) const = default;
};

// Takes in `nodes`, in order of id; those whose modify_index is not above the last seen are
// skipped.  `stored` holds configurations by pool.  Says what was wrong, in order.
std::vector<ReplicatorProblem> Discover(const std::vector<ReplicatorNodeRecord>& nodes,
                                        const std::map<std::string, ReplicatorKeys>& stored,
                                        ReplicatorRegistry* registry);

// Takes a node out of its pool, as when it is no longer there.  False: it was in none.
bool Deregister(std::string_view node, ReplicatorRegistry* registry);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_REGISTRY_H_
