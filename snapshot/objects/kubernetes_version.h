// KubernetesVersion: whose scheduler places pods, where versions answer differently.
//
//   rule                         until 1.36                     from 1.37
//   room of a pod whose status   the larger amount container    the larger of three totals: asked
//   has amounts (SumPodRequests) by container                   for, allocated, in force
//   namespaceSelector of an      what it selects, and every     what it selects
//   incoming pod's term          namespace if it also matches
//                                no labels at all
//   CSIDriver, prevents          not read                       nodes without the driver are
//   scheduling                                                  no place for its volumes
//   bindMountOptions             not read                       needs the declared feature
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

// "1.36" and "1.37", nothing else.
std::optional<KubernetesVersion> ParseKubernetesVersion(std::string_view text);

// Of a kubelet's or an API server's version: "v1.37.2", "v1.36.4-eks-3025e55".
// nullopt: it does not begin with two numbers.
std::optional<KubernetesVersion> KubernetesVersionOf(std::string_view git_version);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_KUBERNETES_VERSION_H_
