#include "engine/actuation/loop.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

std::vector<std::string> NamesOf(const Catalog& catalog, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.emplace_back(catalog.NodeName(node));
  return names;
}

}  // namespace

std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round) {
  absl::flat_hash_map<NodeId, const RemovableNode*> removable;
  for (const RemovableNode& node : round.plan.remove) removable.emplace(node.node, &node);
  std::vector<DeletionOrder> orders;
  const auto add = [&](const DeletionBucket& bucket, bool drain) {
    for (const NodeId node : bucket.nodes) {
      const NodeInfo& info = catalog.node(node);
      DeletionOrder order{.node = std::string(catalog.Text(info.name)),
                          .uid = std::string(catalog.Text(info.uid)),
                          .group = groups.groups[Index(bucket.group)].name,
                          .drain = drain,
                          .batch_size = bucket.batch_size};
      for (const Move& move : removable.at(node)->moves) {
        const PodInfo& pod = catalog.pod(move.pod);
        order.moves.push_back(
            {.namespace_name = std::string(catalog.Text(catalog.shape_of(move.pod).namespace_name)),
             .name = std::string(catalog.Text(pod.name)),
             .uid = std::string(catalog.Text(pod.key)),
             .to = std::string(catalog.NodeName(move.to))});
      }
      orders.push_back(std::move(order));
    }
  };
  for (const DeletionBucket& bucket : round.start.empty) add(bucket, false);
  for (const DeletionBucket& bucket : round.start.drain) add(bucket, true);
  return orders;
}

// What the next round is to know of the actuator.  False: it does not tell, and nothing may be
// decided without knowing what is under way.
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
  actuation_ = {};
  for (const RunningDeletion& deletion : status->running) {
    (deletion.drain ? actuation_.drained : actuation_.empty)
        .push_back({deletion.node, deletion.group});
  }
  actuation_.recent_evictions = std::move(status->recent_evictions);
  for (const DeletionResult& result : status->results) {
    ended_.push_back({result.node, result.ok});
    if (result.ok) continue;
    events_.push_back({ScaleEventKind::kFailedDeletion, result.group, result.at_s});
    turn.log.push_back(absl::StrCat("node ", result.node, " stays: ", result.why));
  }
  actuator_.Acknowledge(status->results.size());
  // Results of turns that could not observe are the sizer's too.
  if (options_.sizer == nullptr) return true;
  status_.running = std::move(status->running);
  status_.results.insert(status_.results.end(), status->results.begin(), status->results.end());
  return true;
}

// Nodes that a policy takes away are in deletion from here on.  False: there is no sizer.
bool Loop::SizePools(Observation& observed, LoopTurn& turn) {
  if (options_.sizer == nullptr) return false;
  sizing_.now_s = turn.now_s;
  options_.sizer->Decide(observed, status_, sizing_);
  status_.results.clear();
  for (const NodeInDeletion& node : sizing_.leave) actuation_.drained.push_back(node);
  return true;
}

void Loop::Begin(const std::vector<DeletionOrder>& orders, LoopTurn& turn) {
  if (orders.empty()) return;
  const absl::Status begun = actuator_.Begin(orders, turn.now_s);
  if (begun.ok()) {
    turn.begun = orders.size();
    return;
  }
  turn.log.push_back(absl::StrCat(orders.size(), " deletions could not begin: ", begun.message()));
  for (const DeletionOrder& order : orders) {
    ended_.push_back({order.node, false});
    events_.push_back({ScaleEventKind::kFailedDeletion, order.group, turn.now_s});
  }
}

void Loop::PutSoftTaints(const std::vector<std::string>& nodes, bool taint, LoopTurn& turn) {
  for (const std::string& node : nodes) {
    const absl::Status done = actuator_.SoftTaint(node, taint, turn.now_s);
    if (!done.ok()) turn.log.push_back(absl::StrCat("node ", node, ": ", done.message()));
  }
}

void Loop::MakeRound(Observation& observed, LoopTurn& turn) {
  const bool sized = SizePools(observed, turn);
  events_.insert(events_.end(), observed.events.begin(), observed.events.end());
  absl::StatusOr<RoundResult> round = scale_down_.Round(*observed.snapshot, observed.groups,
                                                        {.now_s = turn.now_s,
                                                         .actuation = &actuation_,
                                                         .events = events_,
                                                         .ended = ended_,
                                                         .pending = observed.pending});
  if (!round.ok()) {
    turn.log.push_back(absl::StrCat("no round: ", round.status().message()));
    return;
  }
  events_.clear();
  ended_.clear();
  turn.round = *std::move(round);
  if (options_.record != nullptr) {
    if (const absl::Status kept = options_.record(scale_down_, *turn.round); !kept.ok()) {
      turn.log.push_back(
          absl::StrCat("nothing begins, as the round was not recorded: ", kept.message()));
      return;
    }
  }
  // All by name first: the snapshot may change with the first of the calls.
  const Catalog& catalog = observed.snapshot->catalog();
  const std::vector<DeletionOrder> orders = OrdersOf(catalog, observed.groups, *turn.round);
  const std::vector<std::string> taint = NamesOf(catalog, turn.round->soft_taints.taint);
  const std::vector<std::string> untaint = NamesOf(catalog, turn.round->soft_taints.untaint);
  if (sized) options_.sizer->Act(actuator_, sizing_);
  Begin(orders, turn);
  PutSoftTaints(untaint, false, turn);
  PutSoftTaints(taint, true, turn);
}

void Loop::Turn(int64_t now_s) {
  LoopTurn turn;
  turn.now_s = now_s;
  if (TakeStatus(turn)) {
    absl::StatusOr<Observation> now = cluster_.Observe(now_s);
    if (now.ok()) {
      turn.nodes = now->snapshot->nodes();
      turn.pending = now->pending.size();
      MakeRound(*now, turn);
    } else {
      turn.log.push_back(absl::StrCat("no round: ", now.status().message()));
    }
  }
  turn.pools = std::move(sizing_.pools);
  for (std::string& line : sizing_.log) turn.log.push_back(std::move(line));
  sizing_ = {};
  if (options_.on_turn != nullptr) options_.on_turn(turn);
}

void Loop::Stop(LoopClock& clock) {
  const int64_t end_s = clock.NowS() + options_.stop_grace_s;
  while (true) {
    const int64_t now_s = clock.NowS();
    const absl::StatusOr<ActuatorStatus> status = actuator_.Status(now_s);
    if (status.ok()) {
      for (const RunningDeletion& deletion : status->running) {
        if (deletion.phase != DeletionPhase::kTainted) continue;
        // An error leaves the taint to the state's next reader, or to the next time around.
        (void)actuator_.RollBack(deletion.node, "the loop ends", now_s);
      }
      const absl::StatusOr<ActuatorStatus> left = actuator_.Status(now_s);
      if (left.ok() && left->running.empty()) return;
      if (left.ok()) (void)AdvanceDeletions(actuator_, *left, options_.steps, now_s);
    }
    if (now_s >= end_s) return;
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
