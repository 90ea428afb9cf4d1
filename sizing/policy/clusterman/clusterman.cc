#include "sizing/policy/clusterman/clusterman.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace ebb {
namespace {

bool Holds(const std::optional<int64_t>& until_s, int64_t now_s) {
  return !until_s || now_s <= *until_s;
}

ClustermanDecision& Refuse(ClustermanDecision& decision, ClustermanRefusal refusal,
                           std::string subject = "") {
  decision.refusal = refusal;
  decision.subject = std::move(subject);
  decision.actions.clear();
  return decision;
}

bool IsStale(const ClustermanSignalOptions& options, const ClustermanSignalAnswer& answer,
             int64_t now_s) {
  // In doubles: the times and the period come from outside, and int64_t could overflow.
  return answer.at_s && static_cast<double>(now_s) - static_cast<double>(*answer.at_s) >
                            static_cast<double>(options.period_minutes) * 60;
}

// The request of one signal; absent if `refusal` is set.
std::optional<ClustermanRequest> Evaluate(const ClustermanSignalOptions& options, double margin,
                                          const ClustermanSignalAnswer& answer,
                                          const ClustermanPool& pool, int64_t now_s,
                                          ClustermanRefusal& refusal) {
  std::optional<ClustermanRequest> request;
  if (options.internal) {
    request =
        PendingPods(options.parameters, margin, pool.total, pool.allocated, pool.unschedulable);
  } else if (answer.failed) {
    refusal = ClustermanRefusal::kSignalFailed;
    return std::nullopt;
  } else if (IsStale(options, answer, now_s)) {
    refusal = ClustermanRefusal::kSignalStale;
    return std::nullopt;
  } else {
    request = answer.request;
  }
  for (const std::optional<double>& amount : *request) {
    if (amount && !std::isfinite(*amount)) {
      refusal = ClustermanRefusal::kSignalNotFinite;
      return std::nullopt;
    }
  }
  return request;
}

// Step 3: the pool's signal, or the default signal if the pool's failed.
ClustermanRefusal EvaluateSignals(const ClustermanOptions& options,
                                  const ClustermanObservation& observation,
                                  const ClustermanSetpoint& setpoint, int64_t now_s,
                                  ClustermanDecision& decision) {
  ClustermanRefusal refusal = ClustermanRefusal::kNone;
  decision.request = Evaluate(options.signal, setpoint.target_capacity_margin, observation.signal,
                              decision.pool, now_s, refusal);
  if (refusal != ClustermanRefusal::kSignalFailed) return refusal;
  // The default signal belongs to the service, and uses only the service's margin.
  decision.used_default_signal = true;
  refusal = ClustermanRefusal::kNone;
  decision.request =
      Evaluate(options.default_signal, options.service.target_capacity_margin.value_or(0),
               observation.default_signal, decision.pool, now_s, refusal);
  return refusal;
}

// Step 4: after a loss of nodes the pool may be kept from shrinking.
void GuardAgainstLoss(const ClustermanOptions& options, int64_t lost_nodes,
                      ClustermanDecision& decision) {
  decision.lost_nodes = lost_nodes;
  decision.no_scale_down = options.prevent_scale_down_after_capacity_loss &&
                           lost_nodes > options.instance_loss_threshold;
}

// Step 5.
ClustermanRefusal ComputeRequested(const ClustermanObservation& observation,
                                   const ClustermanSetpoint& setpoint, int64_t now_s,
                                   const ClustermanState& state, ClustermanDecision& decision) {
  decision.non_orphan_fulfilled_capacity =
      NonOrphanFulfilled(observation.groups, decision.pool.nodes);
  const std::optional<double> current = CurrentTarget(observation.groups);
  if (observation.groups.empty()) return ClustermanRefusal::kNoResourceGroups;
  if (!current) return ClustermanRefusal::kAllResourceGroupsStale;
  decision.target_before = *current;
  decision.target =
      ComputeClustermanTarget({.setpoint = setpoint,
                               .total = decision.pool.total,
                               .request = *decision.request,
                               .current = decision.target_before,
                               .non_orphan_fulfilled = decision.non_orphan_fulfilled_capacity,
                               .history = &state.history},
                              now_s);
  if (decision.target->rule == ClustermanTargetRule::kNoUsableResource) {
    return ClustermanRefusal::kNoUsableResource;
  }
  if (state.offset && Holds(state.offset->until_s, now_s)) {
    decision.offset = state.offset->capacity;
  }
  decision.asked = decision.target->capacity + decision.offset;
  return std::isfinite(*decision.asked) ? ClustermanRefusal::kNone
                                        : ClustermanRefusal::kTargetNotFinite;
}

// Step 6: instances that have run long enough to have joined the cluster, but have not joined.
void TerminateOrphans(const ClustermanOptions& options, const ClustermanObservation& observation,
                      ClustermanDecision& decision) {
  const auto threshold_s = static_cast<double>(options.orphan_instance_uptime_threshold_seconds);
  for (const ClustermanGroup& group : observation.groups) {
    ClustermanAction action{.kind = ClustermanActionKind::kTerminateOrphans, .group_id = group.id};
    for (size_t i = 0; i < decision.pool.nodes.size(); ++i) {
      const ClustermanNode& node = decision.pool.nodes[i];
      if (node.group_id != group.id || !node.is_running || node.is_cordoned) continue;
      if (node.state != ClustermanNodeState::kOrphaned || !(node.uptime_s > threshold_s)) continue;
      action.nodes.push_back(i);
    }
    if (!action.nodes.empty()) decision.actions.push_back(std::move(action));
  }
}

// Sets the size of every group whose target changes.
void SetCapacities(const ClustermanObservation& observation, ClustermanDecision& decision) {
  for (const ClustermanGroupTarget& target : decision.balance->targets) {
    const auto group =
        std::find_if(observation.groups.begin(), observation.groups.end(),
                     [&](const ClustermanGroup& g) { return g.id == target.group_id; });
    if (group->is_stale || group->target_capacity == target.target) continue;
    decision.actions.push_back({.kind = ClustermanActionKind::kSetCapacity,
                                .group_id = group->id,
                                .size = CloudSize(*group, target.target)});
  }
}

// Drains or terminates the marked nodes.
void Remove(const ClustermanOptions& options, ClustermanDecision& decision) {
  for (const ClustermanPrunedGroup& chosen : decision.prune->chosen) {
    if (!options.draining_enabled) {
      decision.actions.push_back({.kind = ClustermanActionKind::kTerminate,
                                  .group_id = chosen.group_id,
                                  .nodes = chosen.nodes});
      continue;
    }
    for (const size_t node : chosen.nodes) {
      decision.actions.push_back(
          {.kind = ClustermanActionKind::kDrain, .group_id = chosen.group_id, .nodes = {node}});
    }
  }
}

// Records the pool's present capacity and totals, for rounds in which the pool is empty.
void Remember(const ClustermanDecision& decision, int64_t now_s, ClustermanState& state) {
  const auto remember = [&](double value, std::vector<ClustermanPoint>& points) {
    if (value > 0) points.push_back({now_s, value});  // Other values never count.
  };
  remember(decision.non_orphan_fulfilled_capacity, state.history.non_orphan_fulfilled_capacity);
  for (size_t i = 0; i < kClustermanResourceCount; ++i) {
    remember(decision.pool.total[i], state.history.total[i]);
  }
  Forget(now_s, state.history);
}

}  // namespace

