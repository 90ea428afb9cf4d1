#include "search/relaxation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/support/random_apps.h"
#include "tests/support/random_seed.h"

namespace ebb::relaxation_test {
namespace {

using test::Dice;
using test::ExpiresAfter;

// The upper bound that prices give, computed again.
double BoundOf(const std::vector<LimitShares>& limits, const std::vector<double>& worth,
               const std::vector<double>& prices) {
  std::vector<double> left = worth;
  double bound = 0;
  for (size_t l = 0; l < limits.size(); ++l) {
    bound += prices[l];
    for (const auto& [choice, share] : limits[l]) left[choice] -= prices[l] * share;
  }
  for (const double each : left) bound += std::max(0.0, each);
  return bound;
}

double WorthOf(const std::vector<double>& worth, const std::vector<double>& solution) {
  double sum = 0;
  for (size_t c = 0; c < worth.size(); ++c) sum += worth[c] * solution[c];
  return sum;
}

// Three choices, and each excludes the other two.  A half of each is best.
TEST(RelaxationTest, FindsAFractionalSolutionAndItsPrices) {
  const std::vector<LimitShares> limits = {{{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{0, 1}, {2, 1}}};
  const std::vector<double> worth = {4, 4, 4};
  const Relaxation found = SolveRelaxation(limits, worth, nullptr);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(found.solution[i], 0.5, 1e-6);
    EXPECT_NEAR(found.prices[i], 2, 1e-6);
  }
}

TEST(RelaxationTest, WithoutLimitsEverythingIsChosen) {
  const Relaxation found = SolveRelaxation({}, std::vector<double>{1, 2}, nullptr);
  EXPECT_EQ(found.solution, (std::vector<double>{1, 1}));
  EXPECT_TRUE(found.prices.empty());
  EXPECT_TRUE(SolveRelaxation({}, {}, nullptr).solution.empty());
}

TEST(RelaxationTest, ADeadlineThatIsOverLeavesPricesOfZero) {
  const ExpiresAfter now(0);
  const std::vector<LimitShares> limits = {{{0, 1}, {1, 1}}};
  const Relaxation found = SolveRelaxation(limits, std::vector<double>{1, 1}, &now);
  EXPECT_EQ(found.prices, std::vector<double>{0});
  EXPECT_EQ(found.solution, (std::vector<double>{0, 0}));
}

// A price of at least 0 for each limit, a solution that hardly exceeds the limits, and both worth
// nearly the same: so both are nearly the best.
TEST(RelaxationTest, PricesAndSolutionProveEachOther) {
  Dice dice(test::RandomSeed());
  for (int run = 0; run < 60; ++run) {
    const auto choices = static_cast<uint32_t>(2 + dice.Below(40));
    std::vector<double> worth;
    for (uint32_t c = 0; c < choices; ++c) worth.push_back(1 + dice.Below(1000));
    std::vector<LimitShares> limits(static_cast<size_t>(1 + dice.Below(30)));
    for (LimitShares& limit : limits) {
      for (uint32_t c = 0; c < choices; ++c) {
        if (dice.Percent(30)) limit.emplace_back(c, 1.0 / (1 + dice.Below(6)));
      }
    }
    const Relaxation found = SolveRelaxation(limits, worth, nullptr);
    const double bound = BoundOf(limits, worth, found.prices);
    EXPECT_NEAR(WorthOf(worth, found.solution), bound, 0.03 * bound) << "run " << run;
    for (size_t l = 0; l < limits.size(); ++l) {
      EXPECT_GE(found.prices[l], 0);
      double taken = 0;
      for (const auto& [choice, share] : limits[l]) taken += share * found.solution[choice];
      EXPECT_LE(taken, 1.05) << "run " << run;
    }
  }
}

}  // namespace
}  // namespace ebb::relaxation_test
