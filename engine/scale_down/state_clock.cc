#include "engine/scale_down/state_clock.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

// Sets times that are too late back, and lists the changes.
class Clamp {
 public:
  explicit Clamp(int64_t now_s) : now_s_(now_s) {}

  void operator()(int64_t& at_s, std::string what) {
    if (at_s <= now_s_) return;
    changes_.push_back({std::move(what), at_s, now_s_});
    at_s = now_s_;
  }
  void operator()(std::optional<int64_t>& at_s, std::string what) {
    if (at_s) (*this)(*at_s, std::move(what));
  }
  std::vector<ClockChange> Changes() && { return std::move(changes_); }

 private:
  int64_t now_s_;
  std::vector<ClockChange> changes_;
};

}  // namespace

std::vector<ClockChange> SetClock(ScaleDownState& state, int64_t now_s) {
  Clamp clamp(now_s);
  clamp(state.latest_s, "last round");
  state.jump_s.reset();
  for (auto& timer : state.timers) clamp(timer.since_s, "timer of node " + timer.node);
  for (auto& node : state.skipped) clamp(node.since_s, "first skip of node " + node.node);
  for (auto& started : state.started) clamp(started.at_s, "deletion of node " + started.node);
  for (auto& pod : state.actuation.recent_evictions) {
    clamp(pod.evicted_at_s, absl::StrCat("eviction of pod ", pod.namespace_name, "/", pod.name));
  }
  for (auto& last : state.cooldowns) {
    const std::string where = last.group.empty() ? "" : " of group " + last.group;
    clamp(last.scale_up_s, "last scale-up" + where);
    clamp(last.deletion_s, "last deletion" + where);
    clamp(last.failed_deletion_s, "last failed deletion" + where);
  }
  clamp(state.limit.latest_update_s, "last pass");
  std::erase_if(state.planner.unremovable, [&](const auto& node) { return node.until_s > now_s; });
  return std::move(clamp).Changes();
}

}  // namespace ebb
