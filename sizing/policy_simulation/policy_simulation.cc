#include "sizing/policy_simulation/policy_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "simulation/simulated_cluster.h"
#include "sizing/pool_sizer.h"

namespace ebb {
namespace {

constexpr std::string_view kNamespace = "load";
constexpr std::string_view kReplicaSet = "load";
constexpr size_t kLogMax = 100;

// The objects of the cluster at the start.
class FirstCluster {
 public:
  FirstCluster(const SizedPool& pool, int64_t nodes, int64_t pods,
               const PolicySimulationOptions& options)
      : pool_(pool), nodes_(nodes), pods_(pods), options_(options) {}

  absl::Status Show(ObjectSink& sink) {
    objects::Controller set;
    set.meta = Named(kReplicaSet, kNamespace);
    set.spec_replicas = set.status_replicas = pods_;
    if (absl::Status s = sink.OnController(set); !s.ok()) return s;
    for (int64_t n = 0; n < nodes_; ++n) {
      if (absl::Status s = sink.OnNode(NodeOf(n)); !s.ok()) return s;
    }
    // Spreads the pods over the nodes, as many on each as fit.
    for (int64_t p = 0; p < pods_; ++p) {
      objects::Pod pod = PodOf(p);
      const int64_t fits = std::max<int64_t>(1, PodsPerNode(options_));
      if (p < nodes_ * fits) pod.node_name = NodeName(p % nodes_);
      pod.phase = pod.node_name.empty() ? "Pending" : "Running";
      if (absl::Status s = sink.OnPod(pod); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  static int64_t PodsPerNode(const PolicySimulationOptions& options) {
    return std::min(options.node_cpu_milli / std::max<int64_t>(1, options.pod_cpu_milli),
                    options.node_memory_bytes / std::max<int64_t>(1, options.pod_memory_bytes));
  }

 private:
  std::string_view Keep(std::string text) { return kept_.emplace_back(std::move(text)); }
  std::string_view NodeName(int64_t n) { return Keep(fmt::format("{}-{}", pool_.name, n)); }

  objects::ObjectMeta Named(std::string_view name, std::string_view namespace_name) {
    objects::ObjectMeta meta;
    meta.name = name;
    meta.namespace_name = namespace_name;
    meta.uid = Keep(fmt::format("uid-of-{}", name));
    meta.creation_time = options_.start_s - 86400;
    return meta;
  }

  objects::Node NodeOf(int64_t n) {
    objects::Node node;
    node.meta = Named(NodeName(n), "");
    for (const auto& [key, value] : pool_.nodes) node.meta.labels.push_back({key, value});
    node.allocatable = {{"cpu", options_.node_cpu_milli},
                        {"memory", options_.node_memory_bytes},
                        {"ephemeral-storage", int64_t{100} << 30},
                        {"pods", 110}};
    node.capacity = node.allocatable;
    node.conditions = {{"Ready", "True"}};
    return node;
  }

  objects::Pod PodOf(int64_t p) {
    objects::Pod pod;
    pod.meta = Named(Keep(fmt::format("{}-{}", kReplicaSet, p)), kNamespace);
    pod.meta.owners = {{.api_version = "apps/v1",
                        .kind = "ReplicaSet",
                        .name = kReplicaSet,
                        .uid = "uid-of-load",
                        .controller = true}};
    for (const auto& [key, value] : pool_.nodes) pod.node_selector.push_back({key, value});
    pod.has_node_selector = true;
    objects::Container container;
    container.name = "c";
    container.requests = {{"cpu", options_.pod_cpu_milli}, {"memory", options_.pod_memory_bytes}};
    pod.containers.push_back(std::move(container));
    return pod;
  }

  const SizedPool& pool_;
  const int64_t nodes_;
  const int64_t pods_;
  const PolicySimulationOptions& options_;
  std::deque<std::string> kept_;
};

// Counts a policy's actions.
class Actions {
 public:
  Actions(int64_t flap_s, PolicySimulationResult& result) : flap_s_(flap_s), result_(result) {}

  void Take(const LoopTurn& turn) {
    for (const PoolTurn& pool : turn.pools) {
      if (pool.grow_to > 0) Act(true, turn.now_s);
      if (pool.leaving > 0) Act(false, turn.now_s);
    }
    for (const std::string& line : turn.log) {
      if (result_.log.size() < kLogMax) result_.log.push_back(line);
    }
  }

 private:
  void Act(bool up, int64_t now_s) {
    ++(up ? result_.grew : result_.shrank);
    const bool turned = has_acted_ && up != was_up_ && now_s - acted_s_ <= flap_s_;
    result_.flaps += turned ? 1 : 0;
    has_acted_ = true;
    was_up_ = up;
    acted_s_ = now_s;
  }

  int64_t flap_s_;
  PolicySimulationResult& result_;
  bool has_acted_ = false;
  bool was_up_ = false;
  int64_t acted_s_ = 0;
};

absl::StatusOr<std::unique_ptr<SimulatedCluster>> MakeCluster(
    const SizedPool& pool, int64_t pods, const PolicySimulationOptions& options) {
  const int64_t fits = std::max<int64_t>(1, FirstCluster::PodsPerNode(options));
  // About 70% full at first, within the bounds.  At least one node, the pattern of the group's
  // machines.
  const int64_t nodes =
      std::clamp<int64_t>((pods * 10 / 7 + fits - 1) / fits, std::max<int64_t>(1, pool.cloud.min),
                          std::max<int64_t>(1, pool.cloud.max));
  FirstCluster first(pool, nodes, std::max<int64_t>(1, pods), options);
  SimulatedClusterOptions cluster;
  cluster.seed = options.seed;
  cluster.start_s = options.start_s;
  cluster.groups_grow = false;
  const std::string group = pool.group.empty() ? pool.name : pool.group;
  return SimulatedCluster::Make([&](ObjectSink& sink) { return first.Show(sink); },
                                [&](const Catalog& catalog) {
                                  NodeGroups groups;
                                  NodeGroup& made = groups.groups.emplace_back();
                                  made.name = group;
                                  made.min_size = pool.cloud.min;
                                  made.max_size = std::max<int64_t>(1, pool.cloud.max);
                                  made.target_size = nodes;
                                  groups.group_of.assign(catalog.nodes(), GroupId{0});
                                  return groups;
                                },
                                cluster);
}

}  // namespace

absl::StatusOr<PolicySimulationResult> SimulatePolicy(const SizedPool& pool, const LoadCurve& load,
                                                      const PolicySimulationOptions& options) {
  auto made = MakeCluster(pool, load.At(0), options);
  if (!made.ok()) return made.status();
  SimulatedCluster& cluster = **made;
  PolicySimulationResult result{
      .pool = pool.name, .policy = pool.policy_name, .nodes_at_first = cluster.nodes()};
  Actions actions(options.flap_s, result);
  PoolSizerOptions sizing;
  sizing.enrich = [&](const SizedPool& of, int64_t now_s, PolicyObservation& seen) {
    seen.signals = Latest(options.signals, of.name, now_s);
    return absl::OkStatus();
  };
  PoolSizer sizer({&pool, 1}, {}, sizing);
  ScaleDownOptions rounds;
  rounds.clock_jump_max_s = 0;
  ScaleDown scale_down(rounds);
  OwnRounds own_rounds(scale_down, cluster);
  Loop loop(own_rounds, cluster,
            {.scan_interval_s = options.scan_s,
             .steps = {},
             .sizer = &sizer,
             .on_turn = [&](const LoopTurn& turn) { actions.Take(turn); }});
  int64_t sample_at_s = 0;
  for (int64_t time_s = 0; time_s < options.duration_s; time_s += options.scan_s) {
    const int64_t now_s = options.start_s + time_s;
    cluster.AdvanceTo(now_s);
    const int64_t wanted = load.At(time_s);
    if (absl::Status s = cluster.Want(kNamespace, kReplicaSet, wanted); !s.ok()) return s;
    loop.Turn(now_s);
    const double hours =
        static_cast<double>(std::min(options.scan_s, options.duration_s - time_s)) / 3600;
    const size_t pending = cluster.PendingPods();
    result.node_hours += static_cast<double>(cluster.nodes()) * hours;
    result.unmet_pod_hours += static_cast<double>(pending) * hours;
    result.nodes_most = std::max(result.nodes_most, cluster.nodes());
    result.pending_most = std::max(result.pending_most, pending);
    if (time_s < sample_at_s) continue;
    sample_at_s += options.sample_every_s;
    result.samples.push_back({time_s, wanted, pending, cluster.nodes()});
  }
  cluster.AdvanceTo(options.start_s + options.duration_s);
  result.nodes_at_last = cluster.nodes();
  result.nodes_added = cluster.counts().nodes_added;
  result.nodes_removed = cluster.counts().nodes_deleted;
  result.evictions = cluster.counts().evictions;
  result.failsafe = sizer.state().pools.front().failsafe;
  if (absl::Status sound = cluster.CheckSound(); !sound.ok()) return sound;
  return result;
}

}  // namespace ebb
