#include "tests/policies/clusterman_drainer.h"

#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "gtest/gtest.h"

namespace ebb::clusterman_drainer_test {
namespace {

using Outcome = ClustermanDrainOutcome;

// A fake cloud and cluster that records the calls it gets.
class FakeBackend : public ClustermanDrainBackend {
 public:
  std::optional<ClustermanHost> FindHost(std::string_view instance_id) override {
    const auto it = hosts.find(std::string(instance_id));
    return it == hosts.end() ? std::nullopt : std::optional(it->second);
  }
  bool KnowsGroup(std::string_view group_id) override { return group_id == "g"; }
  bool Drain(std::string_view node, bool delete_pods) override {
    Note((delete_pods ? "delete " : "evict ") + std::string(node));
    return drains;
  }
  void RemoveTaint(std::string_view node) override { Note("untaint " + std::string(node)); }
  bool Terminate(const ClustermanHost& host) override {
    Note("terminate " + host.instance_id);
    return terminates;
  }
  void StartMaintenance(const ClustermanHost& host, int64_t seconds) override {
    Note("maintain " + host.instance_id + " " + std::to_string(seconds));
  }
  void MarkDown(const ClustermanHost& host) override { Note("down " + host.instance_id); }
  void MarkUp(const ClustermanHost& host) override { Note("up " + host.instance_id); }

  std::map<std::string, ClustermanHost> hosts;
  bool drains = true;
  bool terminates = true;
  std::string log;

 private:
  void Note(const std::string& what) { log += (log.empty() ? "" : ", ") + what; }
};

ClustermanHost Host(const std::string& name, int64_t start_s = 0) {
  ClustermanHost host;
  host.instance_id = "i-" + name;
  host.agent_id = "n-" + name;
  host.group_id = "g";
  host.pool = "p";
  host.draining_start_s = start_s;
  return host;
}

struct Drainer {
  Outcome Tick(int64_t now_s) { return DrainOnce(options, now_s, backend, &state).drain; }
  std::string LogOf(int64_t now_s) {
    backend.log.clear();
    Tick(now_s);
    return backend.log;
  }

