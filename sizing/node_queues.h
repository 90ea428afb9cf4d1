// NodeQueues: nodes on their way out. One waits in the drain queue until its deletion has begun and
// its pods are gone, then in the termination queue until it is gone itself.
//
//   NodeQueues queues(&state.queue, retry_s);
//   queues.Add({.node = "n1", .pool = "web"}, now_s);  // Once; again changes nothing.
//   for (const QueueEvent& event : queues.Work(status, there, timeouts, now_s)) Tell(event);
//
// Two workers, one a queue, look at what the actuator tells: they keep nothing of their own, so
// that a process that is restarted goes on. What either finds done is done, whoever did it; a node
// whose deletion the actuator does not know any more is begun anew.
//
// A node is gone when the cluster does not have it any more. The actuator may tell so earlier than
// the cluster, and a pool that counted the node again would send another one after it.
//
// A result that is told again changes nothing more.
//
// A failure puts a node back into the drain queue, to be tried again after `retry_s` seconds, twice
// as long each time. A node that then waits longer than its pool's timeout, because its pods have
// no places, leaves the queue.
//
// Cost:    O(nodes in queues * log).
// Threads: none.
// Ownership: borrows the list, which is the whole state.

#ifndef EBB_SIZING_NODE_QUEUES_H_
#define EBB_SIZING_NODE_QUEUES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/scale_down/sizing_state.h"
#include "loop/actuator.h"

namespace ebb {

struct QueueEvent {
  enum class Kind : uint8_t { kDrained, kGone, kFailed, kGivenUp };
  Kind kind;
  std::string node;
  std::string pool;
  std::string why;  // Of kFailed.
  friend bool operator==(const QueueEvent&, const QueueEvent&) = default;
};

class NodeQueues {
 public:
  NodeQueues(std::vector<QueuedNode>* nodes, int64_t retry_s) : nodes_(nodes), retry_s_(retry_s) {}

  // False, and nothing is changed: it is in a queue already.
  bool Add(QueuedNode node, int64_t now_s);
  // Null: it is in no queue.
  [[nodiscard]] const QueuedNode* Find(std::string_view node) const;
  void Remove(std::string_view node);

  // One turn of both workers. `there`: whether the cluster has the node; `timeout_s`: of a pool.
  std::vector<QueueEvent> Work(const ActuatorStatus& status,
                               const std::function<bool(const QueuedNode&)>& there,
                               const std::function<int64_t(const std::string& pool)>& timeout_s,
                               int64_t now_s);

  // Nodes of the drain queue whose deletion is to begin now, in the order in which they came.
  [[nodiscard]] std::vector<QueuedNode> Due(const ActuatorStatus& status, int64_t now_s) const;

  // The deletion could not begin.
  void Failed(std::string_view node, int64_t now_s);

 private:
  struct Told;  // What the actuator tells of one node.
  void WorkOnDrain(QueuedNode& node, const Told& told, int64_t timeout_s, int64_t now_s,
                   std::vector<QueueEvent>& events);
  void WorkOnTermination(QueuedNode& node, const Told& told, int64_t timeout_s, int64_t now_s,
                         std::vector<QueueEvent>& events);
  void PutBack(QueuedNode& node, int64_t now_s);

  std::vector<QueuedNode>* nodes_;
  int64_t retry_s_;
};

}  // namespace ebb

#endif  // EBB_SIZING_NODE_QUEUES_H_
