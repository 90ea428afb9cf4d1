#include "snapshot/builder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time_range.h"
#include "gtest/gtest.h"
#include "snapshot/quantity.h"
#include "snapshot/shape_matches.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::builder_test {
namespace {

using test::Budget;
using test::Cluster;
using test::kGiB;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

// The message must hold every one of `parts`.
void ExpectRefused(const absl::Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  for (const std::string& part : parts) {
    EXPECT_NE(status.message().find(part), absl::string_view::npos) << part << ": " << status;
  }
}

TEST(SnapshotBuilderTest, PodsRunWhereTheySayElseWhereTheyAreNominated) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Pod("bound").On("a").With([](auto& p) { p.nominated_node_name = "b"; }))
          .Add(Pod("nominated").With([](auto& p) { p.nominated_node_name = "b"; }))
          .Add(Pod("pending"))
          .Add(Pod("lost").On("gone"))
          .Build();
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "bound")), NodeNamed(snapshot, "a"));
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "nominated")), NodeNamed(snapshot, "b"));
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "pending")), kNoNode);
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "lost")), kNoNode);
  EXPECT_EQ(snapshot.placed_pods(), 2u);
}

// The scheduler's scores take a container that asks for no memory for one of 200 MiB.
TEST(SnapshotBuilderTest, ScoresCountCpuAndMemoryWhateverElseThereIs) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a"))
          .Add(Pod("no-memory").Request("a.example/x", 1).Cpu(300).Request("z.example/x", 1))
          .Add(Pod("both").Request("a.example/x", 1).Cpu(300).Memory(kGiB))
          .Build();
  const auto scored = [&](const char* pod) {
    const CpuAndMemory of = snapshot.catalog().shape_of(PodNamed(snapshot, pod)).scored_incoming;
    return std::pair(of.cpu_milli, of.memory_bytes);
  };
  EXPECT_EQ(scored("no-memory"), std::pair(int64_t{300}, 200 * kMiB));
  EXPECT_EQ(scored("both"), std::pair(int64_t{300}, kGiB));
}

TEST(SnapshotBuilderTest, PodsMayComeBeforeTheirNodes) {
  SnapshotBuilder builder;
  ASSERT_TRUE(builder.AddPod(Pod("p").On("late").raw).ok());
  ASSERT_TRUE(builder.AddNode(Node("late").raw).ok());
  const ClusterSnapshot snapshot = std::move(builder).Build().value();
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "p")), NodeNamed(snapshot, "late"));
}

// Nodes and pods took the first, claims the last.
TEST(SnapshotBuilderTest, OfAnAnnotationThatComesTwiceTheLastCounts) {
  constexpr char kDisabled[] = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
  constexpr char kSafeToEvict[] = "cluster-autoscaler.kubernetes.io/safe-to-evict";
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("stays").Annotation(kDisabled, "false").Annotation(kDisabled, "true"))
          .Add(Node("goes").Annotation(kDisabled, "true").Annotation(kDisabled, "false"))
          .Add(Pod("p").Annotation(kSafeToEvict, "false").Annotation(kSafeToEvict, "true"))
          .Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_TRUE(catalog.node(NodeNamed(snapshot, "stays")).scale_down_disabled);
  EXPECT_FALSE(catalog.node(NodeNamed(snapshot, "goes")).scale_down_disabled);
  EXPECT_EQ(catalog.shape_of(PodNamed(snapshot, "p")).safe_to_evict, SafeToEvict::kTrue);
}

TEST(SnapshotBuilderTest, WhatOccursTwiceIsRefusedByName) {
  SnapshotBuilder builder;
  ASSERT_TRUE(builder.AddNode(Node("a").raw).ok());
  ExpectRefused(builder.AddNode(Node("a").raw), {"Node a", "twice"});
  ASSERT_TRUE(builder.AddPod(Pod("p").raw).ok());
  ExpectRefused(builder.AddPod(Pod("p").raw), {"Pod default/p", "twice"});
  EXPECT_TRUE(builder.AddPod(Pod("p").In("other").raw).ok());
  Budget budget = Budget("b").In("default").MatchingEverything();
  ASSERT_TRUE(builder.AddPodDisruptionBudget(budget.raw).ok());
  ExpectRefused(builder.AddPodDisruptionBudget(budget.raw), {"default/b", "twice"});
  EXPECT_TRUE(builder.AddPodDisruptionBudget(budget.In("other").raw).ok());
}

