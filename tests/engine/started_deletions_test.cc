#include "engine/started_deletions.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/eligibility.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::started_deletions_test {
namespace {

constexpr int64_t kTimeout = kDeletionTimeoutS;

// Node a is asked for at 0.
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

TEST_F(StartedDeletionsTest, AskingAgainIsTheSameDeletion) {
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

TEST_F(StartedDeletionsTest, NobodyTookItUpEndsItAfterTheTimeoutUnlessItIsAskedForAgain) {
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

TEST_F(StartedDeletionsTest, TimeInDoubtEndsNothingButWhatIsToldToHaveFailed) {
  Update(10, true);
  Update(std::nullopt, false);
  EXPECT_FALSE(Ask(20));
  Update(std::nullopt, false, {{"a", false}});
  EXPECT_TRUE(Ask(20));
}

TEST_F(StartedDeletionsTest, RestoredOnesGoOn) {
  Update(10, true);
  StartedDeletions restored;
  restored.Restore(deletions_.Save(*symbols_), *symbols_);
  EXPECT_EQ(restored.Save(*symbols_), deletions_.Save(*symbols_));
  EXPECT_EQ(restored.Save(*symbols_).at(0).phase, StartedDeletions::Phase::kRunning);
  EXPECT_FALSE(restored.AskFor(snapshot_.catalog().node(NodeId{0}), 20));
}

}  // namespace
}  // namespace ebb::started_deletions_test
