#include "planning/live_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/make_plan.h"
#include "report/explain.h"
#include "report/filter_report.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "rounds/round_driver.h"
#include "rounds/round_replay.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/change_batch.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/samples/generate.h"
#include "tests/support/live_twin.h"
#include "tests/support/random_seed.h"
#include "tests/support/sanitized.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::live_cluster_test {
namespace {

using test::Budget;
using test::Node;
using test::Pod;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kNow = 1780315200;

std::string NameOf(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  return std::string(objects::KindOf(object)) + " " + std::string(meta.namespace_name) + "/" +
         std::string(meta.name);
}

template <typename Function>
class CallingSink final : public AnyObjectSink {
 public:
  explicit CallingSink(Function function) : function_(std::move(function)) {}

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override { return function_(object); }

 private:
  Function function_;
};

PlanRequest Request() {
  PlanRequest request;
  request.pass.now_s = kNow;
  request.planner.scale_down_utilization_threshold = 0.9;
  request.planner.drain.skip_nodes_with_system_pods = false;
  return request;
}

absl::StatusOr<nlohmann::ordered_json> ExplainLive(LiveCluster& live,
                                                   std::span<const std::string> nodes) {
  LiveCluster::Version version = live.Unchecked();
  LoadedCluster& cluster = version.cluster;
  const absl::StatusOr<std::vector<NodeId>> ids = FindNodes(cluster.snapshot.catalog(), nodes);
  if (!ids.ok()) return ids.status();
  const NodeGroups groups = AssignGroups(cluster.snapshot.catalog(), GroupRules());
  PlanRequest request = Request();
  request.pass.pending = cluster.pending;
  const absl::StatusOr<PlanResult> made = MakePlan(cluster.snapshot, groups, request);
  if (!made.ok()) return made.status();
  return ExplanationJson(
      MakeReport({.cluster = &cluster, .groups = &groups, .request = &request, .made = &*made}),
      *ids);
}

struct Context {
  LoadedCluster& cluster;
  const PlanRequest& request;
  const NodeGroups& groups;
  const PlanResult& made;
};
std::string PlanText(const Context& of) {
  return PlanJson(MakeReport({.cluster = &of.cluster,
                              .groups = &of.groups,
                              .request = &of.request,
                              .made = &of.made}))
      .dump(1);
}

std::vector<std::string> NodeNames(ClusterSnapshot& snapshot) {
  std::vector<std::string> names;
  snapshot.alive().ForEach(
      [&](NodeId node) { names.emplace_back(snapshot.catalog().NodeName(node)); });
  return names;
}

// A LiveCluster, and its objects, packed, in order of arrival.
class Twin {
 public:
  explicit Twin(LoadOptions options = {}) : options_(options), live_(options) {}

  LiveCluster& live() { return live_; }

  void Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    const absl::Status taken = live_.Take({&change, 1});
    ASSERT_TRUE(taken.ok()) << taken;
    const auto held = Find(NameOf(object));
    if (held != held_.end()) {
      held->second = PackObject(object);
    } else {
      held_.emplace_back(NameOf(object), PackObject(object));
    }
  }
  void Put(const Node& node) { Put(&node.raw); }
  void Put(const Budget& budget) { Put(&budget.raw); }
  void Put(const Pod& pod) { Put(&pod.raw); }

  void Delete(const objects::ObjectRef& object) {
    const Change change{.type = Change::Type::kDelete, .object = object};
    const absl::Status taken = live_.Take({&change, 1});
    ASSERT_TRUE(taken.ok()) << taken;
    const auto held = Find(NameOf(object));
    if (held != held_.end()) held_.erase(held);
  }
  void DeleteNode(std::string_view name) {
    const Node node(name);
    Delete(&node.raw);
  }
  void DeletePod(std::string_view name) {
    const Pod pod(name);
    Delete(&pod.raw);
  }

  // A ReplicaSet "rs" with `count` replicas, in namespace default.
  void PutReplicas(int64_t count) {
    const test::Controller controller =
        test::Controller(objects::ControllerKind::kReplicaSet, "rs").Replicas(count);
    Put(&controller.raw);
  }

  // Deletes a random object, and restores the one that was deleted before.
  void Change1(test::Dice& dice) {
    const auto at = held_.begin() + dice.Below(static_cast<int>(held_.size()));
    const std::string packed = at->second;
    Delete(UnpackedObject(packed).ref());
    if (!gone_.empty()) Put(UnpackedObject(gone_).ref());
    gone_ = packed;
  }

  // Passes all objects on: first the objects that the live cluster exports in an order of its own,
  // in that order, because the order of the pods on a node decides where they are placed.
  absl::Status Give(ObjectSink& sink) {
    std::vector<std::string> order;
    CallingSink names([&](const objects::ObjectRef& object) {
      order.push_back(NameOf(object));
      return absl::OkStatus();
    });
    if (absl::Status s = live_.Export(names); !s.ok()) return s;
    const std::set<std::string> exported(order.begin(), order.end());
    for (const auto& [name, packed] : held_) {
      if (!exported.contains(name)) order.push_back(name);
    }
    for (const std::string& name : order) {
      const auto held = Find(name);
      if (held == held_.end()) return absl::InternalError(name + " is exported, and not there");
      if (absl::Status s = ebb::Give(UnpackedObject(held->second).ref(), sink); !s.ok()) return s;
    }
    return absl::OkStatus();
  }
  LoadedCluster Loaded() {
    ClusterLoader loader(options_);
    const absl::Status given = Give(loader);
    EXPECT_TRUE(given.ok()) << given;
    absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return *std::move(cluster);
  }
  // The cluster, judged as LoadCluster judges a dump.
  absl::StatusOr<LoadedCluster> Checked() {
    ClusterLoader loader(options_);
    InputCensus census;
    absl::Status status = census.Look([&](ObjectSink& sink) { return Give(sink); }, loader);
    absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    if (status.ok()) status = cluster.status();
    if (status.ok()) status = CheckCompleteness(census, {}, options_, *cluster);
    if (!status.ok()) return status;
    return cluster;
  }

