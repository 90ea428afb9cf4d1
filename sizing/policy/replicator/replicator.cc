#include "sizing/policy/replicator/replicator.h"

#include <algorithm>
#include <utility>

namespace ebb {
namespace {

using Reason = ReplicatorReason;

// The failures have reached the threshold: puts the pool into failsafe and fills the notice.
void EnterFailsafe(const ReplicatorOptions& options, bool notifiers, int64_t now_ms,
                   ReplicatorState* state, ReplicatorDecision* decision) {
  state->failsafe = true;
  if (notifiers) state->last_notification_ms = now_ms;
  decision->notice = ReplicatorNotice{.alert_uid = options.replicator_notification_uid,
                                      .resource_id = options.replicator_worker_pool};
}

// Steps 1 and 2: the reason why the round ends before the figures, if there is one.
std::optional<Reason> NothingToDecide(const ReplicatorOptions& options,
                                      const ReplicatorObservation& observation, int64_t now_ms,
                                      ReplicatorState* state, ReplicatorDecision* decision) {
  if (state->failsafe) return Reason::kFailsafe;
  if (state->operation) {
    using Outcome = ReplicatorOperation::Outcome;
    if (state->operation->outcome == Outcome::kRunning) return Reason::kOperationRunning;
    state->operation.reset();
  }
  if (state->failure_count >= options.replicator_retry_threshold) {
    EnterFailsafe(options, observation.notifiers, now_ms, state, decision);
    return Reason::kFailsafeEntered;
  }
  if (!observation.readable) return Reason::kUnreadable;
  if (observation.nodes.empty()) return Reason::kNoNodes;
  return std::nullopt;
}

// The number of nodes that a scale-out adds: the scale factor, limited by both bounds.
int64_t Room(const ReplicatorOptions& options, const ReplicatorGroup& group) {
  const int64_t max = std::min(group.max, options.replicator_max.value_or(group.max));
  return std::min(options.replicator_scale_factor, SaturatedSubtract(max, group.desired));
}

void CheckGroup(const ReplicatorFigures& figures, const ReplicatorGroup& group,
                std::vector<Reason>* denied_by) {
  if (figures.nodes != group.desired) denied_by->push_back(Reason::kProviderCountMismatch);
  if (figures.direction == ReplicatorDirection::kIn) {
    if (SaturatedSubtract(group.desired, 1) < group.min) denied_by->push_back(Reason::kProviderMin);
  } else {
    if (SaturatedAdd(group.desired, 1) > group.max) denied_by->push_back(Reason::kProviderMax);
  }
}

void CheckPool(const ReplicatorOptions& options, const ReplicatorFigures& figures,
               std::vector<Reason>* denied_by) {
  const int64_t nodes = figures.nodes;
  if (figures.direction == ReplicatorDirection::kIn) {
    const std::optional<int64_t> min = options.replicator_min;
    if (min && (nodes <= 1 || nodes - 1 < *min)) denied_by->push_back(Reason::kPoolMin);
  } else {
    const std::optional<int64_t> max = options.replicator_max;
    if (max && nodes + 1 > *max) denied_by->push_back(Reason::kPoolMax);
    if (options.replicator_scale_factor < 1) denied_by->push_back(Reason::kScaleFactor);
  }
}

bool InCooldown(const ReplicatorOptions& options, const ReplicatorState& state, int64_t now_ms) {
  if (!state.last_event_ms) return false;
  const int64_t cooldown_ms = SaturatedMultiply(options.replicator_cooldown, 1000);
  return now_ms < SaturatedAdd(*state.last_event_ms, cooldown_ms);
}

// Steps 4 to 7: these checks change nothing, so all that deny are reported.
std::vector<Reason> Denials(const ReplicatorOptions& options,
                            const ReplicatorObservation& observation,
                            const ReplicatorFigures& figures, const ReplicatorState& state,
                            int64_t now_ms) {
  std::vector<Reason> denied_by;
  if (figures.direction == ReplicatorDirection::kIn && SimulationDenies(figures)) {
    denied_by.push_back(Reason::kSimulation);
  }
  if (observation.group) {
    CheckGroup(figures, *observation.group, &denied_by);
  } else {
    denied_by.push_back(Reason::kProviderUnreadable);
  }
  CheckPool(options, figures, &denied_by);
  if (InCooldown(options, state, now_ms)) denied_by.push_back(Reason::kCooldown);
  return denied_by;
}

// Counts this round; true if enough rounds in a row have asked.  The count of a direction returns
// to 0 when the other direction is counted, and when it is high enough.
bool RequestedOften(const ReplicatorOptions& options, ReplicatorDirection direction,
                    ReplicatorState* state, int64_t* requests) {
  const bool in = direction == ReplicatorDirection::kIn;
  int64_t& own = in ? state->scale_in_requests : state->scale_out_requests;
  int64_t& other = in ? state->scale_out_requests : state->scale_in_requests;
  own = SaturatedAdd(own, 1);
  other = 0;
  *requests = own;
  if (own < options.replicator_scaling_threshold) return false;
  own = 0;
  return true;
}

void ScaleIn(const ReplicatorObservation& observation, ReplicatorDecision* decision) {
  const std::optional<size_t> least =
      LeastAllocated(*decision->figures, observation.protected_node);
  if (!least || observation.nodes[*least].address.empty()) {
    decision->reason = Reason::kNoNode;
    return;
  }
  decision->reason = Reason::kScaleIn;
  decision->delta = -1;
  decision->node = observation.nodes[*least].id;
  decision->address = observation.nodes[*least].address;
}

}  // namespace

ReplicatorDecision Decide(const ReplicatorOptions& options,
                          const ReplicatorObservation& observation, int64_t now_ms,
                          ReplicatorState* state) {
  ReplicatorDecision decision;
  if (observation.group) decision.target = observation.group->desired;

  // 1., 2. Whether the round can go on.
  if (const std::optional<Reason> nothing =
          NothingToDecide(options, observation, now_ms, state, &decision)) {
    decision.reason = *nothing;
    return decision;
  }

  // 3. Figures.
  decision.figures =
      Figures(observation.nodes, observation.jobs, options.replicator_node_fault_tolerance);

  // 4. to 7. Whether the operation is allowed.
  decision.denied_by = Denials(options, observation, *decision.figures, *state, now_ms);
  if (!decision.denied_by.empty()) {
    decision.reason = decision.denied_by.front();
    return decision;
  }

  // 8. Whether enough rounds in a row have asked for it.
  const ReplicatorDirection direction = decision.figures->direction;
  if (!RequestedOften(options, direction, state, &decision.requests)) {
    decision.reason = Reason::kScalingThreshold;
    return decision;
  }

  // 9. The action.
  if (direction == ReplicatorDirection::kIn) {
    ScaleIn(observation, &decision);
  } else {
    decision.reason = Reason::kScaleOut;
    decision.delta = Room(options, *observation.group);
  }
  decision.target = SaturatedAdd(decision.target, decision.delta);
  return decision;
}

std::string_view Name(ReplicatorReason reason) {
  switch (reason) {
    case Reason::kScaleOut:
      return "ScaleOut";
    case Reason::kScaleIn:
      return "ScaleIn";
    case Reason::kFailsafe:
      return "Failsafe";
    case Reason::kFailsafeEntered:
      return "FailsafeEntered";
    case Reason::kOperationRunning:
      return "OperationRunning";
    case Reason::kUnreadable:
      return "Unreadable";
    case Reason::kNoNodes:
      return "NoNodes";
    case Reason::kSimulation:
      return "Simulation";
    case Reason::kProviderUnreadable:
      return "ProviderUnreadable";
    case Reason::kProviderCountMismatch:
      return "ProviderCountMismatch";
    case Reason::kProviderMin:
      return "ProviderMin";
    case Reason::kProviderMax:
      return "ProviderMax";
    case Reason::kPoolMin:
      return "PoolMin";
    case Reason::kPoolMax:
      return "PoolMax";
    case Reason::kScaleFactor:
      return "ScaleFactor";
    case Reason::kCooldown:
      return "Cooldown";
    case Reason::kScalingThreshold:
      return "ScalingThreshold";
    case Reason::kNoNode:
      return "NoNode";
  }
  return "";
}

}  // namespace ebb