std::string_view Name(ClustermanRefusal refusal) {
  switch (refusal) {
    case ClustermanRefusal::kNone:
      return "";
    case ClustermanRefusal::kConfiguration:
      return "error in the configuration";
    case ClustermanRefusal::kPaused:
      return "paused";
    case ClustermanRefusal::kObservation:
      return "error in the observation";
    case ClustermanRefusal::kSignalFailed:
      return "the signals failed";
    case ClustermanRefusal::kSignalStale:
      return "the signal is older than its period";
    case ClustermanRefusal::kSignalNotFinite:
      return "the signal is not a finite number";
    case ClustermanRefusal::kNoResourceGroups:
      return "no resource groups";
    case ClustermanRefusal::kAllResourceGroupsStale:
      return "all resource groups are stale";
    case ClustermanRefusal::kNoUsableResource:
      return "every requested resource is excluded";
    case ClustermanRefusal::kTargetNotFinite:
      return "the target is not a finite number";
    case ClustermanRefusal::kTooManySteps:
      break;
  }
  return "too far from the target";
}

std::string_view Name(ClustermanActionKind kind) {
  switch (kind) {
    case ClustermanActionKind::kTerminateOrphans:
      return "terminate orphans";
    case ClustermanActionKind::kSetCapacity:
      return "set capacity";
    case ClustermanActionKind::kDrain:
      return "drain";
    case ClustermanActionKind::kTerminate:
      break;
  }
  return "terminate";
}

ClustermanDecision Decide(const ClustermanOptions& options,
                          const ClustermanObservation& observation, int64_t now_s,
                          ClustermanState* state) {
  EBB_DCHECK(state != nullptr);
  using enum ClustermanRefusal;
  ClustermanDecision decision;
  const std::vector<std::string> problems = Problems(options);
  if (!problems.empty()) return Refuse(decision, kConfiguration, problems.front());

  // 1. Paused.
  if (state->pause && Holds(state->pause->until_s, now_s)) return Refuse(decision, kPaused);

  // 2. The present nodes and pods.
  const std::string fault = Fault(observation);
  if (!fault.empty()) return Refuse(decision, kObservation, fault);
  decision.pool = ReadPool(options, observation);
  if (!std::all_of(decision.pool.total.begin(), decision.pool.total.end(),
                   [](double amount) { return std::isfinite(amount); })) {
    return Refuse(decision, kObservation, "nodes: the total is not a finite number");
  }
  const auto nodes = static_cast<int64_t>(observation.agents.size());
  const int64_t before = std::exchange(state->nodes_at_last_reload, nodes).value_or(nodes);

  // 3. to 5. The requested capacity.
  const ClustermanSetpoint setpoint = Effective(options.service, options.pool);
  ClustermanRefusal refusal = EvaluateSignals(options, observation, setpoint, now_s, decision);
  if (refusal != kNone) return Refuse(decision, refusal);
  GuardAgainstLoss(options, before > nodes ? before - nodes : 0, decision);
  refusal = ComputeRequested(observation, setpoint, now_s, *state, decision);
  Remember(decision, now_s, *state);
  if (refusal != kNone) return Refuse(decision, refusal);

  // 6. Orphans.  The steps below still count them.
  TerminateOrphans(options, observation, decision);

  // 7. Limits, groups, nodes.
  decision.constraint = Constrain(*decision.asked, decision.target_before, options.limits,
                                  {.no_scale_down = decision.no_scale_down});
  const double capacity = decision.constraint->capacity;
  decision.balance = Balance(observation.groups, capacity);
  if (decision.balance->outcome == ClustermanBalance::Outcome::kTooManySteps) {
    return Refuse(decision, kTooManySteps);
  }
  SetCapacities(observation, decision);
  decision.prune = Prune(observation.groups, decision.pool.nodes,
                         {.limits = options.limits,
                          .killable_nodes_prioritizing_v2 = options.killable_nodes_prioritizing_v2},
                         decision.balance->targets, capacity);
  Remove(options, decision);
  if (options.dry_run) decision.actions.clear();
  return decision;
}

}  // namespace ebb
