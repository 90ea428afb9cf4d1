#include "base/figures.h"

#include <gtest/gtest.h>

namespace ebb::figures_test {
namespace {

TEST(FiguresTest, SumsInJsonHaveNoNoiseOfBinaryFractions) {
  EXPECT_NE(0.1 + 0.2, 0.3);
  EXPECT_EQ(RoundedAmount(0.1 + 0.2), 0.3);
  EXPECT_EQ(RoundedAmount(157.76000000000002), 157.76);
  EXPECT_EQ(RoundedAmount(150.73888888889272), 150.738889);
  EXPECT_EQ(RoundedAmount(1e300), 1e300);
}

TEST(FiguresTest, ADifferenceHasItsSign) {
  EXPECT_EQ(Signed(1234), "+1,234");
  EXPECT_EQ(Signed(-1), "-1");
  EXPECT_EQ(Signed(0), "0");
}

TEST(FiguresTest, OneIsCountedInTheSingular) {
  EXPECT_EQ(Count(0, "node", "nodes"), "0 nodes");
  EXPECT_EQ(Count(1, "node", "nodes"), "1 node");
  EXPECT_EQ(Count(2000, "node", "nodes"), "2,000 nodes");
}

}  // namespace
}  // namespace ebb::figures_test
