// FindPoolMembers: which nodes a pool has in a cluster, and which pools share the group behind
// them.
//
//   for (const auto& [name, members] : FindPoolMembers(pools, observed)) ...
//
// A group belongs to one pool alone if all of its nodes are that pool's and no other pool names it.
// Only then does the group's size say anything about the pool, and only then may the pool ask it to
// grow.  If no label distinguishes groups, all nodes and all pools are in one group, "default".
//
// Cost:    O(nodes * pools).
// Threads: pure.

#ifndef EBB_SIZING_POOL_MEMBERS_H_
#define EBB_SIZING_POOL_MEMBERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy_file.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

struct Observation;  // loop/loop.h

// The nodes and the group of a pool in one turn.
struct PoolMembers {
  std::vector<NodeId> nodes{};
  // Set if a node also belongs to another pool: "pool b has node n1 too".
  std::string overlap{};
  // The group that the pool names, or else the group of its first node that has one; empty:
  // unknown.
  std::string group{};
  // Which others have nodes in the group or name it: "pool b and nodes of no pool, such as n1".
  // Empty: the group is the pool's alone.
  std::string others{};
  // The number of machines that the pool should have.  If the group is the pool's alone, the
  // group's target size plus the pool's nodes in other groups; otherwise the number of the pool's
  // nodes.  Absent: the group's size is unknown.
  std::optional<int64_t> target{};
  // Nodes in groups other than `group`; 0 if the size of `group` is unknown.
  int64_t elsewhere = 0;
};

// Whether the node belongs to the pool.
bool IsMember(const SizedPool& pool, const Catalog& catalog, NodeId node);

// By pool.
std::map<std::string, PoolMembers, std::less<>> FindPoolMembers(std::span<const SizedPool> pools,
                                                                const Observation& observed);

// What is wrong with the members, as a sentence; empty: nothing is.
std::string WarningOf(const SizedPool& pool, const PoolMembers& members);

}  // namespace ebb

#endif  // EBB_SIZING_POOL_MEMBERS_H_
