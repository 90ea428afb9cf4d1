// Utilization of a node: the requests of its pods divided by its allocatable amounts.
//
// On a node with GPUs, only the GPU counts; on a node with devices of its own (ResourceSlices),
// only the pool that is used most; on other nodes, the larger of cpu and memory.  A node that has a
// GPU label but offers no GPU has the utilization 0.
//
// Units:   fractions; +Inf if something is requested and nothing is allocatable, NaN for 0/0.
// Cost:    O(pods of the node), or O(1): see all_as_charged.
// Threads: pure functions.
// Source:  cluster-autoscaler simulator/utilization/info.go.

#ifndef EBB_ENGINE_PLAN_UTILIZATION_H_
#define EBB_ENGINE_PLAN_UTILIZATION_H_

#include <cstdint>
#include <optional>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct Utilization {
  double cpu = 0;
  double memory = 0;
  double gpu = 0;
  // The resource that counts: "cpu", "memory", "nvidia.com/gpu", ..., or the driver of a pool of
  // devices.
  TextId resource{};
  TextId pool = kNoText;   // Of devices, if they count.
  double utilization = 0;  // Of `resource`.
};

struct UtilizationOptions {
  bool ignore_daemonsets = false;
  bool ignore_mirror_pods = false;
  bool gpu_label = false;  // The node carries its provider's GPU label.
  // The caller knows that no pod of the node is terminating and that every pod counts as it is
  // charged (no PodShape::counts_otherwise).  If the options leave out no pods either, the pods
  // need not be visited, because the snapshot keeps their sum.
  bool all_as_charged = false;
};

// The GPU resource that the node offers; if it offers several, the first in the list of known GPU
// resources.
std::optional<ResourceId> GpuOf(const Catalog& catalog, NodeId node);

// Whether the node offers GPUs of any known vendor, whole or in parts (nvidia.com/mig-*).
bool HasGpus(const Catalog& catalog, NodeId node);

// nullopt: the node's allocatable cpu or memory is missing or zero, and it has no GPU; or a pool of
// its devices is incomplete.
std::optional<Utilization> CalculateUtilization(const ClusterSnapshot& snapshot, NodeId node,
                                                const UtilizationOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_UTILIZATION_H_
