#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "sizing/policy/clusterman/clusterman.h"
#include "sizing/policy/figure_text.h"
#include "sizing/policy/policy_schools.h"
#include "sizing/policy/state_text.h"

namespace ebb {

template <typename A>
void Fields(A& a, ClustermanPoint& p) {
  a(p.at_s, p.value);
}
template <typename A>
void Fields(A& a, ClustermanHistory& h) {
  a(h.non_orphan_fulfilled_capacity, h.total);
}
template <typename A>
void Fields(A& a, ClustermanPause& p) {
  a(p.until_s);
}
template <typename A>
void Fields(A& a, ClustermanOffset& o) {
  a(o.capacity, o.until_s);
}
template <typename A>
void Fields(A& a, ClustermanState& s) {
  a(s.pause, s.offset, s.nodes_at_last_reload, s.history);
}

namespace {

constexpr std::string_view kState = "clusterman/1";
constexpr std::string_view kFollows = "Clusterman, commit 55d0831 of October 2023";
constexpr double kMegabyte = 1e6;  // Clusterman's unit of memory and disk.

std::vector<PolicyKey> Keys() {
  using enum PolicyValueType;
  return {
      {"autoscaling.setpoint", kNumber, "Share of capacity that is aimed at", "0.7", true, 0, 1},
      {"autoscaling.target_capacity_margin", kNumber, "Smaller changes, as a share, are let be",
       "0.1", true, 0, 1},
      {"autoscaling.excluded_resources[]", kText, "cpus, mem, disk or gpus", "gpus"},
      {"autoscaling.prevent_scale_down_after_capacity_loss", kBool,
       "Do not shrink after nodes were lost", "false"},
      {"autoscaling.instance_loss_threshold", kInt, "More lost nodes than these count", "0", false,
       0},
      {"autoscaling.killable_nodes_prioritizing_v2", kBool, "Order nodes by the size of their pods",
       "false"},
      {"scaling_limits.min_capacity", kInt, "In weight units", "1", true, 0},
      {"scaling_limits.max_capacity", kInt, "In weight units", "100", true, 0},
      {"scaling_limits.max_weight_to_add", kInt, "In one run", "20", true, 0},
      {"scaling_limits.max_weight_to_remove", kInt, "In one run", "10", true, 0},
      {"scaling_limits.max_tasks_to_kill", kNumber,
       "A node goes only with fewer; 0: empty nodes only", "0", false, 0},
      {"scaling_limits.min_node_scalein_uptime_seconds", kInt, "Younger nodes go last", "-1"},
      {"draining_enabled", kBool, "Nodes are drained before they go", "true"},
      {"draining", kBool, "Another spelling of draining_enabled", "true"},
      {"exclude_daemonset_pods", kBool, "DaemonSet pods are no tasks", "false"},
      {"autoscale_signal.internal", kBool, "Pending pods; else signals cpus, mem, disk, gpus",
       "true"},
      {"autoscale_signal.period_minutes", kInt, "Older signals are stale", "10", false, 1},
      {"autoscale_signal.parameters.pending_pods_multiplier", kNumber,
       "What a pending pod counts for", "2", false, 0},
      {"autoscale_signal.parameters.v2", kBool,
       "Pending pods add to all capacity, and the margin at least; else to what is requested",
       "false"},
      {"autoscale_signal.parameters.pending_pods_max_scheduling_seconds", kNumber,
       "With v2: pods that are older do not count", "86400", false, 0},
      {"autoscale_signal.parameters.per_pod_resource_requests", kBool,
       "Must be false: with it each run of Clusterman fails", "false"},
      {"node_weight", kNumber, "Weight units of a node", "1", false, 1e-6, 1e9},
  };
}

ClustermanOptions ReadOptions(const PolicySettings& settings) {
  ClustermanOptions o;
  settings.Read("autoscaling.setpoint", o.service.setpoint);
  settings.Read("autoscaling.target_capacity_margin", o.service.target_capacity_margin);
  settings.Read("autoscaling.prevent_scale_down_after_capacity_loss",
                o.prevent_scale_down_after_capacity_loss);
  settings.Read("autoscaling.instance_loss_threshold", o.instance_loss_threshold);
  settings.Read("autoscaling.killable_nodes_prioritizing_v2", o.killable_nodes_prioritizing_v2);
  settings.Read("scaling_limits.min_capacity", o.limits.min_capacity);
  settings.Read("scaling_limits.max_capacity", o.limits.max_capacity);
  settings.Read("scaling_limits.max_weight_to_add", o.limits.max_weight_to_add);
  settings.Read("scaling_limits.max_weight_to_remove", o.limits.max_weight_to_remove);
  settings.Read("scaling_limits.max_tasks_to_kill", o.limits.max_tasks_to_kill);
  settings.Read("scaling_limits.min_node_scalein_uptime_seconds",
                o.limits.min_node_scalein_uptime_seconds);
  settings.Read("draining", o.draining_enabled);
  settings.Read("draining_enabled", o.draining_enabled);
  settings.Read("exclude_daemonset_pods", o.exclude_daemonset_pods);
  o.signal.internal = true;
  settings.Read("autoscale_signal.internal", o.signal.internal);
  settings.Read("autoscale_signal.period_minutes", o.signal.period_minutes);
  settings.Read("autoscale_signal.parameters.pending_pods_multiplier",
                o.signal.parameters.pending_pods_multiplier);
  settings.Read("autoscale_signal.parameters.v2", o.signal.parameters.v2);
  settings.Read("autoscale_signal.parameters.pending_pods_max_scheduling_seconds",
                o.signal.parameters.pending_pods_max_scheduling_seconds);
  settings.Read("autoscale_signal.parameters.per_pod_resource_requests",
                o.signal.parameters.per_pod_resource_requests);
  o.default_signal = o.signal;
  return o;
}

// Returns false, and adds a problem, if one of the names is not a resource.
bool ReadExcluded(const PolicySettings& settings, ClustermanOptions& options,
                  std::vector<PolicyProblem>* problems) {
  const std::string list = "autoscaling.excluded_resources";
  if (!settings.HasList(list)) return true;
  std::vector<ClustermanResource>& excluded = options.service.excluded_resources.emplace();
  for (const std::string& name : settings.Texts(list)) {
    const std::optional<ClustermanResource> resource = ClustermanResourceOf(name);
    if (!resource) {
      problems->push_back({list, fmt::format("\"{}\" is not cpus, mem, disk or gpus", name)});
      return false;
    }
    excluded.push_back(*resource);
  }
  return true;
}

ClustermanAmounts Amounts(const PolicyResources& r) {
  return {static_cast<double>(r.cpu_milli) / 1000, static_cast<double>(r.memory_bytes) / kMegabyte,
          static_cast<double>(r.disk_bytes) / kMegabyte, static_cast<double>(r.gpus)};
}

ClustermanAmounts RequestsOf(const PolicyPod& pod) {
  std::vector<ClustermanRequest> containers;
  const auto as = [](const std::optional<int64_t>& amount, double unit) {
    return amount ? std::optional(static_cast<double>(*amount) / unit) : std::nullopt;
  };
  for (const PolicyContainer& c : pod.containers) {
    if (c.is_init) continue;
    containers.push_back({as(c.cpu_milli, 1000), as(c.memory_bytes, kMegabyte),
                          as(c.disk_bytes, kMegabyte), as(c.gpus, 1)});
  }
  return ClustermanPodRequests(containers);
}

std::optional<std::string> Find(const std::map<std::string, std::string>& map,
                                const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

ClustermanPod PodOf(const PolicyPod& pod, bool has_node, const ClustermanOptions& options,
                    int64_t now_s) {
  return {.name = pod.name,
          .requests = RequestsOf(pod),
          .phase = pod.is_running         ? ClustermanPodPhase::kRunning
                   : has_node             ? ClustermanPodPhase::kScheduled
                   : pod.is_unschedulable ? ClustermanPodPhase::kUnschedulable
                                          : ClustermanPodPhase::kOther,
          .is_daemonset = pod.is_daemonset,
          .age_s = static_cast<double>(now_s) - static_cast<double>(pod.created_s),
          .safe_to_evict = Find(pod.annotations, options.safe_to_evict_key),
          .batch_safe_to_evict = Find(pod.annotations, options.pod_safe_to_evict_annotation)};
}

// The answer of an outside signal.  It has failed if none of its resources is present, or if one is
// below 0, which is not a valid request.  It is as old as its oldest resource.
ClustermanSignalAnswer AnswerOf(const PolicyObservation& from) {
  ClustermanSignalAnswer answer{.failed = true};
  for (size_t i = 0; i < kClustermanResourceCount; ++i) {
    const auto found = from.signals.find(Name(static_cast<ClustermanResource>(i)));
    if (found == from.signals.end()) continue;
    if (found->second.value < 0) return {.failed = true};
    answer.failed = false;
    answer.request[i] = found->second.value;
    const std::optional<int64_t>& at_s = found->second.at_s;
    if (at_s && (!answer.at_s || *at_s < *answer.at_s)) answer.at_s = at_s;
  }
  return answer;
}

ClustermanObservation ObservationOf(const PolicyObservation& from, double weight,
                                    const ClustermanOptions& options, int64_t now_s) {
  ClustermanObservation to;
  const std::string& pool = from.pool;
  if (from.cloud) {
    to.groups.push_back({.id = pool,
                         .target_capacity = static_cast<double>(from.cloud->desired) * weight,
                         .min_capacity = static_cast<double>(from.cloud->min) * weight,
                         .max_capacity = static_cast<double>(from.cloud->max) * weight,
                         .fulfilled_capacity = static_cast<double>(from.nodes.size()) * weight});
  }
  for (const PolicyNode& node : from.nodes) {
    ClustermanAgent agent{
        .name = node.name,
        .ip = node.name,
        .allocatable = Amounts(node.allocatable),
        .is_draining = node.is_leaving || node.taints.contains("clusterman.yelp.com/terminating")};
    for (const PolicyPod& pod : node.pods) agent.pods.push_back(PodOf(pod, true, options, now_s));
    to.agents.push_back(std::move(agent));
    to.instances.push_back(
        {.id = node.name,
         .group_id = pool,
         .ip = node.name,
         .weight = weight,
         .is_cordoned = node.is_cordoned,
         .uptime_s = static_cast<double>(now_s) - static_cast<double>(node.created_s)});
  }
  for (const PolicyPod& pod : from.pending) {
    to.pending_pods.push_back(PodOf(pod, false, options, now_s));
  }
  to.signal = to.default_signal = AnswerOf(from);
  return to;
}

void AddAmounts(std::string_view what, const ClustermanRequest& amounts,
                std::vector<PolicyFigure>& to) {
  for (size_t i = 0; i < amounts.size(); ++i) {
    if (!amounts[i]) continue;
    to.push_back({fmt::format("{} {}", what, Name(static_cast<ClustermanResource>(i))),
                  FigureText(*amounts[i])});
  }
}

void AddFigures(const ClustermanDecision& made, std::vector<PolicyFigure>& to) {
  const auto add = [&](std::string name, const auto& value) {
    to.push_back({std::move(name), FigureText(value)});
  };
  add("nodes", made.pool.nodes.size());
  AddAmounts("total", AsRequest(made.pool.total), to);
  AddAmounts("allocated", AsRequest(made.pool.allocated), to);
  add("unschedulable pods", made.pool.unschedulable.size());
  if (made.request) AddAmounts("signal asks for", *made.request, to);
  add("target before", made.target_before);
  add("capacity that has joined", made.non_orphan_fulfilled_capacity);
  if (made.target) {
    add("rule", Name(made.target->rule));
    if (made.target->most_constrained) {
      add("most constrained", Name(*made.target->most_constrained));
      add("its usage", made.target->usage);
      add("capacity at the setpoint", made.target->new_capacity);
      add("change of the target", made.target->change);
    }
    add("target", made.target->capacity);
  }
  if (made.offset != 0) add("offset", made.offset);
  if (made.constraint) {
    add("step asked for", made.constraint->ask);
    add("step within limits", made.constraint->step);
    if (made.constraint->limit != ClustermanLimit::kNone) {
      add("limited by", Name(made.constraint->limit));
    }
  }
}

class ClustermanPolicy final : public Policy {
 public:
  ClustermanPolicy(ClustermanOptions options, double weight)
      : options_(std::move(options)), weight_(weight) {}

  PolicyDecision Decide(const PolicyObservation& observation, int64_t now_s,
                        std::string* state) const override {
    EBB_DCHECK(state != nullptr);
    ClustermanState read;
    if (!ReadStateText(kState, *state, &read)) return Denied("state", "state_unreadable");
    const ClustermanObservation seen = ObservationOf(observation, weight_, options_, now_s);
    const ClustermanDecision made = ebb::Decide(options_, seen, now_s, &read);
    *state = StateText(std::string(kState), read);
    return DecisionOf(observation, seen, made);
  }

  // The next run sees the result.
  void Ended(bool /*succeeded*/, int64_t /*now_s*/, std::string* /*state*/) const override {}

 private:
  // Shrinking: the number of chosen nodes, which may be fewer than the target requires, or 0.
  // Growing: the size that the cloud is to have, in whole nodes.
  [[nodiscard]] int64_t DeltaOf(const PolicyObservation& from,
                                const ClustermanDecision& made) const {
    int64_t delta = 0;
    bool chose = false;
    if (made.prune) {
      for (const ClustermanPrunedGroup& group : made.prune->chosen) {
        for (const size_t i : group.nodes) delta -= from.nodes[i].is_leaving ? 0 : 1;
        chose = chose || !group.nodes.empty();
      }
    }
    if (chose) return delta;
    for (const ClustermanAction& action : made.actions) {
      if (action.kind != ClustermanActionKind::kSetCapacity) continue;
      const double units = static_cast<double>(action.size) - made.target_before;
      delta += static_cast<int64_t>(std::ceil(units / weight_));
    }
    return std::max<int64_t>(delta, 0);
  }

  [[nodiscard]] PolicyDecision DecisionOf(const PolicyObservation& from,
                                          const ClustermanObservation& seen,
                                          const ClustermanDecision& made) const {
    PolicyDecision decision;
    AddFigures(made, decision.figures);
    if (made.used_default_signal) decision.warnings.emplace_back("the pool's signal failed");
    if (made.refusal != ClustermanRefusal::kNone) {
      decision.denied_by = Name(made.refusal);
      decision.reason = decision.denied_by;
      if (!made.subject.empty()) decision.warnings.push_back(made.subject);
      return decision;
    }
    decision.reason = Name(made.target->rule);
    decision.delta = DeltaOf(from, made);
    const double ask = made.constraint ? made.constraint->ask : 0;
    decision.direction = ask > 0   ? PolicyDirection::kUp
                         : ask < 0 ? PolicyDirection::kDown
                                   : PolicyDirection::kStay;
    if (decision.delta == 0 && ask != 0) {
      // A limit that leaves a part of the step has not denied it.
      const bool by_limit =
          made.constraint->limit != ClustermanLimit::kNone && made.constraint->step == 0;
      decision.denied_by = by_limit  ? Name(made.constraint->limit)
                           : ask < 0 ? "no node may be killed"
                                     : "less than a node";
    }
    if (made.constraint && !made.constraint->warning.empty()) {
      decision.warnings.push_back(made.constraint->warning);
    }
    if (made.balance && !made.balance->warning.empty()) {
      decision.warnings.push_back(made.balance->warning);
    }
    if (made.prune) {
      decision.candidates.emplace();
      for (const size_t i : made.prune->kill_order) {
        if (!from.nodes[i].is_leaving) decision.candidates->push_back(seen.instances[i].id);
      }
    }
    return decision;
  }

  ClustermanOptions options_;
  double weight_;
};

// "service: autoscaling.setpoint: required" -> the key, and what is wrong with it.
PolicyProblem ProblemOf(std::string_view text) {
  for (const std::string_view file : {"service: ", "pool: "}) {
    if (text.starts_with(file)) text.remove_prefix(file.size());
  }
  const size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 2))};
}

