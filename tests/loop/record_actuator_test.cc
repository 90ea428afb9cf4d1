#include "loop/record_actuator.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "tests/loop/still_cluster.h"

namespace ebb::record_actuator_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::NoWaiting;
using test::Pod;
using test::PodNamed;
using test::StillCluster;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int64_t kStart = 1'000'000;

class RecordActuatorTest : public testing::Test {
 protected:
  std::vector<std::string> lines_;
  RecordActuator actuator_{[this](int64_t now_s, std::string_view line) {
    lines_.push_back(fmt::format("{} {}", now_s, line));
  }};
  ScaleDown scale_down_{NoWaiting()};
};

TEST_F(RecordActuatorTest, RecordsEveryStepAndEndsAtOnce) {
  const DeletionOrder order{.node = "b",
                            .uid = "u",
                            .group = "g",
                            .drain = true,
                            .moves = {{"default", "q", "q-uid", "a"}}};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, 7).ok());
  EXPECT_THAT(lines_,
              ElementsAre("7 taint b", "7 evict default/q from b, which lands on a", "7 delete b"));
  const ActuatorStatus status = actuator_.Status(7).value();
  EXPECT_THAT(status.running, IsEmpty());
  ASSERT_EQ(status.results.size(), 1);
  EXPECT_TRUE(status.results[0].ok);
  actuator_.Acknowledge(1);
  EXPECT_THAT(actuator_.Status(8)->results, IsEmpty());
}

