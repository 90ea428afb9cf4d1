// Rounds: what decides, by name, what a loop (loop.h) does in a turn.
//
//   absl::StatusOr<RoundOrders> orders = rounds.Make(report, now_s, left_alone);
//
// There are two: OwnRounds (own_rounds.h) makes rounds in this process over a cluster that it
// observes, and SessionRounds (loop/run/session_rounds.h) lets a daemon make them, which
// observes and keeps its state itself.
//
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

// The cluster as it is.
struct Observation {
  // Valid until the next call to the source or to an actuator of its cluster.
  ClusterSnapshot* snapshot = nullptr;
  NodeGroups groups;
  std::vector<PodId> pending;
  std::vector<ScaleEvent> events;  // Since the last observation.
  // Hands over the nodes and pods of the snapshot as objects, for sizing policies, which read more
  // of them than a snapshot keeps.  As long valid.  Null: the source cannot.
  std::function<absl::Status(ObjectSink& sink)> objects = nullptr;
};

class ClusterSource {
 public:
  virtual ~ClusterSource() = default;
  // Errors: the cluster cannot be reached, or what it says cannot be understood.
  virtual absl::StatusOr<Observation> Observe(int64_t now_s) = 0;
};

// What a round decided.
struct RoundOrders {
  int64_t number = 0;        // From 1; 0: the rounds are not counted.
  std::string status = {};   // "ScaleDownNodeDeleteStarted" and so on.
  std::string message = {};  // What the status is about, for people; may be empty.
  std::optional<Cooldowns::Hold> cooldown =
      {};  // In place of a message: what holds deletions back.
  size_t nodes = 0;
  size_t pending = 0;  // Pods.
  size_t unneeded = 0;
  UnremovableNodes unremovable = {};
  std::vector<DeletionOrder> start = {};
  std::vector<std::string> taint = {};  // Softly.
  std::vector<std::string> untaint = {};
  std::vector<std::string> log = {};  // What was odd, a line each.
};

class Rounds {
 public:
  virtual ~Rounds() = default;

  // The cluster that the next round is made of, for a sizer, which may change its groups.  Valid
  // until Make.
  // Errors: the source's; FailedPrecondition: these rounds observe no cluster here.
  virtual absl::StatusOr<Observation*> Observe(int64_t now_s) = 0;
  // `report`: the actuator's status, and of deletions that could not begin a result each.  Results
  // may be reported again, where a round before failed.  Deletions that a sizer is to begin when
  // the round is kept are among those that run. `left_alone`: nodes whose groups the round is to
  // leave as they are; those of an observation that a sizer has seen are so already. OK: the round
  // is kept, and so is what was reported, and what the sizer remembers.
  virtual absl::StatusOr<RoundOrders> Make(const ActuatorStatus& report, int64_t now_s,
                                           std::span<const std::string> left_alone) = 0;
};

}  // namespace ebb

#endif  // EBB_LOOP_ROUNDS_H_
