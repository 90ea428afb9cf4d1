#include "simulation/simulated_objects.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::simulated_objects_test {
namespace {

using test::Budget;
using test::Node;
using test::Pod;
using testing::ElementsAre;
using State = SimulatedPod::State;

class SimulatedObjectsTest : public testing::Test {
 protected:
  void Add(const Node& node) { status_.Update(objects_.OnNode(node.raw)); }
  void Add(const Pod& pod) { status_.Update(objects_.OnPod(pod.raw)); }
  void Add(const Budget& budget) { status_.Update(objects_.OnPodDisruptionBudget(budget.raw)); }
  void Settle() {
    ASSERT_TRUE(status_.ok()) << status_;
    objects_.Settle();
  }
  std::set<size_t> DaemonSets() {
    std::set<size_t> numbers;
    for (size_t w = 0; w < objects_.workloads().size(); ++w) {
      if (objects_.workloads()[w].IsDaemonSet()) numbers.insert(w);
    }
    return numbers;
  }
  // What CheckSound() says.
  std::string Unsound() { return std::string(objects_.CheckSound().message()); }

  SimulatedObjects objects_;
  absl::Status status_;
};

TEST_F(SimulatedObjectsTest, ABarePodThatIsRemovedIsWantedByItsBudgetNoMore) {
  Add(Node("a"));
  Add(Budget("web").Matching("app", "web").Allows(1));
  for (const char* const name : {"p", "q", "r"}) {
    Add(Pod(name).On("a").Label("app", "web").WithoutOwner());
  }
  Settle();
  EXPECT_EQ(objects_.budgets().Desired(0), 2);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  objects_.RemovePod(0);
  EXPECT_EQ(objects_.CountHealthy(0), 2);
  EXPECT_EQ(objects_.budgets().Desired(0), 1);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
}

TEST_F(SimulatedObjectsTest, PodsThatHaveEndedOrAreExpendableAreLeftOutAndOthersShareTemplates) {
  Add(Node("a"));
  Add(Pod("p").On("a").Cpu(100).Uid("1").CreatedAt(5));
  Add(Pod("q").Cpu(100).Uid("2").CreatedAt(6));
  Add(Pod("ended").On("a").Phase("Succeeded"));
  Add(Pod("failed").On("a").Phase("Failed"));
  Add(Pod("expendable").On("a").Priority(-11));
  Add(Pod("r").On("a").Cpu(200));
  Add(Pod("grace").On("a").Cpu(100).With(
      [](objects::Pod& pod) { pod.termination_grace_period_s = 7; }));
  Settle();
  ASSERT_EQ(objects_.pods().size(), 4);
  std::vector<size_t> templates;
  for (const SimulatedPod& pod : objects_.pods()) templates.push_back(pod.pod_template);
  EXPECT_THAT(templates, ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(objects_.templates()[0].grace_s, 30);
  EXPECT_EQ(objects_.templates()[2].grace_s, 7);
  EXPECT_EQ(objects_.pods()[1].name, "q");
  EXPECT_EQ(objects_.pods()[1].uid, "2");
  EXPECT_EQ(objects_.pods()[1].created_s, 6);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, APodThatEndsIsNotAmongThoseThatItsControllerHas) {
  Add(Budget("web").Matching("app", "web").Allows(0));
  Add(Pod("early").On("a").Label("app", "web"));  // Its node comes later.
  Add(Node("a"));
  Add(Pod("ends").On("a").Label("app", "web").DeletedAt(99));
  Add(Pod("waits").Label("app", "web"));
  Settle();
  EXPECT_EQ(objects_.pods()[0].state, State::kRunning);
  EXPECT_EQ(objects_.pods()[0].node, 0);
  EXPECT_EQ(objects_.pods()[1].state, State::kTerminating);
  EXPECT_EQ(objects_.pods()[1].deletion_s, 99);
  EXPECT_EQ(objects_.pods()[2].state, State::kPending);
  EXPECT_EQ(objects_.pods()[2].node, kNone);
  EXPECT_THAT(objects_.nodes()[0].pods, ElementsAre(0, 1));
  ASSERT_EQ(objects_.workloads().size(), 1);
  EXPECT_THAT(objects_.workloads()[0].pods, ElementsAre(0, 2));
  EXPECT_EQ(objects_.workloads()[0].wanted, 2);
  EXPECT_EQ(objects_.workloads()[0].base, 2);
  // Two are wanted, of which one does not run at first.
  EXPECT_EQ(objects_.budgets().Desired(0), 1);
  EXPECT_EQ(objects_.budgets().Allowed(0), 0);
  EXPECT_EQ(objects_.CountHealthy(0), 1);
  objects_.Bind(2, 0);
  EXPECT_EQ(objects_.pods()[2].state, State::kStarting);
  EXPECT_EQ(objects_.CountHealthy(0), 1);
  objects_.StartRunning(2);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  objects_.Terminate(0, 50);
  EXPECT_EQ(objects_.pods()[0].deletion_s, 80);
  EXPECT_THAT(objects_.workloads()[0].pods, ElementsAre(2));
  EXPECT_EQ(objects_.budgets().Allowed(0), 0);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, AnEmptyNodeHasRoomBesideThePodsOfDaemonSets) {
  Add(Node("a").Cpu(4000).Memory(8 * test::kGiB).Pods(110));
  Add(Node("b"));
  Add(Pod("ds-a").On("a").DaemonSet().Cpu(100).Memory(test::kGiB));
  Add(Pod("ds-b").On("b").DaemonSet().Cpu(100).Memory(test::kGiB));
  Add(Pod("other-a").On("a").OwnedBy("DaemonSet", "other").Cpu(50));
  Add(Pod("p").On("a").Cpu(500).Memory(test::kGiB));
  Settle();
  EXPECT_THAT(objects_.RoomOfEmpty(objects_.nodes()[0], DaemonSets()),
              ElementsAre(3850, 7 * test::kGiB, 108, 0));
}

TEST_F(SimulatedObjectsTest, DrainsSkipDaemonSetMirrorAndStaticPods) {
  Add(Node("a"));
  Add(Pod("daemon").On("a").DaemonSet());
  Add(Pod("mirror").On("a").WithoutOwner().Mirror());
  Add(Pod("static").On("a").WithoutOwner().Annotation("kubernetes.io/config.source", "file"));
  Add(Pod("p").On("a"));
  Add(Pod("bare").On("a").WithoutOwner());
  Settle();
  for (size_t pod = 0; pod < 5; ++pod) EXPECT_EQ(objects_.IsSkipped(pod), pod < 3) << pod;
}

TEST_F(SimulatedObjectsTest, ANodeThatIsGoneIsNotFoundAndKeepsItsNumber) {
  Add(Node("a"));
  Add(Node("b"));
  Settle();
  EXPECT_EQ(objects_.AddNode(1, "c", 7), 2);
  EXPECT_EQ(objects_.nodes_there(), 3);
  EXPECT_EQ(objects_.FindNode("c"), 2);
  EXPECT_EQ(objects_.NumberOf(test::NodeNamed(objects_.Snapshot(), "c")), 2);
  EXPECT_EQ(objects_.nodes()[2].created_s, 7);
  objects_.RemoveNode(1);
  EXPECT_EQ(objects_.nodes_there(), 2);
  EXPECT_EQ(objects_.FindNode("b"), kNone);
  EXPECT_EQ(objects_.FindNode("c"), 2);
  EXPECT_FALSE(objects_.nodes()[1].there);
  EXPECT_EQ(objects_.Snapshot().nodes(), 2);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, AnAddedPodIsShownAndTakesPartInItsBudgetAndController) {
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  Add(Pod("p").On("a").Label("app", "web"));
  Settle();
  const size_t pod = objects_.AddPod(0, 0, "default", "new", kNone, 9);
  EXPECT_EQ(pod, 1);
  EXPECT_TRUE(objects_.HasPod("default", "new"));
  EXPECT_FALSE(objects_.HasPod("other", "new"));
  EXPECT_EQ(objects_.Pending().size(), 1);
  EXPECT_EQ(objects_.pods()[pod].state, State::kPending);
  EXPECT_EQ(objects_.pods()[pod].created_s, 9);
  EXPECT_THAT(objects_.workloads()[0].pods, ElementsAre(0, 1));
  EXPECT_EQ(objects_.AddPod(0, 0, "default", "placed", 0, 9), 2);
  EXPECT_EQ(objects_.pods()[2].state, State::kStarting);
  EXPECT_THAT(objects_.nodes()[0].pods, ElementsAre(0, 2));
  objects_.StartRunning(2);
  EXPECT_EQ(objects_.CountHealthy(0), 2);
  objects_.RemovePod(2);
  EXPECT_EQ(objects_.pods()[2].state, State::kGone);
  EXPECT_FALSE(objects_.HasPod("default", "placed"));
  EXPECT_THAT(objects_.nodes()[0].pods, ElementsAre(0));
  EXPECT_THAT(objects_.workloads()[0].pods, ElementsAre(0, 1));
  EXPECT_EQ(objects_.CountHealthy(0), 1);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, UnsoundReportsObjectsThatAreShownWrongly) {
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("a").Label("app", "web"));
  Add(Pod("q").On("b").Label("app", "web"));
  Settle();
  EXPECT_EQ(Unsound(), "");
  objects_.pod(1).node = 0;
  EXPECT_EQ(Unsound(), "pod q is shown on another node");
  objects_.pod(1).node = 1;
  objects_.pod(1).name = "z";
  EXPECT_EQ(Unsound(), "pod z is not shown");
  objects_.pod(1).name = "q";
  objects_.pod(1).state = State::kStarting;  // The budget does not know it.
  EXPECT_EQ(Unsound(), "budget 0 allows 1 and has room for 0");
}

// What is handed over, with the fields that tests look at.
struct Seen : ObjectSink {
  std::vector<std::string> nodes;  // "a: taints"
  std::vector<std::string> pods;   // "namespace/name uid created node phase deletion"
  std::map<std::string, std::pair<int64_t, int64_t>> replicas;  // Wanted, and as in the status.
  absl::Status on_node;
  absl::Status on_pod;

