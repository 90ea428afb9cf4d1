#include "predicates/operating_system.h"

#include <gtest/gtest.h>

#include "tests/predicates/verdict.h"

namespace ebb::test::operating_system_test {
namespace {

constexpr char kOther[] =
    "OperatingSystem: node(s) run another operating system than the pod was made for";

Node Linux(std::string_view name) { return Node(name).Label("kubernetes.io/os", "linux"); }
Node Windows(std::string_view name) { return Node(name).Label("kubernetes.io/os", "windows"); }

Pod MadeFor(Pod pod, std::string_view os) {
  pod.raw.os_name = Keep(os);
  return pod;
}

ClusterSnapshot Matching(const Cluster& cluster) {
  ClusterSnapshot snapshot = cluster.Build();
  snapshot.SetMatchOs(true);
  return snapshot;
}

// Symptom: a pod with spec.os.name "linux" was planned onto a Windows node, whose kubelet rejects
// it.
TEST(OperatingSystemTest, APodFitsNoNodeOfAnotherSystemThanItNames) {
  const ClusterSnapshot snapshot = Matching(Cluster()
                                                .Add(Linux("l"))
                                                .Add(Windows("w"))
                                                .Add(MadeFor(Pod("p"), "linux"))
                                                .Add(MadeFor(Pod("q").On("l"), "windows")));
  EXPECT_EQ(VerdictOf(snapshot, "p", "l"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "p", "w"), kOther);
  EXPECT_EQ(VerdictOf(snapshot, "q", "l"), kOther);
  EXPECT_EQ(VerdictOf(snapshot, "q", "w"), "fits");
}

TEST(OperatingSystemTest, APodWithoutASystemIsForTheSystemOfItsNode) {
  const ClusterSnapshot snapshot = Matching(Cluster()
                                                .Add(Linux("l"))
                                                .Add(Windows("w"))
                                                .Add(Pod("on-l").On("l"))
                                                .Add(Pod("on-w").On("w"))
                                                .Add(Pod("nowhere")));
  EXPECT_EQ(VerdictOf(snapshot, "on-l", "w"), kOther);
  EXPECT_EQ(VerdictOf(snapshot, "on-w", "l"), kOther);
  EXPECT_EQ(VerdictOf(snapshot, "on-w", "w"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "nowhere", "l"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "nowhere", "w"), "fits");
}

TEST(OperatingSystemTest, APodThatIsNominatedRunsNowhereYet) {
  Pod nominated("p");
  nominated.raw.nominated_node_name = "l";
  const ClusterSnapshot snapshot =
      Matching(Cluster().Add(Linux("l")).Add(Windows("w")).Add(nominated));
  EXPECT_EQ(VerdictOf(snapshot, "p", "w"), "fits");
}

TEST(OperatingSystemTest, APodThatSelectsASystemIsNotCheckedFurther) {
  const auto verdict = [](const Pod& pod) {
    return VerdictOf(Matching(Cluster().Add(Linux("l")).Add(Windows("w")).Add(pod)), "p", "w");
  };
  const auto requiring = [](objects::Text op, std::vector<objects::Text> values) {
    return objects::NodeSelectorTerm{{{"kubernetes.io/os", op, std::move(values)}}, {}};
  };
  const auto affine = [](std::vector<objects::NodeSelectorTerm> terms) {
    return Pod("p").On("l").With([&](objects::Pod& pod) {
      pod.required_node_affinity = {.nil = false, .terms = std::move(terms)};
    });
  };
  EXPECT_EQ(verdict(Pod("p").On("l").NodeSelector("kubernetes.io/os", "windows")), "fits");
  EXPECT_EQ(verdict(affine({requiring("In", {"linux", "windows"})})), "fits");
  EXPECT_EQ(verdict(affine({requiring("NotIn", {"darwin"})})), "fits");
  EXPECT_EQ(verdict(affine({requiring("Exists", {})})), kOther);
  // One of the two terms accepts every system, so the author chose none.
  EXPECT_EQ(verdict(affine({requiring("In", {"linux", "windows"}),
                            {{{"kubernetes.io/os", "Exists", {}}}, {}}})),
            kOther);
  // A kubelet rejects the pod by its spec.os.name whatever the author chose.
  EXPECT_EQ(verdict(MadeFor(affine({requiring("In", {"linux", "windows"})}), "linux")), kOther);
}

TEST(OperatingSystemTest, TheNodesStatusCountsIfItHasNoLabel) {
  const Node status =
      Node("w").With([](objects::Node& node) { node.operating_system = "windows"; });
  const Node beta = Node("b").Label("beta.kubernetes.io/os", "windows");
  const ClusterSnapshot snapshot = Matching(Cluster()
                                                .Add(Linux("l"))
                                                .Add(status)
                                                .Add(beta)
                                                .Add(Node("unknown"))
                                                .Add(Pod("p").On("l"))
                                                .Add(Pod("q").On("unknown")));
  EXPECT_EQ(VerdictOf(snapshot, "p", "w"), kOther);
  EXPECT_EQ(VerdictOf(snapshot, "p", "b"), kOther);
  EXPECT_EQ(VerdictOf(snapshot, "p", "unknown"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "q", "w"), "fits");
}

TEST(OperatingSystemTest, TheSchedulersOwnRulesIgnoreTheSystem) {
  const ClusterSnapshot snapshot =
      Cluster().Add(Linux("l")).Add(Windows("w")).Add(MadeFor(Pod("p").On("l"), "linux")).Build();
  EXPECT_FALSE(snapshot.matches_os());
  EXPECT_EQ(VerdictOf(snapshot, "p", "w"), "fits");
}

TEST(OperatingSystemTest, APodKeepsItsSystemWhereItIsMovedInASimulation) {
  ClusterSnapshot snapshot = Matching(
      Cluster().Add(Linux("l")).Add(Windows("w")).Add(Node("unknown")).Add(Pod("p").On("l")));
  snapshot.MovePod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "unknown"));
  EXPECT_EQ(VerdictOf(snapshot, "p", "w"), kOther);
}

}  // namespace
}  // namespace ebb::test::operating_system_test
