#include "search/search.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/plan/limits.h"
#include "engine/verify/verify.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "search/worth.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::search_test {
namespace {

using test::Cluster;
using test::ExpiresAfter;
using test::Node;
using test::Pod;
using ::testing::HasSubstr;

class SearchTest : public ::testing::Test {
 protected:
  // Tried as given, `wide` takes all the room of `host`, which would do for each of the three
  // others.
  void SetUp() override {
    Cluster cluster;
    cluster.Add(Node("wide").Cpu(4000)).Add(Pod("of-wide").On("wide").Cpu(1500));
    for (const char* const name : {"a", "b", "c"}) {
      cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(510));
    }
    cluster.Add(Node("host").Cpu(6000)).Add(Pod("of-host").On("host").Cpu(4400));
    Make(cluster);
  }
  void Make(const Cluster& cluster) {
    snapshot_.emplace(cluster.Build());
    groups_ = test::OneGroup(*snapshot_);
    request_.order = CandidateOrder::kInput;
    request_.pass.now_s = test::kPassTime;
    request_.planner.scale_down_utilization_threshold = 0.6;
  }
  SearchResult Search() { return OptimizePlan(*snapshot_, groups_, request_, options_).value(); }
  std::string Names(const Plan& plan) const {
    std::string names;
    for (const RemovableNode& removal : plan.remove) {
      names +=
          (names.empty() ? "" : " ") + std::string(snapshot_->catalog().NodeName(removal.node));
    }
    return names;
  }

  std::optional<ClusterSnapshot> snapshot_;
  NodeGroups groups_;
  PlanRequest request_;
  SearchOptions options_;
};

TEST_F(SearchTest, FindsMoreNodesThanTheRequestedOrder) {
  EXPECT_EQ(Names(MakePlan(*snapshot_, groups_, request_)->plan), "wide");
  const SearchResult found = Search();
  EXPECT_EQ(found.greedy_worth, 1);
  EXPECT_EQ(found.worth, 3);
  EXPECT_EQ(Names(found.best.plan), "a b c");
  // Nodes that stay have a reason.
  ASSERT_EQ(found.best.plan.keep.size(), 2u);
}

TEST_F(SearchTest, WorthDecidesBetweenNodes) {
  const std::vector<int64_t> worth = {4, 1, 1, 1, 1};
  options_.worth = worth;
  const SearchResult found = Search();
  EXPECT_EQ(found.worth, 4);
  EXPECT_EQ(Names(found.best.plan), "wide");
}

TEST_F(SearchTest, ANodeThatIsWorthNothingStays) {
  const std::vector<int64_t> worth = {-5, 1, 0, 1, 1};
  options_.worth = worth;
  const SearchResult found = Search();
  EXPECT_EQ(found.greedy_worth, -5);
  EXPECT_EQ(found.greedy_nodes, 1u);
  EXPECT_EQ(found.worth, 2);
  EXPECT_EQ(Names(found.best.plan), "a c");
}

TEST_F(SearchTest, IfNoNodeIsWorthItThePlanIsEmpty) {
  const std::vector<int64_t> worth(5, -1);
  options_.worth = worth;
  const SearchResult found = Search();
  EXPECT_EQ(found.worth, 0);
  EXPECT_EQ(found.bound, std::nullopt);
  EXPECT_EQ(Names(found.best.plan), "");
}

TEST_F(SearchTest, ThePriceOfMovesIsSubtractedFromTheCostOfANode) {
  const std::vector<double> hourly = {1, 0.5, 0.5, 0.5, 2};
  const std::vector<int64_t> worth =
      WorthOfNodes(*snapshot_, groups_, request_, hourly, /*move_cost=*/0.2);
  EXPECT_EQ(
      worth[0],
      1'000'000 - 200'000 * static_cast<int64_t>(
                                snapshot_->PodsOn(test::NodeNamed(*snapshot_, "wide")).size()));
  EXPECT_EQ(worth[4], 2'000'000);  // No plan removes it.
}

