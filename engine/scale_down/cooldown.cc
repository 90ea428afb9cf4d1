#include "engine/scale_down/cooldown.h"

#include <algorithm>

namespace ebb {
namespace {

std::optional<int64_t>& Field(Cooldowns::Last& last, ScaleEventKind kind) {
  switch (kind) {
    case ScaleEventKind::kScaleUp:
      return last.scale_up_s;
    case ScaleEventKind::kDeletion:
      return last.deletion_s;
    case ScaleEventKind::kFailedDeletion:
      break;
  }
  return last.failed_deletion_s;
}

// The event that holds deletions back longest; nullopt: none does.
std::optional<Cooldowns::Hold> LongestHold(const CooldownOptions& options,
                                           const Cooldowns::Last& last, int64_t now_s) {
  std::optional<Cooldowns::Hold> longest;
  const auto look = [&](ScaleEventKind kind, const std::optional<int64_t>& at_s, int64_t delay_s) {
    if (!at_s || delay_s <= 0 || now_s - *at_s >= delay_s) return;
    if (!longest || *at_s + delay_s > longest->until_s) longest = {kind, *at_s, *at_s + delay_s};
  };
  look(ScaleEventKind::kScaleUp, last.scale_up_s, options.scale_down_delay_after_add_s);
  look(ScaleEventKind::kDeletion, last.deletion_s, options.scale_down_delay_after_delete_s);
  look(ScaleEventKind::kFailedDeletion, last.failed_deletion_s,
       options.scale_down_delay_after_failure_s);
  return longest;
}

}  // namespace

void Cooldowns::Note(const ScaleEvent& event) {
  const auto note = [&](const std::string& group) {
    Last& last = last_[group];
    last.group = group;
    std::optional<int64_t>& at_s = Field(last, event.kind);
    at_s = std::max(at_s.value_or(event.at_s), event.at_s);
  };
  note("");
  if (!event.group.empty()) note(event.group);
}

bool Cooldowns::Holds(const Last& last, int64_t now_s) const {
  return LongestHold(options_, last, now_s).has_value();
}

bool Cooldowns::Active(int64_t now_s) const { return HoldAt(now_s).has_value(); }

std::optional<Cooldowns::Hold> Cooldowns::HoldAt(int64_t now_s) const {
  if (options_.scale_down_delay_type_local) return std::nullopt;
  const auto it = last_.find("");
  return it == last_.end() ? std::nullopt : LongestHold(options_, it->second, now_s);
}

bool Cooldowns::ActiveFor(std::string_view group, int64_t now_s) const {
  if (!options_.scale_down_delay_type_local || group.empty()) return false;
  const auto it = last_.find(group);
  return it != last_.end() && Holds(it->second, now_s);
}

std::optional<int64_t> Cooldowns::LastScaleUp(std::string_view group) const {
  const auto it = last_.find(group);
  return it == last_.end() ? std::nullopt : it->second.scale_up_s;
}

std::vector<Cooldowns::Last> Cooldowns::Save() const {
  std::vector<Last> events;
  events.reserve(last_.size());
  for (const auto& [group, last] : last_) events.push_back(last);
  return events;
}

void Cooldowns::Restore(const std::vector<Last>& events) {
  last_.clear();
  for (const Last& last : events) last_[last.group] = last;
}

}  // namespace ebb
