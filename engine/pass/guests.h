// Guests: for each node, the pods that a pass has moved there so far, in the order of the moves.
// Pods that were on the node before the pass are not among them.
//
// A pass may move a pod several times, because a node that received pods may itself be removed
// later.  Most pods affect a node only by the room that they take.  The snapshot need not contain
// such pods (ShapeRoom); this list is enough to move them on.
//
// Each list is a chain of chunks of one cache line each, taken from a common store.  Adding a pod
// touches one cache line; reading a list touches one line for every 14 pods.
//
// Cost:    Add and TakeBack O(1); Append O(guests); Reset O(nodes).
// Threads: not thread-safe.

#ifndef EBB_ENGINE_PASS_GUESTS_H_
#define EBB_ENGINE_PASS_GUESTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "snapshot/ids.h"

namespace ebb {

class Guests {
 public:
  // Makes all lists empty.
  void Reset(size_t nodes);

  void Add(PodId pod, NodeId node) {
    uint32_t& last = last_[Index(node)];
    if (last == kNone || chunks_[last].size == kPodsPerChunk) [[unlikely]]
      AddChunk(last);
    Chunk& chunk = chunks_[last];
    chunk.pods[chunk.size++] = pod;
  }

  // Undoes the most recent Add that is not undone yet.  That Add must have been to `node`.
  // REQUIRES: Forget was not called since that Add.
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
  // Prefetches the memory that Add(pod, node) will touch.  `node` need not exist.
  void Prefetch(NodeId node) const {
    if (Index(node) >= last_.size() || last_[Index(node)] == kNone) return;
    __builtin_prefetch(&chunks_[last_[Index(node)]], 1);
  }

  // Empties the node's list.  Called when the node is removed and its guests have been moved on.
  void Forget(NodeId node) { last_[Index(node)] = kNone; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // A chunk is one cache line of 64 bytes: two numbers, and as many pods as fit.
  static constexpr size_t kPodsPerChunk = 14;
  struct alignas(64) Chunk {
    uint32_t previous;  // The previous chunk of the same node, or kNone.
    uint32_t size;
    std::array<PodId, kPodsPerChunk> pods;
  };

  void AddChunk(uint32_t& last);

  std::vector<uint32_t> last_;  // By NodeId: its last chunk.
  std::vector<Chunk> chunks_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_GUESTS_H_
