#include "predicates/pdb_tracker.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::pdb_tracker_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::Pod;

// Pods 0 to 3 are web, web, db and a pod without an app; only the last is in another namespace.
class PdbTrackerTest : public testing::Test {
 protected:
  PdbTracker Track(const std::vector<Budget>& budgets) {
    Cluster cluster;
    for (const Budget& budget : budgets) cluster.Add(budget);
    snapshot_ = cluster.Add(Node("n"))
                    .Add(Pod("web-0").Label("app", "web").On("n"))
                    .Add(Pod("web-1").Label("app", "web").On("n"))
                    .Add(Pod("db").Label("app", "db").On("n"))
                    .Add(Pod("other").Label("app", "web").In("other").On("n"))
                    .Build();
    return PdbTracker(snapshot_.catalog());
  }

  ClusterSnapshot snapshot_;
  const std::vector<PodId> webs_ = {PodId{0}, PodId{1}};
  const std::vector<PodId> all_ = {PodId{0}, PodId{1}, PodId{2}, PodId{3}};
};

TEST_F(PdbTrackerTest, StartsAtDisruptionsAllowed) {
  EXPECT_EQ(Track({Budget("b").Matching("app", "web").Allows(7)}).remaining(PdbId{0}), 7);
}

TEST_F(PdbTrackerTest, PodsWithoutABudgetGoTogether) {
  const PdbTracker::Verdict verdict = Track({}).CanRemovePods(all_);
  EXPECT_TRUE(verdict.can_remove);
  EXPECT_TRUE(verdict.in_parallel);
  EXPECT_EQ(verdict.blocking_pod, kNoPod);
}

TEST_F(PdbTrackerTest, BudgetForEachPodLetsThemGoTogether) {
  const auto verdict = Track({Budget("b").Matching("app", "web").Allows(2)}).CanRemovePods(webs_);
  EXPECT_TRUE(verdict.can_remove);
  EXPECT_TRUE(verdict.in_parallel);
}

TEST_F(PdbTrackerTest, BudgetForFewerLetsThemGoOneByOneAndNamesTheLastPod) {
  const auto verdict = Track({Budget("b").Matching("app", "web").Allows(1)}).CanRemovePods(webs_);
  EXPECT_TRUE(verdict.can_remove);
  EXPECT_FALSE(verdict.in_parallel);
  EXPECT_EQ(verdict.blocking_pod, PodId{1});
  EXPECT_EQ(verdict.pdb, PdbId{0});
}

TEST_F(PdbTrackerTest, SpentBudgetBlocksItsFirstPod) {
  const auto verdict = Track({Budget("b").Matching("app", "web")}).CanRemovePods(all_);
  EXPECT_FALSE(verdict.can_remove);
  EXPECT_FALSE(verdict.in_parallel);
  EXPECT_EQ(verdict.blocking_pod, PodId{0});
}

TEST_F(PdbTrackerTest, SpentBudgetBlocksEvenAfterOneThatMerelySlowsDown) {
  const auto verdict = Track({Budget("slow").Matching("app", "web").Allows(1),
                              Budget("spent").Matching("app", "db")})
                           .CanRemovePods(all_);
  EXPECT_FALSE(verdict.can_remove);
  EXPECT_EQ(verdict.blocking_pod, PodId{2});
  EXPECT_EQ(verdict.pdb, PdbId{1});
}

TEST_F(PdbTrackerTest, FirstSpentBudgetInTheirOrderDecidesNotTheFirstPod) {
  const auto verdict =
      Track({Budget("db").Matching("app", "db"), Budget("web").Matching("app", "web")})
          .CanRemovePods(all_);
  EXPECT_EQ(verdict.blocking_pod, PodId{2});
  EXPECT_EQ(verdict.pdb, PdbId{0});
}

TEST_F(PdbTrackerTest, CheckingSpendsNothing) {
  const PdbTracker tracker = Track({Budget("b").Matching("app", "web").Allows(1)});
  for (int i = 0; i < 3; ++i) (void)tracker.CanRemovePods(webs_);
  EXPECT_EQ(tracker.remaining(PdbId{0}), 1);
}

