#include "planning/plan_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deadline.h"
#include "base/text.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::plan_answer_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNow = 1780315200;

LoadedCluster Loaded(const Cluster& cluster) {
  return {.snapshot = cluster.Build(), .pending = {}, .counts = {}, .warnings = {}};
}

// Either a or b can go, and both if z takes more than one pod.
Cluster ThreeNodes(int64_t free) {
  return Cluster()
      .Add(Node("a").Cpu(4000))
      .Add(Node("b").Cpu(4000))
      .Add(Node("z").Cpu(4000))
      .Add(Pod("of-a").On("a").Cpu(1000))
      .Add(Pod("of-b").On("b").Cpu(1000))
      .Add(Pod("of-z").On("z").Cpu(4000 - free));
}

Node Goes(std::string_view name) {
  return Node(name).Taint("ToBeDeletedByClusterAutoscaler", std::to_string(kNow - 60));
}

std::vector<std::string> Removed(const ClusterSnapshot& snapshot, const Plan& plan) {
  std::vector<std::string> names;
  for (const RemovableNode& each : plan.remove) {
    names.emplace_back(snapshot.catalog().NodeName(each.node));
  }
  return names;
}

std::vector<std::string> Removed(const PlanQuery& query, const Cluster& cluster) {
  LoadedCluster loaded = Loaded(cluster);
  const auto answer = AnswerPlan(query, loaded);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? Removed(loaded.snapshot, (*answer)->made.plan) : std::vector<std::string>();
}

TEST(AnswerPlanTest, CandidatesAreTriedByNameInTheirOrder) {
  PlanQuery query{.now_s = kNow, .order = CandidateOrder::kInput};
  EXPECT_THAT(Removed(query, ThreeNodes(2000)), ElementsAre("a", "b"));
  query.candidates = {"b"};
  EXPECT_THAT(Removed(query, ThreeNodes(2000)), ElementsAre("b"));
  query.candidates = {"b", "a"};
  EXPECT_THAT(Removed(query, ThreeNodes(2000)), ElementsAre("b", "a"));
}

TEST(AnswerPlanTest, AMissingCandidateIsNamed) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000));
  const PlanQuery query{.now_s = kNow, .candidates = std::vector<std::string>{"a", "nowhere"}};
  const absl::Status status = AnswerPlan(query, loaded).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "candidates[1]: node nowhere is not in the cluster");
}

// Symptom: a caller that forgot DeletionsUnderWay gave the room of pods about to move to other
// pods.
TEST(AnswerPlanTest, PodsOfNodesInDeletionHaveTheirRoomFirst) {
  const PlanQuery query{.now_s = kNow, .order = CandidateOrder::kInput};
  const Cluster cluster = Cluster()
                              .Add(Node("a").Cpu(4000))
                              .Add(Goes("b").Cpu(4000))
                              .Add(Node("z").Cpu(4000))
                              .Add(Pod("of-a").On("a").Cpu(1000))
                              .Add(Pod("of-b").On("b").Cpu(1000))
                              .Add(Pod("of-z").On("z").Cpu(3000));
  EXPECT_THAT(Removed(query, cluster), ElementsAre());
  ClusterSnapshot snapshot = cluster.Build();
  const std::string before = snapshot.Fingerprint();
  const auto tried = TryPlan(query, AssignGroups(snapshot.catalog(), {}), snapshot, {});
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_THAT(Removed(snapshot, tried->plan), ElementsAre());
  EXPECT_EQ(snapshot.Fingerprint(), before);
}

TEST(AnswerPlanTest, AnAnswerListsNodesInDeletionAndKeepsNoDeadline) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000).Add(Goes("c")).Add(Pod("of-c").On("c").Cpu(100)));
  PlanQuery query{.now_s = kNow};
  query.seconds = 100;
  const auto answer = AnswerPlan(query, loaded);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)->request.pass.evicting.size(), 1U);
  EXPECT_EQ((*answer)->request.pass.must_fit, 1U);
  EXPECT_EQ((*answer)->request.pass.deadline, nullptr);
  EXPECT_EQ((*answer)->request.verification_ends, nullptr);
  EXPECT_EQ((*answer)->Report().remove.size(), (*answer)->made.plan.remove.size());
}

