#include "search/frontier.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "engine/verify/verify.h"
#include "search/worth.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::frontier_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

// Nodes n1 to n4 have as many pods as their names say; `host` has room for six of the ten.
class FrontierTest : public ::testing::Test {
 protected:
  FrontierTest() { Make(Nodes(6000)); }
  static Cluster Nodes(int64_t host_cpu) {
    Cluster cluster;
    for (int n = 1; n <= 4; ++n) {
      const std::string node = "n" + std::to_string(n);
      cluster.Add(Node(node).Cpu(4000));
      for (int p = 0; p < n; ++p) {
        cluster.Add(Pod(node + "-" + std::to_string(p)).On(node).Cpu(400));
      }
    }
    cluster.Add(Node("host").Cpu(host_cpu)).Add(Pod("of-host").On("host").Cpu(3600));
    return cluster;
  }
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.pass.now_s = test::kPassTime;
    hourly_.assign(snapshot_->catalog().nodes(), 1);
    options_.iterations = 5;
  }
  Frontier Find() { return FindFrontier(*snapshot_, groups_, request_, hourly_, options_).value(); }

  // Pods that move, each once however often.
  static size_t Evicted(std::span<const RemovableNode> nodes) {
    std::set<PodId> pods;
    for (const RemovableNode& node : nodes) {
      for (const Move& move : node.moves) pods.insert(move.pod);
    }
    return pods.size();
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  std::vector<double> hourly_;
  SearchOptions options_;
};

TEST_F(FrontierTest, MoreEvictionsBringMoreNodes) {
  const Frontier frontier = Find();
  ASSERT_FALSE(frontier.points.empty());
  EXPECT_EQ(frontier.points.front().evicted, 1u);  // n1's.
  EXPECT_EQ(frontier.points.front().nodes, 1u);
  for (size_t i = 1; i < frontier.points.size(); ++i) {
    EXPECT_GT(frontier.points[i].evicted, frontier.points[i - 1].evicted);
    EXPECT_GT(frontier.points[i].worth, frontier.points[i - 1].worth);
  }
  EXPECT_EQ(frontier.points.back().nodes, 3u);
}

TEST_F(FrontierTest, InStepsEachFrontierIsAtLeastAsGoodAndTheLastIsTheResult) {
  std::vector<std::vector<FrontierPoint>> steps;
  const auto keep = [&](std::span<const FrontierPoint> so_far) {
    steps.emplace_back(so_far.begin(), so_far.end());
  };
  const Frontier frontier =
      FindFrontier(*snapshot_, groups_, request_, hourly_, options_, Parallelism::One(), {}, keep)
          .value();
  ASSERT_EQ(steps.size(), 1 + kFrontierSearches);
  const auto worth_within = [](const std::vector<FrontierPoint>& points, size_t evictions) {
    double worth = 0;
    for (const FrontierPoint& point : points) {
      if (point.evicted <= evictions) worth = point.worth;
    }
    return worth;
  };
  for (size_t i = 1; i < steps.size(); ++i) {
    for (size_t evictions = 0; evictions <= 10; ++evictions) {
      EXPECT_GE(worth_within(steps[i], evictions), worth_within(steps[i - 1], evictions));
    }
  }
  ASSERT_EQ(steps.back().size(), frontier.points.size());
  const Frontier whole = Find();
  ASSERT_EQ(whole.points.size(), frontier.points.size());
  for (size_t i = 0; i < whole.points.size(); ++i) {
    for (const FrontierPoint& point : {steps.back()[i], frontier.points[i]}) {
      EXPECT_EQ(point.evicted, whole.points[i].evicted);
      EXPECT_EQ(point.nodes, whole.points[i].nodes);
    }
  }
}

// Only one of the two can go.  `heavy` is worth more; where a move has its price, `light` is.
TEST_F(FrontierTest, PricesOfMovesFindPlansOfFewEvictions) {
  Cluster cluster;
  cluster.Add(Node("heavy").Cpu(4000)).Add(Node("light").Cpu(1300)).Add(Node("host").Cpu(4000));
  for (int p = 0; p < 10; ++p) {
    cluster.Add(Pod("of-heavy-" + std::to_string(p)).On("heavy").Cpu(100));
  }
  cluster.Add(Pod("of-light").On("light").Cpu(600)).Add(Pod("of-host").On("host").Cpu(3000));
  Make(cluster);
  request_.order = CandidateOrder::kInput;
  hourly_ = {2, 1, 1};
  options_.iterations = 200;
  const Frontier frontier = Find();
  ASSERT_EQ(frontier.points.size(), 2u);
  EXPECT_EQ(frontier.points[0].evicted, 1u);
  EXPECT_EQ(frontier.points[0].worth, 1);
  EXPECT_EQ(frontier.points[1].evicted, 10u);
  EXPECT_EQ(frontier.points[1].worth, 2);
}

