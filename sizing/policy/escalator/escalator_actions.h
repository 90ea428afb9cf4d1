// The actions of a round of Escalator.  To grow, it removes taints and asks the cloud for nodes.
// To shrink, it taints nodes, and removes nodes that have been tainted long enough.
//
// Units:     seconds since the Unix epoch; nodes.
// Cost:      O(nodes log nodes), and the calls.
// Errors:    a call that fails is data.  After a failed taint or untaint the next node is tried.
// Threads:   none.
// Source:    Escalator, "ScaleUp(k)", "ScaleDown(k)", "Reaping tainted nodes" and "One round",
//            steps 2 and 14.
// Surprise:  nodes created in the same second go in list order (in the program, in random order).

#ifndef EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_ACTIONS_H_
#define EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_ACTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sizing/policy/escalator/escalator_group.h"
#include "sizing/policy/escalator/escalator_options.h"

namespace ebb {

// State that must survive a restart.  The program itself keeps only the taints on the nodes.
struct EscalatorState {
  // The lock, taken when the cloud group grew by `requested`.
  bool is_locked = false;  // As of the last round that checked; the lock may have expired since.
  int64_t requested = 0;
  std::optional<int64_t> locked_at_s = {};  // Kept when the lock opens.

  // Of the first node in the last list that was not empty; 0 before.
  EscalatorResources cached_capacity = {};
  // Dry mode: the names of the nodes that the program would have tainted.  As in the program, a
  // name stays after its node has gone, and an unhealthy node adds its name in each round.
  std::vector<std::string> taint_tracker = {};
  int64_t last_delta = 0;                     // The delta of the last round.
  std::optional<int64_t> last_growth_s = {};  // When step 15 last asked to grow.

