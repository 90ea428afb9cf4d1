#include "rounds/sqlite_state.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ebb::sqlite_state_test {
namespace {

class SqliteStateTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "ebb-state-" + std::to_string(getpid()) + ".db";
    Remove();
  }
  void TearDown() override { Remove(); }
  void Remove() {
    std::remove(path_.c_str());
    std::remove((path_ + "-journal").c_str());
  }

  std::unique_ptr<SqliteState> Open(const SqliteStateOptions& options = {}) {
    auto opened = SqliteState::Open(path_, options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }

  static ScaleDownState Everything() {
    ScaleDownState state;
    state.rounds = 7;
    state.latest_s = 1234;
    state.jump_s = 99999;
    state.started = {{"c", "uid-c", StartedDeletions::Phase::kRequested, 1200},
                     {"d", "", StartedDeletions::Phase::kSucceeded, 1234}};
    state.limit = {.latest_update_s = 1234, .min_interval_s = 10};
    state.timers = {{"a", "uid-a", 100, true}, {"b", "uid-b", 200, false}};
    state.skipped = {{"z", 5}, {"y", 6}};  // Not sorted.
    state.resume = true;
    state.actuation.empty = {{"c", "group"}};
    state.actuation.drained = {{"d", ""}};
    state.actuation.recent_evictions = {{"default", "p", "uid-p", 1200, "{}"}};
    state.cooldowns = {{"", 1, std::nullopt, 3}, {"group", std::nullopt, 2, std::nullopt}};
    state.planner.hints = {{"uid-q", "a"}};
    state.planner.pending_hints = {{"uid-r", "b"}};
    state.planner.unremovable = {{.node = "e",
                                  .until_s = 1500,
                                  .reason = "BlockedByPod",
                                  .blocking_reason = "NotEnoughPdb",
                                  .pod_namespace = "default",
                                  .pod_name = "db-0",
                                  .pdb = "db"}};
    state.planner.scan_pointer = 42;
    return state;
  }

  std::string path_;
};

void ExpectEqual(const ScaleDownState& a, const ScaleDownState& b) {
  EXPECT_EQ(a.rounds, b.rounds);
  EXPECT_EQ(a.latest_s, b.latest_s);
  EXPECT_EQ(a.jump_s, b.jump_s);
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.limit, b.limit);
  EXPECT_EQ(a.timers, b.timers);
  EXPECT_EQ(a.skipped, b.skipped);
  EXPECT_EQ(a.resume, b.resume);
  EXPECT_EQ(a.actuation.empty, b.actuation.empty);
  EXPECT_EQ(a.actuation.drained, b.actuation.drained);
  EXPECT_EQ(a.actuation.recent_evictions, b.actuation.recent_evictions);
  EXPECT_EQ(a.cooldowns, b.cooldowns);
  EXPECT_EQ(a.planner, b.planner);
}

TEST_F(SqliteStateTest, NewFileHoldsNoState) {
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok());
  EXPECT_FALSE(loaded->has_value());
}

TEST_F(SqliteStateTest, EveryFieldIsReadBackInAnotherProcess) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 7, .now_s = 1234}, {}).ok());
  const auto loaded = Open()->Load();
  ASSERT_TRUE(loaded.ok());
  ASSERT_TRUE(loaded->has_value());
  ExpectEqual(**loaded, Everything());
}

TEST_F(SqliteStateTest, SaveReplacesWhatWasThere) {
  const auto store = Open();
  ASSERT_TRUE(store->Save(Everything(), {.round = 1}, {}).ok());
  ScaleDownState small;
  small.rounds = 8;
  ASSERT_TRUE(store->Save(small, {.round = 2}, {}).ok());
  ExpectEqual(*store->Load().value(), small);
}

TEST_F(SqliteStateTest, OldRoundsAreDropped) {
  const auto store = Open({.rounds_max = 3});
  for (int64_t round = 1; round <= 10; ++round) {
    ScaleDownState state;
    state.rounds = round;
    ASSERT_TRUE(store->Save(state, {.round = round, .status = "s"}, {}).ok());
  }
  const auto rounds = store->Rounds();
  ASSERT_TRUE(rounds.ok());
  ASSERT_EQ(rounds->size(), 3u);
  EXPECT_EQ(rounds->front().round, 8);
}

// Most decisions are stored as a difference from an earlier one, which is kept as long as one needs
// it.
TEST_F(SqliteStateTest, DecisionsAreReadBackHoweverMuchTheyDiffer) {
  std::mt19937_64 random(3);
  std::vector<std::string> decisions;
  std::string decision(20000, 'x');
  for (char& each : decision) each = static_cast<char>('a' + random() % 26);
  auto store = Open({.rounds_max = 10});
  for (int64_t round = 1; round <= 60; ++round) {
    // Some rounds change a little, and some nearly everything.
    const size_t changes = round % 7 == 0 ? 8000 : 5;
    for (size_t i = 0; i < changes; ++i) {
      decision[random() % decision.size()] = static_cast<char>('A' + random() % 26);
    }
    decisions.push_back(decision);
    ScaleDownState state;
    state.rounds = round;
    ASSERT_TRUE(store->Save(state, {.round = round, .decision = decision}, {}).ok());
    if (round % 5 == 0) {  // As another process.
      store = Open({.rounds_max = 10});
      ASSERT_TRUE(store->Load().ok());
    }
    const auto rounds = store->Rounds();
    ASSERT_TRUE(rounds.ok()) << rounds.status();
    for (const RoundRecord& each : *rounds) {
      ASSERT_EQ(each.decision, decisions[static_cast<size_t>(each.round) - 1]) << round;
    }
  }
  EXPECT_EQ(store->Rounds()->size(), 10u);
  EXPECT_LT(Bytes().size(), 10 * decision.size());
}