  absl::Status OnNode(const objects::Node& node) override {
    std::string& text = nodes.emplace_back(node.meta.name);
    for (const objects::Taint& taint : node.taints) {
      text += " " + std::string(taint.key) + "=" + std::string(taint.value);
    }
    return on_node;
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    pods.push_back(std::string(pod.meta.namespace_name) + "/" + std::string(pod.meta.name) + " " +
                   std::string(pod.meta.uid) + " " + std::to_string(pod.meta.creation_time) + " " +
                   std::string(pod.node_name) + " " + std::string(pod.phase) + " " +
                   std::to_string(pod.meta.deletion_time.value_or(-1)));
    return on_pod;
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller& controller) override {
    replicas[std::string(controller.meta.name)] = {controller.spec_replicas.value_or(-1),
                                                   controller.status_replicas};
    return absl::OkStatus();
  }
  absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }
};

TEST_F(SimulatedObjectsTest, PodsAreShownAsTheyAreNow) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("a").Uid("1").CreatedAt(5));
  Add(Pod("waits").Uid("2").CreatedAt(6));
  Add(Pod("ends").On("a").Uid("3").CreatedAt(7).DeletedAt(99));
  Add(Pod("goes").On("a").Uid("4"));
  Settle();
  EXPECT_EQ(objects_.AddPod(0, 0, "default", "new", 1, 9), 4);
  objects_.Bind(1, 1);
  objects_.Terminate(0, 40);
  objects_.RemovePod(3);
  EXPECT_EQ(objects_.AddNode(0, "c", 7), 2);
  objects_.RemoveNode(2);
  Seen seen;
  ASSERT_TRUE(objects_.ShowAll(seen).ok());
  EXPECT_THAT(seen.nodes, ElementsAre("a", "b"));
  EXPECT_THAT(seen.pods, ElementsAre("default/p 1 5 a Running 70", "default/waits 2 6 b Running -1",
                                     "default/ends 3 7 a Running 99",
                                     "default/new uid-of-new-4 9 b Running -1"));
  EXPECT_EQ(objects_.AddPod(0, 0, "default", "pending", kNone, 10), 5);
  Seen again;
  ASSERT_TRUE(objects_.ShowAll(again).ok());
  EXPECT_EQ(again.pods.back(), "default/pending uid-of-pending-5 10  Pending -1");
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, ShowAllStopsAtTheFirstErrorOfTheSink) {
  Add(Node("a"));
  Add(Node("b"));
  Add(Pod("p").On("a"));
  Add(Pod("q").On("a"));
  Settle();
  Seen no_node;
  no_node.on_node = absl::CancelledError("no node");
  EXPECT_EQ(objects_.ShowAll(no_node).message(), "no node");
  EXPECT_THAT(no_node.nodes, ElementsAre("a"));
  EXPECT_THAT(no_node.pods, ElementsAre());
  Seen no_pod;
  no_pod.on_pod = absl::CancelledError("no pod");
  EXPECT_EQ(objects_.ShowAll(no_pod).message(), "no pod");
  EXPECT_EQ(no_pod.pods.size(), 1);
}

