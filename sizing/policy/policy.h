// Policy: decides how many nodes a pool should have.  One interface for every school.
//
//   PolicyRegistry registry;
//   std::vector<PolicyProblem> problems;
//   std::unique_ptr<Policy> policy = registry.Make("escalator", settings, &problems);
//   PolicyDecision decision = policy->Decide(observation, now_s, &state);
//   if (decision.delta != 0) policy->Ended(Act(decision), now_s, &state);
//
// If OneActionAtATime() is true, the caller does not call Decide while an action of the pool runs,
// and calls Ended when the action has finished.  For other policies the caller calls Ended as soon
// as the action has begun; the policy sees the effect of the action in later observations.
//
// The four schools are adapters (policy_schools.h) over their own rules.  A user's policy is one
// file: a class, its keys, and a call of PolicyRegistry::Add (policy_registry.h).
//
// State is text that only the policy reads and writes; the state of a new pool is "".  The caller
// stores the state after each call, before it acts, and passes it back unchanged.
//
// Units:     milli-CPU, bytes, counts; seconds since the Unix epoch; nodes.
// Cost:      that of the school's Decide, and O(nodes + pods) to convert the observation.
// Threads:   Policy has no state of its own: calls with different `state` may run concurrently.
// Errors:    data: a decision without action, whose denied_by and reason say why.  A state that the
//            policy cannot read is such an error, and stays unchanged.

#ifndef EBB_SIZING_POLICY_POLICY_H_
#define EBB_SIZING_POLICY_POLICY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

struct PolicyResources {
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int64_t disk_bytes = 0;
  int64_t gpus = 0;

  bool operator==(const PolicyResources&) const = default;
};

// Requests of one container; a resource without a request is absent.
struct PolicyContainer {
  bool is_init = false;
  std::optional<int64_t> cpu_milli{};
  std::optional<int64_t> memory_bytes{};
  std::optional<int64_t> disk_bytes{};
  std::optional<int64_t> gpus{};
};

// One match expression of a required node affinity.
struct PolicyExpression {
  std::string key;
  bool is_in = true;  // The operator is In.
  std::vector<std::string> values{};
};

// A pod that has not succeeded or failed.
struct PolicyPod {
  std::string name;   // "namespace/name".
  std::string owner;  // "namespace/kind/name" of its controller; empty: no controller.
  PolicyResources requests{};
  std::optional<PolicyResources> usage{};  // cpu and memory; absent: not measured.
  std::vector<PolicyContainer> containers{};
  PolicyResources overhead{};
  bool is_running = true;  // False: pending, even if it has a node.
  // Only for a pod without a node.  True: the scheduler found no place for it, or the input does
  // not record what the scheduler found.  False: the pod is gated, or not yet processed.
  bool is_unschedulable = true;
  bool is_daemonset = false;
  int64_t created_s = 0;
  std::map<std::string, std::string> node_selector{};
  std::vector<PolicyExpression> affinity{};  // The expressions of all required terms.
  bool has_affinity = false;
  std::map<std::string, std::string> annotations{};
};

struct PolicyNode {
  std::string name;
  PolicyResources capacity{};
  PolicyResources allocatable{};
  std::optional<PolicyResources> usage{};  // cpu and memory; absent: not measured.
  int64_t created_s = 0;
  std::optional<bool> ready{};  // Its condition Ready; absent: no such condition.
  bool is_cordoned = false;
  // An earlier decision removes this node: its pods count, and its capacity does not.
  bool is_leaving = false;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::map<std::string, std::string> taints{};  // Key -> value.
  std::vector<PolicyPod> pods{};
};

// The cloud's node group behind a pool.
struct PolicyCloud {
  int64_t min = 0;
  int64_t max = 0;
  int64_t desired = 0;
};

// A number from outside the cluster: a metric, or a count of rooms.
struct PolicySignal {
  double value = 0;
  std::optional<int64_t> at_s{};  // When it was measured; absent: now.
};

// What a policy sees of a pool in one round.
struct PolicyObservation {
  std::string pool;
  std::vector<PolicyNode> nodes{};
  std::vector<PolicyPod> pending{};    // Pods without a node that select this pool.
  std::optional<PolicyCloud> cloud{};  // Absent: it could not be read.
  // Each policy defines its names: "cpus", "mem", "disk", "gpus" (Clusterman), "rooms_ready",
  // "rooms_occupied", "rooms_creating" (Maestro).  Users' policies may read other names.
  std::map<std::string, PolicySignal, std::less<>> signals{};
};

// A taint that a policy adds to a node or removes from it.
struct PolicyTaint {
  std::string node;
  std::string key;
  std::string value{};   // Only if `put`, as `effect`.
  std::string effect{};  // "NoSchedule" and so on.
  bool put = true;       // False: remove the taint, whatever its value and effect.

  bool operator==(const PolicyTaint&) const = default;
};

enum class PolicyDirection : uint8_t { kStay, kUp, kDown };
// "stay", "up", "down".
std::string_view Name(PolicyDirection direction);

// One of the figures that a decision was computed from.
struct PolicyFigure {
  std::string name;
  std::string value;

  bool operator==(const PolicyFigure&) const = default;
};

struct PolicyDecision {
  int64_t delta = 0;  // Nodes to add (above 0) or to remove (below 0) now.
  // Whether the pool should grow or shrink; set even where a check denied the action.
  PolicyDirection direction = PolicyDirection::kStay;
  std::string reason;     // The school's own term: "ScaleOut", "trigger", "scaled to the setpoint".
  std::string denied_by;  // The check that prevented the action; empty: no check did.
  std::vector<PolicyFigure> figures{};  // In the order of the computation.
  // The only nodes that may be removed, in the school's order of removal.  Nodes that are leaving
  // already are not listed, and delta does not count them.
  // Absent: any node may be removed, in the planner's own order.
  std::optional<std::vector<std::string>> candidates{};
  // Applied in addition to delta, even where a check denied the delta.  A node whose taint is
  // removed serves again: it is one of the nodes that a delta above 0 adds.
  std::vector<PolicyTaint> taints{};
  // Nodes to remove now, in this order, as far as their pods find places and budgets allow.  Delta
  // does not count them.
  std::vector<std::string> remove{};
  std::vector<std::string> warnings{};  // Sentences.

  bool operator==(const PolicyDecision&) const = default;
};

// A decision without action.
PolicyDecision Denied(std::string_view check, std::string_view reason);

class Policy {
 public:
  virtual ~Policy() = default;

  // One round.  REQUIRES: state is not null.
  virtual PolicyDecision Decide(const PolicyObservation& observation, int64_t now_s,
                                std::string* state) const = 0;

  // Reports that the action of the last decision has ended.  Call it once for each action that was
  // begun.
  virtual void Ended(bool succeeded, int64_t now_s, std::string* state) const = 0;

  // Whether the policy must not be asked again before its action has been carried out.
  [[nodiscard]] virtual bool OneActionAtATime() const { return false; }

  // Sets or ends failsafe, for an operator.  False: this policy has no failsafe, or `state` is not
  // readable.
  virtual bool SetFailsafe(bool on, std::string* state) const;
  // Whether the pool is in failsafe: no action until an operator ends it.
  virtual bool InFailsafe(std::string_view state) const;
};

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_H_
