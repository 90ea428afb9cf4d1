#include "engine/unneeded.h"

#include <algorithm>
#include <utility>

#include "snapshot/text.h"

namespace ebb {

const UnneededTimers::Entry* UnneededTimers::Find(const Catalog& catalog, NodeId node) const {
  const auto it = timers_.find(Absl(catalog.NodeName(node)));
  if (it == timers_.end() || it->second.uid != catalog.Text(catalog.node(node).uid)) return nullptr;
  return &it->second;
}

void UnneededTimers::Update(const Catalog& catalog, const Plan& plan, int64_t now_s,
                            SkippedTimer skipped) {
  absl::flat_hash_map<std::string, Entry> next;
  next.reserve(plan.remove.size());
  const auto track = [&](NodeId node, int64_t since_s, bool judged) {
    next.insert_or_assign(
        std::string(catalog.NodeName(node)),
        Entry{std::string(catalog.Text(catalog.node(node).uid)), since_s, judged});
  };
  if (skipped == SkippedTimer::kKept) {
    for (const NodeId node : plan.skipped) {
      if (const Entry* running = Find(catalog, node)) track(node, running->since_s, false);
    }
  }
  for (const RemovableNode& removable : plan.remove) {
    const Entry* running = Find(catalog, removable.node);
    track(removable.node, running != nullptr ? running->since_s : now_s, true);
  }
  timers_ = std::move(next);
  judged_ = plan.remove.size();
}

std::optional<int64_t> UnneededTimers::Since(std::string_view node) const {
  const auto it = timers_.find(Absl(node));
  if (it == timers_.end() || !it->second.judged) return std::nullopt;
  return it->second.since_s;
}

void UnneededTimers::Clear() {
  timers_.clear();
  judged_ = 0;
}

std::vector<UnneededTimers::Timer> UnneededTimers::Save() const {
  std::vector<Timer> timers;
  timers.reserve(timers_.size());
  for (const auto& [node, entry] : timers_) {
    timers.push_back({node, entry.uid, entry.since_s, entry.judged});
  }
  std::sort(timers.begin(), timers.end(),
            [](const Timer& a, const Timer& b) { return a.node < b.node; });
  return timers;
}

void UnneededTimers::Restore(const std::vector<Timer>& timers) {
  Clear();
  for (const Timer& timer : timers) {
    timers_.insert_or_assign(timer.node, Entry{timer.uid, timer.since_s, timer.judged});
  }
  for (const auto& [node, entry] : timers_) judged_ += entry.judged ? 1 : 0;
}

}  // namespace ebb
