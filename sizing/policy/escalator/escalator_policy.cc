#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sizing/policy/escalator/escalator.h"
#include "sizing/policy/figure_text.h"
#include "sizing/policy/policy_schools.h"
#include "sizing/policy/state_text.h"

namespace ebb {

namespace {

struct Lock {
  bool is_locked = false;
  int64_t requested = 0;
  std::optional<int64_t> locked_at_s;
};

struct Remembered {
  EscalatorState state;
  Lock before;  // As it was before the last decision.
};

Lock LockOf(const EscalatorState& state) {
  return {
      .is_locked = state.is_locked, .requested = state.requested, .locked_at_s = state.locked_at_s};
}

}  // namespace

template <typename A>
void Fields(A& a, EscalatorResources& r) {
  a(r.cpu_milli, r.memory_bytes);
}
template <typename A>
void Fields(A& a, EscalatorState& s) {
  a(s.is_locked, s.requested, s.locked_at_s, s.cached_capacity, s.taint_tracker, s.last_delta,
    s.last_growth_s);
}
template <typename A>
void Fields(A& a, Lock& l) {
  a(l.is_locked, l.requested, l.locked_at_s);
}
template <typename A>
void Fields(A& a, Remembered& r) {
  a(r.state, r.before);
}

namespace {

// The default of the program's flag for its scan interval.
constexpr int64_t kScanIntervalS = 60;
constexpr std::string_view kState = "escalator/2";
constexpr std::string_view kForceTaint = "atlassian.com/escalator-force";
constexpr std::string_view kTaint = "atlassian.com/escalator";

std::vector<PolicyKey> Keys() {
  using enum PolicyValueType;
  const auto percent = [](std::string path, std::string help, std::string example) {
    return PolicyKey{.path = std::move(path),
                     .type = kInt,
                     .help = std::move(help),
                     .example = std::move(example),
                     .required = true,
                     .min = 0};
  };
  return {
      {"name", kText, "Of the group; \"default\": pods that ask for no node", "web", true},
      {"label_key", kText, "The label of the group's nodes", "pool", true},
      {"label_value", kText, "and its value", "web", true},
      {"cloud_provider_group_name", kText, "The cloud's group", "web-asg", true},
      {"min_nodes", kInt, "Fewest untainted nodes; with max_nodes 0: the cloud group's", "1", true,
       0},
      {"max_nodes", kInt, "Most untainted nodes", "10", true, 0},
      {"dry_mode", kBool, "Change nothing, only remember taints", "false"},
      {"scale_on_starve", kBool, "A pod that fits on no node asks for one more", "false"},
      percent("scale_up_threshold_percent", "Above it the group grows", "70"),
      percent("taint_upper_capacity_threshold_percent", "Below it nodes go at the slow rate", "45"),
      percent("taint_lower_capacity_threshold_percent", "Below it nodes go at the fast rate", "30"),
      {"slow_node_removal_rate", kInt, "Nodes a round", "1", true, 0},
      {"fast_node_removal_rate", kInt, "Nodes a round", "2", true, 0},
      {"soft_delete_grace_period", kText, "From its taint to the end of an empty node", "5m", true},
      {"hard_delete_grace_period", kText, "From its taint to the end of any node", "10m", true},
      {"scale_up_cool_down_period", kText, "Wait after the group has grown", "10m", true},
      {"taint_effect", kText, "NoSchedule, NoExecute or PreferNoSchedule", "NoSchedule"},
      {"max_node_age", kText, "Older nodes are replaced at the minimum; empty: none are", "\"\""},
      {"aws.lifecycle", kText, "on-demand or spot", "on-demand"},
      {"unhealthy_node_grace_period", kText, "How long a new node may be unready; empty: no matter",
       "\"\""},
      {"health_check_newest_nodes_percent", kInt, "Which share of the newest is tested", "0"},
      {"max_unhealthy_nodes_percent", kInt, "More of these: no scaling", "0"},
  };
}

EscalatorOptions ReadOptions(const PolicySettings& settings) {
  EscalatorOptions o;
  settings.Read("name", o.name);
  settings.Read("label_key", o.label_key);
  settings.Read("label_value", o.label_value);
  settings.Read("cloud_provider_group_name", o.cloud_provider_group_name);
  settings.Read("min_nodes", o.min_nodes);
  settings.Read("max_nodes", o.max_nodes);
  settings.Read("dry_mode", o.dry_mode);
  settings.Read("scale_on_starve", o.scale_on_starve);
  settings.Read("scale_up_threshold_percent", o.scale_up_threshold_percent);
  settings.Read("taint_upper_capacity_threshold_percent", o.taint_upper_capacity_threshold_percent);
  settings.Read("taint_lower_capacity_threshold_percent", o.taint_lower_capacity_threshold_percent);
  settings.Read("slow_node_removal_rate", o.slow_node_removal_rate);
  settings.Read("fast_node_removal_rate", o.fast_node_removal_rate);
  settings.Read("soft_delete_grace_period", o.soft_delete_grace_period);
  settings.Read("hard_delete_grace_period", o.hard_delete_grace_period);
  settings.Read("scale_up_cool_down_period", o.scale_up_cool_down_period);
  settings.Read("taint_effect", o.taint_effect);
  settings.Read("max_node_age", o.max_node_age);
  settings.Read("aws.lifecycle", o.aws_lifecycle);
  settings.Read("unhealthy_node_grace_period", o.unhealthy_node_grace_period);
  settings.Read("health_check_newest_nodes_percent", o.health_check_newest_nodes_percent);
  settings.Read("max_unhealthy_nodes_percent", o.max_unhealthy_nodes_percent);
  return o;
}

EscalatorResources Both(const PolicyResources& r) {
  return {.cpu_milli = r.cpu_milli, .memory_bytes = r.memory_bytes};
}

std::string Find(const std::map<std::string, std::string>& map, std::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? "" : found->second;
}

EscalatorPod PodOf(const PolicyPod& pod, const std::string& node) {
  EscalatorPod to{.name = pod.name,
                  .node = node,
                  .overhead = Both(pod.overhead),
                  .phase = pod.is_running ? EscalatorPhase::kRunning : EscalatorPhase::kPending,
                  .scheduled = !node.empty(),
                  .is_daemonset = pod.is_daemonset,
                  .is_static = Find(pod.annotations, "kubernetes.io/config.source") == "file",
                  .node_selector = pod.node_selector,
                  .has_affinity = pod.has_affinity};
  for (const PolicyContainer& c : pod.containers) {
    (c.is_init ? to.init_containers : to.containers).push_back({c.cpu_milli, c.memory_bytes});
  }
  for (const PolicyExpression& e : pod.affinity) {
    to.required_node_affinity.push_back({.key = e.key, .is_in = e.is_in, .values = e.values});
  }
  return to;
}

EscalatorObservation ObservationOf(const PolicyObservation& from, int64_t now_s) {
  EscalatorObservation to;
  for (const PolicyNode& node : from.nodes) {
    // A leaving node counts as tainted now, so that none of its grace periods is over.
    std::optional<std::string> taint;
    if (node.is_leaving) taint = std::to_string(now_s);
    if (const auto found = node.taints.find(std::string(kTaint)); found != node.taints.end()) {
      taint = found->second;
    }
    to.nodes.push_back({.name = node.name,
                        .allocatable = Both(node.allocatable),
                        .created_s = node.created_s,
                        .labels = node.labels,
                        .unschedulable = node.is_cordoned,
                        .taint = std::move(taint),
                        .force_taint = node.taints.contains(std::string(kForceTaint)),
                        .ready = node.ready,
                        .no_delete = Find(node.annotations, "atlassian.com/no-delete")});
    for (const PolicyPod& pod : node.pods) to.pods.push_back(PodOf(pod, node.name));
  }
  for (const PolicyPod& pod : from.pending) to.pods.push_back(PodOf(pod, ""));
  if (from.cloud) {
    to.cloud = {.min = from.cloud->min, .max = from.cloud->max, .desired = from.cloud->desired};
  }
  return to;
}

void AddFigures(const EscalatorDecision& made, std::vector<PolicyFigure>& to) {
  const auto add = [&](std::string name, const auto& value) {
    to.push_back({std::move(name), FigureText(value)});
  };
  add("nodes", made.group.nodes.size());
  add("untainted nodes", made.group.untainted.size());
  add("tainted nodes", made.group.tainted.size());
  if (!made.group.force_tainted.empty()) {
    add("force-tainted nodes", made.group.force_tainted.size());
  }
  add("cordoned nodes", made.group.cordoned.size());
  add("pods", made.group.pods.size());
  add("min_nodes", made.min_nodes);
  add("max_nodes", made.max_nodes);
  add("desired in the cloud", made.cloud_desired);
  if (made.sums) {
    add("requested cpu (milli)", made.sums->requests.cpu_milli);
    add("requested memory (bytes)", made.sums->requests.memory_bytes);
    add("capacity cpu (milli)", made.sums->capacity.cpu_milli);
    add("capacity memory (bytes)", made.sums->capacity.memory_bytes);
  }
  if (made.percents && made.percents->IsFromZero()) {
    to.push_back({"utilization", "no nodes"});
  } else if (made.percents) {
    add("cpu percent", made.percents->cpu);
    add("memory percent", made.percents->memory);
    add("utilization percent", made.percents->Max());
  }
  if (made.ask) {
    add("rule", Name(made.ask->rule));
    add("delta of the rule", made.ask->delta);
  }
  for (const EscalatorForce force : made.forced) add("bounded or forced by", Name(force));
}

// Adds the nodes that the program taints in this round because the group shrinks.  The program
// deletes them when their grace periods are over.  A loop of ebb drains the same number of nodes
// now, beginning with nodes that are tainted already.
void AddTaintedByShrinking(const PolicyObservation& from, const EscalatorDecision& made,
                           std::vector<PolicyFigure>& to) {
  if (!made.down || made.down->tainted.nodes.empty()) return;
  std::vector<std::string_view> names;
  for (const size_t i : made.down->tainted.nodes) names.emplace_back(from.nodes[i].name);
  to.push_back({"tainted now by the program", fmt::format("{}", fmt::join(names, ", "))});
}

// Adds the round's actions on single nodes.  A leaving node has no taint of its own to remove, and
// is not tainted again; a node that has the taint keeps it.
void AddNodeActions(const EscalatorOptions& options, const PolicyObservation& from,
                    const EscalatorDecision& made, int64_t now_s, PolicyDecision& to) {
  const auto has_taint = [&](size_t i) {
    return from.nodes[i].taints.contains(std::string(kTaint));
  };
  const auto name = [&](size_t i) { return from.nodes[i].name; };
  if (made.up) {
    for (const size_t i : made.up->untainted.nodes) {
      if (from.nodes[i].is_leaving || !has_taint(i)) continue;
      to.taints.push_back({.node = name(i), .key = std::string(kTaint), .put = false});
    }
  }
  const std::string effect = options.taint_effect.empty() ? "NoSchedule" : options.taint_effect;
  for (const size_t i : made.unhealthy_tainted.nodes) {
    if (from.nodes[i].is_leaving || has_taint(i)) continue;
    to.taints.push_back({.node = name(i),
                         .key = std::string(kTaint),
                         .value = std::to_string(now_s),
                         .effect = effect});
  }
  const auto reap = [&](const EscalatorReap& batch) {
    for (const size_t i : batch.terminated) {
      if (!from.nodes[i].is_leaving) to.remove.push_back(name(i));
    }
    if (!batch.unread_taints.empty()) {
      std::vector<std::string> names;
      for (const size_t i : batch.unread_taints) {
        if (!from.nodes[i].is_leaving) names.push_back(name(i));
      }
      to.warnings.push_back(fmt::format("tainted nodes stay, as the value of {} is not a time: {}",
                                        kTaint, fmt::join(names, ", ")));
    }
    if (batch.error == EscalatorReap::Error::kNone) return;
    to.warnings.push_back(fmt::format("tainted nodes stay, {}: {}",
                                      batch.error == EscalatorReap::Error::kCloudAtMinimum
                                          ? "the cloud's group is at its minimum"
                                          : "the cloud's group would fall below its minimum",
                                      batch.ready.size()));
  };
  reap(made.force_reap);
  if (made.reap) reap(*made.reap);
  if (made.down) reap(made.down->reap);
}

// Tainted nodes first, then the others from the oldest, as the program would taint them.
std::vector<std::string> Order(const PolicyObservation& from,
                               const EscalatorObservation& observation,
                               const EscalatorGroup& group) {
  std::vector<size_t> order = group.force_tainted;
  order.insert(order.end(), group.tainted.begin(), group.tainted.end());
  std::vector<size_t> rest = group.untainted;
  std::ranges::stable_sort(rest, {}, [&](size_t i) { return observation.nodes[i].created_s; });
  order.insert(order.end(), rest.begin(), rest.end());
  std::vector<std::string> names;
  for (const size_t i : order) {
    if (!from.nodes[i].is_leaving) names.push_back(observation.nodes[i].name);
  }
  return names;
}

void AddWarnings(const EscalatorWarnings& from, std::vector<std::string>& to) {
  if (!from.unlike_nodes.empty()) {
    to.push_back(
        fmt::format("nodes are not as large as most: {}", fmt::join(from.unlike_nodes, ", ")));
  }
  if (!from.pods_without_requests.empty()) {
    to.push_back(fmt::format("pods have a container without cpu or memory requests: {}",
                             fmt::join(from.pods_without_requests, ", ")));
  }
}

class EscalatorPolicy final : public Policy {
 public:
  explicit EscalatorPolicy(EscalatorOptions options) : options_(std::move(options)) {}

