#include "engine/slow_matches.h"

#include <algorithm>
#include <limits>
#include <string>

namespace ebb {
namespace {

// strconv.ParseInt in base 10.
std::optional<int64_t> ParseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 19) return std::nullopt;
  __int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (negative) value = -value;
  using Limits = std::numeric_limits<int64_t>;
  if (value < Limits::min() || value > Limits::max()) return std::nullopt;
  return static_cast<int64_t>(value);
}

bool Contains(const std::vector<TextId>& sorted, TextId item) {
  const auto it = std::lower_bound(sorted.begin(), sorted.end(), item);
  return it != sorted.end() && *it == item;
}

// Namespace and labels as bytes: equal where no selector can tell two shapes apart.
std::string WhatSelectorsRead(const PodShape& shape) {
  std::string bytes;
  const auto append = [&](TextId id) {
    bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
  };
  append(shape.namespace_name);
  for (const Label& label : shape.labels) {
    append(label.key);
    append(label.value);
  }
  return bytes;
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
  const auto number = [&]() { return value ? ParseInteger(catalog_.Text(*value)) : std::nullopt; };
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

void SlowMatches::MakeIndex() {
  absl::flat_hash_map<std::string, uint32_t> known;
  for (uint32_t s = 0; s < catalog_.pod_shapes(); ++s) {
    const PodShape& shape = catalog_.shape(PodShapeId{s});
    const auto next = static_cast<uint32_t>(lookalikes_.size());
    const auto [it, is_new] = known.try_emplace(WhatSelectorsRead(shape), next);
    if (is_new) {
      lookalikes_.emplace_back();
      everybody_.push_back(next);
      in_namespace_[shape.namespace_name].push_back(next);
      for (const Label& label : shape.labels) {
        with_key_[label.key].push_back(next);
        with_label_[{label.key, label.value}].push_back(next);
      }
    }
    lookalikes_[it->second].push_back(PodShapeId{s});
  }
}

// Whatever matches is in these lists: the fewest that one requirement leads to.
SlowMatches::Lists SlowMatches::MayMatch(std::span<const PodMatcher> all) const {
  Lists fewest = {&everybody_};
  size_t least = everybody_.size();
  // `lists` are those of one requirement that every match fulfils.
  const auto offer = [&](Lists lists) {
    // A value or namespace that is named twice.
    std::sort(lists.begin(), lists.end());
    lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
    size_t size = 0;
    for (const std::vector<uint32_t>* list : lists) size += list->size();
    if (size >= least) return;
    least = size;
    fewest = std::move(lists);
  };
  const auto add = [](const auto& map, const auto& key, Lists& lists) {
    if (const auto it = map.find(key); it != map.end()) lists.push_back(&it->second);
  };
  for (const PodMatcher& matcher : all) {
    if (matcher.selector.nothing) return {};
    Lists lists;
    for (const TextId name : matcher.namespaces) add(in_namespace_, name, lists);
    if (!matcher.all_namespaces) offer(std::move(lists));
    for (const LabelRequirement& requirement : matcher.selector.requirements) {
      lists.clear();
      if (requirement.op == Operator::kIn) {
        for (const TextId value : requirement.values) {
          add(with_label_, std::pair(requirement.key, value), lists);
        }
      } else if (requirement.op == Operator::kExists) {
        add(with_key_, requirement.key, lists);
      } else {
        continue;
      }
      offer(std::move(lists));
    }
  }
  return fewest;
}

std::vector<PodShapeId> SlowMatches::Find(std::span<const PodMatcher> all) {
  if (lookalikes_.empty()) MakeIndex();
  std::vector<PodShapeId> found;
  for (const std::vector<uint32_t>* list : MayMatch(all)) {
    for (const uint32_t each : *list) {
      const Lookalikes& shapes = lookalikes_[each];
      ++comparisons_;
      if (!IsMatch(all, catalog_.shape(shapes.front()))) continue;
      found.insert(found.end(), shapes.begin(), shapes.end());
    }
  }
  return found;
}

}  // namespace ebb
