#include "snapshot/label_index.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace ebb {
namespace {

bool AreDistinct(std::span<const TextId> values) {
  std::vector<TextId> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end();
}

}  // namespace

uint32_t LabelIndex::Add(std::span<const Label> labels) {
  EBB_DCHECK(!is_finished_.IsSet() || sets_ == 0);
  for (const Label& label : labels) entries_.push_back({label, sets_});
  return sets_++;
}

void LabelIndex::Finish(std::span<const uint32_t> weights) {
  EBB_DCHECK(!is_finished_.IsSet() || sets_ == 0);
  EBB_DCHECK(weights.empty() || weights.size() == sets_);
  is_finished_.Set();
  std::sort(entries_.begin(), entries_.end());
  if (weights.empty()) return;
  weight_ = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  weight_before_.reserve(entries_.size() + 1);
  uint64_t sum = 0;
  for (const Entry& entry : entries_) {
    weight_before_.push_back(sum);
    sum += weights[entry.set];
  }
  weight_before_.push_back(sum);
}

std::span<const LabelIndex::Entry> LabelIndex::With(TextId key) const {
  const auto range = std::ranges::equal_range(entries_, key, {},
                                              [](const Entry& entry) { return entry.label.key; });
  return {range.begin(), range.end()};
}

std::span<const LabelIndex::Entry> LabelIndex::With(Label label) const {
  const auto range = std::ranges::equal_range(entries_, label, {}, &Entry::label);
  return {range.begin(), range.end()};
}

void LabelIndex::Candidates::Narrow(const Selector& selector) {
  if (selector.nothing) {
    offered_.clear();
    Offer();
    return;
  }
  for (const LabelRequirement& requirement : selector.requirements) {
    if (requirement.op == Operator::kIn) {
      Narrow(requirement.key, requirement.values);
    } else if (requirement.op == Operator::kExists) {
      offered_.assign(1, index_->With(requirement.key));
      Offer();
    }
  }
}

void LabelIndex::Candidates::Narrow(TextId key, std::span<const TextId> values) {
  EBB_DCHECK(AreDistinct(values));
  offered_.clear();
  for (const TextId value : values) {
    if (const auto run = index_->With(Label{key, value}); !run.empty()) offered_.push_back(run);
  }
  Offer();
}

void LabelIndex::Candidates::Offer() {
  size_t size = 0;
  uint64_t weight = 0;
  for (const std::span<const Entry> run : offered_) {
    size += run.size();
    weight += index_->WeightOf(run);
  }
  // Without weights both weights are 0, and the sizes decide.
  if (std::pair(weight, size) >= std::pair(weight_, size_)) return;
  all_ = false;
  size_ = size;
  weight_ = weight;
  std::swap(runs_, offered_);
}

uint64_t LabelIndex::WeightOf(std::span<const Entry> run) const {
  if (weight_before_.empty()) return 0;
  const size_t begin = run.data() - entries_.data();
  return weight_before_[begin + run.size()] - weight_before_[begin];
}

void LabelIndex::CandidateUnion::Add(const Candidates& candidates) {
  if (candidates.all_) all_ = candidates;
  for (const std::span<const Entry> run : candidates.runs_) {
    size_t& size = runs_[run.data()];
    size = std::max(size, run.size());
  }
}

}  // namespace ebb