TEST_F(FrontierTest, EveryPointIsAPlanThatHolds) {
  const Frontier frontier = Find();
  for (const FrontierPoint& point : frontier.points) {
    PlanResult made = frontier.plans[point.plan];
    CutPlan(*snapshot_, groups_, request_, point.nodes, Termination::kEvictionLimit, made);
    EXPECT_EQ(made.plan.remove.size(), point.nodes);
    EXPECT_TRUE(
        Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, made), made.plan)
            .ok());
  }
}

TEST_F(FrontierTest, WorthIsCountedInWhatNodesCost) {
  hourly_ = {0.5, 0, 3, 0, 0};  // n1 and n3; the others are worth nothing.
  const Frontier frontier = Find();
  ASSERT_FALSE(frontier.points.empty());
  EXPECT_DOUBLE_EQ(frontier.points.back().worth, 3.5);
  EXPECT_EQ(frontier.points.back().nodes, 2u);
  EXPECT_EQ(frontier.points.back().evicted, 4u);
}

TEST_F(FrontierTest, AnAtomicGroupGoesWithAllOfItsNodes) {
  Make(Nodes(8000));
  groups_.groups[0].atomic = true;
  NodeGroup& host = groups_.groups.emplace_back();
  host.name = "host";
  host.min_size = host.target_size = 1;
  groups_.group_of[4] = GroupId{1};
  groups_.groups[0].target_size = 4;
  const Frontier frontier = Find();
  ASSERT_EQ(frontier.points.size(), 1u);
  EXPECT_EQ(frontier.points[0].nodes, 4u);
}

TEST_F(FrontierTest, TheBestWithinALimitIsTheLastThatKeepsIt) {
  const Frontier frontier = Find();
  EXPECT_EQ(BestWithin(frontier, 0), nullptr);
  for (size_t evictions = 1; evictions < 12; ++evictions) {
    const FrontierPoint* const best = BestWithin(frontier, evictions);
    ASSERT_NE(best, nullptr);
    EXPECT_LE(best->evicted, evictions);
    for (const FrontierPoint& point : frontier.points) {
      if (point.evicted <= evictions) {
        EXPECT_LE(point.worth, best->worth);
      }
    }
  }
}

TEST_F(FrontierTest, APlanIsCutBeforeItEvictsTooMany) {
  for (size_t evictions = 0; evictions < 12; ++evictions) {
    PlanResult made = MakePlan(*snapshot_, groups_, request_).value();
    const std::vector<RemovableNode> all = made.plan.remove;
    CutToEvictions(*snapshot_, groups_, request_, evictions, made);
    const size_t evicted = Evicted(made.plan.remove);
    EXPECT_LE(evicted, evictions);
    const size_t left = made.plan.remove.size();
    EXPECT_EQ(made.plan.termination,
              left == all.size() ? Termination::kComplete : Termination::kEvictionLimit);
    if (left < all.size()) {
      EXPECT_GT(Evicted(std::span(all).first(left + 1)), evictions);
    }
  }
}

// The plan that was asked for is among those that the frontier is made of.
TEST_F(FrontierTest, IsNowhereBelowTheRequestedPlan) {
  options_.iterations = 0;
  const Frontier frontier = Find();
  for (size_t evictions = 1; evictions < 12; ++evictions) {
    PlanResult made = MakePlan(*snapshot_, groups_, request_).value();
    CutToEvictions(*snapshot_, groups_, request_, evictions, made);
    EXPECT_GE(BestWithin(frontier, evictions)->worth, static_cast<double>(made.plan.remove.size()));
  }
}

TEST_F(FrontierTest, WithoutRemovableNodesThereAreNoPoints) {
  Make(Cluster().Add(Node("a")).Add(Pod("p").On("a").Cpu(3000)));
  EXPECT_TRUE(Find().points.empty());
}