TEST(SnapshotBuilderTest, NegativeAmountsAreRefusedWithObjectAndField) {
  SnapshotBuilder builder;
  ExpectRefused(builder.AddNode(Node("a").Cpu(-1).raw), {"Node a", "status.allocatable.cpu", "-1"});
  ExpectRefused(builder.AddPod(Pod("p").Cpu(-5).raw), {"Pod default/p", "cpu", "-5"});
  const Node capacity = Node("a").With([](auto& n) { n.capacity = {{"cpu", -2}}; });
  EXPECT_EQ(builder.AddNode(capacity.raw).message(), "Node a: status.capacity.cpu: -2 is negative");
  EXPECT_EQ(builder.AddPod(Pod("p").Cpu(-5).raw).message(),
            "Pod default/p: spec.containers[0].resources.requests.cpu: -5 is negative");
  EXPECT_EQ(SnapshotBuilder::Check(Pod("p").Cpu(-5).raw).message(),
            "Pod default/p: spec.containers[0].resources.requests.cpu: -5 is negative");
}

// Each by itself, though what else the pod asks for is more.
TEST(SnapshotBuilderTest, NegativePartsOfAPodAreRefusedWhereTheyStand) {
  const auto told = [](auto&& change) {
    SnapshotBuilder builder;
    const Pod pod = Pod("p").Cpu(6000).With([&](objects::Pod& p) { change(p); });
    const absl::Status status = builder.AddPod(pod.raw);
    EXPECT_EQ(SnapshotBuilder::Check(pod.raw), status);
    return std::string(status.message());
  };
  objects::Container takes_back;
  takes_back.requests = {{"cpu", -1000}};
  EXPECT_EQ(told([&](auto& p) { p.containers.push_back(takes_back); }),
            "Pod default/p: spec.containers[1].resources.requests.cpu: -1000 is negative");
  EXPECT_EQ(told([&](auto& p) { p.init_containers = {takes_back}; }),
            "Pod default/p: spec.initContainers[0].resources.requests.cpu: -1000 is negative");
  EXPECT_EQ(told([](auto& p) { p.overhead = {{"cpu", -1}}; }),
            "Pod default/p: spec.overhead.cpu: -1 is negative");
  EXPECT_EQ(told([](auto& p) { p.container_statuses.emplace_back().requests = {{"cpu", -1}}; }),
            "Pod default/p: status.containerStatuses[0].resources.requests.cpu: -1 is negative");
  EXPECT_EQ(told([](auto& p) { p.container_statuses.emplace_back().allocated = {{"cpu", -1}}; }),
            "Pod default/p: status.containerStatuses[0].allocatedResources.cpu: -1 is negative");
  EXPECT_EQ(told([](auto& p) { p.pod_requests = {{"cpu", -1}}; }),
            "Pod default/p: spec.resources.requests.cpu: -1 is negative");
  EXPECT_EQ(told([](auto& p) { p.pod_status_requests = {{"cpu", -1}}; }),
            "Pod default/p: status.resources.requests.cpu: -1 is negative");
  EXPECT_EQ(told([](auto& p) { p.pod_allocated = {{"cpu", -1}}; }),
            "Pod default/p: status.allocatedResources.cpu: -1 is negative");
  for (const int32_t excess : {-1, 1'000'000'000}) {
    EXPECT_EQ(told([&](auto& p) { p.overhead = {{"cpu", 1, excess}}; }),
              "Pod default/p: spec.overhead.cpu: 1 has an excess that is none");
  }
  EXPECT_EQ(told([](auto& p) { p.overhead = {{"cpu", 1, 999'999'999}}; }), "");
}

TEST(SnapshotBuilderTest, AfterBuildItTakesNoMore) {
  SnapshotBuilder builder;
  ASSERT_TRUE(builder.AddNode(Node("a").raw).ok());
  ASSERT_TRUE(std::move(builder).Build().ok());
  objects::StorageClass storage_class;
  storage_class.meta.name = "s";
  for (const absl::Status& told :
       {builder.AddNode(Node("b").raw), builder.AddPod(Pod("p").raw),
        builder.AddPodDisruptionBudget(Budget("b").MatchingEverything().raw),
        builder.AddStorageObject(storage_class), builder.OrderNodes({"a"}),
        std::move(builder).Build().status()}) {
    EXPECT_EQ(told.code(), absl::StatusCode::kFailedPrecondition) << told;
  }
}

int64_t AmountOf(const Requests& requests, ResourceId resource) {
  for (const ResourceQuantity& q : requests) {
    if (q.resource == resource) return q.amount;
  }
  return 0;
}

int64_t FreeMemory(const ClusterSnapshot& snapshot, std::string_view node) {
  return snapshot.Free(kMemory, NodeNamed(snapshot, node));
}

// Symptom: a single pod that asked for much refused the whole cluster.
TEST(SnapshotBuilderTest, NoPodAsksForTooMuch) {
  Cluster cluster;
  cluster.Add(Node("a")).Add(Node("b")).Add(Pod("small").On("b").Memory(kGiB));
  for (const char* name : {"p", "q", "r", "s"}) {
    cluster.Add(Pod(name).On("a").Memory(kUncountable).Request("example.com/x", int64_t{1} << 60));
  }
  const ClusterSnapshot snapshot = cluster.Build();
  EXPECT_LT(FreeMemory(snapshot, "a"), 0);
  EXPECT_EQ(FreeMemory(snapshot, "b"), 7 * kGiB) << "no other node is touched";
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  const PodShape& shape = snapshot.catalog().shape_of(PodNamed(snapshot, "p"));
  EXPECT_GT(AmountOf(shape.fit_requests, kMemory), 8 * kGiB);
  EXPECT_EQ(AmountOf(shape.fit_requests, kMemory), kUncountable);
  EXPECT_EQ(AmountOf(shape.Counted(), kMemory), kUncountable);
  EXPECT_GT(AmountOf(shape.charge_requests, kMemory), 8 * kGiB) << "nothing fits beside it";
  const PodShape& small = snapshot.catalog().shape_of(PodNamed(snapshot, "small"));
  EXPECT_FALSE(small.counts_otherwise);
  EXPECT_EQ(snapshot.catalog().pods_counted_otherwise().size(), 4u);
}

// All pods may meet on one node in a plan, so what they are charged must add up.
TEST(SnapshotBuilderTest, ChargesAddUpWhateverPodsAskFor) {
  constexpr int64_t kLarge = int64_t{1} << 60;
  Cluster cluster;
  cluster.Add(Node("odd").Memory(kLarge)).Add(Node("a")).Add(Node("b"));
  for (const char* name : {"p", "q", "r"}) cluster.Add(Pod(name).On("a").Memory(kLarge));
  cluster.Add(Pod("small").On("odd").Memory(kGiB)).Add(Pod("other").On("b").Memory(kGiB));
  const ClusterSnapshot snapshot = cluster.Build();
  EXPECT_EQ(snapshot.Allocatable(kMemory, NodeNamed(snapshot, "odd")), 0)
      << "three pods that fit there are more than can be added up";
  EXPECT_EQ(FreeMemory(snapshot, "b"), 7 * kGiB);
  EXPECT_LT(FreeMemory(snapshot, "a"), 0);
  __int128 charged = 0;
  for (uint32_t p = 0; p < snapshot.catalog().pods(); ++p) {
    charged += AmountOf(snapshot.catalog().shape_of(PodId{p}).charge_requests, kMemory);
  }
  EXPECT_LE(charged, __int128{1} << 61);
}

// A pod that asks for more than any node that is trusted has is charged a unit more than that,
// and that unit counts too.
TEST(SnapshotBuilderTest, ANodeIsTrustedAsFarAsChargesOneAboveItAddUp) {
  constexpr int64_t kHalf = int64_t{1} << 60;  // Of the most that may be charged.
  const auto trusted = [](int64_t offer) {
    Cluster cluster;
    cluster.Add(Node("odd").Memory(offer)).Add(Node("a"));
    for (const char* name : {"p", "q"}) cluster.Add(Pod(name).On("a").Memory(int64_t{1} << 61));
    const ClusterSnapshot snapshot = cluster.Build();
    return snapshot.Allocatable(kMemory, NodeNamed(snapshot, "odd")) == offer;
  };
  EXPECT_TRUE(trusted(kHalf - 1));
  EXPECT_FALSE(trusted(kHalf));
}

// Symptom: one node with 800,000 resource names took 4 GB.
TEST(SnapshotBuilderTest, ResourcesThatNobodyAsksForHaveNoColumn) {
  Node odd = Node("odd").Resource("nvidia.com/gpu", 1).Resource("example.com/used", 3);
  Pod pod = Pod("p").On("odd").Request("example.com/used", 1);
  Pod asks = Pod("asks").On("a").Request("example.com/used", 1);
  for (int r = 0; r < 2000; ++r) {
    odd.raw.allocatable.push_back({test::Keep("example.com/" + std::to_string(r)), 1});
    asks.raw.containers[0].requests.push_back({test::Keep("example.org/" + std::to_string(r)), 1});
  }
  const ClusterSnapshot snapshot = Cluster().Add(odd).Add(Node("a")).Add(pod).Add(asks).Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_EQ(catalog.resources(), kFixedResources + 2) << "used, and the GPU";
  EXPECT_EQ(snapshot.Free(*catalog.FindResource("example.com/used"), NodeNamed(snapshot, "odd")),
            2);
  EXPECT_EQ(
      snapshot.Allocatable(*catalog.FindResource("nvidia.com/gpu"), NodeNamed(snapshot, "odd")), 1);
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  EXPECT_EQ(catalog.shape_of(PodNamed(snapshot, "p")).not_understood, "");
  EXPECT_NE(catalog.shape_of(PodNamed(snapshot, "asks")).not_understood.find("example.org/0"),
            std::string::npos)
      << "it fits on no node, for none offers that";
}

TEST(SnapshotBuilderTest, EveryResourceClaimOfAPodIsNamed) {
  Pod pod = Pod("p").On("a");
  pod.raw.resource_claims = {{.name = "gpu", .claim_name = "mine", .template_name = ""},
                             {.name = "", .claim_name = "extended", .template_name = ""}};
  const ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(pod).Build();
  const std::string_view why = snapshot.catalog().shape_of(PodNamed(snapshot, "p")).not_understood;
  EXPECT_NE(why.find("spec.resourceClaims[gpu]: "), std::string::npos) << why;
  EXPECT_NE(why.find("status.extendedResourceClaimStatus: "), std::string::npos) << why;
}

// Pods and budgets in one namespace, each budget for all of them.
Cluster PodsAndBudgets(int count) {
  Cluster cluster;
  cluster.Add(Node("a").Pods(10'000));
  for (int i = 0; i < count; ++i) {
    cluster.Add(Pod("p" + std::to_string(i)).On("a").Label("id", std::to_string(i)));
    cluster.Add(Budget("b" + std::to_string(i)).MatchingEverything().Allows(1));
  }
  return cluster.Add(Pod("other").In("elsewhere").On("a"))
      .Add(Budget("other").In("elsewhere").MatchingEverything());
}

// Symptom: n budgets for all of n pods took n * n entries, a gigabyte for 14 MB.
TEST(SnapshotBuilderTest, TooManyBudgetsForTooManyPodsKeepTheirNodes) {
  const ClusterSnapshot snapshot = PodsAndBudgets(1100).Build();
  const Catalog& catalog = snapshot.catalog();
  uint64_t entries = 0;
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    entries += catalog.shape(PodShapeId{s}).budgets.size();
  }
  EXPECT_LE(entries, kMatchesMax);
  for (int i = 0; i < 1100; ++i) {
    const PodId pod = PodNamed(snapshot, "p" + std::to_string(i));
    ASSERT_NE(catalog.shape_of(pod).not_understood, "") << i;
  }
  const PodShape& other = catalog.shape_of(PodNamed(snapshot, "other", "elsewhere"));
  EXPECT_EQ(other.not_understood, "") << "no other namespace is touched";
  EXPECT_EQ(other.budgets.size(), 1u);
}

TEST(SnapshotBuilderTest, ManyBudgetsForManyPodsAreFollowed) {
  const ClusterSnapshot snapshot = PodsAndBudgets(300).Build();
  const PodShape& shape = snapshot.catalog().shape_of(PodNamed(snapshot, "p7"));
  EXPECT_EQ(shape.not_understood, "");
  EXPECT_EQ(shape.budgets.size(), 300u);
}

TEST(SnapshotBuilderTest, WhatAddsUpIsChargedAsItIs) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Pod("p").On("a").Memory(int64_t{1} << 60)).Build();
  EXPECT_EQ(FreeMemory(snapshot, "a"), 8 * kGiB - (int64_t{1} << 60));
  EXPECT_TRUE(snapshot.catalog().pods_counted_otherwise().empty());
}

