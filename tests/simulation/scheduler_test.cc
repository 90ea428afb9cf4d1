#include "simulation/scheduler.h"

#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::scheduler_test {
namespace {

using test::Cluster;
using test::kGiB;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

std::string Choice(const ClusterSnapshot& snapshot, std::vector<NodeId> peers = {},
                   uint64_t seed = 1) {
  SimulatedScheduler scheduler(seed);
  const NodeId node = scheduler.Choose(snapshot, PodNamed(snapshot, "new"), peers);
  return node == kNoNode ? "" : std::string(snapshot.catalog().NodeName(node));
}

TEST(SchedulerTest, TheEmptierNodeIsChosen) {
  EXPECT_EQ(Choice(Cluster()
                       .Add(Node("a"))
                       .Add(Node("b"))
                       .Add(Pod("p").On("a").Cpu(2000).Memory(4 * kGiB))
                       .Add(Pod("new").Cpu(500).Memory(kGiB))
                       .Build()),
            "b");
}

TEST(SchedulerTest, ANodeThatDoesNotFitIsNeverChosen) {
  EXPECT_EQ(Choice(Cluster()
                       .Add(Node("a"))
                       .Add(Node("b").Taint("dedicated"))
                       .Add(Pod("p").On("a").Cpu(3000))
                       .Add(Pod("new").Cpu(500))
                       .Build()),
            "a");
  EXPECT_EQ(Choice(Cluster().Add(Node("a")).Add(Pod("new").Cpu(5000)).Build()), "");
}

TEST(SchedulerTest, ASoftTaintedNodeIsAvoided) {
  EXPECT_EQ(Choice(Cluster()
                       .Add(Node("a").Taint("candidate", "1", "PreferNoSchedule"))
                       .Add(Node("b"))
                       .Add(Pod("p").On("b").Cpu(2000).Memory(4 * kGiB))
                       .Add(Pod("new").Cpu(500).Memory(kGiB))
                       .Build()),
            "b");
}

TEST(SchedulerTest, PodsOfAControllerAreSpreadOverNodesAndZones) {
  const std::string zone = "topology.kubernetes.io/zone";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "x"))
                                       .Add(Node("b").Label(zone, "x"))
                                       .Add(Node("c").Label(zone, "y"))
                                       .Add(Pod("p").On("a").Cpu(100))
                                       .Add(Pod("q").On("b").Cpu(100))
                                       .Add(Pod("big").On("c").Cpu(800).Memory(kGiB))
                                       .Add(Pod("new").Cpu(100))
                                       .Build();
  EXPECT_EQ(Choice(snapshot, {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")}), "c");
}

TEST(SchedulerTest, APodWithoutRequestsCountsWithTheDefaults) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Node("b")).Add(Pod("new").WithoutOwner());
  for (int i = 0; i < 5; ++i) cluster.Add(Pod("p" + std::to_string(i)).On("a"));
  EXPECT_EQ(Choice(cluster.Build()), "b");
}

TEST(SchedulerTest, TiesAreDrawnBySeed) {
  Cluster cluster;
  for (int i = 0; i < 8; ++i) cluster.Add(Node("n" + std::to_string(i)));
  const ClusterSnapshot snapshot = cluster.Add(Pod("new").Cpu(100)).Build();
  std::set<std::string> chosen;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    chosen.insert(Choice(snapshot, {}, seed));
    EXPECT_EQ(Choice(snapshot, {}, seed), Choice(snapshot, {}, seed));
  }
  EXPECT_GT(chosen.size(), 4);
}

TEST(SchedulerTest, ASearchStartsWhereTheLastOneEnded) {
  Cluster cluster;
  for (int i = 0; i < 200; ++i) cluster.Add(Node("n" + std::to_string(i)));
  const ClusterSnapshot snapshot = cluster.Add(Pod("new").Cpu(100)).Build();
  SimulatedScheduler scheduler(1);
  const PodId pod = PodNamed(snapshot, "new");
  for (int search = 0; search < 6; ++search) {
    const size_t chosen = Index(scheduler.Choose(snapshot, pod, {}));
    EXPECT_EQ(chosen < 100, search % 2 == 0) << chosen;
  }
}

TEST(SchedulerTest, InLargeClustersOnlyAPartOfTheNodesIsChecked) {
  EXPECT_EQ(NodesToFind(99), 99);
  EXPECT_EQ(NodesToFind(100), 100);
  EXPECT_EQ(NodesToFind(1000), 420);
  EXPECT_EQ(NodesToFind(6000), 300);
}

TEST(SchedulerTest, TheTotalIsTheSumOfThePlugins) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Pod("p").On("a").Cpu(700)).Add(Pod("new").Cpu(500)).Build();
  const std::vector<NodeScore> scores = SimulatedScheduler::Score(
      snapshot, PodNamed(snapshot, "new"), std::vector{NodeNamed(snapshot, "a")}, {});
  ASSERT_EQ(scores.size(), 1);
  EXPECT_EQ(std::accumulate(scores[0].weighted.begin(), scores[0].weighted.end(), int64_t{0}),
            scores[0].total);
  EXPECT_GT(scores[0].total, 0);
}

TEST(SchedulerTest, PodsOfAJobAreNotSpread) {
  const auto choice = [](std::string_view kind) {
    const ClusterSnapshot snapshot = Cluster()
                                         .Add(Node("a").Label("kubernetes.io/hostname", "a"))
                                         .Add(Node("b").Label("kubernetes.io/hostname", "b"))
                                         .Add(Pod("p").On("a").Cpu(100))
                                         .Add(Pod("big").On("b").Cpu(400))
                                         .Add(Pod("new").Cpu(100).OwnedBy(kind, "owner"))
                                         .Build();
    return Choice(snapshot, {NodeNamed(snapshot, "a")});
  };
  EXPECT_EQ(choice("ReplicaSet"), "b");
  EXPECT_EQ(choice("Job"), "a");
}

