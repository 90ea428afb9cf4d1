// ActuationStatus: the deletions that are under way in the cluster while a round decides.
//
// Plain data.  Nodes and pods are given by name, because an actuator may know nodes that the
// snapshot does not contain.
//
// Source: cluster-autoscaler core/scaledown ActuationStatus.

#ifndef EBB_ENGINE_ACTUATION_STATUS_H_
#define EBB_ENGINE_ACTUATION_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ebb {

struct NodeInDeletion {
  std::string name;
  std::string group;  // Empty: unknown.
  friend bool operator==(const NodeInDeletion&, const NodeInDeletion&) = default;
};

struct EvictedPod {
  std::string namespace_name;
  std::string name;
  std::string uid;
  int64_t evicted_at_s = 0;
  // The pod as text, so that the builder of the next snapshot can add it although it has left the
  // cluster.  Rounds do not read it.  May be empty.
  std::string object = {};
  friend bool operator==(const EvictedPod&, const EvictedPod&) = default;
};

struct ActuationStatus {
  std::vector<NodeInDeletion> empty;    // Being deleted; no pod had to move.
  std::vector<NodeInDeletion> drained;  // Being drained, or deleted after a drain.
  std::vector<EvictedPod> recent_evictions;
};

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_STATUS_H_