TEST_F(SqliteStateTest, ADecisionThatIsDamagedIsRefusedByTableAndRound) {
  for (const auto& [sql, problem] :
       {std::pair{"UPDATE rounds SET decision = x'0102'",
                  "table rounds, column decision: that of round 7 cannot be unpacked"},
        std::pair{"UPDATE key_decisions SET decision = x'00'",
                  "table key_decisions, column decision: that of round 7 cannot be unpacked"},
        std::pair{"DELETE FROM key_decisions", "that of round 7 cannot be unpacked"}}) {
    Remove();
    ASSERT_TRUE(
        Open()->Save(Everything(), {.round = 7, .decision = std::string(100, 'a')}, {}).ok());
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    const absl::Status refused = Open()->Rounds().status();
    EXPECT_NE(refused.message().find(problem), std::string::npos) << refused;
  }
}

TEST_F(SqliteStateTest, RecordedBytesAreReadBackWithTheirZeros) {
  const auto store = Open();
  const std::string input("a\0b", 3);
  ASSERT_TRUE(
      store->Append({.round = 1, .decision = "{}", .arguments = "[]", .input = input}).ok());
  EXPECT_EQ(store->Rounds()->at(0).input, input);
}

TEST_F(SqliteStateTest, AFileThatIsNotADatabaseIsRejectedAndKept) {
  std::ofstream(path_) << "timers: none, this is a text that is long enough to be looked at";
  const std::string before = Bytes();
  const auto opened = SqliteState::Open(path_, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find(path_), std::string::npos);
  EXPECT_EQ(Bytes(), before);
}

TEST_F(SqliteStateTest, AnotherProgramsDatabaseIsRefusedAndKept) {
  sqlite3* db = nullptr;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "CREATE TABLE t(x)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  const std::string before = Bytes();
  EXPECT_FALSE(SqliteState::Open(path_, {}).ok());
  EXPECT_EQ(Bytes(), before);
}

// Symptom: a record that was named as the state file lost its rounds.
TEST_F(SqliteStateTest, ARecordIsNotAStateFileAndAStateFileIsNotARecord) {
  const auto refusal = [this](SqliteUse use) {
    return std::string(SqliteState::Open(path_, {.use = use}).status().message());
  };
  ASSERT_TRUE(Open({.use = SqliteUse::kState})->Save(Everything(), {.round = 7}, {}).ok());
  std::string before = Bytes();
  EXPECT_EQ(refusal(SqliteUse::kRecord), path_ + ": is a state file, not a record");
  EXPECT_EQ(refusal(SqliteUse::kState), "");
  EXPECT_EQ(Bytes(), before);
  Remove();
  const auto record = Open({.use = SqliteUse::kRecord});
  ASSERT_TRUE(record->Save(Everything(), {.round = 8, .arguments = "{}"}, {}).ok());
  ASSERT_TRUE(record->Append({.round = 9, .arguments = "{}"}).ok());
  before = Bytes();
  EXPECT_EQ(refusal(SqliteUse::kState), path_ + ": is a record, not a state file");
  EXPECT_EQ(refusal(SqliteUse::kRecord), "");
  EXPECT_EQ(Bytes(), before);
}

TEST_F(SqliteStateTest, AFileThatHoldsOnlyReportsIsNotARecord) {
  HeldReports::Changes changes;
  changes.unready = {"n1"};
  ASSERT_TRUE(Open({.use = SqliteUse::kState})->SaveReport(changes).ok());
  EXPECT_EQ(SqliteState::Open(path_, {.use = SqliteUse::kRecord}).status().message(),
            path_ + ": is a state file, not a record");
}

TEST_F(SqliteStateTest, AFileThatBecameARecordSinceItWasOpenedIsNotWrittenTo) {
  const auto state = Open({.use = SqliteUse::kState});
  ASSERT_TRUE(Open({.use = SqliteUse::kRecord})
                  ->Save(Everything(), {.round = 8, .arguments = "{}"}, {})
                  .ok());
  const std::string before = Bytes();
  EXPECT_EQ(state->Save(Everything(), {.round = 7}, {}).message(),
            path_ + ": is a record, not a state file");
  EXPECT_EQ(Bytes(), before);
}

TEST_F(SqliteStateTest, LaterVersionIsRefusedAndKept) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 1}, {}).ok());
  sqlite3* db = nullptr;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "PRAGMA user_version = 7", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  const std::string before = Bytes();
  const auto opened = SqliteState::Open(path_, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("later"), std::string::npos);
  EXPECT_EQ(Bytes(), before);
}

