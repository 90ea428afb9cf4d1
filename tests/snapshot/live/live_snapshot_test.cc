#include "snapshot/live/live_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pass/planner.h"
#include "predicates/filters.h"
#include "snapshot/builder_sink.h"
#include "snapshot/devices.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/objects/any_object_sink.h"
#include "tests/engine/planning.h"
#include "tests/support/live_twin.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::live_snapshot_test {
namespace {

using test::Budget;
using test::Node;
using test::Pod;
using test::Select;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

#ifdef NDEBUG
constexpr int kSteps = 5'000;
constexpr int kPutsOfOnePod = 1'000'000;
#else
constexpr int kSteps = 1'500;
constexpr int kPutsOfOnePod = 100'000;
#endif

TEST(LiveSnapshotTest, EqualsAnImportOfTheObjects) {
  const uint64_t seed = test::RandomSeed();
  test::LiveTwin twin(seed, test::LiveTwin::Uids::kAsGiven, {.match_os = true});
  test::Dice dice(seed + 1);
  const LiveSnapshot& live = twin.live();
  int in_place = 0;  // How many comparisons had no rebuild before them.
  uint64_t rebuilds = 0;
  for (int step = 0; step < kSteps; ++step) {
    twin.Step();
    if (!dice.Percent(20)) continue;
    ASSERT_EQ(twin.Compare(), "") << "at step " << step;
    in_place += rebuilds == live.counts().AllRebuilds() ? 1 : 0;
    rebuilds = live.counts().AllRebuilds();
  }
  EXPECT_GT(in_place, kSteps / 50);
  // Other causes need more shapes, nodes or budgets, or larger amounts.
  for (const RebuildCause cause : {RebuildCause::kFirst, RebuildCause::kNode, RebuildCause::kShape,
                                   RebuildCause::kNamespace}) {
    EXPECT_GT(live.counts().rebuilds[static_cast<size_t>(cause)], 0U) << ToString(cause);
  }
  EXPECT_GT(live.counts().storage_rebuilds, 0U);
}

TEST(LiveSnapshotTest, EqualsASnapshotWithOtherSymbols) {
  const uint64_t seed = test::RandomSeed();
  test::LiveTwin twin(seed, test::LiveTwin::Uids::kAsGiven,
                      {.renew_texts = true, .texts_kept = 0, .match_os = true});
  test::Dice dice(seed + 1);
  for (int step = 0; step < kSteps; ++step) {
    twin.Step();
    if (dice.Percent(20)) {
      ASSERT_EQ(twin.Compare(), "") << "at step " << step;
    }
  }
  EXPECT_GT(twin.live().counts().renewals, 0U);
}

// How many comparisons had no rebuild before them, of `steps` steps.
int CompareWithDevices(test::LiveTwin& twin, test::Dice& dice, int steps) {
  int in_place = 0;
  uint64_t rebuilds = 0;
  std::optional<LiveBranch> reader;  // Reads an older version.
  std::string read;
  for (int step = 0; step < steps; ++step) {
    twin.Step();
    if (!dice.Percent(40)) continue;
    const std::string difference = twin.Compare();
    EXPECT_EQ(difference, "") << "at step " << step;
    if (!difference.empty()) return in_place;
    if (reader) {
      EXPECT_EQ(test::DescribeCluster(reader->Snapshot(), reader->Pending()), read);
      reader.reset();
    } else if (dice.Percent(20)) {
      reader.emplace(twin.live().Branch());
      read = test::DescribeCluster(reader->Snapshot(), reader->Pending());
    }
    in_place += rebuilds == twin.live().counts().AllRebuilds() ? 1 : 0;
    rebuilds = twin.live().counts().AllRebuilds();
  }
  return in_place;
}

TEST(LiveSnapshotTest, EqualsAnImportOfTheObjectsWithDevices) {
  const uint64_t seed = test::RandomSeed();
  for (uint64_t run = 0; run < 3 && !HasFailure(); ++run) {
    LiveSnapshot::Options options;
    if (run == 2) options.renew_texts = true, options.texts_kept = 0;
    test::LiveTwin twin(seed + run, test::LiveTwin::Uids::kAsGiven, options,
                        test::LiveTwin::Devices::kSome);
    test::Dice dice(seed + run + 1);
    EXPECT_GT(CompareWithDevices(twin, dice, kSteps / 3), kSteps / 300) << "run " << run;
  }
}

// Objects as text.
class PackingSink : public AnyObjectSink {
 public:
  std::string text;

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    absl::StrAppend(&text, PackObject(object), "\n");
    return absl::OkStatus();
  }
};

// The objects that a cluster exports, as text.
std::string Exported(LiveSnapshot& live) {
  PackingSink sink;
  EXPECT_TRUE(live.Export(sink).ok());
  return sink.text;
}

TEST(LiveSnapshotTest, ExportOneGivesEachObjectThatExportGivesAndNoOther) {
  // Compares each object that it receives with what ExportOne gives of its name.
  class ComparingSink : public AnyObjectSink {
   public:
    ComparingSink(LiveSnapshot& live, bool is_exported) : live_(live), is_exported_(is_exported) {}
    int count = 0;

   protected:
    absl::Status OnObject(const objects::ObjectRef& object) override {
      PackingSink one;
      EXPECT_TRUE(live_.ExportOne(object, one).ok());
      EXPECT_EQ(one.text, is_exported_ ? PackObject(object) + "\n" : "");
      ++count;
      return absl::OkStatus();
    }

   private:
    LiveSnapshot& live_;
    const bool is_exported_;
  };
  test::LiveTwin twin(test::RandomSeed());
  for (int step = 0; step < 500; ++step) twin.Step();
  ComparingSink exported(twin.live(), /*is_exported=*/true);
  ASSERT_TRUE(twin.live().Export(exported).ok());
  EXPECT_GT(exported.count, 10);
  ComparingSink left_out(twin.live(), /*is_exported=*/false);
  ASSERT_TRUE(twin.live().ExportLeftOut(left_out).ok());
  PackingSink none;
  const Pod unknown("unknown");
  const Node node("unknown");
  EXPECT_TRUE(twin.live().ExportOne(&unknown.raw, none).ok());
  EXPECT_TRUE(twin.live().ExportOne(&node.raw, none).ok());
  EXPECT_EQ(none.text, "");
}

// Symptom: if the cluster was read while a node was away, the node's pods were in another order
// after it came back, so that two clusters with the same changes gave different plans.
TEST(LiveSnapshotTest, TheSnapshotDependsOnTheChangesAndNotOnWhenItIsRead) {
  constexpr int kHistories = kSteps / 10;
  const uint64_t seed = test::RandomSeed();
  uint64_t rebuilds = 0;
  for (int history = 0; history < kHistories; ++history) {
    const uint64_t own = seed + static_cast<uint64_t>(history);
    test::Dice dice(own);
    const LiveSnapshot::Options options = {.renew_texts = dice.Percent(50),
                                           .texts_kept = dice.Percent(50) ? 0U : 65536U};
    test::LiveTwin asked(own, test::LiveTwin::Uids::kAsGiven, options);
    test::LiveTwin unasked(own, test::LiveTwin::Uids::kAsGiven, options);
    std::optional<LiveBranch> reader;
    const int percent = dice.Percent(50) ? 5 : 50;
    for (int steps = 1 + dice.Below(60); steps > 0; --steps) {
      asked.Step();
      unasked.Step();
      if (!dice.Percent(percent)) continue;
      (void)asked.live().Snapshot();
      if (dice.Percent(30)) reader.emplace(asked.live().Branch());
      if (dice.Percent(30)) reader.reset();
      if (dice.Percent(30)) {
        (void)test::DescribeCluster(asked.live().Snapshot(), asked.live().Pending());
      }
      if (dice.Percent(10)) (void)Exported(asked.live());
    }
    rebuilds += asked.live().counts().AllRebuilds();
    ASSERT_EQ(test::DescribeCluster(asked.live().Snapshot(), asked.live().Pending()),
              test::DescribeCluster(unasked.live().Snapshot(), unasked.live().Pending()))
        << "history " << own;
    ASSERT_EQ(Exported(asked.live()), Exported(unasked.live())) << "history " << own;
    ASSERT_EQ(asked.live().FirstPodOnUnknownNode(), unasked.live().FirstPodOnUnknownNode());
  }
  EXPECT_GT(rebuilds, uint64_t{kHistories});
}

// A planner whose cluster changes must remember the same as a planner that gets a newly built
// snapshot each time.
TEST(LiveSnapshotTest, PlannersRememberTheSameAsOverRebuiltSnapshots) {
  const uint64_t seed = test::RandomSeed();
  test::LiveTwin twin(seed, test::LiveTwin::Uids::kUnique);
  LiveSnapshot& live = twin.live();
  test::Dice dice(seed + 1);
  PlannerOptions options;
  options.scale_down_utilization_threshold = 0.9;
  options.drain.skip_nodes_with_system_pods = false;
  Planner planner(options);
  Planner other(options);
  size_t moves = 0;
  for (int step = 0; step < kSteps; ++step) {
    twin.Step();
    // This includes deleted pods and nodes, whose ids may have been reused since the last pass.
    ASSERT_TRUE(planner.Save() == other.Save()) << "before step " << step;
    if (!dice.Percent(50)) continue;
    SnapshotBuilder builder(live.symbols());
    builder.KeepWhereNamespacesAreUnknown();
    BuilderSink sink(builder);
    ASSERT_TRUE(live.Export(sink).ok());
    absl::StatusOr<ClusterSnapshot> fresh = std::move(builder).Build();
    ASSERT_TRUE(fresh.ok());
    const auto plan = [&](Planner& with, ClusterSnapshot& snapshot) {
      const NodeGroups groups = test::OneGroup(snapshot);
      std::vector<NodeId> candidates;
      snapshot.alive().ForEach([&](NodeId node) { candidates.push_back(node); });
      PassInput input;
      // A node that was found unremovable is judged again after about two passes.
      input.now_s = 1'000'000 + int64_t{150} * step;
      input.candidates = candidates;
      const absl::StatusOr<Plan> made = with.Pass(snapshot, groups, input);
      EXPECT_TRUE(made.ok()) << made.status();
      for (const RemovableNode& node : made->remove) moves += node.moves.size();
      return test::Removals(snapshot, *made) + " | " + test::Kept(snapshot, *made);
    };
    ASSERT_EQ(plan(planner, live.Snapshot()), plan(other, *fresh)) << "at step " << step;
    ASSERT_TRUE(planner.Save() == other.Save()) << "at step " << step;
  }
  EXPECT_GT(moves, size_t{kSteps} / 100);
}

// Readers in other threads plan on their own versions while the cluster changes.
TEST(LiveSnapshotTest, BranchesStayAsTheyAreWhileChangesGoOn) {
  constexpr int kBranches = kSteps / 50;
  constexpr size_t kReaders = 3;
  test::LiveTwin twin(test::RandomSeed());
  LiveSnapshot& live = twin.live();
  std::array<std::thread, kReaders> readers;
  std::array<std::string, kReaders> wrong;
  int shared = 0;
  for (int i = 0; i < kBranches; ++i) {
    const size_t r = static_cast<size_t>(i) % kReaders;
    if (readers[r].joinable()) readers[r].join();
    const std::string want = test::DescribeCluster(live.Snapshot(), live.Pending());
    readers[r] = std::thread(
        [want, &wrong = wrong[r]](LiveBranch branch) {
          for (int again = 0; again < 3; ++again) {
            const std::string got = test::DescribeCluster(branch.Snapshot(), branch.Pending());
            if (got != want && wrong.empty()) wrong = want + "\nis now\n" + got;
          }
        },
        live.Branch());
    const Catalog* const before = &live.Snapshot().catalog();
    for (int step = 0; step < 20; ++step) twin.Step();
    shared += before != &live.Snapshot().catalog() ? 1 : 0;
    if (i % 10 == 0) {
      ASSERT_EQ(twin.Compare(), "");
    }
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::string& each : wrong) EXPECT_EQ(each, "");
  EXPECT_GT(shared, 0);
}

// A planner in another thread that works on branches must remember the same as one that works on
// newly built snapshots.
TEST(LiveSnapshotTest, PlannersRememberFromBranchToBranch) {
  test::LiveTwin twin(test::RandomSeed(), test::LiveTwin::Uids::kUnique);
  LiveSnapshot& live = twin.live();
  PlannerOptions options;
  options.scale_down_utilization_threshold = 0.9;
  Planner planner(options);
  Planner other(options);
  std::string got;
  std::string want;
  std::thread reader;
  const auto plan = [](Planner& with, ClusterSnapshot& snapshot, int step, std::string& text) {
    const NodeGroups groups = test::OneGroup(snapshot);
    std::vector<NodeId> candidates;
    snapshot.alive().ForEach([&](NodeId node) { candidates.push_back(node); });
    PassInput input;
    input.now_s = 1'000'000 + step;
    input.candidates = candidates;
    const absl::StatusOr<Plan> made = with.Pass(snapshot, groups, input);
    EXPECT_TRUE(made.ok()) << made.status();
    text = test::Removals(snapshot, *made) + " | " + test::Kept(snapshot, *made);
  };
  for (int step = 0; step < kSteps / 5; ++step) {
    twin.Step();  // The plan of the last step may still be running.
    if (reader.joinable()) {
      reader.join();
      ASSERT_EQ(got, want) << "at step " << step;
      ASSERT_TRUE(planner.Save() == other.Save()) << "at step " << step;
    }
    SnapshotBuilder builder(live.symbols());
    builder.KeepWhereNamespacesAreUnknown();
    BuilderSink sink(builder);
    ASSERT_TRUE(live.Export(sink).ok());
    absl::StatusOr<ClusterSnapshot> fresh = std::move(builder).Build();
    ASSERT_TRUE(fresh.ok());
    plan(other, *fresh, step, want);
    reader = std::thread([&planner, &got, &plan,
                          step](LiveBranch branch) { plan(planner, branch.Snapshot(), step, got); },
                         live.Branch());
  }
  reader.join();
  EXPECT_EQ(got, want);
}

class LiveTest : public ::testing::Test {
 protected:
  absl::Status Put(const objects::ObjectRef& object, std::string_view version = "") {
    const Change change{.object = object, .resource_version = version};
    return live_.Take({&change, 1});
  }
  void Delete(const objects::ObjectRef& object) {
    const Change change{.type = Change::Type::kDelete, .object = object};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  }
  // Names of the pods on the node; "-" if there is no such node.
  std::vector<std::string> On(std::string_view name) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    const absl::StatusOr<NodeId> node = snapshot.catalog().FindNode(name);
    if (!node.ok()) return {"-"};
    std::vector<std::string> names;
    for (const PodId pod : snapshot.PodsOn(*node)) {
      names.emplace_back(snapshot.catalog().Text(snapshot.catalog().pod(pod).name));
    }
    return names;
  }

  LiveSnapshot live_;
  const Node a_ = Node("a").Label("zone", "x");
  const Node b_ = Node("b").Label("zone", "y");
};

