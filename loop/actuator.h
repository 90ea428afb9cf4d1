// Actuator: what makes nodes go.  The loop (loop.h) decides by rounds which ones; an actuator
// taints, drains and deletes them, in whatever cluster it stands for.
//
// A deletion goes through phases, and only this way:
//
//                Begin            Drain              (by itself)          Delete
//   (none)  ---------> kTainted --------> kDraining -----------> kDrained -------> kDeleting
//                          |                  |                     |                 |
//                          |                  +------> kFailed <----+-----------------+
//                          +-- RollBack -->  (none)  <-- RollBack --+     (by itself) --> (none)
//
// Drain and Delete only begin what they are called for: the actuator carries it on in its own
// time, and Status() tells how far it is.  What ended leaves `running` and is among `results`
// until Acknowledge().
//
// Who holds this interface may rely on, of every implementation:
//   taints     Begin taints all of the nodes, with the hard taint that keeps new pods off, before
//              any pod is evicted, or leaves none of them tainted.
//   looks      Drain looks at the node's pods as they are then, and not as a plan knew them: a pod
//              that may not be moved makes the deletion fail before any pod is evicted, and so does
//              a pod to move on a node that was to go empty.
//   budgets    No pod is evicted that its disruption budget holds.
//   roll back  RollBack removes the hard taint.  Pods that were evicted stay so.
//   again      A call that was carried out already changes nothing and returns OK, so that a
//              caller who does not know may call again.
//   doubt      A node that is not there, or is another machine (UID) than the order says, is
//              NotFound, and nothing is done to it.
//
// Errors:  NotFound: above.  FailedPrecondition: the deletion is in another phase than the call
//          asks for.  Unavailable: the cluster cannot be reached; try again.
// Units:   seconds since the Unix epoch.  No implementation reads a clock here: `now_s` is an
//          argument, and never goes backwards.
// Threads: one at a time.

#ifndef EBB_LOOP_ACTUATOR_H_
#define EBB_LOOP_ACTUATOR_H_

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

// Where the plan saw a pod land.  The scheduler may choose otherwise.
struct PlannedMove {
  std::string namespace_name;
  std::string name;
  std::string uid = {};
  std::string to;  // Name of a node.
  friend bool operator==(const PlannedMove&, const PlannedMove&) = default;
};

struct DeletionOrder {
  std::string node;
  std::string uid = {};  // Empty: not known.
  std::string group = {};
  bool drain = false;      // It has pods to move; otherwise it was to go empty.
  int64_t batch_size = 0;  // As DeletionBucket's: above 0, the nodes of an atomic group.
  std::vector<PlannedMove> moves = {};
  friend bool operator==(const DeletionOrder&, const DeletionOrder&) = default;
};

enum class DeletionPhase : uint8_t { kTainted, kDraining, kDrained, kDeleting, kFailed };

// A taint that is neither the soft nor the hard one.
struct NodeTaint {
  std::string key;
  std::string value = {};
  std::string effect = {};  // "NoSchedule", "PreferNoSchedule" or "NoExecute".
  friend bool operator==(const NodeTaint&, const NodeTaint&) = default;
};

struct RunningDeletion {
  std::string node;
  std::string group = {};
  bool drain = false;
  int64_t batch_size = 0;
  DeletionPhase phase = DeletionPhase::kTainted;
  int64_t since_s = 0;   // When the phase began.
  std::string why = {};  // kFailed.
};

struct DeletionResult {
  std::string node;
  std::string group = {};
  bool ok = true;
  int64_t at_s = 0;
  std::string why = {};  // Of one that is not ok.
};

struct ActuatorStatus {
  std::vector<RunningDeletion> running;
  std::vector<DeletionResult> results;  // In the order in which deletions ended.
  std::vector<EvictedPod> recent_evictions;
};

class Actuator {
 public:
  virtual ~Actuator() = default;

  // Puts the soft taint on a node, or takes it off.  It keeps no pod away.
  virtual absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) = 0;

  // All of them are tainted, or none.
  virtual absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) = 0;
  virtual absl::Status Drain(std::string_view node, int64_t now_s) = 0;
  virtual absl::Status Delete(std::string_view node, int64_t now_s) = 0;
  // From kTainted, kDrained and kFailed.  The deletion ends, not ok.
  virtual absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) = 0;

  // Asks that the group has at least `size` machines, those that boot counted.  One that has them
  // already stays as it is.  Returns when that was asked: the machines come in their own time.
  // Errors: Unimplemented: it cannot; NotFound: there is no such group; OutOfRange: the group may
  //         not be so large.
  virtual absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) {
    (void)size, (void)now_s;
    return absl::UnimplementedError(
        absl::StrCat("group ", Absl(group), " cannot grow: this actuator makes no machines"));
  }

  // Puts a taint of a policy on a node, or takes off all that have its key.  A node that has one of
  // the key keeps it as it is.
  // Errors: Unimplemented: it cannot; InvalidArgument: the key is the soft or the hard taint's.
  virtual absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                             int64_t now_s) {
    (void)put, (void)now_s;
    return absl::UnimplementedError(
        absl::StrCat("node ", Absl(node), ": this actuator sets no taint ", taint.key));
  }

  virtual absl::StatusOr<ActuatorStatus> Status(int64_t now_s) = 0;
  // The first `results` results were taken in and need not be told again.
  virtual void Acknowledge(size_t results) = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_ACTUATOR_H_
