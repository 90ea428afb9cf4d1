#include "daemon/memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/sanitized.h"

namespace ebb::memory_test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Symptom: after one large call, a daemon with --max-memory rejected all changes permanently.
TEST(MemoryTest, MemoryThatIsFreeIsGivenBackBeforeALimitIsExceeded) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer's allocator keeps what is freed";
  const uint64_t before = ResidentBytes();
  ASSERT_GT(before, 0U);
  constexpr size_t kBlock = 4096;
  std::vector<std::unique_ptr<char[]>> blocks;
  while (blocks.size() * kBlock < 200 * kMiB) {
    blocks.push_back(std::make_unique<char[]>(kBlock));  // Zeroed: resident.
  }
  const auto last = std::make_unique<char[]>(kBlock);  // Keeps the heap from shrinking.
  blocks.clear();
  const uint64_t limit = before + 100 * kMiB;
  ASSERT_GT(ResidentBytes(), limit);
  EXPECT_LE(ResidentBytesWithin(limit), limit);
}

// Symptom: a daemon kept 2 GB although 2 MB were in use.  Free memory was returned in the middle of
// a peak, and memory that was freed later stayed.
TEST(ReturnPolicyTest, MemoryThatIsFreedAfterALookIsGivenBackAtALaterOne) {
  ReturnPolicy policy;
  policy.Returned(30 * kMiB, 20 * kMiB);
  ASSERT_TRUE(policy.IsDue(2000 * kMiB));
  EXPECT_FALSE(policy.Wants(2000 * kMiB, 1990 * kMiB));  // All of it is in use.
  int looks = 1;
  // The memory is freed now, which the resident size does not show.
  while (!policy.IsDue(2000 * kMiB)) ++looks;
  EXPECT_LE(looks, 2);
  EXPECT_TRUE(policy.Wants(2000 * kMiB, 20 * kMiB));
  policy.Returned(40 * kMiB, 20 * kMiB);
  EXPECT_FALSE(policy.Wants(40 * kMiB, 20 * kMiB));
}

TEST(ReturnPolicyTest, ChecksThatFreeNothingBecomeRarer) {
  ReturnPolicy policy;
  policy.Returned(1000 * kMiB, 990 * kMiB);
  int asked = 0;
  for (int look = 0; look < 1000; ++look) {
    if (!policy.IsDue(1000 * kMiB)) continue;
    ++asked;
    EXPECT_FALSE(policy.Wants(1000 * kMiB, 990 * kMiB));
  }
  EXPECT_LT(asked, 100);
  EXPECT_GE(asked, 1000 / ReturnPolicy::kLooksSkippedMax);
  EXPECT_TRUE(policy.IsDue(1000 * kMiB + 2 * ReturnPolicy::kBytesMin));  // It has grown.
}

// If a trim cannot return free memory, it must not be repeated for that.
TEST(ReturnPolicyTest, MemoryThatCannotBeGivenBackIsLeftAlone) {
  ReturnPolicy policy;
  EXPECT_TRUE(policy.Wants(1000 * kMiB, 100 * kMiB));
  policy.Returned(900 * kMiB, 100 * kMiB);
  EXPECT_FALSE(policy.Wants(910 * kMiB, 100 * kMiB));
  EXPECT_TRUE(policy.Wants(1100 * kMiB, 100 * kMiB));
}

}  // namespace
}  // namespace ebb::memory_test
