#include "sizing/node_queues.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ebb {
namespace {

constexpr int64_t kDoublingsMax = 6;

// Whether the result was processed in an earlier turn.  A failure put its node back at that time.
bool IsOld(const DeletionResult& result, const QueuedNode& node) {
  return result.ok ? result.at_s < node.since_s : result.at_s <= node.since_s;
}

bool IsRunning(const ActuatorStatus& status, const std::string& node) {
  return std::ranges::find(status.running, node, &RunningDeletion::node) != status.running.end();
}

}  // namespace

struct NodeQueues::NodeReport {
  const RunningDeletion* running = nullptr;
  const DeletionResult* result = nullptr;
  bool there = true;  // The cluster has the node.
};

bool NodeQueues::Add(QueuedNode node, int64_t now_s) {
  if (Find(node.node) != nullptr) return false;
  node.since_s = now_s;
  nodes_->push_back(std::move(node));
  return true;
}

const QueuedNode* NodeQueues::Find(std::string_view node) const {
  const auto found = std::ranges::find(*nodes_, node, &QueuedNode::node);
  return found == nodes_->end() ? nullptr : &*found;
}

void NodeQueues::Remove(std::string_view node) {
  std::erase_if(*nodes_, [&](const QueuedNode& each) { return each.node == node; });
}

void NodeQueues::PutBack(QueuedNode& node, int64_t now_s) {
  node.queue = NodeQueue::kDrain;
  node.retry_s = now_s + (retry_s_ << std::min(node.attempts, kDoublingsMax));
  node.since_s = now_s;
  ++node.attempts;
}

void NodeQueues::Failed(std::string_view name, int64_t now_s) {
  const auto found = std::ranges::find(*nodes_, name, &QueuedNode::node);
  if (found != nodes_->end()) PutBack(*found, now_s);
}

void NodeQueues::WorkOnDrain(QueuedNode& node, const NodeReport& told, int64_t timeout_s,
                             int64_t now_s, std::vector<QueueEvent>& events) {
  using enum QueueEvent::Kind;
  const auto tell = [&](QueueEvent::Kind kind, std::string why = "") {
    events.push_back({kind, node.node, node.pool, std::move(why)});
  };
  if (told.running != nullptr) {
    if (told.running->phase == DeletionPhase::kDrained ||
        told.running->phase == DeletionPhase::kDeleting) {
      node.queue = NodeQueue::kTerminate;
      node.since_s = now_s;
      return tell(kDrained);
    }
    if (now_s - std::max(node.since_s, told.running->since_s) <= timeout_s) return;
    node.since_s = now_s;
    ++node.attempts;
    return tell(kFailed, "it does not drain");
  }
  if (told.result != nullptr && !told.result->ok) {
    PutBack(node, now_s);
    return tell(kFailed, told.result->why);
  }
  if (!told.there) return tell(kGone);
  if (told.result != nullptr) {
    node.queue = NodeQueue::kTerminate;
    node.since_s = now_s;
    return;
  }
  if (now_s - std::max(node.since_s, node.retry_s) > timeout_s) tell(kGivenUp);
}

void NodeQueues::WorkOnTermination(QueuedNode& node, const NodeReport& told, int64_t timeout_s,
                                   int64_t now_s, std::vector<QueueEvent>& events) {
  using enum QueueEvent::Kind;
  const auto tell = [&](QueueEvent::Kind kind, std::string why = "") {
    events.push_back({kind, node.node, node.pool, std::move(why)});
  };
  if (told.result != nullptr && !told.result->ok) {
    PutBack(node, now_s);
    return tell(kFailed, told.result->why);
  }
  if (told.running == nullptr && !told.there) return tell(kGone);
  if (told.result != nullptr) {
    node.since_s = now_s;  // The cluster does not show the deletion yet.
    return;
  }
  if (told.running == nullptr) {
    if (now_s - node.since_s <= timeout_s) return;
    PutBack(node, now_s);  // The actuator has lost the deletion.
    return tell(kFailed, "it is not gone");
  }
  if (now_s - std::max(node.since_s, told.running->since_s) <= timeout_s) return;
  node.since_s = now_s;
  ++node.attempts;
  tell(kFailed, "it is not gone");
}

std::vector<QueueEvent> NodeQueues::Work(
    const ActuatorStatus& status, const std::function<bool(const QueuedNode&)>& there,
    const std::function<int64_t(const std::string& pool)>& timeout_s, int64_t now_s) {
  std::map<std::string_view, NodeReport> told;
  for (const RunningDeletion& running : status.running) told[running.node].running = &running;
  for (const DeletionResult& result : status.results) told[result.node].result = &result;
  std::vector<QueueEvent> events;
  // Terminations first, so that a node is handled once in a turn.
  for (const NodeQueue queue : {NodeQueue::kTerminate, NodeQueue::kDrain}) {
    for (QueuedNode& node : *nodes_) {
      if (node.queue != queue || node.since_s > now_s) continue;
      const bool moved = std::ranges::count(events, node.node, &QueueEvent::node) > 0;
      if (moved) continue;
      NodeReport of = told.contains(node.node) ? told.at(node.node) : NodeReport();
      of.there = there(node);
      if (of.result != nullptr && IsOld(*of.result, node)) of.result = nullptr;
      if (queue == NodeQueue::kTerminate) {
        WorkOnTermination(node, of, timeout_s(node.pool), now_s, events);
      } else {
        WorkOnDrain(node, of, timeout_s(node.pool), now_s, events);
      }
    }
  }
  for (const QueueEvent& event : events) {
    const bool left =
        event.kind == QueueEvent::Kind::kGone || event.kind == QueueEvent::Kind::kGivenUp;
    if (left) Remove(event.node);
  }
  return events;
}

std::vector<QueuedNode> NodeQueues::Due(const ActuatorStatus& status, int64_t now_s) const {
  std::vector<QueuedNode> due;
  for (const QueuedNode& node : *nodes_) {
    const bool waits = node.queue == NodeQueue::kDrain && node.retry_s <= now_s;
    if (waits && !IsRunning(status, node.node)) due.push_back(node);
  }
  return due;
}

}  // namespace ebb
