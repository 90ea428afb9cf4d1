#include "session/wire_query.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <string>

namespace ebb::wire_query_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

absl::StatusOr<PlanQuery> Read(const v1alpha1::PlanInput& input) {
  return ReadQuery(input, RoundOptions(), GroupRules(), std::nullopt);
}

TEST(WireQueryTest, AQuestionIsReadBackUnchanged) {
  PlanQuery asked{.candidates = {{"b", "a"}},
                  .max_scale_down_parallelism = 7,
                  .max_workload_share = 0.25,
                  .bound = true};
  asked.search = SearchQuery{.budget_s = 3, .seed = 4, .max_evictions = 12};
  asked.seconds = 1000;
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  const absl::StatusOr<PlanQuery> read = Read(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->candidates, Optional(ElementsAre("b", "a")));
  EXPECT_EQ(read->max_scale_down_parallelism, 7);
  EXPECT_EQ(read->max_workload_share, 0.25);
  EXPECT_TRUE(read->bound);
  ASSERT_TRUE(read->search.has_value());
  EXPECT_EQ(read->search->budget_s, 3);
  EXPECT_FALSE(read->search->iterations.has_value());
  EXPECT_EQ(read->search->seed, 4U);
  EXPECT_FALSE(read->search->for_cost);
  EXPECT_EQ(read->search->max_evictions, 12U);
  ASSERT_TRUE(read->seconds.has_value());
  EXPECT_GT(*read->seconds, 900);
  EXPECT_EQ(read->shares.verification, kTimeOfCall.verification);
}

TEST(WireQueryTest, AStableQuestionHasItsValuesOrTheDefaults) {
  PlanQuery asked;
  asked.stable = StableOptions{.margin = 0.5, .greedy_every = 3, .verify_every = 0};
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  absl::StatusOr<PlanQuery> read = Read(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->stable->margin, 0.5);
  EXPECT_EQ(read->stable->greedy_every, 3U);
  EXPECT_EQ(read->stable->verify_every, 0U);
  v1alpha1::PlanInput defaults;
  defaults.mutable_stable();
  read = Read(defaults);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->stable->margin, StableOptions().margin);
  EXPECT_EQ(read->stable->greedy_every, StableOptions().greedy_every);
  EXPECT_EQ(read->stable->verify_every, StableOptions().verify_every);
}

TEST(WireQueryTest, ASearchForSavingsTravelsWithItsPriceOfAMove) {
  PlanQuery asked;
  asked.search = SearchQuery{.for_cost = true, .move_cost = 0.25};
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  EXPECT_EQ(input.search().objective(), v1alpha1::Search::COST);
  input.set_prices("default: 1");
  const absl::StatusOr<PlanQuery> read = Read(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->search->for_cost);
  EXPECT_EQ(read->search->move_cost, 0.25);
  EXPECT_FALSE(read->search->iterations || read->search->max_evictions);
}

TEST(WireQueryTest, AQuestionIsWrittenAsJsonAndReadBack) {
  PlanQuery asked{.candidates = {{"a"}}, .max_workload_share = 0.25, .bound = true};
  asked.search = SearchQuery{.iterations = 9, .seed = 4, .max_evictions = 12};
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(input, &json).ok());
  EXPECT_EQ(json, R"({"maxWorkloadShare":0.25,"search":{"iterations":"9","seed":4,)"
                  R"("maxEvictions":"12"},"bound":true,"candidates":{"nodes":["a"]}})");
  v1alpha1::PlanInput read_back;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &read_back).ok());
  const absl::StatusOr<PlanQuery> read = Read(read_back);
  ASSERT_TRUE(read.ok()) << read.status();
  v1alpha1::PlanInput again;
  PutQuery(*read, again);
  EXPECT_EQ(again.SerializeAsString(), input.SerializeAsString());
}

TEST(WireQueryTest, NoNodeIsAnotherQuestionThanEveryNode) {
  PlanQuery asked;
  asked.candidates.emplace();
  v1alpha1::PlanInput input;
  PutQuery(asked, input);
  EXPECT_THAT(Read(input)->candidates, Optional(ElementsAre()));
}

TEST(WireQueryTest, UnsetFieldsAreAbsent) {
  v1alpha1::PlanInput input;
  PutQuery(PlanQuery(), input);
  EXPECT_EQ(input.ByteSizeLong(), 0U);
  const absl::StatusOr<PlanQuery> read = Read(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_FALSE(read->search || read->seconds || read->prices || read->bound);
  EXPECT_EQ(read->max_workload_share, 1);
}

// An absent limit would mean that there is no limit.
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
  input.clear_max_workload_share();
  input.mutable_search()->set_objective(static_cast<v1alpha1::Search::Objective>(7));
  EXPECT_EQ(Read(input).status().message(), "input.search.objective: there is no 7");
}

// A field that has no row would be refused by every call.
TEST(CheckTakenTest, SomeCallTakesEachField) {
  const google::protobuf::Descriptor& fields = *v1alpha1::PlanInput::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *fields.field(i);
    v1alpha1::PlanInput input;
    const auto& to = *input.GetReflection();
    if (field.is_repeated()) {
      to.AddMessage(&input, &field);
    } else if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      to.MutableMessage(&input, &field);
    } else {
      switch (field.cpp_type()) {
        case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
          to.SetString(&input, &field, "x");
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
          to.SetBool(&input, &field, true);
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE:
          to.SetDouble(&input, &field, 1);
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
          to.SetInt64(&input, &field, 1);
          break;
        case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
          to.SetUInt64(&input, &field, 1);
          break;
        default:
          to.SetEnumValue(&input, &field, 1);
      }
    }
    EXPECT_TRUE(CheckTaken(input, QuestionOf::kPlan).ok() ||
                CheckTaken(input, QuestionOf::kPass).ok())
        << field.name();
  }
}

TEST(CheckTakenTest, FrontierAcceptsABudgetTogetherWithIterations) {
  v1alpha1::PlanInput input;
  input.mutable_search()->set_budget_seconds(1);
  input.mutable_search()->set_iterations(9);
  EXPECT_TRUE(CheckTaken(input, QuestionOf::kFrontier).ok());
  EXPECT_FALSE(CheckTaken(input, QuestionOf::kPlan).ok());
  input.mutable_search()->set_max_evictions(3);
  EXPECT_EQ(CheckTaken(input, QuestionOf::kFrontier).message(),
            "input.search.max_evictions: Frontier takes none");
}

}  // namespace
}  // namespace ebb::wire_query_test