TEST(AnswerPlanTest, TimeThatIsOverLeavesAShorterPlan) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000));
  PlanQuery query{.now_s = kNow};
  query.seconds = -1;
  const auto answer = AnswerPlan(query, loaded);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)->made.plan.termination, Termination::kDeadline);
  EXPECT_TRUE((*answer)->made.plan.remove.empty());
}

TEST(AnswerPlanTest, StepsAreReportedInOrder) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000));
  PlanQuery query{.now_s = kNow};
  query.search = SearchQuery{.iterations = 1};
  query.trials = TrialQuery{.trials = 2};
  query.bound = true;
  std::vector<std::string> steps;
  const PlanHooks hooks{
      .on_better =
          [&](const PlanResult& plan) { steps.push_back(absl::StrCat(plan.plan.remove.size())); },
      .on_step =
          [&](PlanStep step) {
            steps.emplace_back(step == PlanStep::kTrials ? "trials" : "bound");
          }};
  const auto answer = AnswerPlan(query, loaded, hooks);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(steps, ElementsAre("2", "trials", "bound"));
  EXPECT_EQ((*answer)->search->greedy_nodes, 2U);
  EXPECT_EQ((*answer)->trials->trials, 2U);
  EXPECT_EQ((*answer)->bound->nodes, 2U);
}

TEST(AnswerPlanTest, ASearchSaysWhyItEnded) {
  CancelToken cancelled;
  const auto end_of = [&](const SearchQuery& search, std::optional<double> seconds = {}) {
    LoadedCluster loaded = Loaded(ThreeNodes(2000));
    PlanQuery query{.now_s = kNow};
    query.search = search;
    query.seconds = seconds;
    const auto answer = AnswerPlan(query, loaded, {.cancelled = &cancelled});
    return std::string(answer.ok() ? ToString((*answer)->search->ended) : "error");
  };
  EXPECT_EQ(end_of({.budget_s = 1000}), "boundReached");
  EXPECT_EQ(end_of({.budget_s = 0}), "budgetUsed");
  EXPECT_EQ(end_of({.budget_s = 0, .max_evictions = 1}), "budgetUsed");
  EXPECT_EQ(end_of({.budget_s = 1000}, /*seconds=*/-1), "timeLimit");
  cancelled.Cancel();
  EXPECT_EQ(end_of({.iterations = 5}), "interrupted");
}

TEST(AnswerPlanTest, ASearchForSavingsNeedsPrices) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000));
  PlanQuery query{.now_s = kNow};
  query.search = SearchQuery{.for_cost = true};
  EXPECT_EQ(AnswerPlan(query, loaded).status().message(), "search.objective: COST needs prices");
  query.prices = PriceList{.file = "prices.yaml", .currency = "", .prices = {}, .fallback = {}};
  EXPECT_THAT(AnswerPlan(query, loaded).status().message(), HasSubstr("prices.yaml: has no price"));
  query.prices->fallback = 0.5;
  const auto answer = AnswerPlan(query, loaded);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ((*answer)->prices->hourly.size(), 3U);
}

