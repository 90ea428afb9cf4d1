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
// The round is recorded before anything of it is done, so that no deletion begins that a state
// file does not know.  A turn that cannot observe or record begins nothing, and says so.
//
// The end: what was tainted and not begun is rolled back; what was begun is carried on for
// `stop_grace_s` and then left to whoever goes on with the recorded state.
//
// Ownership: borrows all that it is given.
// Threads:   none.
// Source:    cluster-autoscaler core/static_autoscaler.go RunOnce, loop/run.go.

#ifndef EBB_ENGINE_ACTUATION_LOOP_H_
#define EBB_ENGINE_ACTUATION_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/actuation/actuator.h"
#include "engine/actuation/deletion_steps.h"
#include "engine/actuation/sizer.h"
#include "engine/round.h"
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

class LoopClock {
 public:
  virtual ~LoopClock() = default;
  virtual int64_t NowS() = 0;
  // Returns at `time_s`, or at once where the loop is to end: then false.
  virtual bool SleepUntil(int64_t time_s) = 0;
  // Returns at `time_s`, whatever is to end.
  virtual void WaitUntil(int64_t time_s) = 0;
};

// What a turn came to.
struct LoopTurn {
  int64_t now_s = 0;
  std::optional<RoundResult> round;  // Absent: there was none.
  size_t nodes = 0;                  // That were observed.
  size_t pending = 0;                // Pods, the same.
  size_t begun = 0;                  // Deletions.
  std::vector<PoolTurn> pools;       // That a policy decided.
  std::vector<std::string> log;      // What failed, a line each.
};

struct LoopOptions {
  int64_t scan_interval_s = 10;
  DeletionStepOptions steps;
  int64_t stop_grace_s = 120;
  Sizer* sizer = nullptr;  // Null: no pool is sized.
  // Keeps the state after a round, before anything of it is done.  Null: nothing is kept.
  std::function<absl::Status(const ScaleDown&, const RoundResult&)> record;
  // Sees every turn at its end.  Null: nobody does.
  std::function<void(const LoopTurn&)> on_turn;
};

class Loop {
 public:
  Loop(ScaleDown& scale_down, ClusterSource& cluster, Actuator& actuator, LoopOptions options)
      : scale_down_(scale_down),
        cluster_(cluster),
        actuator_(actuator),
        options_(std::move(options)) {}

  // One turn.
  void Turn(int64_t now_s);
  // The end of a loop, as above.
  void Stop(LoopClock& clock);
  // Turns, each a scan interval after the one before, then Stop.
  void Run(LoopClock& clock);

 private:
  bool TakeStatus(LoopTurn& turn);
  bool SizePools(Observation& observed, LoopTurn& turn);
  void MakeRound(Observation& observed, LoopTurn& turn);
  void Begin(const std::vector<DeletionOrder>& orders, LoopTurn& turn);
  void PutSoftTaints(const std::vector<std::string>& nodes, bool taint, LoopTurn& turn);

  ScaleDown& scale_down_;
  ClusterSource& cluster_;
  Actuator& actuator_;
  const LoopOptions options_;
  // Of this turn.
  ActuatorStatus status_;
  SizingTurn sizing_;
  // For the next round.
  ActuationStatus actuation_;
  std::vector<EndedDeletion> ended_;
  std::vector<ScaleEvent> events_;
};

// The deletions that a round starts, in its order: empty nodes, then those to drain.
std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round);

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_LOOP_H_
