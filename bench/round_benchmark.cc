// One round of the planner over time, as a loop of 10 seconds makes them.
//
// Unchanged: the same snapshot again.
// Churn:     the same after 1% of the pods went from their node to the next one.
// Each has run until the set of unneeded nodes stands.  Rounds differ (every five
// minutes nodes found unremovable are tried again), so p50 and p99 are given.

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "engine/round.h"

namespace ebb::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kInterval = 10;  // Seconds from round to round.
constexpr int kRoundsBefore = 150;

// Every 100th pod to the next node that has room.  Undone by Revert.
void MovePods(ClusterSnapshot& snapshot, uint32_t offset) {
  for (uint32_t p = offset % 100; p < snapshot.catalog().pods(); p += 100) {
    const NodeId from = snapshot.NodeOf(PodId{p});
    if (from == kNoNode) continue;
    const NodeId to = snapshot.NodeAt((snapshot.PositionOf(from) + 1) % snapshot.nodes());
    if (to != from && snapshot.Free(kCpu, to) >= 2000) snapshot.MovePod(PodId{p}, to);
  }
}

double Percentile(std::vector<double>& sorted_ms, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted_ms.size() - 1));
  return sorted_ms[at];
}

void Rounds(benchmark::State& state, const std::string& name, bool churn) {
  absl::StatusOr<Workload*> workload = GetWorkload(name);
  if (!workload.ok()) {
    state.SkipWithError(workload.status().ToString().c_str());
    return;
  }
  ClusterSnapshot& snapshot = (*workload)->snapshot;
  // Nothing is deleted here, so nothing may be due: a round that starts a deletion
  // also verifies its plan.  (A group's own time does not change the unneeded limit.)
  NodeGroups groups = (*workload)->groups;
  for (NodeGroup& group : groups.groups) group.scale_down_unneeded_time_s = int64_t{1} << 40;
  ScaleDown scale_down({});
  RoundInput input;
  input.now_s = (*workload)->now_s;
  for (int round = 0; round < kRoundsBefore; ++round, input.now_s += kInterval) {
    scale_down.Round(snapshot, groups, input);
  }
  std::vector<double> took_ms;
  size_t unneeded = 0;
  uint32_t round = 0;
  for (auto _ : state) {
    input.now_s += kInterval;
    snapshot.Fork();
    if (churn) MovePods(snapshot, ++round);
    const Clock::time_point begin = Clock::now();
    unneeded = scale_down.Round(snapshot, groups, input).unneeded.size();
    const double took_s = std::chrono::duration<double>(Clock::now() - begin).count();
    snapshot.Revert();
    state.SetIterationTime(took_s);
    took_ms.push_back(took_s * 1e3);
  }
  std::sort(took_ms.begin(), took_ms.end());
  state.counters["p50_ms"] = Percentile(took_ms, 0.50);
  state.counters["p99_ms"] = Percentile(took_ms, 0.99);
  state.counters["max_ms"] = took_ms.back();
  state.counters["unneeded"] = static_cast<double>(unneeded);
}

}  // namespace

void RegisterRoundRows(const std::vector<std::string>& names) {
  const auto add = [](const std::string& row, const std::string& name, bool churn) {
    benchmark::RegisterBenchmark((row + "/" + name).c_str(),
                                 [=](benchmark::State& state) { Rounds(state, name, churn); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(300);
  };
  for (const std::string& name : names) {
    add("BM_ScaleDown_RoundUnchanged", name, false);
    add("BM_ScaleDown_RoundChurn", name, true);
  }
}

}  // namespace ebb::bench
