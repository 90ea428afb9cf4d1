// ShapeRoom: the room that pods of one shape need on nodes, looked up once for all
// of them, and taken without placing a pod; the counters that count them see them there.
//
//   room.Begin(snapshot, shape);
//   if (room.IsOn(node)) room.Take(node);
//
// Whoever takes room keeps its own list of who is where, and gives the room back (Give,
// or ClusterSnapshot::RestoreFree and RevertTo) before others use the snapshot.  Until then
// less is free, and more is counted, than the snapshot's pods account for.
//
// The columns of the 64 nodes of one word are looked up once, and their addresses kept
// until a node of another word is asked about.  An address stays valid while the snapshot
// is not copied: a copy shares the columns, and the first write moves them.
//
// Units:     as ClusterSnapshot::Free.
// Cost:      Begin O(resources).  The rest O(resources), and as much again when the node
//            lies in another word than the one before; and a step for each table that
//            counts the shape.  Columns that the snapshot shares
//            with copies are copied then, even if it is only asked whether there is room.
// Threads:   none.
// Ownership: borrows the snapshot, which may be changed and forked meanwhile.  After it
//            was copied, Begin again.

#ifndef EBB_SNAPSHOT_SHAPE_ROOM_H_
#define EBB_SNAPSHOT_SHAPE_ROOM_H_

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class ShapeRoom {
 public:
  ShapeRoom() = default;
  ShapeRoom(const ShapeRoom&) = delete;
  ShapeRoom& operator=(const ShapeRoom&) = delete;

  void Begin(ClusterSnapshot& snapshot, const PodShape& shape);
  // Goes on with another shape.  REQUIRES: it requests the same and is charged the same.
  void GoOn(const PodShape& shape) {
    shape_ = &shape;
    is_counted_ = !shape.feeds.empty();
  }

  // What the filter NodeResourcesFit says: a free pod slot, and enough of all that the
  // shape requests.
  [[nodiscard]] bool IsOn(NodeId node) {
    const size_t place = GoTo(node);
    bool enough = true;  // Not asked one by one: most nodes that are tried have room.
    for (const Use& use : first_) enough &= use.free[place] >= use.need;
    for (const Use& use : more_) enough &= use.free[place] >= use.need;
    return enough;
  }

  // What AddPod takes and counts.  While there is a ghost the pod is one that was on it.
  void Take(NodeId node) {
    const size_t place = GoTo(node);
    for (const Use& use : first_) use.free[place] -= use.charge;
    for (const Use& use : more_) use.free[place] -= use.charge;
    if (is_counted_) Count(node, /*comes=*/true);
  }
  void Give(NodeId node) {
    const size_t place = GoTo(node);
    for (const Use& use : first_) use.free[place] += use.charge;
    for (const Use& use : more_) use.free[place] += use.charge;
    if (is_counted_) Count(node, /*comes=*/false);
  }

  // The counters alone, where the room of the node is no matter: a pod of the shape, which was on
  // the node when that became a ghost with kCounted, is taken off it (-1), or is there again
  // before that is undone (+1).  Tables by node go on counting it as they did.
  static void CountOnGhost(ClusterSnapshot& snapshot, const PodShape& shape, NodeId node,
                           int sign) {
    snapshot.topology_.CountButByNode(*snapshot.catalog_, shape, node, sign);
  }

 private:
  // What a pod takes of one resource.  By default it takes nothing, and `free` is to point
  // to amounts of no node.
  struct Use {
    static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
    int64_t need = kNothing;  // That must be free.
    int64_t charge = 0;       // That it takes.
    int64_t* free = nullptr;  // Of the nodes of word_.
    ResourceId resource{};
  };

  // The node's place in its word.
  size_t GoTo(NodeId node) {
    if (Index(node) / kNodesPerWord != word_) [[unlikely]]
      SetWord(Index(node) / kNodesPerWord);
    EBB_DCHECK(PointsIntoSnapshot());
    return Index(node) % kNodesPerWord;
  }
  void Count(NodeId node, bool comes) {
    TopologyCounts& topology = snapshot_->topology_;
    const Catalog& catalog = *snapshot_->catalog_;
    if (snapshot_->ghost_counts_ == ClusterSnapshot::GhostPods::kUncounted) {
      topology.Count(catalog, *shape_, node, comes ? +1 : -1);
    } else if (comes) {
      topology.PodMoves(catalog, *shape_, snapshot_->ghost_, node);
    } else {
      topology.PodMovesBack(catalog, *shape_, snapshot_->ghost_, node);
    }
  }
  void SetWord(size_t word);
  // Whether the addresses are those of the snapshot's columns, for assertions.
  [[nodiscard]] bool PointsIntoSnapshot() const;

  void Add(ResourceId resource, int64_t need, int64_t charge);

  ClusterSnapshot* snapshot_ = nullptr;
  const PodShape* shape_ = nullptr;
  bool is_counted_ = false;  // Some table counts the shape.
  // Slots, cpu, memory: a loop of so many steps is unrolled.
  std::array<Use, 3> first_;
  std::vector<Use> more_;
  size_t uses_ = 0;
  size_t word_ = ~size_t{0};                     // Of 64 nodes, whose columns the uses point into.
  std::array<int64_t, kNodesPerWord> nobody_{};  // What uses of nothing point into.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SHAPE_ROOM_H_
