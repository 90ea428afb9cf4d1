#include "snapshot/shape_matches.h"

#include <algorithm>
#include <limits>
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

void LabelIndex::Finish() { std::sort(entries_.begin(), entries_.end()); }

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
      offered_.assign(1, index_.With(requirement.key));
      Offer();
    }
  }
}

void LabelIndex::Candidates::Narrow(TextId key, std::span<const TextId> values) {
  offered_.clear();
  for (const TextId value : values) {
    if (const auto run = index_.With(Label{key, value}); !run.empty()) offered_.push_back(run);
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
  index_.Finish();
}

void ShapeMatches::ForEach(std::span<const PodMatcher> matchers,
                           const std::function<void(PodShapeId)>& found) {
  if (lookalikes_.empty()) MakeIndex();
  LabelIndex::Candidates candidates(index_);
  for (const PodMatcher& matcher : matchers) {
    if (!matcher.all_namespaces) candidates.Narrow(kNamespace, matcher.namespaces);
    candidates.Narrow(matcher.selector);
  }
  candidates.ForEach([&](uint32_t set) {
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
