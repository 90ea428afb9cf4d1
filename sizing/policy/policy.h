// Policy: how many nodes a pool should have, in one shape for every school.
//
//   PolicyRegistry registry;
//   std::vector<PolicyProblem> problems;
//   std::unique_ptr<Policy> policy = registry.Make("escalator", settings, &problems);
//   PolicyDecision decision = policy->Decide(observation, now_s, &state);
//   if (decision.delta != 0) policy->Ended(Act(decision), now_s, &state);
//
// A policy with OneActionAtATime is asked nothing until its action has ended; the others are told
// that it ended as soon as it has begun, and see in the rounds that follow what became of it.
//
// The four schools are adapters (policy_schools.h) over their own rules; a user's policy is one
// file: a class, its keys, and PolicyRegistry::Add (policy_registry.h).
//
// State is text that the policy alone reads and writes; "" is that of a new pool.  Whoever keeps
// it stores it after each call, before acting, and hands it in unchanged.
//
// Units:     milli-CPU, bytes, counts; seconds since the Unix epoch; nodes.
// Cost:      that of the school's Decide, and O(nodes + pods) to hand the pool over.
// Threads:   Policy has no state of its own: calls with different `state` may run at once.
// Errors:    data: a decision without action, whose denied_by and reason say why; so too for a
//            state that the policy cannot read, which is left as it is.

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

// What one container asks for; absent where it does not say.
struct PolicyContainer {
  bool is_init = false;
  std::optional<int64_t> cpu_milli{};
  std::optional<int64_t> memory_bytes{};
  std::optional<int64_t> disk_bytes{};
  std::optional<int64_t> gpus{};
};

// An entry of a required node affinity's expressions.
struct PolicyExpression {
  std::string key;
  bool is_in = true;  // Its operator.
  std::vector<std::string> values{};
};

// A pod that has not ended.
struct PolicyPod {
  std::string name;   // "namespace/name".
  std::string owner;  // "namespace/kind/name" of its controller; empty: none.
  PolicyResources requests{};
  std::optional<PolicyResources> usage{};  // cpu and memory; absent: not measured.
  std::vector<PolicyContainer> containers{};
  PolicyResources overhead{};
  bool is_running = true;  // False: pending, even if it has a node.
  // Of a pod without a node: the scheduler found no place for it.  False: it is gated, or not
  // judged.
  bool is_unschedulable = true;
  bool is_daemonset = false;
  int64_t created_s = 0;
  std::map<std::string, std::string> node_selector{};
  std::vector<PolicyExpression> affinity{};  // Of all required terms.
  bool has_affinity = false;
  std::map<std::string, std::string> annotations{};
};

struct PolicyNode {
  std::string name;
  PolicyResources capacity{};
  PolicyResources allocatable{};
  std::optional<PolicyResources> usage{};  // cpu and memory; absent: not measured.
  int64_t created_s = 0;
  std::optional<bool> ready{};  // Its condition; absent: none.
  bool is_cordoned = false;
  // An earlier decision takes it away: its pods count, and its room does not.
  bool is_leaving = false;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::map<std::string, std::string> taints{};  // Key -> value.
  std::vector<PolicyPod> pods{};
};

// The group of the cloud behind a pool.
struct PolicyCloud {
  int64_t min = 0;
  int64_t max = 0;
  int64_t desired = 0;
};

// A number from outside: a metric, a count of rooms.
struct PolicySignal {
  double value = 0;
  std::optional<int64_t> at_s{};  // When it was so; absent: now.
};

// What one round sees of a pool.
struct PolicyObservation {
  std::string pool;
  std::vector<PolicyNode> nodes{};
  std::vector<PolicyPod> pending{};    // Without a node, that ask for this pool.
  std::optional<PolicyCloud> cloud{};  // Absent: it could not be read.
  // Names are the policies' business: "cpus", "mem", "disk", "gpus" (Clusterman), "rooms_ready",
  // "rooms_occupied", "rooms_creating" (Maestro), and those of users' own.
  std::map<std::string, PolicySignal, std::less<>> signals{};
};

// A taint that a policy has put on a node or taken off.
struct PolicyTaint {
  std::string node;
  std::string key;
  std::string value{};   // Of one that is put, as is the effect.
  std::string effect{};  // "NoSchedule" and so on.
  bool put = true;       // False: it is taken off, whatever its value and effect.

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
  int64_t delta = 0;  // Nodes to add (above 0) or to take away (below 0) now.
  // Where the pool is led, also where a check denied it.
  PolicyDirection direction = PolicyDirection::kStay;
  std::string reason;     // The school's own word: "ScaleOut", "trigger", "scaled to the setpoint".
  std::string denied_by;  // The check that kept it from acting; empty: none did.
  std::vector<PolicyFigure> figures{};  // In the order of the computation.
  // The nodes that may go, and no others, the first to go first, as the school would have it;
  // without those that leave already, which delta does not count either.
  // Absent: any, in the planner's own order.
  std::optional<std::vector<std::string>> candidates{};
  // Done beside what delta says, and also where a check denied that.  A node whose taint is taken
  // off serves again: it is one of the nodes that a delta above 0 adds.
  std::vector<PolicyTaint> taints{};
  // Nodes that go now, as room and budgets of their pods allow, in this order.  Delta does not
  // count them.
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

  // The action of the last decision is over.  Call it once for each that was begun.
  virtual void Ended(bool succeeded, int64_t now_s, std::string* state) const = 0;

  // Whether it decides nothing until its action has been carried out to the end.
  [[nodiscard]] virtual bool OneActionAtATime() const { return false; }

  // An operator's word.  False: this policy has no failsafe, or `state` is not readable.
  virtual bool SetFailsafe(bool on, std::string* state) const;
  // Whether the pool is in failsafe: no action until an operator ends it.
  virtual bool InFailsafe(std::string_view state) const;
};

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_H_
