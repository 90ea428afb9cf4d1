#include "search/budget_search.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/random_apps.h"
#include "tests/support/random_seed.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::budget_search_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Dice;
using test::ExpiresAfter;
using test::Name;
using test::Node;
using test::Pod;

// What is asked of one cluster.
struct Asked {
  explicit Asked(const Cluster& cluster, double share = 1) : snapshot(cluster.Build()) {
    groups = test::OneGroup(snapshot);
    request.pass.now_s = test::kPassTime;
    request.pass.max_workload_share = share;
  }
  PackingProblem Problem() const {
    std::vector<NodeId> nodes;
    snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
    return {snapshot, snapshot, groups, request, nodes, {}};
  }

  ClusterSnapshot snapshot;
  NodeGroups groups;
  PlanRequest request;
};

// What a search of 40 steps for each unit chooses.
std::vector<uint32_t> ChooseWithinBudgets(const PackingProblem& problem, uint64_t seed,
                                          const Deadline* deadline = nullptr) {
  BudgetSearch search(problem, /*costs=*/{}, seed);
  search.Begin();
  search.Run(40 * problem.units.size(), deadline);
  return search.Chosen();
}

// Nodes with room for everything, whose pods are of some applications with budgets.
Cluster RandomBudgets(Dice& dice, int nodes) {
  Cluster cluster;
  const int apps = 2 + dice.Below(4);
  for (int n = 0; n < nodes; ++n) {
    cluster.Add(Node(Name("n", n)).Cpu(64'000));
    for (int p = 0; p < 1 + dice.Below(3); ++p) {
      const std::string app = Name("a", dice.Below(apps));
      cluster.Add(Pod(Name("n", n) + Name("-p", p))
                      .On(Name("n", n))
                      .Cpu(10)
                      .Label("app", app)
                      .OwnedBy("ReplicaSet", app));
    }
  }
  for (int a = 0; a < apps; ++a) {
    const std::string app = Name("a", a);
    cluster.Add(Budget(app).Matching("app", app).Allows(dice.Below(5)));
  }
  return cluster;
}

// A set of units, as bits, that something still admits.
struct Admitted {
  explicit Admitted(const PackingProblem& problem) : problem(problem) {}

  bool Takes(uint64_t chosen, size_t unit) const {
    std::vector<int64_t> left(problem.budgets.begin(), problem.budgets.end());
    int64_t nodes = 1;
    for (size_t u = 0; u < problem.units.size(); ++u) {
      if ((chosen >> u & 1) == 0) continue;
      ++nodes;
      for (const PackingSpend& spend : problem.units[u].spends) left[spend.budget] -= spend.pods;
    }
    return nodes <= problem.quotas[0] &&
           std::ranges::all_of(problem.units[unit].spends, [&](const PackingSpend& spend) {
             return left[spend.budget] >= spend.least;
           });
  }

  // The most units, in any order.
  int Most() const {
    std::vector<bool> reached(size_t{1} << problem.units.size());
    reached[0] = true;
    int most = 0;
    for (uint64_t chosen = 0; chosen < reached.size(); ++chosen) {
      if (!reached[chosen]) continue;
      most = std::max(most, std::popcount(chosen));
      for (size_t unit = 0; unit < problem.units.size(); ++unit) {
        if ((chosen >> unit & 1) == 0 && Takes(chosen, unit)) reached[chosen | 1ULL << unit] = true;
      }
    }
    return most;
  }

  const PackingProblem& problem;
};

TEST(BudgetSearchTest, OnSmallClustersItMostlyFindsTheMost) {
  Dice dice(test::RandomSeed());
  int found = 0;
  int most = 0;
  for (int run = 0; run < 150; ++run) {
    Asked asked(RandomBudgets(dice, 9), dice.Percent(30) ? 0.5 : 1);
    if (dice.Percent(20)) asked.groups.groups[0].min_size = dice.Below(9);
    const PackingProblem problem = asked.Problem();
    const std::vector<uint32_t> units = ChooseWithinBudgets(problem, static_cast<uint64_t>(run));
    const Admitted admitted(problem);
    uint64_t chosen = 0;
    for (const uint32_t unit : units) {
      ASSERT_TRUE(admitted.Takes(chosen, unit)) << "run " << run;
      chosen |= 1ULL << unit;
    }
    const int best = admitted.Most();
    ASSERT_LE(static_cast<int>(units.size()), best) << "run " << run;
    found += static_cast<int>(units.size());
    most += best;
  }
  EXPECT_GE(found * 100, most * 98);
}

TEST(BudgetSearchTest, WithoutBudgetsAllMayGo) {
  const Asked asked(Cluster().Add(Node("a")).Add(Node("b")));
  EXPECT_EQ(ChooseWithinBudgets(asked.Problem(), 1).size(), 2u);
}

TEST(BudgetSearchTest, AStepTakesWhatAnEarlierStepLeftRoomForInItsGroup) {
  const auto pod = [](std::string_view name, std::string_view node, std::string_view app) {
    return Pod(name).On(node).Cpu(10).Label("app", app).OwnedBy("ReplicaSet", app);
  };
  Asked asked(Cluster()
                  .Add(Node("cheap"))
                  .Add(Node("dear"))
                  .Add(Node("other"))
                  .Add(pod("x-1", "cheap", "x"))
                  .Add(pod("x-2", "dear", "x"))
                  .Add(pod("x-3", "dear", "x"))
                  .Add(pod("y-1", "other", "y"))
                  .Add(pod("y-2", "other", "y"))
                  .Add(Budget("x").Matching("app", "x").Allows(1))
                  .Add(Budget("y").Matching("app", "y").Allows(1)));
  // One of `cheap` and `dear` may go for their budget, one of `cheap` and `other` for their group.
  NodeGroups& groups = asked.groups;
  groups.groups.resize(2);
  groups.groups[0].target_size = 2;
  groups.groups[0].min_size = 1;
  groups.groups[1].name = "group of dear";
  groups.groups[1].target_size = 1;
  groups.group_of[Index(test::NodeNamed(asked.snapshot, "dear"))] = GroupId{1};
  const PackingProblem problem = asked.Problem();
  const auto chosen = [&](const Deadline* deadline) {
    std::vector<NodeId> nodes;
    for (const uint32_t unit : ChooseWithinBudgets(problem, 3, deadline)) {
      nodes.push_back(problem.units[unit].nodes[0]);
    }
    return nodes;
  };
  const ExpiresAfter now(0);
  EXPECT_EQ(chosen(&now), test::NodesNamed(asked.snapshot, {"cheap"}));
  EXPECT_EQ(chosen(nullptr), test::NodesNamed(asked.snapshot, {"dear", "other"}));
}

TEST(BudgetSearchTest, TheSameSeedChoosesTheSame) {
  Dice dice(7);
  const Asked asked(RandomBudgets(dice, 60));
  const PackingProblem problem = asked.Problem();
  EXPECT_EQ(ChooseWithinBudgets(problem, 3), ChooseWithinBudgets(problem, 3));
}

TEST(BudgetSearchTest, ADeadlineThatIsOverLeavesWhatWasChosenAtFirst) {
  Dice dice(7);
  const Asked asked(RandomBudgets(dice, 60));
  const PackingProblem problem = asked.Problem();
  const ExpiresAfter now(0);
  const std::vector<uint32_t> first = ChooseWithinBudgets(problem, 3, &now);
  EXPECT_FALSE(first.empty());
  EXPECT_LE(first.size(), ChooseWithinBudgets(problem, 3).size());
}

// One of `a`, `b` and `c` may go, whatever else goes.
TEST(BudgetSearchTest, ASearchBeginsWithWhatItsCallerChooses) {
  Cluster cluster;
  for (const char* const node : {"a", "b", "c"}) {
    cluster.Add(Node(node)).Add(Pod(std::string("of-") + node).On(node).Cpu(10).Label("app", "x"));
  }
  cluster.Add(Node("free")).Add(Budget("x").Matching("app", "x").Allows(1));
  const Asked asked(cluster);
  const PackingProblem problem = asked.Problem();
  ASSERT_EQ(problem.units.size(), 4u);
  BudgetSearch search(problem, std::vector<double>{3, 1, 2, 4}, 1);
  EXPECT_EQ(search.worth(), 0);
  search.Begin();
  EXPECT_EQ(search.Chosen(), (std::vector<uint32_t>{1, 3}));  // The cheapest first.
  search.Begin(std::vector<uint32_t>{3, 2, 0});
  EXPECT_EQ(search.Chosen(), (std::vector<uint32_t>{3, 2}));
  EXPECT_EQ(search.worth(), 2);
  search.Ban(2);
  EXPECT_EQ(search.Chosen(), std::vector<uint32_t>{3});
  search.Run(100);
  EXPECT_EQ(search.worth(), 2);
  EXPECT_EQ(std::ranges::count(search.Chosen(), 2u), 0);
  search.Begin(std::vector<uint32_t>{2});
  EXPECT_EQ(search.Chosen(), (std::vector<uint32_t>{2, 3}));
}

// Units of one node each, whose pods are of applications with budgets.
using Names = std::vector<std::string>;

class BudgetChoiceTest : public ::testing::Test {
 protected:
  void AddPods(std::string_view node, std::string_view app, int pods) {
    for (int p = 0; p < pods; ++p) {
      cluster_.Add(Pod(std::string(node) + "-" + std::string(app) + "-" + std::to_string(p))
                       .On(node)
                       .Cpu(10)
                       .Label("app", app)
                       .OwnedBy("ReplicaSet", app));
    }
  }
  // The names of the nodes in the order in which they were chosen.
  std::vector<std::string> Chosen(const std::vector<int64_t>& worth, double share = 1) {
    const Asked& asked = asked_.emplace(cluster_, share);
    std::vector<NodeId> nodes;
    asked.snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
    const PackingProblem problem(asked.snapshot, asked.snapshot, asked.groups, asked.request, nodes,
                                 worth);
    std::vector<std::string> chosen;
    for (const uint32_t unit : ChooseWithinBudgets(problem, 1)) {
      chosen.emplace_back(asked.snapshot.catalog().NodeName(problem.units[unit].nodes[0]));
    }
    return chosen;
  }

  Cluster cluster_;
  std::optional<Asked> asked_;
};

// `light` spends less of the budget for what it is worth, and comes first.
TEST_F(BudgetChoiceTest, AUnitThatIsWorthMoreTakesTheDisruptionOfAnother) {
  cluster_.Add(Node("light")).Add(Node("heavy"));
  AddPods("light", "x", 1);
  AddPods("heavy", "x", 6);
  cluster_.Add(Budget("x").Matching("app", "x").Allows(1));
  EXPECT_EQ(Chosen({1, 5}), (Names{"heavy"}));
  EXPECT_EQ(Chosen({3, 2}), (Names{"light"}));
}

// The budget admits `heavy` after `light`, and not the other way round.
TEST_F(BudgetChoiceTest, AUnitThatWasGivenUpGoesAfterTheOneThatItMadeRoomFor) {
  cluster_.Add(Node("heavy")).Add(Node("light"));
  AddPods("heavy", "x", 3);
  AddPods("light", "x", 1);
  cluster_.Add(Budget("x").Matching("app", "x").Allows(2));
  EXPECT_EQ(Chosen({4, 1}), (Names{"light", "heavy"}));
}

// Of six pods three may go.  `large` costs a budget of its own as well.
TEST_F(BudgetChoiceTest, AUnitMayTakeTheShareOfThreeOthers) {
  for (const char* const node : {"s1", "s2", "s3"}) {
    cluster_.Add(Node(node));
    AddPods(node, "x", 1);
  }
  cluster_.Add(Node("large"));
  AddPods("large", "x", 3);
  for (int p = 0; p < 10; ++p) {
    cluster_.Add(Pod("y-" + std::to_string(p))
                     .On("large")
                     .Label("app", "y")
                     .OwnedBy("ReplicaSet", "y-" + std::to_string(p)));
  }
  cluster_.Add(Budget("y").Matching("app", "y").Allows(10));
  EXPECT_EQ(Chosen({1, 1, 1, 4}, 0.5), (Names{"large"}));
}

// `large` comes first, and what it spends does for all three others, which cost more.
TEST_F(BudgetChoiceTest, OthersTakeWhatAUnitThatWasGivenUpHadSpent) {
  for (const char* const node : {"s1", "s2", "s3"}) {
    cluster_.Add(Node(node));
    AddPods(node, "x", 1);
    cluster_.Add(Pod(std::string("z-") + node)
                     .On(node)
                     .Label("app", "z")
                     .OwnedBy("ReplicaSet", std::string("z-") + node));
  }
  cluster_.Add(Node("large"));
  AddPods("large", "x", 3);
  cluster_.Add(Budget("z").Matching("app", "z").Allows(3));
  Names chosen = Chosen({2, 2, 2, 4}, 0.5);
  std::ranges::sort(chosen);
  EXPECT_EQ(chosen, (Names{"s1", "s2", "s3"}));
}

TEST_F(BudgetChoiceTest, WithoutAQuotaNothingIsChosen) {
  cluster_.Add(Node("a")).Add(Node("b"));
  Asked asked(cluster_);
  asked.groups.groups[0].min_size = 2;
  EXPECT_TRUE(ChooseWithinBudgets(asked.Problem(), 1).empty());
  asked.groups.groups[0].min_size = 1;
  EXPECT_EQ(ChooseWithinBudgets(asked.Problem(), 1).size(), 1u);
}

}  // namespace
}  // namespace ebb::budget_search_test