TEST(SnapshotBuilderTest, ANodesAmountThatCannotBeCountedIsNone) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a").Memory(kUncountable).Resource("example.com/x", kUncountable))
          .Add(Node("b").Memory(int64_t{1} << 62))
          .Build();
  EXPECT_EQ(FreeMemory(snapshot, "a"), 0);
  EXPECT_EQ(snapshot.Free(kCpu, NodeNamed(snapshot, "a")), 4000);
  EXPECT_EQ(FreeMemory(snapshot, "b"), int64_t{1} << 62);
}

TEST(SnapshotBuilderTest, AFailedAddLeavesTheNameFree) {
  SnapshotBuilder builder;
  ASSERT_FALSE(builder.AddNode(Node("a").Cpu(-1).raw).ok());
  ASSERT_FALSE(builder.AddPod(Pod("p").On("a").Cpu(-1).raw).ok());
  EXPECT_TRUE(builder.AddNode(Node("a").raw).ok());
  EXPECT_TRUE(builder.AddPod(Pod("p").On("a").raw).ok());
  EXPECT_EQ(std::move(builder).Build()->placed_pods(), 1u);
}

TEST(SnapshotBuilderTest, ObjectsWithoutANameAreRefused) {
  SnapshotBuilder builder;
  ExpectRefused(builder.AddNode(Node("").raw), {"Node", "metadata.name"});
  ExpectRefused(builder.AddPod(Pod("").raw), {"Pod", "metadata.name"});
  ExpectRefused(builder.AddPodDisruptionBudget(Budget("").raw), {"metadata.name"});
}