  // Expects the same answers from both.
  void Compare() {
    LoadedCluster loaded = Loaded();
    LiveCluster::Version version = live_.Unchecked();
    PlanRequest request = Request();
    const GroupRules rules;

    EXPECT_TRUE(live_.Snapshot().CheckInvariants().ok());
    ASSERT_EQ(NodeNames(live_.Snapshot()), NodeNames(loaded.snapshot));
    ASSERT_EQ(NodeNames(version.cluster.snapshot), NodeNames(loaded.snapshot));
    EXPECT_EQ(version.cluster.counts.ended, loaded.counts.ended);
    EXPECT_EQ(version.cluster.counts.expendable, loaded.counts.expendable);
    EXPECT_EQ(version.cluster.counts.on_unknown_node, loaded.counts.on_unknown_node);
    EXPECT_EQ(version.cluster.counts.first_unknown, loaded.counts.first_unknown);

    const NodeGroups groups = AssignGroups(loaded.snapshot.catalog(), rules);
    request.pass.pending = loaded.pending;
    const absl::StatusOr<PlanResult> want = MakePlan(loaded.snapshot, groups, request);
    const NodeGroups live_groups = AssignGroups(live_.Snapshot().catalog(), rules);
    const std::vector<PodId> pending = live_.Pending();
    request.pass.pending = pending;
    const absl::StatusOr<PlanResult> got = MakePlan(live_.Snapshot(), live_groups, request);
    ASSERT_EQ(want.status(), got.status());
    if (!want.ok()) return;
    EXPECT_EQ(PlanText({loaded, request, groups, *want}),
              PlanText({version.cluster, request, live_groups, *got}));
    CompareExplanations(loaded, groups, *want);
    CompareFilters(loaded);
    CompareChecked();
    CompareExport();
  }

  static std::vector<std::string> Warned(const LoadedCluster& cluster) {
    std::vector<std::string> warned;
    for (const InputWarning& warning : cluster.warnings) {
      warned.push_back(warning.code + " " + warning.message + " " + warning.command);
    }
    return warned;
  }
  // Ended and expendable pods, and times, are compared elsewhere.
  void CompareChecked() {
    const absl::StatusOr<LoadedCluster> want = Checked();
    const absl::StatusOr<LiveCluster::Version> got = live_.Checked();
    ASSERT_EQ(want.status(), got.status());
    if (!want.ok()) return;
    EXPECT_EQ(Warned(*want), Warned(got->cluster));
  }

 private:
  std::vector<std::pair<std::string, std::string>>::iterator Find(const std::string& name) {
    return std::ranges::find(held_, name, [](const auto& each) { return each.first; });
  }

  void CompareExplanations(LoadedCluster& loaded, const NodeGroups& groups,
                           const PlanResult& made) {
    const std::vector<std::string> names = NodeNames(loaded.snapshot);
    const absl::StatusOr<std::vector<NodeId>> ids = FindNodes(loaded.snapshot.catalog(), names);
    ASSERT_TRUE(ids.ok());
    const PlanRequest request = Request();
    const PlanReport report =
        MakeReport({.cluster = &loaded, .groups = &groups, .request = &request, .made = &made});
    const auto got = ExplainLive(live_, names);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(ExplanationJson(report, *ids).dump(1), got->dump(1));
  }

  // For some of the pods.
  void CompareFilters(LoadedCluster& loaded) {
    size_t asked = 0;
    for (const auto& [name, packed] : held_) {
      if (!name.starts_with("Pod ")) continue;
      const std::string pod = name.substr(4);
      const absl::StatusOr<PodId> id = FindPodNamed(loaded.snapshot.catalog(), pod);
      const auto got = live_.Filter(pod, std::nullopt);
      ASSERT_EQ(id.ok(), got.ok()) << pod;
      if (!id.ok()) continue;
      EXPECT_EQ(FilterJson(loaded.snapshot, *id, std::nullopt, FilterDetail::kEveryFilter).dump(),
                got->dump());
      if (++asked == 10) break;
    }
  }

  void CompareExport() {
    std::set<std::string> held;
    for (const auto& [name, packed] : held_) {
      const UnpackedObject object(packed);
      const auto* const pod = std::get_if<const objects::Pod*>(&object.ref());
      const bool listed =
          pod == nullptr || ListingOf(**pod, kExpendablePodsPriorityCutoff) == PodListing::kListed;
      if (listed) held.insert(name);
    }
    std::set<std::string> exported;
    CallingSink sink([&](const objects::ObjectRef& object) {
      EXPECT_TRUE(exported.insert(NameOf(object)).second);
      return absl::OkStatus();
    });
    EXPECT_TRUE(live_.Export(sink).ok());
    EXPECT_EQ(exported, held);
    ClusterLoader loader(options_);
    ASSERT_TRUE(live_.Export(loader).ok());
    absl::StatusOr<LoadedCluster> again = std::move(loader).Finish();
    ASSERT_TRUE(again.ok()) << again.status();
    LoadedCluster loaded = Loaded();
    EXPECT_EQ(test::DescribeCluster(again->snapshot, again->pending),
              test::DescribeCluster(loaded.snapshot, loaded.pending));
  }

  const LoadOptions options_;
  LiveCluster live_;
  std::vector<std::pair<std::string, std::string>> held_;
  std::string gone_;
};

// c is empty, a and b run one pod each, and the pod on d must not move.
void PutSmall(Twin& twin) {
  for (const char* name : {"a", "b", "c", "d"}) twin.Put(Node(name));
  twin.PutReplicas(3);
  twin.Put(Pod("p").On("a").Cpu(500).Label("app", "web"));
  twin.Put(Pod("q").On("b").Cpu(600));
  twin.Put(Pod("r").On("d").Cpu(3900));
}

