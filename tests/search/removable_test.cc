// What a search begins with: nodes that may go, nodes that may take pods, and what nodes are worth.

#include "search/removable.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "predicates/static_nodes.h"
#include "search/worth.h"
#include "tests/engine/planning.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::removable_test {
namespace {

using test::Budget;
using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::NodesNamed;
using test::Pod;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<NodeId> Members(const NodeSet& nodes) {
  std::vector<NodeId> members;
  nodes.ForEach([&](NodeId node) { members.push_back(node); });
  return members;
}

TEST(RemovableTest, NodesThatMayGoComeInTheOrderOfTheCandidatesWithThePodsThatMustMove) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Node("busy"))
                                       .Add(Node("held"))
                                       .Add(Node("spent"))
                                       .Add(Node("waits"))
                                       .Add(Node("b"))
                                       .Add(Node("not-asked-about"))
                                       .Add(Pod("p").On("a").Cpu(100))
                                       .Add(Pod("daemon").On("a").Cpu(100).DaemonSet())
                                       .Add(Pod("q").On("a").Cpu(100))
                                       .Add(Pod("large").On("busy").Cpu(3000))
                                       .Add(Pod("bare").On("held").WithoutOwner())
                                       .Add(Pod("web").On("spent").Label("app", "web"))
                                       .Add(Pod("job").On("waits").SafeToEvict("on-completion"))
                                       .Add(Budget("web").Matching("app", "web").Allows(0))
                                       .Build();
  PlannerOptions options;
  options.scale_down_utilization_threshold = 0.5;
  const std::vector<NodeId> candidates =
      NodesNamed(snapshot, {"held", "busy", "spent", "waits", "b", "a"});
  const std::vector<RemovableCandidate> found =
      FindRemovable(snapshot, test::OneGroup(snapshot), options, candidates, test::kPassTime);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].node, NodeNamed(snapshot, "b"));
  EXPECT_THAT(found[0].move, IsEmpty());
  EXPECT_EQ(found[1].node, NodeNamed(snapshot, "a"));
  EXPECT_THAT(found[1].move,
              UnorderedElementsAre(test::PodNamed(snapshot, "p"), test::PodNamed(snapshot, "q")));
}

TEST(RemovableTest, NodesOfAllWordsAreOpenWhereTheyAreDestinations) {
  Cluster cluster;
  for (int n = 0; n < 70; ++n) cluster.Add(Node("n" + std::to_string(n)));
  const ClusterSnapshot snapshot = cluster.Build();
  EXPECT_EQ(OpenNodes(snapshot, nullptr), snapshot.alive());
  NodeSet destinations(snapshot.catalog().nodes());
  for (const char* const name : {"n3", "n69"}) destinations.Insert(NodeNamed(snapshot, name));
  EXPECT_THAT(Members(OpenNodes(snapshot, &destinations)),
              UnorderedElementsAre(NodeNamed(snapshot, "n3"), NodeNamed(snapshot, "n69")));
}

TEST(RemovableTest, ADestinationThatIsNotInTheClusterIsNotOpen) {
  ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(Node("b")).Build();
  const NodeSet destinations = snapshot.alive();
  snapshot.RemoveNode(NodeNamed(snapshot, "a"));
  EXPECT_THAT(Members(OpenNodes(snapshot, &destinations)), ElementsAre(NodeNamed(snapshot, "b")));
}

TEST(StaticNodesTest, NodesAreFilteredByTaintsSelectorsAndNames) {
  const auto named = [](std::string_view node) {
    return [node](objects::Pod& pod) {
      pod.required_node_affinity.nil = false;
      pod.required_node_affinity.terms = {{{}, {{"metadata.name", "In", {node}}}}};
    };
  };
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a").Label("pool", "x"))
                                       .Add(Node("b").Label("pool", "x"))
                                       .Add(Node("c"))
                                       .Add(Node("tainted").Label("pool", "x").Taint("own"))
                                       .Add(Node("closed").Label("pool", "x"))
                                       .Add(Pod("any"))
                                       .Add(Pod("of-pool").NodeSelector("pool", "x"))
                                       .Add(Pod("tolerates").ToleratesKey("own"))
                                       .Add(Pod("of-b").With(named("b")))
                                       .Build();
  NodeSet open = snapshot.alive();
  open.Erase(NodeNamed(snapshot, "closed"));
  const auto passed = [&](std::string_view pod) {
    const PodShape& shape = snapshot.catalog().shape_of(test::PodNamed(snapshot, pod));
    return Members(StaticNodes(snapshot, shape, open));
  };
  EXPECT_EQ(passed("any"), NodesNamed(snapshot, {"a", "b", "c"}));
  EXPECT_EQ(passed("of-pool"), NodesNamed(snapshot, {"a", "b"}));
  EXPECT_EQ(passed("tolerates"), NodesNamed(snapshot, {"a", "b", "c", "tainted"}));
  // a and b are alike, but for their names.
  EXPECT_EQ(passed("of-b"), NodesNamed(snapshot, {"b"}));
}

TEST(StaticNodesTest, PodsThatDifferInRequestsAloneAreOfOneClass) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("a"))
                                       .Add(Pod("small").Cpu(100))
                                       .Add(Pod("large").Cpu(900))
                                       .Add(Pod("of-pool").NodeSelector("pool", "x"))
                                       .Build();
  const Catalog& catalog = snapshot.catalog();
  const auto class_of = [&](std::string_view pod) {
    return StaticClassOf(catalog, catalog.shape_id(test::PodNamed(snapshot, pod)));
  };
  EXPECT_EQ(class_of("small"), class_of("large"));
  EXPECT_NE(class_of("small"), class_of("of-pool"));
  for (const char* const pod : {"small", "large", "of-pool"}) {
    EXPECT_LT(class_of(pod), StaticClasses(catalog));
  }
  EXPECT_EQ(StaticClasses(catalog), catalog.constraint_sets() + catalog.pod_shapes());
}

TEST(WorthTest, EachPodThatWouldMoveTakesItsPriceOff) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("three"))
                                       .Add(Node("none"))
                                       .Add(Node("held"))
                                       .Add(Pod("p").On("three"))
                                       .Add(Pod("q").On("three"))
                                       .Add(Pod("r").On("three"))
                                       .Add(Pod("daemon").On("three").DaemonSet())
                                       .Add(Pod("bare").On("held").WithoutOwner())
                                       .Add(Pod("s").On("held"))
                                       .Build();
  PlanRequest request;
  request.pass.now_s = test::kPassTime;
  const std::vector<double> hourly = {2.5, 0.25, 1.0000004};
  EXPECT_THAT(WorthOfNodes(snapshot, test::OneGroup(snapshot), request, hourly, 0.125),
              ElementsAre(2'500'000 - 3 * 125'000, 250'000, 1'000'000));
  EXPECT_THAT(WorthOfNodes(snapshot, test::OneGroup(snapshot), request, hourly, 1),
              ElementsAre(-500'000, 250'000, 1'000'000));
}

}  // namespace
}  // namespace ebb::removable_test
