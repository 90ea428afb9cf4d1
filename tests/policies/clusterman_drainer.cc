#include "tests/policies/clusterman_drainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace ebb {
namespace {

// For this long after a message about an instance, further messages about it are duplicates.
constexpr int64_t kDrainingSeconds = 1800;

// now + delay, saturated: both numbers come from outside.
int64_t After(int64_t now_s, int64_t delay_s) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(now_s, delay_s, &sum)) return sum;
  return delay_s > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

void Put(const ClustermanHost& host, int64_t now_s, int64_t delay_s, ClustermanQueue& queue) {
  queue.messages.push_back({queue.next_id++, After(now_s, delay_s), host});
}

// The work of one tick.
class Tick {
 public:
  Tick(const ClustermanDrainOptions& options, int64_t now_s, ClustermanDrainBackend& backend,
       ClustermanDrainState& state)
      : options_(options), now_s_(now_s), backend_(backend), state_(state) {}

  ClustermanTick Run() {
    std::erase_if(state_.draining_until_s,
                  [&](const auto& entry) { return now_s_ > entry.second; });
    ProcessWarning();
    ProcessDrain();
    ProcessTermination();
    return std::move(tick_);
  }

 private:
  ClustermanQueue& Queue(ClustermanQueueName name) {
    switch (name) {
      case ClustermanQueueName::kWarning:
        return state_.warnings;
      case ClustermanQueueName::kDrain:
        return state_.drains;
      case ClustermanQueueName::kTermination:
        break;
    }
    return state_.terminations;
  }

  // Returns the oldest visible message, and hides it.
  std::optional<ClustermanMessage> Take(ClustermanQueueName name) {
    for (ClustermanMessage& message : Queue(name).messages) {
      if (message.visible_at_s > now_s_) continue;
      tick_.had_message = true;
      message.visible_at_s = After(now_s_, options_.visibility_timeout_seconds);
      return message;
    }
    return std::nullopt;
  }

  void Delete(ClustermanQueueName name, const ClustermanMessage& message) {
    std::erase_if(Queue(name).messages, [&](const auto& m) { return m.id == message.id; });
    tick_.events.push_back({.kind = ClustermanDrainEventKind::kDelete,
                            .subject = message.host.instance_id,
                            .queue = name});
  }

  void SendToDrain(ClustermanHost host, int64_t delay_s, int64_t attempt) {
    host.attempt = attempt;
    Put(host, now_s_, delay_s, state_.drains);
    tick_.events.push_back({.kind = ClustermanDrainEventKind::kSend,
                            .subject = host.instance_id,
                            .queue = ClustermanQueueName::kDrain,
                            .delay_s = delay_s,
                            .attempt = attempt});
  }

  void SendToTermination(ClustermanHost host, int64_t delay_s) {
    host.attempt = 1;  // Only drains count attempts.
    Put(host, now_s_, delay_s, state_.terminations);
    tick_.events.push_back({.kind = ClustermanDrainEventKind::kSend,
                            .subject = host.instance_id,
                            .queue = ClustermanQueueName::kTermination,
                            .delay_s = delay_s});
  }

  ClustermanPoolDraining Draining(const std::string& pool) const {
    const auto it = options_.pools.find(pool);
    return it == options_.pools.end() ? ClustermanPoolDraining{} : it->second;
  }

  // A spot notice: drains its instance if the instance belongs to this cluster.
  void ProcessWarning() {
    const std::optional<ClustermanMessage> message = Take(ClustermanQueueName::kWarning);
    if (!message) return;
    std::optional<ClustermanHost> host = backend_.FindHost(message->host.instance_id);
    if (host && Draining(host->pool).process_spot_warnings && backend_.KnowsGroup(host->group_id)) {
      host->instance_id = message->host.instance_id;
      host->reason = ClustermanTermination::kSpotInterruption;
      host->draining_start_s = now_s_;
      SendToDrain(*std::move(host), 0, 1);
    }
    Delete(ClustermanQueueName::kWarning, *message);
  }

