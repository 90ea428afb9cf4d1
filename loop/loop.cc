#include "loop/loop.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "loop/reported_deletions.h"

namespace ebb {
// Reads the actuator's status for the next round.  Returns false if the actuator does not report
// it: without knowing which deletions are in progress, the loop may not decide anything.
bool Loop::TakeStatus(LoopTurn& turn) {
  absl::StatusOr<ActuatorStatus> status = actuator_.Status(turn.now_s);
  if (status.ok()) {
    for (std::string& line : AdvanceDeletions(actuator_, *status, options_.steps, turn.now_s)) {
      turn.log.push_back(std::move(line));
    }
    status = actuator_.Status(turn.now_s);
  }
  if (!status.ok()) {
    turn.log.push_back(absl::StrCat("the actuator's status: ", status.status().message()));
    return false;
  }
  turn.in_deletion = status->running.size();
  may_be_under_way_ = !status->running.empty();
  status_ = *std::move(status);
  reported_results_ = status_.results.size();
  AddNotBegun(not_begun_, status_);
  return true;
}

// Lets the sizer decide.  Nodes that a policy removes count as in deletion from then on.  Returns
// false if there must be no round, because it would not know the decisions about pools.
bool Loop::SizePools(LoopTurn& turn) {
  sizing_.now_s = turn.now_s;
  const absl::StatusOr<Observation*> now = rounds_.Observe(turn.now_s);
  if (now.ok()) {
    options_.sizer->Decide(**now, status_, sizing_);
    return true;
  }
  turn.log.push_back(absl::StrCat("no round: ", now.status().message()));
  return false;
}

// The round is persisted, and the results with it: the actuator may drop them.
void Loop::Acknowledge(LoopTurn& turn) {
  for (size_t i = 0; i < reported_results_; ++i) {
    const DeletionResult& result = status_.results[i];
    if (!result.ok) turn.log.push_back(absl::StrCat("node ", result.node, " stays: ", result.why));
    turn.ended.push_back(result);
  }
  not_begun_.clear();
  actuator_.Acknowledge(reported_results_);
}

void Loop::Begin(const std::vector<DeletionOrder>& orders, LoopTurn& turn) {
  if (orders.empty()) return;
  may_be_under_way_ = true;  // Also if Begin fails: the answer may have been lost.
  const absl::Status begun = actuator_.Begin(orders, turn.now_s);
  if (begun.ok()) {
    turn.begun += orders.size();
    return;
  }
  turn.log.push_back(absl::StrCat(orders.size(), " deletions could not begin: ", begun.message()));
  for (const DeletionOrder& order : orders) {
    not_begun_.push_back({.node = order.node,
                          .group = order.group,
                          .ok = false,
                          .at_s = turn.now_s,
                          .why = std::string(begun.message())});
  }
}

void Loop::PutSoftTaints(const std::vector<std::string>& nodes, bool taint, LoopTurn& turn) {
  for (const std::string& node : nodes) {
    const absl::Status done = actuator_.SoftTaint(node, taint, turn.now_s);
    if (!done.ok()) turn.log.push_back(absl::StrCat("node ", node, ": ", done.message()));
  }
}

void Loop::MakeRound(LoopTurn& turn) {
  const bool sized = options_.sizer != nullptr;
  if (sized && !SizePools(turn)) return;
  ActuatorStatus report = status_;
  for (const NodeInDeletion& node : sizing_.leave) {
    report.running.push_back(
        {.node = node.name, .group = node.group, .drain = true, .since_s = turn.now_s});
  }
  std::vector<std::string> left_alone = sizing_.members;
  BuyingTurn buying;
  if (options_.buyer != nullptr) {
    buying = options_.buyer->Decide(actuator_, status_, turn.now_s);
    turn.log.insert(turn.log.end(), buying.log.begin(), buying.log.end());
    left_alone.insert(left_alone.end(), buying.left_alone.begin(), buying.left_alone.end());
    for (const DeletionOrder& order : buying.begin) {
      report.running.push_back(
          {.node = order.node, .group = order.group, .drain = order.drain, .since_s = turn.now_s});
    }
  }
  absl::StatusOr<RoundOrders> round = rounds_.Make(report, turn.now_s, left_alone);
  if (!round.ok()) {
    turn.log.push_back(absl::StrCat("no round: ", round.status().message()));
    return;
  }
  Acknowledge(turn);
  turn.log.insert(turn.log.end(), round->log.begin(), round->log.end());
  may_be_under_way_ |= !sizing_.leave.empty();
  if (sized) options_.sizer->Act(actuator_, sizing_);
  if (!buying.begin.empty()) {
    turn.log.push_back(absl::StrCat(
        "begins for the bought nodes: ",
        absl::StrJoin(buying.begin, ", ", [](std::string* to, const DeletionOrder& order) {
          to->append(order.node);
        })));
    options_.buyer->Begun();
    Begin(buying.begin, turn);
  }
  Begin(round->start, turn);
  PutSoftTaints(round->untaint, false, turn);
  PutSoftTaints(round->taint, true, turn);
  turn.round = *std::move(round);
}

void Loop::Turn(int64_t now_s) {
  LoopTurn turn;
  turn.now_s = now_s;
  if (TakeStatus(turn)) MakeRound(turn);
  turn.pools = std::move(sizing_.pools);
  for (std::string& line : sizing_.log) turn.log.push_back(std::move(line));
  sizing_ = {};
  if (options_.on_turn != nullptr) options_.on_turn(turn);
}

void Loop::Stop(LoopClock& clock) {
  const int64_t asked_s = clock.EndRequestedAtS();
  while (true) {
    const int64_t now_s = clock.NowS();
    const absl::StatusOr<ActuatorStatus> status = actuator_.Status(now_s);
    if (status.ok()) {
      may_be_under_way_ = !status->running.empty();
      for (const RunningDeletion& deletion : status->running) {
        if (deletion.phase != DeletionPhase::kTainted) continue;
        // If this fails, the taint is left to the next attempt, or to the process that continues
        // from the state.
        (void)actuator_.RollBack(deletion.node, "the loop ends", now_s);
      }
      const absl::StatusOr<ActuatorStatus> left = actuator_.Status(now_s);
      if (left.ok() && left->running.empty()) return;
      if (left.ok()) (void)AdvanceDeletions(actuator_, *left, options_.steps, now_s);
    }
    if (!may_be_under_way_) return;
    if (now_s >= std::min(asked_s, clock.EndRequestedAtS()) + options_.stop_grace_s) return;
    clock.WaitUntil(now_s + 1);
  }
}

void Loop::Run(LoopClock& clock) {
  do {
    Turn(clock.NowS());
  } while (clock.SleepUntil(clock.NowS() + options_.scan_interval_s));
  Stop(clock);
}

}  // namespace ebb
