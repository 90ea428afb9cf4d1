#include "snapshot/selector_index.h"

#include <limits>
#include <utility>

namespace ebb {
namespace {

// No text has these ids.
constexpr TextId kAnyValue{std::numeric_limits<uint32_t>::max()};
constexpr TextId kInNamespace{std::numeric_limits<uint32_t>::max() - 1};
constexpr TextId kEveryShape{std::numeric_limits<uint32_t>::max() - 2};

ShapeTrait Trait(TextId key, TextId value) {
  return ShapeTrait{uint64_t{Index(key)} << 32 | Index(value)};
}

template <typename Visit>
void ForEachTrait(const PodShape& shape, Visit&& visit) {
  visit(Trait(kEveryShape, kAnyValue));
  visit(Trait(kInNamespace, shape.namespace_name));
  for (const Label& label : shape.labels) {
    visit(Trait(label.key, label.value));
    visit(Trait(label.key, kAnyValue));
  }
}

}  // namespace

void ShapeIndex::Add(const PodShape& shape) {
  const PodShapeId id{static_cast<uint32_t>(size_++)};
  ForEachTrait(shape, [&](ShapeTrait trait) { with_[trait].push_back(id); });
}

std::span<const PodShapeId> ShapeIndex::With(ShapeTrait trait) const {
  const auto it = with_.find(trait);
  return it == with_.end() ? std::span<const PodShapeId>() : it->second;
}

uint64_t SelectorIndex::Weight(std::span<const ShapeTrait> traits) const {
  uint64_t weight = 0;
  for (const ShapeTrait trait : traits) weight += shapes_->With(trait).size();
  return weight;
}

// Uses the same rule as LabelIndex::Candidates::Narrow.
std::vector<ShapeTrait> SelectorIndex::FewestTraits(std::span<const PodMatcher> matchers) const {
  std::vector<ShapeTrait> fewest = {Trait(kEveryShape, kAnyValue)};
  uint64_t weight = Weight(fewest);
  const auto offer = [&](std::vector<ShapeTrait> traits) {
    const uint64_t offered = Weight(traits);
    if (offered > weight || (offered == weight && !traits.empty())) return;
    weight = offered;
    fewest = std::move(traits);
  };
  const auto of_values = [](TextId key, std::span<const TextId> values) {
    std::vector<ShapeTrait> traits;
    traits.reserve(values.size());
    for (const TextId value : values) traits.push_back(Trait(key, value));
    return traits;
  };
  for (const PodMatcher& matcher : matchers) {
    if (matcher.selector.nothing) return {};
    if (!matcher.all_namespaces) offer(of_values(kInNamespace, matcher.namespaces));
    for (const LabelRequirement& requirement : matcher.selector.requirements) {
      if (requirement.op == Operator::kIn) {
        offer(of_values(requirement.key, requirement.values));
      } else if (requirement.op == Operator::kExists) {
        offer({Trait(requirement.key, kAnyValue)});
      }
    }
  }
  return fewest;
}

void SelectorIndex::Hang(uint32_t selector, std::vector<ShapeTrait> at) {
  Hanging& hanging = selectors_[selector];
  for (const ShapeTrait trait : at) hanging_at_[trait].push_back(selector);
  most_[hanging.kind] += Weight(at);
  hanging.at = std::move(at);
}

void SelectorIndex::TakeDown(uint32_t selector) {
  Hanging& hanging = selectors_[selector];
  for (const ShapeTrait trait : hanging.at) std::erase(hanging_at_[trait], selector);
  most_[hanging.kind] -= Weight(hanging.at);
  hanging.at.clear();
}

void SelectorIndex::Add(std::span<const PodMatcher> matchers, size_t kind) {
  selectors_.push_back({.at = {}, .kind = kind});
  Hang(static_cast<uint32_t>(selectors_.size() - 1), FewestTraits(matchers));
}

void SelectorIndex::Replace(uint32_t selector, std::span<const PodMatcher> matchers) {
  TakeDown(selector);
  Hang(selector, FewestTraits(matchers));
}

void SelectorIndex::Remove(uint32_t selector) {
  TakeDown(selector);
  selectors_.erase(selectors_.begin() + selector);
  for (auto& [trait, selectors] : hanging_at_) {
    for (uint32_t& other : selectors) other -= other > selector ? 1 : 0;
  }
}

void SelectorIndex::CountShape(const PodShape& shape) {
  for (const uint32_t selector : SelectorsFor(shape)) ++most_[selectors_[selector].kind];
}

std::vector<uint32_t> SelectorIndex::SelectorsFor(const PodShape& shape) const {
  std::vector<uint32_t> found;
  ForEachTrait(shape, [&](ShapeTrait trait) {
    const auto it = hanging_at_.find(trait);
    if (it != hanging_at_.end()) found.insert(found.end(), it->second.begin(), it->second.end());
  });
  std::ranges::sort(found);
  return found;
}

std::vector<PodShapeId> SelectorIndex::ShapesFor(uint32_t selector) const {
  std::vector<PodShapeId> found;
  for (const ShapeTrait trait : selectors_[selector].at) {
    const std::span<const PodShapeId> with = shapes_->With(trait);
    found.insert(found.end(), with.begin(), with.end());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace ebb
