#include "service/daemon/memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/sanitized.h"

namespace ebb::memory_test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Symptom: after one large call, a daemon with --max-memory refused all changes for good.
TEST(MemoryTest, MemoryThatIsFreeIsGivenBackBeforeALimitIsExceeded) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer's allocator keeps what is freed";
  const uint64_t before = ResidentBytes();
  ASSERT_GT(before, 0U);
  constexpr size_t kBlock = 4096;
  std::vector<std::unique_ptr<char[]>> blocks;
  while (blocks.size() * kBlock < 200 * kMiB) {
    blocks.push_back(std::make_unique<char[]>(kBlock));  // Zeroed: resident.
  }
  const auto last = std::make_unique<char[]>(kBlock);  // Keeps the heap from shrinking by itself.
  blocks.clear();
  const uint64_t limit = before + 100 * kMiB;
  ASSERT_GT(ResidentBytes(), limit);
  EXPECT_LE(ResidentBytesWithin(limit), limit);
}

}  // namespace
}  // namespace ebb::memory_test