// Each zone has room for 1000 and three nodes.  In half of them the one that is worth most for its
// size is wrong, in the others the smallest: no order of all nodes finds the best of every zone,
// and some have to come back.
TEST_F(SearchTest, NodesReturnIfOthersAreWorthMore) {
  struct Unit {
    int64_t cpu;
    int64_t worth;
  };
  const std::vector<std::vector<Unit>> zones = {{{600, 14}, {500, 11}, {500, 11}},
                                                {{400, 1}, {500, 5}, {500, 5}}};
  Cluster cluster;
  std::vector<int64_t> worth;
  for (int z = 0; z < 8; ++z) {
    const std::string zone = std::to_string(z);
    for (const auto& [cpu, of_it] : zones[static_cast<size_t>(z % 2)]) {
      const std::string name = zone + "-" + std::to_string(worth.size());
      cluster.Add(Node(name).Cpu(cpu + 100).Label("zone", zone));
      cluster.Add(Pod("of-" + name).On(name).Cpu(cpu).NodeSelector("zone", zone));
      worth.push_back(of_it);
    }
    cluster.Add(Node("host-" + zone).Cpu(1010).Label("zone", zone));
    cluster.Add(Pod("of-host-" + zone).On("host-" + zone).Cpu(10).WithoutOwner());
    worth.push_back(1);
  }
  Make(cluster);
  request_.planner.scale_down_utilization_threshold = 1;
  options_.worth = worth;
  options_.iterations = 3000;
  EXPECT_EQ(Search().worth, 4 * 22 + 4 * 10);
}

// A search beside deletions: their pods have spent the budget, and nothing lands where they were.
TEST_F(SearchTest, EvictionsUnderWayAreSpentAndTheirNodesTakeNoPods) {
  const std::string since = std::to_string(test::kPassTime - 60);
  const auto found = [&](int64_t allowed) {
    Make(Cluster()
             .Add(Node("a").Cpu(1000))
             .Add(Node("b").Cpu(1000))
             .Add(Node("goes").Cpu(9000).Taint("ToBeDeletedByClusterAutoscaler", since))
             .Add(Node("host").Cpu(9000))
             .Add(Pod("of-a").On("a").Cpu(100).Label("app", "web").ToleratesEverything())
             .Add(Pod("of-b").On("b").Cpu(100).Label("app", "web").ToleratesEverything())
             .Add(Pod("displaced").On("goes").Cpu(100).Label("app", "web"))
             .Add(Pod("of-host").On("host").Cpu(8000))
             .Add(test::Budget("web").Matching("app", "web").Allows(allowed)));
    options_.iterations = 50;
    const SearchResult made = OptimizePlan(*snapshot_, groups_, request_, options_).value();
    for (const RemovableNode& removal : made.best.plan.remove) {
      for (const Move& move : removal.moves) {
        EXPECT_NE(move.to, test::NodeNamed(*snapshot_, "goes"));
      }
    }
    request_ = PlanRequest();
    return made.best.plan.remove.size();
  };
  EXPECT_EQ(found(1), 0u);
  EXPECT_EQ(found(2), 1u);
  EXPECT_EQ(found(3), 2u);
}

TEST_F(SearchTest, ADeadlineThatIsOverLeavesTheGreedyPlan) {
  const ExpiresAfter now(0);
  options_.deadline = &now;
  const SearchResult found = Search();
  EXPECT_EQ(Names(found.best.plan), "wide");
  EXPECT_EQ(found.iterations, 0u);
  EXPECT_EQ(found.end, SearchEnd::kDeadline);
}

// A caller that stops at the first better plan gets that plan, verified.
TEST_F(SearchTest, ACancelledSearchReturnsTheBestSoFar) {
  CancelToken token;
  options_.deadline = &token;
  options_.on_better = [&](const PlanResult& plan, int64_t) {
    if (plan.plan.remove.size() > 1) token.Cancel();
  };
  const SearchResult found = Search();
  EXPECT_EQ(found.worth, 3);
  EXPECT_EQ(found.iterations, 0u);
  EXPECT_TRUE(Verify(*snapshot_, groups_, request_.planner, LastPassInput(request_, found.best),
                     found.best.plan)
                  .ok());
}

TEST_F(SearchTest, ASearchThatIsCancelledBeforeItBeginsLeavesTheGreedyPlan) {
  CancelToken token;
  token.Cancel();
  options_.deadline = &token;
  EXPECT_EQ(Names(Search().best.plan), "wide");
}

TEST_F(SearchTest, TheEarlierOfTwoDeadlinesEnds) {
  const ExpiresAfter now(0);
  CancelToken token;
  const FirstDeadline both(&token, &now);
  EXPECT_TRUE(both.Expired());
  const FirstDeadline one(&token, nullptr);
  EXPECT_FALSE(one.Expired());
  token.Cancel();
  EXPECT_TRUE(one.Expired());
}

