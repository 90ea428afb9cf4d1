// Names of labels, annotations and taints of Kubernetes, Karpenter or Cluster Autoscaler that
// more than one file needs.
//
// Source: k8s.io/api/core/v1/well_known_labels.go; sigs.k8s.io/karpenter/pkg/apis/v1/labels.go;
//         cluster-autoscaler/utils/taints/taints.go.
// Threads: constants.

#ifndef EBB_SNAPSHOT_OBJECTS_WELL_KNOWN_NAMES_H_
#define EBB_SNAPSHOT_OBJECTS_WELL_KNOWN_NAMES_H_

#include <string_view>

namespace ebb {

inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
// Their names before Kubernetes 1.17.
inline constexpr std::string_view kBetaZoneLabel = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kBetaRegionLabel = "failure-domain.beta.kubernetes.io/region";

inline constexpr std::string_view kOsLabel = "kubernetes.io/os";
inline constexpr std::string_view kArchitectureLabel = "kubernetes.io/arch";
// Their names before Kubernetes 1.14.
inline constexpr std::string_view kBetaOsLabel = "beta.kubernetes.io/os";
inline constexpr std::string_view kBetaArchitectureLabel = "beta.kubernetes.io/arch";

inline constexpr std::string_view kSystemNamespace = "kube-system";

// Cluster Autoscaler's annotations of pods.
inline constexpr std::string_view kSafeToEvictAnnotation =
    "cluster-autoscaler.kubernetes.io/safe-to-evict";
inline constexpr std::string_view kSafeToEvictLocalVolumesAnnotation =
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";

inline constexpr std::string_view kDoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt";
// Its name on pods before Karpenter 0.33.
inline constexpr std::string_view kDoNotEvictAnnotation = "karpenter.sh/do-not-evict";

// Karpenter's taints: on nodes that it is removing (the second one until 0.37), and on nodes that
// it has not set up yet.
inline constexpr std::string_view kDisruptedTaint = "karpenter.sh/disrupted";
inline constexpr std::string_view kDisruptionTaint = "karpenter.sh/disruption";
inline constexpr std::string_view kUnregisteredTaint = "karpenter.sh/unregistered";
// Karpenter's labels: on all its nodes, on nodes that joined, on nodes that are ready for pods.
inline constexpr std::string_view kNodePoolLabel = "karpenter.sh/nodepool";
inline constexpr std::string_view kRegisteredLabel = "karpenter.sh/registered";
inline constexpr std::string_view kInitializedLabel = "karpenter.sh/initialized";

// A taint whose key begins like this is a startup taint without any flag.
inline constexpr std::string_view kStartupTaintPrefix =
    "startup-taint.cluster-autoscaler.kubernetes.io/";
inline constexpr std::string_view kIgnoreTaintPrefix =
    "ignore-taint.cluster-autoscaler.kubernetes.io/";

// Cluster Autoscaler's taints: on nodes that it is deleting, and on nodes that it may delete soon.
inline constexpr std::string_view kHardTaint = "ToBeDeletedByClusterAutoscaler";
inline constexpr std::string_view kSoftTaint = "DeletionCandidateOfClusterAutoscaler";

// The member of `spec` with which ebb writes the path of a member that it did not understand.
inline constexpr std::string_view kNotUnderstoodSpec = "ebbNotUnderstood";

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_WELL_KNOWN_NAMES_H_