  PolicyDecision Decide(const PolicyObservation& observation, int64_t now_s,
                        std::string* state) const override {
    EBB_DCHECK(state != nullptr);
    Remembered read;
    if (!Read(*state, &read)) return Denied("state", "state_unreadable");
    const EscalatorObservation seen = ObservationOf(observation, now_s);
    EscalatorNoCalls calls;
    read.before = LockOf(read.state);
    const EscalatorDecision made = ebb::Decide(options_, seen, now_s, calls, &read.state);
    *state = StateText(std::string(kState), read);
    return DecisionOf(observation, seen, made, now_s);
  }

  // If the cloud group refused to grow, the lock must not be taken or renewed.  Decide took it
  // before the cloud was asked, so restore the earlier lock.
  void Ended(bool succeeded, int64_t /*now_s*/, std::string* state) const override {
    Remembered read;
    if (succeeded || !Read(*state, &read)) return;
    read.state.is_locked = read.before.is_locked;
    read.state.requested = read.before.requested;
    read.state.locked_at_s = read.before.locked_at_s;
    *state = StateText(std::string(kState), read);
  }

 private:
  static bool Read(const std::string& text, Remembered* to) {
    return ReadStateText(kState, text, to);
  }

  PolicyDecision DecisionOf(const PolicyObservation& from, const EscalatorObservation& seen,
                            const EscalatorDecision& made, int64_t now_s) const {
    PolicyDecision decision;
    decision.direction = made.delta > 0   ? PolicyDirection::kUp
                         : made.delta < 0 ? PolicyDirection::kDown
                                          : PolicyDirection::kStay;
    decision.reason = Name(made.path);
    if (made.error != EscalatorError::kNone) {
      decision.denied_by = Name(made.error);
      decision.warnings.push_back(Describe(made));
    } else if (made.path == EscalatorPath::kLocked) {
      decision.denied_by = "scale_up_cool_down_period";
    } else if (options_.dry_mode && made.delta != 0) {
      decision.denied_by = "dry_mode";
    }
    if (decision.denied_by.empty()) decision.delta = DeltaOf(made);
    if (decision.delta == 0 && made.delta != 0 && decision.denied_by.empty()) {
      decision.denied_by = made.forced.empty() ? "bounds" : Name(made.forced.back());
    }
    AddFigures(made, decision.figures);
    AddTaintedByShrinking(from, made, decision.figures);
    decision.candidates = Order(from, seen, made.group);
    AddWarnings(made.warnings, decision.warnings);
    if (!options_.dry_mode) AddNodeActions(options_, from, made, now_s, decision);
    return decision;
  }