// Two pods of the workload run on `wide` and `a`: one of them may move.
TEST_F(SearchTest, NoMoreOfAWorkloadMovesThanItsShare) {
  Cluster cluster;
  for (const char* const name : {"a", "b", "c", "d"}) {
    cluster.Add(Node(name).Cpu(1000))
        .Add(Pod(std::string("web-") + name).On(name).Cpu(100).OwnedBy("ReplicaSet", "web"));
  }
  Make(cluster.Add(Node("host").Cpu(1000)).Add(Pod("of-host").On("host").Cpu(610)));
  EXPECT_EQ(Search().worth, 3);
  request_.pass.max_workload_share = 0.3;  // 2 of 4.
  const SearchResult found = Search();
  EXPECT_EQ(found.worth, 2);
  EXPECT_EQ(found.bound, 2);
  EXPECT_EQ(Names(found.best.plan), "a b");
}

// `a` uses the disruption without need for it, so `b` can go only before `a`.
TEST_F(SearchTest, ANodeThatNeedsNoBudgetGoesAfterThoseThatDo) {
  const auto web = [](const char* name, const char* node) {
    return Pod(name).On(node).Cpu(10).Label("app", "web").OwnedBy("ReplicaSet", "web");
  };
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(1000))
           .Add(Node("host").Cpu(1000))
           .Add(web("of-a", "a").SafeToEvict("true"))
           .Add(web("of-b", "b").Cpu(20))
           .Add(Pod("of-host").On("host").Cpu(700))
           .Add(test::Budget("web").Matching("app", "web").Allows(1)));
  EXPECT_EQ(Names(MakePlan(*snapshot_, groups_, request_)->plan), "a");
  const SearchResult found = Search();
  EXPECT_EQ(Names(found.best.plan), "b a");
  EXPECT_EQ(found.bound, 2);
  EXPECT_EQ(found.end, SearchEnd::kBoundReached);
}

// Wherever it ends, the plan is verified (OptimizePlan would say so) and no worse.
TEST_F(SearchTest, ASearchMayEndAnywhere) {
  for (int questions = 0; questions < 40; ++questions) {
    const ExpiresAfter deadline(questions);
    options_.deadline = &deadline;
    const SearchResult found = Search();
    EXPECT_GE(found.worth, 1);
    EXPECT_EQ(static_cast<int64_t>(found.best.plan.remove.size()), found.worth);
  }
}

TEST_F(SearchTest, ReportsEachBetterPlan) {
  std::vector<int64_t> worths;
  options_.on_better = [&](const PlanResult& plan, int64_t worth) {
    EXPECT_EQ(static_cast<int64_t>(plan.plan.remove.size()), worth);
    worths.push_back(worth);
  };
  Search();
  ASSERT_GE(worths.size(), 2u);
  EXPECT_EQ(worths.front(), 1);
  EXPECT_EQ(worths.back(), 3);
  EXPECT_TRUE(std::ranges::is_sorted(worths));
}

TEST_F(SearchTest, APlanAsGoodAsItsBoundEndsTheSearch) {
  options_.iterations = 1'000'000;
  options_.iterations_without_gain = 1'000'000;
  const SearchResult found = Search();
  EXPECT_EQ(found.iterations, 0u);
  EXPECT_EQ(found.bound, found.worth);
  EXPECT_EQ(found.end, SearchEnd::kBoundReached);
}

TEST_F(SearchTest, ALimitThatEndsTheGreedyPlanEndsTheSearch) {
  request_.pass.unneeded_limit = FirstPassLimit(1);
  const SearchResult found = Search();
  const PlanResult greedy = MakePlan(*snapshot_, groups_, request_).value();
  EXPECT_EQ(Names(found.best.plan).empty(), Names(greedy.plan).empty());
  EXPECT_GE(found.worth, static_cast<int64_t>(greedy.plan.remove.size()));
}

TEST_F(SearchTest, AClusterWithoutCandidatesHasItsGreedyPlan) {
  groups_.group_of.assign(groups_.group_of.size(), kNoGroup);
  const SearchResult found = Search();
  EXPECT_EQ(found.worth, 0);
  EXPECT_EQ(found.end, SearchEnd::kNothingToSearch);
  EXPECT_EQ(found.best.excluded.size(), 5u);
}

