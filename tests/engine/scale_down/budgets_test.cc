#include "engine/scale_down/budgets.h"

#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ebb::budgets_test {
namespace {

// One group of a case.  Its nodes have consecutive numbers: first empty nodes, then nodes to drain,
// then nodes that stay.
struct Group {
  int64_t empty = 0;
  int64_t drain = 0;
  int64_t stay = 0;
  bool atomic = false;
  int64_t upcoming = 0;  // In the target size, but not registered.
};

struct BudgetCase {
  const char* rule;
  std::vector<Group> groups;
  DeletionBudgets budgets;
  InProgress in_progress;
  // Expected: "group:nodes" of each bucket in order.
  std::string empty;
  std::string drain;
};

std::ostream& operator<<(std::ostream& out, const BudgetCase& c) { return out << c.rule; }

std::string Show(const std::vector<DeletionBucket>& buckets) {
  std::string text;
  for (const DeletionBucket& bucket : buckets) {
    if (!text.empty()) text += ' ';
    text += std::to_string(Index(bucket.group)) + ':' + std::to_string(bucket.nodes.size());
  }
  return text;
}

CroppedNodes Crop(const BudgetCase& c) {
  NodeGroups groups;
  std::vector<NodeId> empty;
  std::vector<NodeId> drain;
  std::vector<int64_t> registered;
  const auto add = [&](std::vector<NodeId>* list, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      if (list != nullptr) list->push_back(NodeId{static_cast<uint32_t>(groups.group_of.size())});
      groups.group_of.push_back(GroupId{static_cast<uint32_t>(groups.groups.size() - 1)});
    }
  };
  for (const Group& group : c.groups) {
    NodeGroup& added = groups.groups.emplace_back();
    added.atomic = group.atomic;
    registered.push_back(group.empty + group.drain + group.stay);
    added.target_size = registered.back() + group.upcoming;
    add(&empty, group.empty);
    add(&drain, group.drain);
    add(nullptr, group.stay);
  }
  return CropNodes(empty, drain, groups, registered, c.in_progress, c.budgets);
}

class CropNodesTest : public testing::TestWithParam<BudgetCase> {};

TEST_P(CropNodesTest, TakesTheNodesOfTheRule) {
  const CroppedNodes cropped = Crop(GetParam());
  EXPECT_EQ(Show(cropped.empty), GetParam().empty);
  EXPECT_EQ(Show(cropped.drain), GetParam().drain);
}

