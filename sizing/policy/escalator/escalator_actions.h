// What a round of Escalator does: it takes taints away and asks the cloud for nodes, or taints
// nodes and removes those that were tainted long enough.
//
// Units:     seconds since the Unix epoch; nodes.
// Cost:      O(nodes log nodes), and the calls.
// Errors:    a call that fails is data.  Of tainting and untainting the next node is tried.
// Threads:   none.
// Source:    Escalator, "ScaleUp(k)", "ScaleDown(k)", "Reaping tainted nodes" and "One round",
//            steps 2 and 14.
// Surprise:  nodes created in the same second go in list order (in the program, in any).

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

// What survives a restart.  The program forgets it; the taints are on the nodes.
struct EscalatorState {
  // The lock, taken when the cloud group grew by `requested`.
  bool is_locked = false;  // As it was at the last look: it may have run out since.
  int64_t requested = 0;
  std::optional<int64_t> locked_at_s = {};  // Stays when the lock opens.

  EscalatorResources cached_capacity = {};  // Of the first node listed last; 0 if never one.
  // Dry mode: the names of the nodes that would be tainted.  A name stays when its node goes, and
  // an unready node adds its name each round, as in the program.
  std::vector<std::string> taint_tracker = {};
  int64_t last_delta = 0;                     // What the last round came to.
  std::optional<int64_t> last_growth_s = {};  // When one last asked to scale up.

  bool operator==(const EscalatorState&) const = default;
};

// Carries out what a round does, at once.  Not called in dry mode.
class EscalatorCalls {
 public:
  virtual ~EscalatorCalls() = default;
  // Puts the taint atlassian.com/escalator, with the round's time as its value, on the node, or
  // takes it away.  Where that is so already there is nothing to do.
  virtual absl::Status Taint(const EscalatorNode& node) = 0;
  virtual absl::Status Untaint(const EscalatorNode& node) = 0;
  // Terminates the node's instance and lowers the cloud group's desired count by one.
  virtual absl::Status Terminate(const EscalatorNode& node) = 0;
  // Deletes the Node object.
  virtual absl::Status DeleteNode(const EscalatorNode& node) = 0;
  // Sets the cloud group's desired count.
  virtual absl::Status SetDesired(int64_t desired) = 0;
};

// Does nothing, successfully: what a round would come to.
class EscalatorNoCalls final : public EscalatorCalls {
 public:
  absl::Status Taint(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status Untaint(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status Terminate(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status DeleteNode(const EscalatorNode&) override { return absl::OkStatus(); }
  absl::Status SetDesired(int64_t) override { return absl::OkStatus(); }
};

// What bounds or overrides a round, in the order in which it does.
enum class EscalatorForce : uint8_t {
  kStarve,     // A pending pod fits on no node: one node at least.
  kMaxAge,     // A node at the minimum is too old: one node at least.
  kOverMax,    // More untainted nodes than max_nodes: so many fewer at least.
  kUnhealthy,  // Too many of the newest nodes are unready: nothing.
  kCloudMax,   // Growth, by the cloud group's max.
  kMinNodes,   // Taints, by min_nodes.
  kCloudMin,   // Taints, by the cloud group's min.
};
std::string_view Name(EscalatorForce force);

// What the actions of one round share.  Everything pointed to must outlive it.
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

// Nodes whose taint was set or taken away; in dry mode, would be.
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
  std::optional<int64_t> desired = {};  // Sent to the cloud; absent in dry mode.
  Error error = Error::kNone;
  std::string why = {};

  // Nodes gained; 0 after an error.
  [[nodiscard]] int64_t Result() const {
    return error == Error::kNone ? static_cast<int64_t>(untainted.nodes.size()) + added : 0;
  }
  bool operator==(const EscalatorScaleUp&) const = default;
};

// Untaints the newest tainted nodes, and asks the cloud for the rest of `count`; if that succeeds
// the lock is taken.  REQUIRES: count > 0.
EscalatorScaleUp ScaleGroupUp(const EscalatorRound& round, int64_t count);

// A batch of nodes that go, all or none.
struct EscalatorReap {
  enum class Error : uint8_t {
    kNone,
    kCloudAtMinimum,     // The cloud group is at its min, or below.
    kCloudBelowMinimum,  // It would be below after them.
    kForeignNode,        // `node` is none of the cloud group's; those before it are terminated.
    kCloud,              // Likewise, Terminate() failed: `why`.
    kDeleteNode,         // All are terminated; DeleteNode() failed: `why`, and no later was tried.
  };
  std::vector<size_t> ready = {};          // The batch; in dry mode it stays there.
  std::vector<size_t> unread_taints = {};  // Tainted, and nobody knows when.
  std::vector<size_t> terminated = {};
  std::vector<size_t> deleted = {};  // Node objects.
  Error error = Error::kNone;
  size_t node = 0;  // At which one error came.
  std::string why = {};

  bool operator==(const EscalatorReap&) const = default;
};
std::string_view Name(EscalatorReap::Error error);

// Step 14: removes every empty node with a force taint.
EscalatorReap ReapForceTainted(const EscalatorRound& round);

// Removes tainted nodes whose time has come: empty after the soft, any after the hard period.
EscalatorReap ReapTainted(const EscalatorRound& round, bool only_unhealthy);

struct EscalatorScaleDown {
  EscalatorReap reap = {};
  int64_t allowed = 0;  // Taints, after the bounds.
  EscalatorTaints tainted = {};

  bool operator==(const EscalatorScaleDown&) const = default;
};

// Reaps, and taints the oldest `count` nodes as far as min_nodes and the cloud group's min allow.
// REQUIRES: count > 0.
EscalatorScaleDown ScaleGroupDown(const EscalatorRound& round, int64_t count);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_ESCALATOR_ESCALATOR_ACTIONS_H_
