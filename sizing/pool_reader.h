// PoolReader: reads from a dump what sizing policies need of pools.
//
//   PoolReader reader;
//   ImportStats stats;
//   if (absl::Status s = ReadInput("dump.json", reader, stats); !s.ok()) return s;
//   const PolicyObservation seen = reader.Observe(pool);
//
// A pool's nodes are the nodes with its labels.  Pods that have ended are left out.  A pod without
// a node belongs to the pool if its node selector or a required node affinity (operator In) names
// one of the pool's labels.  In a default pool, so does a pod without node selector and affinity.
//
// Cost:    keeps nodes and pods; Observe is O(nodes + pods).
// Threads: one at a time; Observe may run concurrently.

#ifndef EBB_SIZING_POOL_READER_H_
#define EBB_SIZING_POOL_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sizing/policy/policy.h"
#include "sizing/policy_file.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

class PoolReader : public ObjectSink {
 public:
  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  // Policies do not use these objects.
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override;
  absl::Status OnController(const objects::Controller&) override;
  absl::Status OnNamespace(const objects::Namespace&) override;
  absl::Status OnStorageObject(const objects::StorageObject&) override;

  // The result has no signals.  Its nodes and pods are in the order of the input.
  [[nodiscard]] PolicyObservation Observe(const SizedPool& pool) const;

  // Without their pods.
  [[nodiscard]] const std::vector<PolicyNode>& nodes() const { return nodes_; }
  // The latest creation of a node or pod; 0 if none was read.
  [[nodiscard]] int64_t newest_s() const { return newest_s_; }

 private:
  std::vector<PolicyNode> nodes_;  // Without pods.
  std::map<std::string, std::vector<PolicyPod>, std::less<>> pods_on_;
  std::vector<PolicyPod> pending_;
  int64_t newest_s_ = 0;
};

}  // namespace ebb

#endif  // EBB_SIZING_POOL_READER_H_
