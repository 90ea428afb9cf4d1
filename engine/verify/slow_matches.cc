#include "engine/verify/slow_matches.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace ebb {
namespace {

// As strconv.ParseInt in base 10.
std::optional<int64_t> ParseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  using Limits = std::numeric_limits<int64_t>;
  __int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
    if (-value < Limits::min()) return std::nullopt;
  }
  if (negative) value = -value;
  if (value < Limits::min() || value > Limits::max()) return std::nullopt;
  return static_cast<int64_t>(value);
}

bool Contains(const std::vector<TextId>& sorted, TextId item) {
  const auto it = std::lower_bound(sorted.begin(), sorted.end(), item);
  return it != sorted.end() && *it == item;
}

// Calls use(item) once for each distinct item of a sorted list.
template <typename Use>
void EachOnce(const std::vector<TextId>& sorted, Use&& use) {
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i] != sorted[i - 1]) use(sorted[i]);
  }
}

}  // namespace

std::optional<TextId> SlowMatches::ValueOf(const LabelSet& labels, TextId key) {
  const auto it = std::partition_point(labels.begin(), labels.end(),
                                       [&](const Label& label) { return label.key < key; });
  if (it == labels.end() || it->key != key) return std::nullopt;
  return it->value;
}

bool SlowMatches::Holds(const LabelRequirement& requirement, const LabelSet& labels) const {
  const std::optional<TextId> value = ValueOf(labels, requirement.key);
  const auto number = [&]() { return value ? ParseInteger(catalog_->Text(*value)) : std::nullopt; };
  switch (requirement.op) {
    case Operator::kIn:
      return value && Contains(requirement.values, *value);
    case Operator::kNotIn:
      return !value || !Contains(requirement.values, *value);
    case Operator::kExists:
      return value.has_value();
    case Operator::kDoesNotExist:
      return !value.has_value();
    case Operator::kGt:
      return number() && *number() > requirement.bound;
    case Operator::kLt:
      return number() && *number() < requirement.bound;
  }
  return false;
}

bool SlowMatches::IsMatch(const PodMatcher& matcher, const PodShape& shape) const {
  if (!matcher.all_namespaces && !Contains(matcher.namespaces, shape.namespace_name)) return false;
  if (matcher.selector.nothing) return false;
  for (const LabelRequirement& requirement : matcher.selector.requirements) {
    if (!Holds(requirement, shape.labels)) return false;
  }
  return true;
}

bool SlowMatches::IsMatch(std::span<const PodMatcher> all, const PodShape& shape) const {
  for (const PodMatcher& matcher : all) {
    if (!IsMatch(matcher, shape)) return false;
  }
  return true;
}

bool SlowMatches::AddKeys(const Selector& selector) {
  bool any_new = false;
  for (const LabelRequirement& each : selector.requirements) {
    any_new = keys_.insert(each.key).second || any_new;
  }
  return any_new;
}

void SlowMatches::AddKeysOfCatalog() {
  for (const Pdb& pdb : catalog_->pdbs()) AddKeys(pdb.selector);
  for (const CounterTable& table : catalog_->tables()) {
    for (const PodMatcher& matcher : table.matchers) AddKeys(matcher.selector);
  }
}

