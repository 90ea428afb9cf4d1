// The common behaviour of all four schools, and a user's policy.

#include "sizing/policy/policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/policy/policy_schools.h"
#include "sizing/policy/state_text.h"
#include "tests/sizing/policy/sample_pools.h"

namespace ebb::policy_test {
namespace {

using ::testing::ElementsAre;

TEST(PolicyTest, TheExampleOfANumberIsOneThatIsAllowed) {
  const PolicyRegistry registry;
  for (const std::string_view name : registry.Names()) {
    for (const PolicyKey& key : registry.Find(name)->keys) {
      if (key.type != PolicyValueType::kInt && key.type != PolicyValueType::kNumber) continue;
      EXPECT_GE(std::stod(key.example), key.min) << name << ": " << key.path;
      EXPECT_LE(std::stod(key.example), key.max) << name << ": " << key.path;
    }
  }
}

TEST(PolicyTest, SignalsThatAreNotNumbersChangeNothing) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    PolicyObservation pool = Pool(10, {.cpu_milli = 1000, .memory_bytes = kGib});
    pool.signals["cpus"] = pool.signals["rooms_occupied"] = {.value = value};
    PolicySettings clusterman = Sample("clusterman");
    clusterman.Set("autoscale_signal.internal", false);
    std::string state;
    EXPECT_EQ(Make("clusterman", clusterman)->Decide(pool, kNow, &state).delta, 0) << value;
    state.clear();
    const PolicyDecision maestro = Make("maestro", Sample("maestro"))->Decide(pool, kNow, &state);
    EXPECT_EQ(maestro.delta, 0) << value;
    EXPECT_EQ(maestro.denied_by, "invalid_counts");
  }
}

TEST(PolicyTest, EachSchoolHasThePeriodOfItsProgram) {
  const auto period = [](std::string_view school, const PolicySettings& settings) {
    return PolicyRegistry().Find(school)->period_s(settings);
  };
  EXPECT_EQ(period("clusterman", {}), 600);
  EXPECT_EQ(period("escalator", {}), 60);
  EXPECT_EQ(period("maestro", {}), 10);
  EXPECT_EQ(period("replicator", {}), 10);
  PolicySettings settings;
  settings.Set("autoscale_signal.period_minutes", int64_t{3});
  settings.Set("autoScalingPeriod", int64_t{30});
  EXPECT_EQ(period("clusterman", settings), 180);
  EXPECT_EQ(period("maestro", settings), 30);
}

TEST(PolicyTest, LeavingNodesAreCandidatesOfNoSchool) {
  for (const std::string& school : PolicyRegistry().Names()) {
    const auto policy = Make(school, Sample(school));
    PolicyObservation pool = Pool(6, {.cpu_milli = 1000, .memory_bytes = kGib});
    pool.nodes[2].is_leaving = true;
    std::string state;
    const PolicyDecision decision = policy->Decide(pool, kNow, &state);
    if (!decision.candidates) continue;
    EXPECT_EQ(std::ranges::count(*decision.candidates, "node-2"), 0) << school;
    EXPECT_EQ(decision.candidates->size(), 5u) << school;
  }
}

TEST(PolicyTest, AStateOfAnotherPolicyIsLeftAsItIsAndNothingIsDone) {
  const PolicyObservation pool = Pool(4, {.cpu_milli = 1000, .memory_bytes = kGib});
  for (const std::string& name : PolicyRegistry().Names()) {
    for (const std::string wrong : {"nonsense", "7 other/1 ", "12 escalator/3 0 "}) {
      std::string state = wrong;
      const PolicyDecision decision = Make(name, Sample(name))->Decide(pool, kNow, &state);
      EXPECT_EQ(decision.denied_by, "state") << name;
      EXPECT_EQ(decision.delta, 0);
      EXPECT_EQ(state, wrong);
    }
  }
}