TEST_F(FrontierTest, PricesAndDeadlinesThatDoNotFitAreRefused) {
  const auto message_of = [&](std::span<const Deadline* const> ends = {}) {
    return std::string(
        FindFrontier(*snapshot_, groups_, request_, hourly_, options_, Parallelism::One(), ends)
            .status()
            .message());
  };
  const std::vector<const Deadline*> one(1);
  EXPECT_EQ(message_of(one), "ends: has 1 entries, not none or 7");
  for (const auto& [price, text] : {std::pair(-1.0, "-1"), std::pair(2e6, "2e+06"),
                                    std::pair(std::numeric_limits<double>::quiet_NaN(), "nan")}) {
    hourly_[2] = price;
    EXPECT_EQ(message_of(), std::string("hourly[2]: ") + text + " is not from 0 to 1e+06");
  }
  hourly_.pop_back();
  EXPECT_EQ(message_of(), "hourly: has 4 entries for 5 nodes");
}

// A host with room for two of the pods of a, b and c beside the pod that waits.
class PendingFrontierTest : public FrontierTest {
 protected:
  PendingFrontierTest() {
    Cluster cluster;
    for (const char* const name : {"a", "b", "c"}) {
      cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(510));
    }
    cluster.Add(Node("host").Cpu(6000).Label("host", "1"));
    cluster.Add(Pod("of-host").On("host").Cpu(4400).WithoutOwner());
    Make(cluster.Add(Pod("waits").Cpu(500).NodeSelector("host", "1")));
    request_.planner.scale_down_utilization_threshold = 0.6;
    pending_ = test::PodsNamed(*snapshot_, {"waits"});
    options_.iterations = 2;
  }
  Frontier FindPending(std::span<const Deadline* const> ends = {}) {
    request_.pass.pending = pending_;
    return FindFrontier(*snapshot_, groups_, request_, hourly_, options_, Parallelism::One(), ends)
        .value();
  }
  std::vector<PodId> pending_;
};

// A node is worth one pod: where a move costs less than that, the bound, which knows of no pod that
// waits, stays above what is found.  At higher prices no node is worth it.
TEST_F(PendingFrontierTest, TheIterationsOfAllSearchesAreCounted) {
  const Frontier frontier = FindPending();
  EXPECT_EQ(frontier.iterations, 4u * 2);
  EXPECT_EQ(frontier.plans.size(), 2 * (1 + kFrontierSearches));
  ASSERT_EQ(frontier.points.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(frontier.points[i].evicted, i + 1);
    EXPECT_EQ(frontier.points[i].nodes, i + 1);
    EXPECT_EQ(frontier.points[i].worth, static_cast<double>(i + 1));
    EXPECT_EQ(BestWithin(frontier, i + 1), &frontier.points[i]);
  }
  EXPECT_EQ(BestWithin(frontier, 99), &frontier.points[1]);
}

TEST_F(PendingFrontierTest, EachSearchHasADeadlineOfItsOwn) {
  CancelToken over;
  over.Cancel();
  options_.deadline = &over;  // Which those of the searches replace.
  std::vector<const Deadline*> ends(kFrontierSearches, &over);
  EXPECT_EQ(FindPending(ends).iterations, 0u);
  ends[0] = nullptr;
  EXPECT_EQ(FindPending(ends).iterations, 2u);
  ends[3] = nullptr;
  EXPECT_EQ(FindPending(ends).iterations, 4u);
  ends[4] = nullptr;  // There a move costs all that a node is worth.
  EXPECT_EQ(FindPending(ends).iterations, 4u);
  EXPECT_EQ(FindPending().iterations, 0u);
}

TEST_F(FrontierTest, WorthAndOnBetterOfTheOptionsAreIgnored) {
  const std::vector<int64_t> worth = {7};
  options_.worth = worth;
  int calls = 0;
  options_.on_better = [&](const PlanResult&, int64_t) { ++calls; };
  EXPECT_FALSE(Find().points.empty());
  EXPECT_EQ(calls, 0);
}

TEST_F(FrontierTest, PricesMayBeTheLeastAndTheMost) {
  hourly_.assign(hourly_.size(), kHourlyMax);
  EXPECT_FALSE(Find().points.empty());
  hourly_.assign(hourly_.size(), 0);
  EXPECT_TRUE(FindFrontier(*snapshot_, groups_, request_, hourly_, options_).ok());
}

