#include "tables/answer_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ebb::answer_tables_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kPlan = R"({"apiVersion": "ebb/v1alpha1", "kind": "Plan",
 "now": "2026-06-01T12:00:00Z", "complete": true,
 "summary": {"nodes": 3, "pods": 4, "removed": 1, "movedPods": 2, "kept": 2, "termination": "complete",
   "freed": {"cpuMilli": 4000, "memoryBytes": 1024, "gpus": 0}},
 "remove": [{"node": "a", "group": "g", "allocatable": {"cpuMilli": 4000, "memoryBytes": 1024, "gpus": 0},
   "risky": false, "utilization": {"resource": "cpu", "value": 0.25, "cpu": 0.25, "memory": 0},
   "pods": [{"namespace": "s", "name": "p", "to": "b"},
            {"namespace": "s", "name": "q", "to": "c", "via": ["b", "d"]}]}],
 "keep": [{"node": "b", "allocatable": {"cpuMilli": 1, "memoryBytes": 1, "gpus": 0},
   "reason": "BlockedByPod", "blockingPod": {"namespace": "s", "name": "r", "reason": "NotEnoughPdb",
   "podDisruptionBudget": "s/db"}}]})";

// The values of a column of texts; "-": null.
std::vector<std::string> Texts(const ColumnTable& table, std::string_view name) {
  std::vector<std::string> texts;
  for (const TableColumn& column : table.columns()) {
    if (column.spec().name != name) continue;
    const std::vector<const void*> buffers = column.Buffers();
    const auto* const valid = static_cast<const uint8_t*>(buffers[0]);
    const auto* const offsets = static_cast<const int32_t*>(buffers[1]);
    for (size_t row = 0; row < column.rows(); ++row) {
      const bool is_null = valid != nullptr && (valid[row / 8] >> (row % 8) & 1) == 0;
      texts.push_back(is_null ? "-"
                              : std::string(static_cast<const char*>(buffers[2]) + offsets[row],
                                            offsets[row + 1] - offsets[row]));
    }
  }
  return texts;
}

TEST(AnswerTablesTest, APodThatMovesIsARowWithTheNodesItMovesBetween) {
  const auto moves = AnswerTable("moves", kPlan);
  ASSERT_TRUE(moves.ok()) << moves.status();
  EXPECT_THAT(Texts(*moves, "pod"), ElementsAre("p", "q"));
  EXPECT_THAT(Texts(*moves, "from_node"), ElementsAre("a", "a"));
  EXPECT_THAT(Texts(*moves, "to_node"), ElementsAre("b", "c"));
  EXPECT_THAT(Texts(*moves, "via_nodes"), ElementsAre("-", "b,d"));
}

TEST(AnswerTablesTest, AKeptNodeIsARowWithItsReason) {
  const auto kept = AnswerTable("kept", kPlan);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(Texts(*kept, "node"), ElementsAre("b"));
  EXPECT_THAT(Texts(*kept, "group"), ElementsAre("-"));
  EXPECT_THAT(Texts(*kept, "reason"), ElementsAre("BlockedByPod"));
  EXPECT_THAT(Texts(*kept, "pod_disruption_budget"), ElementsAre("s/db"));
}

TEST(AnswerTablesTest, APlanIsOneRow) {
  const auto plans = AnswerTable("plans", kPlan);
  ASSERT_TRUE(plans.ok()) << plans.status();
  EXPECT_EQ(plans->rows(), 1u);
  EXPECT_THAT(Texts(*plans, "termination"), ElementsAre("complete"));
  EXPECT_THAT(Texts(*plans, "search_ended"), ElementsAre("-"));
}

TEST(AnswerTablesTest, RejectsWhatHasNoSuchTable) {
  const auto error = [](std::string_view name, std::string_view answer) {
    return std::string(AnswerTable(name, answer).status().message());
  };
  EXPECT_THAT(error("movements", kPlan), HasSubstr("expected one of plans, removals, moves, kept"));
  EXPECT_THAT(error("moves", "{"), HasSubstr("is not JSON"));
  EXPECT_THAT(error("moves", ""), HasSubstr("is not JSON"));
  EXPECT_THAT(error("moves", "[]"), HasSubstr("kind is \"\""));
  EXPECT_THAT(error("moves", R"({"kind": "Blockers"})"), HasSubstr("needs Plan"));
  EXPECT_THAT(error("moves", R"({"kind": "Plan"})"), HasSubstr("has no remove"));
  EXPECT_TRUE(AnswerTable("moves", R"({"kind": "Plan", "remove": 3})").ok());
}

}  // namespace
}  // namespace ebb::answer_tables_test