void SlowMatches::MakeIndex() {
  // What selectors can read of a shape.
  struct Seen {
    TextId namespace_name;
    absl::InlinedVector<std::pair<TextId, TextId>, 2> labels;  // Nearly all shapes have few.
    PodShapeId shape;
  };
  std::vector<Seen> all;
  all.reserve(catalog_->pod_shapes());
  for (uint32_t s = 0; s < catalog_->pod_shapes(); ++s) {
    const PodShape& shape = catalog_->shape(PodShapeId{s});
    Seen& seen = all.emplace_back(Seen{shape.namespace_name, {}, PodShapeId{s}});
    for (const Label& label : shape.labels) {
      if (keys_.contains(label.key)) seen.labels.emplace_back(label.key, label.value);
    }
  }
  const auto look_of = [](const Seen& seen) { return std::tie(seen.namespace_name, seen.labels); };
  std::ranges::sort(all, [&](const Seen& a, const Seen& b) {
    return std::tuple_cat(look_of(a), std::tie(a.shape)) <
           std::tuple_cat(look_of(b), std::tie(b.shape));
  });
  shapes_.clear();
  begins_.clear();
  all_looks_.clear();
  labelled_.clear();
  labelled_looks_.clear();
  for (uint32_t i = 0; i < all.size(); ++i) {
    shapes_.push_back(all[i].shape);
    if (i > 0 && look_of(all[i - 1]) == look_of(all[i])) continue;
    const auto look = static_cast<uint32_t>(begins_.size());
    begins_.push_back(i);
    all_looks_.push_back(look);
    for (const auto& [key, value] : all[i].labels) {
      labelled_.push_back({.key = key, .value = value, .look = look});
    }
  }
  begins_.push_back(static_cast<uint32_t>(shapes_.size()));
  std::ranges::sort(labelled_);
  for (const Labelled& each : labelled_) labelled_looks_.push_back(each.look);
}

SlowMatches::Looks SlowMatches::InNamespace(TextId name) const {
  const auto [begin, end] = std::ranges::equal_range(all_looks_, name, {}, [&](uint32_t look) {
    return catalog_->shape(ShapesOf(look).front()).namespace_name;
  });
  return Looks(begin, end);
}

SlowMatches::Looks SlowMatches::WithKey(TextId key) const {
  const auto [begin, end] = std::ranges::equal_range(labelled_, key, {}, &Labelled::key);
  return LabelledFrom(static_cast<size_t>(begin - labelled_.begin()),
                      static_cast<size_t>(end - labelled_.begin()));
}

SlowMatches::Looks SlowMatches::WithLabel(TextId key, TextId value) const {
  const auto [begin, end] = std::ranges::equal_range(
      labelled_, std::pair(key, value), {},
      [](const Labelled& each) { return std::pair(each.key, each.value); });
  return LabelledFrom(static_cast<size_t>(begin - labelled_.begin()),
                      static_cast<size_t>(end - labelled_.begin()));
}

// Returns disjoint lists that contain every match: the lists of the one requirement that has the
// fewest looks.
std::vector<SlowMatches::Looks> SlowMatches::MayMatch(std::span<const PodMatcher> all) const {
  std::vector<Looks> fewest = {all_looks_};
  size_t least = all_looks_.size();
  // `lists`: the looks that fulfil one requirement, which every match must fulfil.
  const auto offer = [&](std::vector<Looks> lists) {
    size_t size = 0;
    for (const Looks list : lists) size += list.size();
    if (size >= least) return;
    least = size;
    fewest = std::move(lists);
  };
  for (const PodMatcher& matcher : all) {
    if (matcher.selector.nothing) return {};
    std::vector<Looks> lists;
    EachOnce(matcher.namespaces, [&](TextId name) { lists.push_back(InNamespace(name)); });
    if (!matcher.all_namespaces) offer(std::move(lists));
    for (const LabelRequirement& requirement : matcher.selector.requirements) {
      lists.clear();
      if (requirement.op == Operator::kIn) {
        EachOnce(requirement.values,
                 [&](TextId value) { lists.push_back(WithLabel(requirement.key, value)); });
      } else if (requirement.op == Operator::kExists) {
        lists.push_back(WithKey(requirement.key));
      } else {
        continue;
      }
      offer(std::move(lists));
    }
  }
  return fewest;
}

std::vector<PodShapeId> SlowMatches::Find(std::span<const PodMatcher> all) {
  if (shapes_.empty()) AddKeysOfCatalog();
  bool any_new = false;
  for (const PodMatcher& matcher : all) any_new = AddKeys(matcher.selector) || any_new;
  if (any_new || shapes_.empty()) MakeIndex();
  std::vector<PodShapeId> found;
  for (const Looks list : MayMatch(all)) {
    for (const uint32_t look : list) {
      const std::span<const PodShapeId> shapes = ShapesOf(look);
      ++comparisons_;
      if (!IsMatch(all, catalog_->shape(shapes.front()))) continue;
      found.insert(found.end(), shapes.begin(), shapes.end());
    }
  }
  return found;
}

}  // namespace ebb
