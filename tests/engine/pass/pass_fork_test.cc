#include "engine/pass/pass_fork.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::pass_fork_test {
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

class PassForkTest : public testing::Test {
 protected:
  void Put(PassFork& fork, std::string_view pod, std::string_view node) {
    const PodId id = PodNamed(snapshot_, pod);
    fork.BeginRun(snapshot_.catalog().shape_id(id));
    ASSERT_TRUE(fork.scan().Fits(NodeNamed(snapshot_, node)));
    fork.Put(id, NodeNamed(snapshot_, node));
  }
  std::vector<std::string> PodsOn(PassFork& fork, std::string_view node) {
    std::vector<std::string> names;
    for (const PodId pod : fork.PodsOn(NodeNamed(snapshot_, node))) {
      names.emplace_back(snapshot_.catalog().Text(snapshot_.catalog().pod(pod).name));
    }
    return names;
  }
  int64_t FreeCpuOnB() { return snapshot_.Free(kCpu, NodeNamed(snapshot_, "b")); }

  ClusterSnapshot snapshot_ = TwoNodes();
  PassForkMemory memory_;
  const std::string before_ = snapshot_.Fingerprint();
};

using Names = std::vector<std::string>;

TEST_F(PassForkTest, AnAttemptThatIsNotCommittedIsReverted) {
  PassFork fork(snapshot_, memory_);
  {
    RemovalAttempt attempt(fork, NodeNamed(snapshot_, "a"));
    Put(fork, "room", "b");
    Put(fork, "port", "b");
    EXPECT_EQ(FreeCpuOnB(), 400);
    EXPECT_EQ(fork.moves().size(), 2u);
  }
  EXPECT_EQ(FreeCpuOnB(), 900);
  EXPECT_EQ(snapshot_.ghost(), kNoNode);
  EXPECT_TRUE(fork.scan().IsOpen(NodeNamed(snapshot_, "a")));
  EXPECT_EQ(PodsOn(fork, "a"), (Names{"room", "port"}));
  EXPECT_EQ(PodsOn(fork, "b"), (Names{"own"}));
}

TEST_F(PassForkTest, ACommittedAttemptTakesTheNodeAndKeepsThePodsInTheOrderInWhichTheyCame) {
  PassFork fork(snapshot_, memory_);
  {
    RemovalAttempt attempt(fork, NodeNamed(snapshot_, "a"));
    Put(fork, "port", "b");
    Put(fork, "room", "b");
    attempt.Commit();
  }
  EXPECT_FALSE(snapshot_.Contains(NodeNamed(snapshot_, "a")));
  EXPECT_FALSE(fork.scan().IsOpen(NodeNamed(snapshot_, "a")));
  EXPECT_EQ(FreeCpuOnB(), 400);
  EXPECT_EQ(PodsOn(fork, "b"), (Names{"own", "port", "room"}));
}

TEST_F(PassForkTest, TheSnapshotIsAsItWasWhenThePassForkEnds) {
  {
    PassFork fork(snapshot_, memory_);
    Put(fork, "new", "b");
    EXPECT_EQ(fork.moves().size(), 1u);
    RemovalAttempt attempt(fork, NodeNamed(snapshot_, "a"));
    Put(fork, "room", "b");
    attempt.Commit();
    EXPECT_NE(snapshot_.Fingerprint(), before_);
  }
  EXPECT_EQ(snapshot_.Fingerprint(), before_);
  EXPECT_TRUE(snapshot_.CheckInvariants().ok());
  EXPECT_EQ(snapshot_.depth(), 0u);
}

// A failed attempt costs only what the pods cost that were tried.
TEST(AttemptOfCountedPodsTest, CountersLoseAPodWhenItsFamilyLooksForANode) {
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
  PassForkMemory memory;
  PassFork fork(snapshot, memory);
  {
    RemovalAttempt attempt(fork, NodeNamed(snapshot, "a"));
    EXPECT_EQ(counted("web-1"), 2u);
    fork.BeginRun(shape("web-1"));
    EXPECT_EQ(counted("web-1"), 0u) << "the other shape of the application too";
    EXPECT_EQ(counted("db-1"), 1u) << "no lookup yet";
    ASSERT_TRUE(fork.scan().Fits(NodeNamed(snapshot, "b")));
    fork.Put(PodNamed(snapshot, "web-1"), NodeNamed(snapshot, "b"));
    EXPECT_EQ(counted("web-1"), 1u);
  }
  EXPECT_EQ(counted("web-1"), 2u);
  EXPECT_EQ(counted("db-1"), 1u);
  RemovalAttempt attempt(fork, NodeNamed(snapshot, "a"));
  attempt.Commit();
  EXPECT_EQ(counted("web-1"), 0u) << "all that stays goes with the node";
  EXPECT_EQ(counted("db-1"), 0u);
}

using PassForkDeathTest = PassForkTest;

TEST_F(PassForkDeathTest, ThereIsOneAttemptAtATime) {
  PassFork fork(snapshot_, memory_);
  RemovalAttempt attempt(fork, NodeNamed(snapshot_, "a"));
  EXPECT_DEATH(RemovalAttempt(fork, NodeNamed(snapshot_, "b")), "in_attempt_");
}

TEST_F(PassForkDeathTest, AMemoryServesOnePassForkAtATime) {
  PassFork fork(snapshot_, memory_);
  ClusterSnapshot other = TwoNodes();
  EXPECT_DEATH(PassFork(other, memory_), "in_use_");
}

TEST_F(PassForkDeathTest, AnAttemptDiesIfAnotherCallerForkedTheSnapshot) {
  PassFork fork(snapshot_, memory_);
  EXPECT_DEATH(
      {
        snapshot_.Fork();
        RemovalAttempt(fork, NodeNamed(snapshot_, "a"));
      },
      "depth");
}

}  // namespace
}  // namespace ebb::pass_fork_test
