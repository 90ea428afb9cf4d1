#include "sizing/node_queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/support/random_seed.h"

namespace ebb::node_queues_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = QueueEvent::Kind;

constexpr int64_t kTimeout = 100;

class NodeQueuesTest : public ::testing::Test {
 protected:
  std::vector<QueueEvent> Work(const ActuatorStatus& status, int64_t now_s) {
    return NodeQueues(&nodes_, 10)
        .Work(
            status, [&](const QueuedNode& node) { return there_.contains(node.node); },
            [](const std::string&) { return kTimeout; }, now_s);
  }
  static ActuatorStatus Running(DeletionPhase phase, int64_t since_s = 0) {
    return {.running = {{.node = "n", .phase = phase, .since_s = since_s}},
            .results = {},
            .recent_evictions = {}};
  }
  static ActuatorStatus Result(bool ok, int64_t at_s, std::string why = "") {
    return {.running = {},
            .results = {{.node = "n", .ok = ok, .at_s = at_s, .why = std::move(why)}},
            .recent_evictions = {}};
  }
  std::vector<std::string> Due(const ActuatorStatus& status, int64_t now_s) {
    std::vector<std::string> names;
    for (const QueuedNode& node : NodeQueues(&nodes_, 10).Due(status, now_s)) {
      names.push_back(node.node);
    }
    return names;
  }

  // A new object for each call: only the list persists.
  NodeQueues queues() { return {&nodes_, 10}; }
  std::vector<QueuedNode> nodes_;
  std::set<std::string> there_ = {"n"};
};

TEST_F(NodeQueuesTest, ANodeIsInOneQueueOnce) {
  EXPECT_TRUE(queues().Add({.node = "n", .pool = "a"}, 1));
  EXPECT_FALSE(queues().Add({.node = "n", .pool = "b", .queue = NodeQueue::kTerminate}, 2));
  ASSERT_EQ(nodes_.size(), 1u);
  EXPECT_EQ(nodes_[0].pool, "a");
  EXPECT_EQ(nodes_[0].since_s, 1);
}

TEST_F(NodeQueuesTest, ANodeGoesFromDrainToTerminationAndIsGone) {
  queues().Add({.node = "n", .pool = "p"}, 0);
  EXPECT_THAT(Due({}, 0), ElementsAre("n"));
  EXPECT_THAT(Work(Running(DeletionPhase::kTainted), 1), IsEmpty());
  EXPECT_THAT(Due(Running(DeletionPhase::kTainted), 1), IsEmpty());
  EXPECT_THAT(Work(Running(DeletionPhase::kDraining), 2), IsEmpty());
  EXPECT_THAT(Work(Running(DeletionPhase::kDrained), 3),
              ElementsAre(QueueEvent{Kind::kDrained, "n", "p", ""}));
  EXPECT_EQ(nodes_[0].queue, NodeQueue::kTerminate);
  EXPECT_THAT(Work(Running(DeletionPhase::kDeleting), 4), IsEmpty());
  there_.clear();
  EXPECT_THAT(Work(Result(true, 5), 5), ElementsAre(QueueEvent{Kind::kGone, "n", "p", ""}));
  EXPECT_THAT(nodes_, IsEmpty());
}

TEST_F(NodeQueuesTest, ANodeIsNotGoneBeforeTheClusterShowsIt) {
  for (const NodeQueue queue : {NodeQueue::kDrain, NodeQueue::kTerminate}) {
    there_ = {"n"};
    queues().Add({.node = "n", .pool = "p", .queue = queue}, 0);
    EXPECT_THAT(Work(Result(true, 5), 5), IsEmpty());
    EXPECT_THAT(Work({}, 6), IsEmpty());
    EXPECT_THAT(Due({}, 6), IsEmpty());
    there_.clear();
    EXPECT_THAT(Work({}, 7), ElementsAre(QueueEvent{Kind::kGone, "n", "p", ""}));
  }
}

TEST_F(NodeQueuesTest, AFailureIsTriedAgainLaterAndEachTimeTwiceAsLate) {
  queues().Add({.node = "n", .pool = "p"}, 0);
  EXPECT_THAT(Work(Result(false, 5, "held"), 5),
              ElementsAre(QueueEvent{Kind::kFailed, "n", "p", "held"}));
  EXPECT_THAT(Work(Result(false, 5, "held"), 6), IsEmpty());  // Reported again.
  EXPECT_THAT(Due({}, 14), IsEmpty());
  EXPECT_THAT(Due({}, 15), ElementsAre("n"));
  EXPECT_THAT(Work(Result(false, 20, "held"), 20),
              ElementsAre(QueueEvent{Kind::kFailed, "n", "p", "held"}));
  EXPECT_THAT(Due({}, 39), IsEmpty());
  EXPECT_THAT(Due({}, 40), ElementsAre("n"));
}

