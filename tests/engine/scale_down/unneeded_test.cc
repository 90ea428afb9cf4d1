#include "engine/scale_down/unneeded.h"

#include <optional>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::unneeded_test {
namespace {

class UnneededTimersTest : public testing::Test {
 protected:
  Plan Removing(const std::vector<std::string_view>& names,
                const std::vector<std::string_view>& skipped = {}) {
    Plan plan;
    for (const std::string_view name : names) {
      plan.remove.emplace_back().node = test::NodeNamed(snapshot_, name);
    }
    for (const std::string_view name : skipped) {
      plan.skipped.push_back(test::NodeNamed(snapshot_, name));
    }
    return plan;
  }
  void Update(const Plan& plan, int64_t now_s, SkippedTimer skipped = SkippedTimer::kLost) {
    timers_.Update(snapshot_.catalog(), plan, now_s, skipped);
  }

  std::optional<int64_t> Since(std::string_view node) {
    return timers_.Since(symbols().Intern(node));
  }
  Symbols& symbols() { return *snapshot_.catalog().shared_symbols(); }

  ClusterSnapshot snapshot_ = test::Cluster().Add(test::Node("a")).Add(test::Node("b")).Build();
  UnneededTimers timers_;
};

TEST_F(UnneededTimersTest, NodeKeepsItsTimeWhileItIsRemovable) {
  Update(Removing({"a"}), 100);
  Update(Removing({"a", "b"}), 200);
  EXPECT_EQ(Since("a"), 100);
  EXPECT_EQ(Since("b"), 200);
}

TEST_F(UnneededTimersTest, ANodeThatReturnsRestartsItsTimer) {
  Update(Removing({"a"}), 100);
  Update(Removing({}), 200);
  EXPECT_EQ(Since("a"), std::nullopt);
  Update(Removing({"a"}), 300);
  EXPECT_EQ(Since("a"), 300);
}

TEST_F(UnneededTimersTest, SkippedNodeLosesItsTimerAsInTheAutoscaler) {
  Update(Removing({"a"}), 100);
  Update(Removing({}, {"a"}), 200, SkippedTimer::kLost);
  Update(Removing({"a"}), 300, SkippedTimer::kLost);
  EXPECT_EQ(Since("a"), 300);
}

TEST_F(UnneededTimersTest, SkippedNodeMayKeepItsTimerAndIsNotUnneededMeanwhile) {
  Update(Removing({"a"}), 100);
  Update(Removing({}, {"a"}), 200, SkippedTimer::kKept);
  EXPECT_EQ(Since("a"), std::nullopt);
  EXPECT_EQ(timers_.size(), 0u);
  Update(Removing({"a"}), 300, SkippedTimer::kKept);
  EXPECT_EQ(Since("a"), 100);
}

TEST_F(UnneededTimersTest, SkippedNodeWithoutATimerGetsNone) {
  Update(Removing({}, {"a"}), 100, SkippedTimer::kKept);
  EXPECT_TRUE(timers_.Save(symbols()).empty());
}

TEST_F(UnneededTimersTest, SavedTimersComeBackSorted) {
  Update(Removing({"b", "a"}), 100);
  const auto saved = timers_.Save(symbols());
  ASSERT_EQ(saved.size(), 2u);
  EXPECT_EQ(saved[0].node, "a");
  UnneededTimers restored;
  restored.Restore(saved, symbols());
  EXPECT_EQ(restored.Since(symbols().Intern("b")), 100);
  EXPECT_EQ(restored.size(), 2u);
}

TEST_F(UnneededTimersTest, SkippedNodesKeepTheirTimersAndMissingNodesLoseTheirs) {
  Update(Removing({"a", "b"}), 100);
  Update(Removing({"a"}, {"b"}), 200, SkippedTimer::kKept);
  EXPECT_EQ(timers_.size(), 1u);
  EXPECT_EQ(timers_.Save(symbols()),
            (std::vector<UnneededTimers::Timer>{{"a", "", 100, true}, {"b", "", 100, false}}));
  Update(Removing({}, {"a"}), 300, SkippedTimer::kKept);
  EXPECT_EQ(timers_.Save(symbols()), (std::vector<UnneededTimers::Timer>{{"a", "", 100, false}}));
  EXPECT_EQ(timers_.size(), 0u);
}

TEST_F(UnneededTimersTest, AnotherMachineOfASkippedNodesNameKeepsItsTimerOnlyWithKeepsTimer) {
  const ClusterSnapshot other =
      test::Cluster(snapshot_.catalog().shared_symbols())
          .Add(test::Node("a").With([](objects::Node& node) { node.meta.uid = "2"; }))
          .Build();
  for (const ReturnedNode returned : {ReturnedNode::kRestarts, ReturnedNode::kKeepsTimer}) {
    Update(Removing({"a"}), 100);
    Plan plan;
    plan.skipped.push_back(test::NodeNamed(other, "a"));
    timers_.Update(other.catalog(), plan, 200, SkippedTimer::kKept, returned);
    std::vector<UnneededTimers::Timer> want;
    if (returned == ReturnedNode::kKeepsTimer) want.push_back({"a", "2", 100, false});
    EXPECT_EQ(timers_.Save(symbols()), want);
    timers_.Clear();
    EXPECT_TRUE(timers_.Save(symbols()).empty());
  }
}

TEST_F(UnneededTimersTest, RestoredTimersThatWereNotCheckedDoNotCount) {
  const std::vector<UnneededTimers::Timer> saved = {{"a", "", 100, true}, {"b", "", 50, false}};
  Update(Removing({"b"}), 300);
  timers_.Restore(saved, symbols());
  EXPECT_EQ(timers_.size(), 1u);
  EXPECT_EQ(Since("a"), 100);
  EXPECT_EQ(Since("b"), std::nullopt);
  EXPECT_EQ(timers_.Save(symbols()), saved);
  Update(Removing({"b"}), 400);
  EXPECT_EQ(Since("b"), 50);
}

}  // namespace
}  // namespace ebb::unneeded_test
