#include "predicates/dynamic_resources.h"

namespace ebb {

bool FitsDynamicResources(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  return shape.device_claims.empty() ||
         FindDevices(snapshot.catalog(), snapshot.devices(), shape, node);
}

DeviceProblem WhyNotDynamicResources(const ClusterSnapshot& snapshot, const PodShape& shape,
                                     NodeId node) {
  DeviceProblem problem;
  if (!shape.device_claims.empty()) {
    FindDevices(snapshot.catalog(), snapshot.devices(), shape, node, nullptr, &problem);
  }
  return problem;
}

}  // namespace ebb
