#include "engine/scale_down/unneeded.h"

#include <algorithm>
#include <utility>

namespace ebb {

const UnneededTimers::Entry* UnneededTimers::Find(const NodeInfo& node,
                                                  ReturnedNode returned) const {
  const auto it = before_.find(node.name);
  if (it == before_.end()) return nullptr;
  const bool goes_on = it->second.uid == node.uid || returned == ReturnedNode::kKeepsTimer;
  return goes_on ? &it->second : nullptr;
}

void UnneededTimers::Update(const Catalog& catalog, const Plan& plan, int64_t now_s,
                            SkippedTimer skipped, ReturnedNode returned, const NodeSet* waiting) {
  std::swap(timers_, before_);
  timers_.clear();
  timers_.reserve(plan.remove.size());
  if (skipped == SkippedTimer::kKept && !plan.skipped.empty()) {
    NodeSet not_reached(catalog.nodes());
    for (const NodeId node : plan.skipped) not_reached.Insert(node);
    KeepTimers(catalog, not_reached, returned);
  }
  if (waiting != nullptr) KeepTimers(catalog, *waiting, returned);
  for (const RemovableNode& removable : plan.remove) {
    const NodeInfo& node = catalog.node(removable.node);
    const Entry* running = Find(node, returned);
    timers_[node.name] = {node.uid, running != nullptr ? running->since_s : now_s, true};
  }
  judged_ = plan.remove.size();
}

// Walks over the timers, because they are few where a pass skips many nodes.
void UnneededTimers::KeepTimers(const Catalog& catalog, const NodeSet& nodes,
                                ReturnedNode returned) {
  for (const auto& [name, entry] : before_) {
    const NodeId node = catalog.FindNode(name);
    if (node == kNoNode || !nodes.Contains(node)) continue;
    if (Find(catalog.node(node), returned) == nullptr) continue;
    timers_[name] = {catalog.node(node).uid, entry.since_s, false};
  }
}

void UnneededTimers::Clear() {
  timers_.clear();
  judged_ = 0;
}

std::vector<UnneededTimers::Timer> UnneededTimers::Save(const Symbols& symbols) const {
  std::vector<Timer> timers;
  timers.reserve(timers_.size());
  for (const auto& [node, entry] : timers_) {
    timers.push_back({std::string(symbols.Text(node)), std::string(symbols.Text(entry.uid)),
                      entry.since_s, entry.judged});
  }
  std::sort(timers.begin(), timers.end(),
            [](const Timer& a, const Timer& b) { return a.node < b.node; });
  return timers;
}

void UnneededTimers::Restore(const std::vector<Timer>& timers, Symbols& symbols) {
  Clear();
  for (const Timer& timer : timers) {
    timers_[symbols.Intern(timer.node)] = {symbols.Intern(timer.uid), timer.since_s, timer.judged};
  }
  for (const auto& [node, entry] : timers_) judged_ += entry.judged ? 1 : 0;
}

}  // namespace ebb
