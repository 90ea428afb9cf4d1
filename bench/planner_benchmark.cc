// One planner pass over every node in input order, without a limit.
//
// ColdPass:   a new planner each time; the snapshot is loaded, and one pass was made before.
// Verify:     verifies the plan of a cold pass, for clusters of up to 5,000 nodes.
// SecondPass: the pass after a cold one, on the unchanged snapshot, at a time when nodes found
//             unremovable are tried again.  (While the recheck cache is full a pass has almost
//             nothing to do, so its time would mean nothing.)
// LaterPass:  like SecondPass after 20 passes, when hints and pointer have mostly settled.
// ChurnPass:  like SecondPass after 1% of the pods moved from their node to the next one.

#include <sys/resource.h>

#include <chrono>
#include <string>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "engine/pass/planner.h"
#include "engine/verify/verify.h"

namespace ebb::bench {
namespace {

using Clock = std::chrono::steady_clock;

double PeakRssMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

PassInput InputOf(const Workload& workload, int64_t now_s) {
  PassInput input;
  input.now_s = now_s;
  input.candidates = workload.candidates;
  input.pending = workload.pending;
  return input;
}

Plan RunPass(Planner& planner, Workload& workload, int64_t now_s) {
  return planner.Pass(workload.snapshot, workload.groups, InputOf(workload, now_s)).value();
}

void CountPlan(benchmark::State& state, const Workload& workload, const Plan& plan) {
  size_t moved = 0;
  for (const RemovableNode& node : plan.remove) moved += node.moves.size();
  const auto nodes = static_cast<double>(workload.candidates.size());
  state.counters["nodes/s"] =
      benchmark::Counter(nodes, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["pods"] = static_cast<double>(workload.snapshot.placed_pods());
  state.counters["moved"] = static_cast<double>(moved);
  state.counters["removed"] = static_cast<double>(plan.remove.size());
  state.counters["peak_rss_MB"] = PeakRssMb();
}

void ColdPass(benchmark::State& state, const std::string& name) {
  Workload* workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  Planner warm_up{PlannerOptions()};
  Plan plan = RunPass(warm_up, *workload, workload->now_s);
  for (auto _ : state) {
    Planner planner{PlannerOptions()};
    plan = RunPass(planner, *workload, workload->now_s);
  }
  CountPlan(state, *workload, plan);
}

void VerifyPlan(benchmark::State& state, const std::string& name) {
  constexpr size_t kNodesMax = 5000;
  Workload* workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  if (workload->candidates.size() > kNodesMax) {
    return state.SkipWithError("has more than 5,000 nodes");
  }
  Planner planner{PlannerOptions()};
  const Plan plan = RunPass(planner, *workload, workload->now_s);
  for (auto _ : state) {
    const absl::Status status = Verify(workload->snapshot, workload->groups, planner.options(),
                                       InputOf(*workload, workload->now_s), plan);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  CountPlan(state, *workload, plan);
}

int64_t BeyondRecheck(const Planner& planner) {
  return planner.options().unremovable_node_recheck_timeout_s + 1;
}

void SecondPass(benchmark::State& state, const std::string& name) {
  Workload* workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  Plan plan;
  for (auto _ : state) {
    Planner planner{PlannerOptions()};
    RunPass(planner, *workload, workload->now_s);
    const Clock::time_point begin = Clock::now();
    plan = RunPass(planner, *workload, workload->now_s + BeyondRecheck(planner));
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  CountPlan(state, *workload, plan);
}

void LaterPass(benchmark::State& state, const std::string& name) {
  constexpr int kPassesBefore = 20;
  Workload* workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  Planner planner{PlannerOptions()};
  int64_t now_s = workload->now_s;
  for (int pass = 0; pass < kPassesBefore; ++pass, now_s += BeyondRecheck(planner)) {
    RunPass(planner, *workload, now_s);
  }
  const uint64_t repeated = planner.repeated_passes();
  Plan plan;
  for (auto _ : state) {
    plan = RunPass(planner, *workload, now_s);
    now_s += BeyondRecheck(planner);
  }
  CountPlan(state, *workload, plan);
  state.counters["repeated"] =
      benchmark::Counter(static_cast<double>(planner.repeated_passes() - repeated),
                         benchmark::Counter::kAvgIterations);
}

void ChurnPass(benchmark::State& state, const std::string& name) {
  Workload* workload = WorkloadOrSkip(state, name);
  if (workload == nullptr) return;
  Planner planner{PlannerOptions()};
  int64_t now_s = workload->now_s;
  Plan plan = RunPass(planner, *workload, now_s);
  uint32_t round = 0;
  for (auto _ : state) {
    now_s += BeyondRecheck(planner);
    workload->snapshot.Fork();
    ChurnPods(workload->snapshot, ++round);
    const Clock::time_point begin = Clock::now();
    plan = RunPass(planner, *workload, now_s);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
    workload->snapshot.Revert();
  }
  CountPlan(state, *workload, plan);
}

}  // namespace

Workload* WorkloadOrSkip(benchmark::State& state, const std::string& name) {
  absl::StatusOr<Workload*> workload = GetWorkload(name);
  if (workload.ok()) return *workload;
  state.SkipWithError(workload.status().ToString().c_str());
  return nullptr;
}

void RegisterPlannerRows(const std::vector<std::string>& names) {
  const auto add = [](const std::string& row, const std::string& name, auto run) {
    return benchmark::RegisterBenchmark((row + "/" + name).c_str(),
                                        [=](benchmark::State& state) { run(state, name); })
        ->Unit(benchmark::kMillisecond);
  };
  for (const std::string& name : names) {
    add("BM_Planner_ColdPass", name, ColdPass)->UseRealTime();
    add("BM_Planner_Verify", name, VerifyPlan)->UseRealTime();
    add("BM_Planner_SecondPass", name, SecondPass)->UseManualTime();
    add("BM_Planner_LaterPass", name, LaterPass)->UseRealTime();
    add("BM_Planner_ChurnPass", name, ChurnPass)->UseManualTime();
  }
}

}  // namespace ebb::bench