TEST_F(SimulatedObjectsTest, FieldsOfAPodsOwnAreNotPartOfItsTemplate) {
  Add(Node("a"));
  Add(Pod("p").On("a"));
  Add(Pod("q").DeletedAt(99).On("a"));
  Add(Pod("r").Phase("Pending").With([](objects::Pod& pod) { pod.nominated_node_name = "a"; }));
  Add(Pod("s").On("a").In("other"));
  Settle();
  std::vector<size_t> templates;
  for (const SimulatedPod& pod : objects_.pods()) templates.push_back(pod.pod_template);
  EXPECT_THAT(templates, ElementsAre(0, 0, 0, 1));
}

TEST_F(SimulatedObjectsTest, AWorkloadIsKnownByNamespaceKindAndNameOfTheControllingOwner) {
  Add(Node("a"));
  Add(Pod("p").On("a"));
  Add(Pod("elsewhere").On("a").In("other"));
  Add(Pod("set").On("a").OwnedBy("StatefulSet", "rs"));
  Add(Pod("second").On("a").With([](objects::Pod& pod) {
    objects::OwnerReference owner = pod.meta.owners[0];
    owner.name = "not-controlling";
    owner.controller = false;
    pod.meta.owners.insert(pod.meta.owners.begin(), owner);
  }));
  Add(Pod("bare").On("a").WithoutOwner());
  Settle();
  std::vector<size_t> workloads;
  for (const SimulatedPod& pod : objects_.pods()) workloads.push_back(pod.workload);
  EXPECT_THAT(workloads, ElementsAre(0, 1, 2, 0, kNone));
  ASSERT_EQ(objects_.workloads().size(), 3);
  EXPECT_EQ(objects_.workloads()[1].namespace_name, "other");
  EXPECT_EQ(objects_.workloads()[2].kind, "StatefulSet");
  EXPECT_EQ(objects_.workloads()[2].name, "rs");
  EXPECT_TRUE(objects_.workloads()[2].KeepsNames());
  EXPECT_FALSE(objects_.workloads()[0].KeepsNames());
  EXPECT_EQ(objects_.workloads()[0].pod_template, objects_.pods()[3].pod_template);
}