TEST(SnapshotBuilderTest, ABudgetMustBeReadableAndInRange) {
  SnapshotBuilder builder;
  Budget bad = Budget("b").MatchingEverything();
  ExpectRefused(builder.AddPodDisruptionBudget(Budget(bad).Allows(-1).raw),
                {"status.disruptionsAllowed", "-1"});
  ExpectRefused(builder.AddPodDisruptionBudget(Budget(bad).Allows(int64_t{1} << 40).raw),
                {"status.disruptionsAllowed"});
  bad.raw.selector.match_expressions = {{"k", "Near", {}}};
  ExpectRefused(builder.AddPodDisruptionBudget(bad.raw), {"spec.selector", "Near"});
}

TEST(SnapshotBuilderTest, NodesTakeTheOrderThatIsAskedFor) {
  SnapshotBuilder builder;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(builder.AddNode(Node(name).raw).ok());
  ASSERT_TRUE(builder.AddPod(Pod("p").On("a").raw).ok());
  ASSERT_TRUE(builder.OrderNodes({"c", "a", "b"}).ok());
  const ClusterSnapshot snapshot = std::move(builder).Build().value();
  EXPECT_EQ(snapshot.catalog().NodeName(snapshot.NodeAt(0)), "c");
  EXPECT_EQ(snapshot.catalog().NodeName(snapshot.NodeAt(1)), "a");
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "p")), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Index(NodeNamed(snapshot, "a")), 1u);
}