  bool operator==(const EscalatorState&) const = default;
};

// Carries out the actions of a round at once.  Not called in dry mode.
class EscalatorCalls {
 public:
  virtual ~EscalatorCalls() = default;
  // Sets or removes the taint atlassian.com/escalator, whose value is the round's time.  If the
  // node is in that state already, the call succeeds and changes nothing.
  virtual absl::Status Taint(const EscalatorNode& node) = 0;
  virtual absl::Status Untaint(const EscalatorNode& node) = 0;
  // Terminates the node's instance and lowers the cloud group's desired count by one.
  virtual absl::Status Terminate(const EscalatorNode& node) = 0;
  // Deletes the Node object.
  virtual absl::Status DeleteNode(const EscalatorNode& node) = 0;
  // Sets the cloud group's desired count.
  virtual absl::Status SetDesired(int64_t desired) = 0;
};

// Does nothing and succeeds: for a round that only computes a decision.
class EscalatorNoCalls final : public EscalatorCalls {
 public:
  absl::Status Taint(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status Untaint(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status Terminate(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status DeleteNode(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status SetDesired(int64_t) override { return absl::OkStatus(); }
};

// Limits and overrides that changed the result of a round, in the order in which they apply.
enum class EscalatorForce : uint8_t {
  kStarve,     // A pending pod fits on no node: add one node or more.
  kMaxAge,     // A node at the minimum is too old: add one node or more.
  kOverMax,    // More untainted nodes than max_nodes: remove the excess or more.
  kUnhealthy,  // Too many of the newest nodes are unready: do not scale.
  kCloudMax,   // The cloud group's max limited growth.
  kMinNodes,   // min_nodes limited the taints.
  kCloudMin,   // The cloud group's min limited the taints.
};
std::string_view Name(EscalatorForce force);

// Data that the actions of one round share.  Every referenced object must outlive it.
struct EscalatorRound {
  const EscalatorObservation& observation;
  const EscalatorDurations durations;
  const EscalatorCloudGroup cloud;
  const int64_t min_nodes;
  const bool dry_mode;
  const int64_t now_s;
  EscalatorGroup& group;
  EscalatorState& state;
  EscalatorCalls& calls;
  std::vector<EscalatorForce>& forced;

  [[nodiscard]] const EscalatorNode& Node(size_t i) const { return observation.nodes[i]; }
  [[nodiscard]] bool IsUnhealthy(size_t i) const {
    return durations.HasHealth() && ebb::IsUnhealthy(Node(i), durations.unhealthy_grace_ns, now_s);
  }
};

// A call on a node that failed.  Nodes are indices of the observation.
struct EscalatorFailure {
  size_t node = 0;
  std::string why = {};

  bool operator==(const EscalatorFailure&) const = default;
};

// Nodes whose taint was set or removed; in dry mode, would be.
struct EscalatorTaints {
  std::vector<size_t> nodes = {};  // In the order of the calls.
  std::vector<EscalatorFailure> failures = {};

  bool operator==(const EscalatorTaints&) const = default;
};

// Step 2: taints every unhealthy node.
EscalatorTaints TaintUnhealthy(const EscalatorRound& round);

struct EscalatorScaleUp {
  enum class Error : uint8_t {
    kNone,
    kBeyondMaximum,  // The cloud group is at its max.
    kCloud,          // SetDesired() failed: `why`.
  };
  EscalatorTaints untainted = {};
  int64_t added = 0;                    // Nodes asked of the cloud.
  std::optional<int64_t> desired = {};  // The count sent to the cloud; absent in dry mode.
  Error error = Error::kNone;
  std::string why = {};

  // Nodes gained; 0 after an error.
  [[nodiscard]] int64_t Result() const {
    return error == Error::kNone ? static_cast<int64_t>(untainted.nodes.size()) + added : 0;
  }
  bool operator==(const EscalatorScaleUp&) const = default;
};

// Untaints the newest tainted nodes, and asks the cloud for the rest of `count`.  A successful
// request takes the lock.  REQUIRES: count > 0.
EscalatorScaleUp ScaleGroupUp(const EscalatorRound& round, int64_t count);

// A batch of nodes to remove.  If the cloud group's min forbids the batch, no node is removed.
struct EscalatorReap {
  enum class Error : uint8_t {
    kNone,
    kCloudAtMinimum,     // The cloud group is at its min, or below.
    kCloudBelowMinimum,  // The batch would bring the cloud group below its min.
    kForeignNode,        // `node` is not in the cloud group; the nodes before it are terminated.
    kCloud,              // Terminate(`node`) failed: `why`; the nodes before it are terminated.
    kDeleteNode,  // All are terminated; DeleteNode(`node`) failed: `why`; no later one was tried.
  };
  std::vector<size_t> ready = {};          // The batch; dry mode leaves it in place.
  std::vector<size_t> unread_taints = {};  // Tainted, but the taint's value is not a time.
  std::vector<size_t> terminated = {};
  std::vector<size_t> deleted = {};  // Node objects.
  Error error = Error::kNone;
  size_t node = 0;  // The node at which the error occurred.
  std::string why = {};

  bool operator==(const EscalatorReap&) const = default;
};
std::string_view Name(EscalatorReap::Error error);

// Step 14: removes every empty node with a force taint.
EscalatorReap ReapForceTainted(const EscalatorRound& round);

// Removes tainted nodes whose grace period is over: the soft one for empty nodes, the hard one for
// any node.
EscalatorReap ReapTainted(const EscalatorRound& round, bool only_unhealthy);

struct EscalatorScaleDown {
  EscalatorReap reap = {};
  int64_t allowed = 0;  // The number of taints that the bounds allow.
  EscalatorTaints tainted = {};

  bool operator==(const EscalatorScaleDown&) const = default;
};

// Reaps, and taints the oldest `count` nodes as far as min_nodes and the cloud group's min allow.
// REQUIRES: count > 0.
EscalatorScaleDown ScaleGroupDown(const EscalatorRound& round, int64_t count);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_ACTIONS_H_
