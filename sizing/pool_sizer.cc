#include "sizing/pool_sizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "loop/loop.h"
#include "loop/shrink_plan.h"
#include "sizing/pool_round.h"

namespace ebb {

PoolSizer::PoolSizer(std::span<const SizedPool> pools, SizingState state, PoolSizerOptions options)
    : pools_(pools), options_(std::move(options)), queues_(&state_.queue, options_.retry_s) {
  Restore(std::move(state));
}

void PoolSizer::Restore(SizingState state) {
  state_ = std::move(state);
  for (const SizedPool& pool : pools_) Memory(pool);
  // Drops the queued nodes of pools that are no longer sized.  A deletion that has begun ends
  // anyway.
  std::erase_if(state_.queue, [&](const QueuedNode& node) { return PoolOf(node.pool) == nullptr; });
}

const SizedPool* PoolSizer::PoolOf(std::string_view name) const {
  const auto found = std::ranges::find(pools_, name, &SizedPool::name);
  return found == pools_.end() ? nullptr : &*found;
}

PoolState& PoolSizer::Memory(const SizedPool& pool) { return MemoryOf(pool, state_); }

bool PoolSizer::IsActing(const SizedPool& pool) {
  return Memory(pool).grow_to > 0 ||
         std::ranges::count(state_.queue, pool.name, &QueuedNode::pool) > 0;
}

void PoolSizer::FindMembers(const Observation& observed, const ActuatorStatus& status,
                            SizingTurn& turn) {
  running_.clear();
  for (const RunningDeletion& each : status.running) running_[each.node] = each.phase;
  members_ = FindPoolMembers(pools_, observed);
  for (const SizedPool& pool : pools_) {
    PoolMembers& members = members_[pool.name];
    // Requested machines count before they are nodes, even if the group's size is unknown.
    if (const int64_t asked = Memory(pool).grow_to; asked > 0) {
      members.target = std::max(asked + members.elsewhere, members.target.value_or(0));
    }
    const std::string warning = WarningOf(pool, members);
    if (std::exchange(last_warned_[pool.name], warning) != warning && !warning.empty()) {
      turn.log.push_back(fmt::format("pool {}: {}", pool.name, warning));
    }
  }
}

// The number of nodes that are in no queue and in no deletion.
int64_t PoolSizer::Staying(const PoolMembers& members, const Catalog& catalog) const {
  return std::ranges::count_if(members.nodes,
                               [&](NodeId node) { return !IsLeaving(catalog.NodeName(node)); });
}

// --- Steps --------------------------------------------------------------------------

// Takes the pool's nodes out of the drain queue if their deletion has not begun.  Returns how many.
int64_t PoolSizer::DropQueued(const SizedPool& pool) {
  return static_cast<int64_t>(std::erase_if(state_.queue, [&](const QueuedNode& node) {
    return node.pool == pool.name && node.queue == NodeQueue::kDrain &&
           !running_.contains(node.node);
  }));
}

void PoolSizer::EnterFailsafe(const SizedPool& pool, const std::string& why, SizingTurn& turn) {
  PoolState& memory = Memory(pool);
  memory.failsafe = true;
  memory.grow_to = memory.grow_by = 0;
  DropQueued(pool);
  const std::string text = fmt::format(
      "pool {} is in failsafe: {}; nothing is done until an operator ends it", pool.name, why);
  turn.log.push_back(text);
  if (options_.notify != nullptr) {
    options_.notify({.pool = pool.name, .event = "failsafe", .text = text, .at_s = turn.now_s});
  }
}

void PoolSizer::Failed(const SizedPool& pool, const std::string& what, SizingTurn& turn) {
  PoolState& memory = Memory(pool);
  ++memory.failures;
  turn.log.push_back(fmt::format("pool {}: {}", pool.name, what));
  if (pool.policy->OneActionAtATime()) pool.policy->Ended(false, turn.now_s, &memory.state);
  if (pool.retries > 0 && memory.failures >= pool.retries && !memory.failsafe) {
    EnterFailsafe(
        pool,
        fmt::format("{} in a row, the last: {}",
                    Count(static_cast<uint64_t>(memory.failures), "failure", "failures"), what),
        turn);
  }
}

// Call it when the last step of an action is done.
void PoolSizer::Succeeded(const SizedPool& pool, int64_t now_s) {
  PoolState& memory = Memory(pool);
  memory.failures = 0;
  if (pool.policy->OneActionAtATime() && !IsActing(pool)) {
    pool.policy->Ended(true, now_s, &memory.state);
  }
}

void PoolSizer::WorkQueues(const Observation& observed, const ActuatorStatus& status,
                           SizingTurn& turn) {
  const ClusterSnapshot& snapshot = *observed.snapshot;
  const auto there = [&](const QueuedNode& node) {
    const absl::StatusOr<NodeId> id = snapshot.catalog().FindNode(node.node);
    if (!id.ok() || !snapshot.Contains(*id)) return false;
    const NodeInfo& info = snapshot.catalog().node(*id);
    return node.uid.empty() || snapshot.catalog().Text(info.uid) == node.uid;
  };
  const auto timeout_s = [&](const std::string& name) {
    const SizedPool* const pool = PoolOf(name);
    return pool == nullptr ? SizedPool().step_timeout_s : pool->step_timeout_s;
  };
  for (const QueueEvent& event : queues_.Work(status, there, timeout_s, turn.now_s)) {
    const SizedPool* const pool = PoolOf(event.pool);
    if (pool == nullptr) continue;  // The pool is no longer sized.
    using enum QueueEvent::Kind;
    if (event.kind == kGone) Succeeded(*pool, turn.now_s);
    if (event.kind == kFailed) {
      Failed(*pool, fmt::format("node {} stays: {}", event.node, event.why), turn);
    }
    if (event.kind == kGivenUp) {
      turn.log.push_back(
          fmt::format("pool {}: node {} stays: its pods find no places", pool->name, event.node));
    }
  }
}

// The number of machines that have come since the group was asked for machines.
int64_t PoolSizer::Came(const SizedPool& pool, const Catalog& catalog) {
  const int64_t since_s = Memory(pool).grow_since_s;
  return std::ranges::count_if(members_[pool.name].nodes, [&](NodeId node) {
    return catalog.node(node).creation_time >= since_s;
  });
}

// Checks whether requested machines have come, or are overdue.
void PoolSizer::CheckGrowth(const Observation& observed, SizingTurn& turn) {
  for (const SizedPool& pool : pools_) {
    PoolState& memory = Memory(pool);
    if (memory.grow_to == 0) continue;
    const int64_t came = Came(pool, observed.snapshot->catalog());
    if (came >= memory.grow_by || (options_.trust_growth && asked_.contains(pool.name))) {
      memory.grow_to = memory.grow_by = 0;
      asked_.erase(pool.name);
      Succeeded(pool, turn.now_s);
    } else if (turn.now_s - memory.grow_since_s > pool.step_timeout_s) {
      memory.grow_by -= came;
      memory.grow_since_s = turn.now_s;
      asked_.erase(pool.name);
      Failed(pool, fmt::format("{} of the machines asked for did not come", memory.grow_by), turn);
    }
  }
}

// --- Policies -------------------------------------------------------------------------

// Keeps at most `most` queued nodes whose pods have not been touched, the newest first.  Returns
// how many it keeps.
int64_t PoolSizer::KeepQueued(const SizedPool& pool, int64_t most) {
  std::vector<std::string> keep;
  for (auto node = state_.queue.rbegin(); node != state_.queue.rend(); ++node) {
    if (std::ssize(keep) >= most) break;
    if (node->pool != pool.name || node->queue != NodeQueue::kDrain) continue;
    const auto running = running_.find(node->node);
    if (running != running_.end() && running->second != DeletionPhase::kTainted) continue;
    if (running != running_.end()) roll_back_.push_back(node->node);
    keep.push_back(node->node);
  }
  for (const std::string& node : keep) queues_.Remove(node);
  return std::ssize(keep);
}

void PoolSizer::Grow(const Observation& observed, const SizedPool& pool, PoolTurn& came,
                     SizingTurn& turn) {
  PoolState& memory = Memory(pool);
  const PoolMembers& members = members_[pool.name];
  const int64_t delta = came.delta - std::ssize(came.untaint);
  const int64_t kept = KeepQueued(pool, delta);
  // Ends the action without asking for machines: it only kept nodes.
  const auto end = [&](bool succeeded) {
    if (!pool.policy->OneActionAtATime()) {
      pool.policy->Ended(succeeded, turn.now_s, &memory.state);
    } else if (kept > 0) {
      Succeeded(pool, turn.now_s);
    }
  };
  if (kept >= delta) return end(true);  // The kept nodes are enough.
  if (!members.others.empty()) {
    came.denied_by = fmt::format("group {} is shared with {}", members.group, members.others);
    return end(kept > 0);
  }
  const int64_t have = members.target.value_or(std::ssize(members.nodes));
  const int64_t to = std::min(have + delta - kept, std::max(pool.cloud.max, have));
  if (to <= have) {
    if (kept == 0 && came.untaint.empty()) came.denied_by = "cloud.max";
    return end(true);
  }
  // Machines that are still to come from the last request are added to this one.
  if (memory.grow_to > 0) memory.grow_by -= Came(pool, observed.snapshot->catalog());
  memory.grow_to = to - members.elsewhere;
  memory.grow_by += to - have;
  memory.grow_since_s = turn.now_s;
  asked_.erase(pool.name);
  grow_[pool.name] = to - have;
  came.grow_to = memory.grow_to;
  came.grow_by = to - have;
}

// Queues the decision's taints, for Act to set or remove.
void PoolSizer::SetTaints(const SizedPool& pool, const PolicyDecision& decision, PoolTurn& came,
                          SizingTurn& turn) {
  for (const PolicyTaint& taint : decision.taints) {
    if (cannot_taint_) {
      turn.log.push_back(fmt::format("pool {}: node {}: taint {} is not {}: the actuator cannot",
                                     pool.name, taint.node, taint.key,
                                     taint.put ? "set" : "taken off"));
      continue;
    }
    (taint.put ? came.taint : came.untaint).push_back(taint.node);
    node_actions_.push_back({.pool = &pool, .taint = taint});
  }
}

// Asks for nodes to remove: first the nodes that the policy removes in any case, then the nodes of
// its delta.  `at`: the index that the PoolTurn will have.
void PoolSizer::RequestRemovals(const SizedPool& pool, PolicyDecision decision, int64_t staying,
                                PoolTurn& came, size_t at) {
  int64_t room = staying - pool.cloud.min;
  const int64_t removed =
      std::min<int64_t>(std::ssize(decision.remove), std::max<int64_t>(room, 0));
  if (removed < std::ssize(decision.remove)) came.denied_by = "cloud.min";
  if (removed > 0) {
    asks_.push_back(
        {.pool = &pool, .most = removed, .candidates = decision.remove, .turn = at, .reap = true});
    room -= removed;
  }
  if (decision.delta >= 0) return;
  const int64_t most = std::min(-decision.delta, room);
  if (most <= 0) {
    came.denied_by = "cloud.min";
    return;
  }
  if (decision.candidates) {
    std::erase_if(*decision.candidates, [&](const std::string& node) {
      return std::ranges::find(decision.remove, node) != decision.remove.end();
    });
  }
  asks_.push_back(
      {.pool = &pool, .most = most, .candidates = std::move(decision.candidates), .turn = at});
}

void PoolSizer::DecideOne(const Observation& observed, const SizedPool& pool,
                          const PoolReader& reader, SizingTurn& turn) {
  const PoolMembers& members = members_[pool.name];
  const int64_t staying = Staying(members, observed.snapshot->catalog());
  PolicyObservation seen = reader.Observe(pool);
  if (members.target) seen.cloud->desired = *members.target;
  for (PolicyNode& node : seen.nodes) node.is_leaving = IsLeaving(node.name);
  if (options_.enrich != nullptr) {
    if (const absl::Status s = options_.enrich(pool, turn.now_s, seen); !s.ok()) {
      turn.log.push_back(absl::StrCat("pool ", pool.name, " stays: ", s.message()));
      return;
    }
  }
  PoolState& memory = Memory(pool);
  const bool was_failsafe = memory.failsafe;
  PolicyDecision decision = DecidePool(pool, seen, turn.now_s, memory);
  PoolTurn came{.pool = pool.name,
                .policy = pool.policy_name,
                .nodes = staying,
                .delta = decision.delta,
                .group = members.group,
                .reason = decision.reason,
                .denied_by = decision.denied_by};
  if (memory.failsafe && !was_failsafe) EnterFailsafe(pool, decision.reason, turn);
  came.failsafe = memory.failsafe;
  const std::string told = fmt::format("{}", fmt::join(decision.warnings, "; "));
  if (std::exchange(last_policy_warnings_[pool.name], told) != told && !told.empty()) {
    turn.log.push_back(fmt::format("pool {}: {}", pool.name, told));
  }
  SetTaints(pool, decision, came, turn);
  if (decision.delta > 0) Grow(observed, pool, came, turn);
  RequestRemovals(pool, std::move(decision), staying, came, turn.pools.size());
  turn.pools.push_back(std::move(came));
}

// Drops the pool's queued nodes, because another pool has some of the same nodes.
void PoolSizer::LeaveOverlapping(const SizedPool& pool, bool is_due, const Catalog& catalog,
                                 SizingTurn& turn) {
  const PoolMembers& members = members_[pool.name];
  PoolState& memory = Memory(pool);
  if (DropQueued(pool) > 0 && pool.policy->OneActionAtATime() && !IsActing(pool)) {
    pool.policy->Ended(false, turn.now_s, &memory.state);
  }
  if (!is_due) return;
  memory.at_s = turn.now_s;
  turn.pools.push_back({.pool = pool.name,
                        .policy = pool.policy_name,
                        .nodes = Staying(members, catalog),
                        .group = members.group,
                        .reason = "overlap",
                        .denied_by = members.overlap,
                        .failsafe = memory.failsafe});
}

void PoolSizer::DecideDue(const Observation& observed, SizingTurn& turn) {
  std::vector<const SizedPool*> due;
  for (const SizedPool& pool : pools_) {
    const PoolState& memory = Memory(pool);
    const bool is_due = memory.at_s == 0 || turn.now_s - memory.at_s >= pool.period_s;
    if (!members_[pool.name].overlap.empty()) {
      LeaveOverlapping(pool, is_due, observed.snapshot->catalog(), turn);
    } else if (is_due && !(pool.policy->OneActionAtATime() && IsActing(pool))) {
      due.push_back(&pool);
    }
  }
  if (due.empty()) return;
  if (observed.objects == nullptr) {
    turn.log.emplace_back("no pool is sized: this cluster does not show its objects");
    return;
  }
  PoolReader reader;
  if (const absl::Status read = observed.objects(reader); !read.ok()) {
    turn.log.push_back(absl::StrCat("no pool is sized: ", read.message()));
    return;
  }
  for (const SizedPool* pool : due) DecideOne(observed, *pool, reader, turn);
}

// --- Which nodes can go ---------------------------------------------------------------

std::vector<NodeId> PoolSizer::Candidates(const Observation& observed, const Ask& ask) const {
  const Catalog& catalog = observed.snapshot->catalog();
  std::vector<NodeId> candidates;
  const auto add = [&](NodeId node) {
    if (!IsLeaving(catalog.NodeName(node))) candidates.push_back(node);
  };
  if (!ask.candidates) {
    for (const NodeId node : members_.find(ask.pool->name)->second.nodes) add(node);
    return candidates;
  }
  for (const std::string& name : *ask.candidates) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (node.ok() && observed.snapshot->Contains(*node)) add(*node);
  }
  return candidates;
}