TEST_F(SearchTest, WrongInputIsNamed) {
  const std::vector<int64_t> worth = {1, 2};
  options_.worth = worth;
  const auto status = [&] {
    return std::string(OptimizePlan(*snapshot_, groups_, request_, options_).status().message());
  };
  EXPECT_EQ(status(), "worth: has 2 entries, and the catalog has 5 nodes");
  options_.worth = {};
  const std::vector<Move> suggestions = {{PodId{0}, NodeId{9}}};
  request_.suggestions = suggestions;
  EXPECT_EQ(status(), "suggestions[0]: there is no node 9, the catalog has 5");
  const std::vector<Move> twice = {{PodId{0}, NodeId{1}}, {PodId{0}, NodeId{2}}};
  request_.suggestions = twice;
  EXPECT_THAT(status(), HasSubstr("suggestions[1]"));
}

// A suggestion is where a pod goes if it fits there, and nothing otherwise.
TEST_F(SearchTest, SuggestionsAreTriedFirst) {
  Make(Cluster()
           .Add(Node("a").Cpu(1000))
           .Add(Node("b").Cpu(4000))
           .Add(Node("c").Cpu(4000))
           .Add(Node("tiny").Cpu(10))
           .Add(Pod("p").On("a").Cpu(100)));
  const std::vector<NodeId> candidates = test::NodesNamed(*snapshot_, {"a"});
  request_.candidates = &candidates;
  const auto with = [&](const char* node) {
    const std::vector<Move> suggestions = {
        {test::PodNamed(*snapshot_, "p"), test::NodeNamed(*snapshot_, node)}};
    request_.suggestions = suggestions;
    return test::Removals(*snapshot_, MakePlan(*snapshot_, groups_, request_)->plan);
  };
  EXPECT_EQ(with("c"), "a: p>c");
  EXPECT_EQ(with("b"), "a: p>b");
  EXPECT_EQ(with("tiny"), "a: p>b");
}

TEST_F(SearchTest, NodesGoInTheOrderOfWhatTheirPodsRequest) {
  Cluster cluster;
  cluster.Add(Node("wide").Cpu(4000)).Add(Pod("of-wide").On("wide").Cpu(1500));
  for (const auto& [name, cpu] : {std::pair("a", 530), std::pair("b", 510), std::pair("c", 520)}) {
    cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(cpu));
  }
  Make(cluster.Add(Node("host").Cpu(6000)).Add(Pod("of-host").On("host").Cpu(4400)));
  const SearchResult found = Search();
  EXPECT_EQ(found.worth, 3);
  EXPECT_EQ(Names(found.best.plan), "b c a");
}

TEST_F(SearchTest, OnlyCandidatesOfTheRequestGo) {
  const std::vector<NodeId> candidates = test::NodesNamed(*snapshot_, {"wide", "b", "a"});
  request_.candidates = &candidates;
  const SearchResult found = Search();
  EXPECT_EQ(found.greedy_worth, 1);
  EXPECT_EQ(found.worth, 2);
  std::string names = Names(found.best.plan);
  EXPECT_TRUE(names == "a b" || names == "b a") << names;
  EXPECT_TRUE(found.best.plan.skipped.empty());
}

TEST_F(SearchTest, ThePassesAreDoneOnce) {
  for (const bool search : {true, false}) {
    int calls = 0;
    request_.on_passes_done = [&] { ++calls; };
    CancelToken over;
    if (!search) over.Cancel();
    options_.deadline = &over;
    Search();
    EXPECT_EQ(calls, 1) << search;
  }
}

TEST_F(SearchTest, EachReportedPlanIsBetterThanTheOneBefore) {
  std::vector<int64_t> worths;
  options_.on_better = [&](const PlanResult&, int64_t worth) { worths.push_back(worth); };
  EXPECT_EQ(Search().worth, 3);
  EXPECT_EQ(std::ranges::adjacent_find(worths, std::greater_equal()), worths.end());
}

TEST_F(SearchTest, AGreedyPlanThatItsOwnDeadlineEndsIsNotSearched) {
  CancelToken over;
  over.Cancel();
  request_.pass.deadline = &over;
  int calls = 0;
  options_.on_better = [&](const PlanResult&, int64_t) { ++calls; };
  const SearchResult found = Search();
  EXPECT_EQ(found.best.plan.termination, Termination::kDeadline);
  EXPECT_EQ(found.worth, 0);
  EXPECT_EQ(found.iterations, 0u);
  EXPECT_EQ(found.bound, std::nullopt);
  EXPECT_EQ(found.end, SearchEnd::kDeadline);
  EXPECT_EQ(calls, 1);
}

