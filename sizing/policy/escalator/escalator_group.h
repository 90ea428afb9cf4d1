// The part of the cluster that one round of Escalator sees, and which of it belongs to a node
// group.
//
// A node belongs by its label.  A pod belongs if it has not finished, no DaemonSet owns it, and
// - in the group named "default": it has no node selector and no affinity, and is not static;
// - in any other group: its node selector or a required node affinity (operator In) names the
//   group's label.
//
// Units:     milli-cores, bytes, seconds since the Unix epoch; durations in nanoseconds.
// Cost:      Select() is O(nodes * remembered taints in dry mode + pods).
// Threads:   pure.
// Ownership: a group holds indices of the observation, and no pointers.
// Source:    Escalator, "Which pods and nodes count".

#ifndef EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_GROUP_H_
#define EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sizing/policy/escalator/escalator_options.h"

namespace ebb {

struct EscalatorResources {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;

  bool operator==(const EscalatorResources&) const = default;
};

// Requests of one container; a resource without a request is absent.
struct EscalatorRequest {
  std::optional<int64_t> cpu_milli = {};
  std::optional<int64_t> memory_bytes = {};
};

struct EscalatorNode {
  std::string name = {};
  EscalatorResources allocatable = {};
  int64_t created_s = 0;
  std::map<std::string, std::string> labels = {};
  bool unschedulable = false;  // Cordoned.
  // Value of the taint atlassian.com/escalator: when, in seconds.
  std::optional<std::string> taint = {};
  bool force_taint = false;  // Has atlassian.com/escalator-force.
  // Whether the condition Ready is True; absent: no such condition.
  std::optional<bool> ready = {};
  std::string no_delete = {};         // Annotation atlassian.com/no-delete.
  bool in_cloud_group = true;         // One of the cloud group's instances.
  bool has_readable_instance = true;  // The cloud knows its instance, in any group.
};

enum class EscalatorPhase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// One match expression of a required node affinity.
struct EscalatorExpression {
  std::string key = {};
  bool is_in = true;  // The operator is In.
  std::vector<std::string> values = {};
};

struct EscalatorPod {
  std::string name = {};
  std::string node = {};  // Empty: not bound to a node.
  std::vector<EscalatorRequest> containers = {};
  std::vector<EscalatorRequest> init_containers = {};
  EscalatorResources overhead = {};
  EscalatorPhase phase = EscalatorPhase::kRunning;
  bool scheduled = true;  // The condition PodScheduled is True.
  bool is_daemonset = false;
  bool is_static = false;  // Annotation kubernetes.io/config.source=file.
  std::map<std::string, std::string> node_selector = {};
  std::vector<EscalatorExpression> required_node_affinity = {};  // The expressions of all terms.
  bool has_affinity = false;  // Has node, pod or anti-affinity, even without terms.
};

// The cloud's group behind the node group, at the start of the round.
struct EscalatorCloudGroup {
  int64_t min = 0;
  int64_t max = 0;
  int64_t desired = 0;
};

struct EscalatorObservation {
  std::vector<EscalatorNode> nodes = {};          // Of the whole cluster, in list order.
  std::vector<EscalatorPod> pods = {};            // Of the whole cluster, in list order.
  std::optional<EscalatorCloudGroup> cloud = {};  // Absent: no such group, or it could not be read.
};

// Why `observation` cannot be used: the object and field; "" if it can.  Amounts and the cloud's
// numbers must not be negative, and the cloud's min must not be above its max.
std::string Fault(const EscalatorObservation& observation);

// max(sum of containers, each init container) + overhead; an absent request counts as 0.
EscalatorResources RequestOf(const EscalatorPod& pod);

bool Belongs(const EscalatorOptions& options, const EscalatorNode& node);
bool Belongs(const EscalatorOptions& options, const EscalatorPod& pod);

// Not ready, not cordoned, and created at least `unhealthy_grace_ns` ago.
bool IsUnhealthy(const EscalatorNode& node, int64_t unhealthy_grace_ns, int64_t now_s);

// now - then in nanoseconds, clamped to the range of int64_t.
int64_t AgeNs(int64_t now_s, int64_t then_s);

// The nodes and pods of one group.  Indices are those of the observation, in its order.
struct EscalatorGroup {
  std::vector<size_t> nodes = {};
  std::vector<size_t> pods = {};
  // Each node is in exactly one of these lists.
  std::vector<size_t> untainted = {};
  std::vector<size_t> tainted = {};
  std::vector<size_t> force_tainted = {};
  std::vector<size_t> cordoned = {};  // Never changed, and not counted as capacity.

  std::unordered_map<std::string, std::vector<size_t>> pods_on = {};  // By node name.

  // No pod of the group is on the node.  Other pods do not count.
  [[nodiscard]] bool IsEmpty(const EscalatorNode& node) const {
    return !pods_on.contains(node.name);
  }
};

// Fills nodes and pods.
EscalatorGroup Select(const EscalatorOptions& options, const EscalatorObservation& observation);

// Fills the classes, testing in this order: cordoned, force-tainted, tainted, untainted.  In dry
// mode only the nodes in `taint_tracker` are tainted, and all others are untainted.
void Classify(const EscalatorObservation& observation, bool dry_mode,
              const std::vector<std::string>& taint_tracker, EscalatorGroup* group);

// Names of the objects that break an assumption of the rules.
struct EscalatorWarnings {
  // Not of the most common size; in a tie, that of the first node.
  std::vector<std::string> unlike_nodes = {};
  std::vector<std::string> pods_without_requests = {};  // A container lacks cpu or memory.

  bool operator==(const EscalatorWarnings&) const = default;
};
EscalatorWarnings Warnings(const EscalatorObservation& observation, const EscalatorGroup& group);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_GROUP_H_
