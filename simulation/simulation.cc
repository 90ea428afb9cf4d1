#include "simulation/simulation.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace ebb {
namespace {

double CpuRequested(const ClusterSnapshot& snapshot) {
  double all = 0;
  double free = 0;
  snapshot.alive().ForEach([&](NodeId node) {
    all += static_cast<double>(snapshot.Allocatable(kCpu, node));
    free += static_cast<double>(snapshot.Free(kCpu, node));
  });
  return all > 0 ? (all - free) / all : 0;
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const SimulatedCluster::Read& read,
                                          const SimulatedCluster::GroupsOf& groups_of,
                                          const SimulationOptions& options) {
  absl::StatusOr<std::unique_ptr<SimulatedCluster>> made =
      SimulatedCluster::Make(read, groups_of, options.cluster);
  if (!made.ok()) return made.status();
  SimulatedCluster& cluster = **made;
  SimulationResult result;
  result.nodes_at_first = cluster.nodes();
  SimulationSample sample;
  ScaleDown scale_down(options.scale_down);
  OwnRounds rounds(scale_down, cluster, options.rounds);
  LoopOptions loop_options = options.loop;
  loop_options.on_turn = [&](const LoopTurn& turn) {
    if (options.loop.on_turn != nullptr) options.loop.on_turn(turn);
    if (!turn.round) return;
    ++result.rounds;
    ++result.statuses[static_cast<size_t>(rounds.last()->status)];
    result.timers_lost += rounds.last()->timers_lost;
    sample.unneeded = turn.round->unneeded;
    result.kept_at_last = rounds.last()->unremovable;
  };
  const std::unique_ptr<Market> market =
      options.market != nullptr ? options.market(cluster) : nullptr;
  std::optional<Buyer> buyer;
  if (market != nullptr) loop_options.buyer = &buyer.emplace(*market, options.buying);
  Loop loop(rounds, cluster, loop_options);
  const int64_t begin_s = options.cluster.start_s;
  const int64_t end_s = begin_s + options.duration_s;
  int64_t sample_at_s = begin_s;
  for (int64_t now_s = begin_s; now_s < end_s; now_s += options.loop.scan_interval_s) {
    cluster.AdvanceTo(now_s);
    if (options.scale_down_enabled) loop.Turn(now_s);
    ++result.turns;
    const int64_t span_s = std::min(options.loop.scan_interval_s, end_s - now_s);
    result.node_hours += static_cast<double>(cluster.nodes()) * static_cast<double>(span_s) / 3600;
    if (now_s < sample_at_s) continue;
    sample_at_s += options.sample_every_s;
    sample.time_s = now_s;
    sample.nodes = cluster.nodes();
    sample.in_deletion = cluster.deletions();
    sample.pending = cluster.PendingPods();
    sample.evictions = cluster.counts().evictions;
    sample.cpu_requested = CpuRequested(cluster.Snapshot());
    result.samples.push_back(sample);
    if (options.on_sample != nullptr) options.on_sample(sample);
  }
  cluster.AdvanceTo(end_s);
  result.nodes_at_last = cluster.nodes();
  result.counts = cluster.counts();
  if (absl::Status sound = cluster.CheckSound(); !sound.ok()) return sound;
  return result;
}

}  // namespace ebb
