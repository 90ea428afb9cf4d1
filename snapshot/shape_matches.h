// ShapeMatches finds the pod shapes that selectors match, and LabelIndex the label
// sets, without comparing every selector with every one of them.
//
// A selector is compared with those alone that have a label, a key or a namespace that
// it asks for, whichever are fewest.  Shapes that no selector can tell apart (namespace
// and labels) are compared once.
//
// Cost:    made on first use, O(n log n) of all labels.  A question: O(values + what is compared),
//          which is all there is only if a selector asks for nothing but absence.
// Threads: none: they count what they compare.

#ifndef EBB_SNAPSHOT_SHAPE_MATCHES_H_
#define EBB_SNAPSHOT_SHAPE_MATCHES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "snapshot/catalog.h"
#include "snapshot/matching.h"

namespace ebb {

// Label sets by the labels they hold.
class LabelIndex {
  struct Entry {
    Label label;
    uint32_t set;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

 public:
  // Returns the set's number: how many were added before.
  uint32_t Add(std::span<const Label> labels);
  // A label beside those of the set that was added last.
  void AddLabel(Label label) { entries_.push_back({label, sets_ - 1}); }
  // REQUIRES: after the last Add, before the first question.
  void Finish();

  // Some of the sets, each once: among them are all that match what Narrow was told.
  class Candidates {
   public:
    explicit Candidates(const LabelIndex& index) : index_(index), size_(index.sets_) {}
    // Only sets that `selector` may match.
    void Narrow(const Selector& selector);
    // Only sets that have one of the labels (key, value).  REQUIRES: no value twice.
    void Narrow(TextId key, std::span<const TextId> values);
    template <typename Found>
    void ForEach(Found&& found) const {
      if (all_) {
        for (uint32_t set = 0; set < index_.sets_; ++set) found(set);
        return;
      }
      for (const std::span<const Entry> run : runs_) {
        for (const Entry& entry : run) found(entry.set);
      }
    }

   private:
    friend class LabelIndex;
    void Offer();

    const LabelIndex& index_;
    bool all_ = true;
    size_t size_;
    std::vector<std::span<const Entry>> runs_;     // The fewest so far.
    std::vector<std::span<const Entry>> offered_;  // Those of one requirement.
  };

 private:
  // Entries of a key with any value, or of one label.
  [[nodiscard]] std::span<const Entry> With(TextId key) const;
  [[nodiscard]] std::span<const Entry> With(Label label) const;

  std::vector<Entry> entries_;  // Sorted by Finish.
  uint32_t sets_ = 0;
};

class ShapeMatches {
 public:
  // `shapes` must outlive it; none comes and no labels change after the first question.
  explicit ShapeMatches(const std::vector<PodShape>& shapes) : shapes_(shapes) {}

  // Calls `found` with each shape that all of `matchers` match, once, in an order that
  // depends on the shapes alone.
  void ForEach(std::span<const PodMatcher> matchers, const std::function<void(PodShapeId)>& found);

  // How often a selector was compared with a shape.
  [[nodiscard]] uint64_t comparisons() const { return comparisons_; }

 private:
  void MakeIndex();

  const std::vector<PodShape>& shapes_;
  std::vector<std::vector<PodShapeId>> lookalikes_;  // By what selectors read; made on first use.
  LabelIndex index_;                                 // Of lookalikes_.
  uint64_t comparisons_ = 0;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SHAPE_MATCHES_H_