TEST(SchedulerTest, PeersAreThePodsOfTheControllerThatStay) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Pod("p").On("a"))
                                       .Add(Pod("q").On("b"))
                                       .Add(Pod("leaves").On("b").DeletedAt(1))
                                       .Add(Pod("other").On("b").OwnedBy("ReplicaSet", "other"))
                                       .Add(Pod("new").On("a"))
                                       .Build();
  EXPECT_THAT(PeersOf(snapshot, PodNamed(snapshot, "new")),
              testing::ElementsAre(NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")));
}

int64_t ScoreOf(const ClusterSnapshot& snapshot, ScorePlugin plugin, std::string_view node) {
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId each) { nodes.push_back(each); });
  const PodId pod = PodNamed(snapshot, "new");
  const ScoreFacts facts(snapshot.catalog());
  const auto with = SimulatedScheduler::Score(snapshot, pod, nodes, {}, &facts);
  const auto without = SimulatedScheduler::Score(snapshot, pod, nodes, {});
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(with[i].weighted, without[i].weighted);
    if (nodes[i] == NodeNamed(snapshot, std::string(node))) {
      return with[i].weighted[static_cast<size_t>(plugin)];
    }
  }
  return -1;
}

TEST(SchedulerTest, ScheduleAnywayConstraintsSpreadThePod) {
  Pod pod("new");
  pod.Cpu(100).Label("app", "web").Spread("rack", 1, test::Select("app", "web"));
  pod.raw.spread[0].when_unsatisfiable = "ScheduleAnyway";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label("rack", "1"))
                                       .Add(Node("b").Label("rack", "2"))
                                       .Add(Node("c"))
                                       .Add(Pod("p").On("a").Label("app", "web"))
                                       .Add(Pod("leaves").On("b").Label("app", "web").DeletedAt(1))
                                       .Add(Pod("q").On("b").Label("app", "db"))
                                       .Add(pod)
                                       .Build();
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kPodTopologySpread, "a"), 0);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kPodTopologySpread, "b"), 200);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kPodTopologySpread, "c"), 0);  // It lacks the key.
}

TEST(SchedulerTest, ALabelWithoutAValueIsADomain) {
  Pod pod("new");
  pod.Cpu(100).Label("app", "web").Spread("rack", 1, test::Select("app", "web"));
  pod.raw.spread[0].when_unsatisfiable = "ScheduleAnyway";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label("rack", "1"))
                                       .Add(Node("b").Label("rack", ""))
                                       .Add(Node("c"))
                                       .Add(Pod("p").On("a").Label("app", "web"))
                                       .Add(pod)
                                       .Build();
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kPodTopologySpread, "b"), 200);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kPodTopologySpread, "c"), 0);  // It lacks the key.
}

TEST(SchedulerTest, ThePodsThatNeedAPodNearHaveItNear) {
  Pod needs("needs");
  needs.On("b").Near("rack", test::Select("app", "web"));
  const auto build = [&](std::string_view app) {
    return Cluster()
        .Add(Node("a").Label("rack", "1"))
        .Add(Node("b").Label("rack", "2"))
        .Add(needs)
        .Add(Pod("new").Cpu(100).Label("app", app))
        .Build();
  };
  EXPECT_EQ(ScoreOf(build("web"), ScorePlugin::kInterPodAffinity, "a"), 0);
  EXPECT_EQ(ScoreOf(build("web"), ScorePlugin::kInterPodAffinity, "b"), 200);
  EXPECT_EQ(ScoreOf(build("db"), ScorePlugin::kInterPodAffinity, "b"), 0);
}

// What was looked up once is what is looked up each time.
objects::LabelSelector App(std::string_view app) {
  return {.nil = false, .match_labels = {{"app", app}}, .match_expressions = {}};
}

TEST(SchedulerTest, NodesThatAPodPrefersAreChosenByWeight) {
  const auto prefers = [](std::string_view key, int64_t weight) {
    return objects::PreferredNodeTerm{weight, {{{key, "Exists", {}}}, {}}};
  };
  Cluster cluster;
  cluster.Add(Node("a").Label("ssd", "")).Add(Node("b").Label("gpu", "")).Add(Node("c"));
  cluster.Add(Pod("new").Cpu(100).With([&](objects::Pod& pod) {
    // A term that asks for nothing prefers no node.
    pod.preferred_nodes = {prefers("ssd", 10), prefers("gpu", 20), {100, {}}};
  }));
  EXPECT_EQ(Choice(cluster.Build()), "b");
}

