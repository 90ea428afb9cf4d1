// ActuationStatus: what is being done to the cluster while a round decides.
//
// Plain data, by name: an actuator may know nodes that the snapshot does not.
// Source: cluster-autoscaler core/scaledown ActuationStatus.

#ifndef EBB_ENGINE_ACTUATION_STATUS_H_
#define EBB_ENGINE_ACTUATION_STATUS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ebb {

struct NodeInDeletion {
  std::string name;
  std::string group;  // Empty: not known.
  friend bool operator==(const NodeInDeletion&, const NodeInDeletion&) = default;
};

struct EvictedPod {
  std::string namespace_name;
  std::string name;
  std::string uid;
  int64_t evicted_at_s = 0;
  // The pod as text, so that whoever builds the next snapshot can put it in although
  // it is gone from the cluster.  Not read here; may be empty.
  std::string object = {};
  friend bool operator==(const EvictedPod&, const EvictedPod&) = default;
};

struct ActuationStatus {
  std::vector<NodeInDeletion> empty;    // Being deleted, nothing had to move.
  std::vector<NodeInDeletion> drained;  // Being drained or deleted after that.
  std::vector<EvictedPod> recent_evictions;
};

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_STATUS_H_
