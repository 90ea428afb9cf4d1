// Rounds: decides what a loop (loop.h) does in a turn.  All objects are given by name.
//
//   absl::StatusOr<RoundOrders> orders = rounds.Make(report, now_s, left_alone);
//
// There are two implementations.  OwnRounds (own_rounds.h) makes rounds in this process over a
// cluster that it observes.  SessionRounds (loop/run/session_rounds.h) lets a daemon make them;
// the daemon observes the cluster and keeps the state.
//
// Units:   seconds since the Unix epoch.
// Threads: one at a time.

#ifndef EBB_LOOP_ROUNDS_H_
#define EBB_LOOP_ROUNDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/unremovable_nodes.h"
#include "loop/actuator.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// The current state of the cluster.
struct Observation {
  // Valid until the next call to the source or to an actuator of its cluster.
  ClusterSnapshot* snapshot = nullptr;
  NodeGroups groups;
  std::vector<PodId> pending;
  std::vector<ScaleEvent> events;  // Since the last observation.
  // Sends the nodes and pods of the snapshot to `sink` as objects, for sizing policies, which need
  // more of them than a snapshot keeps.  Valid as long as the snapshot.  Null: not supported.
  std::function<absl::Status(ObjectSink& sink)> objects = nullptr;
};

class ClusterSource {
 public:
  virtual ~ClusterSource() = default;
  // Errors: the cluster cannot be reached, or its data cannot be understood.
  virtual absl::StatusOr<Observation> Observe(int64_t now_s) = 0;
};

// The decisions of a round.
struct RoundOrders {
  int64_t number = 0;        // From 1; 0: rounds are not numbered.
  std::string status = {};   // "ScaleDownNodeDeleteStarted" and so on.
  std::string message = {};  // A detail of the status, for users; may be empty.
  std::optional<Cooldowns::Hold> cooldown =
      {};  // Instead of a message: the event that holds deletions back.
  size_t nodes = 0;
  size_t pending = 0;  // Pending pods.
  size_t unneeded = 0;
  UnremovableNodes unremovable = {};
  std::vector<DeletionOrder> start = {};
  std::vector<std::string> taint = {};  // Nodes to get the soft taint.
  std::vector<std::string> untaint = {};
  std::vector<std::string> log = {};  // Oddities, one line each.
};

class Rounds {
 public:
  virtual ~Rounds() = default;

  // The cluster of the next round, for a sizer, which may change its groups.  Valid until Make.
  // Errors: those of the source; FailedPrecondition: these rounds do not observe a cluster in this
  // process.
  virtual absl::StatusOr<Observation*> Observe(int64_t now_s) = 0;
  // Makes a round.  `report`: the actuator's status, with two additions.  Its results include one
  // for each deletion that could not begin; its running deletions include those that a sizer will
  // begin after the round.  A result may be reported again if an earlier round failed.
  // `left_alone`: nodes whose groups the round must not shrink; if a sizer has changed the
  // observation, its groups already say that they may not shrink.
  // OK means that the round, the reported results and the sizer's state are persisted.
  virtual absl::StatusOr<RoundOrders> Make(const ActuatorStatus& report, int64_t now_s,
                                           std::span<const std::string> left_alone) = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_ROUNDS_H_