TEST(SchedulerTest, NodesWhereAnEarlierAlternativeOfAClaimServesArePreferred) {
  const auto slice = [](std::string_view node, std::vector<objects::Device> devices) {
    objects::ResourceSlice slice;
    slice.meta.name = slice.pool = slice.node_name = node;
    slice.driver = "gpu.example.com";
    slice.slice_count = 1;
    slice.devices = std::move(devices);
    return slice;
  };
  objects::Device one;
  one.name = "gpu-0";
  objects::Device two;
  two.name = "gpu-1";
  objects::DeviceClass device_class;
  device_class.meta.name = "gpu";
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = "c";
  objects::DeviceAsk both;
  both.name = "both";
  both.class_name = "gpu";
  both.count = 2;
  objects::DeviceAsk single = both;
  single.name = "single";
  single.count = 1;
  claim.requests = {{"r", true, {both, single}}};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(device_class)
                                       .Add(slice("a", {one}))
                                       .Add(slice("b", {one, two}))
                                       .Add(claim)
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Pod("new").Cpu(100).With([](objects::Pod& pod) {
                                         pod.resource_claims = {{"gpu", "c", ""}};
                                       }))
                                       .Build();
  EXPECT_EQ(Choice(snapshot), "b");
  const std::vector<NodeScore> scores = SimulatedScheduler::Score(
      snapshot, PodNamed(snapshot, "new"),
      std::vector{NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")}, {});
  constexpr auto kDevices = static_cast<size_t>(ScorePlugin::kDynamicResources);
  // The second of eight alternatives, and the first; weighted by 2.
  EXPECT_EQ(scores[0].weighted[kDevices], 2 * (7 * 100 / 8));
  EXPECT_EQ(scores[1].weighted[kDevices], 2 * 100);
}

TEST(SchedulerTest, PreferredAffinityIsThatOfThePodAndOfThoseThatArePlaced) {
  const std::string zone = "topology.kubernetes.io/zone";
  const auto cluster = [&](std::string_view new_app) {
    Cluster made;
    made.Add(Node("a").Label(zone, "x")).Add(Node("b").Label(zone, "y"));
    made.Add(Pod("web").On("a").Label("app", "web").Cpu(100));
    made.Add(Pod("shy").On("b").Label("app", "shy").Cpu(100).With([&](objects::Pod& pod) {
      pod.preferred_anti_affinity = {{50, Pod::Term(zone, App("loud"))}};
    }));
    made.Add(Pod("new").Label("app", new_app).Cpu(100).With([&](objects::Pod& pod) {
      if (new_app == "loud") return;
      pod.preferred_affinity = {{1, Pod::Term(zone, App("web"))}};
    }));
    return made.Build();
  };
  EXPECT_EQ(Choice(cluster("friend")), "a");  // web is there.
  EXPECT_EQ(Choice(cluster("loud")), "a");    // shy is on b.
}

TEST(SchedulerTest, NodesThatHaveTheImagesAreChosen) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const auto with = [](std::string_view image) {
    return [image](objects::Node& node) { node.images = {{{"old@sha256:1", image}, 900 * kMiB}}; };
  };
  Cluster cluster;
  cluster.Add(Node("a").With(with("web:1"))).Add(Node("b").With(with("web:latest")));
  cluster.Add(Pod("new").Cpu(100).With(
      [](objects::Pod& pod) { pod.containers[0].image = "web"; }));  // Without a tag: latest.
  const ClusterSnapshot snapshot = cluster.Build();
  EXPECT_EQ(Choice(snapshot), "b");
  const auto scores = SimulatedScheduler::Score(
      snapshot, PodNamed(snapshot, "new"),
      std::vector{NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")}, {});
  const auto of_images = static_cast<size_t>(ScorePlugin::kImageLocality);
  EXPECT_EQ(scores[0].weighted[of_images], 0);
  // One of two nodes has it: half its size counts, from 23 MiB up to 1,000 MiB a container.
  EXPECT_EQ(scores[1].weighted[of_images], 100 * (450 - 23) / (1000 - 23));
}

TEST(SchedulerTest, AnImageOfAnySizeCountsNoMoreThanAllOfThemMay) {
  Cluster cluster;
  cluster.Add(Node("a").With([](objects::Node& node) {
    node.images = {{{"web:1"}, std::numeric_limits<int64_t>::max()}};
  }));
  cluster.Add(Pod("new").Cpu(100).With([](objects::Pod& pod) {
    pod.containers.resize(2, pod.containers[0]);
    for (objects::Container& each : pod.containers) each.image = "web:1";
  }));
  const ClusterSnapshot snapshot = cluster.Build();
  const auto scores = SimulatedScheduler::Score(snapshot, PodNamed(snapshot, "new"),
                                                std::vector{NodeNamed(snapshot, "a")}, {});
  EXPECT_EQ(scores[0].weighted[static_cast<size_t>(ScorePlugin::kImageLocality)], 100);
}

TEST(SchedulerTest, FactsOfACatalogChangeNoScore) {
  const std::string zone = "topology.kubernetes.io/zone";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "z1"))
                                       .Add(Node("b").Label(zone, "z2"))
                                       .Add(Node("c"))
                                       .Add(Pod("asks").On("a").Cpu(1000).Memory(kGiB))
                                       .Add(Pod("asks-nothing").On("b").Cpu(0).Memory(0))
                                       .Add(Pod("asks-cpu").On("c").Cpu(500).Memory(0))
                                       .Add(Pod("new").Cpu(500).Memory(kGiB))
                                       .Build();
  const ScoreFacts facts(snapshot.catalog());
  const std::vector<NodeId> nodes = {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b"),
                                     NodeNamed(snapshot, "c")};
  const std::vector<NodeId> peers = {nodes[0], nodes[1], nodes[1]};
  const PodId pod = PodNamed(snapshot, "new");
  const auto with = SimulatedScheduler::Score(snapshot, pod, nodes, peers, &facts);
  const auto without = SimulatedScheduler::Score(snapshot, pod, nodes, peers);
  ASSERT_EQ(with.size(), 3);
  for (size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i].weighted, without[i].weighted);
}

// Of a: (1000+2000)/4000 and (2+2)/8 of memory; of b a quarter of the node less.
TEST(SchedulerTest, ResourcesCountByWhatIsFreeAndHowEvenlyItIsUsed) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Pod("p").On("a").Cpu(1000).Memory(2 * kGiB))
                                       .Add(Pod("new").Cpu(2000).Memory(2 * kGiB))
                                       .Build();
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kNodeResourcesFit, "a"), 37);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kNodeResourcesFit, "b"), 62);
  // Both were even, and are by an eighth uneven then: 50 + (50 + 87 - 100) / 2.
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kBalancedAllocation, "a"), 68);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kBalancedAllocation, "b"), 68);
}

TEST(SchedulerTest, APodWithoutRequestsIsNotBalanced) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(Pod("new")).Build();
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kBalancedAllocation, "a"), 0);
}

