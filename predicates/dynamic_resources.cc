#include "predicates/dynamic_resources.h"

#include <utility>

#include "snapshot/device_allocator.h"

namespace ebb {

bool FitsDynamicResources(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  return shape.device_claims.empty() ||
         FindDevices(snapshot.catalog(), snapshot.devices(), shape, node);
}

std::string WhyNotDynamicResources(const ClusterSnapshot& snapshot, const PodShape& shape,
                                   NodeId node) {
  if (shape.device_claims.empty()) return {};
  DeviceProblem problem;
  FindDevices(snapshot.catalog(), snapshot.devices(), shape, node, nullptr, &problem);
  return std::move(problem.reason);
}

std::string DeviceDetail(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  if (shape.device_claims.empty()) return {};
  DeviceProblem problem;
  FindDevices(snapshot.catalog(), snapshot.devices(), shape, node, nullptr, &problem);
  return std::move(problem.detail);
}

}  // namespace ebb
