// Which selectors may match a pod shape, and which shapes a selector may match, while shapes are
// added and selectors are added, changed and removed.
//
//   ShapeIndex shapes;
//   SelectorIndex budgets(shapes, /*kinds=*/1);
//   shapes.Add(shape);                     // Each shape once, in the order of the ids.
//   budgets.Add({&matcher, 1});            // Selectors are numbered from 0.
//   budgets.CountShape(shape);             // For each later shape, after shapes.Add().
//   budgets.ForEachSelector(shape, [&](uint32_t selector) { Look(selector); });
//
// ShapeMatches (shape_matches.h) answers the same questions in bulk when a catalog is built.
//
// How it works: a selector can match only shapes that have a label, a key or a namespace that
// it requires.  Each selector is registered under the traits that the fewest shapes have at that
// time: all labels of one `key in (values)`, a key, or all namespaces of a list.  A shape has
// one value for a key and one namespace, so it has at most one trait of a selector.
//
// Limits:  `most` of a kind is never less than the sum of ShapeMatches::Most over the same
//          shapes and selectors, which takes the smallest number over all of a selector's
//          requirements.
// Cost:    a shape O(labels + selectors that may match it); a selector O(values + namespaces).
//          Remove O(selectors).
// Memory:  a number for each label, key and namespace of each shape, and for each trait of each
//          selector.
// Threads: const methods may run concurrently; the others need exclusive access.

#ifndef EBB_SNAPSHOT_SELECTOR_INDEX_H_
#define EBB_SNAPSHOT_SELECTOR_INDEX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"
#include "snapshot/matching.h"

namespace ebb {

// A label, a key with any value, a namespace, or the trait that every shape has.
enum class ShapeTrait : uint64_t {};

class ShapeIndex {
 public:
  // Adds the next shape, whose id is size().
  void Add(const PodShape& shape);
  [[nodiscard]] size_t size() const { return size_; }
  // The ids of the shapes that have the trait, ascending.
  [[nodiscard]] std::span<const PodShapeId> With(ShapeTrait trait) const;

 private:
  size_t size_ = 0;
  absl::flat_hash_map<ShapeTrait, std::vector<PodShapeId>> with_;
};

class SelectorIndex {
 public:
  // `shapes` must outlive this index.  Selectors are counted by kind, from 0 to kinds - 1.
  explicit SelectorIndex(const ShapeIndex& shapes, size_t kinds = 1)
      : shapes_(&shapes), most_(kinds) {}

  // Adds a selector, which matches a shape if all of `matchers` do.  Its number is size().
  void Add(std::span<const PodMatcher> matchers, size_t kind = 0);
  // Changes the matchers of a selector.
  void Replace(uint32_t selector, std::span<const PodMatcher> matchers);
  // Removes a selector.  The numbers of all later selectors fall by one.
  void Remove(uint32_t selector);
  [[nodiscard]] size_t size() const { return selectors_.size(); }

  // Must be called for each new shape, after it was added to the ShapeIndex.
  void CountShape(const PodShape& shape);
  // The number of (selector, shape) pairs of this kind that may match.
  [[nodiscard]] uint64_t most(size_t kind = 0) const { return most_[kind]; }

  // Calls `found`(number) with each selector that may match, in ascending order.
  template <typename Found>
  void ForEachSelector(const PodShape& shape, Found&& found) const {
    for (const uint32_t selector : SelectorsFor(shape)) found(selector);
  }
  // Calls `found`(id) with each shape that the selector may match, in ascending order.
  template <typename Found>
  void ForEachShape(uint32_t selector, Found&& found) const {
    for (const PodShapeId shape : ShapesFor(selector)) found(shape);
  }

 private:
  struct Hanging {
    std::vector<ShapeTrait> at;  // A shape has at most one of these.
    size_t kind = 0;
  };
  [[nodiscard]] uint64_t Weight(std::span<const ShapeTrait> traits) const;
  [[nodiscard]] std::vector<ShapeTrait> FewestTraits(std::span<const PodMatcher> matchers) const;
  [[nodiscard]] std::vector<uint32_t> SelectorsFor(const PodShape& shape) const;
  [[nodiscard]] std::vector<PodShapeId> ShapesFor(uint32_t selector) const;
  void Hang(uint32_t selector, std::vector<ShapeTrait> at);
  void TakeDown(uint32_t selector);

  const ShapeIndex* shapes_;
  std::vector<Hanging> selectors_;  // By number.
  absl::flat_hash_map<ShapeTrait, std::vector<uint32_t>> hanging_at_;
  std::vector<uint64_t> most_;  // By kind.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SELECTOR_INDEX_H_