TEST(SchedulerTest, EachSoftTaintThatIsNotToleratedCounts) {
  const std::string_view soft = "PreferNoSchedule";
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a").Taint("x", "", soft).Taint("y", "", soft).Taint("z", "", soft))
          .Add(Node("b").Taint("x", "", soft))
          .Add(Node("c").Taint("z", "", soft))
          .Add(Pod("new").Cpu(100).ToleratesKey("z"))
          .Build();
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kTaintToleration, "a"), 0);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kTaintToleration, "b"), 3 * 50);
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kTaintToleration, "c"), 3 * 100);
  const ClusterSnapshot without = Cluster().Add(Node("a")).Add(Pod("new").Cpu(100)).Build();
  EXPECT_EQ(ScoreOf(without, ScorePlugin::kTaintToleration, "a"), 3 * 100);
}

// As the defaults say: 3 over nodes, 5 over zones.  c has no name that says which node it is.
TEST(SchedulerTest, DefaultSpreadCountsPeersByNodeAndByZone) {
  const std::string zone = "topology.kubernetes.io/zone";
  const std::string host = "kubernetes.io/hostname";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "x").Label(host, "a"))
                                       .Add(Node("b").Label(zone, "x").Label(host, "b"))
                                       .Add(Node("c").Label(zone, "y"))
                                       .Add(Pod("new").Cpu(100))
                                       .Build();
  const std::vector<NodeId> nodes = {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b"),
                                     NodeNamed(snapshot, "c")};
  const std::vector<NodeId> peers = {nodes[0], nodes[0], nodes[2]};
  const auto scores = SimulatedScheduler::Score(snapshot, PodNamed(snapshot, "new"), nodes, peers);
  const auto of_spread = static_cast<size_t>(ScorePlugin::kPodTopologySpread);
  // By node 2 ln 5 + 2 and 2; by zone 2 ln 4 + 4 and ln 4 + 4; so 12, 9 and 5.
  EXPECT_EQ(scores[0].weighted[of_spread], 2 * (100 * (12 + 5 - 12) / 12));
  EXPECT_EQ(scores[1].weighted[of_spread], 2 * (100 * (12 + 5 - 9) / 12));
  EXPECT_EQ(scores[2].weighted[of_spread], 2 * 100);
}

TEST(SchedulerTest, ControllersWhoseSelectorIsKnownHaveTheirPodsSpread) {
  const auto is_spread = [](const Pod& pod) {
    const ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(pod).Build();
    return ScoreOf(snapshot, ScorePlugin::kPodTopologySpread, "a") > 0;
  };
  const Pod pod = Pod("new").Cpu(100);
  EXPECT_TRUE(is_spread(Pod(pod).OwnedBy("ReplicaSet", "x")));
  EXPECT_TRUE(is_spread(Pod(pod).OwnedBy("StatefulSet", "x")));
  EXPECT_TRUE(is_spread(Pod(pod).OwnedBy("ReplicationController", "x")));
  EXPECT_FALSE(is_spread(Pod(pod).OwnedBy("ReplicaSet", "x", "extensions/v1beta1")));
  EXPECT_FALSE(is_spread(Pod(pod).OwnedBy("ReplicationController", "x", "apps/v1")));
  EXPECT_FALSE(is_spread(Pod(pod).OwnedBy("Job", "x")));
  EXPECT_FALSE(is_spread(Pod(pod).WithoutOwner()));
}

TEST(SchedulerTest, TheShareOfCheckedNodesFallsWithTheirNumber) {
  EXPECT_EQ(NodesToFind(1), 1);
  EXPECT_EQ(NodesToFind(150), 100);   // 49 percent would be 73.
  EXPECT_EQ(NodesToFind(250), 120);   // 48 percent.
  EXPECT_EQ(NodesToFind(5624), 337);  // 6 percent.
  EXPECT_EQ(NodesToFind(5625), 281);  // 5 percent, which is least.
}

TEST(SchedulerTest, BarePodsAndNamesakesInOtherNamespacesAreNotPeers) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Pod("p").On("b"))
                                       .Add(Pod("elsewhere").In("other").On("a"))
                                       .Add(Pod("set").On("a").OwnedBy("StatefulSet", "rs"))
                                       .Add(Pod("bare").On("a").WithoutOwner())
                                       .Add(Pod("new").On("a"))
                                       .Build();
  EXPECT_THAT(PeersOf(snapshot, PodNamed(snapshot, "new")),
              testing::ElementsAre(NodeNamed(snapshot, "b")));
  EXPECT_TRUE(PeersOf(snapshot, PodNamed(snapshot, "bare")).empty());
}

TEST(SchedulerTest, PluginsAreCalledAsTheSchedulerCallsThem) {
  std::vector<std::string_view> names;
  for (size_t plugin = 0; plugin < kScorePlugins; ++plugin) {
    names.push_back(ScorePluginName(static_cast<ScorePlugin>(plugin)));
  }
  EXPECT_THAT(names, testing::ElementsAre("TaintToleration", "NodeAffinity", "NodeResourcesFit",
                                          "PodTopologySpread", "InterPodAffinity",
                                          "NodeResourcesBalancedAllocation", "ImageLocality",
                                          "DynamicResources"));
}

// The scores of all nodes, in their order.
std::vector<int64_t> ScoresOf(const ClusterSnapshot& snapshot, ScorePlugin plugin) {
  std::vector<int64_t> scores;
  snapshot.alive().ForEach([&](NodeId node) {
    scores.push_back(ScoreOf(snapshot, plugin, snapshot.catalog().NodeName(node)));
  });
  return scores;
}

// A pod of app web with a ScheduleAnyway constraint.
Pod SoftSpread(std::string_view key, int64_t max_skew, objects::LabelSelector selector) {
  Pod pod("new");
  pod.Cpu(100).Label("app", "web").Spread(key, max_skew, std::move(selector));
  pod.raw.spread[0].when_unsatisfiable = "ScheduleAnyway";
  return pod;
}