TEST(LiveClusterTest, AnswersLikeANewLoadOfTheSameObjects) {
  Twin twin;
  PutSmall(twin);
  twin.Compare();
  twin.Put(Budget("web").Matching("app", "web"));
  twin.Compare();
  twin.Put(Budget("web").Matching("app", "web").Allows(1));
  twin.Put(Pod("waits").Cpu(3000));
  twin.Compare();
  twin.DeleteNode("c");
  twin.Compare();
  twin.Put(Node("c").Taint("only"));
  twin.Put(Node("e").Cpu(1000).Label("nodegroup", "small"));
  twin.DeletePod("q");
  twin.Compare();
  twin.Put(Pod("p").On("e").Cpu(100));
  twin.Put(Pod("lost").On("nowhere"));
  twin.Compare();
  twin.Put(Node("nowhere").NotReady());
  const Budget web("web");
  twin.Delete(&web.raw);
  twin.Compare();
}

TEST(LiveClusterTest, AnswersDoNotDependOnTheOrderOfObjects) {
  Twin twin;
  twin.Put(Pod("p").On("a").Cpu(500).Label("app", "web"));
  twin.Put(Budget("web").Matching("app", "web"));
  twin.Put(Pod("q").On("b").Cpu(500));
  twin.Put(Node("b"));
  twin.Compare();
  twin.PutReplicas(2);
  twin.Put(Node("a"));
  twin.Compare();
}

TEST(LiveClusterTest, AnswersLikeALoadOfAGeneratedClusterThatChanges) {
  const uint64_t seed = test::RandomSeed();
  for (const char* name : {"company", "mixed", "claims"}) {
    const auto kind =
        std::ranges::find(samples::Kinds(), std::string_view(name), &samples::Kind::name);
    ASSERT_NE(kind, samples::Kinds().end()) << name;
    Twin twin;
    CallingSink sink([&](const objects::ObjectRef& object) {
      twin.Put(object);
      return absl::OkStatus();
    });
    ASSERT_TRUE(samples::GenerateDump(*kind, {.nodes = 15, .seed = seed}, sink).ok());
    twin.Compare();
    test::Dice dice(seed);
    for (uint64_t round = 0; round < test::Rounds(8) && !testing::Test::HasFailure(); ++round) {
      for (int i = 0; i < 10; ++i) twin.Change1(dice);
      SCOPED_TRACE(std::string(name) + " after " + std::to_string(10 * (round + 1)) + " changes");
      twin.Compare();
    }
  }
}

// Expects the same answers and figures from both.
void ExpectSame(LiveCluster& a, LiveCluster& b) {
  EXPECT_EQ(a.Objects(), b.Objects());
  EXPECT_EQ(a.Nodes(), b.Nodes());
  EXPECT_EQ(a.Pods(), b.Pods());
  EXPECT_EQ(a.NewestTime(), b.NewestTime());
  EXPECT_EQ(a.UidOfNamespace("kube-system"), b.UidOfNamespace("kube-system"));
  EXPECT_EQ(test::DescribeCluster(a.Snapshot(), a.Pending()),
            test::DescribeCluster(b.Snapshot(), b.Pending()));
  const auto told = [](absl::StatusOr<LoadedCluster> cluster) {
    if (!cluster.ok()) return std::string(cluster.status().message());
    const NodeGroups groups = AssignGroups(cluster->snapshot.catalog(), GroupRules());
    PlanRequest request = Request();
    request.pass.pending = cluster->pending;
    const absl::StatusOr<PlanResult> made = MakePlan(cluster->snapshot, groups, request);
    if (!made.ok()) return std::string(made.status().message());
    return absl::StrCat(PlanText({*cluster, request, groups, *made}), "\n",
                        absl::StrJoin(Twin::Warned(*cluster), "\n"), "\n", cluster->newest_time,
                        " ", cluster->counts.input.bytes, " ", cluster->counts.newest_heartbeat);
  };
  EXPECT_EQ(told(a.CheckedRecentlyHere()), told(b.CheckedRecentlyHere()));
  EXPECT_EQ(told(a.Here()), told(b.Here()));
}

// The objects of an unchanged dump are read when the first of them changes.
TEST(LiveClusterTest, AnUnchangedDumpHasTheAnswersOfItsObjects) {
  const uint64_t seed = test::RandomSeed();
  test::Dice dice(seed);
  for (const char* name : {"company", "mixed", "claims", "topology"}) {
    SCOPED_TRACE(name);
    const auto kind =
        std::ranges::find(samples::Kinds(), std::string_view(name), &samples::Kind::name);
    ASSERT_NE(kind, samples::Kinds().end());
    std::string bytes;
    BinarySnapshotWriter writer([&](std::string_view chunk) {
      bytes.append(chunk);
      return absl::OkStatus();
    });
    Twin objects;
    CallingSink keep([&](const objects::ObjectRef& object) {
      objects.Put(object);
      return Give(object, writer);
    });
    ASSERT_TRUE(samples::GenerateDump(*kind, {.nodes = 15, .seed = seed}, keep).ok());
    ASSERT_TRUE(writer.Finish().ok());
    LoadOptions options{.allow_incomplete = true};
    options.assume_complete = dice.Below(2) == 0;
    const auto held = LiveCluster::FromDump("dump", bytes, options);
    ASSERT_TRUE(held.ok()) << held.status();
    const auto load = [&] {
      return LiveCluster::FromUnchangedDump(
          "dump", bytes, options, LiveCluster::LiveOptionsOf(options), Parallelism::One());
    };
    const auto unchanged = load();
    ASSERT_TRUE(unchanged.ok()) << unchanged.status();
    ExpectSame(**unchanged, **held);
    EXPECT_EQ((*unchanged)->counts().AllRebuilds(), 0U);  // It has no LiveSnapshot yet.
    // Any first change reads the objects.
    const Node node("another");
    const Change change{.object = &node.raw};
    for (LiveCluster* const each : {unchanged->get(), held->get()}) {
      ASSERT_TRUE(each->Take({&change, 1}).ok());
    }
    ExpectSame(**unchanged, **held);
    EXPECT_GT((*unchanged)->counts().AllRebuilds(), 0U);
    // So do a copy, an export, and other settings.
    const auto copied = load();
    const absl::StatusOr<std::unique_ptr<LiveCluster>> copy = (*copied)->Copy();
    ASSERT_TRUE(copy.ok());
    ExpectSame(**copied, **load());
    EXPECT_EQ((*copy)->Objects(), (*copied)->Objects());
    const auto fed = load();
    (*fed)->SetSource(InputSource::kFeeder);
    (*fed)->AllKindsAreListed();
    const auto fed_held = LiveCluster::FromDump("dump", bytes, options);
    (*fed_held)->SetSource(InputSource::kFeeder);
    (*fed_held)->AllKindsAreListed();
    ExpectSame(**fed, **fed_held);
  }
}

