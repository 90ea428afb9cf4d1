#include "sizing/policy/clusterman/clusterman_prune.h"

#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "gtest/gtest.h"

namespace ebb::clusterman_prune_test {
namespace {

using State = ClustermanNodeState;
using Verdict = ClustermanPruneVerdict;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ClustermanPruneOptions kFree = {
    .limits = {.max_weight_to_remove = 1000, .max_tasks_to_kill = kInfinity}};

ClustermanNode Node(const std::string& id, int64_t tasks = 0) {
  return {.id = id,
          .group_id = "g",
          .is_running = true,
          .uptime_s = 1000,
          .state = tasks == 0 ? State::kIdle : State::kRunning,
          .task_count = tasks};
}

template <typename Change>
ClustermanNode With(ClustermanNode node, Change change) {
  change(node);
  return node;
}

// One group that holds all the nodes and whose target is 0.
std::vector<ClustermanGroup> OneGroup(const std::vector<ClustermanNode>& nodes) {
  ClustermanGroup group{.id = "g"};
  for (const ClustermanNode& node : nodes) group.fulfilled_capacity += node.weight;
  return {group};
}

std::string Order(const std::vector<ClustermanNode>& nodes,
                  const ClustermanPruneOptions& options = kFree) {
  std::string order;
  for (const size_t index : KillOrder(OneGroup(nodes), nodes, options)) {
    order += nodes[index].id;
  }
  return order;
}

// Such as "a:mark b:max_tasks".
std::string Decisions(const ClustermanPrune& prune, const std::vector<ClustermanNode>& nodes) {
  std::string text;
  for (const ClustermanPruneDecision& decision : prune.decisions) {
    if (!text.empty()) text += ' ';
    text += nodes[decision.node].id + ":" + std::string(Name(decision.verdict));
  }
  return text;
}

std::string Decide(const std::vector<ClustermanNode>& nodes, double capacity,
                   const ClustermanPruneOptions& options = kFree) {
  return Decisions(Prune(OneGroup(nodes), nodes, options, {}, capacity), nodes);
}

TEST(ClustermanKillOrderTest, EachKeyDecidesBeforeTheNext) {
  // Each node is better than the one before it in a more important key, and worse in all other
  // keys.
  const std::vector<ClustermanNode> nodes = {
      With(Node("a", 1), [](auto& n) { n.batch_task_count = 9, n.uptime_s = 0; }),
      With(Node("b", 2), [](auto& n) { n.batch_task_count = 8, n.uptime_s = 0; }),
      With(Node("c", 3),
           [](auto& n) {
             n.state = State::kIdle, n.batch_task_count = 9;
             n.uptime_s = 0;
           }),
      With(Node("d", 4), [](auto& n) { n.batch_task_count = 9, n.uptime_s = 901; }),
      With(Node("e", 5),
           [](auto& n) { n.batch_task_count = 9, n.uptime_s = 0, n.is_stale = true; }),
      With(Node("f", 6),
           [](auto& n) {
             n.batch_task_count = 9, n.uptime_s = 0;
             n.state = State::kOrphaned;
           }),
      With(Node("g", 7),
           [](auto& n) {
             n.batch_task_count = 9, n.uptime_s = 0;
             n.is_draining = true;
           }),
  };
  ClustermanPruneOptions options = kFree;
  options.limits.min_node_scalein_uptime_seconds = 600;
  EXPECT_EQ(Order(nodes, options), "gfedcba");
}

TEST(ClustermanKillOrderTest, FewestTasksGoFirstAndEqualNodesStayInOrder) {
  EXPECT_EQ(Order({Node("a", 2), Node("b", 1), Node("c", 2), Node("d", 1)}), "bdac");
}

TEST(ClustermanKillOrderTest, ManyEqualNodesStayInOrder) {
  std::vector<ClustermanNode> nodes;
  for (int i = 0; i < 300; ++i) nodes.push_back(Node(std::to_string(i), i % 2));
  const std::vector<size_t> order = KillOrder(OneGroup(nodes), nodes, kFree);
  for (size_t i = 0; i < 150; ++i) {
    EXPECT_EQ(order[i], 2 * i);
    EXPECT_EQ(order[150 + i], 2 * i + 1);
  }
}

TEST(ClustermanKillOrderTest, PriorityCountsInV2OnlyAndBeforeTasks) {
  const std::vector<ClustermanNode> nodes = {With(Node("a", 1), [](auto& n) { n.priority = 7; }),
                                             With(Node("b", 2), [](auto& n) { n.priority = 3; })};
  EXPECT_EQ(Order(nodes), "ab");
  ClustermanPruneOptions v2 = kFree;
  v2.killable_nodes_prioritizing_v2 = true;
  EXPECT_EQ(Order(nodes, v2), "ba");
  v2.limits.max_tasks_to_kill = 10;
  const ClustermanNode none = With(Node("n", 1), [](auto& n) { n.priority = std::nan(""); });
  EXPECT_EQ(Order({none, nodes[0], none, nodes[1]}, v2), "bann");
}

TEST(ClustermanKillOrderTest, MinimumUptimeIsStrictAndCappedAt900) {
  const auto at = [](const char* id, double uptime_s) {
    return With(Node(id), [&](auto& n) { n.uptime_s = uptime_s; });
  };
  ClustermanPruneOptions options = kFree;
  options.limits.min_node_scalein_uptime_seconds = 600;
  EXPECT_EQ(Order({at("a", 600), at("b", 600.5)}, options), "ba");
  options.limits.min_node_scalein_uptime_seconds = 5000;
  EXPECT_EQ(Order({at("a", 900), at("b", 901)}, options), "ba");
  options.limits.min_node_scalein_uptime_seconds = -1;
  EXPECT_EQ(Order({at("a", 0), at("b", 5000)}, options), "ab");
}

TEST(ClustermanKillOrderTest, GroupOrderComesBeforeInstanceOrder) {
  std::vector<ClustermanNode> nodes = {Node("a"), Node("b"), Node("c")};
  nodes[0].group_id = "h";
  nodes[2].group_id = "nowhere";
  const std::vector<ClustermanGroup> groups = {{.id = "g"}, {.id = "h"}};
  EXPECT_EQ(KillOrder(groups, nodes, kFree), (std::vector<size_t>{1, 0}));
}

TEST(ClustermanKillOrderTest, NodesThatMustStayAreLeftOut) {
  EXPECT_EQ(Order({With(Node("a"), [](auto& n) { n.is_running = false; }),
                   With(Node("b"), [](auto& n) { n.state = State::kUnknown; }),
                   With(Node("c"), [](auto& n) { n.is_safe_to_kill = false; }),
                   With(Node("d"), [](auto& n) { n.is_cordoned = true; }), Node("e")}),
            "e");
}

TEST(ClustermanKillOrderTest, TaskLimitIsStrictAndEmptyNodesMayAlwaysGo) {
  ClustermanPruneOptions options = kFree;
  options.limits.max_tasks_to_kill = 0;
  EXPECT_EQ(Order({Node("a", 1), Node("b")}, options), "b");
  options.limits.max_tasks_to_kill = 2;
  EXPECT_EQ(Order({Node("a", 1), Node("b"), Node("c", 2)}, options), "ba");
}

TEST(ClustermanPruneTest, NothingGoesWhileThePoolHoldsNoMoreThanItsTarget) {
  const std::vector<ClustermanNode> nodes = {Node("a"), Node("b")};
  const ClustermanPrune prune = Prune(OneGroup(nodes), nodes, kFree, {}, 2);
  EXPECT_TRUE(prune.decisions.empty());
  EXPECT_EQ(prune.kill_order.size(), 2);
  EXPECT_EQ(Decide(nodes, 1.5), "a:non_orphan b:non_orphan");
  EXPECT_EQ(Decide(nodes, std::nan("")), "");
}

TEST(ClustermanPruneTest, StopsWhereTheTargetIsReached) {
  const std::vector<ClustermanNode> nodes = {Node("a"), Node("b"), Node("c")};
  EXPECT_EQ(Decide(nodes, 1), "a:mark b:mark");
  EXPECT_TRUE(Prune(OneGroup(nodes), nodes, kFree, {}, 1).reached_target);
}

TEST(ClustermanPruneTest, ANodeTooHeavyIsSkippedAndALighterOneGoes) {
  std::vector<ClustermanNode> nodes = {Node("a"), Node("b"), Node("c")};
  nodes[1].weight = 3;
  ClustermanPruneOptions options = kFree;
  options.limits.max_weight_to_remove = 2;
  EXPECT_EQ(Decide(nodes, 0, options), "a:mark b:max_weight c:mark");
}

TEST(ClustermanPruneTest, TheTargetOfItsGroupIsAFloor) {
  const std::vector<ClustermanNode> nodes = {Node("a"), Node("b"), Node("c")};
  std::vector<ClustermanGroup> groups = OneGroup(nodes);
  EXPECT_EQ(Decisions(Prune(groups, nodes, kFree, {{"g", 2}}, 0), nodes),
            "a:mark b:group_target c:group_target");
  groups[0].target_capacity = 2;
  EXPECT_EQ(Decisions(Prune(groups, nodes, kFree, {}, 0), nodes),
            "a:mark b:group_target c:group_target");
  groups[0].is_stale = true;  // Its own target is 0 then.
  EXPECT_EQ(Decisions(Prune(groups, nodes, kFree, {}, 0), nodes), "a:mark b:mark c:mark");
}

TEST(ClustermanPruneTest, TasksOfAllMarkedNodesCount) {
  ClustermanPruneOptions options = kFree;
  options.limits.max_tasks_to_kill = 5;
  EXPECT_EQ(Decide({Node("a", 2), Node("b", 3), Node("c", 3)}, 0, options),
            "a:mark b:mark c:max_tasks");
  EXPECT_EQ(Decide({Node("a", 2), Node("b", 4)}, 0, options), "a:mark b:max_tasks");
}

TEST(ClustermanPruneTest, JoinedCapacityStaysAtTheTargetWithoutCountingOrphans) {
  std::vector<ClustermanNode> nodes = {Node("a"), Node("b"), Node("c")};
  nodes[1].state = State::kOrphaned;
  EXPECT_EQ(Decide(nodes, 2), "b:mark");
  nodes[1].state = State::kUnknown;
  EXPECT_EQ(Decide(nodes, 2), "a:non_orphan c:non_orphan");
}

TEST(ClustermanPruneTest, ChecksAreMadeInTheProgramsOrder) {
  // The second node fails all four tests; each test that is relaxed uncovers the next one.
  const std::vector<ClustermanNode> nodes = {Node("a", 2),
                                             With(Node("b", 3), [](auto& n) { n.weight = 5; })};
  std::vector<ClustermanGroup> groups = {
      {.id = "g", .target_capacity = 2, .fulfilled_capacity = 7}};
  ClustermanPruneOptions options;
  options.limits.max_weight_to_remove = 5;
  options.limits.max_tasks_to_kill = 4;
  const auto decisions = [&] { return Decisions(Prune(groups, nodes, options, {}, 3), nodes); };
  EXPECT_EQ(decisions(), "a:mark b:max_weight");
  options.limits.max_weight_to_remove = 6;
  EXPECT_EQ(decisions(), "a:mark b:group_target");
  groups[0].target_capacity = 1;
  EXPECT_EQ(decisions(), "a:mark b:max_tasks");
  options.limits.max_tasks_to_kill = 5;
  EXPECT_EQ(decisions(), "a:mark b:non_orphan");
}

TEST(ClustermanPruneTest, ChosenAreGroupedByTheirFirstMark) {
  std::vector<ClustermanNode> nodes = {Node("a", 2), Node("b", 1), Node("c", 3)};
  nodes[1].group_id = "h";
  const std::vector<ClustermanGroup> groups = {{.id = "g", .fulfilled_capacity = 2},
                                               {.id = "h", .fulfilled_capacity = 1}};
  const ClustermanPrune prune = Prune(groups, nodes, kFree, {}, 0);
  ASSERT_EQ(prune.chosen.size(), 2);
  EXPECT_EQ(prune.chosen[0], (ClustermanPrunedGroup{"h", {1}}));
  EXPECT_EQ(prune.chosen[1], (ClustermanPrunedGroup{"g", {0, 2}}));
}

TEST(ClustermanPruneTest, NoLimitIsEverBroken) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    std::vector<ClustermanGroup> groups = {{.id = "g"}, {.id = "h"}};
    std::vector<ClustermanNode> nodes;
    for (int n = 0; n < 12; ++n) {
      ClustermanNode node = Node(std::to_string(n), static_cast<int64_t>(random.Below(4)));
      node.group_id = random.Below(2) == 0 ? "g" : "h";
      node.weight = static_cast<double>(1 + random.Below(3));
      node.is_safe_to_kill = random.Below(5) != 0;
      node.is_cordoned = random.Below(7) == 0;
      node.is_running = random.Below(7) != 0;
      if (random.Below(6) == 0) node.state = State::kOrphaned;
      groups[node.group_id == "h" ? 1 : 0].fulfilled_capacity += node.weight;
      nodes.push_back(node);
    }
    for (ClustermanGroup& group : groups) {
      group.target_capacity = static_cast<double>(random.Below(10));
    }
    ClustermanPruneOptions options;
    options.limits.max_weight_to_remove = static_cast<int64_t>(random.Below(10));
    options.limits.max_tasks_to_kill = static_cast<double>(random.Below(6));
    const auto capacity = static_cast<double>(random.Below(20));
    const ClustermanPrune prune = Prune(groups, nodes, options, {}, capacity);

