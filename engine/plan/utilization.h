// Utilization of a node: what its pods request, over what it can give.
//
// cpu and memory, the larger of them counting; on a node with a GPU, that alone.  A node
// that is labelled to have a GPU and offers none is used by 0.
//
// Units:   fractions; +Inf where something is requested of nothing, NaN for 0/0.
// Cost:    O(pods of the node), or O(1): see all_as_charged.
// Threads: pure.
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
  TextId resource{};       // The one that counts: "cpu", "memory", "nvidia.com/gpu", ...
  double utilization = 0;  // Of that one.
};

struct UtilizationOptions {
  bool ignore_daemonsets = false;
  bool ignore_mirror_pods = false;
  bool gpu_label = false;  // The node carries its provider's GPU label.
  // The caller knows that no pod of the node is terminating, and that none counts
  // otherwise than it is charged (PodShape::counts_otherwise).  Where nothing else is left
  // out either, the pods need not be visited: the snapshot keeps their sum.
  bool all_as_charged = false;
};

// The GPU resource that the node offers, the first of the known ones.
std::optional<ResourceId> GpuOf(const Catalog& catalog, NodeId node);

// Whether the node offers GPUs, whole or in parts (nvidia.com/mig-*), of any known vendor.
bool HasGpus(const Catalog& catalog, NodeId node);

// nullopt: the node's allocatable cpu or memory is missing or zero.
std::optional<Utilization> CalculateUtilization(const ClusterSnapshot& snapshot, NodeId node,
                                                const UtilizationOptions& options, int64_t now_s);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_UTILIZATION_H_