// Runs the same rounds with one policy object, and with a new object for each round.
TEST(PolicyTest, ARestartBetweenRoundsChangesNothing) {
  for (const std::string& name : PolicyRegistry().Names()) {
    std::mt19937 random(7);
    const PolicySettings settings = name == "maestro" ? MaestroSettings() : Sample(name);
    const std::unique_ptr<Policy> lives = Make(name, settings);
    std::string state;
    std::string restarted_state;
    int64_t now_s = kNow;
    for (int round = 0; round < 100; ++round) {
      PolicyObservation pool = Pool(random() % 6, {.cpu_milli = 1000, .memory_bytes = kGib});
      for (size_t i = 0; i < pool.nodes.size(); ++i) {
        const auto cpu = static_cast<int64_t>(random() % 1200);
        AddPod(pool, i, {.cpu_milli = cpu, .memory_bytes = kGib / 8});
      }
      now_s += static_cast<int64_t>(random() % 400);
      const bool succeeds = random() % 3 != 0;
      const std::unique_ptr<Policy> restarted = Make(name, settings);
      const PolicyDecision one = lives->Decide(pool, now_s, &state);
      const PolicyDecision other = restarted->Decide(pool, now_s, &restarted_state);
      ASSERT_EQ(one, other) << name << " round " << round;
      if (one.delta != 0) {
        lives->Ended(succeeds, now_s, &state);
        restarted->Ended(succeeds, now_s, &restarted_state);
      }
      ASSERT_EQ(state, restarted_state) << name << " round " << round;
    }
  }
}

TEST(PolicyTest, TheErrorForAnUnknownPolicyNamesTheNearestOne) {
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("escalatr", {}, &problems), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].what, "no policy has the name \"escalatr\"; did you mean escalator?");
}

// A user's policy: a class, its keys, and the function that makes it.
class FixedPolicy final : public Policy {
 public:
  explicit FixedPolicy(int64_t nodes) : nodes_(nodes) {}
  PolicyDecision Decide(const PolicyObservation& observation, int64_t /*now_s*/,
                        std::string* state) const override {
    int64_t rounds = 0;
    if (!ReadStateText("fixed/1", *state, &rounds)) return Denied("state", "state_unreadable");
    *state = StateText("fixed/1", rounds + 1);
    PolicyDecision decision;
    decision.delta = nodes_ - std::ssize(observation.nodes);
    decision.reason = "fixed";
    decision.figures = {{"nodes wanted", std::to_string(nodes_)},
                        {"round", std::to_string(rounds + 1)}};
    return decision;
  }
  void Ended(bool /*succeeded*/, int64_t /*now_s*/, std::string* /*state*/) const override {}

 private:
  int64_t nodes_;
};

PolicySchool FixedSchool() {
  return {.name = "fixed",
          .summary = "Keeps one number of nodes",
          .keys = {{"nodes", PolicyValueType::kInt, "How many", "3", true, 0}},
          .make = [](const PolicySettings& settings, std::vector<PolicyProblem>*) {
            int64_t nodes = 0;
            settings.Read("nodes", nodes);
            return std::make_unique<FixedPolicy>(nodes);
          }};
}

TEST(PolicyTest, APolicyOfOnesOwnIsAddedUnderItsName) {
  PolicyRegistry registry;
  ASSERT_TRUE(registry.Add(FixedSchool()));
  EXPECT_FALSE(registry.Add(FixedSchool())) << "the name is taken";
  std::vector<PolicyProblem> problems;
  const std::unique_ptr<Policy> policy = registry.Make("fixed", Sample(FixedSchool()), &problems);
  ASSERT_NE(policy, nullptr);
  std::string state;
  EXPECT_EQ(policy->Decide(Pool(1, {}), kNow, &state).delta, 2);
  const PolicyDecision second = policy->Decide(Pool(5, {}), kNow, &state);
  EXPECT_EQ(second.delta, -2);
  EXPECT_EQ(Figure(second, "round"), "2");
  EXPECT_FALSE(policy->InFailsafe(state));
}

TEST(PolicyTest, ASchoolWithoutANameOrAWayToMakeItIsNotAdded) {
  PolicyRegistry registry;
  PolicySchool nameless = FixedSchool();
  nameless.name.clear();
  EXPECT_FALSE(registry.Add(nameless));
  PolicySchool unmade = FixedSchool();
  unmade.make = nullptr;
  EXPECT_FALSE(registry.Add(unmade));
  EXPECT_THAT(registry.Names(), ElementsAre("clusterman", "escalator", "maestro", "replicator"));
  EXPECT_EQ(registry.Find("fixed"), nullptr);
}

TEST(PolicyTest, DirectionsAndTypesHaveNames) {
  EXPECT_EQ(Name(PolicyDirection::kStay), "stay");
  EXPECT_EQ(Name(PolicyDirection::kUp), "up");
  EXPECT_EQ(Name(PolicyDirection::kDown), "down");
  EXPECT_EQ(Name(PolicyValueType::kBool), "bool");
  EXPECT_EQ(Name(PolicyValueType::kInt), "int");
  EXPECT_EQ(Name(PolicyValueType::kNumber), "number");
  EXPECT_EQ(Name(PolicyValueType::kText), "text");
}