    double weight = 0;
    double joined = 0;
    double tasks = 0;
    std::set<size_t> seen;
    for (const ClustermanPrunedGroup& chosen : prune.chosen) {
      double of_group = 0;
      for (const size_t index : chosen.nodes) {
        const ClustermanNode& node = nodes[index];
        ASSERT_TRUE(seen.insert(index).second);
        ASSERT_TRUE(node.is_safe_to_kill && !node.is_cordoned && node.is_running);
        weight += node.weight;
        of_group += node.weight;
        tasks += static_cast<double>(node.task_count);
        if (node.state != State::kOrphaned) joined += node.weight;
      }
      const ClustermanGroup& group = groups[chosen.group_id == "h" ? 1 : 0];
      ASSERT_GE(group.fulfilled_capacity - of_group, group.target_capacity);
    }
    ASSERT_LE(weight, options.limits.max_weight_to_remove);
    ASSERT_LE(tasks, options.limits.max_tasks_to_kill);
    if (joined > 0) {
      ASSERT_GE(prune.non_orphan_fulfilled_capacity - joined, capacity);
    }
  }
}

TEST(ClustermanPruneTest, StatesAndVerdictsHaveNames) {
  EXPECT_EQ(Name(State::kRunning), "running");
  EXPECT_EQ(Name(State::kIdle), "idle");
  EXPECT_EQ(Name(State::kOrphaned), "orphaned");
  EXPECT_EQ(Name(State::kUnknown), "unknown");
  EXPECT_EQ(Name(Verdict::kMark), "mark");
  EXPECT_EQ(Name(Verdict::kMaxWeight), "max_weight");
  EXPECT_EQ(Name(Verdict::kGroupTarget), "group_target");
  EXPECT_EQ(Name(Verdict::kMaxTasks), "max_tasks");
  EXPECT_EQ(Name(Verdict::kNonOrphan), "non_orphan");
}

