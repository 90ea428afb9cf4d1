// ShapeMatches finds the pod shapes that selectors match without comparing every selector
// with every shape.
//
// Each selector is compared only with the shapes that have a label, a key or a namespace that
// it requires; the requirement with the fewest shapes is used (label_index.h).  Shapes that no
// selector can distinguish, because they have equal namespaces and equal labels of the keys that
// selectors read, are compared once.  So labels that controllers give each pod cost nothing.
//
// Selectors that match nearly every shape may produce more pairs than memory or time allows:
// TooBroad chooses the selectors to leave out.
//
// Cost:      the index is made on first use, O(labels + n log n) over n labels of keys that
//            selectors read, without those of shapes that are alike.  A query: O(values +
//            shapes that are compared).  If the selector only requires that labels are absent, all
//            shapes are compared.
// Threads:   not thread-safe: queries count their comparisons.
// Ownership: borrows the shapes.

#ifndef EBB_SNAPSHOT_SHAPE_MATCHES_H_
#define EBB_SNAPSHOT_SHAPE_MATCHES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "snapshot/catalog.h"
#include "snapshot/label_index.h"
#include "snapshot/matching.h"

namespace ebb {

// How many (selector, shape) matches a kind of selector may have in all.  A cluster of 5,000 pod
// shapes with 200 selectors that match every shape has a million.
inline constexpr uint64_t kMatchesMax = uint64_t{1} << 20;

// Chooses selectors to leave out so that the others match at most `matches_max` shapes in all: the
// selectors that may match the most are left out.  `most` and the result are indexed by selector.
// The result is empty if none must be left out.  Among equal selectors the first ones stay.
std::vector<bool> TooBroad(std::span<const uint64_t> most, uint64_t matches_max);

class ShapeMatches {
 public:
  // `shapes` must outlive this object.  Their namespaces and labels must not change after the first
  // question.
  explicit ShapeMatches(const std::vector<PodShape>& shapes) : shapes_(shapes) {}

  // Must be called before the first question, for each matcher that questions will have.
  void Expect(const PodMatcher& matcher);

  // Calls `found` with each shape that all of `matchers` match, once, in an order that
  // depends on the shapes alone.
  void ForEach(std::span<const PodMatcher> matchers, const std::function<void(PodShapeId)>& found);

  // An upper bound on the number of shapes that all of `matchers` match.  Cost: O(values).
  [[nodiscard]] uint64_t Most(std::span<const PodMatcher> matchers);

  // Calls `found` with every shape that may match one of `questions`: all that match, and perhaps
  // others.  Each question is a list of matchers as for ForEach.
  // Cost: O(labels of all shapes + values), however many questions.
  void ForEachThatMayMatch(std::span<const std::span<const PodMatcher>> questions,
                           const std::function<void(PodShapeId)>& found);

  // How often a selector was compared with a shape.
  [[nodiscard]] uint64_t comparisons() const { return comparisons_; }

 private:
  void MakeIndex();
  [[nodiscard]] bool IsExpected(const PodMatcher& matcher) const;
  LabelIndex::Candidates CandidatesFor(std::span<const PodMatcher> matchers);

  const std::vector<PodShape>& shapes_;
  absl::flat_hash_set<TextId> keys_;                 // That expected matchers read.
  std::vector<std::vector<PodShapeId>> lookalikes_;  // Shapes that no matcher can distinguish.
  LabelIndex index_;                                 // One set for each entry of lookalikes_.
  uint64_t comparisons_ = 0;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SHAPE_MATCHES_H_
