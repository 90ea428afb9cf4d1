// Guests: the pods that a pass has moved to each node so far, in the order in which
// they came, beside the pods that were there before.
//
// A pass moves pods again and again: nodes that took some go themselves.  Most pods
// matter to a node only by the room they take; the snapshot need not know them
// (ShapeRoom), and their list is all that a pass needs to move them on.
//
// Lists are chunks of one cache line from a common store, so that adding a pod touches
// one line, and reading a list one for every 14 pods.
//
// Cost:    Add and TakeBack O(1); Append O(guests); Reset O(nodes).
// Threads: none.

#ifndef EBB_ENGINE_PASS_GUESTS_H_
#define EBB_ENGINE_PASS_GUESTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "snapshot/ids.h"

namespace ebb {

class Guests {
 public:
  // No node has any.
  void Reset(size_t nodes);

  void Add(PodId pod, NodeId node) {
    uint32_t& last = last_[Index(node)];
    if (last == kNone || chunks_[last].size == kPodsPerChunk) [[unlikely]]
      AddChunk(last);
    Chunk& chunk = chunks_[last];
    chunk.pods[chunk.size++] = pod;
  }

  // Undoes the last Add to any node that is not undone yet, which was to `node`.
  // REQUIRES: nothing was forgotten since that Add.
  void TakeBack(NodeId node);

  [[nodiscard]] bool HasAny(NodeId node) const { return last_[Index(node)] != kNone; }
  // Appends the node's guests to `pods`.
  void Append(NodeId node, std::vector<PodId>& pods) const;

  // Calls `visit` with each of the node's guests, in unspecified order.
  template <typename Visit>
  void ForEach(NodeId node, Visit&& visit) const {
    for (uint32_t c = last_[Index(node)]; c != kNone; c = chunks_[c].previous) {
      for (uint32_t i = 0; i < chunks_[c].size; ++i) visit(chunks_[c].pods[i]);
    }
  }
  // Starts loading what Add to the node, if there is one, will touch.
  void Prefetch(NodeId node) const {
    if (Index(node) >= last_.size() || last_[Index(node)] == kNone) return;
    __builtin_prefetch(&chunks_[last_[Index(node)]], 1);
  }

  // The node has none from here on: they went on to others, as did its own pods.
  void Forget(NodeId node) { last_[Index(node)] = kNone; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kPodsPerChunk = 14;
  struct alignas(64) Chunk {
    uint32_t previous;  // Of the same node.
    uint32_t size;
    std::array<PodId, kPodsPerChunk> pods;
  };

  void AddChunk(uint32_t& last);

  std::vector<uint32_t> last_;  // By NodeId: its last chunk.
  std::vector<Chunk> chunks_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_GUESTS_H_
