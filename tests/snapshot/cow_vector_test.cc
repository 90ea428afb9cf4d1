#include "snapshot/cow_vector.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace ebb::cow_vector_test {
namespace {

using Vector = CowVector<int, 4>;

Vector Counting(size_t size) {
  Vector v;
  v.Resize(size);
  for (size_t i = 0; i < size; ++i) v.Mutable(i) = static_cast<int>(i);
  return v;
}

TEST(CowVectorTest, HoldsElementsAroundTheEdgeOfAPage) {
  for (const size_t size : {0, 1, 3, 4, 5, 8, 9}) {
    const Vector v = Counting(size);
    ASSERT_EQ(v.size(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(v[i], static_cast<int>(i)) << size;
  }
}

TEST(CowVectorTest, UnwrittenPagesAreOneSharedPage) {
  Vector v;
  v.Resize(12);
  EXPECT_EQ(v.Run(0), v.Run(4));
  v.Mutable(5) = 1;
  EXPECT_NE(v.Run(0), v.Run(4));
  EXPECT_EQ(v.Run(0), v.Run(8));
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(v[i], i == 5 ? 1 : 0);
  const Vector copy = v;
  v.Mutable(0) = 2;
  v.Mutable(8) = 3;
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(copy[i], i == 5 ? 1 : 0);
  v.Resize(20);
  EXPECT_EQ(v[8], 3);
  EXPECT_EQ(v[16], 0);
}

TEST(CowVectorTest, AWriteIsSeenByOneCopyOnly) {
  Vector a = Counting(9);
  Vector b = a;
  b.Mutable(3) = 100;
  a.Mutable(4) = 200;
  EXPECT_EQ(a[3], 3);
  EXPECT_EQ(b[3], 100);
  EXPECT_EQ(a[4], 200);
  EXPECT_EQ(b[4], 4);
}

TEST(CowVectorTest, CopiesShareAPageUntilOneOfThemWrites) {
  Vector a = Counting(8);
  Vector b = a;
  EXPECT_EQ(a.Run(0), b.Run(0));
  b.Mutable(0) = 7;
  EXPECT_NE(a.Run(0), b.Run(0));
  EXPECT_EQ(a.Run(4), b.Run(4));  // The other page is still shared.
}

TEST(CowVectorTest, AnUnsharedPageIsWrittenInPlace) {
  Vector a = Counting(4);
  const int* page = a.Run(0);
  {
    const Vector gone = a;
  }
  a.Mutable(0) = 1;
  EXPECT_EQ(a.Run(0), page);
}

TEST(CowVectorTest, GrowingWithinASharedPageKeepsTheOtherCopy) {
  Vector a = Counting(3);
  const Vector b = a;
  a.Resize(6);
  a.Mutable(3) = 33;
  a.Mutable(5) = 55;
  EXPECT_EQ(a[3], 33);
  EXPECT_EQ(a[4], 0);
  EXPECT_EQ(b.size(), 3u);
  EXPECT_EQ(b[2], 2);
}

TEST(CowVectorTest, MovingLeavesAnEmptyVectorThatCanBeUsedAgain) {
  Vector a = Counting(5);
  Vector b = std::move(a);
  EXPECT_EQ(b[4], 4);
  EXPECT_EQ(a.size(), 0u);  // NOLINT(bugprone-use-after-move): what is tested.
  a = b;
  EXPECT_EQ(a[4], 4);
}

TEST(CowVectorTest, ElementsWithMemoryOfTheirOwnAreCopiedDeep) {
  CowVector<std::string, 2> a;
  a.Resize(2);
  a.Mutable(0) = std::string(100, 'a');
  CowVector<std::string, 2> b = a;
  b.Mutable(0) += "b";
  EXPECT_EQ(a[0], std::string(100, 'a'));
  EXPECT_EQ(b[0], std::string(100, 'a') + "b");
}

}  // namespace
}  // namespace ebb::cow_vector_test
