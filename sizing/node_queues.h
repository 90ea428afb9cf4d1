// NodeQueues: the nodes that are being removed.  A node waits in the drain queue until its deletion
// has begun and its pods are gone, and then in the termination queue until the node itself is gone.
//
//   NodeQueues queues(&state.queue, retry_s);
//   queues.Add({.node = "n1", .pool = "web"}, now_s);  // Once; again changes nothing.
//   for (const QueueEvent& event : queues.Work(status, there, timeouts, now_s)) Log(event);
//
// Each queue has a worker, which reads the status that the actuator reports.  The workers keep no
// state of their own, so a restarted process continues where the old one stopped.  A step that a
// worker finds done counts as done, whichever process did it.  If the actuator no longer reports
// the deletion of a node, the deletion starts again.
//
// A node is gone when the cluster no longer has it.  The actuator may report the end of a deletion
// before the cluster shows it.  A pool that still counted the node would then remove another one.
//
// A result that the actuator repeats changes nothing.
//
// A failure puts the node back into the drain queue, to be retried after `retry_s` seconds, and
// twice as long each time.  A node whose pods have no places leaves the queue when it has waited
// longer than its pool's timeout.
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
  std::string why;  // Only kFailed.
  friend bool operator==(const QueueEvent&, const QueueEvent&) = default;
};

class NodeQueues {
 public:
  NodeQueues(std::vector<QueuedNode>* nodes, int64_t retry_s) : nodes_(nodes), retry_s_(retry_s) {}

  // Returns false, and changes nothing, if the node is in a queue already.
  bool Add(QueuedNode node, int64_t now_s);
  // Null: the node is in no queue.
  [[nodiscard]] const QueuedNode* Find(std::string_view node) const;
  void Remove(std::string_view node);

  // Runs both workers once.  `there`: whether the cluster has the node; `timeout_s`: of a pool.
  std::vector<QueueEvent> Work(const ActuatorStatus& status,
                               const std::function<bool(const QueuedNode&)>& there,
                               const std::function<int64_t(const std::string& pool)>& timeout_s,
                               int64_t now_s);

  // Nodes of the drain queue whose deletion should begin now, oldest first.
  [[nodiscard]] std::vector<QueuedNode> Due(const ActuatorStatus& status, int64_t now_s) const;

  // Reports that the deletion of the node could not begin.
  void Failed(std::string_view node, int64_t now_s);

 private:
  struct NodeReport;  // The actuator's report about one node.
  void WorkOnDrain(QueuedNode& node, const NodeReport& told, int64_t timeout_s, int64_t now_s,
                   std::vector<QueueEvent>& events);
  void WorkOnTermination(QueuedNode& node, const NodeReport& told, int64_t timeout_s, int64_t now_s,
                         std::vector<QueueEvent>& events);
  void PutBack(QueuedNode& node, int64_t now_s);

  std::vector<QueuedNode>* nodes_;
  int64_t retry_s_;
};

}  // namespace ebb

#endif  // EBB_SIZING_NODE_QUEUES_H_
