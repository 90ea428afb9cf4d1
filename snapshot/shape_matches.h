// ShapeMatches finds the pod shapes that selectors match, and LabelIndex the label
// sets, without comparing every selector with every one of them.
//
// A selector is compared with those alone that have a label, a key or a namespace that
// it asks for, whichever are fewest.  Shapes that no selector can tell apart (namespace
// and labels) are compared once.
//
// Selectors that ask for what all have, or lack, find so much that there can be no answer
// for all of them: TooBroad tells which to leave out.
//
// Cost:    made on first use, O(n log n) of all labels.  A question: O(values + what is compared),
//          which is all there is only if a selector asks for nothing but absence.
// Threads: none: they count what they compare.

#ifndef EBB_SNAPSHOT_SHAPE_MATCHES_H_
#define EBB_SNAPSHOT_SHAPE_MATCHES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
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
  void Finish() { Finish({}); }
  // `weights` by set: what Candidates::weight() adds up.
  void Finish(std::span<const uint32_t> weights);

  class CandidateUnion;

  // Some of the sets, each once: among them are all that match what Narrow was told.
  class Candidates {
   public:
    explicit Candidates(const LabelIndex& index) : index_(&index), size_(index.sets_) {}
    // Only sets that `selector` may match.
    void Narrow(const Selector& selector);
    // Only sets that have one of the labels (key, value).  REQUIRES: no value twice.
    void Narrow(TextId key, std::span<const TextId> values);
    [[nodiscard]] size_t size() const { return size_; }
    // The lowest that `matches`.
    template <typename Matches>
    [[nodiscard]] std::optional<uint32_t> First(Matches&& matches) const {
      std::optional<uint32_t> first;
      const auto offer = [&](uint32_t set) {
        const bool found = matches(set);
        if (found) first = std::min(set, first.value_or(set));
        return found;
      };
      for (uint32_t set = 0; all_ && set < index_->sets_; ++set) {
        if (offer(set)) break;
      }
      for (const std::span<const Entry> run : runs_) {
        if (run.empty()) continue;
        // Of one label they are in the order of the sets.
        const bool in_order = run.front().label == run.back().label;
        for (const Entry& entry : run) {
          if (first && entry.set >= *first) {
            if (in_order) break;
          } else if (offer(entry.set) && in_order) {
            break;
          }
        }
      }
      return first;
    }
    // Of all of them together.  REQUIRES: Finish was told weights.
    [[nodiscard]] uint64_t weight() const;
    template <typename Found>
    void ForEach(Found&& found) const {
      if (all_) {
        for (uint32_t set = 0; set < index_->sets_; ++set) found(set);
        return;
      }
      for (const std::span<const Entry> run : runs_) {
        for (const Entry& entry : run) found(entry.set);
      }
    }

   private:
    friend class CandidateUnion;
    void Offer();

    const LabelIndex* index_;
    bool all_ = true;
    size_t size_;
    std::vector<std::span<const Entry>> runs_;     // The fewest so far.
    std::vector<std::span<const Entry>> offered_;  // Those of one requirement.
  };

  // Whoever is among one of many Candidates of one index.  Cost: O(entries of the index),
  // however many were added.
  class CandidateUnion {
   public:
    void Add(const Candidates& candidates);
    template <typename Found>
    void ForEach(Found&& found) const {
      if (all_) return all_->ForEach(found);
      for (const auto& [begin, size] : runs_) {
        for (const Entry& entry : std::span(begin, size)) found(entry.set);
      }
    }

   private:
    std::optional<Candidates> all_;
    absl::flat_hash_map<const Entry*, size_t> runs_;  // The longest that begins there.
  };

 private:
  // Entries of a key with any value, or of one label.
  [[nodiscard]] std::span<const Entry> With(TextId key) const;
  [[nodiscard]] std::span<const Entry> With(Label label) const;

  std::vector<Entry> entries_;  // Sorted by Finish.
  uint32_t sets_ = 0;
  std::vector<uint64_t> weight_before_;  // By place in entries_, and at the end.
  uint64_t weight_ = 0;                  // Of all sets.
};

// How many shapes all selectors of a kind may find.  A cluster of 5,000 pod shapes where
// 200 selectors find every one of them is at a million.
inline constexpr uint64_t kMatchesMax = uint64_t{1} << 20;

// Which of many selectors to leave out so that the others find `matches_max` shapes at
// most, together: those that may find most.  `most` by selector; so is the answer, which is
// empty where all may stay.  Of selectors that may find as many, the first ones stay.
std::vector<bool> TooBroad(std::span<const uint64_t> most, uint64_t matches_max);

class ShapeMatches {
 public:
  // `shapes` must outlive it; none comes and no labels change after the first question.
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