TEST_F(LiveTest, ClaimsAndSlicesAndPodsThatUseThemAreTakenInPlace) {
  objects::DeviceClass device_class;
  device_class.meta.name = "gpu";
  objects::ResourceSlice slice;
  slice.meta.name = slice.pool = slice.node_name = "a";
  slice.driver = "gpu.example.com";
  slice.slice_count = 1;
  slice.devices.emplace_back().name = "gpu-0";
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "c";
  objects::DeviceRequest& request = claim.requests.emplace_back();
  request.name = "r";
  request.asks.emplace_back().class_name = "gpu";
  Pod pod("p");
  pod.Cpu(100).With([](objects::Pod& raw) { raw.resource_claims = {{"gpu", "c", ""}}; });
  const objects::StorageObject of_class = device_class;
  ASSERT_TRUE(Put(&of_class).ok());
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  (void)live_.Snapshot();
  const uint64_t rebuilds = live_.counts().AllRebuilds();
  const auto fits = [&](std::string_view node) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    const Catalog& catalog = snapshot.catalog();
    return Explain(snapshot, catalog.shape_of(live_.FindPod("default", "p")),
                   *catalog.FindNode(node))
        .fits;
  };

  ASSERT_TRUE(Put(&pod.raw).ok());
  EXPECT_FALSE(fits("a")) << "there is no claim";
  objects::StorageObject of_claim = claim;
  ASSERT_TRUE(Put(&of_claim).ok());
  EXPECT_FALSE(fits("a")) << "there is no device";
  objects::StorageObject of_slice = slice;
  ASSERT_TRUE(Put(&of_slice).ok());
  EXPECT_TRUE(fits("a"));
  EXPECT_FALSE(fits("b"));
  slice.node_name = "b";
  of_slice = slice;
  ASSERT_TRUE(Put(&of_slice).ok());
  EXPECT_FALSE(fits("a"));
  EXPECT_TRUE(fits("b"));

  claim.allocated = true;
  claim.devices.push_back({"gpu.example.com", "a", "gpu-0", false, {}, {}, {}, {}});
  claim.reserved_for.push_back({"pods", "p", "uid-of-p"});
  of_claim = claim;
  pod.On("b").raw.meta.uid = "uid-of-p";
  ASSERT_TRUE(Put(&of_claim).ok());
  ASSERT_TRUE(Put(&pod.raw).ok());
  EXPECT_EQ(live_.Snapshot().devices().Uses(DeviceId{0}), 1U);
  // A reader keeps the devices of its version.
  LiveBranch before = live_.Branch();
  Delete(&pod.raw);
  Delete(&of_claim);
  EXPECT_EQ(live_.Snapshot().devices().Uses(DeviceId{0}), 0U);
  EXPECT_EQ(before.Snapshot().devices().Uses(DeviceId{0}), 1U);
  EXPECT_EQ(before.Snapshot().catalog().devices().claim(DeviceClaimId{0}).reserved_for.size(), 1U);
  Delete(&of_slice);
  EXPECT_FALSE(live_.Snapshot().catalog().devices().HasSlices());
  EXPECT_TRUE(before.Snapshot().catalog().devices().HasSlices());
  EXPECT_EQ(live_.counts().AllRebuilds(), rebuilds);
}

TEST_F(LiveTest, APodMayComeBeforeItsNode) {
  const Pod web = Pod("web").On("a");
  ASSERT_TRUE(Put(&web.raw).ok());
  EXPECT_THAT(On("a"), ElementsAre("-"));
  EXPECT_EQ(live_.PodsOnUnknownNodes(), 1U);
  EXPECT_TRUE(live_.Pending().empty());
  ASSERT_TRUE(Put(&a_.raw).ok());
  EXPECT_THAT(On("a"), ElementsAre("web"));
  Delete(&a_.raw);
  EXPECT_EQ(live_.PodsOnUnknownNodes(), 1U);
}

// The pods of a node are in the order in which they were placed on it, whatever happens meanwhile
// and whether or not the cluster is read in between.
TEST_F(LiveTest, PodsOfANodeAreInTheOrderOfArrival) {
  objects::DeviceClass device_class;
  device_class.meta.name = "gpu";
  objects::StorageObject storage = device_class;
  // Bit 0 of `way`: the cluster is read after each change.  Bit 1: each put makes a rebuild due.
  for (const int way : {0, 1, 2, 3}) {
    SCOPED_TRACE(way);
    LiveSnapshot& live = live_;
    const auto put = [&](const objects::ObjectRef& object) {
      ASSERT_TRUE(Put(object).ok());
      if ((way & 1) != 0) (void)live.Snapshot();
      if ((way & 2) != 0) {
        ASSERT_TRUE(Put(&storage).ok());
        Delete(&storage);
      }
    };
    for (const Node* const node : {&a_, &b_}) Delete(&node->raw);
    put(&a_.raw);
    put(&b_.raw);
    const Pod early = Pod("early").On("b");
    put(&early.raw);
    for (const char* const name : {"p0", "p1", "p2", "p3", "p4"}) {
      const Pod pod = Pod(name).On("a");
      put(&pod.raw);
    }
    // When a pod is deleted, the pods after it move up.
    const Pod first = Pod("p0").On("a");
    Delete(&first.raw);
    if ((way & 1) != 0) {
      EXPECT_THAT(On("a"), ElementsAre("p1", "p2", "p3", "p4"));
    }
    // The node is deleted and created again; meanwhile a pod is deleted and another one changes.
    Delete(&a_.raw);
    if ((way & 1) != 0) {
      EXPECT_THAT(On("a"), ElementsAre("-"));
    }
    const Pod third = Pod("p3").On("a");
    Delete(&third.raw);
    const Pod changed = Pod("p2").On("a").Label("new", "yes");
    put(&changed.raw);
    put(&a_.raw);
    if ((way & 1) != 0) {
      EXPECT_THAT(On("a"), ElementsAre("p1", "p2", "p4"));
    }
    // A pod that moves to the node becomes the last one, even if it was created before the others.
    const Pod moved = Pod("early").On("a");
    put(&moved.raw);
    const Pod again = Pod("p1").On("a").Label("new", "yes");
    put(&again.raw);
    EXPECT_THAT(On("a"), ElementsAre("p1", "p2", "p4", "early"));
    EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
    for (const Pod* const pod : {&again, &changed, &moved}) Delete(&pod->raw);
    const Pod last = Pod("p4");
    Delete(&last.raw);
  }
}

// Symptom: a pod that changed before a rebuild became the last of its node, so that the plan
// differed from that of a dump.
TEST_F(LiveTest, AChangedPodKeepsItsPlaceEvenAfterARebuild) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  for (const char* const name : {"p0", "p1", "p2", "p3"}) {
    const Pod pod = Pod(name).On("a").Cpu(50);
    ASSERT_TRUE(Put(&pod.raw).ok());
  }
  EXPECT_THAT(On("a"), ElementsAre("p0", "p1", "p2", "p3"));
  objects::DeviceClass device_class;
  device_class.meta.name = "gpu";
  const objects::StorageObject storage = device_class;
  const uint64_t before = live_.counts().AllRebuilds();
  ASSERT_TRUE(Put(&storage).ok());
  for (const int64_t cpu : {300, 400}) {
    const Pod first = Pod("p0").On("a").Cpu(cpu);
    const Pod second = Pod("p1").On("a").Cpu(cpu + 1);
    ASSERT_TRUE(Put(&first.raw).ok());
    ASSERT_TRUE(Put(&second.raw).ok());
  }
  const Pod gone = Pod("p2").On("a");
  Delete(&gone.raw);
  const Pod moved = Pod("p3").On("b").Cpu(50);
  ASSERT_TRUE(Put(&moved.raw).ok());
  EXPECT_THAT(On("a"), ElementsAre("p0", "p1"));
  EXPECT_THAT(On("b"), ElementsAre("p3"));
  EXPECT_EQ(live_.counts().AllRebuilds(), before + 1);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());

  // The cause of the rebuild does not matter; here it is shapes without pods.
  for (int64_t cpu = 1; cpu < 500; ++cpu) {
    const Pod first = Pod("p0").On("a").Cpu(cpu);
    ASSERT_TRUE(Put(&first.raw).ok());
    ASSERT_THAT(On("a"), ElementsAre("p0", "p1")) << cpu;
  }
  EXPECT_GT(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kDeadShapes)], 0U);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
}

TEST_F(LiveTest, UnusedShapesAreBoundedEvenWithoutAReader) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  objects::DeviceClass device_class;
  device_class.meta.name = "gpu";
  const objects::StorageObject storage = device_class;
  ASSERT_TRUE(Put(&storage).ok());  // From here on a rebuild is due.
  const uint64_t before = live_.counts().AllRebuilds();
  int64_t cpu = 0;
  const auto change_pod = [&](int64_t times) {
    for (const int64_t end = cpu + times; cpu < end;) {
      const Pod pod = Pod("p").On("a").Cpu(++cpu);
      ASSERT_TRUE(Put(&pod.raw).ok());
    }
  };
  change_pod(8000);
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
  change_pod(1000);
  EXPECT_EQ(live_.counts().AllRebuilds(), before + 1);
  EXPECT_THAT(On("a"), ElementsAre("p"));
}

TEST_F(LiveTest, OrdinaryChangesCauseNoRebuild) {
  const Budget budget = Budget("web").Matching("app", "web").Allows(1);
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  ASSERT_TRUE(Put(&budget.raw).ok());
  const Pod first = Pod("web-0").On("a").Label("app", "web");
  ASSERT_TRUE(Put(&first.raw).ok());
  (void)live_.Snapshot();
  const uint64_t before = live_.counts().AllRebuilds();

  // Pods are created, move and are deleted; pods of a rollout have new labels.
  const Pod second = Pod("web-1").On("b").Label("app", "web").Label("pod-template-hash", "2");
  ASSERT_TRUE(Put(&second.raw).ok());
  const Pod moved = Pod("web-0").On("b").Label("app", "web");
  ASSERT_TRUE(Put(&moved.raw).ok());
  EXPECT_THAT(On("b"), ElementsAre("web-1", "web-0"));
  Delete(&second.raw);
  EXPECT_THAT(On("b"), ElementsAre("web-0"));
  // A node is cordoned and grows, a budget allows more, a controller has a new number of replicas.
  Node cordoned = Node("a").Label("zone", "x").Cpu(8000);
  cordoned.raw.unschedulable = true;
  ASSERT_TRUE(Put(&cordoned.raw).ok());
  const Budget more = Budget("web").Matching("app", "web").Allows(2);
  ASSERT_TRUE(Put(&more.raw).ok());
  objects::Controller controller;
  controller.meta.namespace_name = "default";
  controller.meta.name = "rs";
  controller.status_replicas = 3;
  ASSERT_TRUE(Put(&controller).ok());

  ClusterSnapshot& snapshot = live_.Snapshot();
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
  const Catalog& catalog = snapshot.catalog();
  const NodeId a = *catalog.FindNode("a");
  EXPECT_TRUE(catalog.node(a).unschedulable);
  EXPECT_EQ(snapshot.Free(kCpu, a), 8000);
  EXPECT_EQ(catalog.pdbs()[0].disruptions_allowed, 2);
  EXPECT_EQ(catalog
                .FindController(objects::ControllerKind::kReplicaSet,
                                *live_.symbols()->Find("default"), *live_.symbols()->Find("rs"))
                ->status_replicas,
            3);
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
}

TEST_F(LiveTest, NodesComeGoAndChangeLabelsInPlace) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  const Pod first =
      Pod("web-0").On("a").Label("app", "web").Spread("zone", 1, Select("app", "web"));
  const Pod second =
      Pod("web-1").On("b").Label("app", "web").Spread("zone", 1, Select("app", "web"));
  ASSERT_TRUE(Put(&first.raw).ok());
  ASSERT_TRUE(Put(&second.raw).ok());
  (void)live_.Snapshot();
  const uint64_t before = live_.counts().AllRebuilds();

  const Pod third =
      Pod("web-2").On("c").Label("app", "web").Spread("zone", 1, Select("app", "web"));
  ASSERT_TRUE(Put(&third.raw).ok());
  EXPECT_EQ(live_.PodsOnUnknownNodes(), 1U);
  const Node c = Node("c").Label("zone", "z");
  ASSERT_TRUE(Put(&c.raw).ok());
  EXPECT_THAT(On("c"), ElementsAre("web-2"));
  const Catalog& catalog = live_.Snapshot().catalog();
  const TableId table{0};
  const auto count = [&](std::string_view zone) {
    const auto& domains = catalog.topology_key(catalog.tables()[0].key).domains;
    const auto it = domains.find(*live_.symbols()->Find(zone));
    return it == domains.end() ? 0U : live_.Snapshot().topology().Count(table, it->second);
  };
  EXPECT_EQ(count("z"), 1U);
  EXPECT_EQ(live_.Snapshot().topology().Domains(catalog, table), 3U);
  // When a node changes its zone, its pods are counted in the new zone.
  const Node moved = Node("c").Label("zone", "x");
  ASSERT_TRUE(Put(&moved.raw).ok());
  EXPECT_EQ(count("x"), 2U);
  EXPECT_EQ(count("z"), 0U);
  EXPECT_EQ(live_.Snapshot().topology().Domains(catalog, table), 2U);
  // When the node is deleted, its pods wait for it.
  Delete(&moved.raw);
  EXPECT_THAT(On("c"), ElementsAre("-"));
  EXPECT_EQ(count("x"), 1U);
  EXPECT_EQ(live_.PodsOnUnknownNodes(), 1U);
  EXPECT_EQ(live_.Snapshot().nodes(), 2U);
  ASSERT_TRUE(Put(&c.raw).ok());
  EXPECT_THAT(On("c"), ElementsAre("web-2"));
  EXPECT_EQ(count("z"), 1U);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
}

// The counts of up to 8 domains are stored in another way than those of more (topology_counts.h).
TEST_F(LiveTest, CountsStayRightForAnyNumberOfZones) {
  constexpr uint32_t kZones = 40;
  (void)live_.Snapshot();
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<Pod>> pods;
  for (uint32_t z = 0; z < kZones; ++z) {
    const std::string name = "n" + std::to_string(z);
    nodes.push_back(std::make_unique<Node>(name));
    nodes.back()->Label("zone", "z" + std::to_string(z));
    ASSERT_TRUE(Put(&nodes.back()->raw).ok());
    for (uint32_t p = 0; p <= z % 3; ++p) {
      pods.push_back(std::make_unique<Pod>("web-" + std::to_string(pods.size())));
      pods.back()->On(name).Label("app", "web").Spread("zone", 1, Select("app", "web"));
      ASSERT_TRUE(Put(&pods.back()->raw).ok());
    }
    const ClusterSnapshot& snapshot = live_.Snapshot();
    ASSERT_TRUE(snapshot.CheckInvariants().ok());
    ASSERT_EQ(snapshot.topology().MinCount(TableId{0}), 1U);
    ASSERT_EQ(snapshot.topology().Domains(snapshot.catalog(), TableId{0}), z + 1);
    ASSERT_EQ(snapshot.topology().Total(TableId{0}), pods.size());
  }
}

TEST_F(LiveTest, PodsMayUseANewConstraintWithoutARebuild) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  const Pod old = Pod("web-0").On("a").Label("app", "web");
  ASSERT_TRUE(Put(&old.raw).ok());
  (void)live_.Snapshot();
  const uint64_t before = live_.counts().AllRebuilds();
  const Pod spreads = Pod("web-1").Label("app", "web").Spread("zone", 1, Select("app", "web"));
  ASSERT_TRUE(Put(&spreads.raw).ok());
  ClusterSnapshot& snapshot = live_.Snapshot();
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
  ASSERT_EQ(snapshot.catalog().tables().size(), 1U);
  EXPECT_EQ(snapshot.topology().Total(TableId{0}), 1U);
  EXPECT_EQ(snapshot.topology().MinCount(TableId{0}), 0U);
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  Delete(&old.raw);
  EXPECT_EQ(live_.Snapshot().topology().Total(TableId{0}), 0U);
}

// Otherwise the next change would copy the catalog for a reader that no longer exists.
TEST_F(LiveTest, ABranchThatIsAssignedToLeavesWhatItRead) {
  const Pod pod = Pod("p").On("a");
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&pod.raw).ok());
  LiveBranch branch = live_.Branch();
  branch = LiveSnapshot().Branch();
  const Catalog* const catalog = &live_.Snapshot().catalog();
  Delete(&pod.raw);
  EXPECT_EQ(&live_.Snapshot().catalog(), catalog);
  EXPECT_EQ(branch.Snapshot().nodes(), 0U);
}