TEST_F(SqliteStateTest, EarlierVersionIsRefusedAndKept) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 1}, {}).ok());
  sqlite3* db = nullptr;
  sqlite3_open(path_.c_str(), &db);
  sqlite3_exec(db, "PRAGMA user_version = 4", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  const std::string before = Bytes();
  const auto opened = SqliteState::Open(path_, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().message(),
            path_ +
                ": was written by an earlier ebb (version 4, this one knows 6); remove it to "
                "start again");
  EXPECT_EQ(Bytes(), before);
}

SizingState SomePools() {
  return {.pools = {{.pool = "api",
                     .policy = "escalator",
                     .state = std::string("a\0b", 3),
                     .at_s = 7,
                     .failures = 2},
                    {.pool = "web",
                     .policy = "replicator",
                     .at_s = 8,
                     .failsafe = true,
                     .grow_to = 5,
                     .grow_by = 2,
                     .grow_since_s = 6}},
          .queue = {{.node = "n2", .uid = "u", .pool = "web", .since_s = 9},
                    {.node = "n1",
                     .pool = "web",
                     .queue = NodeQueue::kTerminate,
                     .since_s = 9,
                     .attempts = 1,
                     .retry_s = 12}}};
}

TEST_F(SqliteStateTest, PoolsAreReadBackWithAndWithoutRounds) {
  EXPECT_EQ(*Open()->LoadSizing(), SizingState());
  ASSERT_TRUE(Open()->SaveSizing(SomePools()).ok());
  EXPECT_EQ(*Open()->LoadSizing(), SomePools());
  EXPECT_FALSE(Open()->Load().value().has_value());  // There was no round.
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 7}, {}).ok());
  EXPECT_EQ(*Open()->LoadSizing(), SomePools());
  SizingState fewer = SomePools();
  fewer.pools.erase(fewer.pools.begin());
  fewer.queue.clear();
  ASSERT_TRUE(Open()->SaveSizing(fewer).ok());
  EXPECT_EQ(*Open()->LoadSizing(), fewer);
  ExpectEqual(*Open()->Load().value(), Everything());
}

TEST_F(SqliteStateTest, ARoundAndItsPoolsAreSavedTogetherOrNotAtAll) {
  const auto store = Open();
  store->SetSizing(SomePools());
  const absl::Status refused =
      store->SaveAfter(Everything(), {.round = 7}, {}, [] { return absl::CancelledError("no"); });
  EXPECT_EQ(refused.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(*Open()->LoadSizing(), SizingState());
  ASSERT_TRUE(store->Save(Everything(), {.round = 7}, {}).ok());
  EXPECT_EQ(*Open()->LoadSizing(), SomePools());
  ExpectEqual(*Open()->Load().value(), Everything());
  // The pools were set for one save only.
  ASSERT_TRUE(Open()->SaveSizing({}).ok());
  ASSERT_TRUE(store->Load().ok());
  ScaleDownState later = Everything();
  later.rounds = 8;
  ASSERT_TRUE(store->Save(later, {.round = 8}, {}).ok());
  EXPECT_EQ(*Open()->LoadSizing(), SizingState());
}

TEST_F(SqliteStateTest, SecondOfTwoWritersOfPoolsIsRefused) {
  const auto one = Open();
  const auto other = Open();
  ASSERT_TRUE(one->LoadSizing().ok());
  ASSERT_TRUE(other->LoadSizing().ok());
  ASSERT_TRUE(one->SaveSizing(SomePools()).ok());
  EXPECT_EQ(other->SaveSizing({}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*Open()->LoadSizing(), SomePools());
}

TEST_F(SqliteStateTest, PoolsThatAreNotThoseThatWereSavedAreRefused) {
  for (const char* const change :
       {"UPDATE pools SET failsafe = 0", "DELETE FROM pools", "UPDATE queue SET attempts = 9",
        "UPDATE pools SET failures = -1", "UPDATE queue SET kind = 2", "UPDATE pools SET state = 1",
        "DELETE FROM queue WHERE place = 1"}) {
    Remove();
    ASSERT_TRUE(Open()->SaveSizing(SomePools()).ok());
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, change, nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
    const std::string before = Bytes();
    EXPECT_FALSE(Open()->LoadSizing().ok()) << change;
    EXPECT_FALSE(Open()->SaveSizing({}).ok()) << change;
    EXPECT_EQ(Bytes(), before) << change;
  }
}

TEST_F(SqliteStateTest, CountingLeavesTheStateAndItsRevisionAlone) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 1}, {{"c", "x", -1, 1.0}}).ok());
  const auto round = Open();
  ASSERT_TRUE(round->Load().ok());
  ASSERT_TRUE(Open()->Count({"c", "x", -1, 2.0}).ok());
  ASSERT_TRUE(Open()->Count({"d", "", -1, 1.0}).ok());
  EXPECT_EQ(*Open()->LoadCounters(),
            (std::vector<StoredCounter>{{"c", "x", -1, 3.0}, {"d", "", -1, 1.0}}));
  ExpectEqual(*Open()->Load().value(), Everything());
  EXPECT_TRUE(round->Save(Everything(), {.round = 2}, {{"c", "x", -1, 1.0}}).ok());
}