TEST(SnapshotBuilderTest, AnOrderThatIsNoPermutationIsRefused) {
  SnapshotBuilder builder;
  for (const char* name : {"a", "b"}) ASSERT_TRUE(builder.AddNode(Node(name).raw).ok());
  ExpectRefused(builder.OrderNodes({"a"}), {"1", "2"});
  ExpectRefused(builder.OrderNodes({"a", "a"}), {"\"a\"", "twice"});
  ExpectRefused(builder.OrderNodes({"a", "x"}), {"\"x\""});
}

TEST(SnapshotBuilderTest, BudgetsMatchPodsOfTheirNamespaceByLabel) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Budget("web").In("default").Matching("app", "web"))
                                       .Add(Budget("other").In("other").Matching("app", "web"))
                                       .Add(Budget("all").In("default").MatchingEverything())
                                       .Add(Budget("none").In("default"))
                                       .Add(Node("a"))
                                       .Add(Pod("web").On("a").Label("app", "web"))
                                       .Add(Pod("db").On("a").Label("app", "db"))
                                       .Build();
  using Ids = std::vector<PdbId>;
  EXPECT_EQ(snapshot.catalog().shape_of(PodNamed(snapshot, "web")).budgets,
            (Ids{PdbId{0}, PdbId{2}}));
  EXPECT_EQ(snapshot.catalog().shape_of(PodNamed(snapshot, "db")).budgets, Ids{PdbId{2}});
}