// LoadCluster rejects a second budget of a name; a cluster that changes takes the later one.
TEST(LiveClusterTest, AnUnchangedDumpIsAcceptedIfItsObjectsAre) {
  const std::string dump = R"({"kind": "List", "apiVersion": "v1", "items": [
    {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}},
    {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}]})";
  const LoadOptions options{.allow_incomplete = true};
  const auto held = LiveCluster::FromDump("dump", dump, options);
  const auto unchanged = LiveCluster::FromUnchangedDump(
      "dump", dump, options, LiveCluster::LiveOptionsOf(options), Parallelism::One());
  ASSERT_EQ(unchanged.status(), held.status());
  if (held.ok()) ExpectSame(**unchanged, **held);
  const auto none = LiveCluster::FromUnchangedDump(
      "dump", "{", options, LiveCluster::LiveOptionsOf(options), Parallelism::One());
  EXPECT_EQ(none.status(), LiveCluster::FromDump("dump", "{", options).status());
}

TEST(LiveClusterTest, ReadTakesWhatAReaderHandsOver) {
  LiveCluster live;
  Twin twin;
  PutSmall(twin);
  ASSERT_TRUE(live.Read([&](ObjectSink& sink) { return twin.Give(sink); }).ok());
  EXPECT_THAT(NodeNames(live.Snapshot()), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(live.counts().put, 8U);
  // Objects before an error stay.
  const Node good("good");
  const Node bad("");
  const absl::Status read = live.Read([&](ObjectSink& sink) {
    if (absl::Status s = sink.OnNode(good.raw); !s.ok()) return s;
    return sink.OnNode(bad.raw);
  });
  EXPECT_THAT(read.message(), HasSubstr("Node: metadata.name is empty"));
  EXPECT_THAT(NodeNames(live.Snapshot()), ElementsAre("a", "b", "c", "d", "good"));
}

TEST(LiveClusterTest, AnObjectThatIsRefusedLeavesAllAsItWas) {
  Twin twin;
  PutSmall(twin);
  const Node good("good");
  const Node bad("");
  const Pod gone("p");
  const Change changes[] = {{.object = &good.raw},
                            {.type = Change::Type::kDelete, .object = &gone.raw},
                            {.object = &bad.raw}};
  EXPECT_THAT(twin.live().Take(changes).message(), HasSubstr("Node: metadata.name is empty"));
  EXPECT_EQ(twin.live().counts().deleted, 0U);
  twin.Compare();
}

TEST(LiveClusterTest, PodsThatHaveEndedOrAreExpendableAreCounted) {
  Twin twin;
  PutSmall(twin);
  twin.Put(Pod("over").On("a").Phase("Succeeded"));
  twin.Put(Pod("failed").On("nowhere").Phase("Failed"));
  twin.Put(Pod("cheap").On("b").Priority(-100));
  twin.Put(Pod("lost").On("nowhere"));
  twin.Put(Pod("lost-too").On("elsewhere"));
  LiveCluster::Version version = twin.live().Unchecked();
  EXPECT_EQ(version.cluster.counts.ended, 2U);
  EXPECT_EQ(version.cluster.counts.expendable, 1U);
  EXPECT_EQ(version.cluster.counts.on_unknown_node, 2U);
  EXPECT_EQ(version.cluster.counts.first_unknown, "default/lost on nowhere");
  twin.Compare();
  twin.DeletePod("over");
  twin.Put(Pod("cheap").On("b").Priority(0));
  version = twin.live().Unchecked();
  EXPECT_EQ(version.cluster.counts.ended, 1U);
  EXPECT_EQ(version.cluster.counts.expendable, 0U);
  twin.Compare();
}

TEST(LiveClusterTest, TheCutoffOfExpendablePodsIsThatOfTheOptions) {
  Twin twin({.expendable_pods_priority_cutoff = -200});
  PutSmall(twin);
  twin.Put(Pod("cheap").On("b").Priority(-100));
  twin.Put(Pod("cheaper").On("b").Priority(-300));
  EXPECT_EQ(twin.live().Unchecked().cluster.counts.expendable, 1U);
}

TEST(LiveClusterTest, AClusterWithoutNodesOrPodsFailsTheCheck) {
  Twin twin;
  EXPECT_THAT(twin.live().Checked().status().message(), HasSubstr("no nodes in the input"));
  twin.Put(Node("a"));
  EXPECT_THAT(twin.live().Checked().status().message(), HasSubstr("not a single pod"));
  twin.CompareChecked();
  twin.Put(Pod("p").On("b"));
  EXPECT_THAT(twin.live().Checked().status().message(), HasSubstr("no pod is on a node"));
  twin.CompareChecked();
  twin.Put(Pod("p").On("a"));
  EXPECT_TRUE(twin.live().Checked().ok());
  twin.DeleteNode("a");
  EXPECT_THAT(twin.live().Checked().status().message(), HasSubstr("no nodes in the input"));
}

// Twenty nodes with one pod each, and one pod on a node that does not exist, which causes a
// warning.
class CheckCacheTest : public ::testing::Test {
 protected:
  CheckCacheTest() {
    for (int n = 0; n < 20; ++n) {
      twin_.Put(Node(absl::StrCat("n", n)));
      twin_.Put(Pod(absl::StrCat("p", n)).On(absl::StrCat("n", n)));
    }
    twin_.Put(Pod("lost-0").On("nowhere"));
    before_ = Cached();
    twin_.Put(Pod("lost-1").On("nowhere"));
    EXPECT_NE(Now(), before_) << "nothing to see";
  }
  std::vector<std::string> Cached() {
    return Twin::Warned(twin_.live().CheckedRecently()->cluster);
  }
  std::vector<std::string> Now() { return Twin::Warned(*twin_.Checked()); }

  Twin twin_;
  std::vector<std::string> before_;
};

TEST_F(CheckCacheTest, AFewChangesDoNotRepeatTheCheck) {
  EXPECT_EQ(Cached(), before_);
  EXPECT_EQ(Twin::Warned(twin_.live().Checked()->cluster), Now());
}

TEST_F(CheckCacheTest, AQuarterMoreObjectsRepeatTheCheck) {
  for (int p = 0; p < 9; ++p) twin_.Put(Pod(absl::StrCat("more-", p)).On("n0"));
  EXPECT_EQ(Cached(), before_) << "41 and 10 are less than a quarter more";
  twin_.Put(Pod("more-9").On("n0"));
  EXPECT_EQ(Cached(), Now());
}

TEST_F(CheckCacheTest, AQuarterLessObjectsRepeatTheCheck) {
  const auto budget = [](int b) { return Budget(absl::StrCat("b", b)); };
  for (int b = 0; b < 20; ++b) twin_.Put(budget(b));
  before_ = Cached();
  twin_.Put(Pod("lost-2").On("nowhere"));
  const auto remove = [&](int b) {
    const Budget gone = budget(b);
    twin_.Delete(&gone.raw);
  };
  for (int b = 0; b < 16; ++b) remove(b);
  EXPECT_EQ(Cached(), before_) << "47 of 62 are more than three quarters";
  EXPECT_NE(Now(), before_) << "nothing to see";
  remove(16);
  EXPECT_EQ(Cached(), Now());
}

// Fewer pods or more nodes leave room that may not really exist.
TEST_F(CheckCacheTest, SixPodsFewerRepeatTheCheck) {
  for (int p = 0; p < 6; ++p) twin_.DeletePod(absl::StrCat("p", p));
  EXPECT_EQ(Cached(), before_) << "16 pods are five fewer than 21";
  twin_.DeletePod("p6");
  EXPECT_EQ(Cached(), Now());
}

TEST_F(CheckCacheTest, SixNodesMoreRepeatTheCheck) {
  for (int n = 0; n < 5; ++n) twin_.Put(Node(absl::StrCat("new-", n)));
  EXPECT_EQ(Cached(), before_);
  twin_.Put(Node("new-5"));
  EXPECT_EQ(Cached(), Now());
}

TEST_F(CheckCacheTest, AnotherKindRepeatsTheCheck) {
  twin_.Put(Budget("b"));
  EXPECT_EQ(Cached(), Now());
}

TEST_F(CheckCacheTest, ObjectsThatChangedFourTimesRepeatTheCheck) {
  for (int change = 1; change < 4 * 42 - 1; change += 2) {
    EXPECT_EQ(Cached(), before_) << change;
    twin_.DeletePod("p0");
    twin_.Put(Pod("p0").On("n0"));
  }
  twin_.Put(Pod("p0").On("n1"));
  EXPECT_EQ(Cached(), Now());
}

// Symptom: the daemon planned for such a cluster until as much had changed again.
TEST_F(CheckCacheTest, AnInputThatIsNotAClusterIsRejectedAtOnce) {
  for (int p = 0; p < 20; ++p) twin_.Put(Pod(absl::StrCat("p", p)).On("nowhere"));
  EXPECT_THAT(twin_.live().CheckedRecently().status().message(), HasSubstr("no pod is on a node"));
  EXPECT_EQ(twin_.live().CheckedRecently().status(), twin_.Checked().status());
}

// Symptom: a cluster without budgets could be planned strictly, and not watched strictly.
TEST(LiveClusterTest, AListWithoutBudgetsIsRemembered) {
  Twin twin;
  PutSmall(twin);
  const auto has_warning = [](const LoadedCluster& cluster) {
    return std::ranges::count(cluster.warnings, "NoPodDisruptionBudgets", &InputWarning::code) > 0;
  };
  EXPECT_TRUE(has_warning(twin.live().Checked()->cluster));
  ASSERT_TRUE(twin.live()
                  .Read([](ObjectSink& sink) { return sink.OnList("PodDisruptionBudget", 0); })
                  .ok());
  EXPECT_FALSE(has_warning(*twin.live().CheckedRecentlyHere()));
  EXPECT_FALSE(has_warning(twin.live().Checked()->cluster));
  // An exported dump lists that there are none too.
  class ListSink final : public AnyObjectSink {
   public:
    std::vector<std::string> lists;
    absl::Status OnList(std::string_view kind, uint64_t items) override {
      lists.push_back(std::string(kind) + " " + std::to_string(items));
      return absl::OkStatus();
    }

   protected:
    absl::Status OnObject(const objects::ObjectRef&) override { return absl::OkStatus(); }
  } sink;
  ASSERT_TRUE(twin.live().ExportAll(sink).ok());
  EXPECT_THAT(sink.lists, ElementsAre("PodDisruptionBudget 0"));
  twin.Put(Budget("b"));
  sink.lists.clear();
  ASSERT_TRUE(twin.live().ExportAll(sink).ok());
  EXPECT_THAT(sink.lists, IsEmpty());
}

TEST(LiveClusterTest, AClusterAssumedCompleteIsNotChecked) {
  Twin twin({.assume_complete = true});
  twin.Put(Node("a"));
  const absl::StatusOr<LiveCluster::Version> version = twin.live().Checked();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_THAT(version->cluster.warnings, IsEmpty());
  twin.Compare();
}

// All pods have ended, but the cluster is still complete.
TEST(LiveClusterTest, EndedPodsCountForTheCompletenessCheck) {
  Twin twin;
  twin.Put(Node("a"));
  twin.Put(Pod("over").On("a").Phase("Succeeded"));
  twin.CompareChecked();
}

std::vector<std::string> WarningCodes(LiveCluster& live) {
  const absl::StatusOr<LiveCluster::Version> version = live.Checked();
  EXPECT_TRUE(version.ok()) << version.status();
  std::vector<std::string> codes;
  if (!version.ok()) return codes;
  for (const InputWarning& warning : version->cluster.warnings) codes.push_back(warning.code);
  return codes;
}

// Symptom: a live cluster warned of missing pods of a controller whose pods are expendable.
TEST(LiveClusterTest, ExpendablePodsCountForTheirControllersInTheCompletenessCheck) {
  constexpr int kPods = 30;
  Twin twin;
  PutSmall(twin);
  test::Controller filler(objects::ControllerKind::kReplicaSet, "filler");
  filler.Replicas(kPods);
  filler.raw.status_replicas = kPods;
  twin.Put(&filler.raw);
  const auto name = [](int p) { return absl::StrCat("filler-", p); };
  const auto put = [&](std::string_view owner, int step) {
    for (int p = 0; p < kPods; p += step) {
      twin.Put(Pod(name(p)).On("a").Priority(-100).OwnedBy("ReplicaSet", owner));
    }
  };
  put("filler", 1);
  EXPECT_THAT(WarningCodes(twin.live()), Not(Contains("PodsMissing")));
  twin.CompareChecked();
  // Another owner is a change, and so is the removal of owners.
  put("rs", 2);
  EXPECT_THAT(WarningCodes(twin.live()), Contains("PodsMissing"));
  twin.CompareChecked();
  put("filler", 2);
  EXPECT_THAT(WarningCodes(twin.live()), Not(Contains("PodsMissing")));
  for (int p = 0; p < kPods; p += 2) twin.DeletePod(name(p));
  EXPECT_THAT(WarningCodes(twin.live()), Contains("PodsMissing"));
  twin.CompareChecked();
}

// Exported pods are loaded as they were, whatever counts as expendable by then.
TEST(LiveClusterTest, ExpendablePodsAreExportedWhole) {
  Twin twin;
  PutSmall(twin);
  const Pod cheap = Pod("cheap").On("b").Cpu(700).Priority(-100);
  twin.Put(cheap);
  twin.Put(Pod("over").On("a").Phase("Succeeded"));
  std::vector<std::string> exported;
  CallingSink sink([&](const objects::ObjectRef& object) {
    exported.push_back(PackObject(object));
    return absl::OkStatus();
  });
  ASSERT_TRUE(twin.live().ExportAll(sink).ok());
  EXPECT_THAT(exported, Contains(PackObject(&cheap.raw)));
  ClusterLoader loader{LoadOptions()};
  ASSERT_TRUE(twin.live().ExportAll(loader).ok());
  const absl::StatusOr<LoadedCluster> loaded = std::move(loader).Finish();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->counts.expendable, 1U);
  EXPECT_EQ(loaded->counts.ended, 1U);
}