TEST_F(LiveTest, BudgetsComeAndGoInPlace) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  const Pod web = Pod("web").On("a").Label("app", "web");
  ASSERT_TRUE(Put(&web.raw).ok());
  (void)live_.Snapshot();
  const uint64_t before = live_.counts().AllRebuilds();
  const auto budgets = [&] {
    const Catalog& catalog = live_.Snapshot().catalog();
    std::vector<std::string> names;
    for (const PdbId id : catalog.shape(PodShapeId{0}).budgets) {
      names.emplace_back(catalog.Text(catalog.pdbs()[Index(id)].name));
    }
    return names;
  };
  const Budget one = Budget("one").Matching("app", "web");
  const Budget two = Budget("two").Matching("app", "db");
  const Budget three = Budget("three").Matching("app", "web");
  for (const Budget* const budget : {&one, &two, &three}) ASSERT_TRUE(Put(&budget->raw).ok());
  EXPECT_THAT(budgets(), ElementsAre("one", "three"));
  const Budget wider = Budget("two").Matching("app", "web");
  ASSERT_TRUE(Put(&wider.raw).ok());
  EXPECT_THAT(budgets(), ElementsAre("one", "two", "three"));
  Delete(&one.raw);
  EXPECT_THAT(budgets(), ElementsAre("two", "three"));
  ASSERT_TRUE(Put(&two.raw).ok());
  EXPECT_THAT(budgets(), ElementsAre("three"));
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
}

// As many budgets and kinds of pods as in large clusters; hardly any of them match each other.
TEST_F(LiveTest, BudgetsAndShapesChangeInPlaceInAnyNumber) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  for (int i = 0; i < 1'100; ++i) {
    const std::string name = "app-" + std::to_string(i);
    const Pod pod = Pod(name).On("a").Label("app", name);
    const Budget budget = Budget(name).Matching("app", name).Allows(1);
    ASSERT_TRUE(Put(&pod.raw).ok());
    ASSERT_TRUE(Put(&budget.raw).ok());
  }
  (void)live_.Snapshot();
  const uint64_t before = live_.counts().AllRebuilds();
  const Budget more = Budget("app-7").Matching("app", "app-7").Allows(5);
  ASSERT_TRUE(Put(&more.raw).ok());
  const Catalog& catalog = live_.Snapshot().catalog();
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
  EXPECT_EQ(catalog.pdbs()[7].disruptions_allowed, 5);
  const Budget other = Budget("app-7").Matching("app", "app-8").Allows(5);
  ASSERT_TRUE(Put(&other.raw).ok());
  const Pod of_8 = Pod("app-8-new").On("a").Label("app", "app-8").Label("hash", "new");
  ASSERT_TRUE(Put(&of_8.raw).ok());
  const Catalog& then = live_.Snapshot().catalog();
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
  size_t shapes_with_both = 0;
  for (uint32_t shape = 0; shape < then.pod_shapes(); ++shape) {
    shapes_with_both += then.shape(PodShapeId{shape}).budgets == std::vector{PdbId{7}, PdbId{8}};
  }
  EXPECT_EQ(shapes_with_both, 2U);
}

// A budget's fields that only answers show must be up to date too.
TEST_F(LiveTest, AChangedBudgetHasItsNewValues) {
  Budget budget = Budget("web").Matching("app", "web").Allows(1);
  ASSERT_TRUE(Put(&budget.raw).ok());
  (void)live_.Snapshot();
  budget.raw.sync_failed = true;
  budget.raw.sync_message = "no controller";
  budget.raw.expected_pods = 3;
  ASSERT_TRUE(Put(&budget.raw).ok());
  const Pdb& held = live_.Snapshot().catalog().pdbs().front();
  EXPECT_TRUE(held.sync_failed);
  EXPECT_EQ(held.sync_message, "no controller");
  EXPECT_EQ(held.expected_pods, 3);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

TEST_F(LiveTest, IdsOfDeletedNodesAreReused) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  for (int i = 0; i < 1'000; ++i) {
    const Node node = Node("node-" + std::to_string(i)).Label("zone", "x");
    ASSERT_TRUE(Put(&node.raw).ok());
    ASSERT_EQ(live_.Snapshot().nodes(), 2U);
    Delete(&node.raw);
    ASSERT_LT(live_.Snapshot().catalog().nodes(), 200U);
  }
  EXPECT_GT(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kGoneNodes)], 0U);
  EXPECT_LT(live_.counts().AllRebuilds(), 30U);
}

TEST_F(LiveTest, VolumesAreResolvedAgainWithoutThePods) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  Pod web = Pod("web").On("a");
  objects::Volume& volume = web.raw.volumes.emplace_back();
  volume.source = "persistentVolumeClaim";
  volume.claim_name = "data";
  ASSERT_TRUE(Put(&web.raw).ok());
  (void)live_.Snapshot();
  const uint64_t before = live_.counts().AllRebuilds();
  const auto claim_is_known = [&] {
    const Catalog& catalog = live_.Snapshot().catalog();
    return catalog.storage().volumes(catalog.shape(PodShapeId{0}).volumes).claims[0].claim !=
           nullptr;
  };
  EXPECT_FALSE(claim_is_known());
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "data";
  const objects::StorageObject object = claim;
  ASSERT_TRUE(Put(&object).ok());
  EXPECT_TRUE(claim_is_known());
  Delete(&object);
  EXPECT_FALSE(claim_is_known());
  EXPECT_EQ(live_.counts().storage_rebuilds, 2U);
  EXPECT_EQ(live_.counts().AllRebuilds(), before);

  objects::CsiNode csi_node;
  csi_node.meta.name = "a";
  csi_node.drivers.push_back({"driver", 3});
  const objects::StorageObject with_driver = csi_node;
  ASSERT_TRUE(Put(&with_driver).ok());
  const TextId a = *live_.symbols()->Find("a");
  ASSERT_NE(live_.Snapshot().catalog().storage().FindCsiNode(a), nullptr);
  Delete(&with_driver);
  EXPECT_EQ(live_.Snapshot().catalog().storage().FindCsiNode(a), nullptr);
  EXPECT_EQ(live_.counts().storage_rebuilds, 2U);

  // Controllers make a ResourceClaim for each pod that names a template.
  const Pod asks = Pod("asks").On("a").With([](auto& p) {
    p.resource_claims.push_back({.name = "gpu", .claim_name = "asks-gpu", .template_name = {}});
  });
  ASSERT_TRUE(Put(&asks.raw).ok());
  const auto why = [this] {
    return live_.Snapshot().catalog().shape_of(live_.FindPod("default", "asks")).not_understood;
  };
  EXPECT_THAT(why(), HasSubstr("ResourceClaim default/asks-gpu is not in the input"));
  objects::ResourceClaim made;
  made.meta.namespace_name = "default";
  made.meta.name = "asks-gpu";
  const objects::StorageObject made_claim = made;
  ASSERT_TRUE(Put(&made_claim).ok());
  EXPECT_THAT(why(), Not(HasSubstr("is not in the input")));
  Delete(&made_claim);
  EXPECT_THAT(why(), HasSubstr("is not in the input"));
  EXPECT_EQ(live_.counts().storage_rebuilds, 2U);
  EXPECT_EQ(live_.counts().AllRebuilds(), before);

  objects::DeviceClass devices;
  devices.meta.name = "gpu";
  const objects::StorageObject device_class = devices;
  ASSERT_TRUE(Put(&device_class).ok());
  (void)live_.Snapshot();
  EXPECT_EQ(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kStorage)], 1U);
}

TEST_F(LiveTest, ABatchIsAppliedWholeOrNotAtAll) {
  const Pod web = Pod("web").On("a");
  Pod wrong = Pod("wrong").On("a");
  wrong.raw.containers.resize(1);
  wrong.raw.containers[0].requests = {{"cpu", -1}};
  const Change changes[] = {{.object = &a_.raw}, {.object = &web.raw}, {.object = &wrong.raw}};
  const absl::Status refused = live_.Take(changes);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("Pod default/wrong: spec.containers[0].resources.requests.cpu"));
  EXPECT_THAT(On("a"), ElementsAre("-"));
  EXPECT_EQ(live_.counts().put, 0U);

  const objects::Node nameless;
  EXPECT_THAT(std::string(Put(&nameless).message()), HasSubstr("Node: metadata.name is empty"));
  objects::Node in_namespace = a_.raw;
  in_namespace.meta.namespace_name = "shop";
  EXPECT_THAT(std::string(Put(&in_namespace).message()),
              HasSubstr("Node a: metadata.namespace: \"shop\", where the kind has none"));
  objects::PodDisruptionBudget budget;
  budget.meta.name = "odd";
  budget.selector = {.nil = false, .match_labels = {}, .match_expressions = {{"app", "Near", {}}}};
  EXPECT_THAT(std::string(Put(&budget).message()), HasSubstr("spec.selector"));
  const objects::StorageObject storage;
  EXPECT_THAT(std::string(Put(&storage).message()), HasSubstr("PersistentVolume: metadata.name"));
}

TEST_F(LiveTest, OlderAndUnchangedObjectsAreCountedAndSkipped) {
  ASSERT_TRUE(Put(&a_.raw, "10").ok());
  ASSERT_TRUE(Put(&b_.raw, "11").ok());
  const Pod on_a = Pod("web").On("a");
  const Pod on_b = Pod("web").On("b");
  ASSERT_TRUE(Put(&on_b.raw, "20").ok());
  ASSERT_TRUE(Put(&on_a.raw, "19").ok());
  EXPECT_THAT(On("b"), ElementsAre("web"));
  EXPECT_EQ(live_.counts().older, 1U);
  ASSERT_TRUE(Put(&on_b.raw, "21").ok());
  ASSERT_TRUE(Put(&a_.raw, "12").ok());
  EXPECT_EQ(live_.counts().unchanged, 2U);
  EXPECT_EQ(live_.counts().put, 3U);
  // The version of the last put counts, even if that put changed nothing.
  ASSERT_TRUE(Put(&on_a.raw, "20").ok());
  EXPECT_THAT(On("b"), ElementsAre("web"));
  // An object without a version is accepted without a check.
  ASSERT_TRUE(Put(&on_a.raw).ok());
  EXPECT_THAT(On("a"), ElementsAre("web"));
}

// As after etcd was restored from a backup: versions are lower than before.
TEST_F(LiveTest, AListIsAcceptedEvenIfItsObjectsAreOld) {
  ASSERT_TRUE(Put(&a_.raw, "10").ok());
  ASSERT_TRUE(Put(&b_.raw, "11").ok());
  const Pod on_a = Pod("web").On("a");
  const Pod on_b = Pod("web").On("b");
  ASSERT_TRUE(Put(&on_b.raw, "20").ok());
  Node larger = a_;
  larger.Cpu(64000);
  const std::vector<Change> list = {{.object = &larger.raw, .resource_version = "3"},
                                    {.object = &on_a.raw, .resource_version = "4"}};
  ASSERT_TRUE(live_.Take(list, OlderObjects::kTake).ok());
  EXPECT_THAT(On("a"), ElementsAre("web"));
  EXPECT_EQ(live_.Snapshot().Allocatable(kCpu, test::NodeNamed(live_.Snapshot(), "a")), 64000);
  EXPECT_EQ(live_.counts().older, 0U);
  // From here on the versions of the list count.
  ASSERT_TRUE(Put(&on_b.raw, "5").ok());
  EXPECT_THAT(On("b"), ElementsAre("web"));
}

TEST_F(LiveTest, ADeletionOfAMissingObjectIsCounted) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  Pod web = Pod("web").On("a");
  web.raw.meta.uid = "one";
  Delete(&web.raw);
  EXPECT_EQ(live_.counts().unknown_deletes, 1U);
  ASSERT_TRUE(Put(&web.raw).ok());
  Pod other = web;
  other.raw.meta.uid = "two";  // A pod of that name that was deleted before this one was created.
  Delete(&other.raw);
  EXPECT_EQ(live_.counts().unknown_deletes, 2U);
  EXPECT_THAT(On("a"), ElementsAre("web"));
  other.raw.meta.uid = "";
  Delete(&other.raw);
  EXPECT_TRUE(On("a").empty());
  EXPECT_EQ(live_.counts().deleted, 1U);

  const size_t texts = live_.symbols()->size();
  const Pod unseen_pod = Pod("unseen-pod");
  const Node unseen_node = Node("unseen-node");
  Delete(&unseen_pod.raw);
  Delete(&unseen_node.raw);
  EXPECT_EQ(live_.counts().unknown_deletes, 4U);
  EXPECT_EQ(live_.symbols()->size(), texts);
}

TEST_F(LiveTest, ALateDeletionIsAppliedIfItNamesTheUid) {
  ASSERT_TRUE(Put(&a_.raw, "10").ok());
  Pod web = Pod("web").On("a");
  web.raw.meta.uid = "one";
  ASSERT_TRUE(Put(&web.raw, "20").ok());
  const auto remove = [&](const objects::ObjectRef& object, std::string_view version) {
    const Change change{
        .type = Change::Type::kDelete, .object = object, .resource_version = version};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  };
  // A deletion without a UID may refer to an earlier pod of that name.
  Pod unnamed = web;
  unnamed.raw.meta.uid = "";
  remove(&unnamed.raw, "19");
  Node node = a_;
  node.raw.meta.uid = "";
  remove(&node.raw, "9");
  EXPECT_EQ(live_.counts().older, 2U);
  EXPECT_THAT(On("a"), ElementsAre("web"));
  // A deletion with the UID is final: no pod with that UID is ever created again.
  remove(&web.raw, "19");
  EXPECT_TRUE(On("a").empty());
  EXPECT_EQ(live_.counts().deleted, 1U);
}

TEST_F(LiveTest, PodsThatEndLeaveTheSnapshot) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  Pod job = Pod("job").On("a");
  ASSERT_TRUE(Put(&job.raw).ok());
  EXPECT_THAT(On("a"), ElementsAre("job"));
  job.raw.phase = "Succeeded";
  ASSERT_TRUE(Put(&job.raw).ok());
  EXPECT_TRUE(On("a").empty());
  Delete(&job.raw);
  EXPECT_EQ(live_.counts().unknown_deletes, 0U);
}

TEST_F(LiveTest, PodsAreFoundByNameWhileTheyAreThere) {
  const Pod web = Pod("web").On("a");
  const Pod of_shop = Pod("web").In("shop").On("a");
  for (const objects::ObjectRef& object :
       {objects::ObjectRef(&a_.raw), objects::ObjectRef(&web.raw),
        objects::ObjectRef(&of_shop.raw)}) {
    ASSERT_TRUE(Put(object).ok());
  }
  const auto found = [&](const char* namespace_name) -> std::string {
    const Catalog& catalog = live_.Snapshot().catalog();
    const absl::StatusOr<PodId> pod = catalog.FindPod(namespace_name, "web");
    return pod.ok() ? catalog.PodName(*pod) : "-";
  };
  EXPECT_EQ(found("default"), "default/web");
  EXPECT_EQ(found("shop"), "shop/web");
  EXPECT_EQ(found("other"), "-");
  Delete(&of_shop.raw);
  EXPECT_EQ(found("default"), "default/web");
  EXPECT_EQ(found("shop"), "-");
}

TEST_F(LiveTest, PutsOfOnePodDoNotGrowAnything) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  const Pod on_a = Pod("web").On("a");
  const Pod on_b = Pod("web").On("b");
  (void)live_.Snapshot();
  const size_t texts = live_.symbols()->size();
  for (int i = 0; i < kPutsOfOnePod; ++i) {
    ASSERT_TRUE(Put(i % 2 == 0 ? &on_a.raw : &on_b.raw, std::to_string(i + 1)).ok());
  }
  EXPECT_LT(live_.symbols()->size(), texts + 10);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
  const Catalog& catalog = live_.Snapshot().catalog();
  EXPECT_EQ(catalog.pods(), 1U);
  EXPECT_EQ(catalog.pod_shapes(), 1U);
  EXPECT_LT(catalog.pod_changes().changes.size(), 3'000U);
}