TEST(SnapshotBuilderTest, ANodeIsReadyByItsConditionsAndTaints) {
  const auto ready = [](const Node& node) {
    const ClusterSnapshot snapshot = Cluster().Add(node).Build();
    return snapshot.catalog().node(NodeId{0}).ready;
  };
  const auto with = [](std::string_view type, std::string_view status) {
    return Node("a").With([=](auto& n) { n.conditions.push_back({type, status}); });
  };
  EXPECT_TRUE(ready(Node("a")));
  EXPECT_FALSE(ready(Node("a").NotReady()));
  EXPECT_FALSE(ready(Node("a").With([](auto& n) { n.conditions.clear(); })));
  EXPECT_FALSE(ready(with("DiskPressure", "True")));
  EXPECT_FALSE(ready(with("NetworkUnavailable", "True")));
  EXPECT_TRUE(ready(with("MemoryPressure", "True")));
  EXPECT_TRUE(ready(with("DiskPressure", "Unknown")));
  EXPECT_FALSE(ready(Node("a").Taint("node.kubernetes.io/not-ready", "", "PreferNoSchedule")));
  EXPECT_FALSE(ready(Node("a").Taint("node.kubernetes.io/disk-pressure")));
  EXPECT_FALSE(ready(Node("a").Taint("other").Taint("node.kubernetes.io/network-unavailable")));
  EXPECT_TRUE(ready(Node("a").Taint("node.kubernetes.io/unreachable")));
}

TEST(SnapshotBuilderTest, DeletionTaintsCountOnlyWithAWholeNumber) {
  const auto value = [](std::string_view text) {
    const ClusterSnapshot snapshot =
        Cluster().Add(Node("a").Taint("ToBeDeletedByClusterAutoscaler", text)).Build();
    return snapshot.catalog().node(NodeId{0}).to_be_deleted;
  };
  EXPECT_EQ(value("1700000000"), 1700000000);
  EXPECT_EQ(value("+1700000000"), 1700000000);
  EXPECT_EQ(value("soon"), std::nullopt);
  EXPECT_EQ(value(""), std::nullopt);
}

// Ages were counted from it, and overflowed: an ancient taint said "being deleted".
TEST(SnapshotBuilderTest, NoTimeIsOutsideTheCalendar) {
  constexpr std::string_view kLeast = "-9223372036854775808", kMost = "9223372036854775807";
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Node a("a");
  a.Taint("ToBeDeletedByClusterAutoscaler", kLeast);
  a.Taint("DeletionCandidateOfClusterAutoscaler", kMost);
  a.raw.meta.creation_time = kMin;
  const ClusterSnapshot snapshot =
      Cluster().Add(a).Add(Pod("p").On("a").CreatedAt(kMax).DeletedAt(kMin)).Build();
  const NodeInfo& node = snapshot.catalog().node(NodeId{0});
  EXPECT_EQ(node.to_be_deleted, kEarliestTimeS);
  EXPECT_EQ(node.deletion_candidate, kLatestTimeS);
  EXPECT_EQ(node.creation_time, kEarliestTimeS);
  EXPECT_EQ(snapshot.catalog().pod(PodId{0}).creation_time, kLatestTimeS);
  EXPECT_EQ(snapshot.catalog().DeletionTime(PodId{0}), kEarliestTimeS);
}

