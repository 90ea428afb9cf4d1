// SlowMatches: which pods a selector matches, for the verifier.
//
// It reads definitions from the Catalog and shares no code with matching.h.  Shapes that no
// selector can tell apart, because they have the same namespace and the same labels of all keys
// that selectors read, are compared once.  A selector is not compared with all shapes: only with
// the shapes that have a label, key or namespace that it requires, whichever of these lists is
// shortest.
//
// Cost:      the index is made on first use, O(n log n) for n labels of all shapes whose keys
//            selectors of the catalog read; again if Find is asked about another key.  Find is
//            O(shapes compared * requirements).
// Threads:   not thread-safe: Find makes the index.
// Ownership: borrows the catalog, which must outlive it.

#ifndef EBB_ENGINE_VERIFY_SLOW_MATCHES_H_
#define EBB_ENGINE_VERIFY_SLOW_MATCHES_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "snapshot/catalog.h"

namespace ebb {

class SlowMatches {
 public:
  explicit SlowMatches(const Catalog& catalog) : catalog_(&catalog) {}

  // The value of `key`; nullopt: the labels lack it.
  [[nodiscard]] static std::optional<TextId> ValueOf(const LabelSet& labels, TextId key);
  [[nodiscard]] bool Holds(const LabelRequirement& requirement, const LabelSet& labels) const;
  [[nodiscard]] bool IsMatch(const PodMatcher& matcher, const PodShape& shape) const;
  [[nodiscard]] bool IsMatch(std::span<const PodMatcher> all, const PodShape& shape) const;

  // The shapes that all of `all` match, each once.
  [[nodiscard]] std::vector<PodShapeId> Find(std::span<const PodMatcher> all);

  // How many shapes Find has compared with a selector so far.
  [[nodiscard]] uint64_t comparisons() const { return comparisons_; }

 private:
  // Shapes that selectors cannot tell apart have the same look.  Looks are numbered.
  using Looks = std::span<const uint32_t>;

  // A label of a look.
  struct Labelled {
    TextId key;
    TextId value;
    uint32_t look;
    friend auto operator<=>(const Labelled&, const Labelled&) = default;
  };

  // Adds the keys that a selector reads.  Returns whether one of them is new.
  bool AddKeys(const Selector& selector);
  void AddKeysOfCatalog();
  void MakeIndex();
  [[nodiscard]] std::span<const PodShapeId> ShapesOf(uint32_t look) const {
    return std::span(shapes_).subspan(begins_[look], begins_[look + 1] - begins_[look]);
  }
  [[nodiscard]] Looks InNamespace(TextId name) const;
  [[nodiscard]] Looks WithKey(TextId key) const;
  [[nodiscard]] Looks WithLabel(TextId key, TextId value) const;
  [[nodiscard]] Looks LabelledFrom(size_t begin, size_t end) const {
    return std::span(labelled_looks_).subspan(begin, end - begin);
  }
  [[nodiscard]] std::vector<Looks> MayMatch(std::span<const PodMatcher> all) const;

  const Catalog* catalog_;
  absl::flat_hash_set<TextId> keys_;      // Labels of other keys are not in the index.
  std::vector<PodShapeId> shapes_;        // Sorted by look.  Empty: no index yet.
  std::vector<uint32_t> begins_;          // Look l is shapes_ from begins_[l] up to begins_[l + 1].
  std::vector<uint32_t> all_looks_;       // All looks: 0, 1, 2, ...
  std::vector<Labelled> labelled_;        // Sorted.
  std::vector<uint32_t> labelled_looks_;  // The looks of labelled_, in its order.
  uint64_t comparisons_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_SLOW_MATCHES_H_
