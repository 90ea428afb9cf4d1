// Rules by which a node counts as not ready although its condition Ready says otherwise.

#ifndef EBB_OPTIONS_READINESS_RULES_H_
#define EBB_OPTIONS_READINESS_RULES_H_

#include <string>
#include <vector>

namespace ebb {

// Startup taints: a node that has one of these taints is still starting and counts as not ready.
// Keys that begin with startup-taint.cluster-autoscaler.kubernetes.io/ or
// ignore-taint.cluster-autoscaler.kubernetes.io/ are always startup taints.
struct ReadinessRules {
  std::vector<std::string> startup_taints;          // Keys.
  std::vector<std::string> startup_taint_prefixes;  // Prefixes of keys.
  // A node with CSI drivers that are not registered yet counts as not ready.
  bool csi_node_aware = false;
  bool operator==(const ReadinessRules&) const = default;
};

}  // namespace ebb

#endif  // EBB_OPTIONS_READINESS_RULES_H_