TEST_F(NodeQueuesTest, AStepThatTakesTooLongIsAFailureOncePerTimeout) {
  queues().Add({.node = "n", .pool = "p"}, 0);
  EXPECT_THAT(Work(Running(DeletionPhase::kDraining, 50), 150), IsEmpty());
  EXPECT_THAT(Work(Running(DeletionPhase::kDraining, 50), 151),
              ElementsAre(QueueEvent{Kind::kFailed, "n", "p", "it does not drain"}));
  EXPECT_THAT(Work(Running(DeletionPhase::kDraining, 50), 152), IsEmpty());
  Work(Running(DeletionPhase::kDeleting, 153), 153);
  EXPECT_THAT(Work(Running(DeletionPhase::kDeleting, 153), 254),
              ElementsAre(QueueEvent{Kind::kFailed, "n", "p", "it is not gone"}));
}

TEST_F(NodeQueuesTest, ANodeThatIsGoneForAnyReasonIsDone) {
  queues().Add({.node = "n", .pool = "p"}, 0);
  there_.clear();
  EXPECT_THAT(Work({}, 1), ElementsAre(QueueEvent{Kind::kGone, "n", "p", ""}));
  queues().Add({.node = "n", .pool = "p", .queue = NodeQueue::kTerminate}, 2);
  EXPECT_THAT(Work({}, 3), ElementsAre(QueueEvent{Kind::kGone, "n", "p", ""}));
}

TEST_F(NodeQueuesTest, ADeletionThatTheActuatorForgotIsBegunAgain) {
  queues().Add({.node = "n", .pool = "p", .queue = NodeQueue::kTerminate}, 0);
  EXPECT_THAT(Work({}, kTimeout), IsEmpty());
  EXPECT_THAT(Due({}, kTimeout), IsEmpty());
  EXPECT_THAT(Work({}, kTimeout + 1),
              ElementsAre(QueueEvent{Kind::kFailed, "n", "p", "it is not gone"}));
  EXPECT_THAT(Due({}, kTimeout + 11), ElementsAre("n"));
}

TEST_F(NodeQueuesTest, ANodeWhosePodsHaveNoPlacesLeavesTheQueueAfterTheTimeout) {
  queues().Add({.node = "n", .pool = "p"}, 0);
  EXPECT_THAT(Work({}, kTimeout), IsEmpty());
  EXPECT_THAT(Work({}, kTimeout + 1), ElementsAre(QueueEvent{Kind::kGivenUp, "n", "p", ""}));
  EXPECT_THAT(nodes_, IsEmpty());
}

// Whatever the actuator reports, in whatever order, a node is in at most one queue, and each node
// that entered a queue leaves it with one event.
TEST_F(NodeQueuesTest, NoNodeIsEverTwiceInQueues) {
  const uint64_t seed = test::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  for (int64_t now_s = 0; now_s < 3000; ++now_s) {
    const std::string name(1, static_cast<char>('a' + below(4)));
    if (below(3) == 0) queues().Add({.node = name, .pool = "p"}, now_s);
    there_.clear();
    ActuatorStatus status;
    for (const char c : {'a', 'b', 'c', 'd'}) {
      const std::string node(1, c);
      if (below(4) != 0) there_.insert(node);
      if (below(3) == 0) {
        status.running.push_back({.node = node,
                                  .phase = static_cast<DeletionPhase>(below(5)),
                                  .since_s = now_s - static_cast<int64_t>(below(200))});
      } else if (below(3) == 0) {
        status.results.push_back({.node = node, .ok = below(2) == 0, .at_s = now_s});
      }
    }
    std::set<std::string> before;
    for (const QueuedNode& node : nodes_) before.insert(node.node);
    std::set<std::string> left;
    for (const QueueEvent& event : Work(status, now_s)) {
      EXPECT_TRUE(before.contains(event.node));
      if (event.kind == Kind::kGone || event.kind == Kind::kGivenUp) {
        EXPECT_TRUE(left.insert(event.node).second);
      }
    }
    std::set<std::string> names;
    for (const QueuedNode& node : nodes_) EXPECT_TRUE(names.insert(node.node).second);
    EXPECT_EQ(names.size() + left.size(), before.size());
  }
}

}  // namespace
}  // namespace ebb::node_queues_test