TEST(SchedulerTest, SoftSpreadOverNodesCountsThePodsOfEach) {
  const std::string host = "kubernetes.io/hostname";
  Cluster cluster;
  for (const char* const name : {"a", "b", "c"}) cluster.Add(Node(name).Label(host, name));
  cluster.Add(Pod("p").On("a").Label("app", "web")).Add(Pod("q").On("a").Label("app", "web"));
  cluster.Add(Pod("r").On("b").Label("app", "web"));
  cluster.Add(Pod("other").In("other").On("b").Label("app", "web"));
  cluster.Add(SoftSpread(host, 1, test::Select("app", "web")));
  // 2 ln 5, ln 5 and 0: 3, 2 and 0.
  EXPECT_THAT(ScoresOf(cluster.Build(), ScorePlugin::kPodTopologySpread),
              testing::ElementsAre(0, 2 * 33, 2 * 100));
}

TEST(SchedulerTest, SoftSpreadCountsByTheSkewThatIsAllowed) {
  const auto cluster = [](objects::LabelSelector selector) {
    return Cluster()
        .Add(Node("a").Label("rack", "1"))
        .Add(Node("b").Label("rack", "2"))
        .Add(Node("c"))
        .Add(Pod("p").On("a").Label("app", "web"))
        .Add(SoftSpread("rack", 3, std::move(selector)))
        .Build();
  };
  // ln 4 + 2 and 2: 3 and 2.
  EXPECT_THAT(ScoresOf(cluster(test::Select("app", "web")), ScorePlugin::kPodTopologySpread),
              testing::ElementsAre(2 * 66, 2 * 100, 0));
  // A selector that takes every pod counts none.
  EXPECT_THAT(ScoresOf(cluster(test::SelectEverything()), ScorePlugin::kPodTopologySpread),
              testing::ElementsAre(2 * 100, 2 * 100, 0));
}

