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
#include "snapshot/objects/quantity.h"
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

// The message must contain every one of `parts`.
void ExpectRefused(const absl::Status& status, const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  for (const std::string& part : parts) {
    EXPECT_NE(status.message().find(part), absl::string_view::npos) << part << ": " << status;
  }
}

TEST(SnapshotBuilderTest, PodsCountOnTheirNodeOrElseOnTheirNominatedNode) {
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

// The scheduler's scores count a container without a memory request with 200 MiB.
TEST(SnapshotBuilderTest, ScoresCountOnlyCpuAndMemory) {
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

// Symptom: for nodes and pods the first value counted, for claims the last.
TEST(SnapshotBuilderTest, TheLastOfTwoEqualAnnotationsCounts) {
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

TEST(SnapshotBuilderTest, ADuplicateIsRejectedByName) {
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

// Each negative amount is rejected, even if the pod's sum is positive.
TEST(SnapshotBuilderTest, NegativeAmountsOfAPodAreRejectedWithTheirField) {
  const auto message_of = [](auto&& change) {
    SnapshotBuilder builder;
    const Pod pod = Pod("p").Cpu(6000).With([&](objects::Pod& p) { change(p); });
    const absl::Status status = builder.AddPod(pod.raw);
    EXPECT_EQ(SnapshotBuilder::Check(pod.raw), status);
    return std::string(status.message());
  };
  objects::Container takes_back;
  takes_back.requests = {{"cpu", -1000}};
  EXPECT_EQ(message_of([&](auto& p) { p.containers.push_back(takes_back); }),
            "Pod default/p: spec.containers[1].resources.requests.cpu: -1000 is negative");
  EXPECT_EQ(message_of([&](auto& p) { p.init_containers = {takes_back}; }),
            "Pod default/p: spec.initContainers[0].resources.requests.cpu: -1000 is negative");
  EXPECT_EQ(message_of([](auto& p) { p.overhead = {{"cpu", -1}}; }),
            "Pod default/p: spec.overhead.cpu: -1 is negative");
  EXPECT_EQ(
      message_of([](auto& p) { p.container_statuses.emplace_back().requests = {{"cpu", -1}}; }),
      "Pod default/p: status.containerStatuses[0].resources.requests.cpu: -1 is negative");
  EXPECT_EQ(
      message_of([](auto& p) { p.container_statuses.emplace_back().allocated = {{"cpu", -1}}; }),
      "Pod default/p: status.containerStatuses[0].allocatedResources.cpu: -1 is negative");
  EXPECT_EQ(message_of([](auto& p) { p.pod_requests = {{"cpu", -1}}; }),
            "Pod default/p: spec.resources.requests.cpu: -1 is negative");
  EXPECT_EQ(message_of([](auto& p) { p.pod_status_requests = {{"cpu", -1}}; }),
            "Pod default/p: status.resources.requests.cpu: -1 is negative");
  EXPECT_EQ(message_of([](auto& p) { p.pod_allocated = {{"cpu", -1}}; }),
            "Pod default/p: status.allocatedResources.cpu: -1 is negative");
  // A valid amount in the same list does not hide it.
  EXPECT_EQ(message_of([](auto& p) { p.overhead = {{"cpu", 1}, {"memory", -1}}; }),
            "Pod default/p: spec.overhead.memory: -1 is negative");
  for (const int32_t excess : {-1, 1'000'000'000}) {
    EXPECT_EQ(message_of([&](auto& p) { p.overhead = {{"cpu", 1, excess}}; }),
              "Pod default/p: spec.overhead.cpu: 1 has an excess that is not an amount");
  }
  EXPECT_EQ(message_of([](auto& p) { p.overhead = {{"cpu", 1, 999'999'999}}; }), "");
}

TEST(SnapshotBuilderTest, AfterBuildItTakesNoMore) {
  SnapshotBuilder builder;
  ASSERT_TRUE(builder.AddNode(Node("a").raw).ok());
  ASSERT_TRUE(std::move(builder).Build().ok());
  objects::StorageClass storage_class;
  storage_class.meta.name = "s";
  for (const absl::Status& refused :
       {builder.AddNode(Node("b").raw), builder.AddPod(Pod("p").raw),
        builder.AddPodDisruptionBudget(Budget("b").MatchingEverything().raw),
        builder.AddStorageObject(storage_class), builder.OrderNodes({"a"}),
        std::move(builder).Build().status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  }
}

int64_t FreeMemory(const ClusterSnapshot& snapshot, std::string_view node) {
  return snapshot.Free(kMemory, NodeNamed(snapshot, node));
}

// Symptom: a single pod that requested a huge amount made the whole cluster invalid.
TEST(SnapshotBuilderTest, AnExcessiveRequestIsBounded) {
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

// A plan may put all pods on one node, so their charges must add up.
TEST(SnapshotBuilderTest, ChargesAddUpForAnyRequests) {
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

// A pod that requests more than any trusted node offers is charged one unit more than such a node
// offers.  That unit counts in the sum too.
TEST(SnapshotBuilderTest, ANodesAmountIsTakenIfChargesOneAboveItAddUp) {
  constexpr int64_t kHalf = int64_t{1} << 60;  // Half of the most that may be charged.
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
TEST(SnapshotBuilderTest, ResourcesThatNoPodRequestsHaveNoColumn) {
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

// Pods and budgets in one namespace; each budget selects all pods.
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

// Symptom: n budgets that each selected all of n pods took n * n entries: a gigabyte for 14 MB.
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

TEST(SnapshotBuilderTest, AmountsThatAddUpAreChargedUnchanged) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Node("a")).Add(Pod("p").On("a").Memory(int64_t{1} << 60)).Build();
  EXPECT_EQ(FreeMemory(snapshot, "a"), 8 * kGiB - (int64_t{1} << 60));
  EXPECT_TRUE(snapshot.catalog().pods_counted_otherwise().empty());
}

TEST(SnapshotBuilderTest, AnUncountableAmountOfANodeIsZero) {
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

TEST(SnapshotBuilderTest, NodesTakeTheRequestedOrder) {
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

TEST(SnapshotBuilderTest, AnOrderThatIsNotAPermutationIsRejected) {
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

// Symptom: ages were computed from such a time and overflowed; an ancient taint meant "is being
// deleted".
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

TEST(SnapshotBuilderTest, NodesThatAFilterDistinguishesHaveShapesOfTheirOwn) {
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

TEST(SnapshotBuilderTest, TheFirstOfTwoEqualImagesOfANodeCounts) {
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

TEST(SnapshotBuilderTest, AnnotationsOfANodeAreRead) {
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

TEST(SnapshotBuilderTest, NoResourceIsDroppedUpToTheLimitOfASnapshot) {
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

TEST(SnapshotBuilderTest, TheReasonForAnExtendedResourceNamesItsDeviceClass) {
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
            "DeviceClass gpus; extended resources that are allocated from devices are not "
            "evaluated");
  EXPECT_EQ(snapshot.catalog().shape_of(PodNamed(snapshot, "other")).not_understood, "");
}

TEST(SnapshotBuilderTest, MissingObjectsAreNotFoundByName) {
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

TEST(SnapshotBuilderTest, ScoresCountRequestsUpToTheLargestCharge) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Pod("cpu").Cpu(300).Memory(0))
          .Add(Pod("memory").Cpu(0).Memory(5))
          .Add(Pod("cpu-first").Cpu(300).Request("a.example/x", 1).Request("z.example/x", 2))
          .Add(Pod("memory-first").Memory(5).Request("a.example/x", 1).Request("z.example/x", 2))
          .Add(Pod("much").Cpu(kUncountable).Memory(kUncountable))
          .Add(Pod("much-cpu").Cpu(kUncountable))
          .Add(Pod("much-memory").Memory(kUncountable))
          .Build();
  const auto scored = [&](const char* pod) {
    const CpuAndMemory of = snapshot.catalog().shape_of(PodNamed(snapshot, pod)).scored_incoming;
    return std::pair(of.cpu_milli, of.memory_bytes);
  };
  EXPECT_EQ(scored("cpu"), std::pair(int64_t{300}, int64_t{0}));
  EXPECT_EQ(scored("memory"), std::pair(int64_t{0}, int64_t{5}));
  EXPECT_EQ(scored("cpu-first"), std::pair(int64_t{300}, 200 * kMiB));
  EXPECT_EQ(scored("memory-first"), std::pair(int64_t{100}, int64_t{5}));
  EXPECT_EQ(scored("much"), std::pair(kChargedMax, kChargedMax));
  EXPECT_EQ(scored("much-cpu"), std::pair(kChargedMax, 200 * kMiB));
  EXPECT_EQ(scored("much-memory"), std::pair(int64_t{100}, kChargedMax));
}

TEST(SnapshotBuilderTest, AnUnusualScoreAmountDoesNotCarryOverToTheNextPod) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const auto pod_level = [](std::string_view name, int64_t status) {
    return Pod(name).With([=](objects::Pod& p) {
      p.has_pod_resources = true;
      p.pod_requests = {{"cpu", 50}};
      p.has_pod_status_resources = true;
      p.pod_status_requests = {{"cpu", status}};
    });
  };
  const Pod holds = Pod("holds").With([](objects::Pod& p) {
    p.container_statuses = {
        {.name = "main", .has_resources = true, .requests = {{"cpu", 40}}, .allocated = {}}};
  });
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(pod_level("odd", 90))
                                       .Add(Pod("plain").Cpu(10).Memory(20))
                                       .Add(pod_level("same", 50))
                                       .Add(holds)
                                       .Add(Pod("none"))
                                       .Build();
  const Catalog& catalog = snapshot.catalog();
  const auto shape = [&](const char* pod) -> const PodShape& {
    return catalog.shape_of(PodNamed(snapshot, pod));
  };
  const auto by_default = [&](const char* pod) {
    const CpuAndMemory of = shape(pod).scored_default;
    return std::pair(of.cpu_milli, of.memory_bytes);
  };
  EXPECT_EQ(shape("odd").fit_requests, (Requests{{kCpu, 50}}));
  EXPECT_EQ(shape("odd").charge_requests, (Requests{{kCpu, 90}}));
  EXPECT_EQ(shape("odd").Counted(), (Requests{{kCpu, 50}}));
  EXPECT_EQ(by_default("odd"), std::pair(int64_t{0}, 200 * kMiB));
  EXPECT_FALSE(shape("plain").counts_otherwise);
  EXPECT_EQ(shape("plain").Counted(), (Requests{{kCpu, 10}, {kMemory, 20}}));
  EXPECT_EQ(by_default("plain"), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_FALSE(shape("same").counts_otherwise);
  EXPECT_TRUE(shape("same").counted_requests.empty());
  EXPECT_EQ(shape("same").charge_requests, (Requests{{kCpu, 50}}));
  EXPECT_EQ(shape("holds").fit_requests, Requests());
  EXPECT_EQ(shape("holds").charge_requests, (Requests{{kCpu, 40}}));
  EXPECT_EQ(by_default("holds"), std::pair(int64_t{0}, 200 * kMiB));
  EXPECT_EQ(by_default("none"), std::pair(int64_t{100}, 200 * kMiB));
  EXPECT_EQ(catalog.pods_counted_otherwise(), std::vector<PodId>{PodNamed(snapshot, "odd")});
}

TEST(SnapshotBuilderTest, OnlyWhatTheAutoscalerKnowsMakesANodeUnready) {
  const auto ready = [](const Node& node) {
    const ClusterSnapshot snapshot = Cluster().Add(node).Build();
    return snapshot.catalog().node(NodeId{0}).ready;
  };
  const auto with = [&](const std::vector<objects::NodeCondition>& conditions) {
    return ready(Node("a").With([&](objects::Node& n) { n.conditions = conditions; }));
  };
  EXPECT_FALSE(with({{"Ready", "Unknown"}}));
  EXPECT_TRUE(with({{"Ready", "True"}, {"Custom", "True"}}));
  EXPECT_TRUE(with({{"Ready", "True"}, {"Zombie", "False"}}));
  EXPECT_TRUE(with({{"DiskPressure", "False"}, {"Ready", "True"}}));
  EXPECT_TRUE(with({{"NetworkUnavailable", "False"}, {"Ready", "True"}}));
  EXPECT_TRUE(with({{"Ready", "False"}, {"Ready", "True"}}));
  EXPECT_FALSE(with({{"Ready", "True"}, {"Ready", "False"}}));
  EXPECT_TRUE(ready(Node("a").Taint("node.kubernetes.io/memory-pressure")));
  EXPECT_TRUE(ready(Node("a").Taint("dedicated")));
}

TEST(SnapshotBuilderTest, AnExcessiveRequestIsChargedAUnitMoreThanAnyNodeOffers) {
  constexpr int64_t kLarge = int64_t{1} << 60;
  Cluster cluster;
  cluster.Add(Node("a")).Add(Node("b").Memory(6 * kGiB));
  for (const char* name : {"p", "q", "r"}) {
    cluster.Add(Pod(name).On("a").Cpu(300).Memory(kUncountable).Request("example.com/x", kLarge));
  }
  cluster.Add(Pod("small").On("b").Memory(7 * kGiB));
  const ClusterSnapshot snapshot = cluster.Build();
  const Catalog& catalog = snapshot.catalog();
  const ResourceId x = *catalog.FindResource("example.com/x");
  const NodeId a = NodeNamed(snapshot, "a");
  const PodShape& shape = catalog.shape_of(PodNamed(snapshot, "p"));
  const Requests asked = {{kCpu, 300}, {kMemory, kUncountable}, {x, kLarge}};
  EXPECT_EQ(shape.fit_requests, asked);
  EXPECT_EQ(shape.Counted(), asked);
  EXPECT_EQ(shape.charge_requests, (Requests{{kCpu, 300}, {kMemory, 8 * kGiB + 1}, {x, 1}}));
  EXPECT_EQ(FreeMemory(snapshot, "a"), 8 * kGiB - 3 * (8 * kGiB + 1));
  EXPECT_EQ(snapshot.Free(kCpu, a), 4000 - 3 * 300);
  EXPECT_EQ(snapshot.Free(x, a), -3);
  const PodShape& small = catalog.shape_of(PodNamed(snapshot, "small"));
  EXPECT_FALSE(small.counts_otherwise);
  EXPECT_EQ(small.charge_requests, (Requests{{kMemory, 7 * kGiB}})) << "a fits it";
  EXPECT_EQ(catalog.pods_counted_otherwise(), (std::vector<PodId>{PodId{0}, PodId{1}, PodId{2}}));
}

TEST(SnapshotBuilderTest, ChargesMayComeToJustAsMuchAsCanBeAddedUp) {
  constexpr int64_t kHalf = kChargedMax / 2;
  const auto is_bounded = [](int64_t second) {
    const ClusterSnapshot snapshot =
        Cluster().Add(Node("a")).Add(Pod("p").Memory(kHalf)).Add(Pod("q").Memory(second)).Build();
    return snapshot.catalog().shape_of(PodNamed(snapshot, "p")).counts_otherwise;
  };
  EXPECT_FALSE(is_bounded(kHalf));
  EXPECT_TRUE(is_bounded(kHalf + 1));
}

TEST(SnapshotBuilderTest, AnUnusualScoreAmountIsKeptWithABoundedCharge) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Pod("p").On("a").With([](objects::Pod& p) {
                                         p.has_pod_resources = true;
                                         p.pod_requests = {{"memory", 5}};
                                         p.has_pod_status_resources = true;
                                         p.pod_status_requests = {{"memory", kUncountable}};
                                       }))
                                       .Build();
  const PodShape& shape = snapshot.catalog().shape_of(PodId{0});
  EXPECT_EQ(shape.charge_requests, (Requests{{kMemory, 8 * kGiB + 1}}));
  EXPECT_EQ(shape.Counted(), (Requests{{kMemory, 5}}));
  EXPECT_EQ(snapshot.catalog().pods_counted_otherwise(), std::vector<PodId>{PodId{0}});
}

TEST(SnapshotBuilderTest, ResourcesThatAreKeptTakeTheNextIdsEverywhere) {
  Node node("a");
  for (int r = 0; r < 300; ++r) node.Resource("example.com/" + std::to_string(r), 1);
  node.Resource("example.org/used", 3).Resource("example.org/held", 5).Resource("amd.com/gpu", 2);
  const Pod holds = Pod("holds").On("a").With([](objects::Pod& p) {
    p.container_statuses = {{.name = "main",
                             .has_resources = true,
                             .requests = {{"example.org/held", 2}},
                             .allocated = {}}};
  });
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(node)
          .Add(Pod("asks").Request("example.net/none", 1).Request("example.org/used", 1))
          .Add(Pod("uses").On("a").Request("example.org/used", 1))
          .Add(holds)
          .Build();
  const Catalog& catalog = snapshot.catalog();
  const ResourceId used{4}, held{5}, gpu{6};
  EXPECT_EQ(catalog.resources(), 7u);
  EXPECT_EQ(catalog.ResourceName(used), "example.org/used");
  EXPECT_EQ(catalog.ResourceName(held), "example.org/held");
  EXPECT_EQ(catalog.ResourceName(gpu), "amd.com/gpu");
  EXPECT_EQ(catalog.FindResource("example.org/used"), used);
  EXPECT_EQ(catalog.FindResource("amd.com/gpu"), gpu);
  EXPECT_EQ(catalog.FindResource("example.com/7"), std::nullopt);
  EXPECT_EQ(catalog.FindResource("example.net/none"), std::nullopt);
  const std::vector<ResourceQuantity> amounts = {{kCpu, 4000}, {kMemory, 8 * kGiB}, {kPods, 110},
                                                 {used, 3},    {held, 5},           {gpu, 2}};
  EXPECT_EQ(catalog.node(NodeId{0}).allocatable, amounts);
  EXPECT_EQ(catalog.node(NodeId{0}).capacity, amounts);
  EXPECT_EQ(snapshot.Free(used, NodeId{0}), 2);
  EXPECT_EQ(snapshot.Free(held, NodeId{0}), 3);
  EXPECT_EQ(snapshot.Free(gpu, NodeId{0}), 2);
  const auto shape = [&](const char* pod) -> const PodShape& {
    return catalog.shape_of(PodNamed(snapshot, pod));
  };
  EXPECT_EQ(shape("uses").fit_requests, (Requests{{used, 1}}));
  EXPECT_EQ(shape("uses").not_understood, "");
  EXPECT_EQ(shape("holds").fit_requests, Requests());
  EXPECT_EQ(shape("holds").charge_requests, (Requests{{held, 2}}));
  EXPECT_EQ(shape("holds").not_understood, "");
  EXPECT_EQ(shape("asks").fit_requests, (Requests{{used, 1}}));
  EXPECT_EQ(shape("asks").not_understood,
            "spec.containers[].resources.requests.example.net/none: no node offers it, or there "
            "are too many resources to follow it");
}

TEST(SnapshotBuilderTest, LabelsTaintsAndFeaturesOfTheSameTextsGiveDifferentShapes) {
  const auto declares = [](std::string_view name, std::vector<objects::Text> features) {
    return Node(name).With([&](objects::Node& n) { n.declared_features = std::move(features); });
  };
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("labels").Label("k1", "v1").Label("k2", "v2").Label("k3", "v3"))
          .Add(Node("taints").Taint("k1", "v1", "k2").Taint("v2", "k3", "v3"))
          .Add(Node("taint").Taint("a", "b", "c"))
          .Add(declares("features", {"a", "b", "c"}))
          .Add(declares("other-order", {"c", "a", "b"}))
          .Build();
  EXPECT_EQ(snapshot.catalog().node_shapes(), 4u);
  EXPECT_EQ(snapshot.catalog().node(NodeId{3}).shape, snapshot.catalog().node(NodeId{4}).shape);
}

TEST(SnapshotBuilderTest, TheCatalogHasTheFieldsOfTheNodeObject) {
  Node object("a");
  object.Unschedulable().Taint("k", "v", "NoExecute").Taint("w", "", "PreferNoSchedule");
  object.raw.meta.uid = "u";
  object.raw.meta.creation_time = 7;
  object.raw.provider_id = "cloud:///a";
  object.raw.allocatable = {{"pods", 9}, {"memory", 5}, {"ephemeral-storage", 0}, {"cpu", 3}};
  object.raw.capacity = {{"memory", kUncountable}, {"cpu", 4}};
  const ClusterSnapshot snapshot = Cluster().Add(Node("first")).Add(object).Build();
  const Catalog& catalog = snapshot.catalog();
  const NodeInfo& node = catalog.node(NodeId{1});
  EXPECT_EQ(catalog.Text(node.uid), "u");
  EXPECT_EQ(catalog.Text(node.provider_id), "cloud:///a");
  EXPECT_EQ(node.creation_time, 7);
  EXPECT_TRUE(node.unschedulable);
  EXPECT_TRUE(node.ready);
  EXPECT_FALSE(node.upcoming);
  EXPECT_EQ(node.to_be_deleted, std::nullopt);
  EXPECT_EQ(node.deletion_candidate, std::nullopt);
  EXPECT_EQ(node.allocatable, (std::vector<ResourceQuantity>{{kCpu, 3}, {kMemory, 5}, {kPods, 9}}));
  EXPECT_EQ(node.capacity, (std::vector<ResourceQuantity>{{kCpu, 4}}));
  const auto id = [&](std::string_view text) { return catalog.symbols().Find(text).value(); };
  const std::vector<Taint> taints = {
      {id("k"), id("v"), id("NoExecute"), TaintEffect::kNoExecute},
      {id("w"), kNoText, id("PreferNoSchedule"), TaintEffect::kOther}};
  EXPECT_EQ(node.taints, taints);
  EXPECT_FALSE(catalog.node(NodeId{0}).unschedulable);
}

TEST(SnapshotBuilderTest, TheLastAddedControllerOrNamespaceOfANameCounts) {
  SnapshotBuilder builder;
  test::Controller job(objects::ControllerKind::kJob, "x");
  ASSERT_TRUE(builder.AddController(job.raw).ok());
  job.raw.meta.uid = "u";
  job.raw.spec_replicas = 3;
  job.raw.completions = 7;
  job.raw.status_replicas = 2;
  job.raw.succeeded = 5;
  ASSERT_TRUE(builder.AddController(job.raw).ok());
  ASSERT_TRUE(
      builder.AddController(test::Controller(objects::ControllerKind::kReplicaSet, "x").raw).ok());
  objects::Namespace shop;
  shop.meta.name = "shop";
  shop.meta.labels = {{"team", "old"}, {"tier", "1"}};
  ASSERT_TRUE(builder.AddNamespace(shop).ok());
  shop.meta.labels = {{"team", "new"}};
  ASSERT_TRUE(builder.AddNamespace(shop).ok());
  const ClusterSnapshot snapshot = std::move(builder).Build().value();
  const Catalog& catalog = snapshot.catalog();
  const auto id = [&](std::string_view text) { return catalog.symbols().Find(text).value(); };
  const auto find = [&](objects::ControllerKind kind) {
    return catalog.FindController(kind, id("default"), id("x"));
  };
  const ControllerStatus* found = find(objects::ControllerKind::kJob);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->uid, id("u"));
  EXPECT_EQ(found->spec_replicas, 3);
  EXPECT_EQ(found->completions, 7);
  EXPECT_EQ(found->status_replicas, 2);
  EXPECT_EQ(found->succeeded, 5);
  const ControllerStatus* other = find(objects::ControllerKind::kReplicaSet);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->spec_replicas, std::nullopt);
  EXPECT_EQ(other->completions, std::nullopt);
  EXPECT_EQ(other->status_replicas, 0);
  EXPECT_EQ(find(objects::ControllerKind::kDaemonSet), nullptr);
  ASSERT_NE(catalog.FindNamespaceLabels(id("shop")), nullptr);
  EXPECT_EQ(*catalog.FindNamespaceLabels(id("shop")), (LabelSet{{id("team"), id("new")}}));
  EXPECT_EQ(catalog.FindNamespaceLabels(id("default")), nullptr);
}

TEST(SnapshotBuilderTest, ErrorsHaveTheirFullText) {
  SnapshotBuilder builder;
  ASSERT_TRUE(builder.AddNode(Node("a").raw).ok());
  ASSERT_TRUE(builder.AddNode(Node("b").raw).ok());
  ASSERT_TRUE(builder.AddPod(Pod("p").raw).ok());
  EXPECT_EQ(builder.AddNode(Node("a").raw).message(), "Node a: occurs twice");
  EXPECT_EQ(builder.AddPod(Pod("p").raw).message(), "Pod default/p: occurs twice");
  EXPECT_EQ(builder.OrderNodes({"a"}).message(), "1 names for 2 nodes");
  EXPECT_EQ(builder.OrderNodes({"b", "b"}).message(), "node \"b\" is named twice");
  EXPECT_EQ(builder.OrderNodes({"b", "x"}).message(), "no node \"x\"");
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto budget = [&](int64_t allows) {
    const Budget of = Budget("b").MatchingEverything().Allows(allows);
    const absl::Status status = builder.AddPodDisruptionBudget(of.raw);
    return std::string(status.message());
  };
  const std::string name = "PodDisruptionBudget default/b: ";
  EXPECT_EQ(budget(-1), name + "status.disruptionsAllowed: -1 is out of range");
  EXPECT_EQ(budget(kMost + 1), name + "status.disruptionsAllowed: 2147483648 is out of range");
  Budget bad = Budget("b").MatchingEverything();
  bad.raw.selector.match_expressions = {{"k", "Near", {}}};
  EXPECT_EQ(builder.AddPodDisruptionBudget(bad.raw).message(),
            name + "spec.selector: \"Near\" is not a valid label selector operator (key \"k\")");
  EXPECT_EQ(budget(kMost), "");
  EXPECT_EQ(budget(0), name + "occurs twice");
  const ClusterSnapshot snapshot = std::move(builder).Build().value();
  EXPECT_EQ(snapshot.catalog().NodeName(snapshot.NodeAt(0)), "a") << "no order was taken";
  ASSERT_EQ(snapshot.catalog().pdbs().size(), 1u);
  EXPECT_EQ(snapshot.catalog().pdbs()[0].disruptions_allowed, kMost);
  EXPECT_EQ(builder.AddNode(Node("c").raw).message(),
            "the builder has built its snapshot, and takes no more");
}

TEST(SnapshotBuilderTest, IfThereAreTooManyBudgetsTheLastAreLeftOut) {
  Cluster cluster = PodsAndBudgets(1100);
  cluster.Add(Pod("odd").On("a").With([](objects::Pod& p) { p.not_understood = "spec.odd"; }));
  const ClusterSnapshot snapshot = cluster.Build();
  const Catalog& catalog = snapshot.catalog();
  // Each budget but one may select 1,101 kinds of pods; 952 * 1,101 + 1 matches are within limits.
  EXPECT_FALSE(catalog.pdbs()[951].selector.nothing);
  EXPECT_TRUE(catalog.pdbs()[952].selector.nothing);
  EXPECT_TRUE(catalog.pdbs()[1099].selector.nothing);
  EXPECT_FALSE(catalog.pdbs()[1100].selector.nothing) << "of another namespace";
  const PodShape& shape = catalog.shape_of(PodNamed(snapshot, "p1099"));
  EXPECT_EQ(shape.budgets.size(), 952u);
  EXPECT_EQ(shape.not_understood,
            "metadata.labels: PodDisruptionBudgets select more kinds of pods, one by one, than are "
            "followed, and one of the broadest may select this one");
  EXPECT_EQ(catalog.shape_of(PodNamed(snapshot, "odd")).not_understood, "spec.odd");
}

TEST(SnapshotBuilderTest, APodWithDevicesNamesItsClaimsOrElseItsFirstResource) {
  objects::DeviceClass gpus;
  gpus.meta.name = "gpus";
  gpus.extended_resource_name = "example.com/b";
  objects::DeviceClass nics;
  nics.meta.name = "nics";
  nics.extended_resource_name = "example.com/a";
  const auto claims = [](std::string_view name) {
    return Pod(name).Request("example.com/a", 1).With([](objects::Pod& p) {
      p.resource_claims = {{.name = "gpu", .claim_name = "mine", .template_name = ""},
                           {.name = "", .claim_name = "extended", .template_name = ""}};
    });
  };
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(gpus)
          .Add(nics)
          .Add(Node("a"))
          .Add(Pod("two").Request("example.com/b", 1).Request("example.com/a", 1))
          .Add(claims("claims"))
          .Add(claims("odd").On("a").With([](objects::Pod& p) { p.not_understood = "spec.odd"; }))
          .Build();
  const auto why = [&](const char* pod) {
    return snapshot.catalog().shape_of(PodNamed(snapshot, pod)).not_understood;
  };
  EXPECT_EQ(why("two"),
            "spec.containers[].resources.requests.example.com/b: is allocated through DeviceClass "
            "gpus; extended resources that are allocated from devices are not evaluated");
  EXPECT_EQ(why("claims"),
            "spec.resourceClaims[gpu]: ResourceClaim default/mine is not in the input; "
            "status.extendedResourceClaimStatus: ResourceClaim default/extended is not in the "
            "input; extended resources that are allocated from devices are not evaluated");
  EXPECT_EQ(why("odd"), "spec.odd");
}

// A cluster of which only the namespace "default" is known.
ClusterSnapshot KeepingWhereUnknown(const std::vector<Pod>& pods) {
  SnapshotBuilder builder;
  builder.KeepWhereNamespacesAreUnknown();
  EXPECT_TRUE(builder.AddNode(Node("a").Label("zone", "x").raw).ok());
  objects::Namespace known;
  known.meta.name = "default";
  known.meta.labels = {{"team", "t"}};
  EXPECT_TRUE(builder.AddNamespace(known).ok());
  for (const Pod& pod : pods) EXPECT_TRUE(builder.AddPod(pod.raw).ok());
  return std::move(builder).Build().value();
}

Pod NearTeam(std::string_view name, objects::LabelSelector namespaces) {
  return Pod(name).Near("zone", test::Select("app", "web")).With([&](objects::Pod& p) {
    p.affinity[0].namespace_selector = std::move(namespaces);
  });
}

Pod AwayFromTeam(std::string_view name, objects::LabelSelector pods) {
  return Pod(name).Away("zone", std::move(pods)).With([](objects::Pod& p) {
    p.anti_affinity[0].namespace_selector = test::Select("team", "t");
  });
}

TEST(SnapshotBuilderTest, TheFirstUnknownNamespaceByNameIsReported) {
  const ClusterSnapshot snapshot = KeepingWhereUnknown(
      {Pod("w").In("zoo").Label("app", "web"), Pod("w").In("bar").Label("app", "web"),
       Pod("w").In("all").Label("app", "db"), NearTeam("asks", test::Select("team", "t")),
       NearTeam("odd", test::Select("team", "t")).On("a").With([](objects::Pod& p) {
         p.not_understood = "spec.odd";
       }),
       NearTeam("any", test::SelectEverything())});
  const Catalog& catalog = snapshot.catalog();
  const auto why = [&](const char* pod, const char* namespace_name = "default") {
    return catalog.shape_of(PodNamed(snapshot, pod, namespace_name)).not_understood;
  };
  EXPECT_EQ(why("asks"),
            "spec.affinity.podAffinity: a namespaceSelector asks for the labels of namespace bar, "
            "which is not in the input");
  EXPECT_EQ(why("odd"), "spec.odd");
  EXPECT_EQ(why("any"), "") << "it asks for no label";
  for (const char* namespace_name : {"zoo", "bar", "all"}) {
    EXPECT_EQ(why("w", namespace_name), "") << "no pod is repelled";
  }
  const auto id = [&](std::string_view text) { return catalog.symbols().Find(text).value(); };
  ASSERT_NE(catalog.FindNamespaceLabels(id("bar")), nullptr);
  EXPECT_EQ(*catalog.FindNamespaceLabels(id("bar")),
            (LabelSet{{id("kubernetes.io/metadata.name"), id("bar")}}));
  EXPECT_EQ(*catalog.FindNamespaceLabels(id("default")), (LabelSet{{id("team"), id("t")}}));
}

TEST(SnapshotBuilderTest, APodThatOneTermDoesNotRepelMayBeRepelledByTheNext) {
  const objects::LabelSelector not_db{
      .nil = false, .match_labels = {}, .match_expressions = {{"app", "NotIn", {"db"}}}};
  const std::string of_shop =
      "spec.affinity.podAntiAffinity: a namespaceSelector asks for the labels of namespace shop, "
      "which is not in the input";
  std::vector<Pod> pods = {Pod("db").In("shop").Label("app", "db"),
                           Pod("web").In("shop").Label("app", "web"), AwayFromTeam("one", not_db)};
  const auto why = [&](const char* pod, const char* namespace_name) {
    const ClusterSnapshot snapshot = KeepingWhereUnknown(pods);
    return snapshot.catalog().shape_of(PodNamed(snapshot, pod, namespace_name)).not_understood;
  };
  EXPECT_EQ(why("one", "default"), of_shop);
  EXPECT_EQ(why("web", "shop"), of_shop);
  EXPECT_EQ(why("db", "shop"), "");
  pods.push_back(AwayFromTeam("two", test::SelectEverything()));
  EXPECT_EQ(why("two", "default"), of_shop);
  EXPECT_EQ(why("web", "shop"), of_shop);
  EXPECT_EQ(why("db", "shop"), of_shop);
}

}  // namespace
}  // namespace ebb::builder_test