TEST(AnswerPlanTest, AStablePlanContinuesTheOneThatIsRemembered) {
  StablePlanner memory;
  PlanQuery query{.now_s = kNow};
  query.stable = StableOptions{.greedy_every = 0, .verify_every = 2};
  query.bound = true;
  LoadedCluster loaded = Loaded(ThreeNodes(1000));  // Only one of a and b can go.
  const auto first = AnswerPlan(query, loaded, {}, Parallelism::One(), &memory);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->stable->origin, StableOrigin::kFirst);
  EXPECT_TRUE((*first)->stable->verified);  // Nothing is certified yet.
  EXPECT_EQ((*first)->request.pass.destinations, nullptr);
  const std::vector<std::string> removed = Removed(loaded.snapshot, (*first)->made.plan);
  ASSERT_EQ(removed.size(), 1U);

  LoadedCluster again = Loaded(ThreeNodes(1000).Add(Node("empty")));
  const auto second = AnswerPlan(query, again, {}, Parallelism::One(), &memory);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->stable->origin, StableOrigin::kKept);
  EXPECT_EQ((*second)->stable->kept, 1U);
  EXPECT_TRUE((*second)->stable->verified);
  EXPECT_EQ(Removed(again.snapshot, (*second)->made.plan).front(), removed.front());
  // The report is about the plan's destinations; the bound is one of all plans.
  const NodeSet* const destinations = (*second)->request.pass.destinations;
  ASSERT_NE(destinations, nullptr);
  EXPECT_FALSE(destinations->Contains((*second)->made.plan.remove.front().node));
  EXPECT_GE((*second)->bound->nodes, (*second)->made.plan.remove.size());

  LoadedCluster alone = Loaded(ThreeNodes(1000));
  const auto forgotten = AnswerPlan(query, alone);
  ASSERT_TRUE(forgotten.ok()) << forgotten.status();
  EXPECT_EQ((*forgotten)->stable->origin, StableOrigin::kFirst);
}

TEST(AnswerPlanTest, AStableQueryHasTheDefaultsOfThePlanner) {
  const StableOptions query = PlanQuery{.stable = StableOptions()}.stable.value();
  EXPECT_EQ(StablePlanner().options(), query);
}

TEST(AnswerFrontierTest, TheLastPointIsTheBestPlan) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000));
  PlanQuery query{.now_s = kNow};
  query.search = SearchQuery{.budget_s = 1000, .iterations = 1};
  const auto answer = AnswerFrontier(query, loaded);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->frontier.points.back().nodes, 2U);
  EXPECT_FALSE(answer->prices.has_value());
}

TEST(CheckBeforePlanTest, OtherWarningsComeBetweenThoseOfGroupsAndOfTime) {
  LoadedCluster loaded = Loaded(ThreeNodes(2000));
  loaded.newest_time = kNow + 100'000;
  GroupRules rules;
  rules.group_label = "no-node-has-it";
  const std::vector<InputWarning> others = {{"Other", "", ""}};
  const auto now_s = CheckBeforePlan(rules, others, std::nullopt, kNow, loaded);
  ASSERT_TRUE(now_s.ok()) << now_s.status();
  EXPECT_EQ(*now_s, kNow);
  std::vector<std::string> codes;
  for (const InputWarning& each : loaded.warnings) codes.push_back(each.code);
  ASSERT_EQ(codes.size(), 3U);
  EXPECT_EQ(codes[1], "Other");
  EXPECT_EQ(codes[2], "TimeAheadOfClock");
  LoadedCluster again = Loaded(ThreeNodes(2000));
  EXPECT_EQ(*CheckBeforePlan({}, {}, kNow - 5, kNow, again), kNow - 5);
  EXPECT_TRUE(again.warnings.empty());
}

// Symptom: two structs with the same name divided the time in two ways.
TEST(DeadlinesTest, TheSharesGiveTheEndOfEachStep) {
  const Clock::time_point now = Clock::now();
  const auto over = [&](double seconds, const TimeShares& shares) {
    // The time of 10 seconds began `seconds` ago.
    const Deadlines deadlines(now + DurationOf(10 - seconds), shares, now - DurationOf(seconds));
    return absl::StrCat(deadlines.passes_end.Expired() ? "passes " : "",
                        deadlines.verification_ends.Expired() ? "verification " : "",
                        deadlines.bound_ends.Expired() ? "bound" : "");
  };
  EXPECT_EQ(over(0, kTimeOfCommand), "");
  EXPECT_EQ(over(5.1, kTimeOfCommand), "passes ");
  EXPECT_EQ(over(10.1, kTimeOfCommand), "passes verification bound");
  EXPECT_EQ(over(5.1, kTimeOfCall), "passes bound");
  EXPECT_EQ(over(9.1, kTimeOfCall), "passes verification bound");
}

}  // namespace
}  // namespace ebb::plan_answer_test
