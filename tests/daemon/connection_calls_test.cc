#include "daemon/connection_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace ebb::connection_calls_test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

class ConnectionCallsTest : public ::testing::Test {
 protected:
  void Begin(int fd, size_t times) {
    for (size_t i = 0; i < times; ++i) calls_.Begin(fd);
  }
  void End(int fd, size_t times) {
    for (size_t i = 0; i < times; ++i) calls_.End(fd);
  }

  std::vector<int> closed_;
  ConnectionCalls calls_{{.streams = 10, .of_connection = 40, .of_all = 100},
                         [this](int fd) { closed_.push_back(fd); }};
};

// Symptom: a client that opened streams and reset them immediately took 5 GB in a minute.
TEST_F(ConnectionCallsTest, AConnectionThatBeginsCallsFasterThanTheyEndIsClosed) {
  Begin(7, 40);
  EXPECT_THAT(closed_, IsEmpty());
  Begin(7, 5);
  EXPECT_THAT(closed_, Contains(7));
  EXPECT_EQ(calls_.closed(), 1U);
  End(7, 45);
  Begin(7, 1);  // Another connection, with the same descriptor.
  EXPECT_EQ(calls_.closed(), 1U);
}

TEST_F(ConnectionCallsTest, AConnectionWhoseCallsEndStaysOpen) {
  for (int i = 0; i < 1000; ++i) {
    Begin(7, 10);
    End(7, 10);
  }
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(ConnectionCallsTest, ManyConnectionsTogetherHaveALimitToo) {
  for (int fd = 0; fd < 10; ++fd) Begin(fd, 10);
  EXPECT_THAT(closed_, IsEmpty());
  Begin(10, 10);  // As many as the limit of streams: all of them may be pending.
  EXPECT_THAT(closed_, IsEmpty());
  Begin(10, 1);
  EXPECT_THAT(closed_, Contains(10));
}

TEST(ConnectionCallsFdTest, OnlyPeersThatAreDescriptorsCount) {
  EXPECT_EQ(ConnectionCalls::FdOf("fd:12"), 12);
  for (const char* peer :
       {"", "fd:", "fd:x", "fd:-1", "fd:99999999999", "ipv4:127.0.0.1:80", "unix:/run/ebb.sock"}) {
    EXPECT_EQ(ConnectionCalls::FdOf(peer), std::nullopt) << peer;
  }
}

}  // namespace
}  // namespace ebb::connection_calls_test
