#include "daemon/listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <future>
#include <latch>
#include <string>

#include "tests/session/session_objects.h"

namespace ebb::listener_test {
namespace {

using ::testing::HasSubstr;

// A socket that is connected to `path`; -1: no process listens.
int ConnectTo(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

// Leaves a socket file as a killed process does.
void LeaveStale(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
}

class ListenerTest : public ::testing::Test {
 protected:
  std::string Why(const std::string& path) {
    const auto listener = Listener::Open({.path = path});
    EXPECT_FALSE(listener.ok());
    return std::string(listener.status().message());
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.File("e.sock");
};

TEST_F(ListenerTest, IsPrivateToItsUser) {
  const auto listener = Listener::Open({.path = path_});
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat status{};
  ASSERT_EQ(lstat(path_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600);
}

TEST_F(ListenerTest, HandsConnectionsOn) {
  auto listener = Listener::Open({.path = path_});
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::promise<int> taken;
  (*listener)->Start([&](UniqueFd connection) { taken.set_value(connection.release()); });
  const int here = ConnectTo(path_);
  ASSERT_GE(here, 0);
  const int there = taken.get_future().get();
  ASSERT_EQ(write(here, "x", 1), 1);
  char byte = 0;
  while (read(there, &byte, 1) != 1) {
  }
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ((*listener)->accepted(), 1);
  close(here);
  close(there);
}

TEST_F(ListenerTest, TakesItsSocketAway) {
  {
    ASSERT_TRUE(Listener::Open({.path = path_}).ok());
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(ListenerTest, LeavesTheSocketOfAnotherProcess) {
  auto listener = Listener::Open({.path = path_});
  ASSERT_TRUE(listener.ok());
  ASSERT_EQ(unlink(path_.c_str()), 0);
  // Made before the old one is closed, so that its inode differs.
  LeaveStale(folder_.File("other"));
  ASSERT_EQ(rename(folder_.File("other").c_str(), path_.c_str()), 0);
  listener->reset();
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(ListenerTest, AStaleSocketIsReplaced) {
  LeaveStale(path_);
  const auto listener = Listener::Open({.path = path_});
  EXPECT_TRUE(listener.ok()) << listener.status();
}

TEST_F(ListenerTest, ALiveSocketIsNotReplaced) {
  const auto first = Listener::Open({.path = path_});
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(Why(path_), HasSubstr("another ebb serves on it"));
  EXPECT_GE(ConnectTo(path_), 0);
  // The socket of a program that does not use the lock file.
  const std::string other = folder_.File("other.sock");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, other.c_str(), other.size() + 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_THAT(Why(other), HasSubstr("another process listens"));
  close(fd);
}

// Symptom: a rejected start left a file `.lock` behind.
TEST_F(ListenerTest, ARefusedStartLeavesNoLock) {
  const int file = open(path_.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(file, 0);
  close(file);
  EXPECT_THAT(Why(path_), HasSubstr("is not a socket"));
  EXPECT_NE(access((path_ + ".lock").c_str(), F_OK), 0);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  EXPECT_TRUE(Listener::Open({.path = path_}).ok());
  EXPECT_NE(access((path_ + ".lock").c_str(), F_OK), 0);
}

TEST_F(ListenerTest, AFolderThatOthersMayReplaceIsRefused) {
  ASSERT_EQ(mkdir(folder_.File("open").c_str(), 0700), 0);
  ASSERT_EQ(mkdir(folder_.File("open/mine").c_str(), 0700), 0);
  ASSERT_EQ(chmod(folder_.File("open").c_str(), 0777), 0);
  EXPECT_THAT(Why(folder_.File("open/mine/e.sock")),
              HasSubstr("other users may replace its folder"));
  ASSERT_EQ(chmod(folder_.File("open").c_str(), 01777), 0);
  EXPECT_TRUE(Listener::Open({.path = folder_.File("open/mine/e.sock")}).ok());
}

TEST_F(ListenerTest, OneOfTwoDaemonsThatStartAtOnceServes) {
  for (int i = 0; i < 20; ++i) {
    LeaveStale(path_);
    std::latch begin(2);
    const auto open = [&] {
      begin.arrive_and_wait();
      return Listener::Open({.path = path_});
    };
    auto other = std::async(std::launch::async, open);
    const auto here = open();
    const auto there = other.get();
    EXPECT_NE(here.ok(), there.ok());
    const int connection = ConnectTo(path_);
    EXPECT_GE(connection, 0);
    close(connection);
  }
}

TEST_F(ListenerTest, WrongPathsAreErrors) {
  EXPECT_THAT(Why(""), HasSubstr("empty"));
  EXPECT_THAT(Why(folder_.File(std::string(120, 'x'))), HasSubstr("too long"));
  EXPECT_THAT(Why(folder_.File("missing/e.sock")), HasSubstr("folder"));
  std::ofstream(folder_.File("file")) << "x";
  EXPECT_THAT(Why(folder_.File("file")), HasSubstr("is not a socket"));
  EXPECT_THAT(Why(folder_.File("file/e.sock")), HasSubstr("folder"));
  EXPECT_THAT(Why(std::string("a\0b", 3)), HasSubstr("zero byte"));
}

TEST_F(ListenerTest, FolderThatOthersMayWriteIsRefused) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_THAT(Why(path_), HasSubstr("written by others"));
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  EXPECT_TRUE(Listener::Open({.path = path_}).ok());
}

TEST_F(ListenerTest, OtherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  // Only user 1 and root may connect.
  auto listener = Listener::Open({.path = path_, .inherited = -1, .allowed_users = {1}});
  ASSERT_TRUE(listener.ok()) << listener.status();
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  (*listener)->Start([](const UniqueFd&) {});
  const auto is_served_as = [&](uid_t user) {
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(user) != 0) _exit(3);
      const int fd = ConnectTo(path_);
      char byte = 0;
      // A rejected connection is closed; an accepted one is closed by the test's callback.
      _exit(fd < 0 ? 2 : static_cast<int>(read(fd, &byte, 1)));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(is_served_as(65534), 0);
  EXPECT_EQ((*listener)->refused(), 1);
  EXPECT_EQ(is_served_as(1), 0);
  EXPECT_EQ((*listener)->refused(), 1);
  EXPECT_EQ((*listener)->accepted(), 1);
}

TEST_F(ListenerTest, InheritedSocketMustListen) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  EXPECT_FALSE(Listener::Open({.path = "", .inherited = fd, .allowed_users = {}}).ok());
  close(fd);
}

}  // namespace
}  // namespace ebb::listener_test
