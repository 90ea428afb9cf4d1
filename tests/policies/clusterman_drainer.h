// Clusterman's drainer: nodes that are to go wait in a queue to be drained, then in one to be
// terminated.  One tick takes one message of each queue, oldest first: a warning of the cloud,
// a node to drain, a node to terminate.
//
//   ClustermanDrainState state;
//   Submit(host, now_s, state);  // For each node that a decision drains.
//   const ClustermanTick tick = DrainOnce(options, now_s, backend, &state);
//   if (MaySleep(options, tick)) Wait(options.run_interval_seconds);
//
// A message that is taken is hidden for visibility_timeout_seconds and deleted when its work is
// done; one whose work failed comes back.  So does one that a crash left in the middle, if the
// state is stored before the tick: everything that a tick does may be done twice.
//
// Units:     seconds.
// Cost:      a tick: O(messages).
// Threads:   one at a time over a state.
// Ownership: borrows the backend during the call.
// Source:    Clusterman, "Drainer".  Its queues are SQS; its memory of what drains already is
//            lost with a restart, here it is state.
// Surprise:  a node is terminated as soon as all evictions were accepted, whether or not its
//            pods are gone.

#ifndef EBB_TESTS_POLICIES_CLUSTERMAN_DRAINER_H_
#define EBB_TESTS_POLICIES_CLUSTERMAN_DRAINER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/policy/clusterman/clusterman_capacity.h"

namespace ebb {

enum class ClustermanTermination : uint8_t { kScalingDown, kSpotInterruption, kNodeMigration };
// "scaling down", "spot interruption", "node migration".
std::string_view Name(ClustermanTermination reason);

enum class ClustermanScheduler : uint8_t { kKubernetes, kMesos, kOther };

// What a message says.
struct ClustermanHost {
  std::string instance_id;
  std::string agent_id;  // The cluster node; empty for an orphan.
  std::string group_id;
  std::string hostname;
  std::string ip;
  std::string pool;
  int64_t attempt = 1;
  int64_t draining_start_s = 0;
  ClustermanTermination reason = ClustermanTermination::kScalingDown;
  ClustermanScheduler scheduler = ClustermanScheduler::kKubernetes;
  ClustermanGroupKind sender = ClustermanGroupKind::kAsg;

  bool operator==(const ClustermanHost&) const = default;
};

struct ClustermanMessage {
  int64_t id = 0;
  int64_t visible_at_s = 0;  // Hidden before.
  ClustermanHost host;

  bool operator==(const ClustermanMessage&) const = default;
};

// In the order of sending.
struct ClustermanQueue {
  int64_t next_id = 0;
  std::vector<ClustermanMessage> messages{};

  bool operator==(const ClustermanQueue&) const = default;
};

struct ClustermanDrainState {
  ClustermanQueue warnings;  // Of these only the instance_id is known.
  ClustermanQueue drains;
  ClustermanQueue terminations;
  // Instances that drain already, and until when a new message about them is a duplicate.
  std::map<std::string, int64_t> draining_until_s;

  bool operator==(const ClustermanDrainState&) const = default;
};

// A pool's `draining`.
struct ClustermanPoolDraining {
  int64_t draining_time_threshold_seconds = 1800;     // Longer than this: given up.
  std::optional<int64_t> redraining_delay_seconds{};  // Absent: the global one.
  bool force_terminate = false;                       // When given up: terminate all the same.
  bool process_spot_warnings = true;
};

struct ClustermanDrainOptions {
  std::map<std::string, ClustermanPoolDraining> pools;  // One that is not there: the defaults.
  int64_t global_redraining_delay_seconds = 15;
  int64_t mesos_maintenance_timeout_seconds = 600;
  // Between drain and termination; Mesos only.
  int64_t asg_drain_termination_timeout_seconds = 90;
  int64_t sfr_drain_termination_timeout_seconds = 90;
  int64_t visibility_timeout_seconds = 30;
  int64_t run_interval_seconds = 5;
  bool always_delay_drain_processing = true;
};

// What is wrong, each as `key: what`.
std::vector<std::string> Problems(const ClustermanDrainOptions& options);

// The cluster and the cloud.  Anything may be asked for twice.
class ClustermanDrainBackend {
 public:
  virtual ~ClustermanDrainBackend() = default;

