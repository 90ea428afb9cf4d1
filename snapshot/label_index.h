// LabelIndex finds the label sets that a selector may match without comparing the selector with
// every set.  It considers only the sets that have one of the labels, or a key, that the selector
// requires, and picks the requirement that leaves the fewest sets.
//
// Cost:    Finish O(n log n) of all labels; Narrow O(values of the selector * log n).
// Threads: const methods may run concurrently.

#ifndef EBB_SNAPSHOT_LABEL_INDEX_H_
#define EBB_SNAPSHOT_LABEL_INDEX_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "snapshot/ids.h"
#include "snapshot/matching.h"

namespace ebb {

class LabelIndex {
  struct Entry {
    Label label;
    uint32_t set;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

 public:
  // Returns the set's number: how many were added before.
  uint32_t Add(std::span<const Label> labels);
  // Adds a label to the set that was added last.
  void AddLabel(Label label) { entries_.push_back({label, sets_ - 1}); }
  // REQUIRES: called once, after the last Add and before the first Candidates; without sets, often.
  void Finish() { Finish({}); }
  // `weights` has one weight per set, which Candidates::weight() adds up.
  void Finish(std::span<const uint32_t> weights);

  class CandidateUnion;

  // Some of the sets, without duplicates, including every set that matches all calls of Narrow.
  class Candidates {
   public:
    explicit Candidates(const LabelIndex& index)
        : index_(&index), size_(index.sets_), weight_(index.weight_) {
      EBB_DCHECK(index.is_finished_.IsSet());
    }
    // Only sets that `selector` may match.
    void Narrow(const Selector& selector);
    // Only sets that have one of the labels (key, value).  REQUIRES: no value twice.
    void Narrow(TextId key, std::span<const TextId> values);
    [[nodiscard]] size_t size() const { return size_; }
    // The lowest number of a set for which `matches` returns true.
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
        // The entries of one label are in the order of the sets.
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
    // The sum of the candidates' weights.  REQUIRES: Finish was called with weights.
    [[nodiscard]] uint64_t weight() const {
      EBB_DCHECK(!index_->weight_before_.empty());
      return weight_;
    }
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
    uint64_t weight_;
    std::vector<std::span<const Entry>> runs_;     // The fewest entries so far.
    std::vector<std::span<const Entry>> offered_;  // The entries for one requirement.
  };

  // The union of many Candidates of one index.  Cost: O(entries of the index), however many
  // Candidates were added.  ForEach may visit a set more than once.
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
    absl::flat_hash_map<const Entry*, size_t> runs_;  // The longest run that begins at the entry.
  };

 private:
  // The entries of a key with any value, or of one label.
  [[nodiscard]] std::span<const Entry> With(TextId key) const;
  [[nodiscard]] std::span<const Entry> With(Label label) const;
  [[nodiscard]] uint64_t WeightOf(std::span<const Entry> run) const;

  std::vector<Entry> entries_;  // Sorted by Finish.
  uint32_t sets_ = 0;
  std::vector<uint64_t> weight_before_;  // Prefix sums of weights, by place in entries_.
  uint64_t weight_ = 0;                  // The sum over all sets.
  [[no_unique_address]] DebugFlag is_finished_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LABEL_INDEX_H_
