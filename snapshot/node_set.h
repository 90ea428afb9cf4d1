// NodeSet is a bit set over NodeIds that is read a word of 64 nodes at a time.
//
// Cost:    O(1) per bit; size/64 words of memory.
// Threads: as std::vector.

#ifndef EBB_SNAPSHOT_NODE_SET_H_
#define EBB_SNAPSHOT_NODE_SET_H_

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "snapshot/ids.h"

namespace ebb {

inline constexpr size_t kNodesPerWord = 64;

class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(size_t nodes) { Resize(nodes); }

  // New bits are clear.
  void Resize(size_t nodes) {
    nodes_ = nodes;
    words_.resize((nodes + kNodesPerWord - 1) / kNodesPerWord);
  }

  // The number of ids that the set covers, members or not.
  [[nodiscard]] size_t range() const { return nodes_; }
  [[nodiscard]] std::span<const uint64_t> words() const { return words_; }
  [[nodiscard]] std::span<uint64_t> words() { return words_; }

  [[nodiscard]] bool Contains(NodeId node) const {
    return words_[Index(node) / kNodesPerWord] >> (Index(node) % kNodesPerWord) & 1;
  }
  void Insert(NodeId node) { words_[Index(node) / kNodesPerWord] |= Bit(node); }
  void Erase(NodeId node) { words_[Index(node) / kNodesPerWord] &= ~Bit(node); }
  void Set(NodeId node, bool member) { member ? Insert(node) : Erase(node); }

  [[nodiscard]] size_t Count() const {
    size_t count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        visit(NodeId{static_cast<uint32_t>(w * kNodesPerWord + std::countr_zero(word))});
      }
    }
  }

  friend bool operator==(const NodeSet&, const NodeSet&) = default;

 private:
  static uint64_t Bit(NodeId node) { return uint64_t{1} << (Index(node) % kNodesPerWord); }

  std::vector<uint64_t> words_;
  size_t nodes_ = 0;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_NODE_SET_H_
