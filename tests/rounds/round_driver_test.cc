#include "rounds/round_driver.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "rounds/round_replay.h"
#include "rounds/round_settings.h"
#include "snapshot/formats/binary_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::round_driver_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using testing::HasSubstr;

constexpr int64_t kStart = 1780315200;

std::string TextOf(const std::optional<ScaleDownState>& state) {
  if (!state) return "none";
  std::string text = fmt::format("{} rounds, {}", state->rounds, state->latest_s);
  for (const auto& t : state->timers) {
    text += fmt::format("; {} {} {} {}", t.node, t.uid, t.since_s, t.judged);
  }
  for (const auto& s : state->started) {
    text += fmt::format("; {} {} {}", s.node, static_cast<int>(s.phase), s.at_s);
  }
  for (const auto& hint : state->planner.hints) {
    text += fmt::format("; {} {}", hint.pod_key, hint.node);
  }
  for (const auto& u : state->planner.unremovable)
    text += fmt::format("; {} {}", u.node, u.until_s);
  return text + fmt::format("; {}", state->planner.scan_pointer);
}

class RoundDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    prefix_ = testing::TempDir() + "ebb-driver-" + std::to_string(getpid());
    TearDown();
  }
  void TearDown() override {
    for (const char* name : {"a", "b", "record"}) std::remove(Path(name).c_str());
  }
  std::string Path(const std::string& name) const { return prefix_ + "." + name; }

  std::unique_ptr<RoundDriver> Open(const RoundFiles& files) {
    auto driver = RoundDriver::Open(files);
    EXPECT_TRUE(driver.ok()) << driver.status();
    return driver.ok() ? *std::move(driver) : nullptr;
  }
  std::unique_ptr<RoundDriver> Open(const std::string& name) {
    return Open(RoundFiles{.state = Path(name)});
  }

  // A cluster in memory: c is empty, a and b run one pod each, and the pod on d must not move.
  static RoundSource AtHand() {
    RoundSource source;
    source.cluster.snapshot = Cluster()
                                  .Add(Node("a"))
                                  .Add(Node("b"))
                                  .Add(Node("c"))
                                  .Add(Node("d"))
                                  .Add(Pod("p").On("a").Cpu(500))
                                  .Add(Pod("q").On("b").Cpu(600))
                                  .Add(Pod("r").On("d").Cpu(3900))
                                  .Build();
    return source;
  }
  static RoundSettings Settings(RoundOptions options = {}) {
    absl::StatusOr<RoundSettings> settings = MakeSettings(options, {});
    EXPECT_TRUE(settings.ok()) << settings.status();
    return *std::move(settings);
  }
  // Makes and saves a round; returns its decision.
  static std::string Round(RoundDriver& driver, const RoundSettings& settings, int64_t now_s,
                           RoundSource& source) {
    auto round = driver.Make(settings, now_s, source);
    if (!round.ok()) return std::string(round.status().message());
    if (absl::Status s = driver.Save(**round, source); !s.ok()) return std::string(s.message());
    return (*round)->json->dump();
  }

  std::string prefix_;
};

TEST_F(RoundDriverTest, ALivingDriverDecidesLikeOneThatReadsTheStateAgain) {
  const RoundSettings settings = Settings();
  const std::unique_ptr<RoundDriver> lives = Open("a");
  RoundSource source = AtHand();
  for (const int64_t after_s : {0, 60, 120, 601, 660, 720}) {
    const std::unique_ptr<RoundDriver> reopened = Open("b");
    RoundSource same = AtHand();
    const std::string decision = Round(*lives, settings, kStart + after_s, source);
    EXPECT_EQ(decision, Round(*reopened, settings, kStart + after_s, same)) << after_s;
    EXPECT_THAT(decision,
                HasSubstr(after_s < 601 ? "ScaleDownNoNodeDeleted" : "ScaleDownNodeDeleteStarted"));
    EXPECT_EQ(TextOf(lives->before()), TextOf(reopened->before())) << after_s;
  }
  EXPECT_EQ(lives->before()->rounds, 6);
}

TEST_F(RoundDriverTest, RoundThatIsNotSavedNeverHappened) {
  const RoundSettings settings = Settings();
  const std::unique_ptr<RoundDriver> driver = Open("a");
  RoundSource source = AtHand();
  Round(*driver, settings, kStart, source);
  const std::string before = TextOf(driver->before());
  const auto dropped = driver->Make(settings, kStart + 601, source);
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ((*dropped)->result.status, ScaleDownStatus::kNodeDeleteStarted);
  EXPECT_EQ(TextOf(driver->before()), before);
  EXPECT_EQ(TextOf(Open("a")->before()), before);
  // Made again, it is the same round, and starts the same deletions for the first time.
  const auto again = driver->Make(settings, kStart + 601, source);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*(*again)->json, *(*dropped)->json);
  EXPECT_EQ((*again)->number, 2);
  EXPECT_EQ((*again)->result.newly_started, (*dropped)->result.newly_started);
}