  void ProcessDrain() {
    const std::optional<ClustermanMessage> message = Take(ClustermanQueueName::kDrain);
    if (!message) return;
    const ClustermanHost& host = message->host;
    // A retry or a spot interruption is never a duplicate.
    if (state_.draining_until_s.contains(host.instance_id) && host.attempt <= 1 &&
        host.reason != ClustermanTermination::kSpotInterruption) {
      tick_.drain = ClustermanDrainOutcome::kDuplicate;
    } else {
      state_.draining_until_s[host.instance_id] = After(now_s_, kDrainingSeconds);
      tick_.drain = DrainHost(host);
    }
    Delete(ClustermanQueueName::kDrain, *message);
  }

  ClustermanDrainOutcome DrainHost(const ClustermanHost& host) {
    switch (host.scheduler) {
      case ClustermanScheduler::kKubernetes:
        return host.agent_id.empty() ? DrainOrphan(host) : DrainNode(host);
      case ClustermanScheduler::kMesos:
        backend_.StartMaintenance(host, options_.mesos_maintenance_timeout_seconds);
        SendToTermination(host, host.sender == ClustermanGroupKind::kAsg
                                    ? options_.asg_drain_termination_timeout_seconds
                                    : options_.sfr_drain_termination_timeout_seconds);
        return ClustermanDrainOutcome::kDrained;
      case ClustermanScheduler::kOther:
        break;
    }
    SendToTermination(host, 0);
    return ClustermanDrainOutcome::kTerminated;
  }

  // An instance without a cluster node: it may have joined meanwhile, or be gone.
  ClustermanDrainOutcome DrainOrphan(const ClustermanHost& host) {
    std::optional<ClustermanHost> fresh = backend_.FindHost(host.instance_id);
    if (!fresh) return ClustermanDrainOutcome::kGone;
    if (fresh->agent_id.empty()) {
      SendToTermination(host, 0);
      return ClustermanDrainOutcome::kNoNode;
    }
    fresh->instance_id = host.instance_id;
    if (!host.pool.empty()) fresh->pool = host.pool;
    fresh->reason = host.reason;
    fresh->draining_start_s = now_s_;
    SendToDrain(*std::move(fresh), 0, After(host.attempt, 1));
    return ClustermanDrainOutcome::kNamed;
  }

  ClustermanDrainOutcome DrainNode(const ClustermanHost& host) {
    const ClustermanPoolDraining draining = Draining(host.pool);
    if (now_s_ > After(host.draining_start_s, draining.draining_time_threshold_seconds)) {
      if (draining.force_terminate) {
        SendToTermination(host, 0);
        return ClustermanDrainOutcome::kForced;
      }
      backend_.RemoveTaint(host.agent_id);
      tick_.events.push_back(
          {.kind = ClustermanDrainEventKind::kRemoveTaint, .subject = host.agent_id});
      state_.draining_until_s.erase(host.instance_id);
      return ClustermanDrainOutcome::kGivenUp;
    }
    const bool delete_pods = host.reason == ClustermanTermination::kSpotInterruption;
    const bool drained = backend_.Drain(host.agent_id, delete_pods);
    tick_.events.push_back({.kind = ClustermanDrainEventKind::kDrain,
                            .subject = host.agent_id,
                            .delete_pods = delete_pods,
                            .ok = drained});
    if (drained) {
      SendToTermination(host, 0);
      return ClustermanDrainOutcome::kDrained;
    }
    SendToDrain(
        host, draining.redraining_delay_seconds.value_or(options_.global_redraining_delay_seconds),
        After(host.attempt, 1));
    return ClustermanDrainOutcome::kRefused;
  }

  void ProcessTermination() {
    const std::optional<ClustermanMessage> message = Take(ClustermanQueueName::kTermination);
    if (!message) return;
    const ClustermanHost& host = message->host;
    const bool mesos = host.scheduler == ClustermanScheduler::kMesos;
    if (mesos) backend_.MarkDown(host);
    const bool ok = backend_.Terminate(host);
    tick_.events.push_back(
        {.kind = ClustermanDrainEventKind::kTerminate, .subject = host.instance_id, .ok = ok});
    if (!ok) return;  // The message becomes visible again.
    if (mesos) backend_.MarkUp(host);
    Delete(ClustermanQueueName::kTermination, *message);
  }

