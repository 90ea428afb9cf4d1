// A cluster that changes (snapshot/live): the first fill, replaced pods, and the memory that a
// LiveSnapshot needs in addition to a snapshot.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel.h"
#include "bench/kubernetes_bytes.h"
#include "bench/rows.h"
#include "bench/timings.h"
#include "bench/workloads.h"
#include "engine/pass/planner.h"
#include "engine/scale_down/round.h"
#include "engine/stable_planner.h"
#include "engine/verify/certified_plan.h"
#include "engine/verify/verify.h"
#include "snapshot/builder_sink.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/change_batch.h"
#include "snapshot/live/live_snapshot.h"
#include "snapshot/objects/any_object_sink.h"

namespace ebb::bench {
namespace {

using benchmark::State;

// Keeps the objects that it receives.
class KeepingSink : public AnyObjectSink {
 public:
  std::vector<UnpackedObject> pods;
  std::vector<UnpackedObject> others;

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    const bool is_pod = std::holds_alternative<const objects::Pod*>(object);
    (is_pod ? pods : others).emplace_back(PackObject(object));
    return absl::OkStatus();
  }
};

absl::Status PutAll(const std::vector<UnpackedObject>& objects, LiveSnapshot& live) {
  for (const UnpackedObject& object : objects) {
    const Change change{.object = object.ref()};
    if (absl::Status s = live.Take({&change, 1}); !s.ok()) return s;
  }
  return absl::OkStatus();
}

void Fill(State& state, const std::string& workload) {
  KeepingSink objects;
  if (absl::Status s = WriteWorkload(workload, objects); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  for (auto _ : state) {
    auto live = std::make_unique<LiveSnapshot>();
    absl::Status put = PutAll(objects.others, *live);
    if (put.ok()) put = PutAll(objects.pods, *live);
    if (!put.ok()) return state.SkipWithError(put.ToString().c_str());
    benchmark::DoNotOptimize(live->Snapshot().nodes());
    state.PauseTiming();
    live.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(objects.pods.size()));
}

// The first fill, from Kubernetes' protobuf: the time includes reading it.
// Reads batches of 1,000 objects on one thread while another takes them, as Sync of the daemon
// does.  With one thread it reads and takes them in turn.
void FillFromProtobuf(State& state, const std::string& workload, size_t threads) {
  constexpr size_t kBatch = 1000;
  const absl::StatusOr<KubernetesBytes> bytes = ToKubernetesBytes(workload);
  if (!bytes.ok()) return state.SkipWithError(bytes.status().ToString().c_str());
  struct Read {
    std::span<const std::string> objects;
    std::unique_ptr<ChangeBatch> batch;
    absl::Status status;
  };
  std::vector<std::span<const std::string>> batches;
  for (const auto* objects : {&bytes->others, &bytes->pods}) {
    for (size_t begin = 0; begin < objects->size(); begin += kBatch) {
      batches.push_back(
          std::span(*objects).subspan(begin).first(std::min(kBatch, objects->size() - begin)));
    }
  }
  const Parallelism parallelism(threads);
  std::vector<std::unique_ptr<ChangeBatch>> unused;  // Their memory is used again.
  for (auto _ : state) {
    auto filled = std::make_unique<LiveSnapshot>();
    LiveSnapshot& live = *filled;
    absl::Status put;
    WorkAhead<Read> ahead(parallelism, [](Read& read) {
      for (const std::string& object : read.objects) {
        read.status.Update(read.batch->PutProtobuf(object));
      }
    });
    const auto take = [&] {
      Read read = ahead.Pop();
      put.Update(read.status);
      put.Update(live.Take(read.batch->changes()));
      read.batch->Clear();
      unused.push_back(std::move(read.batch));
    };
    for (const std::span<const std::string> objects : batches) {
      if (ahead.size() == 2 * threads) take();
      std::unique_ptr<ChangeBatch> batch;
      if (unused.empty()) {
        batch = std::make_unique<ChangeBatch>();
      } else {
        batch = std::move(unused.back());
        unused.pop_back();
      }
      ahead.Push({.objects = objects, .batch = std::move(batch), .status = {}});
    }
    while (ahead.size() > 0) take();
    if (!put.ok()) return state.SkipWithError(put.ToString().c_str());
    benchmark::DoNotOptimize(live.Snapshot().nodes());
    if (live.Pods() != bytes->pods.size()) return state.SkipWithError("pods are missing");
    state.PauseTiming();
    filled.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(bytes->pods.size()));
}

// --- Memory --------------------------------------------------------------------------------

double HeapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// How much more memory a LiveSnapshot of the objects needs than a snapshot of them.
double WeighBeside(const KeepingSink& objects, bool with_pods) {
  const double before = HeapInUse();
  LiveSnapshot live;
  absl::Status put = PutAll(objects.others, live);
  if (put.ok() && with_pods) put = PutAll(objects.pods, live);
  const size_t nodes = live.Snapshot().nodes();
  const double with_live = HeapInUse();
  SnapshotBuilder builder;
  BuilderSink sink(builder);
  put.Update(live.Export(sink));
  const absl::StatusOr<ClusterSnapshot> alone = std::move(builder).Build();
  if (!put.ok() || !alone.ok() || alone->nodes() != nodes) return 0;
  return (with_live - before) - (HeapInUse() - with_live);
}

void Memory(State& state, const std::string& workload) {
  KeepingSink objects;
  if (absl::Status s = WriteWorkload(workload, objects); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  double of_others = 0;
  double of_all = 0;
  for (auto _ : state) {
    of_others = WeighBeside(objects, false);
    of_all = WeighBeside(objects, true);
  }
  double nodes = 0;
  for (const UnpackedObject& object : objects.others) {
    nodes += std::holds_alternative<const objects::Node*>(object.ref()) ? 1 : 0;
  }
  state.counters["bytes/node"] = of_others / nodes;
  state.counters["bytes/pod"] = (of_all - of_others) / static_cast<double>(objects.pods.size());
}

// --- Replaced pods -------------------------------------------------------------------------

// Replaces all pods, one after the other: each is deleted, and a pod with another name and UID is
// created on the same node.
class Churn {
 public:
  absl::Status Start(const std::string& workload) {
    if (absl::Status s = WriteWorkload(workload, objects_); !s.ok()) return s;
    absl::Status put = PutAll(objects_.others, live_);
    if (put.ok()) put = PutAll(objects_.pods, live_);
    (void)live_.Snapshot();
    names_.resize(objects_.pods.size());
    for (size_t p = 0; p < names_.size(); ++p) {
      const objects::ObjectMeta& meta = objects::MetaOf(objects_.pods[p].ref());
      names_[p] = {std::string(meta.name), std::string(meta.uid)};
    }
    return put;
  }

  // The changes that replace the next `pods` pods.  Valid until the next call.
  std::vector<Change>& Next(size_t pods) {
    changes_.clear();
    given_.clear();
    given_.reserve(2 * pods);
    for (size_t i = 0; i < pods; ++i) {
      // Spreads the pods over many nodes and applications.
      next_ = (next_ + 7919) % names_.size();
      auto& [name, uid] = names_[next_];
      const objects::Pod& pod = *std::get<const objects::Pod*>(objects_.pods[next_].ref());
      for (const bool comes : {false, true}) {
        Given& given = *given_.emplace_back(std::make_unique<Given>(Given{pod, name, uid}));
        if (comes) {
          given.name = absl::StrCat("new-pod-", ++made_);
          given.uid = absl::StrCat("new-uid-", made_);
          name = given.name;
          uid = given.uid;
        }
        given.pod.meta.name = given.name;
        given.pod.meta.uid = given.uid;
        changes_.push_back(
            {.type = comes ? Change::Type::kPut : Change::Type::kDelete, .object = &given.pod});
      }
    }
    return changes_;
  }

  size_t pods() const { return names_.size(); }
  LiveSnapshot& live() { return live_; }
  // Rebuilds of the catalog after the first build.
  uint64_t Rebuilds() const { return live_.counts().AllRebuilds() - 1; }

 private:
  struct Given {
    objects::Pod pod;
    std::string name;
    std::string uid;
  };

  KeepingSink objects_;
  LiveSnapshot live_;
  std::vector<std::pair<std::string, std::string>> names_;  // Name and UID of each current pod.
  size_t next_ = 0;
  uint64_t made_ = 0;
  std::vector<Change> changes_;
  std::vector<std::unique_ptr<Given>> given_;
};

// Replaces 1% of the pods.
void ReplacePods(State& state, const std::string& workload) {
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  Timings timings;
  for (auto _ : state) {
    const std::vector<Change>& changes = churn.Next(churn.pods() / 100);
    state.SetIterationTime(timings.Time([&] {
      benchmark::DoNotOptimize(churn.live().Take(changes));
      benchmark::DoNotOptimize(churn.live().Snapshot().placed_pods());
    }));
  }
  timings.Report(state);
  state.counters["rebuilds"] = static_cast<double>(churn.Rebuilds());
}

// Replaces one pod after the other, with a Take() for each; the time is per pod.
void ReplaceOnePod(State& state, const std::string& workload) {
  constexpr size_t kPods = 256;
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  Timings timings;
  for (auto _ : state) {
    const std::vector<Change>& changes = churn.Next(kPods);
    const double seconds = timings.Time([&] {
      for (size_t i = 0; i < changes.size(); i += 2) {
        benchmark::DoNotOptimize(churn.live().Take(std::span(changes).subspan(i, 2)));
        benchmark::DoNotOptimize(churn.live().Snapshot().placed_pods());
      }
    });
    state.SetIterationTime(seconds / kPods);
  }
  state.counters["rebuilds"] = static_cast<double>(churn.Rebuilds());
}

// --- Changes as in real clusters -------------------------------------------------------------

// Makes one change after the other, as they occur in a real cluster; the time is per change.
enum class Happens : uint8_t {
  kKnownShape,  // A pod is replaced by one that differs in name and UID only.
  kNewShape,    // A pod is replaced by one with new labels, as in a rollout or by a Job.
  kBudget,      // A budget for the pods of an application is created, and deleted.
  kNode,        // A node with a new name is created, and deleted.
  kNamespace,   // A namespace is created, and deleted.
};

class CompanyChanges {
 public:
  absl::Status Start(const std::string& workload) {
    if (absl::Status s = WriteWorkload(workload, objects_); !s.ok()) return s;
    absl::Status put = PutAll(objects_.others, live_);
    if (put.ok()) put = PutAll(objects_.pods, live_);
    (void)live_.Snapshot();
    for (const UnpackedObject& object : objects_.others) {
      if (const auto* const node = std::get_if<const objects::Node*>(&object.ref())) {
        nodes_.push_back(*node);
      }
    }
    return put;
  }

  // The next change, and the change that reverts it.
  std::array<Change, 2> Next(Happens what) {
    next_ = (next_ + 7919) % objects_.pods.size();
    text_ = absl::StrCat("made-", ++made_);
    pod_ = *std::get<const objects::Pod*>(objects_.pods[next_].ref());
    if (what == Happens::kBudget) {
      budget_ = objects::PodDisruptionBudget();
      budget_.meta.namespace_name = pod_.meta.namespace_name;
      budget_.meta.name = text_;
      budget_.selector = {.nil = false, .match_labels = pod_.meta.labels, .match_expressions = {}};
      return PutAndDelete(&budget_);
    }
    if (what == Happens::kNode) {
      node_ = *nodes_[next_ % nodes_.size()];
      node_.meta.name = text_;
      node_.meta.uid = text_;
      for (auto& [key, value] : node_.meta.labels) {
        if (key == "kubernetes.io/hostname") value = text_;
      }
      return PutAndDelete(&node_);
    }
    if (what == Happens::kNamespace) {
      namespace_ = objects::Namespace();
      namespace_.meta.name = text_;
      namespace_.meta.labels = {{"kubernetes.io/metadata.name", text_}};
      return PutAndDelete(&namespace_);
    }
    pod_.meta.name = text_;
    pod_.meta.uid = text_;
    if (what == Happens::kNewShape) SetLabel("pod-template-hash", text_, pod_.meta.labels);
    return PutAndDelete(&pod_);
  }

  LiveSnapshot& live() { return live_; }

 private:
  static void SetLabel(objects::Text key, objects::Text value,
                       std::vector<objects::KeyValue>& labels) {
    const auto label = std::ranges::find(labels, key, &objects::KeyValue::key);
    label == labels.end() ? void(labels.push_back({key, value})) : void(label->value = value);
  }

  static std::array<Change, 2> PutAndDelete(const objects::ObjectRef& object) {
    return {Change{.type = Change::Type::kPut, .object = object},
            Change{.type = Change::Type::kDelete, .object = object}};
  }

  KeepingSink objects_;
  LiveSnapshot live_;
  std::vector<const objects::Node*> nodes_;
  size_t next_ = 0;
  uint64_t made_ = 0;
  std::string text_;
  objects::Pod pod_;
  objects::PodDisruptionBudget budget_;
  objects::Node node_;
  objects::Namespace namespace_;
};

void OneChange(State& state, const std::string& workload, Happens what) {
  CompanyChanges changes;
  if (absl::Status s = changes.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  LiveSnapshot& live = changes.live();
  const uint64_t before = live.counts().AllRebuilds();
  Timings timings;
  for (auto _ : state) {
    const std::array<Change, 2> both = changes.Next(what);
    const double seconds = timings.Time([&] {
      for (const Change& change : both) {
        if (!live.Take({&change, 1}).ok()) return state.SkipWithError("a change is refused");
        benchmark::DoNotOptimize(live.Snapshot().placed_pods());
      }
    });
    state.SetIterationTime(seconds / 2);
  }
  timings.Report(state);
  state.counters["rebuilds"] = static_cast<double>(live.counts().AllRebuilds() - before);
  state.counters["shapes"] = static_cast<double>(live.Snapshot().catalog().pod_shapes());
  state.counters["tables"] = static_cast<double>(live.Snapshot().catalog().tables().size());
  state.counters["budgets"] = static_cast<double>(live.Snapshot().catalog().pdbs().size());
}

// All nodes of the cluster in one group, which may shrink to nothing.
NodeGroups OneGroup(LiveSnapshot& live) {
  NodeGroups groups;
  groups.groups.resize(1);
  groups.groups[0].target_size = static_cast<int64_t>(live.Snapshot().alive().Count());
  groups.group_of.assign(live.Snapshot().catalog().nodes(), GroupId{0});
  return groups;
}

// The question of the rows of stable plans, which verify as their planners say.
PlanRequest UnverifiedRequest() {
  PlanRequest request;
  request.pass.now_s = int64_t{1} << 31;
  request.verify = false;
  return request;
}

// Replaces 1% of the pods, then runs a round of a planner whose set of unneeded nodes has become
// stable.  No node's unneeded time is over.
void ReplaceAndRound(State& state, const std::string& workload) {
  constexpr int64_t kInterval = 10;  // Seconds.
  constexpr int kRoundsBefore = 150;
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  LiveSnapshot& live = churn.live();
  NodeGroups groups = OneGroup(live);
  groups.groups[0].scale_down_unneeded_time_s = int64_t{1} << 31;
  ScaleDown scale_down({});
  RoundInput input;
  input.now_s = int64_t{1} << 31;
  Timings timings;
  size_t unneeded = 0;
  const auto round = [&](const std::vector<Change>& changes) {
    input.now_s += kInterval;
    return timings.Time([&] {
      benchmark::DoNotOptimize(live.Take(changes));
      unneeded = scale_down.Round(live.Snapshot(), groups, input).value().unneeded.size();
    });
  };
  for (int r = 0; r < kRoundsBefore; ++r) round(churn.Next(churn.pods() / 100));
  timings = Timings();
  for (auto _ : state) state.SetIterationTime(round(churn.Next(churn.pods() / 100)));
  if (unneeded == 0) return state.SkipWithError("no node is unneeded");
  timings.Report(state);
  state.counters["unneeded"] = static_cast<double>(unneeded);
  state.counters["rebuilds"] = static_cast<double>(churn.Rebuilds());
}

// Replaces 1% of the pods, then makes a pass.
void ReplaceAndPlan(State& state, const std::string& workload) {
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  LiveSnapshot& live = churn.live();
  NodeGroups groups;
  groups.groups.resize(1);
  groups.group_of.assign(live.Snapshot().catalog().nodes(), GroupId{0});
  std::vector<NodeId> candidates;
  live.Snapshot().alive().ForEach([&](NodeId node) { candidates.push_back(node); });
  PassInput input;
  input.now_s = int64_t{1} << 31;
  input.candidates = candidates;
  Planner planner(PlannerOptions{});
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<Change>& changes = churn.Next(churn.pods() / 100);
    state.ResumeTiming();
    benchmark::DoNotOptimize(live.Take(changes));
    const absl::StatusOr<Plan> plan = planner.Pass(live.Snapshot(), groups, input);
    if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
  }
  state.counters["rebuilds"] = static_cast<double>(churn.Rebuilds());
}

// Replaces 1% of the pods, then makes a stable plan, which is verified whole and compared with the
// greedy plan each tenth time.
void ReplaceAndKeepPlan(State& state, const std::string& workload) {
  constexpr int kPlansBefore = 30;
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  LiveSnapshot& live = churn.live();
  const NodeGroups groups = OneGroup(live);
  StablePlanner planner;
  const PlanRequest request = UnverifiedRequest();
  Timings timings;
  double kept = 0;
  double removes = 0;
  const auto plan = [&](const std::vector<Change>& changes) {
    return timings.Time([&] {
      benchmark::DoNotOptimize(live.Take(changes));
      const StablePlan made = planner.Make(live.Snapshot(), groups, request).value();
      kept += static_cast<double>(made.kept);
      removes += static_cast<double>(made.made->plan.remove.size());
    });
  };
  for (int r = 0; r < kPlansBefore; ++r) plan(churn.Next(churn.pods() / 100));
  timings = Timings();
  kept = removes = 0;
  for (auto _ : state) state.SetIterationTime(plan(churn.Next(churn.pods() / 100)));
  timings.Report(state);
  state.counters["removes"] = benchmark::Counter(removes, benchmark::Counter::kAvgIterations);
  state.counters["kept_share"] = removes == 0 ? 0 : kept / removes;
}

// Replaces 1% of the pods, makes a stable plan, and verifies it.  The time is that of the
// certificates (certified_plan.h); the counter `whole_cpu_ms` is that of the whole verifier.
void ReplaceAndVerify(State& state, const std::string& workload) {
  constexpr int kPlansBefore = 5;
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  LiveSnapshot& live = churn.live();
  const NodeGroups groups = OneGroup(live);
  StablePlanner planner;
  PlanCertificates certificates;
  const PlanRequest request = UnverifiedRequest();
  Timings timings;
  double whole_ms = 0;
  double held = 0;
  double checked = 0;
  double not_covered = 0;
  const auto verify = [&] {
    if (!live.Take(churn.Next(churn.pods() / 100)).ok()) return 0.0;
    ClusterSnapshot& snapshot = live.Snapshot();
    const StablePlan plan = planner.Make(snapshot, groups, request).value();
    PlanRequest asked = request;
    if (plan.destinations) asked.pass.destinations = &*plan.destinations;
    const PassInput input = LastPassInput(asked, *plan.made);
    CertifiedPart part;
    const double seconds = timings.Time([&] {
      part = certificates.Check(snapshot, groups, request.planner, input, plan.made->plan).value();
    });
    const double before_ms = ThreadCpuMs();
    benchmark::DoNotOptimize(Verify(snapshot, groups, request.planner, input, plan.made->plan));
    whole_ms += ThreadCpuMs() - before_ms;
    held += static_cast<double>(part.held);
    checked += static_cast<double>(part.checked);
    if (part.not_covered) {
      not_covered += 1;
      if (!certificates.Certify(snapshot, groups, request.planner, input, plan.made->plan).ok()) {
        state.SkipWithError("the plan is refused");
      }
    }
    return seconds;
  };
  for (int r = 0; r < kPlansBefore; ++r) verify();
  timings = Timings();
  whole_ms = held = checked = not_covered = 0;
  for (auto _ : state) state.SetIterationTime(verify());
  timings.Report(state);
  using benchmark::Counter;
  state.counters["whole_cpu_ms"] = Counter(whole_ms, Counter::kAvgIterations);
  state.counters["held"] = Counter(held, Counter::kAvgIterations);
  state.counters["checked"] = Counter(checked, Counter::kAvgIterations);
  state.counters["not_covered"] = Counter(not_covered, Counter::kAvgIterations);
}

}  // namespace

void RegisterLiveRows(const std::vector<std::string>& changed) {
  using benchmark::RegisterBenchmark;
  const auto add = [](const std::string& kind, const std::string& workload, auto row) {
    return RegisterBenchmark(("BM_Live_" + kind + "/" + workload).c_str(),
                             [=](State& state) { row(state, workload); })
        ->Unit(benchmark::kMillisecond);
  };
  for (const std::string workload : {"uniform:5000", "mixed:5000"}) {
    add("Fill", workload, Fill);
    add("Fill", workload + "/protobuf",
        [=](State& state, const std::string&) { FillFromProtobuf(state, workload, 1); });
    add("Fill", workload + "/protobuf/threads:2", [=](State& state, const std::string&) {
      FillFromProtobuf(state, workload, 2);
    })->UseRealTime();
    add("Memory", workload, Memory)->Iterations(1)->Repetitions(1);
    add("Churn", workload, ReplacePods)->UseManualTime();
    add("ChurnAndPass", workload, ReplaceAndPlan);
    add("ChurnAndRound", workload, ReplaceAndRound)->UseManualTime()->Iterations(300);
    add("ChurnAndStablePlan", workload, ReplaceAndKeepPlan)->UseManualTime()->Iterations(100);
  }
  for (const std::string workload : {"uniform:5000", "mixed:5000", "company:5000"}) {
    add("ChurnAndCertificates", workload, ReplaceAndVerify)->UseManualTime()->Iterations(40);
  }
  for (const std::string& workload : changed) {
    for (const auto& [name, what] :
         {std::pair("KnownShape", Happens::kKnownShape), std::pair("NewShape", Happens::kNewShape),
          std::pair("Budget", Happens::kBudget), std::pair("Node", Happens::kNode),
          std::pair("Namespace", Happens::kNamespace)}) {
      add(absl::StrCat("CompanyChurn/", name), workload,
          [what](State& state, const std::string& of) { OneChange(state, of, what); })
          ->UseManualTime();
    }
  }
  for (const std::string workload : {"mixed:5000", "mixed:50000"}) {
    add("OnePod", workload, ReplaceOnePod)->UseManualTime()->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace ebb::bench
