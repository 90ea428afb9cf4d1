// ShapeMatches finds the pod shapes that selectors match without comparing every selector
// with every shape.
//
// A selector is compared with those alone that have a label, a key or a namespace that
// it asks for, whichever are fewest (label_index.h).  Shapes that no selector can tell
// apart (namespace and labels) are compared once.
//
// Selectors that match nearly every shape may find more pairs than memory or time allows:
// TooBroad tells which of them to leave out.
//
// Cost:    made on first use, O(n log n) of all labels.  A question: O(values + shapes that
//          are compared), which are all of them if a selector asks for absence alone.
// Threads: none: they count what they compare.

#ifndef EBB_SNAPSHOT_SHAPE_MATCHES_H_
#define EBB_SNAPSHOT_SHAPE_MATCHES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "snapshot/catalog.h"
#include "snapshot/label_index.h"
#include "snapshot/matching.h"

namespace ebb {

// How many shapes all selectors of a kind may find.  A cluster of 5,000 pod shapes where
// 200 selectors find every one of them is at a million.
inline constexpr uint64_t kMatchesMax = uint64_t{1} << 20;

// Which of many selectors to leave out so that the others find `matches_max` shapes at
// most, together: those that may find most.  `most` by selector; so is the answer, which is
// empty where all may stay.  Of selectors that may find as many, the first ones stay.
std::vector<bool> TooBroad(std::span<const uint64_t> most, uint64_t matches_max);

class ShapeMatches {
 public:
  // `shapes` must outlive it; no shape is added and no label changes after the first call.
  explicit ShapeMatches(const std::vector<PodShape>& shapes) : shapes_(shapes) {}

  // Calls `found` with each shape that all of `matchers` match, once, in an order that
  // depends on the shapes alone.
  void ForEach(std::span<const PodMatcher> matchers, const std::function<void(PodShapeId)>& found);

  // How many shapes all of `matchers` may match: never fewer than do.  Cost: O(values).
  [[nodiscard]] uint64_t Most(std::span<const PodMatcher> matchers);

  // Calls `found` with each shape that one of the `questions`, each a list of matchers as
  // ForEach takes it, may match: with all that do, and some that do not.
  // Cost: O(labels of all shapes + values), however many questions.
  void ForEachThatMayMatch(std::span<const std::span<const PodMatcher>> questions,
                           const std::function<void(PodShapeId)>& found);

  // How often a selector was compared with a shape.
  [[nodiscard]] uint64_t comparisons() const { return comparisons_; }

 private:
  void MakeIndex();
  LabelIndex::Candidates CandidatesFor(std::span<const PodMatcher> matchers);

  const std::vector<PodShape>& shapes_;
  std::vector<std::vector<PodShapeId>> lookalikes_;  // By what selectors read; made on first use.
  LabelIndex index_;                                 // Of lookalikes_.
  uint64_t comparisons_ = 0;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SHAPE_MATCHES_H_
