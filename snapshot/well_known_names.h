// Names of labels, annotations and taints that mean something to Kubernetes, Karpenter or Cluster
// Autoscaler, where more than one file needs them.
//
// Source: k8s.io/api/core/v1/well_known_labels.go; sigs.k8s.io/karpenter/pkg/apis/v1/labels.go;
//         cluster-autoscaler/utils/taints/taints.go.
// Threads: constants.

#ifndef EBB_SNAPSHOT_WELL_KNOWN_NAMES_H_
#define EBB_SNAPSHOT_WELL_KNOWN_NAMES_H_

#include <string_view>

namespace ebb {

inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
// What they were called before Kubernetes 1.17.
inline constexpr std::string_view kBetaZoneLabel = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kBetaRegionLabel = "failure-domain.beta.kubernetes.io/region";

inline constexpr std::string_view kOsLabel = "kubernetes.io/os";
inline constexpr std::string_view kArchitectureLabel = "kubernetes.io/arch";
// What they were called before Kubernetes 1.14.
inline constexpr std::string_view kBetaOsLabel = "beta.kubernetes.io/os";
inline constexpr std::string_view kBetaArchitectureLabel = "beta.kubernetes.io/arch";

inline constexpr std::string_view kDoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt";

// Cluster Autoscaler's taints: of nodes that it is deleting, and that it may delete soon.
inline constexpr std::string_view kHardTaint = "ToBeDeletedByClusterAutoscaler";
inline constexpr std::string_view kSoftTaint = "DeletionCandidateOfClusterAutoscaler";

}  // namespace ebb

#endif  // EBB_SNAPSHOT_WELL_KNOWN_NAMES_H_
