#include "predicates/inter_pod_affinity.h"

#include <gtest/gtest.h>

#include "tests/predicates/verdict.h"

namespace ebb::test::inter_pod_affinity_test {
namespace {

constexpr char kAffinity[] = "InterPodAffinity: node(s) didn't match pod affinity rules";
constexpr char kAnti[] = "InterPodAffinity: node(s) didn't match pod anti-affinity rules";
constexpr char kExisting[] =
    "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules";

// Two nodes in zone x, one in zone y, one without a zone; a web pod on x0.
Cluster Zones() {
  Cluster cluster;
  cluster.Add(Node("x0").Label("zone", "x"))
      .Add(Node("x1").Label("zone", "x"))
      .Add(Node("y").Label("zone", "y"))
      .Add(Node("nowhere"))
      .Add(Pod("web").On("x0").Label("app", "web"));
  return cluster;
}

TEST(InterPodAffinityTest, AffinityWantsAMatchInTheDomain) {
  const ClusterSnapshot snapshot = Zones().Add(Pod("p").Near("zone", Select("app", "web"))).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x1"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "p", "y"), kAffinity);
  EXPECT_EQ(VerdictOf(snapshot, "p", "nowhere"), kAffinity);
}

TEST(InterPodAffinityTest, OnePodMustMatchAllTerms) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Pod("front").On("x1").Label("tier", "front"))
          .Add(Pod("p").Near("zone", Select("app", "web")).Near("zone", Select("tier", "front")))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x0"), kAffinity);
}

TEST(InterPodAffinityTest, FirstOfItsKindFitsWhereTheKeysAre) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Pod("first").Label("app", "db").Near("zone", Select("app", "db")))
          .Add(Pod("stranger").Near("zone", Select("app", "db")))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "first", "y"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "first", "nowhere"), kAffinity);
  EXPECT_EQ(VerdictOf(snapshot, "stranger", "y"), kAffinity);
}

TEST(InterPodAffinityTest, SecondOfItsKindJoinsTheFirst) {
  const ClusterSnapshot snapshot =
      Zones().Add(Pod("second").Label("app", "web").Near("zone", Select("app", "web"))).Build();
  EXPECT_EQ(VerdictOf(snapshot, "second", "x1"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "second", "y"), kAffinity);
}

TEST(InterPodAffinityTest, AntiAffinityForbidsTheDomainAndNotNodesWithoutKey) {
  const ClusterSnapshot snapshot = Zones().Add(Pod("p").Away("zone", Select("app", "web"))).Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "x1"), kAnti);
  EXPECT_EQ(VerdictOf(snapshot, "p", "y"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "p", "nowhere"), "fits");
}

TEST(InterPodAffinityTest, PlacedPodsRepelToo) {
  const ClusterSnapshot snapshot =
      Zones()
          .Add(Pod("shy").On("y").Away("zone", Select("app", "loud")))
          .Add(Pod("leaving").On("x1").Away("zone", Select("app", "loud")).DeletedAt(1))
          .Add(Pod("loud").Label("app", "loud"))
          .Add(Pod("quiet"))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "loud", "y"), kExisting);
  EXPECT_EQ(VerdictOf(snapshot, "loud", "x0"), kExisting);
  EXPECT_EQ(VerdictOf(snapshot, "loud", "nowhere"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "quiet", "y"), "fits");
}

TEST(InterPodAffinityTest, TermsMeanTheOwnersNamespaceUnlessTheyNameOthers) {
  const auto in_prod = [](objects::Pod& pod) { pod.anti_affinity[0].namespaces = {"prod"}; };
  const auto in_team = [](objects::Pod& pod) {
    pod.anti_affinity[0].namespace_selector = Select("team", "a");
  };
  const auto anywhere = [](objects::Pod& pod) {
    pod.anti_affinity[0].namespace_selector = SelectEverything();
  };
  const objects::LabelSelector db = Select("app", "db");
  const ClusterSnapshot snapshot = Zones()
                                       .AddNamespace("prod", {{"team", "a"}})
                                       .Add(Pod("db").In("prod").On("y").Label("app", "db"))
                                       .Add(Pod("own").Away("zone", db))
                                       .Add(Pod("named").Away("zone", db).With(in_prod))
                                       .Add(Pod("selected").Away("zone", db).With(in_team))
                                       .Add(Pod("any").Away("zone", db).With(anywhere))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "own", "y"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "named", "y"), kAnti);
  EXPECT_EQ(VerdictOf(snapshot, "selected", "y"), kAnti);
  EXPECT_EQ(VerdictOf(snapshot, "any", "y"), kAnti);
}

TEST(InterPodAffinityTest, ANilSelectorMatchesNoPodAndAnEmptyOneEveryPod) {
  const ClusterSnapshot snapshot = Zones()
                                       .Add(Pod("nil").Away("zone", SelectNothing()))
                                       .Add(Pod("empty").Away("zone", SelectEverything()))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "nil", "x0"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "empty", "x0"), kAnti);
}

TEST(InterPodAffinityTest, TermThatDoesNotParseRefusesThePodEverywhere) {
  objects::LabelSelector bad = Select("app", "a b");
  const ClusterSnapshot snapshot = Zones().Add(Pod("p").Away("zone", bad)).Build();
  EXPECT_TRUE(VerdictOf(snapshot, "p", "nowhere").starts_with("InterPodAffinity: "));
}

// Source: third/upstream-1.37/u6.
TEST(InterPodAffinityTest, From137OnASelectorTakesOnlyNamespacesThatItMatches) {
  const auto verdict = [](std::string_view version) {
    objects::LabelSelector no_env{.nil = false, .match_labels = {}, .match_expressions = {}};
    no_env.match_expressions.push_back({"env", "DoesNotExist", {}});
    Pod pod = Pod("p").Away("zone", Select("app", "b"));
    pod.raw.anti_affinity[0].namespace_selector = no_env;
    return VerdictOf(Cluster()
                         .AddNamespace("default")
                         .AddNamespace("prod", {{"env", "prod"}})
                         .Add(Node("n").Label("zone", "z").With([&](objects::Node& node) {
                           node.kubelet_version = version;
                         }))
                         .Add(Pod("other").In("prod").On("n").Label("app", "b"))
                         .Add(pod)
                         .Build(),
                     "p", "n");
  };
  EXPECT_EQ(verdict("v1.36.4"), "InterPodAffinity: node(s) didn't match pod anti-affinity rules");
  EXPECT_EQ(verdict("v1.37.0"), "fits");
}

}  // namespace
}  // namespace ebb::test::inter_pod_affinity_test
