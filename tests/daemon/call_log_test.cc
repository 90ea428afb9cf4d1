#include "daemon/call_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace ebb::call_log_test {
namespace {

using ::testing::HasSubstr;

EndedCall Failed() {
  return {.call = "Plan",
          .session = "prod",
          .status = absl::NotFoundError("node \"x\"\nis not there"),
          .seconds = 0.0123,
          .messages = 0};
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  ssize_t count = 0;
  while ((count = read(fd, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<size_t>(count));
  }
  return text;
}

TEST(CallLogTest, LinesForPeopleAndMachines) {
  EXPECT_EQ(LogLine(Failed(), 1780315200, LogFormat::kText).find('\n'), std::string::npos);
  EXPECT_THAT(LogLine(Failed(), 1780315200, LogFormat::kText),
              HasSubstr("2026-06-01T12:00:00Z Plan session=prod NOT_FOUND 12 ms node"));
  const auto json = nlohmann::json::parse(LogLine(Failed(), 1780315200, LogFormat::kJson));
  EXPECT_EQ(json["call"], "Plan");
  EXPECT_EQ(json["code"], "NOT_FOUND");
  EXPECT_EQ(json["message"], "node \"x\"\nis not there");
  EndedCall good = {.call = "Sync", .session = "", .status = {}, .seconds = 1, .messages = 3};
  EXPECT_EQ(LogLine(good, 0, LogFormat::kText), "1970-01-01T00:00:00Z Sync OK 1 s messages=3");
}

TEST(CallLogTest, ARebuildIsALineWithItsCauseAndTime) {
  const TimedRebuild shape = {.rebuilt = {.cause = RebuildCause::kShape}, .seconds = 0.412};
  const TimedRebuild texts = {.rebuilt = {.cause = RebuildCause::kDeadTexts, .renewed_texts = true},
                              .seconds = 2};
  EXPECT_EQ(LogLine("prod", shape, 1780315200, LogFormat::kText),
            "2026-06-01T12:00:00Z rebuild session=prod shape, 412 ms");
  EXPECT_EQ(LogLine("prod", texts, 1780315200, LogFormat::kText),
            "2026-06-01T12:00:00Z rebuild session=prod dead-texts, 2 s, texts renewed");
  const auto json = nlohmann::json::parse(LogLine("prod", shape, 1780315200, LogFormat::kJson));
  EXPECT_EQ(json["rebuild"], "shape");
  EXPECT_EQ(json["session"], "prod");
  EXPECT_EQ(json["seconds"], 0.412);
  EXPECT_FALSE(json.contains("renewedTexts"));
  const auto renewed = nlohmann::json::parse(LogLine("prod", texts, 0, LogFormat::kJson));
  EXPECT_EQ(renewed["renewedTexts"], true);
}

TEST(CallLogTest, WritesEveryLine) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    CallLog log(ends[1], LogFormat::kText);
    for (int i = 0; i < 100; ++i) log.Add(Failed());
  }
  close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  close(ends[0]);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
}

TEST(CallLogTest, AReaderThatDoesNotReadDelaysNoCall) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  {
    CallLog log(ends[1], LogFormat::kJson);
    // More than the pipe and the queue can hold.
    for (size_t i = 0; i < 3 * CallLog::kLinesMax; ++i) log.Add(Failed());
  }
  close(ends[1]);
  close(ends[0]);
}

TEST(CallLogTest, UnreadLinesAreCounted) {
  constexpr size_t kCalls = 4 * CallLog::kLinesMax;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::unique_ptr<FILE, int (*)(FILE*)> reader(fdopen(ends[0], "r"), &fclose);
  {
    CallLog log(ends[1], LogFormat::kText);
    for (size_t i = 0; i < kCalls; ++i) log.Add(Failed());
    // Only now the reader starts.
    size_t written = 0;
    size_t dropped = 0;
    std::array<char, 4096> line{};
    while (written + dropped < kCalls &&
           std::fgets(line.data(), static_cast<int>(line.size()), reader.get()) != nullptr) {
      if (std::strstr(line.data(), " not written: the log was read too slowly") != nullptr) {
        std::string number(line.data());
        std::erase(number, ',');
        dropped += std::strtoul(number.c_str(), nullptr, 10);
      } else {
        ++written;
      }
    }
    EXPECT_GT(dropped, 0);
    EXPECT_EQ(written + dropped, kCalls);
  }
  close(ends[1]);
}

TEST(CallLogTest, AReaderThatHasClosedThePipeDelaysNoCall) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const auto before = signal(SIGPIPE, SIG_IGN);
  close(ends[0]);
  {
    CallLog log(ends[1], LogFormat::kText);
    for (int i = 0; i < 100; ++i) log.Add(Failed());
  }
  close(ends[1]);
  signal(SIGPIPE, before);
}

}  // namespace
}  // namespace ebb::call_log_test