TEST(PolicyTest, APolicyHasByDefaultNoFailsafeAndSeveralActionsAtATime) {
  const FixedPolicy policy(3);
  std::string state;
  EXPECT_FALSE(policy.SetFailsafe(true, &state));
  EXPECT_EQ(state, "");
  EXPECT_FALSE(policy.InFailsafe(state));
  EXPECT_FALSE(policy.OneActionAtATime());
  for (const std::string& school : PolicyRegistry().Names()) {
    EXPECT_EQ(Make(school, Sample(school))->OneActionAtATime(), school == "replicator") << school;
  }
}

TEST(PolicyTest, TheErrorForAPolicyLikeNoOtherNamesNoOther) {
  std::vector<PolicyProblem> problems;
  EXPECT_EQ(PolicyRegistry().Make("zzzzzzzzzzzzzzzz", {}, &problems), nullptr);
  EXPECT_THAT(problems,
              ElementsAre(PolicyProblem{"policy", "no policy has the name \"zzzzzzzzzzzzzzzz\""}));
}

TEST(PolicyTest, OnlyClustermanAndMaestroHaveAKeyForTheirPeriod) {
  const PolicyRegistry registry;
  EXPECT_EQ(registry.Find("clusterman")->period_key, "autoscale_signal.period_minutes");
  EXPECT_EQ(registry.Find("maestro")->period_key, "autoScalingPeriod");
  EXPECT_EQ(registry.Find("escalator")->period_key, "");
  EXPECT_EQ(registry.Find("replicator")->period_key, "");
  // A period that does not fit in seconds stays as it is.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  PolicySettings settings;
  settings.Set("autoscale_signal.period_minutes", kMost / 60);
  EXPECT_EQ(registry.Find("clusterman")->period_s(settings), kMost / 60 * 60);
  settings.Set("autoscale_signal.period_minutes", kMost / 60 + 1);
  EXPECT_EQ(registry.Find("clusterman")->period_s(settings), kMost / 60 + 1);
}

TEST(PolicyTest, ATextThatIsNotAStateIsDeniedAndLeftAsItIs) {
  PolicyDecision expected;
  expected.reason = "state_unreadable";
  expected.denied_by = "state";
  for (const std::string& school : PolicyRegistry().Names()) {
    const std::unique_ptr<Policy> policy = Make(school, Sample(school));
    std::string state = "nonsense";
    EXPECT_EQ(policy->Decide(Pool(1, {}), kNow, &state), expected) << school;
    for (const bool succeeded : {true, false}) {
      policy->Ended(succeeded, kNow, &state);
      EXPECT_EQ(state, "nonsense") << school;
    }
  }
}

TEST(PolicyTest, EachSchoolHasASummaryAndHelpExplainsZero) {
  const PolicyRegistry registry;
  EXPECT_EQ(registry.Find("clusterman")->summary,
            "Keeps utilization at a setpoint, within a margin and limits of a step");
  EXPECT_EQ(registry.Find("escalator")->summary,
            "Keeps what pods request between thresholds of what nodes can hold");
  EXPECT_EQ(registry.Find("maestro")->summary,
            "Tries triggers in order, over points of utilization in time");
  EXPECT_EQ(registry.Find("replicator")->summary,
            "Keeps room for the loss of some nodes and for each scaled job to grow by one");
  const auto help = [&](std::string_view school, std::string_view path) -> std::string {
    for (const PolicyKey& key : registry.Find(school)->keys) {
      if (key.path == path) return key.help;
    }
    return "(absent)";
  };
  EXPECT_EQ(help("clusterman", "scaling_limits.max_tasks_to_kill"),
            "A node goes only with fewer; 0: empty nodes only");
  EXPECT_EQ(help("escalator", "min_nodes"),
            "Fewest untainted nodes; with max_nodes 0: the cloud group's");
  EXPECT_EQ(help("maestro", "max"), "Most rooms; 0: no bound");
  for (const char* const path : {"up.metricsTrigger[].delta", "down.metricsTrigger[].delta"}) {
    EXPECT_EQ(help("maestro", path), "Of type legacy: rooms, below 0 to go down");
  }
}

}  // namespace
}  // namespace ebb::policy_test
