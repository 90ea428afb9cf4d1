#include "loop/deletion_orders.h"

#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::deletion_orders_test {
namespace {

using test::Cluster;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;
using testing::ElementsAre;

test::Node NodeWithUid(std::string_view name, std::string_view uid) {
  test::Node node(name);
  node.raw.meta.uid = test::Keep(uid);
  return node;
}

RemovableNode Removal(NodeId node, std::vector<Move> moves) {
  return {.node = node, .moves = std::move(moves), .daemonset = {}, .on_completion = {}};
}

TEST(DeletionOrdersTest, EmptyNodesComeBeforeThoseToDrainEachWithAllThatTheRoundSays) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(NodeWithUid("drained", "uid-1"))
                                       .Add(NodeWithUid("empty", "uid-2"))
                                       .Add(NodeWithUid("other", "uid-3"))
                                       .Add(NodeWithUid("stays", "uid-4"))
                                       .Add(Pod("p").On("drained").Uid("uid-of-p"))
                                       .Add(Pod("q").In("shop").On("drained").Uid("uid-of-q"))
                                       .Build();
  const NodeId drained = NodeNamed(snapshot, "drained");
  const NodeId empty = NodeNamed(snapshot, "empty");
  const NodeId other = NodeNamed(snapshot, "other");
  const NodeId stays = NodeNamed(snapshot, "stays");
  NodeGroups groups = test::OneGroup(snapshot);
  groups.groups.resize(2);
  groups.groups[1].name = "atomic";
  groups.group_of[Index(empty)] = groups.group_of[Index(other)] = GroupId{1};
  RoundResult round;
  round.plan.remove = {Removal(drained, {{PodNamed(snapshot, "q", "shop"), stays},
                                         {PodNamed(snapshot, "p"), stays}}),
                       Removal(other, {}), Removal(empty, {})};
  round.start.empty = {{.group = GroupId{1}, .nodes = {empty, other}, .batch_size = 2}};
  round.start.drain = {{.group = GroupId{0}, .nodes = {drained}}};
  const DeletionOrder drain{
      .node = "drained",
      .uid = "uid-1",
      .group = "group",
      .drain = true,
      .batch_size = 0,
      .moves = {{.namespace_name = "shop", .name = "q", .uid = "uid-of-q", .to = "stays"},
                {.namespace_name = "default", .name = "p", .uid = "uid-of-p", .to = "stays"}}};
  EXPECT_THAT(
      OrdersOf(snapshot.catalog(), groups, round),
      ElementsAre(
          DeletionOrder{.node = "empty", .uid = "uid-2", .group = "atomic", .batch_size = 2},
          DeletionOrder{.node = "other", .uid = "uid-3", .group = "atomic", .batch_size = 2},
          drain));
}

}  // namespace
}  // namespace ebb::deletion_orders_test