TEST_F(LiveTest, NamesOfDeletedPodsAreReleased) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  Planner planner{PlannerOptions()};  // It follows which pods were deleted.
  size_t texts = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "web-" + std::to_string(i);
    Pod pod = Pod(name).On("a");
    const std::string uid = "uid-" + std::to_string(i) + std::string(i % 3 == 0 ? 600 : 0, 'x');
    pod.raw.meta.uid = uid;
    ASSERT_TRUE(Put(&pod.raw).ok());
    if (i % 50 == 0) {
      PassInput input;
      const NodeGroups groups = test::OneGroup(live_.Snapshot());
      ASSERT_TRUE(planner.Pass(live_.Snapshot(), groups, input).ok());
    }
    Delete(&pod.raw);
    if (i == 5'000) texts = live_.symbols()->size();
  }
  EXPECT_EQ(live_.symbols()->size(), texts);
  EXPECT_LT(texts, 3'000U);
}

// No plan is made meanwhile, so that only the changes themselves can free memory.
TEST(LiveSnapshotTest, DeletedPodsWithUniqueLabelsFreeTheirMemory) {
#ifdef NDEBUG
  constexpr int kPuts = 300'000;
#else
  constexpr int kPuts = 30'000;
#endif
  LiveSnapshot live({.renew_texts = true, .texts_kept = 5'000});
  const Node node = Node("a");
  const Change add_node{.object = &node.raw};
  ASSERT_TRUE(live.Take({&add_node, 1}).ok());
  for (int i = 0; i < kPuts; ++i) {
    Pod pod = Pod("web-" + std::to_string(i % 100)).On("a");
    const std::string label = "label-" + std::to_string(i);
    pod.raw.meta.labels = {{"hash", label}};
    const std::string version = std::to_string(i + 1);
    const Change change{.object = &pod.raw, .resource_version = version};
    ASSERT_TRUE(live.Take({&change, 1}).ok());
    ASSERT_LT(live.symbols()->size(), 12'000U) << i;
  }
  EXPECT_EQ(live.counts().put, uint64_t{kPuts} + 1);
  EXPECT_GT(live.counts().renewals, static_cast<uint64_t>(kPuts) / 12'000);
  EXPECT_LT(live.counts().AllRebuilds(), static_cast<uint64_t>(kPuts) / 1'000);
  EXPECT_EQ(live.Snapshot().placed_pods(), 100U);
  EXPECT_LT(live.Snapshot().catalog().pod_shapes(), 9'000U);
}

TEST_F(LiveTest, APlannerContinuesByNamesIfSymbolsDiffer) {
  LiveSnapshot live({.renew_texts = true, .texts_kept = 0});
  const auto put = [&](const objects::ObjectRef& object) {
    const Change change{.object = object};
    ASSERT_TRUE(live.Take({&change, 1}).ok());
  };
  put(&a_.raw);
  put(&b_.raw);
  const Pod web = Pod("web").On("a");
  put(&web.raw);
  auto planner = std::make_unique<Planner>(PlannerOptions());
  const auto plan = [&] {
    const NodeGroups groups = test::OneGroup(live.Snapshot());
    std::vector<NodeId> candidates;
    live.Snapshot().alive().ForEach([&](NodeId n) { candidates.push_back(n); });
    PassInput input;
    input.now_s = test::kPassTime;
    input.candidates = candidates;
    return planner->Pass(live.Snapshot(), groups, input);
  };
  ASSERT_TRUE(plan().ok());
  const std::shared_ptr<Symbols> before = live.symbols();
  for (int i = 0; live.symbols() == before; ++i) {
    ASSERT_LT(i, 1'000);
    const Pod other = Pod("other").Label("hash", std::to_string(i));
    put(&other.raw);
    (void)live.Snapshot();
  }
  EXPECT_FALSE(plan().ok());
  const PlannerMemory memory = planner->Save();
  planner = std::make_unique<Planner>(PlannerOptions());
  planner->Restore(memory, live.symbols());
  EXPECT_TRUE(plan().ok());
}

TEST_F(LiveTest, ShapesWithoutPodsAreDroppedWhenTheyAreMost) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  for (int i = 0; i < 1'000; ++i) {
    const Pod pod = Pod("web").On("a").Label("pod-template-hash", std::to_string(i));
    ASSERT_TRUE(Put(&pod.raw).ok());
    ASSERT_LT(live_.Snapshot().catalog().pod_shapes(), 200U);
  }
  EXPECT_GT(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kDeadShapes)], 0U);
  EXPECT_THAT(On("a"), ElementsAre("web"));
}

// Pods with anti-affinity to each other share one table.  Another table is needed once a pod comes
// that they repel and that does not repel them.
TEST_F(LiveTest, APodThatIsRepelledAndRepelsNoneHasItsOwnTable) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  const auto apart = [](std::string_view name, std::string_view app) {
    return Pod(name).On("a").Label("app", app).Away("zone", Select("app", app));
  };
  const auto feeds = [&](uint32_t shape) {
    return live_.Snapshot().catalog().shape(PodShapeId{shape}).feeds.size();
  };
  const Pod web = apart("web", "web");
  ASSERT_TRUE(Put(&web.raw).ok());
  EXPECT_EQ(feeds(0), 1U);
  const uint64_t before = live_.counts().AllRebuilds();
  const Pod newer = apart("newer", "web").Priority(1);
  const Pod db = apart("db", "db");
  ASSERT_TRUE(Put(&newer.raw).ok());
  ASSERT_TRUE(Put(&db.raw).ok());
  EXPECT_EQ(feeds(0), 1U);
  EXPECT_EQ(feeds(1), 1U);
  EXPECT_EQ(feeds(2), 1U);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
  const Pod job = Pod("job").On("b").Label("app", "web");
  ASSERT_TRUE(Put(&job.raw).ok());
  EXPECT_EQ(feeds(0), 2U);
  EXPECT_EQ(feeds(2), 1U);
  EXPECT_EQ(feeds(3), 1U);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
}

// Pods are counted per node as long as each node has its own value of the topology key.
TEST_F(LiveTest, TwoNodesMayComeToShareADomain) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  const Pod web = Pod("web").On("a").Label("app", "web").Away("zone", Select("app", "web"));
  ASSERT_TRUE(Put(&web.raw).ok());
  const auto shared = [&] {
    return live_.Snapshot().catalog().topology_key(TopologyKeyId{0}).shared_domains;
  };
  EXPECT_EQ(shared(), 0U);
  const Node c = Node("c").Label("zone", "x");
  ASSERT_TRUE(Put(&c.raw).ok());
  EXPECT_EQ(shared(), 1U);
  const Node moved = Node("c").Label("zone", "z");
  ASSERT_TRUE(Put(&moved.raw).ok());
  EXPECT_EQ(shared(), 0U);
  ASSERT_TRUE(Put(&c.raw).ok());
  Delete(&a_.raw);
  EXPECT_EQ(shared(), 0U);
  ASSERT_TRUE(Put(&a_.raw).ok());
  EXPECT_EQ(shared(), 1U);
}

TEST_F(LiveTest, AmountsThatCannotBeAddedUpAreBounded) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  const Pod huge[] = {Pod("huge-0").On("a").Cpu(int64_t{1} << 60),
                      Pod("huge-1").On("a").Cpu(int64_t{1} << 60),
                      Pod("huge-2").On("a").Cpu(int64_t{1} << 60)};
  for (const Pod& pod : huge) ASSERT_TRUE(Put(&pod.raw).ok());
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  EXPECT_EQ(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kAmounts)], 1U);
  for (const Pod& pod : huge) Delete(&pod.raw);
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{0}), 4000);
}

TEST(RebuildCauseTest, EveryCauseHasItsName) {
  using enum RebuildCause;
  EXPECT_EQ(ToString(kFirst), "first");
  EXPECT_EQ(ToString(kNode), "node");
  EXPECT_EQ(ToString(kShape), "shape");
  EXPECT_EQ(ToString(kBudget), "budget");
  EXPECT_EQ(ToString(kNamespace), "namespace");
  EXPECT_EQ(ToString(kStorage), "storage");
  EXPECT_EQ(ToString(kAmounts), "amounts");
  EXPECT_EQ(ToString(kDeadShapes), "dead-shapes");
  EXPECT_EQ(ToString(kGoneNodes), "gone-nodes");
  EXPECT_EQ(ToString(kDeadTexts), "dead-texts");
  EXPECT_EQ(ToString(Rebuilt{.cause = kShape}), "shape");
  EXPECT_EQ(ToString(Rebuilt()), "volumes");
}

// Counts what counts() counts, as an observer learns it.
class CountingObserver final : public RebuildObserver {
 public:
  void OnBegin() override { EXPECT_EQ(++open_, 1); }
  void OnEnd(const Rebuilt& rebuilt) override {
    EXPECT_EQ(--open_, 0);
    ++(rebuilt.cause ? rebuilds.at(static_cast<size_t>(*rebuilt.cause)) : storage);
    renewals += rebuilt.renewed_texts ? 1 : 0;
  }

  std::array<uint64_t, kRebuildCauses> rebuilds{};
  uint64_t storage = 0;
  uint64_t renewals = 0;

 private:
  int open_ = 0;
};

TEST(LiveSnapshotTest, AnObserverLearnsOfEveryRebuildItsCauseAndRenewals) {
  CountingObserver observer;
  test::LiveTwin twin(test::RandomSeed(), test::LiveTwin::Uids::kAsGiven,
                      {.renew_texts = true, .texts_kept = 0, .rebuild_observer = &observer});
  for (int step = 0; step < 300; ++step) {
    twin.Step();
    if (step % 5 == 0) {
      ASSERT_EQ(twin.Compare(), "") << "at step " << step;
    }
  }
  const LiveCounts& counts = twin.live().counts();
  EXPECT_EQ(observer.rebuilds, counts.rebuilds);
  EXPECT_EQ(observer.storage, counts.storage_rebuilds);
  EXPECT_EQ(observer.renewals, counts.renewals);
  EXPECT_GT(observer.storage, 0U);
  EXPECT_GT(observer.renewals, 0U);
}

TEST(VersionTest, OnlyANumberIsAVersion) {
  EXPECT_EQ(VersionOf("12"), 12U);
  EXPECT_EQ(VersionOf("0012"), 12U);
  EXPECT_EQ(VersionOf("18446744073709551615"), ~uint64_t{0});
  for (const char* none : {"", "12x", "x12", " 12", "-1", "18446744073709551616", "0"}) {
    EXPECT_EQ(VersionOf(none), 0U) << none;
  }
  EXPECT_TRUE(IsOlderVersion(4, 5));
  EXPECT_FALSE(IsOlderVersion(5, 5));
  EXPECT_FALSE(IsOlderVersion(6, 5));
  EXPECT_FALSE(IsOlderVersion(0, 5)) << "it has none";
  EXPECT_TRUE(IsLateDelete("", 4, 5));
  EXPECT_FALSE(IsLateDelete("uid", 4, 5));
  EXPECT_FALSE(IsLateDelete("", 0, 5));
}

// Records one line per object: pods with all identifying fields, controllers with their ready pods.
class LineSink final : public AnyObjectSink {
 public:
  std::vector<std::string> lines;
  absl::Status error;  // If not OK, every object is rejected with it.

  void OnAside(const Aside& aside) override { ready_ = aside.pods_ready; }
  static std::string LineOf(const objects::Pod& pod) {
    std::string line = std::string(pod.meta.namespace_name) + "/" + std::string(pod.meta.name);
    line += " uid=" + std::string(pod.meta.uid) + " phase=" + std::string(pod.phase);
    line += " on=" + std::string(pod.node_name) + " to=" + std::string(pod.nominated_node_name);
    line += " created=" + std::to_string(pod.meta.creation_time);
    if (pod.meta.deletion_time) line += " deleted=" + std::to_string(*pod.meta.deletion_time);
    if (pod.priority) line += " priority=" + std::to_string(*pod.priority);
    return line;
  }

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    if (!error.ok()) return error;
    if (const auto* const pod = std::get_if<const objects::Pod*>(&object)) {
      lines.push_back(LineOf(**pod));
    } else {
      lines.push_back(std::string(objects::KindOf(object)) + " " +
                      std::string(objects::MetaOf(object).name));
      if (ready_ != 0) lines.back() += " ready=" + std::to_string(ready_);
    }
    ready_ = 0;
    return absl::OkStatus();
  }

 private:
  int64_t ready_ = 0;
};

TEST_F(LiveTest, PodsThatAreLeftOutAreCountedByWhyAndExportedByThemselves) {
  const auto exported = [this] {
    LineSink sink;
    EXPECT_TRUE(live_.ExportLeftOut(sink).ok());
    return sink.lines;
  };
  Pod done = Pod("done").On("a").Uid("u1").CreatedAt(5).Phase("Succeeded");
  Pod cheap = Pod("cheap").On("a").CreatedAt(6).Priority(-20);
  Pod failed = Pod("failed").CreatedAt(7).DeletedAt(8).Phase("Failed");
  failed.raw.nominated_node_name = "b";
  const Pod web = Pod("web").On("a");
  for (const objects::ObjectRef& object :
       {objects::ObjectRef(&a_.raw), objects::ObjectRef(&done.raw), objects::ObjectRef(&cheap.raw),
        objects::ObjectRef(&failed.raw), objects::ObjectRef(&web.raw)}) {
    ASSERT_TRUE(Put(object).ok());
  }
  EXPECT_EQ(live_.PodsLeftOut(PodListing::kEnded), 2U);
  EXPECT_EQ(live_.PodsLeftOut(PodListing::kExpendable), 1U);
  EXPECT_EQ(live_.PodsLeftOut(PodListing::kListed), 0U);
  EXPECT_EQ(live_.Pods(), 4U);
  EXPECT_EQ(live_.Objects(), 5U);
  EXPECT_EQ(live_.Nodes(), 1U);
  EXPECT_THAT(On("a"), ElementsAre("web"));
  const std::string of_done = "default/done uid=u1 phase=Succeeded on=a to= created=5";
  EXPECT_THAT(
      exported(),
      ElementsAre(of_done, "default/cheap uid= phase=Running on=a to= created=6 priority=-20",
                  "default/failed uid= phase=Succeeded on= to=b created=7 deleted=8"));
  LineSink refuses;
  refuses.error = absl::CancelledError("enough");
  EXPECT_EQ(live_.ExportLeftOut(refuses), refuses.error);

  // Of an expendable pod only the newest version counts.
  ASSERT_TRUE(Put(&cheap.raw).ok());
  EXPECT_EQ(live_.counts().unchanged, 1U);
  cheap.Priority(-30);
  ASSERT_TRUE(Put(&cheap.raw).ok());
  EXPECT_EQ(live_.counts().unchanged, 1U);
  Delete(&failed.raw);
  EXPECT_EQ(live_.PodsLeftOut(PodListing::kEnded), 1U);
  EXPECT_THAT(
      exported(),
      ElementsAre(of_done, "default/cheap uid= phase=Running on=a to= created=6 priority=-30"));
  // A pod that is no longer expendable is in the snapshot, and so is a pod that runs again.
  cheap.Priority(-10);
  done.Phase("Running");
  ASSERT_TRUE(Put(&cheap.raw).ok());
  ASSERT_TRUE(Put(&done.raw).ok());
  EXPECT_EQ(live_.PodsLeftOut(PodListing::kEnded), 0U);
  EXPECT_EQ(live_.PodsLeftOut(PodListing::kExpendable), 0U);
  EXPECT_THAT(exported(), ::testing::IsEmpty());
  EXPECT_THAT(On("a"), ::testing::UnorderedElementsAre("web", "cheap", "done"));
}