TEST(ClustermanPruneTest, OnlyRunningJoinedNodesAreNotOrphans) {
  std::vector<ClustermanNode> nodes = {Node("a", 1), Node("b"), Node("c"), Node("d"), Node("e")};
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].weight = static_cast<double>(1 << i);
  nodes[2].state = State::kOrphaned;
  nodes[3].state = State::kUnknown;
  nodes[4].is_running = false;
  EXPECT_EQ(NonOrphanFulfilled(OneGroup(nodes), nodes), 3);
  const ClustermanPrune prune = Prune(OneGroup(nodes), nodes, kFree, {}, 100);
  EXPECT_EQ(prune.fulfilled_capacity, 31);
  EXPECT_EQ(prune.non_orphan_fulfilled_capacity, 3);
  EXPECT_FALSE(prune.reached_target);
}

TEST(ClustermanPruneTest, RemovingAnOrphanDoesNotChangeTheJoinedCapacity) {
  std::vector<ClustermanNode> nodes = {Node("a"), Node("o"), Node("b")};
  nodes[1].state = State::kOrphaned;
  // Two nodes have joined, so one of them may go as well.
  EXPECT_EQ(Decide(nodes, 1), "o:mark a:mark");
  const ClustermanPrune prune = Prune(OneGroup(nodes), nodes, kFree, {}, 1);
  EXPECT_EQ(prune.chosen, (std::vector<ClustermanPrunedGroup>{{"g", {1, 0}}}));
  EXPECT_TRUE(prune.reached_target);
}

TEST(ClustermanPruneTest, GroupsThatAreMarkedInTurnsKeepTheirPlaces) {
  std::vector<ClustermanNode> nodes = {Node("a", 1), Node("b", 2), Node("c", 3), Node("d", 4)};
  nodes[1].group_id = nodes[3].group_id = "h";
  const std::vector<ClustermanGroup> groups = {{.id = "g", .fulfilled_capacity = 2},
                                               {.id = "h", .fulfilled_capacity = 2}};
  EXPECT_EQ(Prune(groups, nodes, kFree, {}, 0).chosen,
            (std::vector<ClustermanPrunedGroup>{{"g", {0, 2}}, {"h", {1, 3}}}));
  // Targets for one group leave the other group's target as it is.
  EXPECT_EQ(Prune(groups, nodes, kFree, {{"g", 2}}, 0).chosen,
            (std::vector<ClustermanPrunedGroup>{{"h", {1, 3}}}));
}

}  // namespace
}  // namespace ebb::clusterman_prune_test