// Symptom: the counts that a DaemonSet has of its pods were read from a dump, but a live cluster
// lost them.
TEST(LiveClusterTest, ReadyCountsOfControllersAreRemembered) {
  Twin twin;
  PutSmall(twin);
  test::Controller proxy(objects::ControllerKind::kDaemonSet, "proxy");
  const auto put = [&](int64_t ready) {
    const Change change{.object = &proxy.raw, .pods_ready = ready};
    ASSERT_TRUE(twin.live().Take({&change, 1}).ok());
  };
  put(0);
  EXPECT_THAT(WarningCodes(twin.live()), Not(Contains("DaemonSetsWithoutPods")));
  const uint64_t puts = twin.live().counts().put;
  put(4);
  EXPECT_THAT(WarningCodes(twin.live()), Contains("DaemonSetsWithoutPods"));
  // This does not require a new plan.
  EXPECT_EQ(twin.live().counts().put, puts);
  EXPECT_EQ(twin.live().counts().ready, 1U);
  // Reading a dump sets the count too.
  ASSERT_TRUE(twin.live()
                  .Read([&](ObjectSink& sink) {
                    sink.OnAside({.pods_ready = 0});
                    return sink.OnController(proxy.raw);
                  })
                  .ok());
  EXPECT_THAT(WarningCodes(twin.live()), Not(Contains("DaemonSetsWithoutPods")));
  ChangeBatch batch;
  ASSERT_TRUE(batch
                  .PutJson(R"({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata":
                    {"name": "proxy", "namespace": "default"}, "status": {"numberReady": 4}})")
                  .ok());
  ASSERT_TRUE(twin.live().Take(batch.changes()).ok());
  EXPECT_THAT(WarningCodes(twin.live()), Contains("DaemonSetsWithoutPods"));
}

