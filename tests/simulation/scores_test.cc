#include "simulation/scores.h"

#include <array>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ebb::scores_test {
namespace {

using testing::ElementsAre;

using Amounts = std::array<int64_t, 2>;

// Expected scores are worked out in the plugins' own tests' comments:
// cpu ((4000-3000)*100/4000) = 25, memory ((10000-5000)*100/10000) = 50, mean 37.
TEST(ScoresTest, LeastAllocatedIsTheMeanOfTheFreePercents) {
  EXPECT_EQ(LeastAllocatedScore(Amounts{3000, 5000}, Amounts{4000, 10000}), 37);
  EXPECT_EQ(LeastAllocatedScore(Amounts{3000, 5000}, Amounts{6000, 10000}), 50);
  EXPECT_EQ(LeastAllocatedScore(Amounts{0, 0}, Amounts{4000, 10000}), 100);
}

TEST(ScoresTest, LeastAllocatedIsZeroForAnOvercommittedResource) {
  EXPECT_EQ(LeastAllocatedScore(Amounts{5000, 5000}, Amounts{4000, 10000}), 25);
}

TEST(ScoresTest, LeastAllocatedDoesNotOverflow) {
  const int64_t large = int64_t{1} << 62;
  EXPECT_EQ(LeastAllocatedScore(Amounts{0, large / 2}, Amounts{large, large}), 75);
}

// cpu fraction 50%, memory fraction 100%: deviation 0.25.
TEST(ScoresTest, BalanceFallsWithTheDeviation) {
  EXPECT_EQ(BalanceOf(Amounts{3000, 5000}, Amounts{6000, 5000}), 75);
  EXPECT_EQ(BalanceOf(Amounts{3000, 5000}, Amounts{6000, 10000}), 100);
  EXPECT_EQ(BalanceOf(Amounts{6000, 0}, Amounts{4000, 10000}), 50);
}

TEST(ScoresTest, BalanceSkipsResourcesThatTheNodeLacks) {
  EXPECT_EQ(BalanceOf(Amounts{3000, 5000}, Amounts{6000, 0}), 100);
}

TEST(ScoresTest, BalancedAllocationComparesBeforeAndAfterThePod) {
  const Amounts all = {10, 10};
  EXPECT_EQ(BalancedAllocationScore(Amounts{5, 5}, Amounts{4, 4}, all), 75);
  EXPECT_EQ(BalancedAllocationScore(Amounts{10, 0}, Amounts{0, 0}, all), 50);
  EXPECT_EQ(BalancedAllocationScore(Amounts{10, 10}, Amounts{10, 0}, all), 100);
}

TEST(ScoresTest, BalanceOfThreeIsByTheirMean) {
  const std::array<int64_t, 3> used = {0, 50, 100};
  const std::array<int64_t, 3> all = {100, 100, 100};
  EXPECT_EQ(BalanceOf(used, all), 59);  // sqrt(0.5 / 3) = 0.408
}

TEST(ScoresTest, OnlyPreferNoScheduleTaintsThatAreNotToleratedCount) {
  const TextId prefer{7};
  const TextId other{8};
  const std::vector<Taint> taints = {{TextId{1}, TextId{2}, prefer, TaintEffect::kOther},
                                     {TextId{3}, TextId{2}, prefer, TaintEffect::kOther},
                                     {TextId{4}, TextId{2}, other, TaintEffect::kNoSchedule}};
  Constraints constraints;
  EXPECT_EQ(IntolerableTaints(constraints, taints, prefer), 2);
  constraints.tolerations.push_back(
      {.key = TextId{1}, .value = kNoText, .exists = true, .effect = kNoText});
  EXPECT_EQ(IntolerableTaints(constraints, taints, prefer), 1);
}

TEST(ScoresTest, PreferredTermsAddTheWeightsOfThoseThatMatch) {
  const std::vector<PreferredTerm> terms = {{10, true}, {50, false}, {1, true}};
  EXPECT_EQ(PreferredTermsScore(terms), 11);
}

TEST(ScoresTest, SpreadCountsPodsByTheLogarithmOfTheDomains) {
  EXPECT_NEAR(SpreadScore(3, 1, SpreadWeight(3)), 3 * 1.6094, 1e-3);
  EXPECT_NEAR(SpreadScore(0, 5, SpreadWeight(3)), 4, 1e-9);
}

TEST(ScoresTest, ImagesCountByTheirSizeAndHowManyNodesHaveThem) {
  const int64_t mib = int64_t{1} << 20;
  // Of the plugin's tests: 250 MB on one of two nodes is 125 MB: 100*(125-23)/(1000-23).
  EXPECT_EQ(ImageLocalityScore(std::vector<ImageOnNode>{{250 * mib, 1}}, 2, 1), 10);
  EXPECT_EQ(ImageLocalityScore(std::vector<ImageOnNode>{{10 * mib, 1}}, 2, 1), 0);
  EXPECT_EQ(ImageLocalityScore(std::vector<ImageOnNode>{{4000 * mib, 2}}, 2, 1), 100);
  EXPECT_EQ(ImageLocalityScore(std::vector<ImageOnNode>{}, 2, 1), 0);
}

TEST(ScoresTest, TheHighestBecomes100OrInReverse0) {
  std::vector<int64_t> scores = {1, 2, 4};
  NormalizeByMax(scores, false);
  EXPECT_THAT(scores, ElementsAre(25, 50, 100));
  scores = {1, 2, 4};
  NormalizeByMax(scores, true);
  EXPECT_THAT(scores, ElementsAre(75, 50, 0));
  scores = {0, 0};
  NormalizeByMax(scores, true);
  EXPECT_THAT(scores, ElementsAre(100, 100));
}

TEST(ScoresTest, SpreadIsNormalizedSoThatTheFewestPodsAreBest) {
  std::vector<int64_t> scores = {2, 4, -1};
  NormalizeSpread(scores);
  EXPECT_THAT(scores, ElementsAre(100, 50, 0));
  scores = {0, 0};
  NormalizeSpread(scores);
  EXPECT_THAT(scores, ElementsAre(100, 100));
}

TEST(ScoresTest, AffinityIsNormalizedFromTheLowestToTheHighest) {
  std::vector<int64_t> scores = {-5, 0, 5};
  NormalizeAffinity(scores);
  EXPECT_THAT(scores, ElementsAre(0, 50, 100));
  scores = {3, 4};
  NormalizeAffinity(scores);
  EXPECT_THAT(scores, ElementsAre(0, 100));
  scores = {3, 3};
  NormalizeAffinity(scores);
  EXPECT_THAT(scores, ElementsAre(0, 0));
}

TEST(ScoresTest, LeastAllocatedSkipsResourcesThatTheNodeLacks) {
  EXPECT_EQ(LeastAllocatedScore(Amounts{3000, 5000}, Amounts{4000, 0}), 25);
  EXPECT_EQ(LeastAllocatedScore(Amounts{3000, 5000}, Amounts{0, 10000}), 50);
  EXPECT_EQ(LeastAllocatedScore(Amounts{0, 0}, Amounts{0, 0}), 0);
  EXPECT_EQ(LeastAllocatedScore(Amounts{4000, 10000}, Amounts{4000, 10000}), 0);
}

TEST(ScoresTest, ResourcesThatTheNodeLacksAreNotInTheMean) {
  const std::array<int64_t, 4> used = {0, 50, 7, 100};
  const std::array<int64_t, 4> all = {100, 100, 0, 100};
  EXPECT_EQ(BalanceOf(used, all), 59);
  const std::array<int64_t, 3> two = {50, 7, 100};
  const std::array<int64_t, 3> of_two = {100, 0, 100};
  EXPECT_EQ(BalanceOf(two, of_two), 75);
}

TEST(ScoresTest, ImagesAreAddedUpAndSharedByTheContainers) {
  const int64_t mib = int64_t{1} << 20;
  const std::vector<ImageOnNode> large = {{1000 * mib, 1}};
  EXPECT_EQ(ImageLocalityScore(large, 1, 1), 100);
  EXPECT_EQ(ImageLocalityScore(large, 1, 0), 100);  // There is one at least.
  EXPECT_EQ(ImageLocalityScore(large, 1, 2), 100 * (1000 - 23) / (2000 - 23));
  const std::vector<ImageOnNode> both = {{300 * mib, 2}, {446 * mib, 1}};
  EXPECT_EQ(ImageLocalityScore(both, 2, 1), 100 * (300 + 223 - 23) / (1000 - 23));
}

TEST(ScoresTest, NodesThatLackAKeyTakeNoPartInTheSpread) {
  std::vector<int64_t> scores = {-1, 6, -1, 10, 8};
  NormalizeSpread(scores);
  EXPECT_THAT(scores, ElementsAre(0, 100, 0, 60, 80));
  scores = {-1, -1};
  NormalizeSpread(scores);
  EXPECT_THAT(scores, ElementsAre(0, 0));
  scores = {};
  NormalizeAffinity(scores);
  EXPECT_THAT(scores, ElementsAre());
}

// Quotients just below a whole number, at sizes on both sides of the limit for doubles.
TEST(ScoresTest, LeastAllocatedRoundsDownAtEverySize) {
  for (int shift = 1; shift < 56; ++shift) {
    for (const int64_t allocatable :
         {(int64_t{1} << shift) - 1, int64_t{1} << shift, (int64_t{1} << shift) + 1}) {
      for (int64_t percent = 0; percent <= 100; ++percent) {
        for (int64_t off = -1; off <= 1; ++off) {
          const int64_t free = allocatable * percent / 100 + off;
          if (free < 0 || free > allocatable) continue;
          const int64_t requested = allocatable - free;
          EXPECT_EQ(LeastAllocatedScore(std::span(&requested, 1), std::span(&allocatable, 1)),
                    free * 100 / allocatable)
              << free << " of " << allocatable;
        }
      }
    }
  }
}

// 0.29 * 100 is less than 29 in floating point.
TEST(ScoresTest, LeastAllocatedIsWorkedOutInWholeNumbers) {
  EXPECT_EQ(LeastAllocatedScore(Amounts{71, 71}, Amounts{100, 100}), 29);
}

TEST(ScoresTest, TaintsOfEffectsThatWereNamedBeforeAndAfterDoNotCount) {
  const TextId prefer{7};
  const std::vector<Taint> taints = {{TextId{1}, TextId{2}, TextId{6}, TaintEffect::kNoExecute},
                                     {TextId{1}, TextId{2}, TextId{8}, TaintEffect::kNoSchedule},
                                     {TextId{1}, TextId{2}, prefer, TaintEffect::kOther}};
  EXPECT_EQ(IntolerableTaints(Constraints(), taints, prefer), 1);
}

}  // namespace
}  // namespace ebb::scores_test