std::unique_ptr<Policy> Make(const PolicySettings& settings, std::vector<PolicyProblem>* problems) {
  ClustermanOptions options = ReadOptions(settings);
  if (!ReadExcluded(settings, options, problems)) return nullptr;
  const std::vector<std::string> wrong = Problems(options);
  for (const std::string& text : wrong) {
    PolicyProblem problem = ProblemOf(text);
    if (problem.path.ends_with("per_pod_resource_requests")) {
      problem.what = fmt::format("is refused: with it each run of {} fails", kFollows);
    }
    // The default signal is the same as the pool's, so it repeats the pool's problems.
    if (problems->empty() || problems->back() != problem) problems->push_back(problem);
  }
  double weight = 1;
  settings.Read("node_weight", weight);
  if (!(weight > 0)) problems->push_back({"node_weight", "must be above 0"});
  if (!wrong.empty() || !(weight > 0)) return nullptr;
  return std::make_unique<ClustermanPolicy>(std::move(options), weight);
}

}  // namespace

PolicySchool ClustermanSchool() {
  return {.name = "clusterman",
          .summary = "Keeps utilization at a setpoint, within a margin and limits of a step",
          .keys = Keys(),
          .make = Make,
          .period_s =
              [](const PolicySettings& settings) {
                int64_t minutes = ClustermanSignalOptions().period_minutes;
                settings.Read("autoscale_signal.period_minutes", minutes);
                return minutes > std::numeric_limits<int64_t>::max() / 60 ? minutes : minutes * 60;
              },
          .period_key = "autoscale_signal.period_minutes",
          .follows = std::string(kFollows),
          .others = {"alert_on_max_capacity", "autoscale_signal.branch_or_tag",
                     "autoscale_signal.name", "autoscale_signal.namespace",
                     "autoscale_signal.required_metrics", "autoscaling.default_signal_role", "aws",
                     "batches", "clusters", "drain_termination_timeout_seconds", "log_stream_name",
                     "mesos_maintenance_timeout_seconds", "module_config", "node_migration",
                     "resource_groups", "sensu_config"}};
}

}  // namespace ebb