void PoolSizer::BeginWithinBudgets(const std::vector<DeletionOrder>& orders,
                                   const ActuatorStatus& status, SizingTurn& turn) {
  auto drains = std::ranges::count(status.running, true, &RunningDeletion::drain);
  auto all = std::ssize(status.running);
  for (const DeletionOrder& order : orders) {
    if (all >= options_.budgets.max_scale_down_parallelism) break;
    if (order.drain && drains >= options_.budgets.max_drain_parallelism) continue;
    ++all;
    drains += order.drain ? 1 : 0;
    begin_.push_back(order);
    turn.leave.push_back({order.node, order.group});
  }
}

namespace {

// ": NoPlaceToMovePods (default/web-1)", or "".
std::string WhyOf(const ShrinkPlan& plan, const std::string& node) {
  const auto denied = std::ranges::find(plan.denied, node, &ShrinkDenied::node);
  return denied == plan.denied.end() ? "" : ": " + denied->reason;
}

}  // namespace

void PoolSizer::PlanRemovals(const Observation& observed, const ActuatorStatus& status,
                             SizingTurn& turn) {
  const Catalog& catalog = observed.snapshot->catalog();
  const auto find = [&](const std::string& name) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    return node.ok() ? *node : kNoNode;
  };
  std::vector<ShrinkAsk> asks;
  ShrinkAsk queued{.name = "", .candidates = {}};
  for (const QueuedNode& node : queues_.Due(status, turn.now_s)) {
    if (find(node.node) != kNoNode) queued.candidates.push_back(find(node.node));
  }
  queued.most = std::ssize(queued.candidates);
  asks.push_back(std::move(queued));
  for (const Ask& ask : asks_) {
    asks.push_back({.name = ask.reap ? ask.pool->name + " (tainted)" : ask.pool->name,
                    .most = ask.most,
                    .candidates = Candidates(observed, ask),
                    .planners_order = !ask.reap && (ask.pool->planners_order || !ask.candidates)});
  }
  std::vector<NodeId> leaving;
  for (const auto& [name, phase] : running_) {
    if (find(name) != kNoNode) leaving.push_back(find(name));
  }
  const absl::StatusOr<ShrinkPlan> plan =
      PlanShrink(observed, leaving, asks, options_.planner, turn.now_s);
  if (!plan.ok()) {
    turn.log.push_back(absl::StrCat("no node of a pool goes: ", plan.status().message()));
    return;
  }
  for (const Ask& ask : asks_) {
    PoolTurn& came = turn.pools[ask.turn];
    const std::vector<NodeId> nodes = Candidates(observed, ask);
    int64_t added = 0;
    for (const DeletionOrder& order : plan->orders) {
      if (std::ranges::find(nodes, find(order.node)) == nodes.end()) continue;
      if (!queues_.Add({.node = order.node, .uid = order.uid, .pool = ask.pool->name},
                       turn.now_s)) {
        continue;
      }
      ++added;
      if (ask.reap) came.reap.push_back(order.node);
    }
    came.leaving += added;
    if (ask.reap) {
      for (const std::string& node : *ask.candidates) {
        if (std::ranges::find(came.reap, node) != came.reap.end()) continue;
        turn.log.push_back(fmt::format("pool {}: tainted node {} stays{}", ask.pool->name, node,
                                       WhyOf(*plan, node)));
      }
      continue;
    }
    PoolState& memory = Memory(*ask.pool);
    if (added == 0) {
      came.denied_by = "no node can go";
    } else if (!ask.pool->policy->OneActionAtATime()) {
      ask.pool->policy->Ended(true, turn.now_s, &memory.state);
    }
  }
  BeginWithinBudgets(plan->orders, status, turn);
}

