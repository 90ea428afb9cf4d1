// Finds free devices for the claims of a pod on a node.
//
// The search and its order are kube-scheduler's, so that the same devices are chosen: claims,
// requests and devices in turn, the first solution wins.  Unlike there, work is bounded by steps
// instead of time: a search that takes more finds nothing.
//
// Cost:    O(devices that the node reaches) in most cases; constraints and counters may need
//          more, up to kDeviceStepsMax steps.  A long search that finds nothing is remembered, and
//          not done again for equal claims and devices.
// Threads: pure functions.
// Source:  k8s.io/dynamic-resource-allocation v0.36, structured/internal/incubating, and
//          kubernetes 1.36 pkg/scheduler/framework/plugins/dynamicresources.

#ifndef EBB_SNAPSHOT_DEVICE_ALLOCATOR_H_
#define EBB_SNAPSHOT_DEVICE_ALLOCATOR_H_

#include <cstddef>
#include <string>
#include <vector>

#include "snapshot/catalog.h"
#include "snapshot/device_state.h"
#include "snapshot/ids.h"

namespace ebb {

// Far above what a real search takes, some milliseconds.  Not tuned.
inline constexpr size_t kDeviceStepsMax = 200'000;
// As in the API: AllocationResultsMaxSize, ResourceClaimReservedForMaxSize.
inline constexpr size_t kDevicesOfClaimMax = 32;
inline constexpr size_t kUsersOfClaimMax = 256;

// Why devices were not found.
struct DeviceProblem {
  std::string reason;  // In the scheduler's words.
  std::string detail;  // In ebb's words: which devices, and why not.
};

// Whether a pod of this shape, which is not placed, can use its claims on the node.  `found`, if it
// is not null, gets a list of devices for each of the shape's claims; those of claims that are
// allocated stay empty.
bool FindDevices(const Catalog& catalog, const DeviceState& state, const PodShape& shape,
                 NodeId node, std::vector<std::vector<HeldDevice>>* found = nullptr,
                 DeviceProblem* problem = nullptr);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_DEVICE_ALLOCATOR_H_
