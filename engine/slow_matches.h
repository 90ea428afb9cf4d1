// SlowMatches: which pods a selector matches, for the verifier.
//
// It reads definitions from the Catalog alone and shares no code with matching.h.
// Shapes that no selector can tell apart (namespace and labels) are compared once.  A
// selector is compared with the shapes that have a label, a key or a namespace that it
// asks for, whichever are fewest, and not with all.
//
// Cost:      the index is made on first use, O(labels of all shapes); Find is O(shapes
//            that are compared x requirements).
// Threads:   none: Find makes the index.
// Ownership: borrows the catalog, which must outlive it.

#ifndef EBB_ENGINE_SLOW_MATCHES_H_
#define EBB_ENGINE_SLOW_MATCHES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/catalog.h"

namespace ebb {

class SlowMatches {
 public:
  explicit SlowMatches(const Catalog& catalog) : catalog_(catalog) {}

  // The value of `key`.
  [[nodiscard]] static std::optional<TextId> ValueOf(const LabelSet& labels, TextId key);
  [[nodiscard]] bool Holds(const LabelRequirement& requirement, const LabelSet& labels) const;
  [[nodiscard]] bool IsMatch(const PodMatcher& matcher, const PodShape& shape) const;
  [[nodiscard]] bool IsMatch(std::span<const PodMatcher> all, const PodShape& shape) const;

  // Shapes that all of `all` match, each once.
  [[nodiscard]] std::vector<PodShapeId> Find(std::span<const PodMatcher> all);

  // Selectors that Find compared with a shape.
  [[nodiscard]] uint64_t comparisons() const { return comparisons_; }

 private:
  using Lookalikes = std::vector<PodShapeId>;
  // Lists of lookalikes_, by index; the lists are disjoint.
  using Lists = std::vector<const std::vector<uint32_t>*>;

  void MakeIndex();
  [[nodiscard]] Lists MayMatch(std::span<const PodMatcher> all) const;

  const Catalog& catalog_;
  std::vector<Lookalikes> lookalikes_;  // Empty: the index is not made yet.
  std::vector<uint32_t> everybody_;
  absl::flat_hash_map<TextId, std::vector<uint32_t>> in_namespace_;
  absl::flat_hash_map<TextId, std::vector<uint32_t>> with_key_;
  absl::flat_hash_map<std::pair<TextId, TextId>, std::vector<uint32_t>> with_label_;
  uint64_t comparisons_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SLOW_MATCHES_H_