// clang-format off
const BudgetCase kCases[] = {
    // Nodes of groups that are not atomic.
    {"no nodes, no buckets", {{}}, {10, 10}, {}, "", ""},
    {"all within the budgets go", {{3, 2}}, {10, 10}, {}, "0:3", "0:2"},
    {"empty nodes take the parallelism first", {{7, 5}}, {10, 10}, {}, "0:7", "0:3"},
    {"drain budget bounds drained nodes alone", {{3, 5}}, {10, 2}, {}, "0:3", "0:2"},
    {"the default drains one at a time", {{0, 5}}, {}, {}, "", "0:1"},
    {"groups are served in the order first met", {{2}, {9}, {5}}, {10, 1}, {}, "0:2 1:8", ""},
    {"parallelism spent by empty nodes leaves none to drain",
     {{10, 4}}, {10, 10}, {}, "0:10", ""},
    // Deletions in progress.
    {"empty deletions in progress reduce parallelism", {{10}}, {10, 5}, {.empty = 4}, "0:6", ""},
    {"drains in progress reduce both", {{3, 9}}, {10, 5}, {.drain = 3}, "0:3", "0:2"},
    {"drains in progress over their budget stop drains",
     {{3, 9}}, {10, 5}, {.drain = 6}, "0:3", ""},
    {"a parallelism below zero stops single nodes", {{3, 9}}, {10, 5}, {.empty = 12}, "", ""},
    // Atomic groups with empty nodes.
    {"a whole atomic group goes", {{4, 0, 0, true}}, {10, 5}, {}, "0:4", ""},
    {"an atomic group comes before others", {{9}, {4, 0, 0, true}}, {10, 5}, {}, "1:4 0:6", ""},
    {"an atomic group that is not whole stays", {{4, 0, 1, true}}, {10, 5}, {}, "", ""},
    {"a skipped atomic group does not stop the next",
     {{4, 0, 1, true}, {3, 0, 0, true}}, {10, 5}, {}, "1:3", ""},
    {"registered nodes are enough where others never came",
     {{4, 0, 0, true, 2}}, {10, 5}, {}, "0:4", ""},
    {"one atomic group may exceed the parallelism", {{14, 0, 0, true}}, {10, 5}, {}, "0:14", ""},
    {"after it nothing else goes", {{5, 5}, {14, 0, 0, true}}, {10, 5}, {}, "1:14", ""},
    {"a second atomic group may not exceed it",
     {{6, 0, 0, true}, {6, 0, 0, true}}, {10, 5}, {}, "0:6", ""},
    {"the loop ends at the first that does not fit",
     {{6, 0, 0, true}, {6, 0, 0, true}, {2, 0, 0, true}}, {10, 5}, {}, "0:6", ""},
    {"an exhausted parallelism stops atomic groups",
     {{4, 0, 0, true}}, {10, 5}, {.empty = 10}, "", ""},
    {"a parallelism below zero does not stop an atomic group",
     {{4, 0, 0, true}}, {10, 5}, {.empty = 11}, "0:4", ""},
    {"a second atomic group may spend the parallelism to the last",
     {{5, 0, 0, true}, {5, 0, 0, true}}, {10, 5}, {}, "0:5 1:5", ""},
    {"an exhausted drain budget does not stop an empty group over the parallelism",
     {{14, 0, 0, true}}, {10, 2}, {.drain = 2}, "0:14", ""},
    // Atomic groups with empty nodes and nodes to drain.
    {"a second one may spend the drain budget to the last",
     {{1, 2, 0, true}, {1, 2, 0, true}}, {10, 4}, {}, "0:1 1:1", "0:2 1:2"},
    {"a drain budget below zero does not stop a group with a drained part",
     {{2, 3, 0, true}}, {10, 2}, {.drain = 3}, "0:2", "0:3"},
    {"after a group with a drained part that stays the next ones go",
     {{2, 3, 1, true}, {0, 3, 0, true}}, {10, 5}, {}, "", "1:3"},
    {"empty and drained nodes of an atomic group go together",
     {{2, 3, 0, true}}, {10, 5}, {}, "0:2", "0:3"},
    {"the drained part may exceed the drain budget once",
     {{2, 3, 0, true}}, {10, 2}, {}, "0:2", "0:3"},
    {"an exhausted drain budget stops a group with a drained part",
     {{2, 3, 0, true}}, {10, 2}, {.drain = 2}, "", ""},
    {"an exhausted drain budget does not stop an empty group",
     {{2, 0, 0, true}}, {10, 2}, {.drain = 2}, "0:2", ""},
    {"empty and drained nodes together must be whole", {{2, 3, 1, true}}, {10, 5}, {}, "", ""},
    // Atomic groups to drain.
    {"an atomic group to drain goes whole", {{0, 3, 0, true}}, {10, 5}, {}, "", "0:3"},
    {"one atomic group may exceed the drain budget", {{0, 7, 0, true}}, {10, 5}, {}, "", "0:7"},
    {"not if an empty atomic group exceeded already",
     {{14, 0, 0, true}, {0, 7, 0, true}}, {20, 5}, {}, "0:14", ""},
    {"drain is bounded by the parallelism that is left",
     {{8, 0, 0, true}, {0, 3, 0, true}}, {10, 5}, {}, "0:8", ""},
    {"an exhausted drain budget stops an atomic group to drain",
     {{0, 3, 0, true}}, {10, 2}, {.drain = 2}, "", ""},
    {"an atomic group to drain that is not whole stays", {{0, 3, 1, true}}, {10, 5}, {}, "", ""},
    {"an atomic drain leaves the rest to single drains",
     {{1, 4}, {0, 3, 0, true}}, {10, 5}, {}, "0:1", "1:3 0:2"},
    {"a drain budget below zero does not stop an atomic group to drain",
     {{0, 3, 0, true}}, {10, 2}, {.drain = 3}, "", "0:3"},
    {"a second atomic group to drain may spend the drain budget to the last",
     {{0, 2, 0, true}, {0, 2, 0, true}}, {10, 4}, {}, "", "0:2 1:2"},
    {"a second one may not exceed it",
     {{0, 3, 0, true}, {0, 3, 0, true}}, {10, 4}, {}, "", "0:3"},
    {"an atomic group to drain that stays does not stop the next",
     {{0, 3, 1, true}, {0, 2, 0, true}}, {10, 5}, {}, "", "1:2"},
    {"drained atomic nodes take of both budgets",
     {{9, 9}, {0, 3, 0, true}}, {10, 4}, {}, "0:7", "1:3"},
    // One at a time.
    {"with a drain budget of one exactly one node drains",
     {{0, 3}, {0, 2}}, {10, 1}, {}, "", "0:1"},
    {"and none while one drains", {{0, 3}}, {10, 1}, {.drain = 1}, "", ""},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Rules, CropNodesTest, testing::ValuesIn(kCases));