TEST_F(SqliteStateTest, CountersAreReadBackInAnotherProcess) {
  const std::vector<StoredCounter> counters = {{"a", "", -1, 2.5}, {"b", "x", 0, 1}};
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 7}, counters).ok());
  EXPECT_EQ(Open()->LoadCounters().value(), counters);
}

TEST_F(SqliteStateTest, ASaveWritesOnlyChangedRows) {
  ScaleDownState state = Everything();
  state.timers.clear();
  for (int i = 0; i < 5000; ++i) {
    state.timers.push_back({"node-" + std::to_string(10000 + i), "uid", i, true});
  }
  state.rounds = 2;
  const auto store = Open();
  ASSERT_TRUE(store->Save(state, {.round = 1}, {}).ok());
  const int64_t before = store->rows_written();
  state.timers[17].since_s = 99999;
  state.timers.erase(state.timers.begin() + 100);
  ASSERT_TRUE(store->Save(state, {.round = 2}, {}).ok());
  EXPECT_LE(store->rows_written() - before, 12);  // Two timers, nine figures, the round.
  ExpectEqual(*Open()->Load().value(), state);
}

TEST_F(SqliteStateTest, SecondOfTwoRoundsFromTheSameStateIsRefused) {
  ScaleDownState state = Everything();
  ASSERT_TRUE(Open()->Save(state, {.round = 7}, {}).ok());
  const auto one = Open();
  const auto other = Open();
  ASSERT_TRUE(one->Load().ok());
  ASSERT_TRUE(other->Load().ok());
  state.rounds = 8;
  ASSERT_TRUE(one->Save(state, {.round = 8, .status = "one"}, {}).ok());
  const absl::Status refused = other->Save(state, {.round = 8, .status = "other"}, {});
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << refused;
  EXPECT_EQ(Open()->Rounds()->back().status, "one");
  EXPECT_EQ(refused.message(),
            path_ + ": another round was made from the same state meanwhile; run again");
}

TEST_F(SqliteStateTest, AWriterWithAStaleStateIsRefusedUntilItLoadsAgain) {
  ScaleDownState state = Everything();
  ASSERT_TRUE(Open()->Save(state, {.round = 7}, {}).ok());
  const auto one = Open();
  const auto other = Open();
  ASSERT_TRUE(one->Load().ok());
  ASSERT_TRUE(other->Load().ok());
  state.rounds = 8;
  ASSERT_TRUE(one->Save(state, {.round = 8, .status = "one"}, {}).ok());
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_EQ(other->Save(state, {.round = 8, .status = "other"}, {}).code(),
              absl::StatusCode::kAborted);
  }
  EXPECT_EQ(Open()->Rounds()->back().status, "one");
  ASSERT_TRUE(other->Load().ok());
  state.rounds = 9;
  EXPECT_TRUE(other->Save(state, {.round = 9, .status = "other"}, {}).ok());
}

TEST_F(SqliteStateTest, ChangeOfTheStateAloneOvertakesARoundToo) {
  ScaleDownState state = Everything();
  ASSERT_TRUE(Open()->Save(state, {.round = 7}, {}).ok());
  const auto round = Open();
  ASSERT_TRUE(round->Load().ok());
  state.latest_s = 1000;
  const auto clock = Open();
  ASSERT_TRUE(clock->Load().ok());
  ASSERT_TRUE(clock->SaveState(state).ok());
  EXPECT_EQ(round->Save(state, {.round = 8}, {}).code(), absl::StatusCode::kAborted);
}

TEST_F(SqliteStateTest, SecondOfTwoFirstRoundsIsRefusedInTheSameWords) {
  const auto one = Open();
  const auto other = Open();
  ASSERT_FALSE(one->Load()->has_value());
  ASSERT_FALSE(other->Load()->has_value());
  ASSERT_TRUE(one->Save(Everything(), {.round = 1}, {}).ok());
  const absl::Status refused = other->Save(Everything(), {.round = 1}, {});
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(refused.message(),
            path_ + ": another round was made from the same state meanwhile; run again");
}

TEST_F(SqliteStateTest, FileIsMadeByTheFirstSave) {
  Open();
  EXPECT_EQ(Bytes(), "");
}

