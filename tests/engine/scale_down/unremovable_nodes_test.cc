#include "engine/scale_down/unremovable_nodes.h"

#include <map>
#include <optional>

#include "engine/scale_down/round.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::unremovable_nodes_test {
namespace {

using test::Cluster;
using test::Node;
using test::OneGroup;
using test::Pod;

TEST(UnremovableNodesTest, ReasonsAreListedByTheNumberOfNodes) {
  Plan plan;
  plan.keep = {{.node = NodeId{0}, .reason = UnremovableReason::kNotUnderutilized, .pdb = {}},
               {.node = NodeId{1},
                .reason = UnremovableReason::kBlockedByPod,
                .blocking_reason = BlockingPodReason::kNotEnoughPdb,
                .pdb = {}},
               {.node = NodeId{2},
                .reason = UnremovableReason::kRecentlyUnremovable,
                .pdb = {},
                .before = PastVerdict{.reason = UnremovableReason::kBlockedByPod,
                                      .blocking_reason = BlockingPodReason::kNotEnoughPdb}},
               {.node = NodeId{3},
                .reason = UnremovableReason::kRecentlyUnremovable,
                .pdb = {},
                .before = PastVerdict{.reason = UnremovableReason::kNoPlaceToMovePods}},
               // The reason is unknown.
               {.node = NodeId{4}, .reason = UnremovableReason::kRecentlyUnremovable, .pdb = {}}};
  const std::map<NodeId, int64_t> again = {{NodeId{1}, 500}, {NodeId{2}, 200}, {NodeId{3}, 300}};
  const UnremovableNodes counted =
      CountUnremovable(plan, [&](NodeId node) -> std::optional<int64_t> {
        const auto it = again.find(node);
        return it == again.end() ? std::nullopt : std::optional(it->second);
      });
  EXPECT_EQ(counted, (UnremovableNodes{.nodes = 5,
                                       .reasons = {{"NotEnoughPdb", 2},
                                                   {"NoPlaceToMovePods", 1},
                                                   {"NotUnderutilized", 1},
                                                   {"RecentlyUnremovable", 1}},
                                       .remembered = 3,
                                       .first_recheck_s = 200,
                                       .last_recheck_s = 500}));
}

// Symptom: "0 unneeded" for five minutes after the blocking pod was gone, without saying until
// when.
TEST(UnremovableNodesTest, ARoundReportsWhenItsNodesAreTriedAgain) {
  constexpr int64_t kStart = 1'000'000;
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Pod("bare-a").On("a").Cpu(100).WithoutOwner())
                                 .Add(Pod("bare-b").On("b").Cpu(100).WithoutOwner())
                                 .Add(Pod("large").On("c").Cpu(3000))
                                 .Build();
  const NodeGroups groups = OneGroup(snapshot);
  ScaleDown scale_down({});
  const auto at = [&](int64_t now_s) {
    return scale_down.Round(snapshot, groups, {.now_s = now_s}).value().unremovable;
  };
  UnremovableNodes expected{.nodes = 3,
                            .reasons = {{"NotReplicated", 2}, {"NotUnderutilized", 1}},
                            .remembered = 2,
                            .first_recheck_s = kStart + 300,
                            .last_recheck_s = kStart + 300};
  EXPECT_EQ(at(kStart), expected);
  EXPECT_EQ(at(kStart + 10), expected) << "they are remembered";
  EXPECT_EQ(at(kStart + 20), expected) << "nothing has changed since the pass before";
  const ScaleDownState state = scale_down.Save();
  scale_down.Restore(state, snapshot.catalog().shared_symbols());
  EXPECT_EQ(at(kStart + 30), expected) << "of another process";
  expected.first_recheck_s = expected.last_recheck_s = kStart + 600;
  EXPECT_EQ(at(kStart + 300), expected) << "they were tried again";
}

}  // namespace
}  // namespace ebb::unremovable_nodes_test
