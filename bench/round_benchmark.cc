// One round of a planner that runs over time, as in a loop with an interval of 10 seconds.
//
// Unchanged: the same snapshot in every round.
// Churn:     in each round 1% of the pods have moved from their node to the next one.
// Second:    the second round after a planner's start.
// Unchanged and Churn run until the set of unneeded nodes is stable, before they measure.  Rounds
// differ (every five minutes nodes found unremovable are tried again), so p50, p99 and max are
// reported: of the time that passed, and of the thread's CPU time (cpu_*), which varies less on a
// busy machine.

#include <string>
#include <vector>

#include "bench/rows.h"
#include "bench/timings.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "engine/scale_down/round.h"

namespace ebb::bench {
namespace {

constexpr int64_t kInterval = 10;  // Seconds between rounds.
constexpr int kRoundsBefore = 150;

// Groups in which no node is ever deleted, because a round that starts a deletion also verifies
// its plan.  (A group's own unneeded time does not change the unneeded limit.)
NodeGroups NeverDue(const Workload& workload) {
  NodeGroups groups = workload.groups;
  for (NodeGroup& group : groups.groups) group.scale_down_unneeded_time_s = int64_t{1} << 31;
  return groups;
}

void Rounds(benchmark::State& state, const std::string& name, bool churn) {
  Workload* const workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  ClusterSnapshot& snapshot = workload->snapshot;
  const NodeGroups groups = NeverDue(*workload);
  ScaleDown scale_down({});
  RoundInput input;
  input.now_s = workload->now_s;
  for (int round = 0; round < kRoundsBefore; ++round, input.now_s += kInterval) {
    scale_down.Round(snapshot, groups, input).value();
  }
  Timings timings;
  size_t unneeded = 0;
  uint32_t round = 0;
  for (auto _ : state) {
    input.now_s += kInterval;
    ClusterSnapshot churned = snapshot;
    if (churn) ChurnPods(churned, ++round);
    ClusterSnapshot& asked = churn ? churned : snapshot;
    state.SetIterationTime(timings.Time(
        [&] { unneeded = scale_down.Round(asked, groups, input).value().unneeded.size(); }));
  }
  timings.Report(state);
  state.counters["unneeded"] = static_cast<double>(unneeded);
}

void SecondRound(benchmark::State& state, const std::string& name) {
  Workload* const workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  ClusterSnapshot& snapshot = workload->snapshot;
  const NodeGroups groups = NeverDue(*workload);
  ScaleDownOptions options;
  options.unneeded_limit = false;  // The first round already judges every node.
  Timings timings;
  size_t unneeded = 0;
  for (auto _ : state) {
    ScaleDown scale_down(options);
    RoundInput input;
    input.now_s = workload->now_s;
    scale_down.Round(snapshot, groups, input).value();
    input.now_s += kInterval;
    state.SetIterationTime(timings.Time(
        [&] { unneeded = scale_down.Round(snapshot, groups, input).value().unneeded.size(); }));
  }
  timings.Report(state);
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
    benchmark::RegisterBenchmark(("BM_ScaleDown_RoundSecond/" + name).c_str(),
                                 [=](benchmark::State& state) { SecondRound(state, name); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(10);
  }
}

}  // namespace ebb::bench
