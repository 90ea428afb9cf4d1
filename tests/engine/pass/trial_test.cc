#include "engine/pass/trial.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::trial_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

// Node a has two pods, one that takes only room and one with a port; b has room.
ClusterSnapshot TwoNodes() {
  return Cluster()
      .Add(Node("a").Cpu(1000))
      .Add(Node("b").Cpu(1000))
      .Add(Pod("room").On("a").Cpu(300))
      .Add(Pod("port").On("a").Cpu(200).HostPort(80))
      .Add(Pod("own").On("b").Cpu(100))
      .Add(Pod("new").Cpu(50))
      .Build();
}

class TrialTest : public testing::Test {
 protected:
  void Put(Simulation& simulation, std::string_view pod, std::string_view node) {
    const PodId id = PodNamed(snapshot_, pod);
    simulation.BeginRun(snapshot_.catalog().shape_id(id));
    ASSERT_TRUE(simulation.scan().Fits(NodeNamed(snapshot_, node)));
    simulation.Put(id, NodeNamed(snapshot_, node));
  }
  std::vector<std::string> PodsOn(Simulation& simulation, std::string_view node) {
    std::vector<std::string> names;
    for (const PodId pod : simulation.PodsOn(NodeNamed(snapshot_, node))) {
      names.emplace_back(snapshot_.catalog().Text(snapshot_.catalog().pod(pod).name));
    }
    return names;
  }
  int64_t FreeCpuOnB() { return snapshot_.Free(kCpu, NodeNamed(snapshot_, "b")); }

  ClusterSnapshot snapshot_ = TwoNodes();
  SimulationMemory memory_;
  const std::string before_ = snapshot_.Fingerprint();
};

using Names = std::vector<std::string>;

TEST_F(TrialTest, ATrialThatIsNotCommittedIsReverted) {
  Simulation simulation(snapshot_, memory_);
  {
    Trial trial(simulation, NodeNamed(snapshot_, "a"));
    Put(simulation, "room", "b");
    Put(simulation, "port", "b");
    EXPECT_EQ(FreeCpuOnB(), 400);
    EXPECT_EQ(simulation.moves().size(), 2u);
  }
  EXPECT_EQ(FreeCpuOnB(), 900);
  EXPECT_EQ(snapshot_.ghost(), kNoNode);
  EXPECT_TRUE(simulation.scan().IsOpen(NodeNamed(snapshot_, "a")));
  EXPECT_EQ(PodsOn(simulation, "a"), (Names{"room", "port"}));
  EXPECT_EQ(PodsOn(simulation, "b"), (Names{"own"}));
}

TEST_F(TrialTest, ACommittedTrialTakesTheNodeAndKeepsThePodsInTheOrderInWhichTheyCame) {
  Simulation simulation(snapshot_, memory_);
  {
    Trial trial(simulation, NodeNamed(snapshot_, "a"));
    Put(simulation, "port", "b");
    Put(simulation, "room", "b");
    trial.Commit();
  }
  EXPECT_FALSE(snapshot_.Contains(NodeNamed(snapshot_, "a")));
  EXPECT_FALSE(simulation.scan().IsOpen(NodeNamed(snapshot_, "a")));
  EXPECT_EQ(FreeCpuOnB(), 400);
  EXPECT_EQ(PodsOn(simulation, "b"), (Names{"own", "port", "room"}));
}

TEST_F(TrialTest, TheSnapshotIsAsItWasWhenTheSimulationEnds) {
  {
    Simulation simulation(snapshot_, memory_);
    Put(simulation, "new", "b");
    EXPECT_EQ(simulation.moves().size(), 1u);
    Trial trial(simulation, NodeNamed(snapshot_, "a"));
    Put(simulation, "room", "b");
    trial.Commit();
    EXPECT_NE(snapshot_.Fingerprint(), before_);
  }
  EXPECT_EQ(snapshot_.Fingerprint(), before_);
  EXPECT_TRUE(snapshot_.CheckInvariants().ok());
  EXPECT_EQ(snapshot_.depth(), 0u);
}

// A failed trial costs only what the pods cost that were tried.
TEST(TrialOfCountedPodsTest, CountersLoseAPodWhenItsFamilyLooksForANode) {
  const auto app = [](std::string_view name, std::string_view of) {
    return Pod(name).On("a").Label("app", of).Spread("zone", 1, test::Select("app", of));
  };
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a").Label("zone", "x"))
                                 .Add(Node("b").Label("zone", "y"))
                                 .Add(app("web-1", "web"))
                                 .Add(app("web-2", "web").Priority(7))
                                 .Add(app("db-1", "db"))
                                 .Build();
  const auto shape = [&](std::string_view pod) {
    return snapshot.catalog().shape_id(PodNamed(snapshot, pod));
  };
  const auto counted = [&](std::string_view pod) {
    return snapshot.topology().Total(snapshot.catalog().shape(shape(pod)).spread[0].table);
  };
  SimulationMemory memory;
  Simulation simulation(snapshot, memory);
  {
    Trial trial(simulation, NodeNamed(snapshot, "a"));
    EXPECT_EQ(counted("web-1"), 2u);
    simulation.BeginRun(shape("web-1"));
    EXPECT_EQ(counted("web-1"), 0u) << "the other shape of the application too";
    EXPECT_EQ(counted("db-1"), 1u) << "no lookup yet";
    ASSERT_TRUE(simulation.scan().Fits(NodeNamed(snapshot, "b")));
    simulation.Put(PodNamed(snapshot, "web-1"), NodeNamed(snapshot, "b"));
    EXPECT_EQ(counted("web-1"), 1u);
  }
  EXPECT_EQ(counted("web-1"), 2u);
  EXPECT_EQ(counted("db-1"), 1u);
  Trial trial(simulation, NodeNamed(snapshot, "a"));
  trial.Commit();
  EXPECT_EQ(counted("web-1"), 0u) << "all that stays goes with the node";
  EXPECT_EQ(counted("db-1"), 0u);
}

using TrialDeathTest = TrialTest;

TEST_F(TrialDeathTest, ThereIsOneTrialAtATime) {
  Simulation simulation(snapshot_, memory_);
  Trial trial(simulation, NodeNamed(snapshot_, "a"));
  EXPECT_DEATH(Trial(simulation, NodeNamed(snapshot_, "b")), "in_trial_");
}

TEST_F(TrialDeathTest, AMemoryServesOneSimulationAtATime) {
  Simulation simulation(snapshot_, memory_);
  ClusterSnapshot other = TwoNodes();
  EXPECT_DEATH(Simulation(other, memory_), "in_use_");
}

TEST_F(TrialDeathTest, ATrialDiesIfAnotherCallerForkedTheSnapshot) {
  Simulation simulation(snapshot_, memory_);
  EXPECT_DEATH(
      {
        snapshot_.Fork();
        Trial(simulation, NodeNamed(snapshot_, "a"));
      },
      "depth");
}

}  // namespace
}  // namespace ebb::trial_test
