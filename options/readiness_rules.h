// Which nodes count as not ready though their condition Ready says otherwise.

#ifndef EBB_OPTIONS_READINESS_RULES_H_
#define EBB_OPTIONS_READINESS_RULES_H_

#include <string>
#include <vector>

namespace ebb {

// Which taints a node has only while it starts: until it loses them it counts as not ready.  Those
// that begin with startup-taint.cluster-autoscaler.kubernetes.io/ or
// ignore-taint.cluster-autoscaler.kubernetes.io/ are such taints always.
struct ReadinessRules {
  std::vector<std::string> startup_taints;          // Keys.
  std::vector<std::string> startup_taint_prefixes;  // Beginnings of keys.
  // CSI drivers that are not registered make a node unready.
  bool csi_node_aware = false;
  bool operator==(const ReadinessRules&) const = default;
};

}  // namespace ebb

#endif  // EBB_OPTIONS_READINESS_RULES_H_
