// What a pod requests: the sum that the scheduler makes of its containers.
//
// base = containers + sidecars (restartable init containers).  Init containers run
// one after the other beside the sidecars started before them, so the largest of
// those sums is needed too.  Pod-level requests replace the sum per resource.
// Overhead comes on top.
//
// Units:   milli-CPU, bytes, counts.
// Threads: pure.
// A pod on a node holds what its status says.  Until Kubernetes 1.36 each container and sidecar
// holds the larger of what it asks for, has been given and uses; from 1.37 on these are three
// totals of the pod, init containers among them, and the largest counts.  What devices of its
// claims take of the node (objects::Pod::claimed) comes on top.
// Source:  component-helpers resource.PodRequests of 1.36 and 1.37; scheduler NodeInfo.Resource;
//          cluster-autoscaler simulator/utilization/info.go.

#ifndef EBB_SNAPSHOT_OBJECTS_POD_REQUESTS_H_
#define EBB_SNAPSHOT_OBJECTS_POD_REQUESTS_H_

#include "snapshot/objects/kubernetes_version.h"
#include "snapshot/objects/objects.h"

namespace ebb {

enum class RequestsOf : uint8_t {
  kIncoming,  // A pod to be placed: spec only.
  kRunning,   // A pod on a node: what its status says it holds counts too.
  kCounted,   // The same pod as utilization counts it: the status of its containers, but
              // pod-level resources as the spec has them.

  // What LeastAllocated counts: a container that does not name cpu or memory asks for the amount
  // below.  A request of zero stays zero.
  kScoredRunning,   // As kRunning.  Where there are pod-level resources, only what the sum lacks
                    // is asked for.
  kScoredIncoming,  // As kIncoming, without pod-level resources.
};

// util.DefaultMilliCPURequest, util.DefaultMemoryRequest.
inline constexpr int64_t kDefaultCpuRequestMilli = 100;
inline constexpr int64_t kDefaultMemoryRequestBytes = int64_t{200} << 20;

// One entry per resource, in order of first mention.  `sum` is cleared first.
// Amounts add up exactly and are rounded up once, at the end; they stop at
// kUncountable (quantity.h).
void SumPodRequests(const objects::Pod& pod, RequestsOf which, objects::ResourceList& sum,
                    KubernetesVersion version = KubernetesVersion::k136);

// Whether the pod's status says nothing else than its spec, as that of most pods: kRunning and
// kCounted are then the same as kIncoming by the rules of every version, but for `claimed`.
bool HoldsWhatItAsksFor(const objects::Pod& pod);

// Whether the scored sums may differ from those of kRunning and kIncoming.
bool IsScoredOtherwise(const objects::Pod& pod);

// Resources that a node's columns hold beside cpu, memory, ephemeral-storage and
// pods: extended resources, hugepages-*, *kubernetes.io/*, attachable-volumes-*.
bool IsScalarResource(std::string_view name);

// A resource of a device plugin: has a domain that is not Kubernetes' own.
bool IsExtendedResource(std::string_view name);

// Resources that make a node one with a GPU, the one that counts first.
// Source: cluster-autoscaler utils/gpu/gpu.go.
inline constexpr std::string_view kGpuResources[] = {"nvidia.com/gpu", "habana.ai/gaudi",
                                                     "gpu.intel.com/xe", "amd.com/gpu",
                                                     "microsoft.com/directx"};
// Parts of NVIDIA's GPUs: "nvidia.com/mig-1g.5gb".
inline constexpr std::string_view kMigResourcePrefix = "nvidia.com/mig-";

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_POD_REQUESTS_H_