TEST_F(PdbTrackerTest, RemovingSpendsOnePerPodFromEveryBudgetThatMatches) {
  PdbTracker tracker = Track({Budget("web").Matching("app", "web").Allows(5),
                              Budget("db").Matching("app", "db").Allows(5),
                              Budget("everything").MatchingEverything().Allows(5)});
  tracker.RemovePods(all_);
  EXPECT_EQ(tracker.remaining(PdbId{0}), 3);
  EXPECT_EQ(tracker.remaining(PdbId{1}), 4);
  EXPECT_EQ(tracker.remaining(PdbId{2}), 2);
}

TEST_F(PdbTrackerTest, BudgetGoesBelowZero) {
  PdbTracker tracker = Track({Budget("b").Matching("app", "web").Allows(1)});
  tracker.RemovePods(webs_);
  EXPECT_EQ(tracker.remaining(PdbId{0}), -1);
  EXPECT_FALSE(tracker.CanRemovePods(webs_).can_remove);
}

TEST_F(PdbTrackerTest, ANilSelectorMatchesNoPodAndAnEmptyOneItsNamespace) {
  PdbTracker tracker =
      Track({Budget("nil").Allows(9), Budget("empty").MatchingEverything().Allows(9)});
  tracker.RemovePods(all_);
  EXPECT_EQ(tracker.remaining(PdbId{0}), 9);
  EXPECT_EQ(tracker.remaining(PdbId{1}), 6);
}

TEST_F(PdbTrackerTest, CopyIsIndependent) {
  PdbTracker tracker = Track({Budget("b").Matching("app", "web").Allows(3)});
  PdbTracker copy = tracker;
  copy.RemovePods(webs_);
  EXPECT_EQ(tracker.remaining(PdbId{0}), 3);
  EXPECT_EQ(copy.remaining(PdbId{0}), 1);
}

// Few pods and many pods are sorted by different code.
TEST(PdbTrackerOrderTest, TheFirstSpentBudgetDecidesForAnyNumberOfPods) {
  for (const int count : {2, 100}) {
    Cluster cluster;
    cluster.Add(Budget("db").Matching("app", "db")).Add(Budget("web").Matching("app", "web"));
    cluster.Add(Node("n"));
    std::vector<PodId> pods;
    for (int p = 0; p < count; ++p) {
      const char* app = p % 2 == 0 ? "web" : "db";
      cluster.Add(Pod("p" + std::to_string(p)).Label("app", app).On("n"));
      pods.push_back(PodId{static_cast<uint32_t>(p)});
    }
    const ClusterSnapshot snapshot = cluster.Build();
    const PdbTracker::Verdict verdict = PdbTracker(snapshot.catalog()).CanRemovePods(pods);
    EXPECT_FALSE(verdict.can_remove);
    EXPECT_EQ(verdict.pdb, PdbId{0}) << count;
    EXPECT_EQ(verdict.blocking_pod, PodId{1}) << count;
  }
}

TEST_F(PdbTrackerTest, EachBudgetCountsItsOwnPods) {
  const auto verdict = Track({Budget("web").Matching("app", "web").Allows(2),
                              Budget("db").Matching("app", "db").Allows(1)})
                           .CanRemovePods(all_);
  EXPECT_TRUE(verdict.can_remove);
  EXPECT_TRUE(verdict.in_parallel);
  EXPECT_EQ(verdict.blocking_pod, kNoPod);
}

TEST_F(PdbTrackerTest, TheLastPodOfTheLastSlowingBudgetIsNamed) {
  const auto verdict = Track({Budget("web").Matching("app", "web").Allows(1),
                              Budget("everything").MatchingEverything().Allows(1),
                              Budget("enough").MatchingEverything().Allows(3)})
                           .CanRemovePods(all_);
  EXPECT_TRUE(verdict.can_remove);
  EXPECT_FALSE(verdict.in_parallel);
  EXPECT_EQ(verdict.blocking_pod, PodId{2});
  EXPECT_EQ(verdict.pdb, PdbId{1});
}

}  // namespace
}  // namespace ebb::pdb_tracker_test