void PoolSizer::ExcludePoolGroups(Observation& observed, SizingTurn& turn) const {
  NodeGroups& groups = observed.groups;
  for (const auto& [pool, members] : members_) {
    for (const NodeId node : members.nodes) {
      turn.members.emplace_back(observed.snapshot->catalog().NodeName(node));
      const GroupId group = groups.Of(node);
      if (group != kNoGroup) {
        groups.groups[Index(group)].min_size = groups.groups[Index(group)].target_size;
      }
    }
  }
}

void PoolSizer::Decide(Observation& observed, const ActuatorStatus& status, SizingTurn& turn) {
  asks_.clear();
  begin_.clear();
  roll_back_.clear();
  node_actions_.clear();
  grow_.clear();
  FindMembers(observed, status, turn);
  WorkQueues(observed, status, turn);
  CheckGrowth(observed, turn);
  DecideDue(observed, turn);
  PlanRemovals(observed, status, turn);
  ExcludePoolGroups(observed, turn);
}

// --- Acting ---------------------------------------------------------------------------

void PoolSizer::BeginQueued(Actuator& actuator, SizingTurn& turn) {
  for (const std::string& node : roll_back_) {
    const absl::Status done = actuator.RollBack(node, "its pool is to grow", turn.now_s);
    if (!done.ok()) turn.log.push_back(absl::StrCat("node ", node, ": ", done.message()));
  }
  // One by one: if one node cannot be tainted, the others still go.
  for (const DeletionOrder& order : begin_) {
    const QueuedNode* const queued = queues_.Find(order.node);
    if (queued == nullptr) continue;
    const absl::Status begun = actuator.Begin({&order, 1}, turn.now_s);
    if (begun.ok() || absl::IsNotFound(begun)) continue;  // Not found: the next turn sees it.
    const SizedPool* const pool = PoolOf(queued->pool);
    queues_.Failed(order.node, turn.now_s);
    if (pool != nullptr) {
      Failed(*pool, absl::StrCat("node ", order.node, " stays: ", begun.message()), turn);
    }
  }
}

