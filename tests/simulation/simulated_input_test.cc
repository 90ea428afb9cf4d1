#include "simulation/simulated_input.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"

namespace ebb::simulated_input_test {
namespace {

using test::Cluster;
using test::Node;
using test::OneGroupOf;
using test::Pod;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

constexpr int64_t kStart = 1'767'225'600;

// Nodes and pods that are sent as they are.
struct Objects {
  std::vector<Node> nodes;
  std::vector<Pod> pods;

  absl::Status Send(ObjectSink& sink) const {
    absl::Status status;
    test::Controller set(objects::ControllerKind::kReplicaSet, "rs");
    status.Update(sink.OnController(set.Replicas(2).raw));
    for (const Node& node : nodes) status.Update(sink.OnNode(node.raw));
    for (const Pod& pod : pods) status.Update(sink.OnPod(pod.raw));
    return status;
  }
};

// What is sent on: nodes, and pods with their nodes.
struct Seen : public ObjectSink {
  std::vector<std::string> nodes;
  std::map<std::string, std::string> pods;

  absl::Status OnNode(const objects::Node& node) override {
    nodes.emplace_back(node.meta.name);
    return absl::OkStatus();
  }
  absl::Status OnPod(const objects::Pod& pod) override {
    pods[std::string(pod.meta.name)] = pod.node_name;
    return absl::OkStatus();
  }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller&) override { return absl::OkStatus(); }
  absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }
};

class SimulatedInputTest : public testing::Test {
 protected:
  void Make() {
    Cluster cluster;
    for (const Node& node : objects_.nodes) cluster.Add(node);
    snapshot_ = cluster.Build();
    groups_ = OneGroupOf(snapshot_.catalog());
    input_ = std::make_unique<SimulatedInput>(
        snapshot_, groups_, kStart, [this](ObjectSink& sink) { return objects_.Send(sink); });
    EXPECT_TRUE(input_->AsRead()(seen_).ok());
  }
  std::vector<std::pair<size_t, std::string>> Gaps() {
    std::vector<std::pair<size_t, std::string>> gaps;
    for (const SimulatedGap& gap : input_->gaps()) {
      gaps.emplace_back(gap.objects, gap.what + " " + gap.first);
    }
    return gaps;
  }

  Objects objects_;
  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  std::unique_ptr<SimulatedInput> input_;
  Seen seen_;
};

TEST_F(SimulatedInputTest, WhatASimulationPlaysAsItIsGivesNoLine) {
  objects_ = {.nodes = {Node("a")},
              .pods = {Pod("p").On("a"), Pod("q"), Pod("d").On("a").DaemonSet()}};
  Make();
  EXPECT_THAT(seen_.nodes, ElementsAre("a"));
  EXPECT_THAT(seen_.pods, ElementsAre(Pair("d", "a"), Pair("p", "a"), Pair("q", "")));
  EXPECT_THAT(Gaps(), IsEmpty());
}

TEST_F(SimulatedInputTest, PodsOfANodeThatIsBeingDeletedWaitForAnother) {
  objects_ = {.nodes = {Node("a"), Node("b").Taint("ToBeDeletedByClusterAutoscaler",
                                                   std::to_string(kStart - 60))},
              .pods = {Pod("p").On("b"), Pod("d").On("b").DaemonSet(),
                       Pod("ends").On("b").DeletedAt(kStart)}};
  Make();
  EXPECT_THAT(seen_.nodes, ElementsAre("a"));
  EXPECT_THAT(seen_.pods, ElementsAre(Pair("p", "")));
  EXPECT_THAT(Gaps(), ElementsAre(Pair(1U, StartsWith("nodes that are being deleted"))));
}

TEST_F(SimulatedInputTest, PodsThatCannotBePlayedAreLeftOutAndNamed) {
  const auto gated = [](objects::Pod& pod) { pod.scheduling = objects::Scheduling::kGated; };
  objects_ = {.nodes = {Node("a")},
              .pods = {Pod("gated").With(gated), Pod("lost").On("gone"),
                       Pod("ended").On("a").Phase("Succeeded"), Pod("dying").DeletedAt(kStart)}};
  Make();
  EXPECT_THAT(seen_.pods, IsEmpty());
  EXPECT_THAT(Gaps(),
              ElementsAre(Pair(1U, "pods with scheduling gates: left out default/gated"),
                          Pair(1U,
                               "pods without a node that are being deleted: left out "
                               "default/dying"),
                          Pair(1U, "pods on nodes that the input lacks: left out default/lost")));
}

TEST_F(SimulatedInputTest, OwnersThatDoNotScaleAreCountedWithTheFirstName) {
  objects_ = {
      .nodes = {Node("a").NotReady()},
      .pods = {Pod("bare").On("a").WithoutOwner(), Pod("db-0").On("a").OwnedBy("StatefulSet", "db"),
               Pod("db-1").On("a").OwnedBy("StatefulSet", "db"),
               Pod("run").On("a").OwnedBy("Job", "run"),
               Pod("x").On("a").OwnedBy("CloneSet", "x", "apps.kruise.io/v1alpha1")}};
  Make();
  EXPECT_EQ(seen_.pods.size(), 5U);
  EXPECT_THAT(Gaps(), ElementsAre(Pair(1U, StartsWith("nodes that are not ready")),
                                  Pair(1U, StartsWith("pods without a controller")),
                                  Pair(1U, StartsWith("pods of Jobs")),
                                  Pair(2U,
                                       "pods of StatefulSets: their number stays the same "
                                       "default/db-0"),
                                  Pair(1U, testing::EndsWith("default/x of a CloneSet"))));
}

}  // namespace
}  // namespace ebb::simulated_input_test