TEST_F(LiveTest, OptionsSayWhichPodsAreLeftOut) {
  LiveSnapshot::Options options;
  options.keep_ended_pods = true;
  options.expendable_pods_priority_cutoff = 5;
  LiveSnapshot live(options);
  const Pod done = Pod("done").On("a").Phase("Succeeded");
  const Pod cheap = Pod("cheap").On("a").Priority(4);
  const Pod dear = Pod("dear").On("a").Priority(5);
  const Change changes[] = {
      {.object = &a_.raw}, {.object = &done.raw}, {.object = &cheap.raw}, {.object = &dear.raw}};
  ASSERT_TRUE(live.Take(changes).ok());
  EXPECT_EQ(live.PodsLeftOut(PodListing::kEnded), 0U);
  EXPECT_EQ(live.PodsLeftOut(PodListing::kExpendable), 1U);
  EXPECT_EQ(live.Snapshot().PodsOn(NodeId{0}).size(), 2U);
  EXPECT_NE(live.FindPod("default", "done"), kNoPod);
  EXPECT_NE(live.FindPod("default", "dear"), kNoPod);
  EXPECT_EQ(live.FindPod("default", "cheap"), kNoPod);
  EXPECT_EQ(live.FindPod("shop", "done"), kNoPod);
  EXPECT_EQ(live.FindPod("default", "unseen"), kNoPod);
}

TEST_F(LiveTest, EqualPodsAreExportedOnceWithACount) {
  const Pod first = Pod("w0").On("a").Uid("u0").CreatedAt(5).Cpu(100);
  const Pod second = Pod("w1").On("a").Uid("u1").CreatedAt(7).Cpu(100);
  const Pod without = Pod("w2").On("a").Cpu(100);
  const Pod other = Pod("x").On("b").Cpu(500);
  const Pod third = Pod("w3").On("b").Uid("u3").Cpu(100);
  for (const objects::ObjectRef& object :
       {objects::ObjectRef(&a_.raw), objects::ObjectRef(&b_.raw), objects::ObjectRef(&first.raw),
        objects::ObjectRef(&second.raw), objects::ObjectRef(&without.raw),
        objects::ObjectRef(&other.raw), objects::ObjectRef(&third.raw)}) {
    ASSERT_TRUE(Put(object).ok());
  }
  std::vector<std::string> exported;
  const auto record = [&](const objects::Pod& pod, uint64_t pods) {
    exported.push_back(std::to_string(pods) + " as " + LineSink::LineOf(pod));
    return absl::OkStatus();
  };
  LineSink sink;
  ASSERT_TRUE(live_.ExportAlike(sink, record).ok());
  EXPECT_THAT(sink.lines, ElementsAre("Node a", "Node b"));
  EXPECT_THAT(exported, ElementsAre("3 as default/w0 uid=u0 phase=Running on=a to= created=5",
                                    "1 as default/w2 uid= phase=Running on=a to= created=0",
                                    "1 as default/x uid= phase=Running on=b to= created=0"));
  sink.error = absl::CancelledError("enough");
  EXPECT_EQ(live_.ExportAlike(sink, record), sink.error);
  EXPECT_EQ(live_.Export(sink), sink.error);
  EXPECT_EQ(exported.size(), 3U);
  LineSink takes;
  const auto refuse = [](const objects::Pod&, uint64_t) { return absl::CancelledError("no"); };
  EXPECT_EQ(live_.ExportAlike(takes, refuse).message(), "no");
}

TEST_F(LiveTest, WhetherAPodWaitsFollowsItsCondition) {
  using enum objects::Scheduling;
  const auto put = [this](objects::Scheduling scheduling, bool deleted = false) {
    Pod pod = Pod("p");
    pod.raw.scheduling = scheduling;
    pod.raw.nominated_node_name = deleted ? "n1" : "";
    if (deleted) pod.raw.meta.deletion_time = 7;
    ASSERT_TRUE(Put(&pod.raw).ok());
  };
  const Node n1("n1");
  ASSERT_TRUE(Put(&n1.raw).ok());
  put(kUnprocessed);
  EXPECT_EQ(live_.Pending().size(), 1U) << "no pod has the condition";
  put(kGated);
  EXPECT_EQ(live_.Pending().size(), 0U);
  EXPECT_EQ(live_.PodsWithoutNode()[static_cast<size_t>(PodWait::kGated)].first, "default/p");
  put(kUnschedulable);
  EXPECT_EQ(live_.Pending().size(), 1U);
  put(kUnschedulable, /*deleted=*/true);
  EXPECT_EQ(live_.Pending().size(), 0U);
  EXPECT_THAT(On("n1"), ElementsAre()) << "a nomination of a pod that goes takes no room";
  Pod runs = Pod("runs").On("n1");
  runs.raw.scheduling = kOther;
  ASSERT_TRUE(Put(&runs.raw).ok());
  put(kUnprocessed);
  EXPECT_EQ(live_.Pending().size(), 0U) << "another pod has it now";
  Delete(&runs.raw);
  EXPECT_EQ(live_.Pending().size(), 1U);
}

TEST_F(LiveTest, PendingReturnsPodsInTheOrderOfArrival) {
  const auto pending = [this] {
    std::string names;
    for (const PodId pod : live_.Pending()) {
      names += (names.empty() ? "" : " ") + live_.Snapshot().catalog().PodName(pod);
    }
    return names;
  };
  EXPECT_EQ(live_.FirstPodOnUnknownNode(), "");
  const Pod before = Pod("before").On("n1");
  const Pod z = Pod("z").On("n2");
  const Pod y = Pod("y").On("n1");
  const Pod p1 = Pod("p1");
  Pod nominated = Pod("nominated");
  nominated.raw.nominated_node_name = "n2";
  const Pod p2 = Pod("p2");
  for (const Pod* const pod : std::vector<const Pod*>{&p1, &before, &z, &y, &nominated, &p2}) {
    ASSERT_TRUE(Put(&pod->raw).ok());
  }
  Delete(&before.raw);
  EXPECT_EQ(live_.FirstPodOnUnknownNode(), "default/z on n2");
  EXPECT_EQ(live_.PodsOnUnknownNodes(), 2U);
  EXPECT_EQ(pending(), "default/p1 default/nominated default/p2");
  const LiveBranch branch = live_.Branch();
  EXPECT_EQ(branch.Pending().size(), 3U);
  EXPECT_EQ(branch.PodsOnUnknownNodes(), 2U);

  const Node n2 = Node("n2").Label("zone", "x");
  ASSERT_TRUE(Put(&n2.raw).ok());
  EXPECT_THAT(On("n2"), ElementsAre("z", "nominated"));
  EXPECT_EQ(live_.FirstPodOnUnknownNode(), "default/y on n1");
  EXPECT_EQ(pending(), "default/p1 default/p2");
  LineSink sink;
  ASSERT_TRUE(live_.Export(sink).ok());
  EXPECT_THAT(sink.lines,
              ::testing::Contains("default/nominated uid= phase=Running on= to=n2 created=0"));
  // Once it is bound to the node to which it was nominated, it waits for that node like others.
  Pod bound = nominated;
  bound.raw.node_name = "n2";
  bound.raw.nominated_node_name = "n2";
  ASSERT_TRUE(Put(&bound.raw).ok());
  Delete(&n2.raw);
  EXPECT_EQ(live_.PodsOnUnknownNodes(), 3U);
  EXPECT_EQ(live_.FirstPodOnUnknownNode(), "default/z on n2");
  EXPECT_EQ(pending(), "default/p1 default/p2");
}

TEST_F(LiveTest, TheUidOfANamespaceIsThatOfThePresentOne) {
  EXPECT_EQ(live_.UidOfNamespace("shop"), "");
  objects::Namespace shop;
  shop.meta.name = "shop";
  shop.meta.uid = "u1";
  objects::Namespace without;
  without.meta.name = "without";
  const Node named = Node("node").With([](objects::Node& node) { node.meta.uid = "n"; });
  ASSERT_TRUE(Put(&shop).ok());
  ASSERT_TRUE(Put(&without).ok());
  ASSERT_TRUE(Put(&named.raw).ok());
  EXPECT_EQ(live_.UidOfNamespace("shop"), "u1");
  EXPECT_EQ(live_.UidOfNamespace("without"), "");
  EXPECT_EQ(live_.UidOfNamespace("node"), "");
  shop.meta.uid = "u2";
  ASSERT_TRUE(Put(&shop).ok());
  EXPECT_EQ(live_.UidOfNamespace("shop"), "u2");
  Delete(&shop);
  EXPECT_EQ(live_.UidOfNamespace("shop"), "");
}

TEST_F(LiveTest, TheNewestTimeIsFoundAgainAfterItsObjectIsDeleted) {
  const auto put = [this](const char* name, int64_t created) {
    const Pod pod = Pod(name).On("a").CreatedAt(created);
    ASSERT_TRUE(Put(&pod.raw).ok());
  };
  const auto remove = [this](const char* name) {
    const Pod pod = Pod(name);
    Delete(&pod.raw);
  };
  EXPECT_EQ(live_.NewestTime(), 0);
  put("p", 50);
  put("q", 200);
  put("r", 100);
  EXPECT_EQ(live_.NewestTime(), 200);
  remove("p");  // Another pod is newer.
  EXPECT_EQ(live_.NewestTime(), 200);
  remove("q");
  EXPECT_EQ(live_.NewestTime(), 100);
  remove("r");
  put("s", 500);  // Before NewestTime() is called again.
  EXPECT_EQ(live_.NewestTime(), 500);
  put("s", 40);
  put("t", 30);
  EXPECT_EQ(live_.NewestTime(), 40);
  Node node = Node("a");
  node.raw.meta.creation_time = 70;
  ASSERT_TRUE(Put(&node.raw).ok());
  EXPECT_EQ(live_.NewestTime(), 70);
  node.raw.meta.creation_time = 20;
  ASSERT_TRUE(Put(&node.raw).ok());
  EXPECT_EQ(live_.NewestTime(), 40);
}

TEST_F(LiveTest, KindsAreThoseOfWhichAnObjectIsHeld) {
  EXPECT_EQ(live_.Kinds(), 0U);
  const Pod pod = Pod("p").On("a");
  const Budget budget = Budget("b").MatchingEverything();
  const test::Controller set(objects::ControllerKind::kReplicaSet, "x");
  const test::Controller same(objects::ControllerKind::kReplicaSet, "y");
  const test::Controller job(objects::ControllerKind::kJob, "x");
  objects::Namespace shop;
  shop.meta.name = "shop";
  objects::CsiDriver csi;
  csi.meta.name = "x";
  objects::StorageClass storage_class;
  storage_class.meta.name = "x";
  const objects::StorageObject driver = csi;
  const objects::StorageObject class_of_storage = storage_class;
  const std::vector<objects::ObjectRef> all = {&a_.raw,  &pod.raw, &budget.raw, &set.raw,
                                               &job.raw, &shop,    &driver,     &class_of_storage};
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(live_.Holds(all[i])) << i;
    ASSERT_TRUE(Put(all[i]).ok());
    EXPECT_TRUE(live_.Holds(all[i])) << i;
    EXPECT_EQ(std::popcount(live_.Kinds()), static_cast<int>(i) + 1);
  }
  ASSERT_TRUE(Put(&same.raw).ok());
  EXPECT_EQ(std::popcount(live_.Kinds()), 8);
  EXPECT_EQ(live_.Objects(), 9U);
  Delete(&set.raw);
  EXPECT_FALSE(live_.Holds(&set.raw));
  EXPECT_TRUE(live_.Holds(&job.raw)) << "another kind of controller";
  EXPECT_EQ(std::popcount(live_.Kinds()), 8);
  Delete(&same.raw);
  EXPECT_EQ(std::popcount(live_.Kinds()), 7);
  const uint64_t pods = uint64_t{1} << 63;
  EXPECT_EQ(live_.Kinds() & pods, pods);
  Delete(&pod.raw);
  EXPECT_EQ(live_.Kinds() & pods, 0U);
  EXPECT_EQ(std::popcount(live_.Kinds()), 6);
}

TEST_F(LiveTest, ReadyCountsAreKeptAndAreNotAChange) {
  const test::Controller set(objects::ControllerKind::kReplicaSet, "x");
  const auto put = [&](int64_t ready) {
    const Change change{.object = &set.raw, .pods_ready = ready};
    ASSERT_TRUE(live_.Take({&change, 1}).ok());
  };
  const auto exported = [this] {
    LineSink sink;
    EXPECT_TRUE(live_.Export(sink).ok());
    return sink.lines;
  };
  put(3);
  EXPECT_EQ(live_.counts().put, 1U);
  EXPECT_EQ(live_.counts().ready, 0U);
  put(4);
  put(4);
  EXPECT_EQ(live_.counts().put, 1U);
  EXPECT_EQ(live_.counts().unchanged, 2U);
  EXPECT_EQ(live_.counts().ready, 1U);
  EXPECT_THAT(exported(), ElementsAre("ReplicaSet x ready=4"));
  put(0);
  EXPECT_THAT(exported(), ElementsAre("ReplicaSet x"));
}

TEST_F(LiveTest, BudgetsOfOneNameInTwoNamespacesAreTwo) {
  const Budget one = Budget("web").Matching("app", "web").Allows(1);
  const Budget two = Budget("web").In("shop").Matching("app", "web").Allows(2);
  const Budget other = Budget("other").In("shop").Matching("app", "web").Allows(3);
  for (const Budget* const budget : {&one, &two, &other}) ASSERT_TRUE(Put(&budget->raw).ok());
  const auto allowed = [this] {
    std::vector<int32_t> all;
    for (const Pdb& pdb : live_.Snapshot().catalog().pdbs()) all.push_back(pdb.disruptions_allowed);
    return all;
  };
  EXPECT_THAT(allowed(), ElementsAre(1, 2, 3));
  const Budget more = Budget("web").In("shop").Matching("app", "web").Allows(7);
  ASSERT_TRUE(Put(&more.raw).ok());
  EXPECT_THAT(allowed(), ElementsAre(1, 7, 3));
  const Budget wider = Budget("web").In("shop").MatchingEverything().Allows(8);
  ASSERT_TRUE(Put(&wider.raw).ok());
  EXPECT_THAT(allowed(), ElementsAre(1, 8, 3));
  Delete(&more.raw);
  EXPECT_THAT(allowed(), ElementsAre(1, 3));
}

// Tests a pod with anti-affinity to pods of namespaces with a label, if no Namespace was put.
TEST_F(LiveTest, TheOptionsDecideHowMissingNamespacesCount) {
  using enum LiveSnapshot::Options::UnknownNamespaces;
  const Pod web = Pod("web").In("shop").On("a").Label("app", "web");
  const auto fits_on = [&](LiveSnapshot::Options::UnknownNamespaces unknown, std::string_view key,
                           std::string_view value) {
    LiveSnapshot::Options options;
    options.unknown_namespaces = unknown;
    LiveSnapshot live(options);
    Pod asks = Pod("asks").Away("zone", Select("app", "web"));
    asks.raw.anti_affinity[0].namespace_selector = Select(key, value);
    const Change changes[] = {
        {.object = &a_.raw}, {.object = &b_.raw}, {.object = &web.raw}, {.object = &asks.raw}};
    EXPECT_TRUE(live.Take(changes).ok());
    ClusterSnapshot& snapshot = live.Snapshot();
    const PodId pod = live.FindPod("default", "asks");
    std::string nodes;
    for (const char* name : {"a", "b"}) {
      const bool fits =
          Explain(snapshot, snapshot.catalog().shape_of(pod), test::NodeNamed(snapshot, name)).fits;
      nodes += fits ? name : "";
    }
    return nodes;
  };
  EXPECT_EQ(fits_on(kHaveNames, "kubernetes.io/metadata.name", "shop"), "b");
  EXPECT_EQ(fits_on(kHaveNames, "team", "t"), "ab");
  EXPECT_EQ(fits_on(kHaveNoLabels, "kubernetes.io/metadata.name", "shop"), "ab");
  EXPECT_EQ(fits_on(kHaveNoLabels, "team", "t"), "ab");
  EXPECT_EQ(fits_on(kKeepPods, "team", "t"), "");
  EXPECT_EQ(fits_on(kKeepPods, "kubernetes.io/metadata.name", "shop"), "b") << "names are known";
}

