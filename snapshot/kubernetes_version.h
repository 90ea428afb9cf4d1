// KubernetesVersion: the version by whose scheduler's rules pods are placed.  The versions differ:
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

#ifndef EBB_SNAPSHOT_KUBERNETES_VERSION_H_
#define EBB_SNAPSHOT_KUBERNETES_VERSION_H_

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

#endif  // EBB_SNAPSHOT_KUBERNETES_VERSION_H_
