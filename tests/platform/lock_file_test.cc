#include "platform/lock_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/session/session_objects.h"

namespace ebb::lock_file_test {
namespace {

class LockFileTest : public ::testing::Test {
 protected:
  test::TemporaryFolder folder_;
  const std::string path_ = folder_.File("lock");
};

TEST_F(LockFileTest, IsTakenOnceAndGoneAfterwards) {
  {
    const absl::StatusOr<LockFile> first = LockFile::Take(path_);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(absl::IsFailedPrecondition(LockFile::Take(path_).status()));
    EXPECT_EQ(access(path_.c_str(), F_OK), 0);  // The rejected attempt did not remove it.
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
  EXPECT_TRUE(LockFile::Take(path_).ok());
}

TEST_F(LockFileTest, AnExistingFileIsLocked) {
  close(creat(path_.c_str(), 0600));  // A killed process left it.
  EXPECT_TRUE(LockFile::Take(path_).ok());
}

TEST_F(LockFileTest, OneThatCannotBeMadeIsAnErrorOfTheSystem) {
  const absl::Status status = LockFile::Take(folder_.File("no/lock")).status();
  EXPECT_EQ(status.message(), "No such file or directory");
}

TEST_F(LockFileTest, TheLockFileOfAnotherProcessStays) {
  std::optional<LockFile> lock = *LockFile::Take(path_);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  close(creat(path_.c_str(), 0600));
  lock.reset();
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

// The file is removed and made again all the time.  Two threads that lock different files of the
// same name would both hold the lock.
TEST_F(LockFileTest, ThreadsThatTakeAndLetGoNeverHoldItTogether) {
  std::atomic<int> holders = 0;
  std::atomic<int> most = 0;
  const auto work = [&] {
    for (int i = 0; i < 2000; ++i) {
      const absl::StatusOr<LockFile> lock = LockFile::Take(path_);
      if (!lock.ok()) continue;
      const int now = ++holders;
      if (now > most) most = now;
      --holders;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace ebb::lock_file_test
