// Loop: rounds that turn into fewer machines.
//
//   Loop loop(scale_down, cluster, actuator, options);
//   loop.Run(clock);  // Until the clock says that it is over.
//
// A turn: take in how deletions stand, carry on those that are due (deletion_steps.h), observe,
// size pools (sizer.h, where there is one), make a round (round.h), record it, begin what may go
// now, put and take soft taints, sleep. Every decision is made elsewhere.  Deletions go on while
// rounds continue.
//
// Rounds are made here, over a cluster that is observed here, or by a RoundMaker, which observes
// and keeps its state itself.  Pools are sized here in any case.
//
// The round is recorded before anything of it is done, so that no deletion begins that a state
// file does not know; and before the actuator forgets what ended, so that a loop that is killed
// at any moment has its next one told.  A turn that cannot observe or record begins nothing, and
// says so.
//
// The end: what was tainted and not begun is rolled back; what was begun is carried on for
// `stop_grace_s` from the moment on that the end was asked for, and then left to the process that
// goes on with the recorded state.
//
// Ownership: borrows all that it is given.
// Threads:   none.
// Source:    cluster-autoscaler core/static_autoscaler.go RunOnce, loop/run.go.

#ifndef EBB_ENGINE_ACTUATION_LOOP_H_
#define EBB_ENGINE_ACTUATION_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/actuation/actuator.h"
#include "engine/actuation/deletion_steps.h"
#include "engine/actuation/sizer.h"
#include "engine/round.h"
#include "engine/unremovable_nodes.h"
#include "snapshot/object_sink.h"

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

// A round that was made elsewhere, by name.
struct AskedRound {
  int64_t number = 0;
  std::string status = {};   // "ScaleDownNodeDeleteStarted" and so on.
  std::string message = {};  // What the status is about, for people; may be empty.
  size_t nodes = 0;
  size_t pending = 0;  // Pods.
  size_t unneeded = 0;
  UnremovableNodes unremovable = {};
  std::vector<DeletionOrder> start = {};
  std::vector<std::string> taint = {};  // Softly.
  std::vector<std::string> untaint = {};
  std::vector<std::string> log = {};  // What was odd, a line each.
};

class RoundMaker {
 public:
  virtual ~RoundMaker() = default;
  // `status`: the actuator's, and of deletions that could not begin a result each.  Results may
  // be told again, where a round before failed.  Deletions that a sizer is to begin when the round
  // is kept are among those that run.
  // `left_alone`: nodes whose groups the round is to leave as they are.
  // OK: the round is kept, and so is what it was told, and what the sizer remembers.
  virtual absl::StatusOr<AskedRound> MakeRound(const ActuatorStatus& status, int64_t now_s,
                                               std::span<const std::string> left_alone) = 0;
};

class LoopClock {
 public:
  virtual ~LoopClock() = default;
  virtual int64_t NowS() = 0;
  // Returns at `time_s`, or at once where the loop is to end: then false.
  virtual bool SleepUntil(int64_t time_s) = 0;
  // Returns at `time_s`, whatever is to end; earlier where nothing can be waited for any more.
  virtual void WaitUntil(int64_t time_s) = 0;
  // When the loop was asked to end, which may have been while a turn was at work.  Long ago where
  // nothing is to be waited for any more.
  virtual int64_t EndAskedAtS() { return NowS(); }
};

// What a turn came to.
struct LoopTurn {
  int64_t now_s = 0;
  std::optional<RoundResult> round;   // Absent: there was none, or
  std::optional<AskedRound> asked;    // it was made elsewhere.
  size_t nodes = 0;                   // That were observed.
  size_t pending = 0;                 // Pods, the same.
  std::optional<size_t> in_deletion;  // Nodes, as the turn began.  Absent: it is not known.
  size_t begun = 0;                   // Deletions.
  std::vector<DeletionResult> ended;  // That are taken in.
  std::vector<PoolTurn> pools;        // That a policy decided.
  std::vector<std::string> log;       // What failed, a line each.
};

// What a round tries first (RoundInput).
struct RoundAdvice {
  std::vector<NodeId> candidates;  // All that may go, in the order in which to try them.
  std::vector<Move> suggestions;   // Where to look first for their pods.
};

struct LoopOptions {
  int64_t scan_interval_s = 10;
  DeletionStepOptions steps;
  int64_t stop_grace_s = 120;
  // Asked before a round, with the names of the nodes that were unneeded after the last one.  A
  // round decides as ever, by its own rules: advice changes which plan it finds.  Null, or nothing
  // that it returns: the round's own order.
  std::function<std::optional<RoundAdvice>(const Observation& observed, int64_t now_s,
                                           const std::vector<std::string>& unneeded)>
      advise = {};
  CandidateOrder order = CandidateOrder::kAutoscaler;  // Of rounds that are made here.
  // Null: no pool is sized.  A loop whose rounds are made elsewhere needs a cluster for it.
  Sizer* sizer = nullptr;
  // Keeps the state after a round, before anything of it is done.  Null: nothing is kept.
  std::function<absl::Status(const ScaleDown&, const RoundResult&)> record;
  // Sees every turn at its end.  Null: nobody does.
  std::function<void(const LoopTurn&)> on_turn;
};

class Loop {
 public:
  Loop(ScaleDown& scale_down, ClusterSource& cluster, Actuator& actuator, LoopOptions options)
      : scale_down_(&scale_down),
        cluster_(&cluster),
        actuator_(actuator),
        options_(std::move(options)) {}
  Loop(RoundMaker& rounds, Actuator& actuator, LoopOptions options)
      : rounds_(&rounds), actuator_(actuator), options_(std::move(options)) {}
  // `cluster` is what the sizer observes.
  Loop(RoundMaker& rounds, ClusterSource& cluster, Actuator& actuator, LoopOptions options)
      : cluster_(&cluster), rounds_(&rounds), actuator_(actuator), options_(std::move(options)) {}

  // One turn.
  void Turn(int64_t now_s);
  // The end of a loop, as above.
  void Stop(LoopClock& clock);
  // Turns until the clock stops, each a scan interval after the end of the one before; then Stop.
  void Run(LoopClock& clock);

 private:
  bool TakeStatus(LoopTurn& turn);
  bool SizePools(Observation& observed, LoopTurn& turn);
  bool SizePoolsOfMaker(LoopTurn& turn);
  void MakeRound(Observation& observed, LoopTurn& turn);
  void AskForRound(LoopTurn& turn);
  void Acknowledge(LoopTurn& turn);
  void Begin(const std::vector<DeletionOrder>& orders, LoopTurn& turn);
  void PutSoftTaints(const std::vector<std::string>& nodes, bool taint, LoopTurn& turn);

  ScaleDown* const scale_down_ = nullptr;   // Null where rounds_ is not.
  ClusterSource* const cluster_ = nullptr;  // Null where nothing is observed here.
  RoundMaker* const rounds_ = nullptr;
  Actuator& actuator_;
  const LoopOptions options_;
  SizingTurn sizing_;  // Of this turn.
  // For the next round.
  ActuatorStatus status_;  // With not_begun_.
  size_t told_ = 0;        // Of its results those that the actuator told.
  std::vector<DeletionResult> not_begun_;
  std::vector<ScaleEvent> events_;
  std::vector<std::string> unneeded_;  // After the last round, by name; for `advise`.
};

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_LOOP_H_