TEST_F(SqliteStateTest, ValueThatAColumnCannotHoldIsRefusedByTableAndColumn) {
  const struct {
    const char* sql;
    const char* problem;
  } kCases[] = {
      {"UPDATE timers SET since_s = -5 WHERE node = 'a'",
       "table timers, column since_s: -5 is not from 0 to 253402300799"},
      {"UPDATE timers SET since_s = 9000000000000000000", "table timers, column since_s"},
      {"UPDATE timers SET since_s = 'soon'", "table timers, column since_s"},
      {"UPDATE timers SET judged = 2", "table timers, column judged"},
      {"UPDATE timers SET uid = NULL", "table timers, column uid"},
      {"UPDATE timers SET node = '' WHERE node = 'a'", "table timers, column node"},
      {"UPDATE skipped SET since_s = 1.5", "table skipped, column since_s"},
      {"UPDATE started SET phase = 3", "table started, column phase"},
      {"UPDATE deletions SET node_group = x'00'", "table deletions, column node_group"},
      {"UPDATE evictions SET evicted_at_s = -1", "table evictions, column evicted_at_s"},
      {"UPDATE cooldowns SET scale_up_s = -1 WHERE node_group = ''",
       "table cooldowns, column scale_up_s"},
      {"UPDATE hints SET node = 7.5, pod = x'ff'", "table hints, column pod"},
      {"UPDATE unremovable SET until_s = NULL", "table unremovable, column until_s"},
      {"UPDATE counters SET value = -1.0", "table counters, column value"},
      {"UPDATE counters SET value = 1e300", "table counters, column value"},
      {"UPDATE counters SET bucket = 100000", "table counters, column bucket"},
      {"UPDATE state SET value = -1 WHERE key = 'rounds'", "table state, column value"},
      {"UPDATE state SET value = 'x' WHERE key = 'latest_s'", "table state, column value"},
      {"DELETE FROM state WHERE key = 'latest_s'", "table state lacks the row latest_s"},
      {"DELETE FROM state", "table state lacks its rows"},
      {"DROP TABLE timers", "cannot be read"},
      // Each value is valid by itself.
      {"UPDATE timers SET since_s = 1 WHERE node = 'a'", "digest"},
      {"DELETE FROM cooldowns", "digest"},
      {"UPDATE state SET value = 1233 WHERE key = 'latest_s'", "digest"},
      {"DELETE FROM state WHERE key = 'digest'", "digest"},
  };
  for (const auto& [sql, problem] : kCases) {
    Remove();
    ASSERT_TRUE(Open()->Save(Everything(), {.round = 1}, {{"c", "", -1, 1.0}}).ok());
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    sqlite3_close(db);
    const std::string before = Bytes();
    const auto state = Open();
    const auto loaded = state->Load();
    ASSERT_FALSE(loaded.ok()) << sql;
    EXPECT_NE(loaded.status().message().find(problem), std::string::npos) << loaded.status();
    EXPECT_NE(loaded.status().message().find(path_), std::string::npos);
    EXPECT_FALSE(state->Save(Everything(), {.round = 2}, {}).ok()) << sql;
    EXPECT_EQ(Bytes(), before) << sql;
  }
}

// The seed is printed; EBB_TEST_SEED=N tries another.
TEST_F(SqliteStateTest, FlippedBytesAreRefusedAndKeptOrChangeNothing) {
  uint64_t seed = 1;
  if (const char* set = getenv("EBB_TEST_SEED"); set != nullptr) seed = strtoull(set, nullptr, 10);
  SCOPED_TRACE("EBB_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const ScaleDownState state = Everything();
  ASSERT_TRUE(Open()->Save(state, {.round = 7, .decision = "{}"}, {{"c", "", -1, 1.0}}).ok());
  const std::string good = Bytes();
  int refused = 0;
  for (int attempt = 0; attempt < 500; ++attempt) {
    std::string bytes = good;
    // Flips bytes mostly where something is written, not in the unused middle of a page.
    const size_t flips = 1 + random() % 4;
    for (size_t flip = 0; flip < flips;) {
      const size_t at = random() % bytes.size();
      if (bytes[at] == 0 && random() % 16 != 0) continue;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 + random() % 255));
      ++flip;
    }
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    const auto opened = SqliteState::Open(path_, {});
    const auto loaded = opened.ok() ? (*opened)->Load() : opened.status();
    if (loaded.ok() && loaded->has_value()) {
      ExpectEqual(**loaded, state);
      continue;
    }
    ++refused;
    // A file whose header says that it is empty must not be accepted as new.
    EXPECT_FALSE(loaded.ok()) << attempt;
    if (!loaded.ok()) {
      EXPECT_EQ(loaded.status().message().find('\n'), std::string::npos);
      EXPECT_EQ(loaded.status().message().find("the disk is full"), std::string::npos)
          << loaded.status();
    }
    EXPECT_EQ(Bytes(), bytes) << attempt;
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 500);
}

// A random state over a few names, with its lists sorted as a planner sorts them.
ScaleDownState RandomState(std::mt19937_64& random) {
  const auto some = [&](auto add) {
    for (char name = 'a'; name <= 'h'; ++name) {
      if (random() % 2 == 0) add(std::string(1, name), static_cast<int64_t>(random() % 3));
    }
  };
  ScaleDownState state;
  state.latest_s = static_cast<int64_t>(random() % 1000);
  state.resume = random() % 2 == 0;
  if (random() % 2 == 0) state.limit.min_interval_s = 10;
  some([&](auto name, auto n) { state.timers.push_back({name, "u", n, n > 0}); });
  some([&](auto name, auto n) { state.skipped.push_back({name, n}); });
  std::shuffle(state.skipped.begin(), state.skipped.end(), random);
  some([&](auto name, auto n) { state.actuation.empty.push_back({name, n > 0 ? "g" : ""}); });
  some([&](auto name, auto n) { state.actuation.drained.push_back({name, n > 0 ? "g" : ""}); });
  some([&](auto name, auto n) {
    state.actuation.recent_evictions.push_back({"ns", name, "u", n, n > 1 ? "{}" : ""});
  });
  some([&](auto name, auto n) { state.cooldowns.push_back({name, n, std::nullopt, n}); });
  some([&](auto name, auto n) { state.planner.hints.push_back({name, n > 0 ? "x" : "y"}); });
  some(
      [&](auto name, auto n) { state.planner.pending_hints.push_back({name, n > 0 ? "x" : "y"}); });
  some([&](auto name, auto n) {
    state.planner.unremovable.push_back({.node = name, .until_s = n, .reason = n > 1 ? "x" : ""});
  });
  state.planner.scan_pointer = random() % 10;
  return state;
}

