// HeadroomTracker: how much of each scope's nodes is free while a plan grows.
//
//   HeadroomTracker headroom(snapshot, groups, wanted, in_deletion);
//   if (headroom.Allows(node, free, moves)) headroom.Remove(node, free, moves);
//
// `free` is FreeOn(node) before the node's pods were placed elsewhere.
// A scope is the cluster, a node group or a zone (Headroom::per).  A node may go if, in every scope
// that it or its pods touch, the headroom is free afterwards.
//
// Units:     milli-CPU, bytes.
// Cost:      O(nodes) to build, nothing without headroom; Allows and Remove O(moves).
// Threads:   const methods may run concurrently.
// Ownership: borrows the snapshot's catalog.

#ifndef EBB_ENGINE_PLAN_HEADROOM_H_
#define EBB_ENGINE_PLAN_HEADROOM_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Whether what is free on the node counts: it is ready, not cordoned, and nothing deletes it.
bool CountsForHeadroom(const Catalog& catalog, NodeId node);
// The same number for nodes of the same scope.
uint64_t HeadroomScope(const Catalog& catalog, const NodeGroups& groups, NodeId node,
                       HeadroomPer per);

class HeadroomTracker {
 public:
  using Amounts = std::array<int64_t, 2>;  // CPU, memory.

  HeadroomTracker(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                  const Headroom& headroom, std::span<const NodeId> in_deletion);

  static Amounts FreeOn(const ClusterSnapshot& snapshot, NodeId node) {
    return {snapshot.Free(kCpu, node), snapshot.Free(kMemory, node)};
  }
  // `free`: what is free on the node with its pods.  `moves`: where these go.
  [[nodiscard]] bool Allows(NodeId node, const Amounts& free, std::span<const Move> moves);
  void Remove(NodeId node, const Amounts& free, std::span<const Move> moves);

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Scope {
    Amounts offered{};
    Amounts free{};
  };

  // Counts the removal, or (-1) takes it back.
  void Count(NodeId node, const Amounts& free, std::span<const Move> moves, int sign);
  [[nodiscard]] bool IsFree(uint32_t scope) const;

  const Catalog* catalog_;
  std::array<double, 2> wanted_;
  std::vector<uint32_t> scope_of_;  // By NodeId; empty: no headroom is asked for.
  std::vector<Scope> scopes_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_HEADROOM_H_
