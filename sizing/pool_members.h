// FindPoolMembers: which nodes a pool has in a cluster, and whose the group behind them is.
//
//   for (const auto& [name, members] : FindPoolMembers(pools, observed)) ...
//
// A group is a pool's alone if all of its nodes are the pool's and no other pool has it.  Only then
// does the group's size say anything of the pool, and only then may the pool ask it to grow.
// Without labels that tell groups apart all nodes are in one, "default", and so are all pools.
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

// A pool in the cluster of one turn.
struct PoolMembers {
  std::vector<NodeId> nodes{};
  // Nodes that are another pool's too: "pool b has node n1 too".  Empty: there are none.
  std::string overlap{};
  // The pool's own word, or the group of its first node that has one; empty: not known.
  std::string group{};
  // Who has nodes in the group, or names it, but for the pool: "pool b and nodes of no pool, such
  // as n1".  Empty: nobody.
  std::string others{};
  // Machines that the pool is to have: those of its group, if it is the pool's alone, and its
  // nodes in other groups; its nodes if the group is not.  Absent: nobody tells of the group.
  std::optional<int64_t> target{};
  // Nodes in other groups than `group`, where that group is known.
  int64_t elsewhere = 0;
};

// Whether the node is the pool's.
bool IsMember(const SizedPool& pool, const Catalog& catalog, NodeId node);

// By pool.
std::map<std::string, PoolMembers, std::less<>> FindPoolMembers(std::span<const SizedPool> pools,
                                                                const Observation& observed);

// What is wrong with the members, for people: a sentence; empty: nothing is.
std::string WarningOf(const SizedPool& pool, const PoolMembers& members);

}  // namespace ebb

#endif  // EBB_SIZING_POOL_MEMBERS_H_
