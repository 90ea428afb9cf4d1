// Hints: for each pod the node that a simulation last placed it on, tried first
// next time.
//
// Two generations: a hint that is not set again lives for one more pass.  Keys and
// nodes are interned text, so that hints outlive the snapshot they were made on.
//
// Cost:    array accesses; 8 bytes per text of the Symbols.
// Threads: none.
// Source:  cluster-autoscaler simulator/scheduling/hints.go.

#ifndef EBB_ENGINE_HINTS_H_
#define EBB_ENGINE_HINTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "snapshot/ids.h"

namespace ebb {

class Hints {
 public:
  // The name of the node, by PodInfo::key.
  [[nodiscard]] std::optional<TextId> Get(TextId pod_key) const {
    if (Index(pod_key) >= hints_.size()) return std::nullopt;
    const Hint& hint = hints_[Index(pod_key)];
    if (hint.generation == 0 || hint.generation + 1 < generation_) return std::nullopt;
    return hint.node;
  }

  void Set(TextId pod_key, TextId node) {
    if (Index(pod_key) >= hints_.size()) hints_.resize(Index(pod_key) + Index(pod_key) / 2 + 64);
    hints_[Index(pod_key)] = {node, generation_};
  }

  // Visits (pod key, node) of every hint that Get would answer with.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (size_t key = 0; key < hints_.size(); ++key) {
      const TextId pod_key{static_cast<uint32_t>(key)};
      if (const std::optional<TextId> node = Get(pod_key)) visit(pod_key, *node);
    }
  }

  // Ends a pass: hints older than it go.
  void DropOld() { ++generation_; }

 private:
  struct Hint {
    TextId node{};
    uint32_t generation = 0;  // 0: none.
  };
  std::vector<Hint> hints_;
  uint32_t generation_ = 1;
};

}  // namespace ebb

#endif  // EBB_ENGINE_HINTS_H_