TEST_F(RoundDriverTest, ARoundFromAStaleStateIsAbortedAndAReloadContinues) {
  const RoundSettings settings = Settings();
  const std::unique_ptr<RoundDriver> first = Open("a");
  const std::unique_ptr<RoundDriver> second = Open("a");
  RoundSource source = AtHand();
  Round(*first, settings, kStart, source);
  const auto late = second->Make(settings, kStart, source);
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_TRUE(absl::IsAborted(second->Save(**late, source)));
  EXPECT_TRUE(absl::IsFailedPrecondition(second->Make(settings, kStart, source).status()));
  ASSERT_TRUE(second->Reload().ok());
  EXPECT_THAT(Round(*second, settings, kStart + 10, source), HasSubstr("\"round\":2"));
  // No counter contains the round that was lost.
  EXPECT_THAT(second->MetricsText(),
              HasSubstr("ebb_rounds_total{status=\"ScaleDownNoNodeDeleted\"} 2\n"));
}

TEST_F(RoundDriverTest, OptionsThatChangeBetweenRoundsCount) {
  RoundOptions soon;
  soon.scale_down.deletion.scale_down_unneeded_time_s = 5;
  const std::unique_ptr<RoundDriver> driver = Open("a");
  RoundSource source = AtHand();
  Round(*driver, Settings(), kStart, source);
  EXPECT_THAT(Round(*driver, Settings(), kStart + 10, source), HasSubstr("ScaleDownNoNodeDeleted"));
  EXPECT_THAT(Round(*driver, Settings(soon), kStart + 20, source),
              HasSubstr("ScaleDownNodeDeleteStarted"));
}

TEST_F(RoundDriverTest, RoundIsSavedOnceOnly) {
  const RoundSettings settings = Settings();
  const std::unique_ptr<RoundDriver> driver = Open("a");
  RoundSource source = AtHand();
  const auto round = driver->Make(settings, kStart, source);
  ASSERT_TRUE(round.ok()) << round.status();
  EXPECT_TRUE(driver->Save(**round, source).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(driver->Save(**round, source)));
  EXPECT_EQ(driver->before()->rounds, 1);
}

TEST_F(RoundDriverTest, RecordTakesNoRoundsOfAnotherState) {
  const RoundSettings settings = Settings();
  const auto record = [&](const std::string& state) {
    return Open(RoundFiles{.state = Path(state), .record = Path("record")});
  };
  RoundSource source = AtHand();
  Round(*record("a"), settings, kStart, source);
  Round(*record("a"), settings, kStart + 60, source);
  Round(*Open("b"), settings, kStart + 30, source);
  const std::string error =
      Path("record") + ": holds rounds of another state than " + Path("b") + "; begin a new record";
  EXPECT_EQ(Round(*record("b"), settings, kStart + 90, source), error) << "in place of the last";
  Round(*Open("b"), settings, kStart + 90, source);
  EXPECT_EQ(Round(*record("b"), settings, kStart + 120, source), error) << "behind the last";
  EXPECT_THAT(Round(*record("a"), settings, kStart + 120, source), HasSubstr("\"round\":3"));
}

TEST_F(RoundDriverTest, RecordTakesNoRoundsOfAnotherCluster) {
  const RoundSettings settings = Settings();
  RoundSource source = AtHand();
  const auto round = [&](const std::string& state, const std::string& uid) {
    source.cluster_uid = uid;
    const auto driver = Open(RoundFiles{.state = Path(state), .record = Path("record")});
    if (absl::Status s = driver->CheckCluster(source); !s.ok()) return std::string(s.message());
    return Round(*driver, settings, kStart, source);
  };
  EXPECT_THAT(round("a", "uid-1"), HasSubstr("\"round\":1"));
  EXPECT_THAT(round("b", "uid-2"), HasSubstr("holds rounds of another state"));
}

// Records every round of one driver that lives on, with and without a deadline.
TEST_F(RoundDriverTest, RecordOfADriverThatLivesOnIsReplayed) {
  class Never final : public Deadline {
   public:
    bool Expired() const override { return false; }
  } never;
  class AtOnce final : public Deadline {
   public:
    bool Expired() const override { return true; }
  } at_once;
  const std::unique_ptr<RoundDriver> driver =
      Open(RoundFiles{.state = Path("a"), .record = Path("record")});
  RoundOptions options;
  options.candidate_order = CandidateOrder::kFewestPods;
  options.scale_down.planner.min_nodes_per_pass = 1;
  const RoundSettings settings = Settings(options);
  std::vector<const Deadline*> deadlines = {nullptr, &never, &at_once, &at_once};
  for (size_t i = 0; i < deadlines.size(); ++i) {
    auto source = LoadSource(
        settings, driver->before(),
        [](ObjectSink& sink) {
          for (const char* name : {"a", "b", "c"}) {
            if (absl::Status s = sink.OnNode(Node(name).raw); !s.ok()) return s;
          }
          return sink.OnPod(Pod("p").On("a").Cpu(500).raw);
        },
        RoundObjects::kForRecord);
    ASSERT_TRUE(source.ok()) << source.status();
    const auto round =
        driver->Make(settings, kStart + static_cast<int64_t>(i) * 301, *source, deadlines[i]);
    ASSERT_TRUE(round.ok()) << round.status();
    ASSERT_TRUE(driver->Save(**round, *source).ok());
  }
  std::vector<std::string> departures;
  const absl::Status replayed = ReplayRecord(
      Path("record"), [&](const ReplayedRound& round) { departures.push_back(round.departure); });
  EXPECT_TRUE(replayed.ok()) << replayed;
  EXPECT_EQ(departures, std::vector<std::string>(4));
}

}  // namespace
}  // namespace ebb::round_driver_test