// The only pod that may count is on a node that the pod's selector does not take, or whose taint it
// does not tolerate.
TEST(SchedulerTest, SoftSpreadCountsNodesByItsPolicies) {
  const auto scores = [](std::string_view affinity, std::string_view taints, bool tainted) {
    Pod pod = SoftSpread("rack", 1, test::Select("app", "web"));
    pod.NodeSelector("ssd", "1");
    pod.raw.spread[0].node_affinity_policy = affinity;
    pod.raw.spread[0].node_taints_policy = taints;
    Node other("other");
    other.Label("rack", "1");
    if (tainted) other.Label("ssd", "1").Taint("own");
    const ClusterSnapshot snapshot = Cluster()
                                         .Add(Node("a").Label("rack", "1").Label("ssd", "1"))
                                         .Add(Node("b").Label("rack", "2").Label("ssd", "1"))
                                         .Add(other)
                                         .Add(Pod("p").On("other").Label("app", "web"))
                                         .Add(pod)
                                         .Build();
    const auto of = SimulatedScheduler::Score(
        snapshot, PodNamed(snapshot, "new"),
        std::vector{NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")}, {});
    const auto of_spread = static_cast<size_t>(ScorePlugin::kPodTopologySpread);
    return std::vector<int64_t>{of[0].weighted[of_spread], of[1].weighted[of_spread]};
  };
  const std::vector<int64_t> counted = {0, 200};
  const std::vector<int64_t> not_counted = {200, 200};
  EXPECT_EQ(scores("", "", false), not_counted);
  EXPECT_EQ(scores("Honor", "", false), not_counted);
  EXPECT_EQ(scores("Ignore", "", false), counted);
  EXPECT_EQ(scores("", "", true), counted);
  EXPECT_EQ(scores("", "Ignore", true), counted);
  EXPECT_EQ(scores("", "Honor", true), not_counted);
}

TEST(SchedulerTest, PreferredTermsOfNodesAreAddedUp) {
  const auto prefers = [](std::string_view key, int64_t weight) {
    return objects::PreferredNodeTerm{weight, {{{key, "Exists", {}}}, {}}};
  };
  Cluster cluster;
  cluster.Add(Node("a").Label("ssd", "")).Add(Node("b").Label("gpu", "")).Add(Node("c"));
  cluster.Add(Node("d").Label("ssd", "").Label("gpu", ""));
  cluster.Add(Pod("new").Cpu(100).With(
      [&](objects::Pod& pod) { pod.preferred_nodes = {prefers("ssd", 10), prefers("gpu", 20)}; }));
  EXPECT_THAT(ScoresOf(cluster.Build(), ScorePlugin::kNodeAffinity),
              testing::ElementsAre(2 * 33, 2 * 66, 0, 2 * 100));
}

TEST(SchedulerTest, PreferredAffinityCountsEachPodOfTheDomainsThatTheTermSpeaksOf) {
  const auto scores = [](objects::PodAffinityTerm term) {
    Cluster cluster;
    cluster.AddNamespace("other", {{"team", "x"}}).AddNamespace("default");
    for (const char* const name : {"a", "b", "c"}) cluster.Add(Node(name).Label("host", name));
    cluster.Add(Pod("p").On("a").Label("app", "web")).Add(Pod("q").On("a").Label("app", "web"));
    cluster.Add(Pod("r").On("b").Label("app", "web")).Add(Pod("db").On("c").Label("app", "db"));
    for (const char* const name : {"s", "t", "u", "v"}) {
      cluster.Add(Pod(name).In("other").On(name[0] == 's' ? "b" : "c").Label("app", "web"));
    }
    cluster.Add(Pod("new").Cpu(100).With(
        [&](objects::Pod& pod) { pod.preferred_affinity = {{10, term}}; }));
    return ScoresOf(cluster.Build(), ScorePlugin::kInterPodAffinity);
  };
  objects::PodAffinityTerm term = Pod::Term("host", App("web"));
  EXPECT_THAT(scores(term), testing::ElementsAre(200, 100, 0));  // 2, 1 and none.
  term.namespaces = {"other"};
  EXPECT_THAT(scores(term), testing::ElementsAre(0, 2 * 33, 200));  // None, 1 and 3.
  term.namespaces = {"other", "default"};
  EXPECT_THAT(scores(term), testing::ElementsAre(0, 0, 200));  // 2, 2 and 3.
  term.namespaces = {};
  term.namespace_selector = test::Select("team", "x");
  EXPECT_THAT(scores(term), testing::ElementsAre(0, 2 * 33, 200));
  term.topology_key = "no-node-has-it";
  EXPECT_THAT(scores(term), testing::ElementsAre(0, 0, 0));
}

TEST(SchedulerTest, TheFirstReportedSizeOfAnImageCounts) {
  const auto with = [](int64_t mib) {
    return [mib](objects::Node& node) { node.images = {{{"web:1"}, mib << 20}}; };
  };
  Cluster cluster;
  cluster.Add(Node("a").With(with(900))).Add(Node("b").With(with(100))).Add(Node("c"));
  cluster.Add(
      Pod("new").Cpu(100).With([](objects::Pod& pod) { pod.containers[0].image = "web:1"; }));
  // Two of three nodes have it.
  const int64_t score = 100 * (600 - 23) / (1000 - 23);
  EXPECT_THAT(ScoresOf(cluster.Build(), ScorePlugin::kImageLocality),
              testing::ElementsAre(score, score, 0));
}

TEST(SchedulerTest, NodesWithoutAZoneAreOneZoneThatIsNotScored) {
  const std::string zone = "topology.kubernetes.io/zone";
  const std::string host = "kubernetes.io/hostname";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "x").Label(host, "a"))
                                       .Add(Node("b").Label(host, "b"))
                                       .Add(Pod("new").Cpu(100))
                                       .Build();
  const std::vector<NodeId> nodes = {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")};
  const ScoreFacts facts(snapshot.catalog());
  for (const ScoreFacts* const known : {static_cast<const ScoreFacts*>(nullptr), &facts}) {
    const auto scores = SimulatedScheduler::Score(snapshot, PodNamed(snapshot, "new"), nodes,
                                                  std::vector{nodes[0]}, known);
    const auto of_spread = static_cast<size_t>(ScorePlugin::kPodTopologySpread);
    // By node ln 4 + 2 and 2, by zone ln 4 + 4 and nothing: 9 and 2.
    EXPECT_EQ(scores[0].weighted[of_spread], 2 * (100 * 2 / 9));
    EXPECT_EQ(scores[1].weighted[of_spread], 2 * 100);
  }
}

// The peer is in the zone of a, on a node that the pod may not be on.
TEST(SchedulerTest, PeersOnNodesThatThePodsSelectorDoesNotTakeDoNotCountInTheirZone) {
  const std::string zone = "topology.kubernetes.io/zone";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "x").Label("ssd", "1"))
                                       .Add(Node("b").Label(zone, "y").Label("ssd", "1"))
                                       .Add(Node("c").Label(zone, "x"))
                                       .Add(Pod("new").Cpu(100).NodeSelector("ssd", "1"))
                                       .Add(Pod("without").Cpu(100))
                                       .Build();
  const std::vector<NodeId> nodes = {NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")};
  const auto scores = [&](std::string_view pod) {
    const auto all = SimulatedScheduler::Score(snapshot, PodNamed(snapshot, pod), nodes,
                                               std::vector{NodeNamed(snapshot, "c")});
    const auto of_spread = static_cast<size_t>(ScorePlugin::kPodTopologySpread);
    return std::vector<int64_t>{all[0].weighted[of_spread], all[1].weighted[of_spread]};
  };
  EXPECT_EQ(scores("new"), (std::vector<int64_t>{200, 200}));
  // ln 4 + 4 and 4: 5 and 4.
  EXPECT_EQ(scores("without"), (std::vector<int64_t>{2 * 80, 200}));
}

TEST(SchedulerTest, NodesThatAreClosedTakeNoPod) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Pod("p").On("a").Cpu(3000))
                                       .Add(Pod("new").Cpu(500))
                                       .Build();
  SimulatedScheduler scheduler(1);
  NodeSet closed(snapshot.catalog().nodes());
  closed.Insert(NodeNamed(snapshot, "b"));
  const PodId pod = PodNamed(snapshot, "new");
  EXPECT_EQ(scheduler.Choose(snapshot, pod, {}, &closed), NodeNamed(snapshot, "a"));
  closed.Insert(NodeNamed(snapshot, "a"));
  EXPECT_EQ(scheduler.Choose(snapshot, pod, {}, &closed), kNoNode);
  EXPECT_EQ(scheduler.Choose(snapshot, pod, {}), NodeNamed(snapshot, "b"));
}

TEST(SchedulerTest, APodThatRequestsOneResourceIsBalancedByThatOne) {
  const auto balanced = [](const Pod& pod) {
    return ScoreOf(Cluster().Add(Node("a")).Add(pod).Build(), ScorePlugin::kBalancedAllocation,
                   "a");
  };
  // 2 of 8 GiB: an eighth uneven, 50 + (50 + 87 - 100) / 2.
  EXPECT_EQ(balanced(Pod("new").Memory(2 * kGiB)), 68);
  // 2 of 4 cores: a quarter, 50 + (50 + 75 - 100) / 2.
  EXPECT_EQ(balanced(Pod("new").Cpu(2000)), 62);
}

