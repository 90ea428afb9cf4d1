#include "predicates/pod_topology_spread.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/predicates/verdict.h"

namespace ebb::test::pod_topology_spread_test {
namespace {

constexpr char kSkewed[] =
    "PodTopologySpread: node(s) didn't match pod topology spread constraints";
constexpr char kMissing[] =
    "PodTopologySpread: node(s) didn't match pod topology spread constraints "
    "(missing required label)";

// Zone x has one web pod, zone y has none, and a third node is in no zone.
Cluster TwoZones() {
  Cluster cluster;
  cluster.Add(Node("x").Label("zone", "x"))
      .Add(Node("y").Label("zone", "y"))
      .Add(Node("nowhere"))
      .Add(Pod("there").On("x").Label("app", "web"));
  return cluster;
}

Pod Web(std::string_view name) { return Pod(name).Label("app", "web"); }
objects::LabelSelector WebPods() { return Select("app", "web"); }

TEST(PodTopologySpreadTest, SkewIsMeasuredAgainstTheEmptiestDomain) {
  const ClusterSnapshot snapshot = TwoZones()
                                       .Add(Web("p").Spread("zone", 1, WebPods()))
                                       .Add(Web("lax").Spread("zone", 2, WebPods()))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x"), kSkewed);
  EXPECT_EQ(VerdictOf(snapshot, "p", "y"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "lax", "x"), "fits");
}

TEST(PodTopologySpreadTest, NodeWithoutTheKeyIsRefusedByName) {
  const ClusterSnapshot snapshot = TwoZones().Add(Web("p").Spread("zone", 9, WebPods())).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "nowhere"), kMissing);
}

TEST(PodTopologySpreadTest, AnEmptyKeyIsALabelThatNoNodeHas) {
  const ClusterSnapshot snapshot = TwoZones().Add(Web("p").Spread("", 9, WebPods())).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x"), kMissing);
}

TEST(PodTopologySpreadTest, PodThatDoesNotMatchItsSelectorDoesNotCountItself) {
  const ClusterSnapshot snapshot = TwoZones().Add(Pod("p").Spread("zone", 1, WebPods())).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x"), "fits");
}

TEST(PodTopologySpreadTest, TooFewDomainsMakeTheMinimumZero) {
  const auto min_domains = [](int64_t count) {
    return [count](objects::Pod& pod) { pod.spread[0].min_domains = count; };
  };
  const ClusterSnapshot snapshot =
      TwoZones()
          .Add(Pod("there-too").On("y").Label("app", "web"))
          .Add(Web("two").Spread("zone", 1, WebPods()).With(min_domains(2)))
          .Add(Web("three").Spread("zone", 1, WebPods()).With(min_domains(3)))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "two", "x"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "three", "x"), kSkewed);
}

TEST(PodTopologySpreadTest, TerminatingPodsAndOtherNamespacesDoNotCount) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("x").Label("zone", "x"))
                                       .Add(Node("y").Label("zone", "y"))
                                       .Add(Pod("leaving").On("x").Label("app", "web").DeletedAt(1))
                                       .Add(Pod("foreign").In("other").On("x").Label("app", "web"))
                                       .Add(Web("p").Spread("zone", 1, WebPods()))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x"), "fits");
}

TEST(PodTopologySpreadTest, AnEmptySelectorCountsOnlyThePodItself) {
  const ClusterSnapshot snapshot = TwoZones()
                                       .Add(Web("one").Spread("zone", 1, SelectEverything()))
                                       .Add(Web("zero").Spread("zone", 0, SelectEverything()))
                                       .Add(Web("nil").Spread("zone", 0, SelectNothing()))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "one", "x"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "zero", "x"), kSkewed);
  EXPECT_EQ(VerdictOf(snapshot, "nil", "x"), "fits");
}

TEST(PodTopologySpreadTest, NodesThatAffinityRulesOutMakeNoDomainUnlessIgnored) {
  const auto policy = [](std::string_view text) {
    return [text](objects::Pod& pod) { pod.spread[0].node_affinity_policy = text; };
  };
  const ClusterSnapshot snapshot =
      TwoZones()
          .Add(Web("honor").NodeSelector("zone", "x").Spread("zone", 1, WebPods()).With(policy("")))
          .Add(Web("ignore")
                   .NodeSelector("zone", "x")
                   .Spread("zone", 1, WebPods())
                   .With(policy("Ignore")))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "honor", "x"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "ignore", "x"), kSkewed);
}

TEST(PodTopologySpreadTest, GhostMakesADomainUnlessTaintsAreHonored) {
  const auto honor = [](objects::Pod& pod) { pod.spread[0].node_taints_policy = "Honor"; };
  ClusterSnapshot snapshot = TwoZones()
                                 .Add(Web("ignore").Spread("zone", 1, WebPods()))
                                 .Add(Web("honor").Spread("zone", 1, WebPods()).With(honor))
                                 .Build();
  snapshot.SetGhost(NodeNamed(snapshot, "y"));
  EXPECT_EQ(VerdictOf(snapshot, "ignore", "x"), kSkewed);
  EXPECT_EQ(VerdictOf(snapshot, "honor", "x"), "fits");
}

TEST(PodTopologySpreadTest, SelectorThatDoesNotParseRefusesThePodEverywhere) {
  const ClusterSnapshot snapshot =
      TwoZones()
          .Add(Web("p").Spread("zone", 1, WebPods()).With([](objects::Pod& pod) {
            pod.spread[0].label_selector.match_expressions.push_back({"app", "Perhaps", {}});
          }))
          .Build();
  EXPECT_TRUE(VerdictOf(snapshot, "p", "y").starts_with("PodTopologySpread: "));
}

}  // namespace
}  // namespace ebb::test::pod_topology_spread_test
