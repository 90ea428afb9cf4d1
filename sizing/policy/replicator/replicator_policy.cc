#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/check.h"
#include "sizing/policy/figure_text.h"
#include "sizing/policy/policy_schools.h"
#include "sizing/policy/replicator/replicator.h"
#include "sizing/policy/state_text.h"

namespace ebb {

template <typename A>
void Fields(A& a, ReplicatorCall& c) {
  a(c.kind, c.at_ms, c.until_ms);
}
template <typename A>
void Fields(A& a, ReplicatorOperation& o) {
  a(o.direction, o.outcome, o.call, o.desired, o.node, o.instance);
}
template <typename A>
void Fields(A& a, ReplicatorState& s) {
  a(s.scale_in_requests, s.scale_out_requests, s.failure_count, s.failsafe, s.last_event_ms,
    s.last_notification_ms, s.operation);
}

namespace {

// The default of cluster_scaling_interval.
constexpr int64_t kScalingIntervalS = 10;
constexpr std::string_view kState = "replicator/1";

std::vector<PolicyKey> Keys() {
  using enum PolicyValueType;
  return {
      {"replicator_enabled", kBool, "May this pool be scaled at all", "true", true},
      {"replicator_worker_pool", kText, "The pool's name", "web", true},
      {"replicator_region", kText, "The cloud's region", "eu-west-1", true},
      {"replicator_notification_uid", kText, "Names the pool in alerts", "web-alerts", true},
      {"replicator_provider", kText, "Whose groups: aws", "aws", true},
      {"replicator_min", kInt, "Fewest nodes", "1", false, 0},
      {"replicator_max", kInt, "Most nodes", "10", false, 0},
      {"replicator_cooldown", kInt, "Seconds between operations", "300", false, 0},
      {"replicator_cool_down", kInt, "Another spelling of replicator_cooldown", "300", false, 0},
      {"replicator_node_fault_tolerance", kInt, "Nodes' worth of capacity in reserve", "1", false,
       0},
      {"replicator_retry_threshold", kInt, "Failures in a row before failsafe", "3", false, 0},
      {"replicator_scaling_threshold", kInt, "Rounds in a row that must ask", "3", false, 0},
      {"replicator_scale_factor", kInt, "Nodes that one scale-out adds", "1", false, 1},
      {"protected_node", kText, "A node that never goes, as the one that runs ebb", "node-1"},
      {"scaled_jobs[]", kText, "NAMESPACE/KIND/NAME of controllers kept room for",
       "shop/ReplicaSet/web"},
  };
}

ReplicatorOptions ReadOptions(const PolicySettings& settings) {
  ReplicatorOptions o;
  settings.Read("replicator_enabled", o.replicator_enabled);
  settings.Read("replicator_worker_pool", o.replicator_worker_pool);
  settings.Read("replicator_region", o.replicator_region);
  settings.Read("replicator_notification_uid", o.replicator_notification_uid);
  settings.Read("replicator_provider", o.replicator_provider);
  settings.Read("replicator_min", o.replicator_min);
  settings.Read("replicator_max", o.replicator_max);
  settings.Read("replicator_cool_down", o.replicator_cooldown);
  settings.Read("replicator_cooldown", o.replicator_cooldown);
  settings.Read("replicator_node_fault_tolerance", o.replicator_node_fault_tolerance);
  settings.Read("replicator_retry_threshold", o.replicator_retry_threshold);
  settings.Read("replicator_scaling_threshold", o.replicator_scaling_threshold);
  settings.Read("replicator_scale_factor", o.replicator_scale_factor);
  return o;
}

ReplicatorResources Three(const PolicyResources& r) {
  return {.cpu = r.cpu_milli, .memory = r.memory_bytes, .disk = r.disk_bytes};
}

ReplicatorObservation ObservationOf(const PolicyObservation& from,
                                    const std::vector<std::string>& scaled,
                                    const std::string& protected_node) {
  ReplicatorObservation to{.protected_node = protected_node};
  std::map<std::string, ReplicatorResources> tasks;  // The requests of the first pod of each job.
  for (const PolicyNode& node : from.nodes) {
    if (node.is_leaving) continue;  // A draining node is not a member of the pool.
    ReplicatorNode member{.id = node.name, .address = node.name, .capacity = Three(node.capacity)};
    for (const PolicyPod& pod : node.pods) {
      using Client = ReplicatorAllocation::Client;
      const std::string& job = pod.owner.empty() ? pod.name : pod.owner;
      member.allocations.push_back(
          {.job = job,
           .resources = Three(pod.requests),
           .client = pod.is_running ? Client::kRunning : Client::kPending});
      tasks.emplace(job, Three(pod.requests));
    }
    to.nodes.push_back(std::move(member));
  }
  for (const std::string& job : scaled) {
    const auto task = tasks.find(job);
    if (task != tasks.end()) to.jobs.push_back({.id = job, .groups = {{task->second}}});
  }
  if (from.cloud) {
    to.group = {.min = from.cloud->min, .max = from.cloud->max, .desired = from.cloud->desired};
  }
  return to;
}

void AddFigures(const ReplicatorDecision& made, std::vector<PolicyFigure>& to) {
  const auto add = [&](std::string name, const auto& value) {
    to.push_back({std::move(name), FigureText(value)});
  };
  if (made.figures) {
    const ReplicatorFigures& f = *made.figures;
    const auto three = [](const ReplicatorResources& r) {
      return fmt::format("cpu {}, memory {}, disk {}", r.cpu, r.memory, r.disk);
    };
    add("nodes", f.nodes);
    add("total", three(f.total));
    add("used", three(f.used));
    add("reserve", three(f.reserve));
    // A NaN is shown without its sign.
    const auto percent = [](double share) {
      return std::isnan(share) ? "none" : fmt::format("{:.4g}", share);
    };
    add("used percent", fmt::format("cpu {}, memory {}, disk {}", percent(f.used_percent[0]),
                                    percent(f.used_percent[1]), percent(f.used_percent[2])));
    add("metric that leads", Name(f.metric));
    add("average of a node", f.average);
    add("consumed", f.consumed);
    add("allowed", f.allowed);
    add("allowed with a node less", f.sim_allowed);
    add("consumed of that, percent", f.sim_percent);
    add("direction", Name(f.direction));
  }
  for (const ReplicatorReason denied : made.denied_by) add("denies", Name(denied));
  add("rounds in a row that ask", made.requests);
  if (made.target != 0) add("desired count", made.target);
}

class ReplicatorPolicy final : public Policy {
 public:
  ReplicatorPolicy(ReplicatorOptions options, std::vector<std::string> scaled,
                   std::string protected_node)
      : options_(std::move(options)),
        scaled_(std::move(scaled)),
        protected_(std::move(protected_node)) {}