TEST(CropNodesBatchTest, AtomicGroupWaitsForItsTargetSize) {
  const CroppedNodes cropped = Crop({"", {{0, 3, 0, true}}, {10, 5}, {}, "", ""});
  EXPECT_EQ(cropped.drain.at(0).batch_size, 3);
}

TEST(CropNodesBatchTest, EmptyAtomicGroupWaitsForRegisteredNodesAlone) {
  const CroppedNodes cropped = Crop({"", {{4, 0, 0, true, 2}}, {10, 5}, {}, "", ""});
  EXPECT_EQ(cropped.empty.at(0).batch_size, 4);
}

TEST(CropNodesBatchTest, BothPartsOfAnAtomicGroupShareOneBatchSize) {
  const CroppedNodes cropped = Crop({"", {{2, 3, 0, true}}, {10, 5}, {}, "", ""});
  EXPECT_EQ(cropped.empty.at(0).batch_size, 5);
  EXPECT_EQ(cropped.drain.at(0).batch_size, 5);
}

TEST(CropNodesBatchTest, SingleNodesHaveNoBatch) {
  const CroppedNodes cropped = Crop({"", {{2, 3}}, {10, 5}, {}, "", ""});
  EXPECT_EQ(cropped.empty.at(0).batch_size, 0);
}

TEST(CropNodesBatchTest, NodeWithoutAGroupIsLeftOut) {
  NodeGroups groups;
  groups.group_of = {kNoGroup};
  const NodeId nodes[] = {NodeId{0}};
  const CroppedNodes cropped = CropNodes(nodes, {}, groups, {}, {}, {});
  EXPECT_TRUE(cropped.empty.empty());
}

TEST(CropNodesBatchTest, ANodeWithoutAGroupHidesNoLaterNode) {
  NodeGroups groups;
  groups.groups.resize(1);
  groups.group_of = {kNoGroup, GroupId{0}};
  const NodeId nodes[] = {NodeId{0}, NodeId{1}};
  const std::vector<int64_t> registered = {1};
  const CroppedNodes cropped = CropNodes(nodes, {}, groups, registered, {}, {});
  ASSERT_EQ(cropped.empty.size(), 1U);
  EXPECT_EQ(cropped.empty[0].group, GroupId{0});
  EXPECT_EQ(cropped.empty[0].nodes, (std::vector<NodeId>{NodeId{1}}));
}

TEST(CountNodesTest, AllBucketsCount) {
  const CroppedNodes cropped = Crop({"", {{3}, {4}}, {10, 5}, {}, "", ""});
  EXPECT_EQ(CountNodes(cropped.empty), 7U);
  EXPECT_EQ(CountNodes(cropped.drain), 0U);
}

}  // namespace
}  // namespace ebb::budgets_test
