// Clusterman's drainer.  Nodes to remove wait in a queue to be drained, then in a queue to be
// terminated; a third queue holds warnings of the cloud.  One tick takes the oldest visible message
// of each queue.
//
//   ClustermanDrainState state;
//   Submit(host, now_s, state);  // For each node that a decision drains.
//   const ClustermanTick tick = DrainOnce(options, now_s, backend, &state);
//   if (MaySleep(options, tick)) Wait(options.run_interval_seconds);
//
// A tick hides the message that it takes for visibility_timeout_seconds, and deletes the message
// when its work is done.  A termination that fails comes back when that time is over.  So does a
// message whose tick a crash interrupted, if the caller stores the state before the tick.  Hence
// every action of a tick may happen twice.
//
// Units:     seconds.
// Cost:      a tick: O(messages).
// Threads:   one at a time for each state.
// Ownership: borrows the backend during the call.
// Source:    Clusterman, "Drainer".  Its queues are SQS.  The program loses its list of draining
//            instances in a restart; here the list is part of the state.
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

// The content of a message.
struct ClustermanHost {
  std::string instance_id;
  std::string agent_id;  // The cluster node's name; empty for an orphan.
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
  int64_t visible_at_s = 0;  // The message is hidden before.
  ClustermanHost host;

  bool operator==(const ClustermanMessage&) const = default;
};

// Messages in the order in which they were sent.
struct ClustermanQueue {
  int64_t next_id = 0;
  std::vector<ClustermanMessage> messages{};

  bool operator==(const ClustermanQueue&) const = default;
};

struct ClustermanDrainState {
  ClustermanQueue warnings;  // Only the instance_id of these is set.
  ClustermanQueue drains;
  ClustermanQueue terminations;
  // Instances that are draining, and until when another message about them is a duplicate.
  std::map<std::string, int64_t> draining_until_s;

  bool operator==(const ClustermanDrainState&) const = default;
};

// The section `draining` of a pool.
struct ClustermanPoolDraining {
  int64_t draining_time_threshold_seconds = 1800;     // After this long, draining is given up.
  std::optional<int64_t> redraining_delay_seconds{};  // Absent: the global one.
  bool force_terminate = false;  // Terminate the node when draining is given up.
  bool process_spot_warnings = true;
};

struct ClustermanDrainOptions {
  std::map<std::string, ClustermanPoolDraining> pools;  // A pool that is absent has the defaults.
  int64_t global_redraining_delay_seconds = 15;
  int64_t mesos_maintenance_timeout_seconds = 600;
  // Between drain and termination; Mesos only.
  int64_t asg_drain_termination_timeout_seconds = 90;
  int64_t sfr_drain_termination_timeout_seconds = 90;
  int64_t visibility_timeout_seconds = 30;
  int64_t run_interval_seconds = 5;
  bool always_delay_drain_processing = true;
};

// All problems, each as `key: what`.
std::vector<std::string> Problems(const ClustermanDrainOptions& options);

// The cluster and the cloud.  Every method may be called twice for the same object.
class ClustermanDrainBackend {
 public:
  virtual ~ClustermanDrainBackend() = default;

  // The instance as its cloud reports it now: agent_id (its private DNS name, possibly empty),
  // group, address, pool by its tags, scheduler, sender.  Absent: the instance is gone.
  virtual std::optional<ClustermanHost> FindHost(std::string_view instance_id) = 0;
  // Whether this is a resource group of any pool of this cluster.
  virtual bool KnowsGroup(std::string_view group_id) = 0;

  // Sets the taint clusterman.yelp.com/terminating:NoSchedule on the node, and ignores a failure to
  // do so.  Then evicts, or deletes, every pod that no DaemonSet owns.  False: a pod refused; a pod
  // that is gone already has not refused.
  virtual bool Drain(std::string_view node, bool delete_pods) = 0;
  virtual void RemoveTaint(std::string_view node) = 0;
  // False: the termination failed; try again.
  virtual bool Terminate(const ClustermanHost& host) = 0;

  // Mesos only; failures are ignored.
  virtual void StartMaintenance(const ClustermanHost& /*host*/, int64_t /*seconds*/) {}
  virtual void MarkDown(const ClustermanHost& /*host*/) {}
  virtual void MarkUp(const ClustermanHost& /*host*/) {}
};

enum class ClustermanQueueName : uint8_t { kWarning, kDrain, kTermination };
// "warn", "drain", "term".
std::string_view Name(ClustermanQueueName queue);

enum class ClustermanDrainEventKind : uint8_t { kDrain, kSend, kDelete, kRemoveTaint, kTerminate };

// An action of a tick, for logs and tests.
struct ClustermanDrainEvent {
  ClustermanDrainEventKind kind = ClustermanDrainEventKind::kDrain;
  std::string subject;  // kDrain, kRemoveTaint: the node; else the instance.
  ClustermanQueueName queue = ClustermanQueueName::kDrain;  // kSend, kDelete.
  int64_t delay_s = 0;                                      // kSend.
  int64_t attempt = 0;                                      // kSend to the drain queue.
  bool delete_pods = false;                                 // kDrain.
  bool ok = true;                                           // kDrain, kTerminate.
};

// The result of a drain message.
enum class ClustermanDrainOutcome : uint8_t {
  kNone,        // There was no message.
  kDuplicate,   // The instance is draining already.
  kGone,        // An orphan that its cloud no longer has.
  kNoNode,      // An orphan without a cluster node: terminated next.
  kNamed,       // An orphan that has joined the cluster meanwhile: drained next.
  kForced,      // Took too long: terminated next.
  kGivenUp,     // Took too long: the taint is removed from its node.
  kDrained,     // All evictions were accepted: terminated next.
  kRefused,     // A pod refused: the node is drained again later.
  kTerminated,  // Neither Kubernetes nor Mesos: terminated next.
};
std::string_view Name(ClustermanDrainOutcome outcome);

struct ClustermanTick {
  bool had_message = false;  // In any of the queues.
  ClustermanDrainOutcome drain = ClustermanDrainOutcome::kNone;
  std::vector<ClustermanDrainEvent> events{};
};

// Adds a node to the drain queue.
void Submit(const ClustermanHost& host, int64_t now_s, ClustermanDrainState& state);
// Adds a warning: the cloud has announced that it will reclaim the instance.
void Warn(std::string_view instance_id, int64_t now_s, ClustermanDrainState& state);

// REQUIRES: state is not null.
ClustermanTick DrainOnce(const ClustermanDrainOptions& options, int64_t now_s,
                         ClustermanDrainBackend& backend, ClustermanDrainState* state);

bool MaySleep(const ClustermanDrainOptions& options, const ClustermanTick& tick);

}  // namespace ebb

#endif  // EBB_TESTS_POLICIES_CLUSTERMAN_DRAINER_H_