  PolicyDecision Decide(const PolicyObservation& observation, int64_t now_s,
                        std::string* state) const override {
    EBB_DCHECK(state != nullptr);
    ReplicatorState read;
    if (!ReadStateText(kState, *state, &read)) return Denied("state", "state_unreadable");
    if (!options_.replicator_enabled) return Denied("replicator_enabled", "not_enabled");
    const ReplicatorObservation seen = ObservationOf(observation, scaled_, protected_);
    const int64_t now_ms = SaturatedMultiply(now_s, 1000);
    const ReplicatorDecision made = ebb::Decide(options_, seen, now_ms, &read);
    *state = StateText(std::string(kState), read);
    return DecisionOf(made);
  }

  void Ended(bool succeeded, int64_t now_s, std::string* state) const override {
    ReplicatorState read;
    if (!ReadStateText(kState, *state, &read)) return;
    if (succeeded) {
      read.failure_count = 0;
      read.last_event_ms = SaturatedMultiply(now_s, 1000);
    } else {
      read.failure_count = SaturatedAdd(read.failure_count, 1);
    }
    *state = StateText(std::string(kState), read);
  }

  bool SetFailsafe(bool on, std::string* state) const override {
    std::optional<ReplicatorState> read(std::in_place);
    if (!ReadStateText(kState, *state, &*read)) return false;
    ebb::SetFailsafe(on, &read);
    *state = StateText(std::string(kState), *read);
    return true;
  }

  // The caller carries an operation out before it asks for the pool's next round.
  [[nodiscard]] bool OneActionAtATime() const override { return true; }

  bool InFailsafe(std::string_view state) const override {
    ReplicatorState read;
    return ReadStateText(kState, state, &read) && read.failsafe;
  }

 private:
  PolicyDecision DecisionOf(const ReplicatorDecision& made) const {
    PolicyDecision decision;
    decision.delta = made.delta;
    decision.reason = Name(made.reason);
    if (made.delta == 0) decision.denied_by = decision.reason;
    AddFigures(made, decision.figures);
    if (made.figures) {
      decision.direction = made.figures->direction == ReplicatorDirection::kOut
                               ? PolicyDirection::kUp
                               : PolicyDirection::kDown;
      decision.candidates = Order(*made.figures);
    }
    if (made.notice) {
      decision.warnings.push_back(fmt::format(
          "pool {} is in failsafe: no action until an operator ends it", made.notice->resource_id));
    }
    return decision;
  }

  // From the least allocated node on: each is the least allocated of the remaining nodes.
  [[nodiscard]] std::vector<std::string> Order(ReplicatorFigures figures) const {
    std::vector<std::string> names;
    while (const std::optional<size_t> next = LeastAllocated(figures, protected_)) {
      names.push_back(figures.shares[*next].id);
      figures.shares.erase(figures.shares.begin() + static_cast<ptrdiff_t>(*next));
    }
    return names;
  }

  ReplicatorOptions options_;
  std::vector<std::string> scaled_;
  std::string protected_;
};

std::unique_ptr<Policy> Make(const PolicySettings& settings, std::vector<PolicyProblem>* problems) {
  ReplicatorOptions options = ReadOptions(settings);
  const std::vector<std::string> wrong = Problems(options);
  for (const std::string& what : wrong) problems->push_back({"", what});
  if (options.replicator_provider != "aws") {
    problems->push_back({"replicator_provider", "only aws is known"});
    return nullptr;
  }
  if (!wrong.empty()) return nullptr;
  std::string protected_node;
  settings.Read("protected_node", protected_node);
  return std::make_unique<ReplicatorPolicy>(std::move(options), settings.Texts("scaled_jobs"),
                                            std::move(protected_node));
}

}  // namespace

PolicySchool ReplicatorSchool() {
  return {.name = "replicator",
          .summary = "Keeps room for the loss of some nodes and for each scaled job to grow by one",
          .keys = Keys(),
          .make = Make,
          .period_s = [](const PolicySettings&) { return kScalingIntervalS; },
          .follows = "Replicator, commit b86a43c of June 2018"};
}

}  // namespace ebb
