// NodeFacts: what decides the cost of a node: its machine type, its zone, how it is paid for, and
// what it offers.
//
// Labels (the first one that a node has counts):
//   instance type  node.kubernetes.io/instance-type, beta.kubernetes.io/instance-type
//   zone           topology.kubernetes.io/zone, failure-domain.beta.kubernetes.io/zone
//   region         topology.kubernetes.io/region, failure-domain.beta.kubernetes.io/region; without
//                  a label the zone without its last letter or number: us-east-1a, eastus-1
//   capacity type  karpenter.sh/capacity-type, eks.amazonaws.com/capacityType,
//                  cloud.google.com/gke-spot, cloud.google.com/gke-preemptible,
//                  cloud.google.com/gke-provisioning, kubernetes.azure.com/scalesetpriority
//
// GPUs are counted by the machine: NVIDIA's device plugin offers more where a GPU is shared (time
// slices, MPS) and resources of their own for its MIG devices (nvidia.com/mig-1g.5gb).  Labels of
// GPU feature discovery: nvidia.com/gpu.count; nvidia.com/gpu.replicas, by which the allocatable
// amount is divided if there is no count; nvidia.com/gpu.sharing-strategy.  With
// nvidia.com/mig.strategy "single" the count is of MIG devices: the number of GPUs is the smallest
// that can hold so many devices of the profile, which is the end of nvidia.com/gpu.product
// (A100-SXM4-40GB-MIG-1g.5gb).  GKE's labels for this are
// cloud.google.com/gke-max-shared-clients-per-gpu, gke-gpu-sharing-strategy and
// gke-gpu-partition-size.
//
// Source: docs/gpu-feature-discovery of NVIDIA/k8s-device-plugin; GKE's documents on GPU sharing.
//
// Units:   milli-CPU, bytes, a count of GPUs; all but GPUs are allocatable.
// Cost:    one look-up by name per label, once for all nodes.
// Threads: pure.  The texts live as long as the catalog's Symbols.

#ifndef EBB_GROUPS_NODE_FACTS_H_
#define EBB_GROUPS_NODE_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {

// The labels for these facts; the first one that a node has counts.
inline constexpr std::string_view kInstanceTypeLabels[] = {"node.kubernetes.io/instance-type",
                                                           "beta.kubernetes.io/instance-type"};
inline constexpr std::string_view kZoneLabels[] = {kZoneLabel, kBetaZoneLabel};
inline constexpr std::string_view kRegionLabels[] = {kRegionLabel, kBetaRegionLabel};

struct NodeAmounts {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int64_t gpus = 0;

  void Add(const NodeAmounts& other);
};

// How a node's GPUs are shared or partitioned.
struct GpuSharing {
  std::string_view strategy;      // "time-slicing", "mps"; empty: not shared.
  int64_t replicas = 1;           // Pods that share a GPU or MIG device.
  std::string_view mig_strategy;  // "single", "mixed"; empty: no label.
  // If nvidia.com/gpu counts MIG devices, their profile, such as "1g.5gb".
  std::string_view mig_profile;
  // Whether the node's `gpus` is a count of MIG devices, because no label says how many of them one
  // GPU holds.
  bool devices_are_counted = false;
};
// "MIG devices 1g.5gb", "each GPU offered 8 times (time-slicing)"; empty: the GPUs are whole, or
// the devices are resources with names of their own.
std::string ToText(const GpuSharing& sharing);

struct NodeFacts {
  std::string_view instance_type;  // This, `zone` and `region`: empty without a label.
  std::string_view zone;
  std::string_view region;
  // The same spelling for all clouds: "spot", "preemptible", "on-demand", "reserved",
  // "capacity-block"; any other value in lower case.
  std::string capacity_type;
  NodeAmounts allocatable;
  GpuSharing gpu_sharing;
};

// MIG devices that a node offers as resources of their own.
struct GpuSlices {
  std::string_view resource;  // "nvidia.com/mig-1g.5gb"
  std::string_view profile;   // "1g.5gb"
  int64_t requested = 0;
  int64_t allocatable = 0;
};
std::vector<GpuSlices> GpuSlicesOf(const ClusterSnapshot& snapshot, NodeId node);

// By NodeId.
std::vector<NodeFacts> FactsOfNodes(const Catalog& catalog);

// Whether the label says how a node was bought: spot, on-demand and so on.
bool IsCapacityTypeLabel(std::string_view key);
// A capacity type in one spelling: "ON_DEMAND", "OnDemand" and "standard" are "on-demand".
std::string CapacityTypeOf(std::string_view value);
// Whether the cloud may take such a node back.  `capacity_type`: as in NodeFacts.
inline bool IsSpot(std::string_view capacity_type) {
  return capacity_type == "spot" || capacity_type == "preemptible";
}

}  // namespace ebb

#endif  // EBB_GROUPS_NODE_FACTS_H_
