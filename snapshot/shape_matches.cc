#include "snapshot/shape_matches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace ebb {
namespace {

// A namespace is indexed as one more label.  No text has this id.
constexpr TextId kNamespace{std::numeric_limits<uint32_t>::max()};

// Equal where no selector can tell two shapes apart.
std::string WhatSelectorsRead(const PodShape& shape) {
  std::string key;
  key.reserve(sizeof(TextId) * (1 + 2 * shape.labels.size()));
  const auto append = [&](TextId id) {
    key.append(reinterpret_cast<const char*>(&id), sizeof(id));
  };
  append(shape.namespace_name);
  for (const Label& label : shape.labels) {
    append(label.key);
    append(label.value);
  }
  return key;
}

}  // namespace

uint32_t LabelIndex::Add(std::span<const Label> labels) {
  for (const Label& label : labels) entries_.push_back({label, sets_});
  return sets_++;
}

void LabelIndex::Finish(std::span<const uint32_t> weights) {
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
  offered_.clear();
  for (const TextId value : values) {
    if (const auto run = index_->With(Label{key, value}); !run.empty()) offered_.push_back(run);
  }
  Offer();
}

void LabelIndex::Candidates::Offer() {
  size_t size = 0;
  for (const std::span<const Entry> run : offered_) size += run.size();
  if (size >= size_) return;
  all_ = false;
  size_ = size;
  std::swap(runs_, offered_);
}

uint64_t LabelIndex::Candidates::weight() const {
  if (all_) return index_->weight_;
  uint64_t weight = 0;
  for (const std::span<const Entry> run : runs_) {
    const size_t begin = run.data() - index_->entries_.data();
    weight += index_->weight_before_[begin + run.size()] - index_->weight_before_[begin];
  }
  return weight;
}

void LabelIndex::CandidateUnion::Add(const Candidates& candidates) {
  if (candidates.all_) all_ = candidates;
  for (const std::span<const Entry> run : candidates.runs_) {
    size_t& size = runs_[run.data()];
    size = std::max(size, run.size());
  }
}

std::vector<bool> TooBroad(std::span<const uint64_t> most, uint64_t matches_max) {
  if (std::accumulate(most.begin(), most.end(), uint64_t{0}) <= matches_max) return {};
  std::vector<uint32_t> order(most.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return most[i]; });
  std::vector<bool> too_broad(most.size());
  uint64_t sum = 0;
  for (const uint32_t i : order) {
    sum += most[i];
    too_broad[i] = sum > matches_max;
  }
  return too_broad;
}

void ShapeMatches::MakeIndex() {
  absl::flat_hash_map<std::string, uint32_t> known;
  for (uint32_t s = 0; s < shapes_.size(); ++s) {
    const PodShape& shape = shapes_[s];
    const auto [it, is_new] =
        known.try_emplace(WhatSelectorsRead(shape), static_cast<uint32_t>(lookalikes_.size()));
    if (is_new) {
      lookalikes_.emplace_back();
      index_.Add(shape.labels);
      index_.AddLabel({kNamespace, shape.namespace_name});
    }
    lookalikes_[it->second].push_back(PodShapeId{s});
  }
  std::vector<uint32_t> weights;
  weights.reserve(lookalikes_.size());
  for (const std::vector<PodShapeId>& alike : lookalikes_) {
    weights.push_back(static_cast<uint32_t>(alike.size()));
  }
  index_.Finish(weights);
}

LabelIndex::Candidates ShapeMatches::CandidatesFor(std::span<const PodMatcher> matchers) {
  if (lookalikes_.empty()) MakeIndex();
  LabelIndex::Candidates candidates(index_);
  for (const PodMatcher& matcher : matchers) {
    if (!matcher.all_namespaces) candidates.Narrow(kNamespace, matcher.namespaces);
    candidates.Narrow(matcher.selector);
  }
  return candidates;
}

uint64_t ShapeMatches::Most(std::span<const PodMatcher> matchers) {
  return CandidatesFor(matchers).weight();
}

void ShapeMatches::ForEachThatMayMatch(std::span<const std::span<const PodMatcher>> questions,
                                       const std::function<void(PodShapeId)>& found) {
  LabelIndex::CandidateUnion all;
  for (const std::span<const PodMatcher> matchers : questions) all.Add(CandidatesFor(matchers));
  std::vector<bool> known(lookalikes_.size());
  all.ForEach([&](uint32_t set) {
    if (known[set]) return;
    known[set] = true;
    for (const PodShapeId each : lookalikes_[set]) found(each);
  });
}

void ShapeMatches::ForEach(std::span<const PodMatcher> matchers,
                           const std::function<void(PodShapeId)>& found) {
  CandidatesFor(matchers).ForEach([&](uint32_t set) {
    const std::vector<PodShapeId>& alike = lookalikes_[set];
    const PodShape& shape = shapes_[Index(alike.front())];
    ++comparisons_;
    const bool all = std::ranges::all_of(
        matchers, [&](const PodMatcher& matcher) { return matcher.Matches(shape); });
    if (!all) return;
    for (const PodShapeId each : alike) found(each);
  });
}

}  // namespace ebb