  ClustermanDrainOptions options;
  FakeBackend backend;
  ClustermanDrainState state;
};

TEST(ClustermanDrainerTest, ANodeIsDrainedAndTerminatedInOneTick) {
  Drainer drainer;
  Submit(Host("a"), 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(0), "evict n-a, terminate i-a");
  EXPECT_TRUE(drainer.state.drains.messages.empty());
  EXPECT_TRUE(drainer.state.terminations.messages.empty());
}

TEST(ClustermanDrainerTest, OneMessageOfEachQueueATickOldestFirst) {
  Drainer drainer;
  Submit(Host("a"), 0, drainer.state);
  Submit(Host("b"), 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(0), "evict n-a, terminate i-a");
  EXPECT_EQ(drainer.LogOf(5), "evict n-b, terminate i-b");
}

TEST(ClustermanDrainerTest, ANodeThatDrainsAlreadyIsADuplicateForHalfAnHour) {
  Drainer drainer;
  Submit(Host("a"), 0, drainer.state);
  drainer.Tick(0);
  Submit(Host("a", 1800), 1800, drainer.state);
  EXPECT_EQ(drainer.Tick(1800), Outcome::kDuplicate);
  EXPECT_TRUE(drainer.state.drains.messages.empty());
  Submit(Host("a", 1801), 1801, drainer.state);
  EXPECT_EQ(drainer.Tick(1801), Outcome::kDrained);
}

TEST(ClustermanDrainerTest, ASpotInterruptionIsNeverADuplicateAndDeletesPods) {
  Drainer drainer;
  Submit(Host("a"), 0, drainer.state);
  drainer.Tick(0);
  ClustermanHost host = Host("a");
  host.reason = ClustermanTermination::kSpotInterruption;
  Submit(host, 5, drainer.state);
  EXPECT_EQ(drainer.LogOf(5), "delete n-a, terminate i-a");
}

TEST(ClustermanDrainerTest, ARefusedDrainIsTriedAgainAfterItsDelayAndKeepsItsStart) {
  Drainer drainer;
  drainer.backend.drains = false;
  Submit(Host("a"), 0, drainer.state);
  EXPECT_EQ(drainer.Tick(0), Outcome::kRefused);
  ASSERT_EQ(drainer.state.drains.messages.size(), 1);
  EXPECT_EQ(drainer.state.drains.messages[0].visible_at_s, 15);
  EXPECT_EQ(drainer.state.drains.messages[0].host.attempt, 2);
  EXPECT_EQ(drainer.state.drains.messages[0].host.draining_start_s, 0);
  EXPECT_EQ(drainer.Tick(14), Outcome::kNone);
  EXPECT_EQ(drainer.Tick(15), Outcome::kRefused);
  drainer.options.pools["p"].redraining_delay_seconds = 60;
  EXPECT_EQ(drainer.Tick(30), Outcome::kRefused);
  EXPECT_EQ(drainer.state.drains.messages[0].visible_at_s, 90);
}

TEST(ClustermanDrainerTest, ADrainIsGivenUpAfterItsThresholdAndMayStartAgain) {
  Drainer drainer;
  drainer.options.pools["p"].draining_time_threshold_seconds = 60;
  drainer.backend.drains = false;
  Submit(Host("a"), 0, drainer.state);
  drainer.Tick(0);
  EXPECT_EQ(drainer.LogOf(60), "evict n-a");
  EXPECT_EQ(drainer.LogOf(75), "untaint n-a");
  EXPECT_TRUE(drainer.state.drains.messages.empty());
  EXPECT_TRUE(drainer.state.draining_until_s.empty());
}

TEST(ClustermanDrainerTest, ADrainThatTakesTooLongIsForcedIfConfigured) {
  Drainer drainer;
  drainer.options.pools["p"] = {.draining_time_threshold_seconds = 60,
                                .redraining_delay_seconds = {},
                                .force_terminate = true};
  Submit(Host("a"), 61, drainer.state);
  EXPECT_EQ(drainer.LogOf(61), "terminate i-a");
  EXPECT_TRUE(drainer.state.draining_until_s.contains("i-a"));
}

TEST(ClustermanDrainerTest, AnOrphanIsDroppedTerminatedOrDrainedByWhatItsCloudSays) {
  Drainer drainer;
  ClustermanHost orphan = Host("a");
  orphan.agent_id = "";
  orphan.reason = ClustermanTermination::kNodeMigration;
  Submit(orphan, 0, drainer.state);
  EXPECT_EQ(drainer.Tick(2000), Outcome::kGone);
  EXPECT_TRUE(drainer.state.drains.messages.empty());

  drainer.state = {};
  drainer.backend.hosts["i-a"] = orphan;
  Submit(orphan, 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(2000), "terminate i-a");

  drainer.state = {};
  drainer.backend.hosts["i-a"] = Host("a");
  drainer.backend.hosts["i-a"].pool = "by tag";
  Submit(orphan, 0, drainer.state);
  EXPECT_EQ(drainer.Tick(2000), Outcome::kNamed);
  const ClustermanHost& named = drainer.state.drains.messages.at(0).host;
  EXPECT_EQ(named.agent_id, "n-a");
  EXPECT_EQ(named.pool, "p");
  EXPECT_EQ(named.attempt, 2);
  EXPECT_EQ(named.draining_start_s, 2000);
  EXPECT_EQ(named.reason, ClustermanTermination::kNodeMigration);
  EXPECT_EQ(drainer.LogOf(2005), "evict n-a, terminate i-a");
}

TEST(ClustermanDrainerTest, AFailedTerminationIsRetriedWhenItsMessageIsVisibleAgain) {
  Drainer drainer;
  drainer.backend.terminates = false;
  Submit(Host("a"), 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(0), "evict n-a, terminate i-a");
  EXPECT_EQ(drainer.LogOf(29), "");
  EXPECT_EQ(drainer.LogOf(30), "terminate i-a");
  drainer.backend.terminates = true;
  EXPECT_EQ(drainer.LogOf(60), "terminate i-a");
  EXPECT_EQ(drainer.LogOf(600), "");
}

TEST(ClustermanDrainerTest, AWarnedInstanceOfOursIsDrained) {
  Drainer drainer;
  drainer.backend.hosts["i-a"] = Host("a");
  Warn("i-a", 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(0), "delete n-a, terminate i-a");
  EXPECT_TRUE(drainer.state.warnings.messages.empty());
}

TEST(ClustermanDrainerTest, OtherWarningsAreDeleted) {
  Drainer drainer;
  drainer.backend.hosts["i-other"] = Host("other");
  drainer.backend.hosts["i-other"].group_id = "nobody's";
  drainer.backend.hosts["i-off"] = Host("off");
  drainer.backend.hosts["i-off"].pool = "off";
  drainer.options.pools["off"].process_spot_warnings = false;
  for (const char* const id : {"i-gone", "i-other", "i-off"}) Warn(id, 0, drainer.state);
  for (const int64_t now_s : {0, 5, 10}) EXPECT_EQ(drainer.LogOf(now_s), "");
  EXPECT_TRUE(drainer.state.warnings.messages.empty());
  EXPECT_TRUE(drainer.state.drains.messages.empty());
}

TEST(ClustermanDrainerTest, MesosHostsAreMaintainedAndWaitForTheirSendersTimeout) {
  Drainer drainer;
  drainer.options.sfr_drain_termination_timeout_seconds = 45;
  ClustermanHost host = Host("a");
  host.scheduler = ClustermanScheduler::kMesos;
  Submit(host, 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(0), "maintain i-a 600");
  EXPECT_EQ(drainer.LogOf(89), "");
  EXPECT_EQ(drainer.LogOf(90), "down i-a, terminate i-a, up i-a");
  host.sender = ClustermanGroupKind::kSfr;
  host.instance_id = "i-b";
  Submit(host, 100, drainer.state);
  drainer.Tick(100);
  EXPECT_EQ(drainer.LogOf(145), "down i-b, terminate i-b, up i-b");
}

TEST(ClustermanDrainerTest, AnotherSchedulersHostIsTerminatedAtOnce) {
  Drainer drainer;
  ClustermanHost host = Host("a");
  host.scheduler = ClustermanScheduler::kOther;
  Submit(host, 0, drainer.state);
  EXPECT_EQ(drainer.LogOf(0), "terminate i-a");
}

TEST(ClustermanDrainerTest, SleepsAlwaysOrOnlyWithoutWork) {
  Drainer drainer;
  drainer.options.always_delay_drain_processing = false;
  const ClustermanTick idle = DrainOnce(drainer.options, 0, drainer.backend, &drainer.state);
  EXPECT_TRUE(MaySleep(drainer.options, idle));
  Warn("i-a", 0, drainer.state);
  const ClustermanTick busy = DrainOnce(drainer.options, 0, drainer.backend, &drainer.state);
  EXPECT_FALSE(MaySleep(drainer.options, busy));
  drainer.options.always_delay_drain_processing = true;
  EXPECT_TRUE(MaySleep(drainer.options, busy));
}

TEST(ClustermanDrainerTest, DelaysBeyondTheEndOfTimeWait) {
  Drainer drainer;
  drainer.backend.drains = false;
  drainer.options.global_redraining_delay_seconds = std::numeric_limits<int64_t>::max();
  ClustermanHost host = Host("a");
  host.attempt = std::numeric_limits<int64_t>::max();
  Submit(host, 100, drainer.state);
  EXPECT_EQ(drainer.Tick(100), Outcome::kRefused);
  EXPECT_EQ(drainer.Tick(1'000'000), Outcome::kNone);
}

TEST(ClustermanDrainerTest, NegativeTimesAreProblemsThatNameTheirKey) {
  ClustermanDrainOptions options;
  EXPECT_TRUE(Problems(options).empty());
  options.pools["p"].draining_time_threshold_seconds = -1;
  options.global_redraining_delay_seconds = -1;
  EXPECT_EQ(Problems(options), (std::vector<std::string>{
                                   "p: draining.draining_time_threshold_seconds: must be 0 or more",
                                   "global_redraining_delay_seconds: must be 0 or more"}));
}

TEST(ClustermanDrainerTest, EveryNodeEndsTerminatedOrGivenUpAndARestartChangesNothing) {
  Random random(5);
  for (int i = 0; i < 200; ++i) {
    Drainer drainer;
    drainer.options.pools["p"].draining_time_threshold_seconds = 100;
    drainer.options.pools["p"].force_terminate = random.Below(2) == 0;
    Drainer other = drainer;
    std::set<std::string> submitted;
    std::set<std::string> ended;
    for (int64_t now_s = 0; now_s < 3000; now_s += 5) {
      if (now_s < 1000 && random.Below(10) == 0) {
        const std::string name = std::to_string(random.Below(5));
        Submit(Host(name, now_s), now_s, drainer.state);
        submitted.insert("i-" + name);
      }
      drainer.backend.drains = random.Below(4) == 0;
      drainer.backend.terminates = random.Below(2) == 0;
      other.backend = drainer.backend;
      other.state = drainer.state;  // The state after a restart.
      const ClustermanTick tick =
          DrainOnce(drainer.options, now_s, drainer.backend, &drainer.state);
      DrainOnce(drainer.options, now_s, other.backend, &other.state);
      ASSERT_EQ(drainer.state, other.state);
      ASSERT_EQ(drainer.backend.log, other.backend.log);
      for (const ClustermanDrainEvent& event : tick.events) {
        if (event.kind == ClustermanDrainEventKind::kTerminate && event.ok) {
          ended.insert(event.subject);
        }
        if (event.kind == ClustermanDrainEventKind::kRemoveTaint) {
          ended.insert("i-" + event.subject.substr(2));
        }
      }
    }
    ASSERT_EQ(submitted, ended);
    ASSERT_TRUE(drainer.state.drains.messages.empty());
    ASSERT_TRUE(drainer.state.terminations.messages.empty());
  }
}

// Such as "send i-a drain 15 attempt 2, delete i-a warn".
std::string Events(const ClustermanTick& tick) {
  using Kind = ClustermanDrainEventKind;
  std::string text;
  for (const ClustermanDrainEvent& event : tick.events) {
    if (!text.empty()) text += ", ";
    switch (event.kind) {
      case Kind::kDrain:
        text += event.delete_pods ? "drain and delete " : "drain ";
        break;
      case Kind::kSend:
        text += "send ";
        break;
      case Kind::kDelete:
        text += "delete ";
        break;
      case Kind::kRemoveTaint:
        text += "untaint ";
        break;
      case Kind::kTerminate:
        text += "terminate ";
        break;
    }
    text += event.subject;
    if (event.kind == Kind::kSend || event.kind == Kind::kDelete) {
      text += " " + std::string(Name(event.queue));
    }
    if (event.kind == Kind::kSend) text += " " + std::to_string(event.delay_s);
    if (event.attempt != 0) text += " attempt " + std::to_string(event.attempt);
    if (!event.ok) text += " in vain";
  }
  return text;
}

TEST(ClustermanDrainerTest, ATickReturnsItsEventsInOrder) {
  Drainer drainer;
  const auto tick = [&](int64_t now_s) {
    return DrainOnce(drainer.options, now_s, drainer.backend, &drainer.state);
  };
  const ClustermanTick idle = tick(0);
  EXPECT_FALSE(idle.had_message);
  EXPECT_EQ(idle.drain, Outcome::kNone);
  EXPECT_EQ(Events(idle), "");

  drainer.backend.drains = false;
  Submit(Host("a"), 0, drainer.state);
  const ClustermanTick refused = tick(0);
  EXPECT_TRUE(refused.had_message);
  EXPECT_EQ(Events(refused), "drain n-a in vain, send i-a drain 15 attempt 2, delete i-a drain");

  drainer.backend.drains = true;
  drainer.backend.terminates = false;
  EXPECT_EQ(Events(tick(15)),
            "drain n-a, send i-a term 0, delete i-a drain, terminate i-a in vain");
  ASSERT_EQ(drainer.state.terminations.messages.size(), 1);
  EXPECT_EQ(drainer.state.terminations.messages[0].host.attempt, 1) << "of draining";
  drainer.backend.terminates = true;
  EXPECT_EQ(Events(tick(45)), "terminate i-a, delete i-a term");

  drainer.backend.hosts["i-b"] = Host("b");
  Warn("i-b", 50, drainer.state);
  EXPECT_EQ(Events(tick(50)),
            "send i-b drain 0 attempt 1, delete i-b warn, drain and delete n-b, send i-b term 0, "
            "delete i-b drain, terminate i-b, delete i-b term");

  Submit(Host("c"), 5000, drainer.state);  // Its draining_start_s is 0.
  const ClustermanTick given_up = tick(5000);
  EXPECT_EQ(given_up.drain, Outcome::kGivenUp);
  EXPECT_EQ(Events(given_up), "untaint n-c, delete i-c drain");
}

TEST(ClustermanDrainerTest, AHiddenMessageDoesNotBlockTheNext) {
  Drainer drainer;
  drainer.backend.drains = false;
  Submit(Host("a"), 0, drainer.state);
  drainer.Tick(0);  // The message is visible again at 15.
  drainer.backend.drains = true;
  Submit(Host("b"), 5, drainer.state);
  EXPECT_EQ(drainer.LogOf(5), "evict n-b, terminate i-b");
  EXPECT_EQ(drainer.LogOf(15), "evict n-a, terminate i-a");
}

TEST(ClustermanDrainerTest, AWarningIsAboutItsOwnInstanceAndDrainingBeginsWithIt) {
  Drainer drainer;
  drainer.backend.hosts["i-a"] = Host("a");
  drainer.backend.hosts["i-a"].instance_id = "";  // A cloud may answer without an id.
  Warn("i-a", 5000, drainer.state);
  EXPECT_EQ(drainer.LogOf(5000), "delete n-a, terminate i-a");
}

TEST(ClustermanDrainerTest, AnOrphanWithoutAPoolHasThatOfItsTags) {
  Drainer drainer;
  ClustermanHost orphan = Host("a");
  orphan.agent_id = orphan.pool = "";
  drainer.backend.hosts["i-a"] = Host("a");
  drainer.backend.hosts["i-a"].instance_id = "";
  drainer.backend.hosts["i-a"].pool = "by tag";
  Submit(orphan, 0, drainer.state);
  EXPECT_EQ(drainer.Tick(0), Outcome::kNamed);
  ASSERT_EQ(drainer.state.drains.messages.size(), 1);
  EXPECT_EQ(drainer.state.drains.messages[0].host.pool, "by tag");
  EXPECT_EQ(drainer.state.drains.messages[0].host.instance_id, "i-a");
  EXPECT_EQ(drainer.state.drains.messages[0].visible_at_s, 0);
}

TEST(ClustermanDrainerTest, EachOutcomeOfADrainIsReturned) {
  Drainer drainer;
  ClustermanHost orphan = Host("a");
  orphan.agent_id = "";
  drainer.backend.hosts["i-a"] = orphan;
  Submit(orphan, 0, drainer.state);
  EXPECT_EQ(drainer.Tick(0), Outcome::kNoNode);
  ClustermanHost other = Host("b");
  other.scheduler = ClustermanScheduler::kOther;
  Submit(other, 0, drainer.state);
  EXPECT_EQ(drainer.Tick(0), Outcome::kTerminated);
  ClustermanHost mesos = Host("c");
  mesos.scheduler = ClustermanScheduler::kMesos;
  Submit(mesos, 0, drainer.state);
  EXPECT_EQ(drainer.Tick(0), Outcome::kDrained);
  drainer.options.pools["p"].force_terminate = true;
  Submit(Host("d"), 1801, drainer.state);
  EXPECT_EQ(drainer.Tick(1801), Outcome::kForced);
}

TEST(ClustermanDrainerTest, AMesosHostThatIsNotTerminatedStaysDown) {
  Drainer drainer;
  drainer.backend.terminates = false;
  ClustermanHost host = Host("a");
  host.scheduler = ClustermanScheduler::kMesos;
  Submit(host, 0, drainer.state);
  drainer.Tick(0);
  EXPECT_EQ(drainer.LogOf(90), "down i-a, terminate i-a");
}

TEST(ClustermanDrainerTest, EnumValuesHaveNames) {
  EXPECT_EQ(Name(ClustermanTermination::kScalingDown), "scaling down");
  EXPECT_EQ(Name(ClustermanTermination::kSpotInterruption), "spot interruption");
  EXPECT_EQ(Name(ClustermanTermination::kNodeMigration), "node migration");
  EXPECT_EQ(Name(ClustermanQueueName::kWarning), "warn");
  EXPECT_EQ(Name(ClustermanQueueName::kDrain), "drain");
  EXPECT_EQ(Name(ClustermanQueueName::kTermination), "term");
  const std::pair<Outcome, const char*> kOutcomes[] = {
      {Outcome::kNone, ""},
      {Outcome::kDuplicate, "drains already"},
      {Outcome::kGone, "gone"},
      {Outcome::kNoNode, "no node, to be terminated"},
      {Outcome::kNamed, "has joined, to be drained"},
      {Outcome::kForced, "took too long, to be terminated"},
      {Outcome::kGivenUp, "took too long, given up"},
      {Outcome::kDrained, "drained, to be terminated"},
      {Outcome::kRefused, "a pod refused, to be tried again"},
      {Outcome::kTerminated, "to be terminated"}};
  for (const auto& [outcome, name] : kOutcomes) EXPECT_EQ(Name(outcome), name);
}

TEST(ClustermanDrainerTest, EveryNegativeTimeIsAProblem) {
  ClustermanDrainOptions options;
  options.pools["p"].redraining_delay_seconds = -1;
  options.mesos_maintenance_timeout_seconds = -1;
  options.asg_drain_termination_timeout_seconds = -1;
  options.sfr_drain_termination_timeout_seconds = -1;
  options.visibility_timeout_seconds = -1;
  options.run_interval_seconds = -1;
  EXPECT_EQ(Problems(options),
            (std::vector<std::string>{"p: draining.redraining_delay_seconds: must be 0 or more",
                                      "mesos_maintenance_timeout_seconds: must be 0 or more",
                                      "drain_termination_timeout_seconds.asg: must be 0 or more",
                                      "drain_termination_timeout_seconds.sfr: must be 0 or more",
                                      "visibility_timeout_seconds: must be 0 or more",
                                      "batches.drainer.run_interval_seconds: must be 0 or more"}));
  ClustermanDrainOptions zero;
  zero.pools["p"] = {.draining_time_threshold_seconds = 0, .redraining_delay_seconds = 0};
  zero.global_redraining_delay_seconds = zero.visibility_timeout_seconds = 0;
  EXPECT_TRUE(Problems(zero).empty());
}

TEST(ClustermanDrainerTest, MessagesAreNumberedInTheOrderOfSending) {
  ClustermanDrainState state;
  Submit(Host("a"), 10, state);
  Submit(Host("b"), 20, state);
  Warn("i-c", 30, state);
  ClustermanHost warned;
  warned.instance_id = "i-c";
  ClustermanDrainState expected;
  expected.drains = {.next_id = 2, .messages = {{0, 10, Host("a")}, {1, 20, Host("b")}}};
  expected.warnings = {.next_id = 1, .messages = {{0, 30, warned}}};
  EXPECT_EQ(state, expected);
}

TEST(ClustermanDrainerTest, OnlyRetriesOfAnAttemptAreNotDuplicates) {
  Drainer drainer;
  Submit(Host("a"), 0, drainer.state);
  drainer.Tick(0);
  ClustermanHost host = Host("a");
  host.attempt = 0;
  Submit(host, 5, drainer.state);
  EXPECT_EQ(drainer.Tick(5), Outcome::kDuplicate);
  host.attempt = 2;
  Submit(host, 10, drainer.state);
  EXPECT_EQ(drainer.Tick(10), Outcome::kDrained);
}

TEST(ClustermanDrainerTest, EachAttemptKeepsDuplicatesAwayForAnotherHalfHour) {
  Drainer drainer;
  drainer.backend.drains = false;
  Submit(Host("a"), 0, drainer.state);
  drainer.Tick(0);
  EXPECT_EQ(drainer.state.draining_until_s, (std::map<std::string, int64_t>{{"i-a", 1800}}));
  drainer.Tick(15);
  EXPECT_EQ(drainer.state.draining_until_s, (std::map<std::string, int64_t>{{"i-a", 1815}}));
  Submit(Host("a"), 20, drainer.state);
  EXPECT_EQ(drainer.Tick(20), Outcome::kDuplicate);
  EXPECT_EQ(drainer.state.draining_until_s, (std::map<std::string, int64_t>{{"i-a", 1815}}))
      << "a duplicate does not";
}

TEST(ClustermanDrainerTest, AThresholdBeforeTheBeginningOfTimeIsOver) {
  Drainer drainer;
  drainer.options.pools["p"].draining_time_threshold_seconds = -1;
  Submit(Host("a", std::numeric_limits<int64_t>::min()), 0, drainer.state);
  EXPECT_EQ(drainer.Tick(0), Outcome::kGivenUp);
}

}  // namespace
}  // namespace ebb::clusterman_drainer_test