  // The instance as its cloud knows it now: agent_id (its private DNS name, may be empty),
  // group, address, pool by its tags, scheduler, sender.  Absent: it is gone.
  virtual std::optional<ClustermanHost> FindHost(std::string_view instance_id) = 0;
  // A resource group of any pool of this cluster.
  virtual bool KnowsGroup(std::string_view group_id) = 0;

  // Taints the node clusterman.yelp.com/terminating:NoSchedule (a failure to do so does not
  // count) and evicts, or deletes, every pod that is of no DaemonSet.  False: one refused; a
  // pod that is gone is no refusal.
  virtual bool Drain(std::string_view node, bool delete_pods) = 0;
  virtual void RemoveTaint(std::string_view node) = 0;
  // False: it failed, and is to be tried again.
  virtual bool Terminate(const ClustermanHost& host) = 0;

  // Mesos; failures do not count.
  virtual void StartMaintenance(const ClustermanHost& /*host*/, int64_t /*seconds*/) {}
  virtual void MarkDown(const ClustermanHost& /*host*/) {}
  virtual void MarkUp(const ClustermanHost& /*host*/) {}
};

enum class ClustermanQueueName : uint8_t { kWarning, kDrain, kTermination };
// "warn", "drain", "term".
std::string_view Name(ClustermanQueueName queue);

enum class ClustermanDrainEventKind : uint8_t { kDrain, kSend, kDelete, kRemoveTaint, kTerminate };

// What a tick did, for logs and tests.
struct ClustermanDrainEvent {
  ClustermanDrainEventKind kind = ClustermanDrainEventKind::kDrain;
  std::string subject;  // kDrain, kRemoveTaint: the node; else the instance.
  ClustermanQueueName queue = ClustermanQueueName::kDrain;  // kSend, kDelete.
  int64_t delay_s = 0;                                      // kSend.
  int64_t attempt = 0;                                      // kSend to the drain queue.
  bool delete_pods = false;                                 // kDrain.
  bool ok = true;                                           // kDrain, kTerminate.
};

// Why a drain message ended as it did.
enum class ClustermanDrainOutcome : uint8_t {
  kNone,        // There was no message.
  kDuplicate,   // The instance drains already.
  kGone,        // An orphan that its cloud no longer knows.
  kNoNode,      // An orphan without a name: terminated.
  kNamed,       // An orphan that has a name by now: drained next.
  kForced,      // Took too long: terminated.
  kGivenUp,     // Took too long: its node is free again.
  kDrained,     // Terminated next.
  kRefused,     // A pod refused: tried again.
  kTerminated,  // Another scheduler: terminated next.
};
std::string_view Name(ClustermanDrainOutcome outcome);

struct ClustermanTick {
  bool had_message = false;  // In any queue.
  ClustermanDrainOutcome drain = ClustermanDrainOutcome::kNone;
  std::vector<ClustermanDrainEvent> events{};
};

// Puts a node into the drain queue.
void Submit(const ClustermanHost& host, int64_t now_s, ClustermanDrainState& state);
// A cloud said that it will take the instance back.
void Warn(std::string_view instance_id, int64_t now_s, ClustermanDrainState& state);

// REQUIRES: state is not null.
ClustermanTick DrainOnce(const ClustermanDrainOptions& options, int64_t now_s,
                         ClustermanDrainBackend& backend, ClustermanDrainState* state);

bool MaySleep(const ClustermanDrainOptions& options, const ClustermanTick& tick);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_CLUSTERMAN_DRAINER_H_
