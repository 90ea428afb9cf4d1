#include "service/session/wire_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ebb::wire_query_test {
namespace {

absl::StatusOr<PlanQuery> Read(const v1alpha1::PlanInput& input) {
  return ReadQuery(input, RoundOptions(), GroupRules(), std::nullopt);
}

TEST(WireQueryTest, AQuestionTravelsAsItIs) {
  PlanQuery asked{.max_scale_down_parallelism = 7, .max_workload_share = 0.25, .bound = true};
  asked.search = SearchQuery{.budget_s = 3, .iterations = 9, .seed = 4, .max_evictions = 12};
  asked.seconds = 1000;
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  const absl::StatusOr<PlanQuery> read = Read(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->max_scale_down_parallelism, 7);
  EXPECT_EQ(read->max_workload_share, 0.25);
  EXPECT_TRUE(read->bound);
  ASSERT_TRUE(read->search.has_value());
  EXPECT_EQ(read->search->budget_s, 3);
  EXPECT_EQ(read->search->iterations, 9U);
  EXPECT_EQ(read->search->seed, 4U);
  EXPECT_FALSE(read->search->for_cost);
  EXPECT_EQ(read->search->max_evictions, 12U);
  ASSERT_TRUE(read->seconds.has_value());
  EXPECT_GT(*read->seconds, 900);
  EXPECT_EQ(read->shares.verification, kTimeOfCall.verification);
}

TEST(WireQueryTest, WhatIsNotSaidIsAbsent) {
  v1alpha1::PlanInput input;
  PutQuery(PlanQuery(), input);
  EXPECT_EQ(input.ByteSizeLong(), 0U);
  const absl::StatusOr<PlanQuery> read = Read(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->search || read->seconds || read->prices || read->bound);
  EXPECT_EQ(read->max_workload_share, 1);
}

// Without a limit there would be time for ever.
TEST(WireQueryTest, TimeThatIsOverTravelsAsSomeTime) {
  PlanQuery asked;
  asked.seconds = -5;
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  EXPECT_GT(input.time_limit_seconds(), 0);
}

TEST(WireQueryTest, AWrongFieldIsNamed) {
  v1alpha1::PlanInput input;
  input.mutable_search()->set_objective(v1alpha1::Search::COST);
  EXPECT_EQ(Read(input).status().message(), "input.search.objective: COST needs input.prices");
  input.clear_search();
  input.set_max_workload_share(2);
  EXPECT_EQ(Read(input).status().message(),
            "input.max_workload_share: 2 is not above 0 and at most 1");
}

}  // namespace
}  // namespace ebb::wire_query_test