TEST_F(SqliteStateTest, FileFollowsAnyRowOfStates) {
  std::mt19937_64 random(7);
  auto store = Open();
  for (int64_t round = 1; round <= 200; ++round) {
    ScaleDownState state = RandomState(random);
    state.rounds = round;
    const std::vector<StoredCounter> counters = {{"n", "", -1, static_cast<double>(random() % 5)}};
    ASSERT_TRUE(store->Save(state, {.round = round}, counters).ok());
    if (random() % 3 == 0) store = Open();  // As another process.
    ExpectEqual(*Open()->Load().value(), state);
    ASSERT_FALSE(HasFailure()) << "round " << round;
    ASSERT_EQ(Open()->LoadCounters().value(), counters);
  }
}

// Symptom: "cannot be read: the disk is full or fails".
TEST_F(SqliteStateTest, AFileWhoseFirstPageIsDamagedIsReportedAsDamaged) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 7}, {}).ok());
  std::string bytes = Bytes();
  bytes[100] = static_cast<char>(~bytes[100]);  // What kind of page it is.
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  EXPECT_EQ(SqliteState::Open(path_, {}).status().message(),
            path_ +
                ": cannot be read: database disk image is malformed; the file is damaged or was "
                "changed by another program: put back a copy, or remove it to start again");
}

TEST_F(SqliteStateTest, AFileThatAnotherProgramLocksIsReportedAsInUse) {
  const auto state = Open();
  ASSERT_TRUE(state->Save(Everything(), {.round = 7}, {}).ok());
  sqlite3* db = nullptr;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(state->SaveState(Everything()).message(),
            path_ + ": cannot be written: another program uses it: database is locked");
  sqlite3_close(db);
}

TEST_F(SqliteStateTest, DamagedFileIsRefusedAndKept) {
  ScaleDownState state = Everything();
  for (int i = 0; i < 5000; ++i) {
    state.timers.push_back({"node-" + std::to_string(i), "uid", i, true});
  }
  ASSERT_TRUE(Open()->Save(state, {.round = 1}, {}).ok());
  std::string bytes = Bytes();
  ASSERT_GT(bytes.size(), 100000u);
  for (size_t i = 8192; i < bytes.size(); i += 512) bytes[i] = static_cast<char>(~bytes[i]);
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  EXPECT_FALSE(SqliteState::Open(path_, {}).ok());
  EXPECT_EQ(Bytes(), bytes);
}

TEST_F(SqliteStateTest, SpecialFilesAreRejectedAndNoJournalIsLeft) {
  // May also exist because of other users of the machine.
  const int before = access("/dev/full-journal", F_OK);
  for (const bool read_only : {false, true}) {
    const auto opened = SqliteState::Open("/dev/full", {.read_only = read_only});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().message(), "/dev/full: is not a regular file");
  }
  EXPECT_EQ(access("/dev/full-journal", F_OK), before);
  EXPECT_FALSE(SqliteState::Open(testing::TempDir(), {}).ok());
}

TEST_F(SqliteStateTest, CountersAndRoundsAreHeldToWhatTheyMayBe) {
  const char* const kChanges[] = {
      "UPDATE counters SET value = -1.0",
      "UPDATE counters SET value = 1e300",
      "UPDATE counters SET value = 0.5 WHERE bucket >= 0",
      "UPDATE counters SET bucket = -2",
      "UPDATE counters SET name = ''",
      "UPDATE counters SET value = NULL",
      "UPDATE rounds SET now_s = -5",
      "UPDATE rounds SET now_s = 'x'",
      "UPDATE rounds SET round = 8",
      "UPDATE rounds SET round = -1",
      "UPDATE rounds SET status = NULL",
      "UPDATE rounds SET decision = NULL",
      "UPDATE rounds SET input_digest = x'00'",
  };
  for (const char* change : kChanges) {
    Remove();
    ASSERT_TRUE(Open()
                    ->Save(Everything(), {.round = 7, .now_s = 1234, .status = "s"},
                           {{"total", "label", -1, 2}, {"seconds", "plan", 3, 2}})
                    .ok());
    ASSERT_TRUE(Open()->Load().ok());
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, change, nullptr, nullptr, nullptr), SQLITE_OK) << change;
    sqlite3_close(db);
    const auto loaded = Open()->Load();
    EXPECT_FALSE(loaded.ok()) << change;
    EXPECT_NE(loaded.status().message().find("table "), std::string::npos) << loaded.status();
  }
}