TEST_F(LiveTest, PodsWhosePlaceHangsOnAnUnknownNamespaceSayWhich) {
  const Pod web = Pod("web").In("shop").On("a").Label("app", "web");
  const Pod db = Pod("db").In("shop").On("a").Label("app", "db");
  Pod asks = Pod("asks").Away("zone", Select("app", "web"));
  asks.raw.anti_affinity[0].namespace_selector = Select("team", "t");
  Pod other = Pod("other").Away("zone", Select("app", "web"));
  other.raw.anti_affinity[0].namespace_selector = Select("team", "t");
  other.raw.anti_affinity[0].namespace_selector.match_labels.push_back(
      {"kubernetes.io/metadata.name", "elsewhere"});
  const Change changes[] = {{.object = &a_.raw},
                            {.object = &web.raw},
                            {.object = &db.raw},
                            {.object = &asks.raw},
                            {.object = &other.raw}};
  ASSERT_TRUE(live_.Take(changes).ok());
  const Catalog& catalog = live_.Snapshot().catalog();
  const auto why = [&](std::string_view namespace_name, std::string_view name) {
    return catalog.shape_of(live_.FindPod(namespace_name, name)).not_understood;
  };
  const std::string of_shop =
      "spec.affinity.podAntiAffinity: a namespaceSelector asks for the labels of namespace shop, "
      "which is not in the input";
  EXPECT_EQ(why("default", "asks"), of_shop);
  EXPECT_EQ(why("shop", "web"), of_shop) << "it may be repelled";
  EXPECT_EQ(why("shop", "db"), "");
  EXPECT_EQ(why("default", "other"), "") << "of another name";
}

// --- What changes report --------------------------------------------------------------------

TEST_F(LiveTest, OnlyARealChangeGivesANewStateId) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  uint64_t state = live_.Snapshot().StateId();
  uint64_t revision = live_.Snapshot().catalog().revision();
  // Whether the state changed, and whether the catalog's revision did.
  const auto changed = [&] {
    ClusterSnapshot& now = live_.Snapshot();
    const std::pair differ(now.StateId() != state, now.catalog().revision() != revision);
    state = now.StateId();
    revision = now.catalog().revision();
    return differ;
  };
  const auto put = [&](const objects::ObjectRef& object) {
    EXPECT_TRUE(Put(object).ok());
    return changed();
  };
  const auto remove = [&](const objects::ObjectRef& object) {
    Delete(object);
    return changed();
  };
  using Reported = std::pair<bool, bool>;
  const Reported nothing(false, false);
  const Reported pods(true, false);
  const Reported all(true, true);
  // A pod that waits is on no node's list.
  const Pod waits = Pod("waits");
  const Pod later = Pod("waits").CreatedAt(5);
  EXPECT_EQ(put(&waits.raw), pods);
  EXPECT_EQ(put(&waits.raw), nothing);
  EXPECT_EQ(put(&later.raw), pods);
  EXPECT_EQ(remove(&later.raw), pods);
  EXPECT_EQ(remove(&later.raw), nothing);

  const Node cordoned = Node("a").Label("zone", "x").Unschedulable();
  EXPECT_EQ(put(&cordoned.raw), all);
  EXPECT_EQ(put(&b_.raw), all);
  EXPECT_EQ(put(&b_.raw), nothing);
  EXPECT_EQ(remove(&b_.raw), all);

  const Budget budget = Budget("w").Matching("app", "web").Allows(1);
  const Budget more = Budget("w").Matching("app", "web").Allows(2);
  const Budget wider = Budget("w").MatchingEverything().Allows(2);
  EXPECT_EQ(put(&budget.raw), all);
  EXPECT_EQ(put(&more.raw), all);
  EXPECT_EQ(put(&wider.raw), all);
  EXPECT_EQ(put(&wider.raw), nothing);
  EXPECT_EQ(remove(&wider.raw), all);

  const test::Controller set(objects::ControllerKind::kReplicaSet, "rs");
  EXPECT_EQ(put(&set.raw), all);
  EXPECT_EQ(remove(&set.raw), all);
  objects::Namespace shop;
  shop.meta.name = "shop";
  EXPECT_EQ(put(&shop), all);
  EXPECT_EQ(remove(&shop), all);

  objects::CsiNode drivers;
  drivers.meta.name = "a";
  objects::PersistentVolumeClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "data";
  const objects::StorageObject in_place = drivers;
  const objects::StorageObject resolved_again = claim;
  EXPECT_EQ(put(&in_place), all);
  EXPECT_EQ(remove(&in_place), all);
  EXPECT_EQ(put(&resolved_again), all);
  EXPECT_EQ(remove(&resolved_again), all);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
  EXPECT_EQ(live_.counts().storage_rebuilds, 2U);
}

TEST_F(LiveTest, TheNewestMachineDecidesWhatDeletesANode) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  const auto machine_of = [this](std::string_view node) {
    const ClusterSnapshot& snapshot = live_.Snapshot();
    const NodeInfo& info = snapshot.catalog().node(test::NodeNamed(snapshot, node));
    const std::string* const machine =
        snapshot.catalog().storage().dying_machines().Of(info.name, info.provider_id);
    return machine == nullptr ? "" : *machine;
  };
  objects::Machine machine;
  machine.meta.namespace_name = "ns";
  machine.meta.name = "m";
  machine.node_name = "a";
  objects::NodeClaim claim;
  claim.meta.name = "c";
  claim.node_name = "a";
  claim.meta.deletion_time = 5;
  const objects::StorageObject runs = machine;
  machine.meta.deletion_time = 5;
  const objects::StorageObject goes = machine;
  const objects::StorageObject of_karpenter = claim;
  ASSERT_TRUE(Put(&runs).ok());
  EXPECT_EQ(machine_of("a"), "");
  ASSERT_TRUE(Put(&of_karpenter).ok());
  EXPECT_EQ(machine_of("a"), "NodeClaim c");
  ASSERT_TRUE(Put(&goes).ok());
  EXPECT_EQ(machine_of("a"), "Machine ns/m");
  ASSERT_TRUE(Put(&runs).ok());
  Delete(&of_karpenter);
  EXPECT_EQ(machine_of("a"), "");
}

TEST_F(LiveTest, TheNewestNodeObjectDecidesItsDeletionAndStartup) {
  const auto of_a = [this] {
    const ClusterSnapshot& snapshot = live_.Snapshot();
    return snapshot.catalog().node(test::NodeNamed(snapshot, "a"));
  };
  const Node starts = Node("a").Taint("karpenter.sh/unregistered");
  ASSERT_TRUE(Put(&starts.raw).ok());
  EXPECT_EQ(of_a().setup, NodeSetup::kUnregistered);
  const Node runs =
      Node("a").Label("karpenter.sh/nodepool", "p").Label("karpenter.sh/initialized", "true");
  ASSERT_TRUE(Put(&runs.raw).ok());
  EXPECT_EQ(of_a().setup, NodeSetup::kInitialized);
  EXPECT_EQ(of_a().leaving, NodeLeaving::kNo);
  Node goes = runs;
  goes.raw.meta.deletion_time = 7;
  ASSERT_TRUE(Put(&goes.raw).ok());
  EXPECT_EQ(of_a().leaving, NodeLeaving::kDeletionTimestamp);
}

TEST_F(LiveTest, LogsRecordEachArrivalAndDepartureWithItsId) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  const auto lines_of = [this](const auto& log) {
    std::vector<std::string> lines;
    for (const auto& change : log.changes) {
      lines.push_back((change.came ? "+" : "-") + std::to_string(Index(change.id)) + " " +
                      std::string(live_.symbols()->Text(change.key)));
    }
    return lines;
  };
  const uint64_t lineage = live_.Snapshot().catalog().lineage();
  const Pod p = Pod("p").On("a").Uid("u");
  const Pod larger = Pod("p").On("a").Uid("u").Cpu(5);
  const Pod q = Pod("q").On("a");
  const Pod r = Pod("r").On("a");
  ASSERT_TRUE(Put(&p.raw).ok());
  ASSERT_TRUE(Put(&larger.raw).ok());
  ASSERT_TRUE(Put(&q.raw).ok());
  Delete(&larger.raw);
  ASSERT_TRUE(Put(&r.raw).ok());
  Delete(&q.raw);
  const Catalog& catalog = live_.Snapshot().catalog();
  EXPECT_THAT(lines_of(catalog.pod_changes()), ElementsAre("+0 u", "-0 u", "+0 u", "+1 default/q",
                                                           "-0 u", "+0 default/r", "-1 default/q"));
  EXPECT_TRUE(catalog.IsThere(PodId{0}));
  EXPECT_FALSE(catalog.IsThere(PodId{1}));

  EXPECT_THAT(lines_of(catalog.node_changes()), ElementsAre());
  ASSERT_TRUE(Put(&b_.raw).ok());
  Delete(&a_.raw);
  ASSERT_TRUE(Put(&a_.raw).ok());
  const Catalog& now = live_.Snapshot().catalog();
  EXPECT_THAT(lines_of(now.node_changes()), ElementsAre("+1 b", "-0 a", "+2 a"));
  EXPECT_FALSE(now.IsThere(NodeId{0}));
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{0}), 0);
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{2}), 4000);
  EXPECT_EQ(now.lineage(), lineage);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

TEST_F(LiveTest, ALogOfPodsForgetsItsOlderHalfAtAThousandChangesMoreThanThereArePods) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  (void)live_.Snapshot();
  const Pod on_a = Pod("web").On("a");
  const Pod on_b = Pod("web").On("b");
  ASSERT_TRUE(Put(&on_a.raw).ok());
  const auto move = [&](int i) { ASSERT_TRUE(Put(i % 2 == 0 ? &on_b.raw : &on_a.raw).ok()); };
  for (int i = 0; i < 512; ++i) move(i);
  const PodChangeLog& log = live_.Snapshot().catalog().pod_changes();
  EXPECT_EQ(log.forgotten, 0U);
  EXPECT_EQ(log.changes.size(), 1025U);
  move(512);
  const PodChangeLog& then = live_.Snapshot().catalog().pod_changes();
  EXPECT_EQ(then.forgotten, 513U);
  EXPECT_EQ(then.changes.size(), 514U);
  EXPECT_EQ(then.end(), 1027U);
}

TEST_F(LiveTest, ALogOfNodesForgetsItsOlderHalfAtAThousandChangesMoreThanThereWereNodes) {
  (void)live_.Snapshot();
  const auto name = [](int i) { return "n" + std::to_string(i); };
  for (int i = 0; i < 2000; ++i) {
    const Node node(name(i));
    ASSERT_TRUE(Put(&node.raw).ok());
  }
  const auto remove = [&](int i) {
    const Node node(name(i));
    Delete(&node.raw);
  };
  for (int i = 0; i < 1025; ++i) remove(i);
  EXPECT_EQ(live_.Snapshot().catalog().node_changes().forgotten, 0U);
  EXPECT_EQ(live_.Snapshot().catalog().node_changes().changes.size(), 3025U);
  remove(1025);
  EXPECT_EQ(live_.Snapshot().catalog().node_changes().forgotten, 1512U);
  EXPECT_EQ(live_.Snapshot().catalog().node_changes().changes.size(), 1514U);
  EXPECT_EQ(live_.Snapshot().nodes(), 974U);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

// --- When everything is rebuilt -------------------------------------------------------------

TEST_F(LiveTest, IdsOfDeletedNodesAreReusedIfTheyAreMost) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  const auto come_and_go = [this](int times) {
    const Node node("n");
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(Put(&node.raw).ok());
      Delete(&node.raw);
    }
    (void)live_.Snapshot();
  };
  const auto rebuilds = [this] {
    return live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kGoneNodes)];
  };
  // 130 of 131 ids are unused: the first number that exceeds 64 plus half of the ids.
  come_and_go(129);
  EXPECT_EQ(rebuilds(), 0U);
  EXPECT_EQ(live_.Snapshot().catalog().nodes(), 130U);
  come_and_go(1);
  EXPECT_EQ(rebuilds(), 1U);
  EXPECT_EQ(live_.Snapshot().catalog().nodes(), 1U);
  // After a rebuild the count starts again.
  come_and_go(129);
  EXPECT_EQ(rebuilds(), 1U);
  come_and_go(1);
  EXPECT_EQ(rebuilds(), 2U);
}

TEST_F(LiveTest, UnusedNodeShapesAreDroppedIfTheyAreManyMoreThanNodes) {
  const auto put = [this](int i) {
    const Node node = Node("a").Taint("t", std::to_string(i));
    ASSERT_TRUE(Put(&node.raw).ok());
    (void)live_.Snapshot();
  };
  // The limit is 64 plus twice the number of node ids.
  for (int i = 1; i <= 66; ++i) put(i);
  EXPECT_EQ(live_.Snapshot().catalog().node_shapes(), 66U);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
  put(67);
  EXPECT_EQ(live_.Snapshot().catalog().node_shapes(), 1U);
  EXPECT_EQ(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kGoneNodes)], 1U);
}

TEST_F(LiveTest, ShapesWithoutPodsAreDroppedAtTheFirstThatIsTooMany) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  const auto put = [this](int64_t priority) {
    const Pod pod = Pod("web").On("a").Priority(priority);
    ASSERT_TRUE(Put(&pod.raw).ok());
    (void)live_.Snapshot();
  };
  for (int64_t i = 0; i <= 127; ++i) put(i);
  EXPECT_EQ(live_.Snapshot().catalog().pod_shapes(), 128U);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
  put(128);
  EXPECT_EQ(live_.Snapshot().catalog().pod_shapes(), 1U);
  EXPECT_EQ(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kDeadShapes)], 1U);
}