// A pod with anti-affinity to pods of all namespaces with a label; no such namespace exists.
TEST(LiveClusterTest, WithAllAssumedToBeThereNamespacesWithoutAnObjectHaveNoLabels) {
  Twin twin({.assume_complete = true});
  PutSmall(twin);
  twin.Put(Pod("selects").On("c").Cpu(100).With([](objects::Pod& pod) {
    objects::PodAffinityTerm& term = pod.anti_affinity.emplace_back();
    term.topology_key = "kubernetes.io/hostname";
    term.label_selector = test::SelectEverything();
    term.namespace_selector = test::Select("team", "a");
  }));
  twin.Compare();
}

TEST(LiveClusterTest, TheNewestTimeIsThatOfWhatIsThere) {
  Twin twin;
  const auto newest = [&] { return twin.live().Unchecked().cluster.newest_time; };
  PutSmall(twin);
  EXPECT_EQ(newest(), twin.Loaded().newest_time);
  twin.Put(Pod("young").On("a").CreatedAt(2000));
  EXPECT_EQ(newest(), 2000);
  // A pod's deletion time may be in the future, a node's may not.
  twin.Put(Pod("goes").On("a").CreatedAt(1000).DeletedAt(9000));
  EXPECT_EQ(newest(), 2000);
  twin.Put(Node("n").With([](objects::Node& node) { node.meta.deletion_time = 3000; }));
  EXPECT_EQ(newest(), 3000);
  EXPECT_EQ(newest(), twin.Loaded().newest_time);
  // Symptom: objects that were deleted, or that once had a wrong time, decided the time to plan
  // for.
  twin.DeleteNode("n");
  EXPECT_EQ(newest(), 2000);
  twin.Put(Pod("young").On("a").CreatedAt(1500));
  EXPECT_EQ(newest(), 1500);
  twin.Put(Pod("younger").On("a").CreatedAt(1600));
  twin.DeletePod("young");
  EXPECT_EQ(newest(), 1600);
  twin.DeletePod("younger");
  EXPECT_EQ(newest(), 1000);
  twin.DeletePod("goes");
  EXPECT_EQ(newest(), twin.Loaded().newest_time);
}

