#include "simulation/budget_keeper.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::budget_keeper_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Budgets = std::vector<size_t>;

class BudgetKeeperTest : public testing::Test {
 protected:
  // Three pods, all healthy, and as many disruptions as the status says.
  void AddBudget(int64_t allowed) {
    ASSERT_TRUE(
        keeper_.Add(test::Budget("web").Matching("app", "web").Allows(allowed).raw, symbols_).ok());
    const Budgets last = {keeper_.size() - 1};
    keeper_.Want(last, 3);
    keeper_.Heal(last, 3);
  }
  LabelSet Labels(std::string_view app) { return InternLabels({{"app", app}}, symbols_); }

  Symbols symbols_;
  BudgetKeeper keeper_;
};

TEST_F(BudgetKeeperTest, MatchesByNamespaceAndLabels) {
  AddBudget(1);
  const TextId home = symbols_.Intern("default");
  EXPECT_THAT(keeper_.Matching(home, Labels("web")), ElementsAre(0));
  EXPECT_THAT(keeper_.Matching(home, Labels("db")), IsEmpty());
  EXPECT_THAT(keeper_.Matching(symbols_.Intern("other"), Labels("web")), IsEmpty());
}

TEST_F(BudgetKeeperTest, AllowsWhatTheStatusAllowedAndOneLessForEachMissingPod) {
  AddBudget(1);
  keeper_.Settle();
  EXPECT_EQ(keeper_.Allowed(0), 1);
  EXPECT_TRUE(keeper_.MayEvict(Budgets{0}));
  keeper_.Heal(Budgets{0}, -1);
  EXPECT_EQ(keeper_.Allowed(0), 0);
  EXPECT_FALSE(keeper_.MayEvict(Budgets{0}));
  keeper_.Heal(Budgets{0}, 1);
  EXPECT_TRUE(keeper_.MayEvict(Budgets{0}));
}

TEST_F(BudgetKeeperTest, PodsThatAreMissingAtFirstMayStayMissing) {
  AddBudget(0);
  keeper_.Heal(Budgets{0}, -1);
  keeper_.Settle();
  EXPECT_EQ(keeper_.Desired(0), 2);
  EXPECT_EQ(keeper_.Allowed(0), 0);
}

TEST_F(BudgetKeeperTest, ABudgetFollowsHowManyPodsAreWanted) {
  AddBudget(1);
  keeper_.Settle();
  keeper_.Want(Budgets{0}, -1);
  EXPECT_EQ(keeper_.Allowed(0), 2);  // One of the three is to go.
  keeper_.Heal(Budgets{0}, -1);
  EXPECT_EQ(keeper_.Allowed(0), 1);
}

TEST_F(BudgetKeeperTest, APodOfSeveralBudgetsIsNeverEvicted) {
  AddBudget(3);
  AddBudget(3);
  keeper_.Settle();
  EXPECT_FALSE(keeper_.MayEvict(Budgets{0, 1}));
  EXPECT_TRUE(keeper_.MayEvict(Budgets{}));
}

TEST_F(BudgetKeeperTest, TakeChangedReturnsEveryChangeOnce) {
  AddBudget(1);
  keeper_.Settle();
  EXPECT_THAT(keeper_.TakeChanged(), ElementsAre(0));
  EXPECT_THAT(keeper_.TakeChanged(), IsEmpty());
  keeper_.Heal(Budgets{0}, -1);
  EXPECT_THAT(keeper_.TakeChanged(), ElementsAre(0));
}

TEST_F(BudgetKeeperTest, FiguresAreNeverBelowZero) {
  AddBudget(-2);
  AddBudget(5);
  keeper_.Settle();
  EXPECT_EQ(keeper_.Desired(0), 3);
  EXPECT_EQ(keeper_.Allowed(0), 0);
  EXPECT_EQ(keeper_.Desired(1), 0);  // All three, and two more, may be missing.
  EXPECT_EQ(keeper_.Allowed(1), 3);
  keeper_.Heal(Budgets{0, 1}, -1);
  EXPECT_EQ(keeper_.Allowed(0), 0);
  EXPECT_FALSE(keeper_.MayEvict(Budgets{0}));
  EXPECT_EQ(keeper_.Allowed(1), 2);
  keeper_.Want(Budgets{0, 1}, 4);
  EXPECT_EQ(keeper_.Desired(0), 7);
  EXPECT_EQ(keeper_.Desired(1), 2);
  EXPECT_EQ(keeper_.Allowed(1), 0);
}

TEST_F(BudgetKeeperTest, PodsThatAreTooManyAtFirstAreNotMissing) {
  AddBudget(1);
  keeper_.Want(Budgets{0}, -1);
  keeper_.Settle();
  EXPECT_EQ(keeper_.Desired(0), 1);
  EXPECT_EQ(keeper_.Allowed(0), 2);
}

TEST_F(BudgetKeeperTest, TakeChangedReturnsEveryBudgetFirstAndThenOnlyChangedOnes) {
  AddBudget(0);
  AddBudget(1);
  keeper_.Settle();
  EXPECT_THAT(keeper_.TakeChanged(), ElementsAre(0, 1));
  keeper_.Heal(Budgets{1}, -1);
  EXPECT_THAT(keeper_.TakeChanged(), ElementsAre(1));
  keeper_.Heal(Budgets{0}, -1);  // Nothing was allowed before, and nothing is.
  EXPECT_THAT(keeper_.TakeChanged(), IsEmpty());
}

TEST_F(BudgetKeeperTest, ASelectorThatCannotBeReadIsRefused) {
  test::Budget budget("wrong");
  budget.raw.selector = test::SelectEverything();
  budget.raw.selector.match_expressions = {{"app", "Like", {"web"}}};
  EXPECT_EQ(keeper_.Add(budget.raw, symbols_).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(keeper_.size(), 0u);
}

TEST_F(BudgetKeeperTest, BudgetsMatchByNamespaceAndLabelsAmongSeveral) {
  const TextId earlier = symbols_.Intern("earlier");
  for (const test::Budget& budget :
       {test::Budget("x").In("earlier").MatchingEverything(),
        test::Budget("y").Matching("app", "web"), test::Budget("z").Matching("app", "db"),
        test::Budget("w").MatchingEverything()}) {
    ASSERT_TRUE(keeper_.Add(budget.raw, symbols_).ok());
  }
  EXPECT_THAT(keeper_.Matching(symbols_.Intern("default"), Labels("web")), ElementsAre(1, 3));
  EXPECT_THAT(keeper_.Matching(earlier, Labels("web")), ElementsAre(0));
}

}  // namespace
}  // namespace ebb::budget_keeper_test
