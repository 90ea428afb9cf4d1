// Which selectors may match a pod shape, and which shapes a selector may match, while shapes and
// selectors come and selectors go.
//
//   ShapeIndex shapes;
//   SelectorIndex budgets(shapes, /*kinds=*/1);
//   shapes.Add(shape);                     // Each shape once, in the order of the ids.
//   budgets.Add({&matcher, 1});            // Selectors have numbers from 0 on.
//   budgets.CountShape(shape);             // Of each shape that comes later, after shapes.Add().
//   budgets.ForEachSelector(shape, [&](uint32_t selector) { Look(selector); });
//
// ShapeMatches (shape_matches.h) answers the same for all shapes at once when a catalog is built.
//
// How it works: a selector can match those shapes alone that have a label, a key or a namespace
// that it asks for.  Each selector hangs at the traits that fewest shapes have when it comes: one
// of the labels `key in (values)`, a key, or a namespace of a list.  A shape has one value of a
// key and one namespace, so it has at most one of the traits at which a selector hangs.
//
// Limits:  `most` of a kind is never less than what ShapeMatches::Most adds up to over the same
//          shapes and selectors, which is the smallest number over all that a selector asks for.
// Cost:    a shape O(labels + selectors that may match it); a selector O(values + namespaces).
//          Remove O(selectors).
// Memory:  a number for each label, key and namespace of each shape, one for each trait of each
//          selector.
// Threads: none; const methods may run concurrently.

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

// A label, a key with any value, a namespace, or what all shapes have.
enum class ShapeTrait : uint64_t {};

class ShapeIndex {
 public:
  // The next shape: its id is size().
  void Add(const PodShape& shape);
  [[nodiscard]] size_t size() const { return size_; }
  // Their ids, ascending.
  [[nodiscard]] std::span<const PodShapeId> With(ShapeTrait trait) const;

 private:
  size_t size_ = 0;
  absl::flat_hash_map<ShapeTrait, std::vector<PodShapeId>> with_;
};

class SelectorIndex {
 public:
  // `shapes` must outlive it.  Selectors are counted by kind, from 0 on.
  explicit SelectorIndex(const ShapeIndex& shapes, size_t kinds = 1)
      : shapes_(&shapes), most_(kinds) {}

  // A selector matches what all of `matchers` match.  Its number is size().
  void Add(std::span<const PodMatcher> matchers, size_t kind = 0);
  // It asks for something else from now on.
  void Replace(uint32_t selector, std::span<const PodMatcher> matchers);
  // Those behind it move up by one.
  void Remove(uint32_t selector);
  [[nodiscard]] size_t size() const { return selectors_.size(); }

  // After `shape` was added to the ShapeIndex.
  void CountShape(const PodShape& shape);
  // How many shapes the selectors of a kind may match, together.
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
    std::vector<ShapeTrait> at;  // Of which a shape has one at most.
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