// Symptom: an object that was passed over because it was older decided the time to plan for.
TEST(LiveClusterTest, SkippedObjectsSetNeitherTimeNorClusterUid) {
  Twin twin;
  PutSmall(twin);
  const RoundSettings settings;
  const auto uid = [&] {
    const absl::StatusOr<RoundSource> source =
        twin.live().Source(settings, std::nullopt, RoundObjects::kNone);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? source->cluster_uid : "";
  };
  objects::Namespace system;
  system.meta.name = "kube-system";
  system.meta.uid = "now";
  system.meta.creation_time = 2000;
  const Pod pod = Pod("p2").On("a").CreatedAt(3000);
  const std::vector<Change> changes = {{.object = &system, .resource_version = "7"},
                                       {.object = &pod.raw, .resource_version = "7"}};
  ASSERT_TRUE(twin.live().Take(changes).ok());
  EXPECT_EQ(uid(), "now");
  EXPECT_EQ(twin.live().NewestTime(), 3000);

  objects::Namespace late = system;
  late.meta.uid = "before";
  late.meta.creation_time = 8000;
  const Pod late_pod = Pod("p2").On("a").CreatedAt(9000);
  const std::vector<Change> older = {{.object = &late, .resource_version = "6"},
                                     {.object = &late_pod.raw, .resource_version = "6"}};
  ASSERT_TRUE(twin.live().Take(older).ok());
  EXPECT_EQ(twin.live().counts().older, 2U);
  EXPECT_EQ(uid(), "now");
  EXPECT_EQ(twin.live().NewestTime(), 3000);

  ASSERT_TRUE(twin.live().Take(older, OlderObjects::kTake).ok());
  EXPECT_EQ(uid(), "before");
  EXPECT_EQ(twin.live().NewestTime(), 9000);
  twin.Delete(&late);
  EXPECT_EQ(uid(), "");
}

TEST(LiveClusterTest, ExplainAndFilterNameMissingNodesAndPods) {
  Twin twin;
  PutSmall(twin);
  const std::vector<std::string> names = {"node/a", "zz"};
  EXPECT_THAT(ExplainLive(twin.live(), names).status().message(), HasSubstr("zz"));
  const std::vector<std::string> one = {"node/a"};
  EXPECT_TRUE(ExplainLive(twin.live(), one).ok());
  EXPECT_EQ(twin.live().Filter("p", std::nullopt).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(twin.live().Filter("default/zz", std::nullopt).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(twin.live().Filter("default/p", "zz").status().code(), absl::StatusCode::kNotFound);
  const auto one_node = twin.live().Filter("default/p", "b");
  ASSERT_TRUE(one_node.ok());
  EXPECT_EQ((*one_node)["nodes"].size(), 1U);
  // Deleted nodes and pods are not found either.
  twin.DeleteNode("a");
  twin.DeletePod("q");
  EXPECT_FALSE(ExplainLive(twin.live(), one).ok());
  EXPECT_FALSE(twin.live().Filter("default/p", "a").ok());
  EXPECT_FALSE(twin.live().Filter("default/q", std::nullopt).ok());
  EXPECT_TRUE(twin.live().Filter("default/r", std::nullopt).ok());
}

std::string Described(LiveCluster::Version& version) {
  return test::DescribeCluster(version.cluster.snapshot, version.cluster.pending);
}

TEST(LiveClusterTest, AVersionStaysAsItWasWhileLaterChangesAreTaken) {
  Twin twin;
  PutSmall(twin);
  LiveCluster::Version version = twin.live().Unchecked();
  const std::string before = Described(version);
  twin.DeleteNode("a");
  twin.DeletePod("q");
  twin.Put(Pod("new").On("c").Label("new", "label").NodeSelector("never", "seen"));
  twin.Put(Node("e"));
  twin.Put(Budget("all").MatchingEverything());
  twin.Compare();
  EXPECT_EQ(Described(version), before);
  LiveCluster::Version later = twin.live().Unchecked();
  EXPECT_NE(Described(later), before);
}

TEST(LiveClusterTest, AVersionIsReadByAThreadWhileChangesAreTaken) {
  std::optional<Twin> twin(std::in_place);
  PutSmall(*twin);
  std::optional<LiveCluster::Version> version = twin->live().Unchecked();
  const std::string before = Described(*version);
  int same = 0;
  std::thread reader([&] {
    for (int i = 0; i < 50; ++i) same += Described(*version) == before ? 1 : 0;
    version.reset();
  });
  for (int i = 0; i < 300; ++i) {
    const std::string name = "new-" + std::to_string(i % 7);
    twin->Put(Pod(name).On(i % 2 == 0 ? "a" : "c").Cpu(i).Label(name, name));
    if (i % 11 == 0) twin->Put(Node(name));
    if (i % 13 == 0) twin->DeleteNode(name);
    if (i % 5 == 0) twin->DeletePod(name);
    if (i % 50 == 0) (void)ExplainLive(twin->live(), std::vector<std::string>{"a"});
  }
  reader.join();
  EXPECT_EQ(same, 50);
  twin->Compare();
  // A version outlives the cluster that it was made from.
  version = twin->live().Unchecked();
  const std::string last = Described(*version);
  twin.reset();
  EXPECT_EQ(Described(*version), last);
}

class LiveRoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    prefix_ = testing::TempDir() + "ebb-live-rounds-" + std::to_string(getpid());
    TearDown();
  }
  void TearDown() override {
    for (const char* name : {"live", "loaded", "record"}) std::remove(Path(name).c_str());
  }
  std::string Path(const std::string& name) const { return prefix_ + "." + name; }

  static std::unique_ptr<RoundDriver> Open(const RoundFiles& files) {
    auto driver = RoundDriver::Open(files);
    EXPECT_TRUE(driver.ok()) << driver.status();
    return *std::move(driver);
  }
  static RoundSettings Settings() {
    absl::StatusOr<RoundSettings> settings = MakeSettings(RoundOptions(), {});
    EXPECT_TRUE(settings.ok()) << settings.status();
    return *std::move(settings);
  }
  // Makes and saves a round; returns its decision.
  static std::string Round(RoundDriver& driver, int64_t now_s, absl::StatusOr<RoundSource> source,
                           const RoundSettings& settings = Settings()) {
    EXPECT_TRUE(source.ok()) << source.status();
    auto round = driver.Make(settings, now_s, *source);
    if (!round.ok()) return std::string(round.status().message());
    if (absl::Status s = driver.Save(**round, *source); !s.ok()) return std::string(s.message());
    return (*round)->json->dump();
  }

  std::string prefix_;
};

