// ShapeRoom: tests and takes the room that pods of one shape need on nodes, without placing the
// pods.  The counters that count the shape count these pods too.
//
//   room.Begin(snapshot, shape);
//   if (room.IsOn(node)) room.Take(node);
//
// A caller that takes room keeps its own list of which pod is where.  It gives the room back
// (Give, or ClusterSnapshot::RestoreFree and RevertTo) before other code uses the snapshot.
// Until then less is free, and more is counted, than the snapshot's pods account for.
//
// ShapeRoom looks up the columns of the 64 nodes of one word once, and keeps their addresses
// until the caller uses a node of another word.  The addresses stay valid while the snapshot
// is not copied: a copy shares the columns, and the first write moves them.
//
// Units:     as ClusterSnapshot::Free.
// Cost:      Begin O(resources).  All other calls O(resources), twice that if the node is in
//            another word than the node before, plus one step for each table that
//            counts the shape.  A change of word copies columns that the snapshot shares
//            with copies, even if the caller only tests for room.
// Threads:   not thread-safe.
// Ownership: borrows the snapshot, which may be changed and forked meanwhile.  After the snapshot
//            was copied, call Begin again.

#ifndef EBB_SNAPSHOT_SHAPE_ROOM_H_
#define EBB_SNAPSHOT_SHAPE_ROOM_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class ShapeRoom {
 public:
  ShapeRoom() = default;
  ShapeRoom(const ShapeRoom&) = delete;
  ShapeRoom& operator=(const ShapeRoom&) = delete;

  // `feeds`: equal to the shape's; a caller may have them in a better place.  They must live as
  // long as the room is used.
  void Begin(ClusterSnapshot& snapshot, const PodShape& shape, std::span<const TableId> feeds);
  void Begin(ClusterSnapshot& snapshot, const PodShape& shape) {
    Begin(snapshot, shape, shape.feeds);
  }
  // Continues with another shape.  REQUIRES: its requests and charges equal those of Begin's shape.
  void GoOn(const PodShape& shape, std::span<const TableId> feeds) {
    EBB_DCHECK(shape.fit_requests == shape_->fit_requests &&
               shape.charge_requests == shape_->charge_requests);
    EBB_DCHECK(std::ranges::equal(feeds, shape.feeds));
    shape_ = &shape;
    feeds_ = feeds;
  }

  // The verdict of the filter NodeResourcesFit: a free pod slot, and enough of everything that
  // the shape requests.
  [[nodiscard]] bool IsOn(NodeId node) {
    const size_t place = GoTo(node);
    bool enough = true;  // No early exit, because most nodes that are tried have room.
    for (const Use& use : first_) enough &= use.free[place] >= use.need;
    for (const Use& use : more_) enough &= use.free[place] >= use.need;
    return enough;
  }

  // Takes and counts what AddPod would.  While there is a ghost, the pod must come from the ghost.
  void Take(NodeId node) {
    const size_t place = GoTo(node);
    for (const Use& use : first_) use.free[place] -= use.charge;
    for (const Use& use : more_) use.free[place] -= use.charge;
    if (!feeds_.empty()) Count(node, /*comes=*/true);
  }
  // Takes room on the first of `nodes`, which are nodes of `word`, then on the next, and so on, as
  // long as each has the room, for at most `pods` pods.  Removes these nodes from `nodes` and
  // writes them to `taken`.  Returns their number.
  size_t TakeEach(size_t word, uint64_t& nodes, size_t pods, NodeId* taken) {
    if (nodes == 0) return 0;
    GoTo(NodeId{static_cast<uint32_t>(word * kNodesPerWord)});
    const std::array<Use, 3> first = first_;  // A copy, which the amounts cannot overlap.
    size_t count = 0;
    for (; nodes != 0 && count < pods; nodes &= nodes - 1) {
      const int place = std::countr_zero(nodes);
      bool enough = true;
      for (const Use& use : first) enough &= use.free[place] >= use.need;
      for (const Use& use : more_) enough &= use.free[place] >= use.need;
      if (!enough) break;
      for (const Use& use : first) use.free[place] -= use.charge;
      for (const Use& use : more_) use.free[place] -= use.charge;
      const NodeId node{static_cast<uint32_t>(word * kNodesPerWord + place)};
      if (!feeds_.empty()) Count(node, /*comes=*/true);
      taken[count++] = node;
    }
    return count;
  }
  void Give(NodeId node) {
    const size_t place = GoTo(node);
    for (const Use& use : first_) use.free[place] += use.charge;
    for (const Use& use : more_) use.free[place] += use.charge;
    if (!feeds_.empty()) Count(node, /*comes=*/false);
  }

  // Changes only the counters, for a pod that `feeds` count and that was on `node` when SetGhost
  // made it a ghost with kCounted: -1 takes the pod from the ghost's counts, +1 adds it again,
  // before SetGhost is undone.  Tables by node are not changed.
  static void CountOnGhost(ClusterSnapshot& snapshot, std::span<const TableId> feeds, NodeId node,
                           int sign);

 private:
  // What a pod takes of one resource.  A default Use takes nothing; its `free` must point to
  // amounts that belong to no node.
  struct Use {
    static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
    int64_t need = kNothing;  // The amount that must be free.
    int64_t charge = 0;       // The amount that the pod takes.
    int64_t* free = nullptr;  // The amounts of the nodes of word_.
    ResourceId resource{};
  };

  // Makes the node's word the current word.  Returns the node's place in it.
  size_t GoTo(NodeId node) {
    if (Index(node) / kNodesPerWord != word_) [[unlikely]]
      SetWord(Index(node) / kNodesPerWord);
    EBB_DCHECK(PointsIntoSnapshot());
    return Index(node) % kNodesPerWord;
  }
  // In topology_counts.cc, beside the steps for one table.
  void Count(NodeId node, bool comes);
  void SetWord(size_t word);
  // Whether the addresses point into the snapshot's columns.  For assertions.
  [[nodiscard]] bool PointsIntoSnapshot() const;

  void Add(ResourceId resource, int64_t need, int64_t charge);

  ClusterSnapshot* snapshot_ = nullptr;
  const PodShape* shape_ = nullptr;
  std::span<const TableId> feeds_;
  // Slots, cpu, memory: a loop over a fixed number of entries is unrolled.
  std::array<Use, 3> first_;
  std::vector<Use> more_;
  size_t uses_ = 0;
  size_t word_ = ~size_t{0};                     // The word of nodes that the uses point into.
  std::array<int64_t, kNodesPerWord> unused_{};  // Where unused entries of first_ point.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SHAPE_ROOM_H_