TEST(SnapshotBuilderTest, ResourcesThatNoFilterReadsGetNoColumn) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Resource("example.com/gpu", 2))
                                       .Add(Pod("p")
                                                .On("a")
                                                .Request("example.com/gpu", 1)
                                                .Request("storage", 5)
                                                .Request("cloud-tpus.google.com/v3", 8))
                                       .Build();
  const Catalog& catalog = snapshot.catalog();
  ASSERT_TRUE(catalog.FindResource("example.com/gpu").has_value());
  EXPECT_EQ(snapshot.Free(*catalog.FindResource("example.com/gpu"), NodeId{0}), 1);
  EXPECT_FALSE(catalog.FindResource("storage").has_value());
  EXPECT_FALSE(catalog.FindResource("cloud-tpus.google.com/v3").has_value());
}

TEST(SnapshotBuilderTest, NodesThatDifferInNameOnlyShareAShape) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label("kubernetes.io/hostname", "a"))
                                       .Add(Node("b").Label("kubernetes.io/hostname", "b"))
                                       .Add(Node("c").Label("zone", "x"))
                                       .Add(Node("d").Taint("t"))
                                       .Add(Node("e").Unschedulable())
                                       .Build();
  const auto shape = [&](uint32_t n) { return snapshot.catalog().node(NodeId{n}).shape; };
  EXPECT_EQ(shape(0), shape(1));
  EXPECT_EQ(snapshot.catalog().node_shapes(), 4u);
}

TEST(SnapshotBuilderTest, NodesThatAFilterTellsApartHaveShapesOfTheirOwn) {
  const auto declares = [](std::string_view name, std::string_view feature) {
    return Node(name).With([=](auto& n) { n.declared_features = {feature}; });
  };
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Taint("t"))
                                       .Add(Node("b").Taint("t", "v"))
                                       .Add(Node("c").Taint("t", "", "NoExecute"))
                                       .Add(Node("d").Taint("u"))
                                       .Add(Node("e").Label("zone", "x"))
                                       .Add(Node("f").Label("zone", "y"))
                                       .Add(Node("g").Label("rack", "x"))
                                       .Add(declares("h", "one"))
                                       .Add(declares("i", "other"))
                                       .Add(declares("alike", "other"))
                                       .Build();
  EXPECT_EQ(snapshot.catalog().node_shapes(), 9u);
  EXPECT_EQ(snapshot.catalog().node(NodeNamed(snapshot, "i")).shape,
            snapshot.catalog().node(NodeNamed(snapshot, "alike")).shape);
}

TEST(SnapshotBuilderTest, OfAnImageThatIsTwiceOnANodeTheFirstCounts) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("a").With([](auto& n) { n.images = {{{"b", "a"}, 7}, {{"c", "b"}, 9}}; }))
          .Build();
  const std::vector<NodeImage>& images = snapshot.catalog().node(NodeId{0}).images;
  EXPECT_TRUE(std::ranges::is_sorted(images, {}, &NodeImage::name));
  std::map<std::string, int64_t> sizes;
  for (const NodeImage& image : images) {
    sizes.emplace(snapshot.catalog().Text(image.name), image.size_bytes);
  }
  EXPECT_EQ(images.size(), 3u);
  EXPECT_EQ(sizes, (std::map<std::string, int64_t>{{"a", 7}, {"b", 7}, {"c", 9}}));
}

TEST(SnapshotBuilderTest, WhatANodesAnnotationsSay) {
  const auto upcoming = [](std::string_view value) {
    const ClusterSnapshot snapshot =
        Cluster()
            .Add(Node("a").Annotation("cluster-autoscaler.k8s.io/upcoming-node", value))
            .Build();
    return snapshot.catalog().node(NodeId{0}).upcoming;
  };
  for (const char* value : {"1", "t", "T", "true", "TRUE", "True"}) {
    EXPECT_TRUE(upcoming(value)) << value;
  }
  for (const char* value : {"", "0", "false", "yes", "tRUE"})
    EXPECT_FALSE(upcoming(value)) << value;

  const auto kept = [](std::string_view key, std::string_view value) {
    const ClusterSnapshot snapshot = Cluster().Add(Node("a").Annotation(key, value)).Build();
    return snapshot.catalog().node(NodeId{0}).do_not_disrupt;
  };
  for (const char* key : {"karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-consolidate"}) {
    EXPECT_TRUE(kept(key, "true")) << key;
    EXPECT_FALSE(kept(key, "false")) << key;
  }
}

