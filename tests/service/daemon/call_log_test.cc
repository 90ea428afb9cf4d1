#include "service/daemon/call_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace ebb {
namespace {

using ::testing::HasSubstr;

EndedCall Failed() {
  return {.call = "Plan",
          .session = "prod",
          .status = absl::NotFoundError("node \"x\"\nis not there"),
          .seconds = 0.0123,
          .messages = 0};
}

TEST(CallLogTest, LinesForPeopleAndMachines) {
  EXPECT_EQ(LogLine(Failed(), 1780315200, LogFormat::kText).find('\n'), std::string::npos);
  EXPECT_THAT(LogLine(Failed(), 1780315200, LogFormat::kText),
              HasSubstr("2026-06-01T12:00:00Z Plan session=prod NOT_FOUND 12.3ms node"));
  const auto json = nlohmann::json::parse(LogLine(Failed(), 1780315200, LogFormat::kJson));
  EXPECT_EQ(json["call"], "Plan");
  EXPECT_EQ(json["code"], "NOT_FOUND");
  EXPECT_EQ(json["message"], "node \"x\"\nis not there");
  EndedCall good = {.call = "Sync", .session = "", .status = {}, .seconds = 1, .messages = 3};
  EXPECT_EQ(LogLine(good, 0, LogFormat::kText), "1970-01-01T00:00:00Z Sync OK 1000.0ms messages=3");
}

TEST(CallLogTest, WritesEveryLine) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    CallLog log(ends[1], LogFormat::kText);
    for (int i = 0; i < 100; ++i) log.Add(Failed());
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  ssize_t count = 0;
  while ((count = read(ends[0], part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<size_t>(count));
  }
  close(ends[0]);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
}

TEST(CallLogTest, NobodyWaitsForAReaderWhoDoesNotRead) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    CallLog log(ends[1], LogFormat::kJson);
    // More than the pipe and the queue take.
    for (size_t i = 0; i < 3 * CallLog::kLinesMax; ++i) log.Add(Failed());
  }
  close(ends[1]);
  close(ends[0]);
}

}  // namespace
}  // namespace ebb
