// Loop: rounds that turn into fewer machines.
//
//   Loop loop(rounds, actuator, options);
//   loop.Run(clock);  // Until the clock says that it is over.
//
// A turn: take in how deletions stand, carry on those that are due (deletion_steps.h), size pools
// (sizer.h, where there is one), have a round made (rounds.h), begin what may go now, put and take
// soft taints, sleep.  Every decision is made elsewhere.  Deletions go on while rounds continue.
//
// The round is kept before anything of it is done, so that no deletion begins that a state file
// does not know; and before the actuator forgets what ended, so that a loop that is killed at any
// moment reports that again.  A turn without a round begins nothing, and says so.
//
// The end: what was tainted and not begun is rolled back; what was begun is carried on for
// `stop_grace_s` from the moment on that the end was asked for, and then left to the process that
// goes on with the recorded state.  If the actuator does not answer, the loop waits for it only
// if the loop began a deletion or has seen one.  Deletions of an earlier process are left to the
// next process, to which the actuator reports them.
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
#include "engine/actuation/rounds.h"
#include "engine/actuation/sizer.h"

namespace ebb {

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
  std::optional<RoundOrders> round;   // Absent: there was none.
  std::optional<size_t> in_deletion;  // Nodes, as the turn began.  Absent: it is not known.
  size_t begun = 0;                   // Deletions.
  std::vector<DeletionResult> ended;  // That are taken in.
  std::vector<PoolTurn> pools;        // That a policy decided.
  std::vector<std::string> log;       // What failed, a line each.
};

struct LoopOptions {
  int64_t scan_interval_s = 10;
  DeletionStepOptions steps;
  int64_t stop_grace_s = 120;
  // Null: no pool is sized.
  Sizer* sizer = nullptr;
  // Sees every turn at its end.  Null: nobody does.
  std::function<void(const LoopTurn&)> on_turn;
};

class Loop {
 public:
  Loop(Rounds& rounds, Actuator& actuator, LoopOptions options)
      : rounds_(rounds), actuator_(actuator), options_(std::move(options)) {}

  // One turn.
  void Turn(int64_t now_s);
  // The end of a loop, as above.
  void Stop(LoopClock& clock);
  // Turns until the clock stops, each a scan interval after the end of the one before; then Stop.
  void Run(LoopClock& clock);

 private:
  bool TakeStatus(LoopTurn& turn);
  bool SizePools(LoopTurn& turn);
  void MakeRound(LoopTurn& turn);
  void Acknowledge(LoopTurn& turn);
  void Begin(const std::vector<DeletionOrder>& orders, LoopTurn& turn);
  void PutSoftTaints(const std::vector<std::string>& nodes, bool taint, LoopTurn& turn);

  Rounds& rounds_;
  Actuator& actuator_;
  const LoopOptions options_;
  SizingTurn sizing_;  // Of this turn.
  // For the next round.
  ActuatorStatus status_;  // With not_begun_.
  size_t told_ = 0;        // Of its results those that the actuator told.
  std::vector<DeletionResult> not_begun_;
  // Whether the last status had a deletion, or one was begun since.
  bool may_be_under_way_ = false;
};

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_LOOP_H_