TEST_F(RecordActuatorTest, GrowthIsRecordedOnceAndCountsForTheGroupsTarget) {
  StillCluster cluster(Cluster().Add(Node("a")).Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  EXPECT_TRUE(actuator_.Grow("group", 3, 7).ok());
  EXPECT_TRUE(actuator_.Grow("group", 3, 8).ok());
  EXPECT_TRUE(actuator_.Grow("group", 2, 8).ok());
  EXPECT_THAT(lines_, ElementsAre("7 grow group to 3"));
  EXPECT_EQ(source.Observe(kStart)->groups.groups[0].target_size, 3);
}

TEST_F(RecordActuatorTest, RoundsContinueAsIfTheRecordedStepsWereCarriedOut) {
  // Two of three nodes can go, and the budget lets one with pods go at a time.
  StillCluster cluster(Cluster()
                           .Add(Node("a"))
                           .Add(Node("b"))
                           .Add(Node("c"))
                           .Add(Pod("p").On("a").Cpu(1000).Uid("p-uid"))
                           .Add(Pod("q").On("b").Cpu(1000).Uid("q-uid"))
                           .Add(Pod("r").On("c").Cpu(1000).Uid("r-uid"))
                           .Build());
  ScaleDown scale_down(NoWaiting());
  DeductingSource source(cluster, actuator_, scale_down);
  OwnRounds rounds(scale_down, source);
  Loop loop(rounds, actuator_, {});
  for (int turn = 0; turn < 8; ++turn) loop.Turn(kStart + 10 * turn);
  EXPECT_EQ(actuator_.done().size(), 2);
  const Observation observed = source.Observe(kStart + 80).value();
  EXPECT_EQ(observed.snapshot->nodes(), 1);
  EXPECT_EQ(observed.snapshot->placed_pods(), 3);
  EXPECT_THAT(observed.pending, IsEmpty());
  EXPECT_EQ(observed.groups.groups[0].target_size, 1);
  EXPECT_TRUE(observed.snapshot->CheckInvariants().ok());
  EXPECT_EQ(cluster.snapshot.nodes(), 3);  // Nothing happened to it.
}

TEST_F(RecordActuatorTest, APodThatThePlanDidNotKnowIsPending) {
  StillCluster cluster(Cluster()
                           .Add(Node("a"))
                           .Add(Node("b"))
                           .Add(Pod("q").On("b").Cpu(500).Uid("q-uid"))
                           .Add(Pod("later").On("b").Cpu(500).Uid("later-uid"))
                           .Add(Pod("daemon").On("b").DaemonSet())
                           .Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  const DeletionOrder order{
      .node = "b", .group = "group", .drain = true, .moves = {{"default", "q", "q-uid", "a"}}};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  const Observation observed = source.Observe(kStart).value();
  EXPECT_EQ(observed.snapshot->NodeOf(PodNamed(*observed.snapshot, "q")),
            NodeNamed(*observed.snapshot, "a"));
  EXPECT_THAT(observed.pending, ElementsAre(PodNamed(*observed.snapshot, "later")));
}

TEST_F(RecordActuatorTest, APodIsPendingWhereItsPlannedPlaceIsTaken) {
  StillCluster cluster(Cluster()
                           .Add(Node("a"))
                           .Add(Node("b"))
                           .Add(Pod("came").On("a").Cpu(4000))
                           .Add(Pod("q").On("b").Cpu(500).Uid("q-uid"))
                           .Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  const DeletionOrder order{
      .node = "b", .group = "group", .drain = true, .moves = {{"default", "q", "q-uid", "a"}}};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  EXPECT_EQ(source.Observe(kStart)->pending.size(), 1);
}

TEST_F(RecordActuatorTest, ASoftTaintIsRecordedWhenItChanges) {
  for (const bool taint : {true, true, false, false, true}) {
    ASSERT_TRUE(actuator_.SoftTaint("a", taint, 7).ok());
  }
  // The cluster's own, which a process before this one put there.
  ASSERT_TRUE(actuator_.SoftTaint("b", false, 8).ok());
  EXPECT_THAT(lines_, ElementsAre("7 soft taint a", "7 soft untaint a", "7 soft taint a",
                                  "8 soft untaint b"));
}

TEST_F(RecordActuatorTest, AnotherMachineOfTheNameIsThereAgain) {
  StillCluster cluster(Cluster().Add(Node("a")).Add(Node("b")).Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  const DeletionOrder order{.node = "b", .uid = "of the machine before", .group = "group"};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  EXPECT_EQ(source.Observe(kStart)->snapshot->nodes(), 2);
  EXPECT_THAT(actuator_.done(), IsEmpty());
}

// A cluster that hands over its objects.
class ShowingCluster : public ClusterSource {
 public:
  std::vector<Node> nodes;
  std::vector<Pod> pods;

  absl::StatusOr<Observation> Observe(int64_t) override {
    Cluster cluster;
    for (const Node& node : nodes) cluster.Add(node);
    for (const Pod& pod : pods) cluster.Add(pod);
    snapshot_.emplace(cluster.Build());
    Observation observed;
    observed.snapshot = &*snapshot_;
    observed.groups = test::OneGroup(*snapshot_);
    observed.objects = [this](ObjectSink& sink) {
      absl::Status status;
      for (const Node& node : nodes) status.Update(sink.OnNode(node.raw));
      for (const Pod& pod : pods) status.Update(sink.OnPod(pod.raw));
      status.Update(sink.OnController({}));
      status.Update(sink.OnPodDisruptionBudget({}));
      status.Update(sink.OnNamespace({}));
      status.Update(sink.OnStorageObject({}));
      return status;
    };
    return observed;
  }

 private:
  std::optional<ClusterSnapshot> snapshot_;
};

// "a p>a" and so on.
struct Listing : ObjectSink {
  std::vector<std::string> lines;
  int others = 0;

  absl::Status OnNode(const objects::Node& node) override {
    lines.emplace_back(node.meta.name);
    return absl::OkStatus();
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    lines.push_back(std::string(pod.meta.name) + ">" + std::string(pod.node_name));
    return absl::OkStatus();
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return ++others, absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller&) override {
    return ++others, absl::OkStatus();
  }
  absl::Status OnNamespace(const objects::Namespace&) override {
    return ++others, absl::OkStatus();
  }
  absl::Status OnStorageObject(const objects::StorageObject&) override {
    return ++others, absl::OkStatus();
  }
};

TEST_F(RecordActuatorTest, ObjectsAreShownAsIfTheRecordedStepsWereCarriedOut) {
  ShowingCluster cluster;
  cluster.nodes = {Node("a"), Node("b"), Node("c")};
  cluster.pods = {Pod("stays").On("a"),
                  Pod("waits"),
                  Pod("q").On("b").Uid("q-uid"),
                  Pod("r").On("b").Uid("r-uid"),
                  Pod("later").On("b").Uid("later-uid"),
                  Pod("daemon").On("b").DaemonSet(),
                  Pod("mirror").On("b").Mirror(),
                  Pod("ended").On("b").Phase("Failed")};
  DeductingSource source(cluster, actuator_, scale_down_);
  const auto shown = [&] {
    Listing listing;
    EXPECT_TRUE(source.Observe(kStart)->objects(listing).ok());
    EXPECT_EQ(listing.others, 4);
    return listing.lines;
  };
  EXPECT_THAT(shown(), ElementsAre("a", "b", "c", "stays>a", "waits>", "q>b", "r>b", "later>b",
                                   "daemon>b", "mirror>b", "ended>b"));
  const std::vector<DeletionOrder> orders = {
      {.node = "b",
       .group = "group",
       .drain = true,
       .moves = {{"default", "q", "q-uid", "a"}, {"default", "r", "r-uid", "c"}}},
      {.node = "c", .group = "group"}};
  ASSERT_TRUE(actuator_.Begin(orders, kStart).ok());
  EXPECT_THAT(shown(), ElementsAre("a", "stays>a", "waits>", "q>a", "r>", "later>"));
}

TEST_F(RecordActuatorTest, TaintsOfPoliciesAreRecordedOnceAndShownOnTheirNodes) {
  ShowingCluster cluster;
  cluster.nodes = {Node("a").Taint("k", "1"), Node("b"), Node("c").Taint("k", "2")};
  struct Taints : Listing {
    absl::Status OnNode(const objects::Node& node) override {
      for (const objects::Taint& taint : node.taints) {
        lines.push_back(std::string(node.meta.name) + " " + std::string(taint.key) + "=" +
                        std::string(taint.value));
      }
      return absl::OkStatus();
    }
  };
  const NodeTaint taint{.key = "k", .value = "7", .effect = "NoSchedule"};
  for (const int64_t now_s : {7, 8}) {
    EXPECT_TRUE(actuator_.Taint("a", taint, false, now_s).ok());
    EXPECT_TRUE(actuator_.Taint("b", taint, true, now_s).ok());
    EXPECT_TRUE(actuator_.Taint("c", taint, true, now_s).ok());  // Keeps what it has.
  }
  EXPECT_THAT(lines_,
              ElementsAre("7 untaint a k", "7 taint b k=7:NoSchedule", "7 taint c k=7:NoSchedule"));
  DeductingSource source(cluster, actuator_, scale_down_);
  Taints shown;
  ASSERT_TRUE(source.Observe(kStart)->objects(shown).ok());
  EXPECT_THAT(shown.lines, ElementsAre("b k=7", "c k=2"));
}

TEST_F(RecordActuatorTest, ObjectsAreWhereTheSnapshotHasThem) {
  ShowingCluster cluster;
  cluster.nodes = {Node("a").Cpu(1000), Node("b")};
  cluster.pods = {Pod("stays").On("a").Cpu(800), Pod("q").On("b").Uid("q-uid").Cpu(800),
                  Pod("p").On("b").Uid("p-uid").Cpu(100)};
  DeductingSource source(cluster, actuator_, scale_down_);
  const DeletionOrder order{
      .node = "b",
      .group = "group",
      .drain = true,
      .moves = {{"default", "q", "q-uid", "a"}, {"default", "p", "p-uid", "a"}}};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  Listing listing;
  const Observation observed = source.Observe(kStart).value();
  EXPECT_TRUE(observed.objects(listing).ok());
  EXPECT_THAT(listing.lines, ElementsAre("a", "stays>a", "q>", "p>a"));  // No room for q any more.
  EXPECT_EQ(observed.pending.size(), 1);
}

TEST_F(RecordActuatorTest, AnEndedDeletionAcceptsNoFurtherCall) {
  const DeletionOrder order{.node = "b", .group = "group"};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  for (const absl::Status& status : {actuator_.Drain("b", kStart), actuator_.Delete("b", kStart),
                                     actuator_.RollBack("b", "", kStart)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("node b"));
  }
}

TEST_F(RecordActuatorTest, ResultsNameTheirNodeGroupAndTimeAndAreTakenInFromTheFirst) {
  const std::vector<DeletionOrder> orders = {{.node = "a", .group = "g"},
                                             {.node = "b", .group = "h"}};
  ASSERT_TRUE(actuator_.Begin(orders, 7).ok());
  actuator_.Acknowledge(1);
  const std::vector<DeletionResult> results = actuator_.Status(8)->results;
  ASSERT_EQ(results.size(), 1);
  EXPECT_EQ(results[0].node, "b");
  EXPECT_EQ(results[0].group, "h");
  EXPECT_EQ(results[0].at_s, 7);
  actuator_.Acknowledge(9);
  EXPECT_THAT(actuator_.Status(9)->results, IsEmpty());
}

TEST_F(RecordActuatorTest, AllAreTaintedBeforeAnyIsDeletedAndTheSameNodeIsGoneOnce) {
  const std::vector<DeletionOrder> orders = {{.node = "a", .group = "g"},
                                             {.node = "b", .group = "g"}};
  ASSERT_TRUE(actuator_.Begin(orders, 7).ok());
  EXPECT_THAT(lines_, ElementsAre("7 taint a", "7 taint b", "7 delete a", "7 delete b"));
  ASSERT_TRUE(actuator_.Begin({orders.data(), 1}, 8).ok());
  ASSERT_EQ(actuator_.done().size(), 2);
  EXPECT_EQ(actuator_.done()[0].node, "b");
  EXPECT_EQ(actuator_.done()[1].node, "a");
}

// A cluster with groups of its own.
class GroupedCluster : public StillCluster {
 public:
  explicit GroupedCluster(ClusterSnapshot at)
      : StillCluster(std::move(at)), groups(test::OneGroup(snapshot)) {}

  NodeGroups groups;

  absl::StatusOr<Observation> Observe(int64_t now_s) override {
    absl::StatusOr<Observation> observed = StillCluster::Observe(now_s);
    if (observed.ok()) observed->groups = groups;
    return observed;
  }
};

TEST_F(RecordActuatorTest, GrowthCountsForItsGroupOnlyAndNeverShrinksIt) {
  GroupedCluster cluster(Cluster().Add(Node("a")).Add(Node("b")).Build());
  cluster.groups.groups.resize(3);
  cluster.groups.groups[1].name = "second";
  cluster.groups.groups[2].name = "third";
  cluster.groups.groups[2].target_size = 9;
  DeductingSource source(cluster, actuator_, scale_down_);
  EXPECT_TRUE(actuator_.Grow("second", 0, 5).ok());
  EXPECT_TRUE(actuator_.Grow("second", 4, 6).ok());
  EXPECT_TRUE(actuator_.Grow("second", 5, 7).ok());
  EXPECT_TRUE(actuator_.Grow("third", 8, 8).ok());
  EXPECT_THAT(lines_, ElementsAre("6 grow second to 4", "7 grow second to 5", "8 grow third to 8"));
  const NodeGroups groups = source.Observe(kStart)->groups;
  EXPECT_EQ(groups.groups[0].target_size, 2);
  EXPECT_EQ(groups.groups[1].target_size, 5);
  EXPECT_EQ(groups.groups[2].target_size, 9);
}

TEST_F(RecordActuatorTest, ANodeWithoutAGroupGoesAndNoTargetIsBelowZero) {
  GroupedCluster cluster(Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Build());
  cluster.groups.group_of[Index(NodeNamed(cluster.snapshot, "b"))] = kNoGroup;
  cluster.groups.groups[0].target_size = 0;
  DeductingSource source(cluster, actuator_, scale_down_);
  const std::vector<DeletionOrder> orders = {{.node = "b", .group = ""},
                                             {.node = "c", .group = "group"}};
  ASSERT_TRUE(actuator_.Begin({orders.data(), 1}, kStart).ok());
  cluster.groups.groups[0].target_size = 2;
  Observation observed = source.Observe(kStart).value();
  EXPECT_EQ(observed.snapshot->nodes(), 2);
  EXPECT_EQ(observed.groups.groups[0].target_size, 2);
  ASSERT_TRUE(actuator_.Begin({orders.data() + 1, 1}, kStart).ok());
  cluster.groups.groups[0].target_size = 0;
  observed = source.Observe(kStart).value();
  EXPECT_EQ(observed.snapshot->nodes(), 1);
  EXPECT_EQ(observed.groups.groups[0].target_size, 0);
}

TEST_F(RecordActuatorTest, APodIsPendingIfItsPlannedNodeDoesNotExistOrFit) {
  StillCluster cluster(Cluster()
                           .Add(Node("a"))
                           .Add(Node("b"))
                           .Add(Node("c"))
                           .Add(Pod("fits").On("b").Uid("fits-uid"))
                           .Add(Pod("to-gone").On("b").Uid("to-gone-uid"))
                           .Add(Pod("to-nowhere").On("b").Uid("to-nowhere-uid"))
                           .Add(Pod("to-itself").On("b").Uid("to-itself-uid"))
                           .Add(Pod("choosy").On("b").Uid("choosy-uid").NodeSelector("disk", "ssd"))
                           .Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  const std::vector<DeletionOrder> orders = {
      {.node = "c", .group = "group"},
      {.node = "b",
       .group = "group",
       .drain = true,
       .moves = {{"default", "fits", "fits-uid", "a"},
                 {"default", "to-gone", "to-gone-uid", "c"},
                 {"default", "to-nowhere", "to-nowhere-uid", "no such node"},
                 {"default", "to-itself", "to-itself-uid", "b"},
                 {"default", "choosy", "choosy-uid", "a"}}}};
  ASSERT_TRUE(actuator_.Begin(orders, kStart).ok());
  const Observation observed = source.Observe(kStart).value();
  const ClusterSnapshot& snapshot = *observed.snapshot;
  EXPECT_THAT(observed.pending,
              UnorderedElementsAre(PodNamed(snapshot, "to-gone"), PodNamed(snapshot, "to-nowhere"),
                                   PodNamed(snapshot, "to-itself"), PodNamed(snapshot, "choosy")));
  EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "fits")), NodeNamed(snapshot, "a"));
  EXPECT_EQ(snapshot.nodes(), 1);
  EXPECT_EQ(observed.groups.groups[0].target_size, 1);
  EXPECT_TRUE(observed.objects == nullptr);  // The cluster has none to show.
}

TEST_F(RecordActuatorTest, ANodeThatLeftTheClusterIsForgotten) {
  StillCluster cluster(Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  const std::vector<DeletionOrder> orders = {{.node = "a", .group = "group"},
                                             {.node = "b", .group = "group"}};
  ASSERT_TRUE(actuator_.Begin(orders, kStart).ok());
  EXPECT_EQ(source.Observe(kStart)->snapshot->nodes(), 1);
  cluster.snapshot = Cluster().Add(Node("b")).Add(Node("c")).Build();
  EXPECT_EQ(source.Observe(kStart)->snapshot->nodes(), 1);
  ASSERT_EQ(actuator_.done().size(), 1);
  EXPECT_EQ(actuator_.done()[0].node, "b");
  cluster.answer = absl::UnavailableError("the API is away");
  EXPECT_EQ(source.Observe(kStart).status().message(), "the API is away");
}

TEST_F(RecordActuatorTest, APodThatADaemonSetOwnsWithoutControllingItIsShown) {
  ShowingCluster cluster;
  cluster.nodes = {Node("a"), Node("b")};
  cluster.pods = {Pod("own").On("b").DaemonSet(),
                  Pod("lent").On("b").DaemonSet().With(
                      [](auto& pod) { pod.meta.owners[0].controller = false; })};
  DeductingSource source(cluster, actuator_, scale_down_);
  const DeletionOrder order{.node = "b", .group = "group"};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  Listing listing;
  EXPECT_TRUE(source.Observe(kStart)->objects(listing).ok());
  EXPECT_THAT(listing.lines, ElementsAre("a", "lent>"));
}

TEST_F(RecordActuatorTest, ADeletionHoldsForTheMachineOfItsUidAlone) {
  StillCluster cluster(Cluster()
                           .Add(Node("a"))
                           .Add(Node("b").With([](auto& node) { node.meta.uid = "m"; }))
                           .Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  for (const char* const uid : {"a", "z", "m"}) {
    const DeletionOrder order{.node = "b", .uid = uid, .group = "group"};
    ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
    const bool is_it = order.uid == "m";
    EXPECT_EQ(source.Observe(kStart)->snapshot->nodes(), is_it ? 1 : 2) << uid;
    EXPECT_EQ(actuator_.done().size(), is_it ? 1 : 0) << uid;
  }
}

TEST_F(RecordActuatorTest, ANodeThatOnlyTheCatalogKnowsIsForgotten) {
  StillCluster cluster(Cluster().Add(Node("a")).Add(Node("b")).Add(Node("c")).Build());
  DeductingSource source(cluster, actuator_, scale_down_);
  const std::vector<DeletionOrder> orders = {{.node = "b", .group = "group"},
                                             {.node = "c", .group = "group"}};
  ASSERT_TRUE(actuator_.Begin(orders, kStart).ok());
  cluster.snapshot.RemoveNode(NodeNamed(cluster.snapshot, "b"));
  const Observation observed = source.Observe(kStart).value();
  EXPECT_EQ(observed.snapshot->nodes(), 1);
  EXPECT_EQ(observed.groups.groups[0].target_size, 2);
  ASSERT_EQ(actuator_.done().size(), 1);
  EXPECT_EQ(actuator_.done()[0].node, "c");
}

TEST_F(RecordActuatorTest, APodThatEndsMeanwhileIsShownNoMore) {
  ShowingCluster cluster;
  cluster.nodes = {Node("a"), Node("b")};
  cluster.pods = {Pod("q").On("b").Uid("q-uid"), Pod("r").On("b").Uid("r-uid")};
  DeductingSource source(cluster, actuator_, scale_down_);
  const DeletionOrder order{
      .node = "b",
      .group = "group",
      .drain = true,
      .moves = {{"default", "q", "q-uid", "a"}, {"default", "r", "r-uid", "a"}}};
  ASSERT_TRUE(actuator_.Begin({&order, 1}, kStart).ok());
  const auto shown = [&] {
    Listing listing;
    EXPECT_TRUE(source.Observe(kStart)->objects(listing).ok());
    return listing.lines;
  };
  EXPECT_THAT(shown(), ElementsAre("a", "q>a", "r>a"));
  cluster.pods[0].DeletedAt(kStart);
  EXPECT_THAT(shown(), ElementsAre("a", "r>a"));
}

// Symptom: one of six nodes was deleted where a loop deletes five, for what the budget had kept was
// passed over as if the evicted pod never ran again.
TEST_F(RecordActuatorTest, ABudgetAllowsTheNextNodeWhenTheEvictedPodRunsAgain) {
  Cluster made;
  for (const std::string name : {"n1", "n2", "n3", "n4", "n5", "n6"}) {
    made.Add(Node(name).Cpu(4000));
    made.Add(Pod("web-" + name).On(name).Cpu(300).Label("app", "web").Uid("uid-" + name));
  }
  made.Add(test::Budget("web").Matching("app", "web").Allows(1));
  StillCluster cluster(made.Build());
  ScaleDown scale_down(NoWaiting());
  DeductingSource source(cluster, actuator_, scale_down);
  std::vector<size_t> begun;
  LoopOptions options;
  options.on_turn = [&](const LoopTurn& turn) { begun.push_back(turn.begun); };
  OwnRounds rounds(scale_down, source);
  Loop loop(rounds, actuator_, options);
  for (int turn = 0; turn < 12; ++turn) loop.Turn(kStart + 10 * turn);
  // A turn finds a node unneeded, and the next one deletes it; one node stays.
  EXPECT_THAT(begun, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0));
  EXPECT_EQ(source.Observe(kStart + 120)->snapshot->placed_pods(), 6);
}

// Nodes that nothing but a budget could let go are passed over as in any loop.
TEST_F(RecordActuatorTest, UnremovableNodesAreNotRetriedUntilTheTimeout) {
  StillCluster cluster(Cluster()
                           .Add(Node("a").Cpu(4000))
                           .Add(Node("b").Cpu(4000))
                           .Add(Node("c").Cpu(4000))
                           .Add(Pod("p").On("a").Cpu(100).Uid("p"))
                           .Add(Pod("alone").On("b").Cpu(100).Uid("alone").WithoutOwner())
                           .Add(Pod("large").On("c").Cpu(2500).Uid("large"))
                           .Build());
  ScaleDown scale_down(NoWaiting());
  DeductingSource source(cluster, actuator_, scale_down);
  OwnRounds rounds(scale_down, source);
  Loop loop(rounds, actuator_, {});
  for (int turn = 0; turn < 3; ++turn) loop.Turn(kStart + 10 * turn);
  ASSERT_EQ(actuator_.done().size(), 1);
  const PlannerMemory memory = scale_down.Save().planner;
  ASSERT_EQ(memory.unremovable.size(), 1);
  EXPECT_EQ(memory.unremovable[0].node, "b");
  EXPECT_EQ(memory.unremovable[0].until_s, kStart + 300);
}

}  // namespace
}  // namespace ebb::record_actuator_test