  const ClustermanDrainOptions& options_;
  const int64_t now_s_;
  ClustermanDrainBackend& backend_;
  ClustermanDrainState& state_;
  ClustermanTick tick_;
};

}  // namespace

std::string_view Name(ClustermanTermination reason) {
  switch (reason) {
    case ClustermanTermination::kScalingDown:
      return "scaling down";
    case ClustermanTermination::kSpotInterruption:
      return "spot interruption";
    case ClustermanTermination::kNodeMigration:
      break;
  }
  return "node migration";
}

std::string_view Name(ClustermanQueueName queue) {
  switch (queue) {
    case ClustermanQueueName::kWarning:
      return "warn";
    case ClustermanQueueName::kDrain:
      return "drain";
    case ClustermanQueueName::kTermination:
      break;
  }
  return "term";
}

std::string_view Name(ClustermanDrainOutcome outcome) {
  switch (outcome) {
    case ClustermanDrainOutcome::kNone:
      return "";
    case ClustermanDrainOutcome::kDuplicate:
      return "drains already";
    case ClustermanDrainOutcome::kGone:
      return "gone";
    case ClustermanDrainOutcome::kNoNode:
      return "no node, to be terminated";
    case ClustermanDrainOutcome::kNamed:
      return "has joined, to be drained";
    case ClustermanDrainOutcome::kForced:
      return "took too long, to be terminated";
    case ClustermanDrainOutcome::kGivenUp:
      return "took too long, given up";
    case ClustermanDrainOutcome::kDrained:
      return "drained, to be terminated";
    case ClustermanDrainOutcome::kRefused:
      return "a pod refused, to be tried again";
    case ClustermanDrainOutcome::kTerminated:
      break;
  }
  return "to be terminated";
}

std::vector<std::string> Problems(const ClustermanDrainOptions& options) {
  std::vector<std::string> problems;
  const auto check = [&](std::string_view key, int64_t seconds) {
    if (seconds < 0) problems.push_back(fmt::format("{}: must be 0 or more", key));
  };
  for (const auto& [name, pool] : options.pools) {
    check(fmt::format("{}: draining.draining_time_threshold_seconds", name),
          pool.draining_time_threshold_seconds);
    check(fmt::format("{}: draining.redraining_delay_seconds", name),
          pool.redraining_delay_seconds.value_or(0));
  }
  check("global_redraining_delay_seconds", options.global_redraining_delay_seconds);
  check("mesos_maintenance_timeout_seconds", options.mesos_maintenance_timeout_seconds);
  check("drain_termination_timeout_seconds.asg", options.asg_drain_termination_timeout_seconds);
  check("drain_termination_timeout_seconds.sfr", options.sfr_drain_termination_timeout_seconds);
  check("visibility_timeout_seconds", options.visibility_timeout_seconds);
  check("batches.drainer.run_interval_seconds", options.run_interval_seconds);
  return problems;
}

void Submit(const ClustermanHost& host, int64_t now_s, ClustermanDrainState& state) {
  Put(host, now_s, 0, state.drains);
}

void Warn(std::string_view instance_id, int64_t now_s, ClustermanDrainState& state) {
  ClustermanHost host;
  host.instance_id = instance_id;
  Put(host, now_s, 0, state.warnings);
}

ClustermanTick DrainOnce(const ClustermanDrainOptions& options, int64_t now_s,
                         ClustermanDrainBackend& backend, ClustermanDrainState* state) {
  return Tick(options, now_s, backend, *state).Run();
}

bool MaySleep(const ClustermanDrainOptions& options, const ClustermanTick& tick) {
  return options.always_delay_drain_processing || !tick.had_message;
}

}  // namespace ebb