TEST_F(LiveTest, TooManyUnusedShapesCauseARebuildEvenWithoutAReader) {
  const auto put = [this](int64_t priority) {
    const Pod pod = Pod("web").Priority(priority);
    ASSERT_TRUE(Put(&pod.raw).ok());
  };
  // 8,194 of 8,195 shapes have no pods: the first number that exceeds 4,096 plus half of the
  // shapes.
  for (int64_t i = 0; i <= 8193; ++i) put(i);
  EXPECT_EQ(live_.counts().AllRebuilds(), 0U);
  put(8194);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
  EXPECT_EQ(live_.Snapshot().catalog().pod_shapes(), 1U);
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

TEST_F(LiveTest, TextsAreRenewedAtTheFirstThatIsTooMany) {
  constexpr size_t kTexts = 60;
  LiveSnapshot live({.renew_texts = true, .texts_kept = kTexts});
  const auto put = [&](std::string_view hash) {
    const Pod pod = Pod("web").On("a").Label("hash", hash);
    const Change change{.object = &pod.raw};
    ASSERT_TRUE(live.Take({&change, 1}).ok());
  };
  const Change add_node{.object = &a_.raw};
  ASSERT_TRUE(live.Take({&add_node, 1}).ok());
  put("first");
  (void)live.Snapshot();
  const std::shared_ptr<Symbols> symbols = live.symbols();
  const size_t most = kTexts + 2 * symbols->kept() + 1;  // Plus one for the pod.
  for (int i = 0; symbols->kept() < most; ++i) {
    ASSERT_LT(i, 120);
    put("hash-" + std::to_string(i));
  }
  ASSERT_EQ(symbols->kept(), most);
  EXPECT_EQ(live.symbols(), symbols);
  EXPECT_EQ(live.counts().renewals, 0U);
  EXPECT_EQ(live.counts().AllRebuilds(), 1U);
  put("last");
  EXPECT_NE(live.symbols(), symbols);
  EXPECT_EQ(live.counts().renewals, 1U);
  EXPECT_EQ(live.counts().rebuilds[static_cast<size_t>(RebuildCause::kDeadTexts)], 1U);
  const Catalog& catalog = live.Snapshot().catalog();
  EXPECT_EQ(catalog.PodName(live.FindPod("default", "web")), "default/web");
  EXPECT_EQ(live.Snapshot().placed_pods(), 1U);
  EXPECT_EQ(live.counts().AllRebuilds(), 2U);
}

TEST_F(LiveTest, BeyondTheLimitOfResourcesEveryNodeCausesARebuild) {
  const auto offers = [](std::string_view name, int resources) {
    Node node(name);
    for (int r = 0; r < resources; ++r) node.Resource("example.com/" + std::to_string(r), 1);
    return node;
  };
  const auto rebuilds = [this](RebuildCause cause) {
    (void)live_.Snapshot();
    return live_.counts().rebuilds[static_cast<size_t>(cause)];
  };
  const auto resources = [this] { return live_.Snapshot().catalog().resources(); };
  const Node b = offers("b", 252);
  const Node c = offers("c", 253);
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  ASSERT_TRUE(Put(&b.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kAmounts), 0U);
  EXPECT_EQ(resources(), 256U);
  ASSERT_TRUE(Put(&c.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kAmounts), 1U);
  EXPECT_EQ(resources(), kFixedResources) << "no pod asks for them";
  // Resources that were dropped are no longer known, so the next node causes another rebuild.
  const Node grown = Node("a").Label("zone", "x").Cpu(5000);
  ASSERT_TRUE(Put(&grown.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kAmounts), 2U);
  const Pod pod = Pod("p").On("a").Cpu(100);
  ASSERT_TRUE(Put(&pod.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kShape), 1U);
  Delete(&c.raw);
  EXPECT_EQ(rebuilds(RebuildCause::kAmounts), 3U);
  EXPECT_EQ(resources(), 256U);
  // From here on all resources fit.
  ASSERT_TRUE(Put(&a_.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kAmounts), 3U);
  EXPECT_EQ(live_.Snapshot().Free(kCpu, test::NodeNamed(live_.Snapshot(), "a")), 3900);
  const Pod asks = Pod("asks").Request("example.org/new", 1);
  ASSERT_TRUE(Put(&asks.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kShape), 2U);
  EXPECT_EQ(live_.counts().AllRebuilds(), 6U);
}

TEST_F(LiveTest, ChargesAreBoundedWhileTheyAreMoreThanCanBeAddedUp) {
  constexpr int64_t kHalf = kChargedMax / 2;
  const auto rebuilds = [this] {
    (void)live_.Snapshot();
    return live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kAmounts)];
  };
  const auto free = [this] { return live_.Snapshot().Free(kCpu, NodeId{0}); };
  const Pod first = Pod("first").On("a").Cpu(kHalf);
  const Pod second = Pod("second").On("a").Cpu(kHalf);
  const Pod small = Pod("small").On("a").Cpu(1);
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  ASSERT_TRUE(Put(&first.raw).ok());
  ASSERT_TRUE(Put(&second.raw).ok());
  EXPECT_EQ(rebuilds(), 0U);
  EXPECT_EQ(free(), 4000 - kChargedMax);
  ASSERT_TRUE(Put(&small.raw).ok());
  EXPECT_EQ(rebuilds(), 1U);
  EXPECT_EQ(free(), 4000 - 2 * 4001 - 1);
  Delete(&small.raw);
  EXPECT_EQ(rebuilds(), 2U);
  EXPECT_EQ(free(), 4000 - kChargedMax);
  // After the rebuild the pods' charges are up to date.
  Delete(&second.raw);
  EXPECT_EQ(free(), 4000 - kHalf);
  ASSERT_TRUE(Put(&second.raw).ok());
  EXPECT_EQ(rebuilds(), 2U);
  EXPECT_EQ(free(), 4000 - kChargedMax);
  ASSERT_TRUE(Put(&small.raw).ok());
  EXPECT_EQ(rebuilds(), 3U);
}

TEST_F(LiveTest, ANamespaceCausesARebuildIfASelectorUsesItsChangedLabels) {
  objects::Namespace shop;
  shop.meta.name = "shop";
  shop.meta.labels = {{"team", "t"}};
  objects::Namespace own;
  own.meta.name = "default";
  const Pod web = Pod("web").In("shop").On("a").Label("app", "web");
  const Pod asks = Pod("asks").On("b").Away("zone", Select("app", "web")).With([](auto& p) {
    p.anti_affinity[0].namespace_selector = Select("team", "t");
  });
  const auto rebuilds = [this] {
    (void)live_.Snapshot();
    return live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kNamespace)];
  };
  const auto repelled = [&] {
    const PodId pod = live_.FindPod("shop", "web");
    return live_.Snapshot().catalog().shape_of(pod).repelled_by.size();
  };
  for (const objects::ObjectRef& object :
       std::vector<objects::ObjectRef>{&own, &shop, &a_.raw, &b_.raw, &web.raw, &asks.raw}) {
    ASSERT_TRUE(Put(object).ok());
  }
  EXPECT_EQ(repelled(), 1U);
  shop.meta.uid = "another";
  ASSERT_TRUE(Put(&shop).ok());
  EXPECT_EQ(rebuilds(), 0U) << "its labels are the same";
  shop.meta.labels = {{"team", "u"}};
  ASSERT_TRUE(Put(&shop).ok());
  EXPECT_EQ(rebuilds(), 1U);
  EXPECT_EQ(repelled(), 0U);
  Delete(&shop);
  EXPECT_EQ(rebuilds(), 2U);
  const auto why = [&] {
    return live_.Snapshot().catalog().shape_of(live_.FindPod("shop", "web")).not_understood;
  };
  EXPECT_NE(why(), "");
  // When the pod with the selector is deleted, the other pod is no longer kept on its node.
  Delete(&asks.raw);
  EXPECT_EQ(rebuilds(), 3U);
  EXPECT_EQ(why(), "");
  ASSERT_TRUE(Put(&shop).ok());
  EXPECT_EQ(rebuilds(), 3U) << "no selector uses it";
}

// 520 terms with 520 keys exceed the limit up to which tables are made (topology_tables.cc).
TEST_F(LiveTest, IfTablesAreLeftOutEveryNewShapeAndNodeCausesARebuild) {
  Node all("all");
  Pod near = Pod("near").On("all");
  for (int k = 0; k < 520; ++k) {
    const std::string id = std::to_string(k);
    all.Label("k" + id, "v");
    near.Near("k" + id, Select("app", id));
  }
  ASSERT_TRUE(Put(&all.raw).ok());
  ASSERT_TRUE(Put(&near.raw).ok());
  const auto rebuilds = [this](RebuildCause cause) {
    (void)live_.Snapshot();
    return live_.counts().rebuilds[static_cast<size_t>(cause)];
  };
  EXPECT_EQ(rebuilds(RebuildCause::kFirst), 1U);
  const Pod plain = Pod("plain").On("all");
  ASSERT_TRUE(Put(&plain.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kShape), 1U);
  ASSERT_TRUE(Put(&a_.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kNode), 1U);
  Delete(&near.raw);
  const Pod other = Pod("other").On("all").Cpu(1);
  ASSERT_TRUE(Put(&other.raw).ok());
  EXPECT_EQ(rebuilds(RebuildCause::kShape), 2U);
  // The pod with the many terms was deleted before the last rebuild.
  ASSERT_TRUE(Put(&b_.raw).ok());
  EXPECT_EQ(live_.Snapshot().nodes(), 3U);
  EXPECT_EQ(live_.counts().AllRebuilds(), 4U);
}

// A rollout to another anti-affinity, or a Job with the labels of an application.  Before, the
// catalog was rebuilt.
TEST_F(LiveTest, CountsThatOneTableStoodForPartInPlace) {
  const auto fits = [this](std::string_view pod, std::string_view node) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    const PodShape& shape = snapshot.catalog().shape_of(live_.FindPod("default", pod));
    return Explain(snapshot, shape, test::NodeNamed(snapshot, node)).fits;
  };
  const auto web = [](const char* name) { return Pod(name).Label("app", "web").Cpu(1); };
  const Pod first = web("first").On("a").Away("zone", Select("app", "web"));
  const Pod second = web("second").Cpu(2).Away("zone", Select("app", "web"));
  for (const objects::ObjectRef& object :
       {objects::ObjectRef(&a_.raw), objects::ObjectRef(&b_.raw), objects::ObjectRef(&first.raw)}) {
    ASSERT_TRUE(Put(object).ok());
  }
  (void)live_.Snapshot();
  ASSERT_TRUE(Put(&second.raw).ok());
  EXPECT_FALSE(fits("second", "a"));
  EXPECT_TRUE(fits("second", "b"));
  // It has the label and not the term.
  const Pod job = web("job").On("b");
  ASSERT_TRUE(Put(&job.raw).ok());
  EXPECT_FALSE(fits("second", "b"));
  EXPECT_FALSE(fits("job", "a")) << "the first pod's term repels it";
  EXPECT_TRUE(fits("job", "b"));
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  // It has the term and not the label.
  const Pod other = Pod("other").Label("app", "other").Away("zone", Select("app", "web"));
  ASSERT_TRUE(Put(&other.raw).ok());
  EXPECT_FALSE(fits("other", "a"));
  EXPECT_FALSE(fits("other", "b"));
  Delete(&first.raw);
  EXPECT_TRUE(fits("other", "a"));
  EXPECT_TRUE(fits("job", "a"));
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

// Preview namespaces.  Before, the catalog was rebuilt for each.
TEST_F(LiveTest, ANamespaceComesAndGoesInPlaceWhileTermsSelectNamespacesByLabels) {
  const auto named = [](const char* name, const char* team) {
    objects::Namespace made;
    made.meta.name = name;
    made.meta.labels = {{"team", team}};
    return made;
  };
  const objects::Namespace own = named("default", "own");
  const Pod asks = Pod("asks").On("a").Away("zone", Select("app", "web")).With([](auto& p) {
    p.anti_affinity[0].namespace_selector = Select("team", "t");
  });
  for (const objects::ObjectRef& object :
       std::vector<objects::ObjectRef>{&own, &a_.raw, &b_.raw, &asks.raw}) {
    ASSERT_TRUE(Put(object).ok());
  }
  (void)live_.Snapshot();
  const auto fits = [this](const char* in, const char* pod, const char* node) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    const PodShape& shape = snapshot.catalog().shape_of(live_.FindPod(in, pod));
    return Explain(snapshot, shape, test::NodeNamed(snapshot, node)).fits;
  };
  for (int round = 0; round < 3; ++round) {
    const objects::Namespace preview = named("preview", "t");
    const objects::Namespace plain = named("plain", "u");
    ASSERT_TRUE(Put(&preview).ok());
    ASSERT_TRUE(Put(&plain).ok());
    const Pod repelled = Pod("web").In("preview").On("b").Label("app", "web");
    const Pod free = Pod("web").In("plain").On("b").Label("app", "web");
    ASSERT_TRUE(Put(&free.raw).ok());
    EXPECT_TRUE(fits("plain", "web", "a"));
    EXPECT_TRUE(fits("default", "asks", "b"));
    ASSERT_TRUE(Put(&repelled.raw).ok());
    EXPECT_FALSE(fits("preview", "web", "a"));
    EXPECT_FALSE(fits("default", "asks", "b"));
    EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
    // Watches of two kinds are not ordered.
    Delete(&preview);
    Delete(&plain);
    Delete(&free.raw);
    Delete(&repelled.raw);
    EXPECT_TRUE(fits("default", "asks", "b"));
  }
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
  // Its labels change, and it has shapes, though no pods.
  const objects::Namespace changed = named("preview", "u");
  ASSERT_TRUE(Put(&changed).ok());
  EXPECT_TRUE(fits("default", "asks", "b"));
  EXPECT_EQ(live_.counts().rebuilds[static_cast<size_t>(RebuildCause::kNamespace)], 1U);
}

// --- Changes in place -----------------------------------------------------------------------

TEST_F(LiveTest, ANodeMayComeToOfferAndToRefuseWhatItDidNot) {
  const Pod web = Pod("web")
                      .On("a")
                      .Cpu(100)
                      .Label("app", "web")
                      .Spread("zone", 1, Select("app", "web"))
                      .With([](auto& p) { p.spread[0].node_taints_policy = "Honor"; });
  ASSERT_TRUE(Put(&a_.raw).ok());
  ASSERT_TRUE(Put(&b_.raw).ok());
  ASSERT_TRUE(Put(&web.raw).ok());
  (void)live_.Snapshot();
  const auto domains = [this] {
    const ClusterSnapshot& snapshot = live_.Snapshot();
    return snapshot.topology().Domains(snapshot.catalog(), TableId{0});
  };
  EXPECT_EQ(domains(), 2U);
  Node dedicated = b_;
  dedicated.Taint("dedicated", "db");
  ASSERT_TRUE(Put(&dedicated.raw).ok());
  EXPECT_EQ(domains(), 1U);
  ASSERT_TRUE(Put(&b_.raw).ok());
  EXPECT_EQ(domains(), 2U);

  Node richer = a_;
  richer.Cpu(9000).Resource("example.com/x", 7);
  ASSERT_TRUE(Put(&richer.raw).ok());
  const auto free = [this](std::string_view resource) {
    const ClusterSnapshot& snapshot = live_.Snapshot();
    const std::optional<ResourceId> id = snapshot.catalog().FindResource(resource);
    return id ? snapshot.Free(*id, test::NodeNamed(snapshot, "a")) : -1;
  };
  EXPECT_EQ(free("cpu"), 8900);
  EXPECT_EQ(free("example.com/x"), 7);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  ASSERT_TRUE(Put(&a_.raw).ok());
  EXPECT_EQ(free("cpu"), 3900);
  EXPECT_EQ(free("example.com/x"), 0);
  EXPECT_THAT(On("a"), ElementsAre("web"));
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

TEST_F(LiveTest, PodsThatTerminateOrCountOtherwiseAreListedWhileTheyAreThere) {
  const auto odd = [](std::string_view name) {
    return Pod(name).On("a").With([](objects::Pod& p) {
      p.has_pod_resources = true;
      p.pod_requests = {{"cpu", 50}};
      p.has_pod_status_resources = true;
      p.pod_status_requests = {{"cpu", 90}};
    });
  };
  const Pod x = odd("x");
  const Pod y = odd("y");
  const Pod plain = Pod("plain").On("a");
  const Pod going = Pod("going").On("a").DeletedAt(77);
  ASSERT_TRUE(Put(&a_.raw).ok());
  (void)live_.Snapshot();
  for (const Pod* const pod : std::vector<const Pod*>{&x, &plain, &y}) {
    ASSERT_TRUE(Put(&pod->raw).ok());
  }
  const auto otherwise = [this] { return live_.Snapshot().catalog().pods_counted_otherwise(); };
  EXPECT_THAT(otherwise(), ElementsAre(PodId{0}, PodId{2}));
  Delete(&x.raw);
  EXPECT_THAT(otherwise(), ElementsAre(PodId{2}));
  ASSERT_TRUE(Put(&going.raw).ok());
  EXPECT_THAT(otherwise(), ElementsAre(PodId{2}));
  const auto& times = live_.Snapshot().catalog().deletion_times();
  EXPECT_THAT(times, ElementsAre(::testing::Pair(PodId{0}, 77)));
  Delete(&going.raw);
  EXPECT_TRUE(live_.Snapshot().catalog().deletion_times().empty());
  EXPECT_EQ(live_.counts().AllRebuilds(), 1U);
}

TEST_F(LiveTest, TheLastVersionAndUidOfEveryKindCount) {
  const Node larger = Node("a").Label("zone", "x").Cpu(9000);
  ASSERT_TRUE(Put(&a_.raw, "10").ok());
  ASSERT_TRUE(Put(&a_.raw, "12").ok());
  ASSERT_TRUE(Put(&larger.raw, "11").ok());
  EXPECT_EQ(live_.counts().unchanged, 1U);
  EXPECT_EQ(live_.counts().older, 1U);
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{0}), 4000);
  ASSERT_TRUE(Put(&larger.raw, "12").ok());
  EXPECT_EQ(live_.counts().put, 2U);
  EXPECT_EQ(live_.Snapshot().Free(kCpu, NodeId{0}), 9000);

  Node named = a_;
  named.raw.meta.uid = "u1";
  Node recreated = a_;
  recreated.raw.meta.uid = "u2";
  ASSERT_TRUE(Put(&named.raw).ok());
  ASSERT_TRUE(Put(&recreated.raw).ok());
  Delete(&named.raw);
  EXPECT_EQ(live_.counts().unknown_deletes, 1U);
  EXPECT_EQ(live_.Nodes(), 1U);
  Delete(&recreated.raw);
  EXPECT_EQ(live_.counts().deleted, 1U);
  EXPECT_EQ(live_.Nodes(), 0U);
}

