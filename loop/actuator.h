// Actuator: taints, drains and deletes nodes in some cluster.  A loop (loop.h) decides by rounds
// which nodes.
//
// A deletion goes through these phases, and in no other way:
//
//                Begin            Drain              (by itself)          Delete
//   (none)  ---------> kTainted --------> kDraining -----------> kDrained -------> kDeleting
//                          |                  |                     |                 |
//                          |                  +------> kFailed <----+-----------------+
//                          +-- RollBack -->  (none)  <-- RollBack --+     (by itself) --> (none)
//
// Drain and Delete only start their phase: the actuator continues it in its own time, and Status()
// reports the progress.  A deletion that has ended leaves `running` and is among `results` until
// Acknowledge().
//
// Callers may rely on the following for every implementation:
//   taints     Begin puts the hard taint, which keeps new pods off, on all of the nodes before any
//              pod is evicted; or it leaves none of them tainted.
//   pods       Drain looks at the pods that the node has then, not at the pods that a plan saw. The
//              deletion fails before any pod is evicted if one of them may not be moved, or if the
//              node was to be empty and has a pod to move.
//   budgets    No pod is evicted if a PodDisruptionBudget forbids it.
//   roll back  RollBack removes the hard taint.  Pods that were evicted stay evicted.
//   retries    A call that was carried out before changes nothing and returns OK, so that a caller
//              that did not receive the reply may call again.
//   identity   If a node does not exist or is another machine (UID) than the order says, the call
//              returns NotFound and does nothing to the node.
//
// Errors:  NotFound: see above.  FailedPrecondition: the deletion is in another phase than the call
//          requires.  Unavailable: the cluster cannot be reached; try again.
// Units:   seconds since the Unix epoch.  Implementations do not read the time from a clock:
//          `now_s` is an argument that never decreases.
// Threads: one at a time.

#ifndef EBB_LOOP_ACTUATOR_H_
#define EBB_LOOP_ACTUATOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/actuation_status.h"

namespace ebb {

// The node where the plan puts a pod.  The scheduler may choose another one.
struct PlannedMove {
  std::string namespace_name;
  std::string name;
  std::string uid = {};
  std::string to;  // Name of the node.
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

struct DeletionOrder {
  std::string node;
  std::string uid = {};  // Empty: unknown.
  std::string group = {};
  bool drain = false;      // The node has pods to move; false: it was to be empty.
  int64_t batch_size = 0;  // As in DeletionBucket; above 0 for nodes of an atomic group.
  std::vector<PlannedMove> moves = {};
  friend bool operator==(const DeletionOrder&, const DeletionOrder&) = default;
};

enum class DeletionPhase : uint8_t { kTainted, kDraining, kDrained, kDeleting, kFailed };

// A taint other than the soft and the hard one.
struct NodeTaint {
  std::string key;
  std::string value = {};
  std::string effect = {};  // "NoSchedule", "PreferNoSchedule" or "NoExecute".
  friend bool operator==(const NodeTaint&, const NodeTaint&) = default;
};

// A machine to buy.
struct MachineOrder {
  // The idempotency key: lower-case letters, digits and "-", at most kOrderIdMax.
  std::string id = {};
  std::string group = {};
  std::string machine_type = {};
  std::string zone = {};  // This and the next: empty: any.
  std::string capacity_type = {};
  std::string like = {};  // A node of the group whose labels and taints the new node has.
  friend bool operator==(const MachineOrder&, const MachineOrder&) = default;
};
inline constexpr size_t kOrderIdMax = 40;

struct BoughtMachine {
  std::string id;         // Of the order.
  std::string node = {};  // Empty: there is no node yet.
  bool ready = false;     // The node is Ready and takes pods.
  std::string waits_for = {};
};

struct RunningDeletion {
  std::string node;
  std::string group = {};
  bool drain = false;
  int64_t batch_size = 0;
  DeletionPhase phase = DeletionPhase::kTainted;
  int64_t since_s = 0;   // When the phase began.
  std::string why = {};  // The reason, with kFailed.
};

struct DeletionResult {
  std::string node;
  std::string group = {};
  bool ok = true;
  int64_t at_s = 0;
  std::string why = {};  // The reason, if not ok.
};

struct ActuatorStatus {
  std::vector<RunningDeletion> running;
  std::vector<DeletionResult> results;  // In the order in which the deletions ended.
  std::vector<EvictedPod> recent_evictions;
};

class Actuator {
 public:
  virtual ~Actuator() = default;

  // Puts the soft taint on a node or removes it.  The soft taint keeps no pod away.
  virtual absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) = 0;

  // Taints all of the nodes or none.
  virtual absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) = 0;
  virtual absl::Status Drain(std::string_view node, int64_t now_s) = 0;
  virtual absl::Status Delete(std::string_view node, int64_t now_s) = 0;
  // In the phases kTainted, kDrained and kFailed.  The deletion ends with a result that is not ok.
  virtual absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) = 0;

  // Requests that the group has at least `size` machines, including booting ones.  Does
  // nothing if it has them already.  Returns when the request was made; the machines come later.
  // Errors: Unimplemented: not supported; NotFound: there is no such group; OutOfRange: the group
  // may not be so large.
  virtual absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) {
    (void)size, (void)now_s;
    return absl::UnimplementedError(
        absl::StrCat("group ", Absl(group), " cannot grow: this actuator makes no machines"));
  }

  // Buys these machines, all or none, and says whether their nodes are Ready, one for each order.
  // An order whose id was carried out before buys nothing again, also after a restart.
  // Errors: Unimplemented: not supported; Unavailable: try again; any other: the orders are
  // refused, and the message says why and what to change.
  virtual absl::StatusOr<std::vector<BoughtMachine>> Buy(std::span<const MachineOrder> orders,
                                                         int64_t now_s) {
    (void)orders, (void)now_s;
    return absl::UnimplementedError("this actuator buys no machines");
  }

  // Puts a policy's taint on a node, or removes all taints with its key.  If the node has a taint
  // with the key, that taint is not changed.
  // Errors: Unimplemented: not supported; InvalidArgument: the key is that of the soft or the hard
  // taint.
  virtual absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                             int64_t now_s) {
    (void)put, (void)now_s;
    return absl::UnimplementedError(
        absl::StrCat("node ", Absl(node), ": this actuator sets no taint ", taint.key));
  }

  virtual absl::StatusOr<ActuatorStatus> Status(int64_t now_s) = 0;
  // Drops the first `results` results: the caller has recorded them.
  virtual void Acknowledge(size_t results) = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATOR_H_
