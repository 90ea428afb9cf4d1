// What one round of Escalator sees of the cluster, and what of it belongs to a node group.
//
// A node belongs by its label.  A pod belongs if it is neither finished nor of a DaemonSet, and
// - in the group named "default": it has no node selector and no affinity, and is not static;
// - in any other: its node selector or a required node affinity (operator In) names the group's
//   label.
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

// Of one container; what it does not ask for is absent.
struct EscalatorRequest {
  std::optional<int64_t> cpu_milli = {};
  std::optional<int64_t> memory_bytes = {};
};

struct EscalatorNode {
  std::string name = {};
  EscalatorResources allocatable = {};
  int64_t created_s = 0;
  std::map<std::string, std::string> labels = {};
  bool unschedulable = false;             // Cordoned.
  std::optional<std::string> taint = {};  // Value of atlassian.com/escalator: when, in seconds.
  bool force_taint = false;               // Has atlassian.com/escalator-force.
  std::optional<bool> ready = {};         // Whether the condition Ready is True.  Absent: none.
  std::string no_delete = {};             // Annotation atlassian.com/no-delete.
  bool in_cloud_group = true;             // One of the cloud group's instances.
  bool has_readable_instance = true;      // Its instance is found in the cloud, in any group.
};

enum class EscalatorPhase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// One match expression of a required node affinity.
struct EscalatorExpression {
  std::string key = {};
  bool is_in = true;  // Its operator.
  std::vector<std::string> values = {};
};

struct EscalatorPod {
  std::string name = {};
  std::string node = {};  // Empty: bound to none.
  std::vector<EscalatorRequest> containers = {};
  std::vector<EscalatorRequest> init_containers = {};
  EscalatorResources overhead = {};
  EscalatorPhase phase = EscalatorPhase::kRunning;
  bool scheduled = true;  // The condition PodScheduled is True.
  bool is_daemonset = false;
  bool is_static = false;  // Annotation kubernetes.io/config.source=file.
  std::map<std::string, std::string> node_selector = {};
  std::vector<EscalatorExpression> required_node_affinity = {};  // Of all terms.
  bool has_affinity = false;  // Node, pod or anti-affinity is given, even without terms.
};

// The cloud's group behind the node group, as it is at the start of the round.
struct EscalatorCloudGroup {
  int64_t min = 0;
  int64_t max = 0;
  int64_t desired = 0;
};

struct EscalatorObservation {
  std::vector<EscalatorNode> nodes = {};          // Of the cluster, in list order.
  std::vector<EscalatorPod> pods = {};            // Likewise.
  std::optional<EscalatorCloudGroup> cloud = {};  // Absent: there is none, or it was not read.
};

// Why no decision can come of `observation`: the object and field, or "".  Amounts must not be
// negative, nor the cloud's numbers, whose min must not be above max.
std::string Fault(const EscalatorObservation& observation);

// max(sum of containers, each init container) + overhead; a request that is absent counts 0.
EscalatorResources RequestOf(const EscalatorPod& pod);

bool Belongs(const EscalatorOptions& options, const EscalatorNode& node);
bool Belongs(const EscalatorOptions& options, const EscalatorPod& pod);

// Unready for longer than its grace period, and not cordoned.
bool IsUnhealthy(const EscalatorNode& node, int64_t unhealthy_grace_ns, int64_t now_s);

// now - then in nanoseconds, kept within what these can hold.
int64_t AgeNs(int64_t now_s, int64_t then_s);

// The nodes and pods of one group.  Indices are those of the observation; lists are in its order.
struct EscalatorGroup {
  std::vector<size_t> nodes = {};
  std::vector<size_t> pods = {};
  // Each node is in one of these.
  std::vector<size_t> untainted = {};
  std::vector<size_t> tainted = {};
  std::vector<size_t> force_tainted = {};
  std::vector<size_t> cordoned = {};  // Never touched, nor capacity.

  std::unordered_map<std::string, std::vector<size_t>> pods_on = {};  // By name of node.

  // No pod of the group is on it.  Others do not hold a node.
  [[nodiscard]] bool IsEmpty(const EscalatorNode& node) const {
    return !pods_on.contains(node.name);
  }
};

// Fills nodes and pods.
EscalatorGroup Select(const EscalatorOptions& options, const EscalatorObservation& observation);

// Fills the classes: cordoned before force-tainted before tainted before untainted.  In dry mode
// `taint_tracker` alone says which nodes are tainted; there are no others but untainted ones.
void Classify(const EscalatorObservation& observation, bool dry_mode,
              const std::vector<std::string>& taint_tracker, EscalatorGroup* group);

// What the rules assume, and does not hold: names.
struct EscalatorWarnings {
  std::vector<std::string> unlike_nodes = {};  // Not as large as most; of as many, as the first.
  std::vector<std::string> pods_without_requests = {};  // A container lacks cpu or memory.

  bool operator==(const EscalatorWarnings&) const = default;
};
EscalatorWarnings Warnings(const EscalatorObservation& observation, const EscalatorGroup& group);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_GROUP_H_