TEST_F(FrontierTest, APodThatMovesOnWithItsHostIsEvictedOnce) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(1000))
           .Add(Node("c").Cpu(1000))
           .Add(Pod("p").On("a").Cpu(100))
           .Add(Pod("bare").On("c").Cpu(100).WithoutOwner()));
  request_.order = CandidateOrder::kInput;
  const PlanResult plan = MakePlan(*snapshot_, groups_, request_).value();
  ASSERT_EQ(plan.plan.remove.size(), 2u) << test::Removals(*snapshot_, plan.plan);
  PlanResult made = plan;
  CutToEvictions(*snapshot_, groups_, request_, 1, made);
  EXPECT_EQ(made.plan.remove.size(), 2u);
  EXPECT_EQ(made.plan.termination, Termination::kComplete);
  made = plan;
  CutToEvictions(*snapshot_, groups_, request_, 0, made);
  EXPECT_EQ(made.plan.remove.size(), 0u);
  EXPECT_EQ(made.plan.termination, Termination::kEvictionLimit);
  const Frontier frontier = Find();
  ASSERT_EQ(frontier.points.size(), 2u);  // b alone evicts none.
  EXPECT_EQ(frontier.points[0].evicted, 0u);
  EXPECT_EQ(frontier.points[0].nodes, 1u);
  EXPECT_EQ(frontier.points[1].evicted, 1u);
  EXPECT_EQ(frontier.points[1].nodes, 2u);
}

// One pod each: no price of a move separates all of the nodes, as 1 to 1.3 are near each other.
TEST_F(FrontierTest, WithEqualEvictionsTheWorthiestNodesGoFirst) {
  Cluster cluster;
  for (const char* const name : {"n1", "n2", "n3", "n4"}) {
    cluster.Add(Node(name).Cpu(4000)).Add(Pod(std::string("of-") + name).On(name).Cpu(400));
  }
  cluster.Add(Node("host").Cpu(6000));
  Make(cluster.Add(Pod("bare").On("host").Cpu(100).WithoutOwner()));
  hourly_ = {1.0, 1.1, 1.2, 1.3, 1.0};
  const Frontier frontier = Find();
  const std::vector<double> worth = {1.3, 2.5, 3.6, 4.6};
  ASSERT_EQ(frontier.points.size(), worth.size());
  for (size_t i = 0; i < worth.size(); ++i) {
    EXPECT_EQ(frontier.points[i].evicted, i + 1);
    EXPECT_EQ(frontier.points[i].nodes, i + 1);
    EXPECT_NEAR(frontier.points[i].worth, worth[i], 1e-9);
  }
}

// t1 and t2 go together, and at every price that takes f1 and f2 they go as well.
TEST_F(FrontierTest, APartOfAPlanBeforeItsAtomicGroupBeginsIsAPointToo) {
  Cluster cluster;
  for (const char* const name : {"f1", "f2", "t1", "t2"}) {
    cluster.Add(Node(name).Cpu(4000)).Add(Pod(std::string("of-") + name).On(name).Cpu(400));
  }
  cluster.Add(Node("cheap").Cpu(4000));
  for (int p = 0; p < 4; ++p) {
    cluster.Add(Pod("of-cheap-" + std::to_string(p)).On("cheap").Cpu(400));
  }
  cluster.Add(Node("host").Cpu(8000));
  Make(cluster.Add(Pod("bare").On("host").Cpu(100).WithoutOwner()));
  hourly_ = {1.3, 1.2, 1.1, 1.1, 1.0, 1.0};
  groups_.groups[0].target_size = 4;
  NodeGroup& atomic = groups_.groups.emplace_back();
  atomic.name = "atomic";
  atomic.target_size = 2;
  atomic.atomic = true;
  for (const NodeId node : test::NodesNamed(*snapshot_, {"t1", "t2"})) {
    groups_.group_of[Index(node)] = GroupId{1};
  }
  const Frontier frontier = Find();
  ASSERT_GE(frontier.points.size(), 3u);
  EXPECT_EQ(frontier.points[0].evicted, 1u);
  EXPECT_EQ(frontier.points[0].nodes, 1u);
  EXPECT_NEAR(frontier.points[0].worth, 1.3, 1e-9);
  EXPECT_EQ(frontier.points[1].evicted, 2u);
  EXPECT_EQ(frontier.points[1].nodes, 2u);
  EXPECT_NEAR(frontier.points[1].worth, 2.5, 1e-9);
  EXPECT_EQ(frontier.points.back().evicted, 8u);
  EXPECT_EQ(frontier.points.back().nodes, 5u);
  EXPECT_NEAR(frontier.points.back().worth, 5.7, 1e-9);
}

}  // namespace
}  // namespace ebb::frontier_test