// Symptom: "attempt to write a readonly database".
TEST_F(SqliteStateTest, TheTransactionOfAKilledWriterIsRolledBackForAReader) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 7, .now_s = 1234, .status = "s"}, {}).ok());
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    // A cache of few pages, so that pages reach the file before the end.
    sqlite3_exec(db,
                 "PRAGMA cache_size = 5; BEGIN; UPDATE timers SET since_s = 1; "
                 "CREATE TABLE filler(x); "
                 "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500) "
                 "INSERT INTO filler SELECT randomblob(1000) FROM c",
                 nullptr, nullptr, nullptr);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(access((path_ + "-journal").c_str(), F_OK), 0) << "the journal is hot";
  const auto opened = SqliteState::Open(path_, {.read_only = true});
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto loaded = (*opened)->Load();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectEqual(**loaded, Everything());
}

TEST_F(SqliteStateTest, AFileTooShortForADatabaseIsNotWrittenOver) {
  for (const size_t bytes : {1, 2, 50, 99}) {
    std::ofstream(path_, std::ios::binary) << std::string(bytes, 'x');
    const auto opened = SqliteState::Open(path_, {});
    ASSERT_FALSE(opened.ok()) << bytes;
    EXPECT_EQ(opened.status().message(), path_ + ": is not a database");
    EXPECT_EQ(Bytes(), std::string(bytes, 'x'));
  }
}

// Limits every file that is opened from now on to `pages_max` pages.
int pages_max = 0;
int LimitPages(sqlite3* db, char** /*error*/, const sqlite3_api_routines* /*api*/) {
  const std::string limit = "PRAGMA max_page_count = " + std::to_string(pages_max);
  return sqlite3_exec(db, limit.c_str(), nullptr, nullptr, nullptr);
}

// SQLite then ends the transaction by itself, in whichever statement filled the disk.
TEST_F(SqliteStateTest, AFullDiskLeavesTheStateBefore) {
  ScaleDownState before = Everything();
  ASSERT_TRUE(Open()->Save(before, {.round = 7, .now_s = 1, .status = "s"}, {}).ok());
  ASSERT_TRUE(Open()->Load().ok());
  ScaleDownState after = before;
  after.rounds = 8;
  after.timers.clear();
  after.planner.hints.clear();
  for (int n = 1000; n < 3000; ++n) {  // Sorted by name, as Save has them.
    const std::string name = "node-" + std::to_string(n);
    after.timers.push_back({name, "uid", 1000, true});
    after.planner.hints.push_back({.pod_key = "pod-" + name, .node = name});
  }
  const auto entry_point = reinterpret_cast<void (*)()>(LimitPages);
  size_t refused = 0;
  bool saved = false;
  for (pages_max = 1; !saved; ++pages_max) {
    ASSERT_LT(pages_max, 1000);
    sqlite3_auto_extension(entry_point);
    const auto limited = Open();
    sqlite3_cancel_auto_extension(entry_point);
    ASSERT_TRUE(limited->Load().ok());
    const absl::Status save = limited->Save(after, {.round = 8, .now_s = 2, .status = "s"}, {});
    saved = save.ok();
    if (!saved) {
      ++refused;
      EXPECT_EQ(std::string(save.message()).find("not an error"), std::string::npos) << save;
    }
    const auto loaded = Open({.read_only = true})->Load();
    ASSERT_TRUE(loaded.ok()) << pages_max << ": " << loaded.status();
    ASSERT_EQ((*loaded)->rounds, saved ? 8 : 7) << pages_max;
  }
  EXPECT_GT(refused, 10u);
}

TEST_F(SqliteStateTest, TheClusterIsRememberedOnceItWasSet) {
  auto state = Open();
  ASSERT_TRUE(state->Load().ok());
  EXPECT_FALSE(state->cluster().has_value());
  state->SetCluster(ClusterOf("uid-1"));
  ASSERT_TRUE(state->Save(Everything(), {.round = 7, .now_s = 1234, .status = "s"}, {}).ok());
  state = Open();
  ASSERT_TRUE(state->Load().ok());
  EXPECT_EQ(state->cluster(), ClusterOf("uid-1"));
  EXPECT_NE(state->cluster(), ClusterOf("uid-2"));
  ScaleDownState next = Everything();
  next.rounds = 8;
  ASSERT_TRUE(state->Save(next, {.round = 8, .now_s = 1235, .status = "s"}, {}).ok());
  ASSERT_TRUE(state->Load().ok());
  EXPECT_EQ(state->cluster(), ClusterOf("uid-1"));
}

TEST_F(SqliteStateTest, TheHookOfASaveRunsOnlyForTheRoundThatWins) {
  ScaleDownState state = Everything();
  ASSERT_TRUE(Open()->Save(state, {.round = 7}, {}).ok());
  const auto one = Open();
  const auto other = Open();
  ASSERT_TRUE(one->Load().ok());
  ASSERT_TRUE(other->Load().ok());
  std::vector<std::string> beside;
  const auto add = [&](const char* who) {
    return [&beside, who] {
      beside.emplace_back(who);
      return absl::OkStatus();
    };
  };
  state.rounds = 8;
  ASSERT_TRUE(one->SaveAfter(state, {.round = 8, .status = "one"}, {}, add("one")).ok());
  EXPECT_EQ(other->SaveAfter(state, {.round = 8, .status = "other"}, {}, add("other")).code(),
            absl::StatusCode::kAborted);
  EXPECT_EQ(beside, std::vector<std::string>{"one"});

  ScaleDownState next = state;
  next.rounds = 9;
  const auto fail = [] { return absl::InternalError("the record is full"); };
  EXPECT_EQ(one->SaveAfter(next, {.round = 9}, {}, fail).message(), "the record is full");
  ExpectEqual(*Open()->Load().value(), state);
}