TEST_F(SimulatedObjectsTest, SoftTaintsOfTheInputKeepTheirTimeAndHardOnesAreDropped) {
  const char* const soft = "DeletionCandidateOfClusterAutoscaler";
  const auto created = [](objects::Node& node) { node.meta.creation_time = 123; };
  Add(Node("since").Taint("own", "x").Taint(soft, "77", "PreferNoSchedule").With(created));
  Add(Node("unknown").Taint(soft, "x", "PreferNoSchedule").With(created));
  Add(Node("none").Taint("own", "1").With(created));
  Add(Node("hard").Taint("ToBeDeletedByClusterAutoscaler", "5").Taint("own", "x"));
  Settle();
  EXPECT_EQ(objects_.nodes()[0].soft_taint_s, 77);
  EXPECT_EQ(objects_.nodes()[1].soft_taint_s, 123);
  EXPECT_EQ(objects_.nodes()[2].soft_taint_s, std::nullopt);
  for (const SimulatedNode& node : objects_.nodes()) EXPECT_EQ(node.hard_taint_s, std::nullopt);
  EXPECT_EQ(objects_.AddNode(0, "new", 7), 4);
  EXPECT_EQ(objects_.AddNode(3, "like-hard", 7), 5);
  objects_.SetTaints(2, std::nullopt, 8);
  Seen seen;
  ASSERT_TRUE(objects_.ShowAll(seen).ok());
  const std::string key = soft;
  EXPECT_THAT(seen.nodes, ElementsAre("since own=x " + key + "=77", "unknown " + key + "=123",
                                      "none own=1 ToBeDeletedByClusterAutoscaler=8", "hard own=x",
                                      "new own=x", "like-hard own=x"));
}

