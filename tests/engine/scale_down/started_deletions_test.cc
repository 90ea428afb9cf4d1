#include "engine/scale_down/started_deletions.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/plan/node_standing.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::started_deletions_test {
namespace {

constexpr int64_t kTimeout = kDeletionTimeoutS;

// The deletion of node a is asked for at time 0.
class StartedDeletionsTest : public testing::Test {
 protected:
  StartedDeletionsTest() { EXPECT_TRUE(Ask(0)); }

  static ClusterSnapshot With(std::string_view uid, const std::shared_ptr<Symbols>& symbols) {
    return test::Cluster(symbols)
        .Add(test::Node("a").With([&](objects::Node& node) { node.meta.uid = uid; }))
        .Build();
  }
  void Update(std::optional<int64_t> now_s, bool running,
              const std::vector<EndedDeletion>& ended = {}) {
    NodeSet nodes(snapshot_.catalog().nodes());
    if (running) nodes.Insert(NodeId{0});
    deletions_.Update(snapshot_, nodes, ended, now_s);
  }
  bool Ask(int64_t now_s) { return deletions_.AskFor(snapshot_.catalog().node(NodeId{0}), now_s); }

  std::shared_ptr<Symbols> symbols_ = std::make_shared<Symbols>();
  ClusterSnapshot snapshot_ = With("1", symbols_);
  StartedDeletions deletions_;
};

TEST_F(StartedDeletionsTest, OrderingAgainIsTheSameDeletion) {
  Update(10, false);
  EXPECT_FALSE(Ask(10));
}

TEST_F(StartedDeletionsTest, DeletionThatRanAndRunsNoMoreHasEnded) {
  Update(10, true);
  Update(20, true);
  Update(30, false);
  EXPECT_TRUE(Ask(30));
}

TEST_F(StartedDeletionsTest, FailureEndsItAtOnce) {
  Update(10, true, {{"a", false}});
  EXPECT_TRUE(Ask(10));
}

TEST_F(StartedDeletionsTest, SuccessEndsItWhenTheNodeStaysBeyondTheTimeout) {
  Update(10, true, {{"a", true}});
  Update(20, false);
  EXPECT_FALSE(Ask(20));
  Update(10 + kTimeout, false);
  EXPECT_TRUE(Ask(10 + kTimeout));
}

TEST_F(StartedDeletionsTest, ADeletionThatDidNotBeginEndsAfterTheTimeoutUnlessOrderedAgain) {
  EXPECT_FALSE(Ask(kTimeout));
  deletions_.DropOld(kTimeout);
  deletions_.DropOld(2 * kTimeout - 1);
  EXPECT_FALSE(Ask(2 * kTimeout - 1));
  deletions_.DropOld(3 * kTimeout - 1);
  EXPECT_TRUE(Ask(3 * kTimeout - 1));
}

TEST_F(StartedDeletionsTest, AnotherMachineOfTheNameIsAnotherDeletion) {
  snapshot_ = With("2", symbols_);
  Update(10, false);
  EXPECT_TRUE(Ask(10));
}

TEST_F(StartedDeletionsTest, NodeThatIsGoneHasNoDeletion) {
  const ClusterSnapshot before = snapshot_;
  snapshot_ = test::Cluster(symbols_).Add(test::Node("b")).Build();
  Update(10, false);
  EXPECT_TRUE(deletions_.Save(*symbols_).empty());
}

TEST_F(StartedDeletionsTest, ADoubtfulTimeEndsOnlyDeletionsThatAreReportedAsFailed) {
  Update(10, true);
  Update(std::nullopt, false);
  EXPECT_FALSE(Ask(20));
  Update(std::nullopt, false, {{"a", false}});
  EXPECT_TRUE(Ask(20));
}

TEST_F(StartedDeletionsTest, RestoredDeletionsContinue) {
  Update(10, true);
  StartedDeletions restored;
  restored.Restore(deletions_.Save(*symbols_), *symbols_);
  EXPECT_EQ(restored.Save(*symbols_), deletions_.Save(*symbols_));
  EXPECT_EQ(restored.Save(*symbols_).at(0).phase, StartedDeletions::Phase::kRunning);
  EXPECT_FALSE(restored.AskFor(snapshot_.catalog().node(NodeId{0}), 20));
}

TEST_F(StartedDeletionsTest, AResultOfAnUnknownNodeHidesNoLaterFailure) {
  Update(10, true, {{"nowhere", true}, {"a", false}});
  EXPECT_TRUE(Ask(10));
}

TEST_F(StartedDeletionsTest, ASuccessKeepsTheTimeOfItsReport) {
  Update(10, true, {{"a", true}});
  Update(20, true);
  EXPECT_FALSE(Ask(30));
  const auto saved = deletions_.Save(*symbols_);
  ASSERT_EQ(saved.size(), 1U);
  EXPECT_EQ(saved[0],
            (StartedDeletions::Deletion{"a", "1", StartedDeletions::Phase::kSucceeded, 10}));
  Update(std::nullopt, false);  // For any length of time.
  EXPECT_FALSE(Ask(40));
  Update(10 + 100 * kTimeout, false);
  EXPECT_TRUE(deletions_.Save(*symbols_).empty());
}

TEST_F(StartedDeletionsTest, ASuccessReportedAtADoubtfulTimeKeepsTheTimeOfThePhaseBefore) {
  Update(10, true);
  Update(std::nullopt, true, {{"a", true}});
  EXPECT_EQ(deletions_.Save(*symbols_).at(0).at_s, 10);
}

TEST_F(StartedDeletionsTest, ADeletionThatRunsIsTimedByRoundsAndNotDropped) {
  Update(10, true);
  EXPECT_FALSE(Ask(25));
  EXPECT_EQ(deletions_.Save(*symbols_).at(0).at_s, 10);
  Update(40, true);
  EXPECT_EQ(deletions_.Save(*symbols_).at(0).at_s, 40);
  Update(std::nullopt, true);
  EXPECT_EQ(deletions_.Save(*symbols_).at(0).at_s, 40);
  deletions_.DropOld(100 * kTimeout);
  EXPECT_FALSE(Ask(100 * kTimeout));
}

TEST_F(StartedDeletionsTest, ANodeThatWasTakenOutOfTheSnapshotHasNoDeletion) {
  Update(10, true);
  snapshot_.RemoveNode(NodeId{0});
  Update(20, true);
  EXPECT_TRUE(deletions_.Save(*symbols_).empty());
}

TEST_F(StartedDeletionsTest, SavedOnesAreSortedAndTakeThePlaceOfOthers) {
  const std::vector<StartedDeletions::Deletion> list = {
      {"c", "3", StartedDeletions::Phase::kRunning, 7},
      {"b", "2", StartedDeletions::Phase::kRequested, 8},
      {"d", "4", StartedDeletions::Phase::kSucceeded, 9}};
  deletions_.Restore(list, *symbols_);
  const auto saved = deletions_.Save(*symbols_);
  ASSERT_EQ(saved.size(), 3U);
  EXPECT_EQ(saved[0], list[1]);
  EXPECT_EQ(saved[1], list[0]);
  EXPECT_EQ(saved[2], list[2]);
}

}  // namespace
}  // namespace ebb::started_deletions_test
