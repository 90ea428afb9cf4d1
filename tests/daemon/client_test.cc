#include "daemon/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "daemon/listener.h"

namespace ebb::client_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Symptom: a client gave up on a slow daemon after 0.1 s, however long its deadline was.
TEST(PlannerClientTest, TheClientWaitsForASilentDaemonUntilTheDeadline) {
  std::string name = (fs::temp_directory_path() / "ebb-client-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, (folder / "s").c_str());
  const UniqueFd mute(socket(AF_UNIX, SOCK_STREAM, 0));  // Listens and never answers.
  ASSERT_EQ(bind(mute.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(mute.get(), 8), 0);
  const auto client =
      PlannerClient::Make("unix:" + (folder / "s").string(), std::chrono::milliseconds(1000));
  ASSERT_TRUE(client.ok()) << client.status();
  const absl::Status asked = (*client)->Version().status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(asked)) << asked;
  EXPECT_THAT(std::string(asked.message()),
              HasSubstr("no answer came in time; the daemon is busy"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ebb::client_test
