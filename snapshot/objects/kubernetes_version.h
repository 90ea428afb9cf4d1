// KubernetesVersion: the version by whose scheduler's rules pods are placed.  The versions differ:
//
//   rule                         until 1.36                     from 1.37
//   room of a pod whose status   the largest amount of each     the largest of three totals:
//   has amounts (SumPodRequests) container                      requested, allocated, in force
//   namespaceSelector of an      the namespaces it selects, or  the namespaces it selects
//   incoming pod's term          all namespaces if it matches
//                                the empty label set
//   CSIDriver that prevents      not read                       a node without the driver takes
//   scheduling                                                  no pod with its volumes
//   bindMountOptions             not read                       the node must declare the feature
//                                                               VolumeBindMountOptions
//
// Source: kubernetes 1.36.4 and 1.37.2, default feature gates.

#ifndef EBB_SNAPSHOT_OBJECTS_KUBERNETES_VERSION_H_
#define EBB_SNAPSHOT_OBJECTS_KUBERNETES_VERSION_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb {

enum class KubernetesVersion : uint8_t {
  k136,  // And earlier.
  k137,  // And later.
};

// "1.36", "1.37".
std::string_view ToString(KubernetesVersion version);

// Accepts "1.36" and "1.37" only.
std::optional<KubernetesVersion> ParseKubernetesVersion(std::string_view text);

// Parses the version of a kubelet or an API server: "v1.37.2", "v1.36.4-eks-3025e55".
// nullopt if it does not begin with two numbers.
std::optional<KubernetesVersion> KubernetesVersionOf(std::string_view git_version);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_KUBERNETES_VERSION_H_