TEST_F(LiveRoundsTest, RoundsOverALiveClusterDecideAsThoseOverDumps) {
  const std::unique_ptr<RoundDriver> live = Open({.state = Path("live")});
  Twin twin;
  PutSmall(twin);
  std::string decision;
  for (const int64_t after_s : {0, 60, 120, 601, 660, 720}) {
    const std::unique_ptr<RoundDriver> loaded = Open({.state = Path("loaded")});
    if (after_s == 60) twin.Put(Pod("s").On("a").Cpu(10));
    if (after_s == 120) twin.DeletePod("s");
    decision = Round(*live, kNow + after_s,
                     twin.live().Source(Settings(), live->before(), RoundObjects::kNone));
    const std::string want = Round(*loaded, kNow + after_s,
                                   LoadSource(Settings(), loaded->before(),
                                              [&](ObjectSink& sink) { return twin.Give(sink); }));
    EXPECT_EQ(decision, want) << after_s;
    // The timers of the first round have run out.
    EXPECT_THAT(decision, after_s < 601 ? HasSubstr("ScaleDownNoNodeDeleted")
                                        : HasSubstr("ScaleDownNodeDeleteStarted"))
        << after_s;
  }
}

// Symptom: while deletions were under way, each round exported the whole cluster and read it again.
TEST_F(LiveRoundsTest, ReportedPodsAreInTheClusterForOneRoundOnly) {
  const std::unique_ptr<RoundDriver> live = Open({.state = Path("live"), .record = Path("record")});
  const std::unique_ptr<RoundDriver> loaded = Open({.state = Path("loaded")});
  Twin twin;
  PutSmall(twin);
  const auto evicted = [](const std::string& name, const char* cpu) {
    EvictedPod pod{.namespace_name = "default", .name = name, .uid = "uid-" + name};
    pod.object = absl::StrCat(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":")", name,
        R"(","uid":"uid-)", name,
        R"("},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":")", cpu,
        R"("}}}]},"status":{"phase":"Running"}})");
    return DeletionReport::Eviction{.pod = pod, .at_s = std::nullopt};
  };
  const auto described = [&] {
    LiveCluster::Version version = twin.live().Unchecked();
    return Described(version);
  };
  std::vector<DeletionReport> reports(5);
  reports[0].unready = {"a", "gone"};
  reports[1].evictions = {evicted("moved", "100m"), evicted("large", "1500m")};
  reports[1].in_progress = {{.node = "c", .group = "", .drained = true}};
  reports[2].unready = {"c"};  // The second round's evictions are remembered.
  reports[3].evictions = {
      evicted("p", "100m"),  // The cluster has it.
      {.pod = {.namespace_name = "default", .name = "named", .uid = ""}, .at_s = std::nullopt}};
  for (size_t i = 0; i < reports.size(); ++i) {
    RoundSettings settings = Settings();
    settings.report = reports[i];
    const int64_t now_s = kNow + 10 * static_cast<int64_t>(i);
    const std::string before = described();
    auto twin_source =
        LoadSource(settings, loaded->before(), [&](ObjectSink& sink) { return twin.Give(sink); });
    auto source = twin.live().Source(settings, live->before(), RoundObjects::kForRecord);
    ASSERT_TRUE(source.ok() && twin_source.ok())
        << i << ": " << source.status() << ", " << twin_source.status();
    EXPECT_EQ(source->log, twin_source->log) << i;
    const uint64_t rebuilds = twin.live().counts().AllRebuilds();
    EXPECT_EQ(Round(*live, now_s, std::move(source), settings),
              Round(*loaded, now_s, std::move(twin_source), settings))
        << i;
    EXPECT_EQ(described(), before) << i;
    EXPECT_EQ(twin.live().counts().AllRebuilds(), rebuilds) << i;
  }
  twin.Compare();
  size_t same = 0;
  ASSERT_TRUE(ReplayRecord(Path("record"), [&](const ReplayedRound& round) {
                EXPECT_EQ(round.departure, "") << round.round;
                ++same;
              }).ok());
  EXPECT_EQ(same, reports.size());
}

TEST_F(LiveRoundsTest, RoundsOfALiveClusterCanBeRecorded) {
  const std::unique_ptr<RoundDriver> driver =
      Open({.state = Path("live"), .record = Path("record")});
  Twin twin;
  PutSmall(twin);
  for (const int64_t after_s : {0, 60, 700}) {
    absl::StatusOr<RoundSource> source =
        twin.live().Source(Settings(), driver->before(), RoundObjects::kForRecord);
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_FALSE(source->objects.empty());
    EXPECT_THAT(Round(*driver, kNow + after_s, std::move(source)), HasSubstr("ScaleDown"));
    twin.Put(Node("e"));
  }
}

}  // namespace
}  // namespace ebb::live_cluster_test
