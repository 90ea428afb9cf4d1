#include "snapshot/shape_matches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"

namespace ebb {
namespace {

// A namespace is indexed as one more label.  No text has this id.
constexpr TextId kNamespace{std::numeric_limits<uint32_t>::max()};

void Append(TextId id, std::string& key) {
  key.append(reinterpret_cast<const char*>(&id), sizeof(id));
}

}  // namespace

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

void ShapeMatches::Expect(const PodMatcher& matcher) {
  EBB_DCHECK(lookalikes_.empty());
  for (const LabelRequirement& each : matcher.selector.requirements) keys_.insert(each.key);
}

bool ShapeMatches::IsExpected(const PodMatcher& matcher) const {
  return std::ranges::all_of(matcher.selector.requirements, [this](const LabelRequirement& each) {
    return keys_.contains(each.key);
  });
}

void ShapeMatches::MakeIndex() {
  absl::flat_hash_map<std::string, uint32_t> known;
  std::vector<Label> labels;  // These two are reused.
  std::string look;
  for (uint32_t s = 0; s < shapes_.size(); ++s) {
    const PodShape& shape = shapes_[s];
    labels.clear();
    look.clear();
    Append(shape.namespace_name, look);
    for (const Label& label : shape.labels) {
      if (!keys_.contains(label.key)) continue;
      labels.push_back(label);
      Append(label.key, look);
      Append(label.value, look);
    }
    const auto [it, is_new] = known.try_emplace(look, static_cast<uint32_t>(lookalikes_.size()));
    if (is_new) {
      lookalikes_.emplace_back();
      index_.Add(labels);
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
  // A key that was not expected would lose matches silently.
  EBB_CHECK(std::ranges::all_of(matchers,
                                [this](const PodMatcher& matcher) { return IsExpected(matcher); }));
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
