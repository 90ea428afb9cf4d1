#include "planning/query_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace ebb::query_fields_test {
namespace {

// What CheckQuery finds wrong with a question after `change`; "" if nothing.
template <typename Change>
std::string Wrong(Change&& change, std::string_view prefix = "") {
  PlanQuery query{.search = SearchQuery(), .trials = TrialQuery()};
  change(query);
  return std::string(CheckQuery(query, prefix).message());
}

TEST(CheckQueryTest, TheDefaultQueryIsValid) {
  EXPECT_EQ(Wrong([](PlanQuery&) {}), "");
  EXPECT_TRUE(CheckQuery(PlanQuery()).ok());
}

TEST(CheckQueryTest, NamesTheFieldItsValueAndItsRange) {
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.max_workload_share = 0; }),
            "max_workload_share: 0 is not above 0 and at most 1");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.max_scale_down_parallelism = -1; }),
            "max_scale_down_parallelism: -1 is not from 0 to 1000000000");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.search->budget_s = -0.5; }),
            "search.budget_seconds: -0.5 is not from 0 to 3153600000");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.search->iterations = 1'000'000'001; }),
            "search.iterations: 1000000001 is not from 0 to 1000000000");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.search->seed = uint64_t{1} << 32; }),
            "search.seed: 4294967296 is not from 0 to 4294967295");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.search->max_evictions = 1'000'000'001; }),
            "search.max_evictions: 1000000001 is not from 0 to 1000000000");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.trials->trials = 0; }),
            "trials.trials: 0 is not from 1 to 10000");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.trials->robust = 1.5; }),
            "trials.robust: 1.5 is not from 0 to 1");
}

TEST(CheckQueryTest, NanIsInNoRange) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.search->move_cost = kNan; }),
            "search.move_cost: nan is not from 0 to 1000000");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.max_workload_share = kNan; }),
            "max_workload_share: nan is not above 0 and at most 1");
}

TEST(CheckQueryTest, AStablePlanHasAFiniteMarginAndNoSearch) {
  const auto wrong = [](StableOptions stable, auto&& change) {
    PlanQuery query{.stable = stable};
    change(query);
    return std::string(CheckQuery(query).message());
  };
  const auto nothing = [](PlanQuery&) {};
  EXPECT_EQ(wrong({}, nothing), "");
  EXPECT_EQ(wrong({.margin = -0.01}, nothing), "stable.margin: -0.01 is not from 0 to 1000");
  EXPECT_EQ(wrong({.margin = std::numeric_limits<double>::quiet_NaN()}, nothing),
            "stable.margin: nan is not from 0 to 1000");
  EXPECT_EQ(wrong({.margin = std::numeric_limits<double>::infinity()}, nothing),
            "stable.margin: inf is not from 0 to 1000");
  EXPECT_EQ(wrong({.greedy_every = 2'000'000'000}, nothing),
            "stable.greedy_every: 2000000000 is not from 0 to 1000000000");
  EXPECT_EQ(wrong({.verify_every = 2'000'000'000}, nothing),
            "stable.verify_every: 2000000000 is not from 0 to 1000000000");
  EXPECT_EQ(wrong({}, [](PlanQuery& query) { query.search.emplace(); }),
            "stable: takes no search; a stable plan keeps the last one");
  EXPECT_EQ(wrong({}, [](PlanQuery& query) { query.trials = TrialQuery{.robust = 0.5}; }),
            "stable: takes no trials.robust; a stable plan keeps the last one");
  EXPECT_EQ(wrong({}, [](PlanQuery& query) { query.trials.emplace(); }), "");
  EXPECT_EQ(wrong({}, [](PlanQuery& query) { query.planner.drain.gangs = Gangs::kMove; }),
            "stable: takes no gangs=move; a stable plan keeps the last one");
}

TEST(CheckQueryTest, FieldsThatContradictOneAnotherAreNamed) {
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.search->move_cost = 1; }),
            "search.move_cost: is for the objective COST");
  const auto for_cost = [](PlanQuery& query) { query.search->for_cost = true; };
  EXPECT_EQ(Wrong(for_cost), "search.objective: COST needs prices");
  EXPECT_EQ(Wrong(for_cost, "input."), "input.search.objective: COST needs input.prices");
  const auto both = [](PlanQuery& query) {
    query.prices.emplace();
    query.search = SearchQuery{.for_cost = true, .move_cost = 1, .max_evictions = 3};
  };
  EXPECT_EQ(Wrong(both), "search.max_evictions: takes no search.move_cost");
  EXPECT_EQ(Wrong([](PlanQuery& query) { query.planner.drain.gangs = Gangs::kMove; }),
            "search: takes no gangs=move; a search does not move gangs whole");
}

}  // namespace
}  // namespace ebb::query_fields_test
