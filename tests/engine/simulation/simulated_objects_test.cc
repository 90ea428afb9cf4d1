#include "engine/simulation/simulated_objects.h"

#include <string>
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
  // What CheckSound() says.
  std::string Unsound() { return std::string(objects_.CheckSound().message()); }

  SimulatedObjects objects_;
  absl::Status status_;
};

TEST_F(SimulatedObjectsTest, ABarePodThatIsRemovedIsWantedByItsBudgetNoMore) {
  Add(Node("a"));
  Add(Budget("web").Matching("app", "web").Allows(1));
  for (const char* const name : {"p", "q", "r"}) {
    Add(Pod(name).On("a").Label("app", "web").OwnedByNobody());
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
  EXPECT_THAT(objects_.RoomOfEmpty(objects_.nodes()[0]), ElementsAre(3850, 7 * test::kGiB, 108));
}

TEST_F(SimulatedObjectsTest, NoDrainLooksAtPodsOfANodesOwn) {
  Add(Node("a"));
  Add(Pod("daemon").On("a").DaemonSet());
  Add(Pod("mirror").On("a").OwnedByNobody().Mirror());
  Add(Pod("static").On("a").OwnedByNobody().Annotation("kubernetes.io/config.source", "file"));
  Add(Pod("p").On("a"));
  Add(Pod("bare").On("a").OwnedByNobody());
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

TEST_F(SimulatedObjectsTest, WhatIsNotShownAsItIsIsNotSound) {
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
  objects_.pod(1).state = State::kStarting;  // And the budget was not told.
  EXPECT_EQ(Unsound(), "budget 0 allows 1 and has room for 0");
}

}  // namespace
}  // namespace ebb::simulated_objects_test
