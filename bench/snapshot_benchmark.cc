// Fork, move, Revert and Commit on uniform clusters of several sizes, and the memory of a cluster.
// An operation in O(1) has the same time at every size.

#include <malloc.h>

#include <string>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "snapshot/builder.h"

namespace ebb::bench {
namespace {

Workload* Uniform(benchmark::State& state, int64_t nodes) {
  return WorkloadOrSkip(state, "uniform:" + std::to_string(nodes));
}

void ForkRevert(benchmark::State& state) {
  Workload* workload = Uniform(state, state.range(0));
  if (workload == nullptr) return;
  for (auto _ : state) {
    workload->snapshot.Fork();
    workload->snapshot.Revert();
  }
}

void ForkRevertWithDevices(benchmark::State& state) {
  Workload* workload = WorkloadOrSkip(state, "devices:" + std::to_string(state.range(0)));
  if (workload == nullptr) return;
  for (auto _ : state) {
    workload->snapshot.Fork();
    workload->snapshot.Revert();
  }
}

// Forks at depth range(2), moves range(1) pods, then commits or reverts.
template <bool kCommit>
void ForkMove(benchmark::State& state) {
  Workload* workload = Uniform(state, state.range(0));
  if (workload == nullptr) return;
  ClusterSnapshot& snapshot = workload->snapshot;
  const int64_t changes = state.range(1);
  const auto depth = static_cast<size_t>(state.range(2));
  const auto nodes = static_cast<uint32_t>(snapshot.nodes());
  while (snapshot.depth() < depth) snapshot.Fork();
  uint32_t next = 0;
  for (auto _ : state) {
    // Now and then undoes everything that was committed, outside the measured time.
    if (kCommit && next >= 100'000) {
      state.PauseTiming();
      while (snapshot.depth() > 0) snapshot.Revert();
      while (snapshot.depth() < depth) snapshot.Fork();
      next = 0;
      state.ResumeTiming();
    }
    snapshot.Fork();
    for (int64_t c = 0; c < changes; ++c, ++next) {
      const PodId pod{next % (nodes * 40)};
      snapshot.MovePod(pod,
                       NodeId{(static_cast<uint32_t>(Index(snapshot.NodeOf(pod))) + 1) % nodes});
    }
    if (kCommit) {
      snapshot.Commit();
    } else {
      snapshot.Revert();
    }
  }
  while (snapshot.depth() > 0) snapshot.Revert();
  // Seconds per moved pod.
  state.counters["per_change"] =
      benchmark::Counter(static_cast<double>(state.iterations() * changes),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Branch(benchmark::State& state) {
  Workload* workload = Uniform(state, state.range(0));
  if (workload == nullptr) return;
  for (auto _ : state) {
    ClusterSnapshot branch = workload->snapshot;
    benchmark::DoNotOptimize(branch.nodes());
  }
}

void AddRemovePod(benchmark::State& state) {
  Workload* workload = Uniform(state, state.range(0));
  if (workload == nullptr) return;
  ClusterSnapshot& snapshot = workload->snapshot;
  const auto pods = static_cast<uint32_t>(snapshot.catalog().pods());
  uint32_t next = 0;
  for (auto _ : state) {
    const PodId pod{next};
    next = (next + 7919) % pods;
    const NodeId node = snapshot.NodeOf(pod);
    snapshot.RemovePod(pod);
    snapshot.AddPod(pod, node);
  }
}

// Passes on everything except pods, which it passes on only if `pods` is true.
class PartSink final : public ObjectSink {
 public:
  PartSink(SnapshotBuilder& builder, bool pods) : builder_(builder), pods_(pods) {}
  absl::Status OnNode(const objects::Node& node) override { return builder_.AddNode(node); }
  absl::Status OnPod(const objects::Pod& pod) override {
    return pods_ ? builder_.AddPod(pod) : absl::OkStatus();
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return pods_ ? builder_.AddPodDisruptionBudget(budget) : absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return pods_ ? builder_.AddController(controller) : absl::OkStatus();
  }
  absl::Status OnNamespace(const objects::Namespace& ns) override {
    return builder_.AddNamespace(ns);
  }

 private:
  SnapshotBuilder& builder_;
  const bool pods_;
};

struct Weight {
  double bytes = 0;
  double nodes = 0;
  double pods = 0;
};

// How much heap memory stays in use after the builder is destroyed.
Weight Weigh(const std::string& name, bool with_pods) {
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  auto builder = std::make_unique<SnapshotBuilder>();
  PartSink sink(*builder, with_pods);
  if (!WriteWorkload(name, sink).ok()) return {};
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(*builder).Build();
  builder.reset();
  if (!snapshot.ok()) return {};
  const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  return {static_cast<double>(after - before), static_cast<double>(snapshot->nodes()),
          static_cast<double>(snapshot->placed_pods())};
}

void Memory(benchmark::State& state, const std::string& name) {
  Weight nodes;
  Weight all;
  for (auto _ : state) {
    nodes = Weigh(name, false);
    all = Weigh(name, true);
  }
  if (nodes.nodes == 0 || all.pods == 0) return state.SkipWithError("cannot be built");
  state.counters["bytes/node"] = nodes.bytes / nodes.nodes;
  state.counters["bytes/pod"] = (all.bytes - nodes.bytes) / all.pods;
  state.counters["MB"] = all.bytes / 1e6;
}

void Build(benchmark::State& state, const std::string& name) {
  double pods = 0;
  for (auto _ : state) pods = Weigh(name, true).pods;
  state.counters["pods/s"] =
      benchmark::Counter(pods, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void RegisterSnapshotRows() {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("BM_Snapshot_ForkRevert", ForkRevert)
      ->ArgName("nodes")
      ->Arg(400)
      ->Arg(5000)
      ->Arg(20000);
  RegisterBenchmark("BM_Snapshot_ForkRevert/devices", ForkRevertWithDevices)
      ->ArgName("nodes")
      ->Arg(2000);
  const std::vector<std::string> names = {"nodes", "changes", "depth"};
  for (const int64_t nodes : {400, 5000, 20000}) {
    auto* const revert = RegisterBenchmark("BM_Snapshot_Revert", ForkMove<false>);
    auto* const commit = RegisterBenchmark("BM_Snapshot_Commit", ForkMove<true>);
    revert->ArgNames(names);
    commit->ArgNames(names);
    for (const int64_t changes : {1, 40}) {
      for (const int64_t depth : {1, 10, 100}) {
        revert->Args({nodes, changes, depth});
        commit->Args({nodes, changes, depth});
      }
    }
  }
  RegisterBenchmark("BM_Snapshot_Branch", Branch)
      ->ArgName("nodes")
      ->Arg(400)
      ->Arg(5000)
      ->Unit(benchmark::kMicrosecond);
  RegisterBenchmark("BM_Snapshot_AddRemovePod", AddRemovePod)
      ->ArgName("nodes")
      ->Arg(400)
      ->Arg(5000);
  for (const std::string name : {"uniform:5000", "mixed:5000"}) {
    RegisterBenchmark(("BM_Snapshot_Memory/" + name).c_str(),
                      [=](benchmark::State& state) { Memory(state, name); })
        ->Iterations(1)
        ->Repetitions(1)
        ->Unit(benchmark::kMillisecond);
    RegisterBenchmark(("BM_Snapshot_Build/" + name).c_str(), [=](benchmark::State& state) {
      Build(state, name);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace ebb::bench
