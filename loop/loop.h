// Loop: makes rounds and carries out what they decide.
//
//   Loop loop(rounds, actuator, options);
//   loop.Run(clock);  // Until the clock says that it is over.
//
// A turn does the following, in this order: read the status of deletions, advance the due ones
// (deletion_steps.h), size pools (sizer.h, if there is a sizer), let `rounds` make a round
// (rounds.h), begin the deletions that it starts, put and remove soft taints.  Run sleeps between
// turns.  With a buyer (buyer.h), it also buys nodes before the round, and removes others when
// these are Ready.  The loop makes no decision itself.  Deletions continue while rounds are made.
//
// A round is persisted before any of it is carried out, so that no deletion begins that the saved
// state does not contain.  It is also persisted before the actuator drops the results of ended
// deletions, so that a loop that is killed at any moment reports them again.  A turn without a
// round begins no deletion, and logs that.
//
// At the end of the loop, deletions whose node is only tainted are rolled back.  The loop continues
// the others for at most `stop_grace_s` after the end was requested; the process that continues
// from the recorded state takes over the rest.  If the actuator does not answer, the loop waits for
// it only if the loop began a deletion or has seen one.  A deletion that an earlier process began
// is left to the next process, to which the actuator reports it.
//
// Errors:    none are returned; each failure in a turn is a line of LoopTurn::log.
// Units:     seconds since the Unix epoch.
// Ownership: borrows all of its arguments.
// Threads:   not thread-safe.
// Source:    cluster-autoscaler core/static_autoscaler.go RunOnce, loop/run.go.

#ifndef EBB_LOOP_LOOP_H_
#define EBB_LOOP_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "loop/actuator.h"
#include "loop/buyer.h"
#include "loop/deletion_steps.h"
#include "loop/rounds.h"
#include "loop/sizer.h"

namespace ebb {

class LoopClock {
 public:
  virtual ~LoopClock() = default;
  virtual int64_t NowS() = 0;
  // Returns true at `time_s`; returns false immediately when the loop is to end.
  virtual bool SleepUntil(int64_t time_s) = 0;
  // Returns at `time_s`, even if the loop is to end; earlier only if there is no time left to wait.
  virtual void WaitUntil(int64_t time_s) = 0;
  // When the end of the loop was requested, possibly during a turn.  A time long ago means that
  // there is no time left to wait.
  virtual int64_t EndRequestedAtS() { return NowS(); }
};

// The result of a turn.
struct LoopTurn {
  int64_t now_s = 0;
  std::optional<RoundOrders> round;   // nullopt: no round was made.
  std::optional<size_t> in_deletion;  // Nodes in deletion when the turn began.  nullopt: unknown.
  size_t begun = 0;                   // Deletions begun.
  std::vector<DeletionResult> ended;  // Ended deletions that a round has recorded.
  std::vector<PoolTurn> pools;        // Pools that a policy has decided about.
  std::vector<std::string> log;       // What failed, one line each.
};

struct LoopOptions {
  int64_t scan_interval_s = 10;
  DeletionStepOptions steps;
  int64_t stop_grace_s = 120;
  // Null: pools are not sized.
  Sizer* sizer = nullptr;
  // Null: no nodes are bought.
  Buyer* buyer = nullptr;
  // Called with every turn at its end.  May be null.
  std::function<void(const LoopTurn&)> on_turn;
};

class Loop {
 public:
  Loop(Rounds& rounds, Actuator& actuator, LoopOptions options)
      : rounds_(rounds), actuator_(actuator), options_(std::move(options)) {}

  // Makes one turn.
  void Turn(int64_t now_s);
  // Ends the loop, as described above.
  void Stop(LoopClock& clock);
  // Makes turns until the clock stops, each one scan interval after the end of the last; then Stop.
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
  SizingTurn sizing_;  // Of the current turn.
  // For the next round.
  ActuatorStatus status_;        // Including not_begun_.
  size_t reported_results_ = 0;  // The number of its results that the actuator has reported.
  std::vector<DeletionResult> not_begun_;
  // Whether the last status contained a deletion, or a deletion has begun since.
  bool may_be_under_way_ = false;
};

}  // namespace ebb

#endif  // EBB_LOOP_LOOP_H_