// The pod on the node counts as 100m and 200 MiB.
TEST(SchedulerTest, PlacedPodsWithoutRequestsCountWithTheDefaults) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Cpu(1000).Memory(2000 * test::kMiB))
                                       .Add(Pod("p").On("a"))
                                       .Add(Pod("new").Cpu(300).Memory(200 * test::kMiB))
                                       .Build();
  EXPECT_EQ(ScoreOf(snapshot, ScorePlugin::kNodeResourcesFit, "a"), (60 + 80) / 2);
}

TEST(SchedulerTest, AClusterWithoutNodesTakesNoPod) {
  EXPECT_EQ(Choice(Cluster().Add(Pod("new").Cpu(100)).Build()), "");
}

TEST(SchedulerTest, NodesAfterAClosedNodeAreChecked) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Node("b")).Add(Pod("new").Cpu(500)).Build();
  SimulatedScheduler scheduler(1);
  NodeSet closed(snapshot.catalog().nodes());
  closed.Insert(NodeNamed(snapshot, "a"));
  EXPECT_EQ(scheduler.Choose(snapshot, PodNamed(snapshot, "new"), {}, &closed),
            NodeNamed(snapshot, "b"));
}

// All but n100 are used by a quarter.  A hundred nodes that fit are enough.
TEST(SchedulerTest, ANodeAfterEnoughFittingNodesIsNotChecked) {
  Cluster cluster;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "n" + std::to_string(i);
    cluster.Add(Node(name));
    if (i != 100) cluster.Add(Pod("of-" + name).On(name).Cpu(1000).Memory(2 * kGiB));
  }
  const ClusterSnapshot snapshot = cluster.Add(Pod("new").Cpu(100)).Build();
  SimulatedScheduler scheduler(1);
  const PodId pod = PodNamed(snapshot, "new");
  EXPECT_LT(Index(scheduler.Choose(snapshot, pod, {})), 100);
  EXPECT_EQ(scheduler.Choose(snapshot, pod, {}), NodeNamed(snapshot, "n100"));
  EXPECT_LT(Index(scheduler.Choose(snapshot, pod, {})), 100);
}

// Each differs from `new` in one thing, which `first` has named before.
TEST(SchedulerTest, PeersAreOfTheSameNamespaceKindNameAndUid) {
  const auto owned = [](std::string_view name, std::string_view in, std::string_view kind,
                        std::string_view owner, std::string_view uid) {
    return Pod(name).In(in).On("a").OwnedBy(kind, owner).With([uid](objects::Pod& pod) {
      pod.meta.owners[0].uid = uid;
    });
  };
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(owned("first", "elsewhere", "StatefulSet", "another", "earlier"))
          .Add(owned("namespace", "elsewhere", "ReplicaSet", "rs", "u"))
          .Add(owned("kind", "default", "StatefulSet", "rs", "u"))
          .Add(owned("name", "default", "ReplicaSet", "another", "u"))
          .Add(owned("uid", "default", "ReplicaSet", "rs", "earlier"))
          .Add(owned("new", "default", "ReplicaSet", "rs", "u"))
          .Add(Pod(owned("peer", "default", "ReplicaSet", "rs", "u")).On("b"))
          .Build();
  EXPECT_THAT(PeersOf(snapshot, PodNamed(snapshot, "new")),
              testing::ElementsAre(NodeNamed(snapshot, "b")));
}

TEST(SchedulerTest, SoftSpreadDoesNotCountPodsOfANamespaceThatWasNamedBefore) {
  const std::string host = "kubernetes.io/hostname";
  const ClusterSnapshot snapshot = Cluster()
                                       .AddNamespace("before")
                                       .Add(Node("a").Label(host, "a"))
                                       .Add(Node("b").Label(host, "b"))
                                       .Add(Pod("p").In("before").On("a").Label("app", "web"))
                                       .Add(SoftSpread(host, 1, test::Select("app", "web")))
                                       .Build();
  EXPECT_THAT(ScoresOf(snapshot, ScorePlugin::kPodTopologySpread), testing::ElementsAre(200, 200));
}

// d has no rack: it does not score, and neither does its pod count.
TEST(SchedulerTest, SoftSpreadAddsUpOverNodesAndDomains) {
  const std::string host = "kubernetes.io/hostname";
  Pod pod = SoftSpread(host, 1, test::Select("app", "web"));
  pod.Spread("rack", 1, test::Select("app", "web"));
  pod.raw.spread[1].when_unsatisfiable = "ScheduleAnyway";
  Cluster cluster;
  cluster.Add(Node("d").Label(host, "d"));
  for (const auto& [name, rack] : {std::pair("a", "1"), std::pair("b", "1"), std::pair("c", "2")}) {
    cluster.Add(Node(name).Label(host, name).Label("rack", rack));
  }
  for (const auto& [name, node] :
       {std::pair("p", "a"), std::pair("q", "a"), std::pair("r", "b"), std::pair("s", "d")}) {
    cluster.Add(Pod(name).On(node).Label("app", "web"));
  }
  // By node 2 ln 5, ln 5 and 0, by rack 3 ln 4, 3 ln 4 and 0: 7, 6 and 0.
  EXPECT_THAT(ScoresOf(cluster.Add(pod).Build(), ScorePlugin::kPodTopologySpread),
              testing::ElementsAre(0, 0, 2 * 14, 2 * 100));
}

TEST(SchedulerTest, APeerInAZoneThatNoNodeIsInThatFitsChangesNothing) {
  const std::string zone = "topology.kubernetes.io/zone";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label(zone, "x"))
                                       .Add(Node("b").Label(zone, "y"))
                                       .Add(Node("c").Label(zone, "z"))
                                       .Add(Pod("new").Cpu(100))
                                       .Build();
  const auto scores =
      SimulatedScheduler::Score(snapshot, PodNamed(snapshot, "new"),
                                std::vector{NodeNamed(snapshot, "a"), NodeNamed(snapshot, "b")},
                                std::vector{NodeNamed(snapshot, "c")});
  for (const NodeScore& score : scores) {
    EXPECT_EQ(score.weighted[static_cast<size_t>(ScorePlugin::kPodTopologySpread)], 200);
  }
}