TEST_F(SimulatedObjectsTest, ABarePodRequestsLittleAndIsDesiredWhileItExists) {
  Add(Budget("all").MatchingEverything().Allows(1));
  Add(Node("a").Cpu(1000).Memory(test::kGiB));
  Add(Pod("p").On("a"));
  Settle();
  EXPECT_EQ(objects_.budgets().Desired(0), 0);
  const size_t first = objects_.AddBarePod("bare-1", 0, 5);
  const size_t second = objects_.AddBarePod("bare-2", 0, 6);
  EXPECT_EQ(objects_.pods()[first].state, State::kRunning);
  EXPECT_EQ(objects_.pods()[first].workload, kNone);
  EXPECT_EQ(objects_.pods()[first].pod_template, objects_.pods()[second].pod_template);
  EXPECT_EQ(objects_.budgets().Desired(0), 2);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  const ClusterSnapshot& snapshot = objects_.Snapshot();
  const NodeId node = test::NodeNamed(snapshot, "a");
  EXPECT_EQ(snapshot.Free(kCpu, node), 1000 - 2 * 10);
  EXPECT_EQ(snapshot.Free(kMemory, node), test::kGiB - 2 * test::kMiB);
  // One that ends is not wanted from the first; that it is gone then changes nothing.
  objects_.Terminate(first, 7);
  EXPECT_EQ(objects_.budgets().Desired(0), 1);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  objects_.RemovePod(first);
  EXPECT_EQ(objects_.budgets().Desired(0), 1);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  objects_.RemovePod(second);
  EXPECT_EQ(objects_.budgets().Desired(0), 0);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, TheReplicasOfAControllerAreShownAndKeptByItsBudget) {
  status_.Update(objects_.OnController(
      test::Controller(objects::ControllerKind::kReplicaSet, "rs").Replicas(2).raw));
  status_.Update(objects_.OnController(
      test::Controller(objects::ControllerKind::kDaemonSet, "ds").Replicas(1).raw));
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  Add(Pod("p").On("a").Label("app", "web"));
  Add(Pod("q").On("a").Label("app", "web"));
  Add(Pod("daemon").On("a").DaemonSet());
  Settle();
  objects_.SetWanted(0, 5);
  objects_.SetWanted(1, 3);
  EXPECT_EQ(objects_.workloads()[0].wanted, 5);
  EXPECT_EQ(objects_.workloads()[0].base, 2);
  EXPECT_EQ(objects_.budgets().Desired(0), 4);
  EXPECT_EQ(objects_.budgets().Allowed(0), 0);
  Seen seen;
  ASSERT_TRUE(objects_.Export(seen).ok());
  EXPECT_EQ(seen.replicas["rs"], std::pair(int64_t{5}, int64_t{5}));
  EXPECT_EQ(seen.replicas["ds"], std::pair(int64_t{1}, int64_t{3}));
  objects_.SetWanted(0, 1);
  EXPECT_EQ(objects_.budgets().Desired(0), 0);
  EXPECT_EQ(objects_.budgets().Allowed(0), 2);
}