TEST_F(SearchTest, WorthWhoseSumsDoNotFitIsRefused) {
  constexpr int64_t kMost = INT64_MAX;
  const auto status = [&](const std::vector<int64_t>& worth) {
    options_.worth = worth;
    return std::string(OptimizePlan(*snapshot_, groups_, request_, options_).status().message());
  };
  for (const std::vector<int64_t>& worth :
       {std::vector<int64_t>{kMost, 1, 0, 0, 0}, std::vector<int64_t>{0, 0, -kMost, 0, -1},
        std::vector<int64_t>{0, -1, kMost, 0, 0}, std::vector<int64_t>{INT64_MIN, 0, 0, 0, 0}}) {
    EXPECT_EQ(status(worth), "worth: its sums may have more than 64 bits");
  }
  EXPECT_EQ(status({0, 0, 0, 0, 0, 0}), "worth: has 6 entries, and the catalog has 5 nodes");
  EXPECT_EQ(status({kMost, 0, 0, 0, 0}), "");
}

// The pending pod leaves `host` room for two of three.
class PendingSearchTest : public SearchTest {
 protected:
  void SetUp() override {
    Cluster cluster;
    for (const char* const name : {"a", "b", "c"}) {
      cluster.Add(Node(name).Cpu(1000)).Add(Pod(std::string("of-") + name).On(name).Cpu(510));
    }
    cluster.Add(Node("host").Cpu(6000).Label("host", "1"));
    cluster.Add(Pod("of-host").On("host").Cpu(4400).WithoutOwner());
    Make(cluster.Add(Pod("waits").Cpu(500).NodeSelector("host", "1")));
    pending_ = test::PodsNamed(*snapshot_, {"waits"});
  }
  SearchResult SearchWithPending() {
    request_.pass.pending = pending_;
    return OptimizePlan(*snapshot_, groups_, request_, options_).value();
  }
  std::vector<PodId> pending_;
};

TEST_F(PendingSearchTest, APendingPodHasItsRoomFirst) {
  options_.iterations = 2;
  const SearchResult without = Search();
  EXPECT_EQ(without.worth, 3);
  EXPECT_EQ(without.iterations, 0u);  // As many as the bound says.
  const SearchResult found = SearchWithPending();
  EXPECT_EQ(found.worth, 2);
  EXPECT_EQ(found.bound, 3);  // It does not know of pods that wait.
  ASSERT_EQ(found.best.plan.packed.size(), 1u);
  EXPECT_EQ(found.best.plan.packed[0].pod, pending_[0]);
}

TEST_F(PendingSearchTest, ASearchEndsAfterItsIterationsOrAsManyWithoutGain) {
  const auto ends_after = [&](SearchEnd end) {
    const SearchResult found = SearchWithPending();
    EXPECT_EQ(found.end, end);
    return found.iterations;
  };
  options_.iterations = 2;
  EXPECT_EQ(ends_after(SearchEnd::kIterations), 2u);
  options_.iterations = 0;
  EXPECT_EQ(ends_after(SearchEnd::kIterations), 0u);
  options_.iterations = 100;
  options_.iterations_without_gain = 3;
  EXPECT_EQ(ends_after(SearchEnd::kNoGain), 3u);
}

// The bound does not know of the pending pod, so no plan reaches it.
TEST_F(PendingSearchTest, ASearchThatCannotReachItsBoundUsesUpItsTime) {
  options_.iterations = std::numeric_limits<uint64_t>::max();
  options_.iterations_without_gain = options_.iterations;
  // Each call looks at the clock some hundred times.
  const ExpiresAfter deadline(100'000);
  options_.deadline = &deadline;
  const SearchResult found = SearchWithPending();
  EXPECT_EQ(found.worth, 2);
  EXPECT_EQ(found.end, SearchEnd::kDeadline);
  EXPECT_GT(found.iterations, 100u);  // Far more than bring no gain; lanes have begun again.
}

TEST_F(PendingSearchTest, LanesThatBeginAgainFindTheSameAtAnyNumberOfThreads) {
  options_.iterations = 150;
  options_.iterations_without_gain = 150;
  request_.pass.pending = pending_;
  const auto names = [&](size_t threads) {
    const Parallelism parallelism(threads);
    const SearchResult found =
        OptimizePlan(*snapshot_, groups_, request_, options_, parallelism).value();
    EXPECT_EQ(found.iterations, 150u);
    return Names(found.best.plan);
  };
  EXPECT_EQ(names(1), names(3));
}

}  // namespace
}  // namespace ebb::search_test