TEST(SnapshotBuilderTest, APodsKeyIsItsUidElseItsName) {
  const ClusterSnapshot snapshot = Cluster().Add(Pod("p").Uid("uid-1")).Add(Pod("q")).Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_EQ(catalog.Text(catalog.pod(PodNamed(snapshot, "p")).key), "uid-1");
  EXPECT_EQ(catalog.Text(catalog.pod(PodNamed(snapshot, "q")).key), "default/q");
}

TEST(SnapshotBuilderTest, NoResourceIsDroppedOfAsManyAsSnapshotsHold) {
  const auto kept = [](int others) {
    Node node("a");
    for (int r = 0; r < others; ++r) {
      node.raw.allocatable.push_back({test::Keep("example.com/" + std::to_string(r)), 1});
    }
    return Cluster().Add(node).Build().catalog().resources();
  };
  EXPECT_EQ(kept(256 - 4), 256u);
  EXPECT_EQ(kept(256 - 4 + 1), kFixedResources);
}

TEST(SnapshotBuilderTest, ResourcesThatAreTooManyAreNotFollowed) {
  Node node("a");
  Pod all = Pod("all").On("a");
  for (int r = 0; r < 4097; ++r) {
    const std::string_view name = test::Keep("example.com/" + std::to_string(r));
    node.raw.allocatable.push_back({name, 1});
    all.raw.containers[0].requests.push_back({name, 1});
  }
  const ClusterSnapshot snapshot =
      Cluster().Add(node).Add(all).Add(Pod("few").Request("example.com/4095", 1)).Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_EQ(catalog.resources(), kFixedResources + 4096);
  EXPECT_EQ(
      catalog.shape_of(PodNamed(snapshot, "all")).not_understood,
      "spec.containers[].resources.requests.example.com/4096: no node offers it, or there are "
      "too many resources to follow it");
  EXPECT_EQ(catalog.shape_of(PodNamed(snapshot, "few")).not_understood, "");
}

TEST(SnapshotBuilderTest, APodSaysThroughWhichDeviceClassItsResourceIsAllocated) {
  objects::DeviceClass gpus;
  gpus.meta.name = "gpus";
  gpus.extended_resource_name = "example.com/gpu";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(gpus)
                                       .Add(Pod("p").Cpu(1).Request("example.com/gpu", 1))
                                       .Add(Pod("other").Request("example.com/nic", 1))
                                       .Build();
  EXPECT_EQ(snapshot.catalog().shape_of(PodNamed(snapshot, "p")).not_understood,
            "spec.containers[].resources.requests.example.com/gpu: is allocated through "
            "DeviceClass gpus; dynamic resource allocation is not evaluated");
  EXPECT_EQ(snapshot.catalog().shape_of(PodNamed(snapshot, "other")).not_understood, "");
}

TEST(SnapshotBuilderTest, WhatIsNotThereIsNotFoundByItsName) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Pod("p").In("shop").On("a")).Build();
  const Catalog& catalog = snapshot.catalog();
  EXPECT_EQ(catalog.FindNode("b").status(), absl::NotFoundError("no node \"b\""));
  EXPECT_EQ(catalog.FindNode("p").status(), absl::NotFoundError("no node \"p\""));
  EXPECT_EQ(catalog.FindPod("default", "p").status(), absl::NotFoundError("no pod \"default/p\""));
  EXPECT_EQ(catalog.FindPod("shop", "a").status(), absl::NotFoundError("no pod \"shop/a\""));
  EXPECT_EQ(catalog.FindPod("shop", "").status(), absl::NotFoundError("no pod \"shop/\""));
  EXPECT_TRUE(catalog.FindPod("shop", "p").ok());
  EXPECT_EQ(catalog.FindResource("shop"), std::nullopt);
  EXPECT_EQ(catalog.FindResource("pods"), kPods);
}

}  // namespace
}  // namespace ebb::builder_test
