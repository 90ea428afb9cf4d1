// Sums the requests of a pod's containers, as the scheduler does.
//
// The base is the sum over containers and sidecars (restartable init containers).  Other init
// containers run one after the other, beside the sidecars that were started before them, so the
// base is raised to the largest of those sums.  Pod-level requests replace the result per
// resource.  Overhead is added at the end.
//
// A pod on a node holds what its status reports.  Until Kubernetes 1.36 each container and
// sidecar holds the largest of its amounts requested, allocated and in force.  From 1.37 on these
// are three totals of the pod, including init containers, and the largest counts.  The node's
// resources that devices of its claims use (objects::Pod::claimed) are added.
//
// Units:   milli-CPU, bytes, counts.
// Threads: pure.
// Source:  component-helpers resource.PodRequests of 1.36 and 1.37; scheduler NodeInfo.Resource;
//          cluster-autoscaler simulator/utilization/info.go.

#ifndef EBB_SNAPSHOT_OBJECTS_POD_REQUESTS_H_
#define EBB_SNAPSHOT_OBJECTS_POD_REQUESTS_H_

#include "snapshot/objects/kubernetes_version.h"
#include "snapshot/objects/objects.h"

namespace ebb {

enum class RequestsOf : uint8_t {
  kIncoming,  // A pod to be placed: spec only.
  kRunning,   // A pod on a node: amounts in its status count too.
  kCounted,   // A pod on a node as utilization counts it: container amounts from the status,
              // but pod-level resources from the spec.

  // As LeastAllocated counts: a container that does not name cpu or memory counts with the
  // default below.  A request of zero stays zero.
  kScoredRunning,   // As kRunning.  If the pod has pod-level resources, defaults count only for
                    // resources that the sum lacks.
  kScoredIncoming,  // As kIncoming, without pod-level resources.
};

// util.DefaultMilliCPURequest, util.DefaultMemoryRequest.
inline constexpr int64_t kDefaultCpuRequestMilli = 100;
inline constexpr int64_t kDefaultMemoryRequestBytes = int64_t{200} << 20;

// Fills `sum`, which is cleared first, with one entry per resource in order of first mention.
// Amounts are added exactly and rounded up once, at the end.  A sum beyond int64 is kUncountable
// (quantity.h).
void SumPodRequests(const objects::Pod& pod, RequestsOf which, objects::ResourceList& sum,
                    KubernetesVersion version = KubernetesVersion::k136);

// Whether the pod's status reports the same amounts as its spec, as for most pods.  Then kRunning
// and kCounted equal kIncoming by every version's rules, except for `claimed`.
bool StatusEqualsSpec(const objects::Pod& pod);

// Whether kScoredRunning or kScoredIncoming may differ from kRunning and kIncoming.
bool IsScoredOtherwise(const objects::Pod& pod);

// Resources that get a column in addition to cpu, memory, ephemeral-storage and
// pods: extended resources, hugepages-*, *kubernetes.io/*, attachable-volumes-*.
bool IsScalarResource(std::string_view name);

// A resource of a device plugin: its name has a domain that is not Kubernetes' own.
bool IsExtendedResource(std::string_view name);

// Resources that make a node a GPU node.  The first one that a node has is its GPU.
// Source: cluster-autoscaler utils/gpu/gpu.go.
inline constexpr std::string_view kGpuResources[] = {"nvidia.com/gpu", "habana.ai/gaudi",
                                                     "gpu.intel.com/xe", "amd.com/gpu",
                                                     "microsoft.com/directx"};
// Prefix of resources that are parts of an NVIDIA GPU: "nvidia.com/mig-1g.5gb".
inline constexpr std::string_view kMigResourcePrefix = "nvidia.com/mig-";

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_POD_REQUESTS_H_