TEST_F(LiveTest, TheNewestTimeGoesWithAnObjectThatIsDeleted) {
  const auto node = [](std::string_view name, int64_t created) {
    return Node(name).With([=](objects::Node& n) { n.meta.creation_time = created; });
  };
  const Node old = node("old", 40);
  Node young = node("young", 70);
  const Pod pod = Pod("p").CreatedAt(50).DeletedAt(900);
  ASSERT_TRUE(Put(&old.raw).ok());
  ASSERT_TRUE(Put(&young.raw).ok());
  ASSERT_TRUE(Put(&pod.raw).ok());
  EXPECT_EQ(live_.NewestTime(), 70) << "a pod's deletion may lie ahead";
  young.raw.meta.deletion_time = 90;
  ASSERT_TRUE(Put(&young.raw).ok());
  EXPECT_EQ(live_.NewestTime(), 90);
  Delete(&young.raw);
  EXPECT_EQ(live_.NewestTime(), 50);
  Delete(&pod.raw);
  EXPECT_EQ(live_.NewestTime(), 40);
  Delete(&old.raw);
  EXPECT_EQ(live_.NewestTime(), 0);
}

// --- Exporting objects ----------------------------------------------------------------------

// Rejects one object, and accepts all others.
class RefusingSink final : public AnyObjectSink {
 public:
  explicit RefusingSink(size_t refused) : refused_(refused) {}
  size_t given = 0;

 protected:
  absl::Status OnObject(const objects::ObjectRef&) override {
    return given++ == refused_ ? absl::CancelledError("enough") : absl::OkStatus();
  }

 private:
  const size_t refused_;
};

TEST_F(LiveTest, ExportGoesKindByKindAndStopsAtTheFirstErrorOfTheSink) {
  objects::Namespace shop;
  shop.meta.name = "shop";
  const test::Controller set(objects::ControllerKind::kReplicaSet, "x");
  const test::Controller job(objects::ControllerKind::kJob, "x");
  const Budget budget = Budget("w").MatchingEverything();
  objects::CsiDriver driver;
  driver.meta.name = "d";
  objects::StorageClass local;
  local.meta.name = "s";
  const objects::StorageObject csi = driver;
  const objects::StorageObject storage_class = local;
  const Pod on_a = Pod("on-a").On("a");
  const Pod on_b = Pod("on-b").On("b");
  const Pod waits = Pod("waits");
  const Pod lost = Pod("lost").On("gone");
  const std::vector<objects::ObjectRef> all = {&lost.raw,   &on_a.raw, &storage_class, &on_b.raw,
                                               &budget.raw, &job.raw,  &waits.raw,     &b_.raw,
                                               &set.raw,    &a_.raw,   &csi,           &shop};
  for (const objects::ObjectRef& object : all) ASSERT_TRUE(Put(object).ok());
  LineSink sink;
  ASSERT_TRUE(live_.Export(sink).ok());
  const auto pod = [](const Pod& of) { return LineSink::LineOf(of.raw); };
  EXPECT_THAT(sink.lines, ElementsAre("Namespace shop", "Node b", "Node a", "Job x", "ReplicaSet x",
                                      "PodDisruptionBudget w", "StorageClass s", "CSIDriver d",
                                      pod(on_b), pod(on_a), pod(lost), pod(waits)));
  const auto count = [](const objects::Pod&, uint64_t) { return absl::OkStatus(); };
  for (size_t n = 0; n < all.size(); ++n) {
    RefusingSink refuses(n);
    EXPECT_EQ(live_.Export(refuses), absl::CancelledError("enough")) << n;
    EXPECT_EQ(refuses.given, n + 1);
    if (n >= 8) continue;  // ExportAlike() does not pass pods to the sink.
    RefusingSink again(n);
    EXPECT_EQ(live_.ExportAlike(again, count), absl::CancelledError("enough")) << n;
    EXPECT_EQ(again.given, n + 1);
  }
  RefusingSink takes(all.size());
  EXPECT_TRUE(live_.Export(takes).ok());
  EXPECT_EQ(takes.given, all.size());
}

TEST_F(LiveTest, ExportLeftOutStopsAtTheFirstErrorOfTheSink) {
  const Pod done = Pod("done").Phase("Succeeded");
  const Pod cheap = Pod("cheap").Priority(-20);
  const Pod failed = Pod("failed").Phase("Failed");
  for (const Pod* const pod : std::vector<const Pod*>{&done, &cheap, &failed}) {
    ASSERT_TRUE(Put(&pod->raw).ok());
  }
  for (size_t n = 0; n < 3; ++n) {
    RefusingSink refuses(n);
    EXPECT_EQ(live_.ExportLeftOut(refuses), absl::CancelledError("enough")) << n;
    EXPECT_EQ(refuses.given, n + 1);
  }
  RefusingSink takes(3);
  EXPECT_TRUE(live_.ExportLeftOut(takes).ok());
  EXPECT_EQ(takes.given, 3U);
}

// --- Readers --------------------------------------------------------------------------------

TEST_F(LiveTest, ABranchIsAssignedWithAllItsFields) {
  const Pod waits = Pod("waits");
  const Pod lost = Pod("lost").On("gone");
  const Pod other = Pod("other").On("gone");
  ASSERT_TRUE(Put(&a_.raw).ok());
  for (const Pod* const pod : std::vector<const Pod*>{&lost, &waits, &other}) {
    ASSERT_TRUE(Put(&pod->raw).ok());
  }
  LiveBranch branch = LiveSnapshot().Branch();
  EXPECT_EQ(branch.PodsOnUnknownNodes(), 0U);
  branch = live_.Branch();
  EXPECT_THAT(branch.Pending(), ElementsAre(PodId{1}));
  EXPECT_EQ(branch.PodsOnUnknownNodes(), 2U);
  EXPECT_EQ(branch.Snapshot().nodes(), 1U);
}

TEST_F(LiveTest, ACatalogIsCopiedOnceAndOnlyWhileABranchReadsIt) {
  ASSERT_TRUE(Put(&a_.raw).ok());
  const Catalog* const first = &live_.Snapshot().catalog();
  {
    const LiveBranch gone = live_.Branch();
  }
  const Pod p = Pod("p").On("a");
  ASSERT_TRUE(Put(&p.raw).ok());
  EXPECT_EQ(&live_.Snapshot().catalog(), first);
  LiveBranch reads = live_.Branch();
  LiveBranch too = live_.Branch();
  ASSERT_TRUE(Put(&b_.raw).ok());
  const Catalog* const second = &live_.Snapshot().catalog();
  EXPECT_NE(second, first);
  EXPECT_EQ(second->lineage(), first->lineage());
  const Pod q = Pod("q").On("b");
  ASSERT_TRUE(Put(&q.raw).ok());
  EXPECT_EQ(&live_.Snapshot().catalog(), second) << "no branch reads this one";
  EXPECT_EQ(&reads.Snapshot().catalog(), first);
  EXPECT_EQ(reads.Snapshot().nodes(), 1U);
  EXPECT_EQ(too.Snapshot().placed_pods(), 1U);
  EXPECT_EQ(live_.Snapshot().nodes(), 2U);
  EXPECT_EQ(live_.Snapshot().placed_pods(), 2U);
  EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
}

// The sums of a recent pod are reused only for a pod with exactly the same amounts.
TEST(LiveSnapshotTest, PodsAreEqualOnlyIfAllTheirAmountsAre) {
  using P = objects::Pod;
  const auto status = [](P& p) {
    p.container_statuses = {
        {.name = "main", .has_resources = true, .requests = {{"cpu", 300}}, .allocated = {}}};
  };
  const auto pod_level = [](P& p) {
    p.has_pod_resources = true;
    p.pod_requests = {{"cpu", 50}};
    p.has_pod_status_resources = true;
    p.pod_status_requests = {{"cpu", 90}};
  };
  struct Case {
    std::string name;
    std::function<void(P&)> base;
    std::function<void(P&)> change;
  };
  const std::vector<Case> cases = {
      {"amount", [](P&) {}, [](P& p) { p.containers[0].requests[0].amount = 101; }},
      {"resource", [](P&) {}, [](P& p) { p.containers[0].requests[0].name = "memory"; }},
      {"excess",
       [](P& p) {
         p.containers[0].requests[0].excess = 400'000'000;
         p.overhead = {{"cpu", 50, 500'000'000}};
       },
       [](P& p) { p.containers[0].requests[0].excess = 600'000'000; }},
      {"container name", status, [](P& p) { p.containers[0].name = "renamed"; }},
      {"init container",
       [](P& p) {
         p.init_containers.resize(1);
         p.init_containers[0].requests = {{"cpu", 20}};
       },
       [](P& p) { p.init_containers[0].requests[0].amount = 500; }},
      {"overhead", [](P&) {}, [](P& p) { p.overhead = {{"cpu", 5}}; }},
      {"status name", status, [](P& p) { p.container_statuses[0].name = "other"; }},
      {"status tells", status, [](P& p) { p.container_statuses[0].has_resources = false; }},
      {"status requests", status, [](P& p) { p.container_statuses[0].requests[0].amount = 400; }},
      {"allocated", status, [](P& p) { p.container_statuses[0].allocated = {{"cpu", 900}}; }},
      {"infeasible",
       [&](P& p) {
         status(p);
         p.container_statuses[0].requests = {{"cpu", 50}};
       },
       [](P& p) { p.resize_infeasible = true; }},
      {"has pod resources",
       [&](P& p) {
         pod_level(p);
         p.has_pod_resources = false;
       },
       [](P& p) { p.has_pod_resources = true; }},
      {"pod requests", pod_level, [](P& p) { p.pod_requests[0].amount = 60; }},
      {"has pod status", pod_level, [](P& p) { p.has_pod_status_resources = false; }},
      {"pod status", pod_level, [](P& p) { p.pod_status_requests[0].amount = 95; }},
      {"pod allocated", pod_level, [](P& p) { p.pod_allocated = {{"cpu", 200}}; }},
  };
  const auto figures = [](const PodShape& shape) {
    std::string text;
    for (const Requests* const list :
         {&shape.fit_requests, &shape.charge_requests, &shape.Counted()}) {
      for (const auto& [resource, amount] : *list) {
        text += std::to_string(Index(resource)) + "=" + std::to_string(amount) + " ";
      }
      text += "| ";
    }
    for (const CpuAndMemory& of : {shape.scored_incoming, shape.scored_default}) {
      text += std::to_string(of.cpu_milli) + "," + std::to_string(of.memory_bytes) + " ";
    }
    return text;
  };
  for (const auto& [name, base, change] : cases) {
    const Pod first = Pod("first").Cpu(100).With(base);
    const Pod second = Pod("second").Cpu(100).With(base).With(change);
    LiveSnapshot live;
    const Change changes[] = {{.object = &first.raw}, {.object = &second.raw}};
    ASSERT_TRUE(live.Take(changes).ok());
    const ClusterSnapshot fresh = test::Cluster().Add(first).Add(second).Build();
    for (const char* const pod : {"first", "second"}) {
      const PodId held = live.FindPod("default", pod);
      EXPECT_EQ(figures(live.Snapshot().catalog().shape_of(held)),
                figures(fresh.catalog().shape_of(test::PodNamed(fresh, pod))))
          << name << ": " << pod;
    }
  }
}

// --- Operating systems and versions

class LiveOsTest : public LiveTest {
 protected:
  // The operating system that the pod needs; "" if it is not known.
  std::string OsOf(std::string_view pod) {
    ClusterSnapshot& snapshot = live_.Snapshot();
    const Catalog& catalog = snapshot.catalog();
    const PodShape& shape = catalog.shape_of(live_.FindPod("default", pod));
    return std::string(catalog.Text(catalog.constraints(shape.constraints).os));
  }
  const Node linux_ = Node("l").Label("kubernetes.io/os", "linux");
  const Node windows_ = Node("w").Label("kubernetes.io/os", "windows");
  const Pod on_linux_ = Pod("a").On("l");
  const Pod on_windows_ = Pod("b").On("w");
};

TEST_F(LiveOsTest, PodsAreMadeForTheSystemOfTheirNodeOnceThereAreTwo) {
  ASSERT_TRUE(Put(&on_linux_.raw).ok());
  ASSERT_TRUE(Put(&linux_.raw).ok());
  EXPECT_EQ(OsOf("a"), "");
  ASSERT_TRUE(Put(&windows_.raw).ok());
  EXPECT_EQ(OsOf("a"), "linux");
  const uint64_t before = live_.counts().AllRebuilds();
  ASSERT_TRUE(Put(&on_windows_.raw).ok());
  EXPECT_EQ(OsOf("b"), "windows");
  Pod moved = on_linux_;
  ASSERT_TRUE(Put(&moved.On("w").raw).ok());
  EXPECT_EQ(OsOf("a"), "windows");
  EXPECT_EQ(live_.counts().AllRebuilds(), before);
}

TEST_F(LiveOsTest, APodThatComesBeforeItsNodeIsMadeForItsSystemToo) {
  const Node other = Node("l2").Label("kubernetes.io/os", "linux");
  for (const Node* const node : {&other, &windows_}) ASSERT_TRUE(Put(&node->raw).ok());
  ASSERT_TRUE(Put(&on_linux_.raw).ok());
  EXPECT_EQ(OsOf("a"), "");
  ASSERT_TRUE(Put(&linux_.raw).ok());
  EXPECT_EQ(OsOf("a"), "linux");
  Node changed = Node("l").Label("kubernetes.io/os", "windows");
  ASSERT_TRUE(Put(&changed.raw).ok());
  EXPECT_EQ(OsOf("a"), "windows");
}

TEST_F(LiveTest, TheNewestPresentKubeletDecidesTheVersionOfTheRules) {
  const auto with_kubelet = [](std::string_view name, std::string_view version) {
    return Node(name).With([&](objects::Node& node) { node.kubelet_version = version; });
  };
  const auto version = [&] { return live_.Snapshot().catalog().kubernetes_version(); };
  const Node old = with_kubelet("a", "v1.36.1");
  const Node newer = with_kubelet("b", "v1.37.0");
  ASSERT_TRUE(Put(&old.raw).ok());
  EXPECT_EQ(version(), KubernetesVersion::k136);
  ASSERT_TRUE(Put(&newer.raw).ok());
  EXPECT_EQ(version(), KubernetesVersion::k137);
  Delete(&newer.raw);
  EXPECT_EQ(version(), KubernetesVersion::k136);
  const Node upgraded = with_kubelet("a", "v1.37.0");
  ASSERT_TRUE(Put(&upgraded.raw).ok());
  EXPECT_EQ(version(), KubernetesVersion::k137);
  ASSERT_TRUE(Put(&old.raw).ok());
  EXPECT_EQ(version(), KubernetesVersion::k136);
  // The API server's version takes precedence over those of kubelets.
  live_.SetVersion(KubernetesVersion::k137);
  EXPECT_EQ(version(), KubernetesVersion::k137);
  live_.SetVersion(KubernetesVersion::k136);
  ASSERT_TRUE(Put(&newer.raw).ok());
  EXPECT_EQ(version(), KubernetesVersion::k136);
  live_.SetVersion(std::nullopt);
  EXPECT_EQ(version(), KubernetesVersion::k137);
}

}  // namespace
}  // namespace ebb::live_snapshot_test