// A term of a placed pod asks for the labels of the namespace.  One that takes what has none takes
// a namespace that was not added.
TEST(SchedulerTest, TermsOfPlacedPodsTakeNamespacesByTheirLabels) {
  const auto score = [](const objects::LabelSelector& namespaces,
                        const std::optional<objects::KeyValues>& labels) {
    objects::PodAffinityTerm term = Pod::Term("host", App("web"));
    term.namespace_selector = namespaces;
    Cluster cluster;
    if (labels) cluster.AddNamespace("default", *labels);
    cluster.Add(Node("a").Label("host", "a")).Add(Node("b").Label("host", "b"));
    cluster.Add(Pod("likes").In("elsewhere").On("a").With([&](objects::Pod& pod) {
      pod.preferred_affinity = {{10, term}};
    }));
    cluster.Add(Pod("new").Cpu(100).Label("app", "web"));
    return ScoreOf(cluster.Build(), ScorePlugin::kInterPodAffinity, "a");
  };
  const objects::KeyValues of_x = {{"team", "x"}};
  const objects::KeyValues of_y = {{"team", "y"}};
  EXPECT_EQ(score(test::Select("team", "x"), of_x), 200);
  EXPECT_EQ(score(test::Select("team", "x"), of_y), 0);
  EXPECT_EQ(score(test::Select("team", "x"), std::nullopt), 0);
  objects::LabelSelector without = test::SelectEverything();
  without.match_expressions = {{"team", "DoesNotExist", {}}};
  EXPECT_EQ(score(without, of_x), 0);
  EXPECT_EQ(score(without, objects::KeyValues()), 200);
  EXPECT_EQ(score(without, std::nullopt), 200);
}

// The scheduler asks the pod's own terms without the labels of the other's namespace.
TEST(SchedulerTest, ATermOfThePodThatTakesNamespacesWithoutALabelTakesAll) {
  const auto score = [](const objects::LabelSelector& namespaces) {
    objects::PodAffinityTerm term = Pod::Term("host", App("web"));
    term.namespace_selector = namespaces;
    Cluster cluster;
    cluster.AddNamespace("other", {{"team", "x"}});
    cluster.Add(Node("a").Label("host", "a")).Add(Node("b").Label("host", "b"));
    cluster.Add(Pod("web").In("other").On("a").Label("app", "web"));
    cluster.Add(Pod("new").Cpu(100).With(
        [&](objects::Pod& pod) { pod.preferred_affinity = {{10, term}}; }));
    return ScoreOf(cluster.Build(), ScorePlugin::kInterPodAffinity, "a");
  };
  objects::LabelSelector without = test::SelectEverything();
  without.match_expressions = {{"team", "DoesNotExist", {}}};
  EXPECT_EQ(score(without), 200);
  EXPECT_EQ(score(test::Select("team", "y")), 0);
}

TEST(SchedulerTest, PreferredAffinityAddsUpOverTheKeysOfItsTerms) {
  Cluster cluster;
  cluster.Add(Node("a").Label("host", "a").Label("rack", "1"));
  cluster.Add(Node("b").Label("host", "b").Label("rack", "1"));
  cluster.Add(Node("c").Label("host", "c").Label("rack", "2"));
  cluster.Add(Pod("web").On("a").Label("app", "web"));
  cluster.Add(Pod("new").Cpu(100).With([](objects::Pod& pod) {
    pod.preferred_affinity = {{10, Pod::Term("host", App("web"))},
                              {20, Pod::Term("rack", App("web"))}};
  }));
  // 30, 20 and 0.
  EXPECT_THAT(ScoresOf(cluster.Build(), ScorePlugin::kInterPodAffinity),
              testing::ElementsAre(200, 2 * 66, 0));
}

// The other node has an image that was named later.
TEST(SchedulerTest, AnotherImageIsNotTakenForTheOneThatIsWanted) {
  const auto with = [](std::string_view image) {
    return [image](objects::Node& node) {
      node.images = {{{"old@sha256:1", image}, 900 * test::kMiB}};
    };
  };
  Cluster cluster;
  cluster.Add(Node("b").With(with("web:2"))).Add(Node("a").With(with("web:3")));
  cluster.Add(
      Pod("new").Cpu(100).With([](objects::Pod& pod) { pod.containers[0].image = "web:2"; }));
  EXPECT_THAT(ScoresOf(cluster.Build(), ScorePlugin::kImageLocality),
              testing::ElementsAre(100 * (450 - 23) / (1000 - 23), 0));
}

TEST(SchedulerTest, ImagesOfAllContainersAreAddedUp) {
  Cluster cluster;
  cluster.Add(Node("a").With([](objects::Node& node) {
    node.images = {{{"web:1"}, 900 * test::kMiB}, {{"db:1"}, 600 * test::kMiB}};
  }));
  cluster.Add(
      Node("b").With([](objects::Node& node) { node.images = {{{"web:1"}, 900 * test::kMiB}}; }));
  cluster.Add(Pod("new").Cpu(100).With([](objects::Pod& pod) {
    pod.containers.resize(2, pod.containers[0]);
    pod.containers[0].image = "web:1";
    pod.containers[1].image = "db:1";
  }));
  // Both nodes have the one, and one of two the other, which counts by half.
  EXPECT_THAT(
      ScoresOf(cluster.Build(), ScorePlugin::kImageLocality),
      testing::ElementsAre(100 * (900 + 300 - 23) / (2000 - 23), 100 * (900 - 23) / (2000 - 23)));
}

}  // namespace
}  // namespace ebb::scheduler_test
