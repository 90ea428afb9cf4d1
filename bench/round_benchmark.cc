// One round of the planner over time, as a loop of 10 seconds makes them.
//
// Unchanged: the same snapshot again.
// Churn:     the same after 1% of the pods went from their node to the next one.
// Second:    the second round of a planner that starts.
// The first two have run until the set of unneeded nodes stands.  Rounds differ (every
// five minutes nodes found unremovable are tried again), so p50, p99 and max are given:
// by the clock, and as the thread's CPU time (cpu_*), which a busy machine spoils less.

#include <string>
#include <vector>

#include "bench/rows.h"
#include "bench/timings.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "engine/scale_down/round.h"

namespace ebb::bench {
namespace {

constexpr int64_t kInterval = 10;  // Seconds from round to round.
constexpr int kRoundsBefore = 150;

// Nothing is deleted here, so nothing may be due: a round that starts a deletion also
// verifies its plan.  (A group's own time does not change the unneeded limit.)
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
  options.unneeded_limit = false;  // Every node is judged in the first round already.
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