TEST_F(SimulatedObjectsTest, AnObjectThatTheSnapshotRejectsIsNotAdded) {
  Add(Node("a"));
  ASSERT_TRUE(status_.ok()) << status_;
  const auto code = [](const absl::Status& status) { return status.code(); };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code(objects_.OnNode(Node("b").Cpu(-1).raw)), kInvalid);
  EXPECT_EQ(code(objects_.OnPod(Pod("p").On("a").Cpu(-1).raw)), kInvalid);
  EXPECT_EQ(code(objects_.OnPodDisruptionBudget(Budget("web").Allows(-1).raw)), kInvalid);
  objects_.Settle();
  EXPECT_EQ(objects_.nodes().size(), 1);
  EXPECT_EQ(objects_.nodes_there(), 1);
  EXPECT_EQ(objects_.FindNode("b"), kNone);
  EXPECT_EQ(objects_.pods().size(), 0);
  EXPECT_EQ(objects_.workloads().size(), 0);
  EXPECT_EQ(objects_.budgets().size(), 0);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, RoomHasOnlyCoresMemoryAndPods) {
  Add(Node("a").Resource("a.com/x", 7).Resource("z.com/x", 9));
  Add(Pod("ds-a").On("a").DaemonSet().Cpu(100).Memory(test::kGiB).Request("z.com/x", 2));
  Settle();
  EXPECT_THAT(objects_.RoomOfEmpty(objects_.nodes()[0], DaemonSets()),
              ElementsAre(3900, 7 * test::kGiB, 109, 0));
}

TEST_F(SimulatedObjectsTest, APodThatGoesBeforeItRunsDoesNotCountAsHealthy) {
  Add(Budget("web").Matching("app", "web").Allows(1));
  Add(Node("a"));
  for (const char* const name : {"p", "q"}) Add(Pod(name).On("a").Label("app", "web"));
  Add(Pod("waits").Label("app", "web"));
  Settle();
  EXPECT_EQ(objects_.budgets().Desired(0), 1);  // Of three, one is missing and one more may be.
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  objects_.Bind(2, 0);
  objects_.Terminate(2, 50);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  objects_.RemovePod(2);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  EXPECT_EQ(objects_.AddPod(0, 0, "default", "new", 0, 60), 3);
  objects_.RemovePod(3);
  EXPECT_EQ(objects_.budgets().Allowed(0), 1);
  EXPECT_EQ(objects_.CountHealthy(0), 2);
  EXPECT_EQ(Unsound(), "");
}

TEST_F(SimulatedObjectsTest, OnlyTheLoopsOwnTaintIsASoftTaint) {
  Add(Node("a").Taint("A", "5", "PreferNoSchedule").Taint("own", "6", "PreferNoSchedule"));
  Settle();
  EXPECT_EQ(objects_.nodes()[0].soft_taint_s, std::nullopt);
  objects_.SetTaints(0, 7, std::nullopt);
  objects_.SetTaints(0, std::nullopt, std::nullopt);
  Seen seen;
  ASSERT_TRUE(objects_.ShowAll(seen).ok());
  EXPECT_THAT(seen.nodes, ElementsAre("a A=5 own=6"));
}

}  // namespace
}  // namespace ebb::simulated_objects_test
