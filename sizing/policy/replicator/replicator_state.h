// What Replicator knows of a pool from round to round, and failsafe.
//
// The caller keeps it where a restart and a change of leader leave it whole, also while the pool
// itself has no node, and stores it after each call that changes it, before it acts on the answer:
// whoever cannot store it must not act.
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

// What an operation wants done or looked at next.
enum class ReplicatorCallKind : uint8_t {
  kSetDesired,       // Tell the provider's group to have `desired` instances.
  kReadInstances,    // Has the group `desired` instances?
  kFindNewest,       // Which running instance of the group is the newest?
  kFindMember,       // Has `instance` joined the pool?
  kDrain,            // Drain `node`.
  kReadAllocations,  // Is no allocation of `node` running or pending?
  kDetach,           // Take `instance` out of the group, which then wants one less.
  kReadDetach,       // Is that done?
  kTerminate,        // End `instance`.
  kReadTermination,  // Is it gone?
};
std::string_view Name(ReplicatorCallKind kind);

struct ReplicatorCall {
  ReplicatorCallKind kind = ReplicatorCallKind::kSetDesired;
  int64_t at_ms = 0;     // Not before.
  int64_t until_ms = 0;  // Of a look: "not yet" at this time or later ends the waiting.
  bool operator==(const ReplicatorCall&) const = default;
};

// A pool grows or shrinks: one call at a time.
struct ReplicatorOperation {
  enum class Outcome : uint8_t {
    kRunning,
    kSucceeded,
    kFailed,     // At `call`.
    kAbandoned,  // Failsafe came in between.
  };

  ReplicatorDirection direction = ReplicatorDirection::kOut;
  Outcome outcome = Outcome::kRunning;
  ReplicatorCall call = {};
  int64_t desired = 0;        // kOut.
  std::string node = {};      // kIn.
  std::string instance = {};  // kIn: the node's; kOut: the newest, once found.
  bool operator==(const ReplicatorOperation&) const = default;
};

struct ReplicatorState {
  // Rounds in a row that asked for a direction and were denied by nothing but their number.  Rounds
  // denied otherwise neither count nor interrupt.
  int64_t scale_in_requests = 0;
  int64_t scale_out_requests = 0;
  int64_t failure_count = 0;  // Since the last success, of either direction.
  bool failsafe = false;
  std::optional<int64_t> last_event_ms = {};  // When an operation last succeeded.
  std::optional<int64_t> last_notification_ms = {};
  std::optional<ReplicatorOperation> operation = {};  // While one runs.
  bool operator==(const ReplicatorState&) const = default;
};

// Told to every notifier when a pool enters failsafe by itself.
// The program adds the state_path that its failsafe command takes; where a state is kept, the
// caller knows.
struct ReplicatorNotice {
  std::string alert_uid = {};  // The pool's replicator_notification_uid.
  std::string reason = "cluster_failsafe_mode";
  std::string resource_id = {};  // The pool.
  std::string resource_type = "worker_pool";
  bool operator==(const ReplicatorNotice&) const = default;
};

enum class ReplicatorFailsafeAnswer : uint8_t { kDone, kAlreadySo, kNoState };

// The operator's command.  Ending failsafe forgets the failures and nothing else; nobody is
// notified.  kNoState: nothing is stored for the pool.
ReplicatorFailsafeAnswer SetFailsafe(bool on, std::optional<ReplicatorState>* state);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_REPLICATOR_REPLICATOR_STATE_H_