// The group has refused the last request.  Machines of earlier requests are still to come.
void PoolSizer::Refused(const SizedPool& pool) {
  PoolState& memory = Memory(pool);
  const auto more = grow_.find(pool.name);
  const int64_t refused = more == grow_.end() ? memory.grow_by : more->second;
  memory.grow_to -= refused;
  memory.grow_by -= refused;
  if (memory.grow_by <= 0) {
    memory.grow_to = memory.grow_by = 0;
  } else {
    asked_.insert(pool.name);
  }
}

void PoolSizer::AskForMachines(Actuator& actuator, SizingTurn& turn) {
  for (const SizedPool& pool : pools_) {
    PoolState& memory = Memory(pool);
    if (memory.grow_to == 0 || memory.failsafe || asked_.contains(pool.name)) continue;
    const PoolMembers& members = members_[pool.name];
    // A request from before a restart waits until the group is the pool's alone again.
    if (!members.others.empty() || !members.overlap.empty()) continue;
    const std::string& group = members.group;
    absl::Status asked =
        absl::FailedPreconditionError("its group is unknown; set `group` of the pool");
    if (!group.empty()) asked = actuator.Grow(group, memory.grow_to, turn.now_s);
    const bool tells = grow_.contains(pool.name) && !pool.policy->OneActionAtATime();
    if (tells) pool.policy->Ended(asked.ok(), turn.now_s, &memory.state);
    if (asked.ok()) {
      asked_.insert(pool.name);
      continue;
    }
    Refused(pool);
    Failed(pool, absl::StrCat("it cannot grow: ", asked.message()), turn);
  }
}

void PoolSizer::PutTaints(Actuator& actuator, SizingTurn& turn) {
  for (const NodeAction& action : node_actions_) {
    const PolicyTaint& taint = action.taint;
    const absl::Status done =
        actuator.Taint(taint.node, {.key = taint.key, .value = taint.value, .effect = taint.effect},
                       taint.put, turn.now_s);
    if (done.ok() || absl::IsNotFound(done)) continue;  // Not found: the next turn sees it.
    cannot_taint_ = cannot_taint_ || absl::IsUnimplemented(done);
    turn.log.push_back(fmt::format("pool {}: taint {} is not {}: {}", action.pool->name, taint.key,
                                   taint.put ? "set" : "taken off", std::string(done.message())));
  }
}

void PoolSizer::Act(Actuator& actuator, SizingTurn& turn) {
  PutTaints(actuator, turn);
  BeginQueued(actuator, turn);
  AskForMachines(actuator, turn);
}

}  // namespace ebb