  // The delta that the bounds left.  It excludes reaped nodes, which earlier rounds tainted.
  static int64_t DeltaOf(const EscalatorDecision& made) {
    if (made.up) return made.up->Result();
    if (made.down) return -static_cast<int64_t>(made.down->tainted.nodes.size());
    return 0;
  }

  EscalatorOptions options_;
};

std::unique_ptr<Policy> Make(const PolicySettings& settings, std::vector<PolicyProblem>* problems) {
  EscalatorOptions options = ReadOptions(settings);
  bool wrong = false;
  for (const EscalatorProblem& problem : Problems(options)) {
    // On purpose otherwise: a group of a fixed size is valid here, and only replaces nodes.
    if (problem.key == "min_nodes" && options.min_nodes == options.max_nodes) continue;
    problems->push_back({std::string(problem.key), std::string(problem.text)});
    wrong = true;
  }
  if (wrong) return nullptr;
  return std::make_unique<EscalatorPolicy>(std::move(options));
}

}  // namespace

PolicySchool EscalatorSchool() {
  return {.name = "escalator",
          .summary = "Keeps what pods request between thresholds of what nodes can hold",
          .keys = Keys(),
          .make = Make,
          .period_s = [](const PolicySettings&) { return kScanIntervalS; },
          .follows = "Escalator, commit 043bb1b5e78b of March 2026",
          .others = {"aws.fleet_instance_ready_timeout", "aws.instance_type_overrides",
                     "aws.launch_template_id", "aws.launch_template_version",
                     "aws.resource_tagging", "scale_up_cool_down_timeout"}};
}

}  // namespace ebb
