#include "engine/pass/guests.h"

#include <algorithm>

#include "base/check.h"

namespace ebb {

void Guests::Reset(size_t nodes) {
  last_.assign(nodes, kNone);
  chunks_.clear();
}

void Guests::AddChunk(uint32_t& last) {
  Chunk& chunk = chunks_.emplace_back();
  chunk.previous = last;
  chunk.size = 0;
  last = static_cast<uint32_t>(chunks_.size() - 1);
}

void Guests::TakeBack(NodeId node) {
  uint32_t& last = last_[Index(node)];
  EBB_CHECK(last != kNone);
  Chunk& chunk = chunks_[last];
  if (--chunk.size > 0) return;
  EBB_CHECK(last + 1 == chunks_.size());  // Chunks too are undone in reverse order.
  last = chunk.previous;
  chunks_.pop_back();
}

void Guests::Append(NodeId node, std::vector<PodId>& pods) const {
  // Reads from the last chunk to the first, and each from its end; then reverses the result.
  const size_t begin = pods.size();
  for (uint32_t c = last_[Index(node)]; c != kNone; c = chunks_[c].previous) {
    const Chunk& chunk = chunks_[c];
    pods.insert(pods.end(), chunk.pods.rend() - chunk.size, chunk.pods.rend());
  }
  std::reverse(pods.begin() + static_cast<ptrdiff_t>(begin), pods.end());
}

}  // namespace ebb