TEST_F(SqliteStateTest, NamesThatSqliteGivesAMeaningAreFiles) {
  const std::string before = std::filesystem::current_path();
  const std::string folder = path_ + ".d";
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  for (const char* name : {":memory:", "file:x.db?mode=memory", "file:y.db"}) {
    const auto store = SqliteState::Open(name, {});
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->Save(Everything(), {.round = 7}, {}).ok());
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
    const auto again = SqliteState::Open(name, {.read_only = true});
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectEqual(*(*again)->Load().value(), Everything());
  }
  EXPECT_FALSE(std::filesystem::exists("y.db"));
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST_F(SqliteStateTest, AFileWithForeignTablesIsRejectedAndKept) {
  const char* const kChanges[] = {
      "CREATE TRIGGER t AFTER INSERT ON rounds BEGIN DELETE FROM timers; END",
      "CREATE VIEW t AS SELECT 1",
      "CREATE TABLE t(x)",
      "CREATE INDEX t ON timers(uid)",
  };
  for (const char* change : kChanges) {
    Remove();
    ASSERT_TRUE(Open()->Save(Everything(), {.round = 7}, {}).ok());
    const auto running = Open();
    ASSERT_TRUE(running->Load().ok());
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, change, nullptr, nullptr, nullptr), SQLITE_OK) << change;
    sqlite3_close(db);
    const std::string before = Bytes();
    const auto opened = SqliteState::Open(path_, {});
    ASSERT_FALSE(opened.ok()) << change;
    EXPECT_NE(opened.status().message().find(" t, which is not ebb's"), std::string::npos)
        << opened.status();
    EXPECT_FALSE(running->Save(Everything(), {.round = 8}, {}).ok()) << change;
    EXPECT_EQ(Bytes(), before) << change;
  }
}

TEST_F(SqliteStateTest, TablesOfSqliteItselfAreIgnored) {
  ASSERT_TRUE(Open()->Save(Everything(), {.round = 7}, {}).ok());
  sqlite3* db = nullptr;
  sqlite3_open(path_.c_str(), &db);
  ASSERT_EQ(sqlite3_exec(db, "ANALYZE; VACUUM", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  ExpectEqual(*Open()->Load().value(), Everything());
}

TEST_F(SqliteStateTest, CountersThatAreNotThoseThatWereSavedAreRefused) {
  const char* const kChanges[] = {
      "UPDATE counters SET value = 4.0 WHERE name = 'total'",
      "UPDATE counters SET label = 'other' WHERE name = 'total'",
      "DELETE FROM counters WHERE name = 'total'",
      "DELETE FROM state WHERE key = 'counters_digest'",
  };
  for (const char* change : kChanges) {
    Remove();
    ASSERT_TRUE(Open()->Save(Everything(), {.round = 7}, {{"total", "label", -1, 2}}).ok());
    ASSERT_TRUE(Open()->Count({"total", "label", -1, 1}).ok());
    ASSERT_TRUE(Open()->Load().ok());
    sqlite3* db = nullptr;
    sqlite3_open(path_.c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, change, nullptr, nullptr, nullptr), SQLITE_OK) << change;
    EXPECT_EQ(sqlite3_changes(db), 1) << change;
    sqlite3_close(db);
    const std::string before = Bytes();
    const auto loaded = Open()->Load();
    ASSERT_FALSE(loaded.ok()) << change;
    EXPECT_NE(loaded.status().message().find("the counters do not match"), std::string::npos);
    EXPECT_FALSE(Open()->Count({"total", "label", -1, 1}).ok()) << change;
    EXPECT_EQ(Bytes(), before) << change;
  }
}

TEST_F(SqliteStateTest, ReadOnlyNeedsAFile) {
  EXPECT_EQ(SqliteState::Open(path_, {.read_only = true}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(SqliteStateTest, KilledAtAnyPointTheFileHoldsOneWholeRound) {
  ASSERT_TRUE(Open()->Save({}, {.round = 0}, {}).ok());
  int64_t last = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const pid_t child = fork();
    if (child == 0) {
      const auto store = SqliteState::Open(path_, {});
      for (int64_t round = last + 1;; ++round) {
        ScaleDownState state = Everything();
        state.rounds = round;
        state.latest_s = round;
        state.timers.clear();
        for (int i = 0; i < 50; ++i) {
          state.timers.push_back({"n" + std::to_string(100 + i), "uid", round, true});
        }
        if (!(*store)->Save(state, {.round = round}, {}).ok()) _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(3000 * (attempt + 1)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto store = Open();
    ASSERT_NE(store, nullptr);
    const ScaleDownState state = *store->Load().value();
    EXPECT_EQ(state.latest_s, state.rounds);
    for (const auto& timer : state.timers) EXPECT_EQ(timer.since_s, state.rounds);
    EXPECT_EQ(store->Rounds()->back().round, state.rounds);
    EXPECT_GE(state.rounds, last);
    last = state.rounds;
  }
}

}  // namespace
}  // namespace ebb::sqlite_state_test
