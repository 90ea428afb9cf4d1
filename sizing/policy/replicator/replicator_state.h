// The state that Replicator keeps of a pool from round to round, and failsafe.
//
// The caller keeps the state where it survives a restart and a change of leader, even while the
// pool has no node.  The caller stores it after each call that changes it, before acting on the
// result.  If the state cannot be stored, the caller must not act.
//
// Units:   milliseconds since the Unix epoch.
// Threads: none.
// Source:  Nomad Replicator, replicator/structs/state.go and replicator/failsafe.go.

#ifndef EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_STATE_H_
#define EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sizing/policy/replicator/replicator_figures.h"

namespace ebb {

// The next call of an operation: an action or a poll.
enum class ReplicatorCallKind : uint8_t {
  kSetDesired,       // Set the desired count of the provider's group to `desired`.
  kReadInstances,    // Does the group have `desired` instances?
  kFindNewest,       // Which running instance of the group is the newest?
  kFindMember,       // Has `instance` joined the pool?
  kDrain,            // Drain `node`.
  kReadAllocations,  // Is no allocation of `node` running or pending?
  kDetach,           // Remove `instance` from the group and lower the desired count by one.
  kReadDetach,       // Has the detachment ended?
  kTerminate,        // Terminate `instance`.
  kReadTermination,  // Has the termination ended?
};
std::string_view Name(ReplicatorCallKind kind);

struct ReplicatorCall {
  ReplicatorCallKind kind = ReplicatorCallKind::kSetDesired;
  int64_t at_ms = 0;     // Do not call before.
  int64_t until_ms = 0;  // For a poll: "not yet" at this time or later is a failure.
  bool operator==(const ReplicatorCall&) const = default;
};

// A running scale-out or scale-in.
struct ReplicatorOperation {
  enum class Outcome : uint8_t {
    kRunning,
    kSucceeded,
    kFailed,     // At `call`.
    kAbandoned,  // The pool entered failsafe meanwhile.
  };

  ReplicatorDirection direction = ReplicatorDirection::kOut;
  Outcome outcome = Outcome::kRunning;
  ReplicatorCall call = {};
  int64_t desired = 0;        // Only kOut.
  std::string node = {};      // Only kIn.
  std::string instance = {};  // kIn: the node's instance; kOut: the newest instance, once found.
  bool operator==(const ReplicatorOperation&) const = default;
};

struct ReplicatorState {
  // Rounds in a row that asked for this direction and were denied only because there were too few
  // of them.  Rounds that were denied for another reason neither count nor interrupt the row.
  int64_t scale_in_requests = 0;
  int64_t scale_out_requests = 0;
  int64_t failure_count = 0;  // Since the last success, of either direction.
  bool failsafe = false;
  std::optional<int64_t> last_event_ms = {};  // When an operation last succeeded.
  std::optional<int64_t> last_notification_ms = {};
  std::optional<ReplicatorOperation> operation = {};  // Present while one runs.
  bool operator==(const ReplicatorState&) const = default;
};

// Sent to every notifier when a pool enters failsafe automatically.  The program adds the
// state_path that its failsafe command takes; here only the caller knows where the state is stored.
struct ReplicatorNotice {
  std::string alert_uid = {};  // The pool's replicator_notification_uid.
  std::string reason = "cluster_failsafe_mode";
  std::string resource_id = {};  // The pool.
  std::string resource_type = "worker_pool";
  bool operator==(const ReplicatorNotice&) const = default;
};

enum class ReplicatorFailsafeAnswer : uint8_t { kDone, kAlreadySo, kNoState };

// The operator's command.  Ending failsafe resets the failure count and nothing else; it sends no
// notice.  kNoState: nothing is stored for the pool.
ReplicatorFailsafeAnswer SetFailsafe(bool on, std::optional<ReplicatorState>* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_STATE_H_
