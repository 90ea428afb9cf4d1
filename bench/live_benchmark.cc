// A cluster whose objects come and go (snapshot/live): the first fill, and pods that are
// replaced by new ones.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/rows.h"
#include "bench/workloads.h"
#include "engine/planner.h"
#include "snapshot/any_object_sink.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/live_snapshot.h"

namespace ebb::bench {
namespace {

using benchmark::State;

// Keeps what it is given.
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
    LiveSnapshot live;
    absl::Status put = PutAll(objects.others, live);
    if (put.ok()) put = PutAll(objects.pods, live);
    if (!put.ok()) return state.SkipWithError(put.ToString().c_str());
    benchmark::DoNotOptimize(live.Snapshot().nodes());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(objects.pods.size()));
}

// Pods that are replaced, one after the other all of them: each goes, and one with another
// name and UID comes on the same node.
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

  // The changes of the next `pods` pods.  Valid until the next call.
  std::vector<Change>& Next(size_t pods) {
    changes_.clear();
    given_.clear();
    given_.reserve(2 * pods);
    for (size_t i = 0; i < pods; ++i) {
      // Pods of many nodes and applications.
      next_ = (next_ + 7919) % names_.size();
      auto& [name, uid] = names_[next_];
      const objects::Pod& pod = *std::get<const objects::Pod*>(objects_.pods[next_].ref());
      for (const bool comes : {false, true}) {
        Given& given = *given_.emplace_back(std::make_unique<Given>(Given{pod, name, uid}));
        if (comes) {
          given.name = absl::StrCat("pod-", ++made_);
          given.uid = absl::StrCat("uid-", made_);
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
  // That were not the first.
  uint64_t Rebuilds() const { return live_.counts().AllRebuilds() - 1; }

 private:
  struct Given {
    objects::Pod pod;
    std::string name;
    std::string uid;
  };

  KeepingSink objects_;
  LiveSnapshot live_;
  std::vector<std::pair<std::string, std::string>> names_;  // And UIDs of the pods there are.
  size_t next_ = 0;
  uint64_t made_ = 0;
  std::vector<Change> changes_;
  std::vector<std::unique_ptr<Given>> given_;
};

// `pods` of them, or 1% of all.
void ReplacePods(State& state, const std::string& workload, size_t pods) {
  Churn churn;
  if (absl::Status s = churn.Start(workload); !s.ok()) {
    return state.SkipWithError(s.ToString().c_str());
  }
  if (pods == 0) pods = churn.pods() / 100;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<Change>& changes = churn.Next(pods);
    state.ResumeTiming();
    benchmark::DoNotOptimize(churn.live().Take(changes));
    benchmark::DoNotOptimize(churn.live().Snapshot().placed_pods());
  }
  state.counters["rebuilds"] = static_cast<double>(churn.Rebuilds());
}

// 1% of the pods, and then a pass.
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

}  // namespace

void RegisterLiveRows() {
  using benchmark::RegisterBenchmark;
  for (const std::string workload : {"uniform:5000", "mixed:5000"}) {
    RegisterBenchmark(("BM_Live_Fill/" + workload).c_str(), [=](State& state) {
      Fill(state, workload);
    })->Unit(benchmark::kMillisecond);
    RegisterBenchmark(("BM_Live_Churn/" + workload).c_str(), [=](State& state) {
      ReplacePods(state, workload, 0);
    })->Unit(benchmark::kMillisecond);
    RegisterBenchmark(("BM_Live_ChurnAndPass/" + workload).c_str(), [=](State& state) {
      ReplaceAndPlan(state, workload);
    })->Unit(benchmark::kMillisecond);
  }
  for (const std::string workload : {"mixed:5000", "mixed:50000"}) {
    RegisterBenchmark(("BM_Live_OnePod/" + workload).c_str(), [=](State& state) {
      ReplacePods(state, workload, 1);
    })->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace ebb::bench
