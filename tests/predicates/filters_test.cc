#include "predicates/filters.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/predicates/verdict.h"

namespace ebb::test::filters_test {
namespace {

TEST(FiltersTest, FirstFilterInTheSchedulersOrderIsTheAnswer) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("tainted").Taint("gpu").Cpu(0))
                                       .Add(Node("small").Cpu(0))
                                       .Add(Pod("p").Cpu(1).NodeSelector("zone", "x"))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "tainted"),
            "TaintToleration: node(s) had untolerated taint(s)");
  EXPECT_EQ(VerdictOf(snapshot, "p", "small"),
            "NodeAffinity: node(s) didn't match Pod's node affinity/selector");
}

TEST(FiltersTest, APodWithAnUnknownFieldFitsNowhereAndTheReasonIsGiven) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Taint("gpu"))
                                       .Add(Node("m"))
                                       .Add(Pod("p").On("m").With([](objects::Pod& pod) {
                                         pod.not_understood = "spec.affinity.cosmicAffinity";
                                       }))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "NotUnderstood: spec.affinity.cosmicAffinity");
  const PodShape& shape = snapshot.catalog().shape_of(PodNamed(snapshot, "p"));
  EXPECT_FALSE(PreFilter(snapshot, shape).fits);
}

// The scheduler does not know the field either, so it ignores it.
TEST(FiltersTest, AFieldThatIsNotKnownKeepsNoPodThatWaitsFromANode) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n"))
                                       .Add(Pod("p").With([](objects::Pod& pod) {
                                         pod.not_understood = "spec.affinity.cosmicAffinity";
                                       }))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "fits");
  EXPECT_EQ(snapshot.catalog().shape_of(PodNamed(snapshot, "p")).ignored,
            "spec.affinity.cosmicAffinity");
}

TEST(FiltersTest, EveryFilterHasTheSchedulersName) {
  using enum Filter;
  const std::pair<Filter, std::string_view> names[] = {
      {kNodeUnschedulable, "NodeUnschedulable"},
      {kNodeName, "NodeName"},
      {kTaintToleration, "TaintToleration"},
      {kNodeAffinity, "NodeAffinity"},
      {kNodePorts, "NodePorts"},
      {kNodeResourcesFit, "NodeResourcesFit"},
      {kVolumeRestrictions, "VolumeRestrictions"},
      {kNodeVolumeLimits, "NodeVolumeLimits"},
      {kVolumeBinding, "VolumeBinding"},
      {kVolumeZone, "VolumeZone"},
      {kPodTopologySpread, "PodTopologySpread"},
      {kInterPodAffinity, "InterPodAffinity"},
      {kDynamicResources, "DynamicResources"},
      {kNodeDeclaredFeatures, "NodeDeclaredFeatures"},
      {kOperatingSystem, "OperatingSystem"},
      {kNotUnderstood, "NotUnderstood"}};
  static_assert(std::size(names) == kFilterCount);
  for (const auto& [filter, name] : names) EXPECT_EQ(FilterName(filter), name);
}

TEST(FiltersTest, AFieldThatTheSchedulerFailsOnIsTheFiltersThatReadsIt) {
  const auto verdict = [](const char* field) {
    const ClusterSnapshot snapshot =
        Cluster()
            .Add(Node("n"))
            .Add(Node("m"))
            .Add(Pod("p").On("m").With([&](objects::Pod& pod) { pod.not_understood = field; }))
            .Add(Pod("waits").With([&](objects::Pod& pod) { pod.not_understood = field; }))
            .Build();
    // A pod that waits fits nowhere only because of fields on which the scheduler fails too.
    EXPECT_EQ(VerdictOf(snapshot, "waits", "n"),
              SchedulerFailsOn(field) ? VerdictOf(snapshot, "p", "n") : "fits");
    return VerdictOf(snapshot, "p", "n");
  };
  for (const auto& [field, filter] :
       {std::pair("spec.topologySpreadConstraints: x", "PodTopologySpread"),
        std::pair("spec.affinity.podAffinity: x", "InterPodAffinity"),
        std::pair("spec.affinity.podAntiAffinity: x", "InterPodAffinity"),
        std::pair("spec.affinity.podAffinity[].x", "NotUnderstood"),
        std::pair("spec.affinity: x", "NotUnderstood")}) {
    EXPECT_EQ(verdict(field), std::string(filter) + ": " + field);
  }
}

TEST(FiltersTest, ExplainEachNamesEveryFilterThatRejects) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n").Unschedulable().Cpu(0))
          .Add(Pod("p").Cpu(1))
          .Add(Node("m"))
          .Add(Pod("claims").On("m").With([](objects::Pod& pod) { pod.not_understood = "spec.x"; }))
          .Build();
  const auto no = [&](std::string_view pod) {
    std::string names;
    for (const FilterVerdict& verdict :
         ExplainEach(snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, pod)),
                     NodeNamed(snapshot, "n"))) {
      EXPECT_EQ(verdict.fits, verdict.reasons.empty());
      if (!verdict.fits) names += std::string(FilterName(verdict.filter)) + " ";
    }
    return names;
  };
  EXPECT_EQ(no("p"), "NodeUnschedulable NodeResourcesFit ");
  EXPECT_EQ(no("claims"), "NotUnderstood ");
}

TEST(FiltersTest, APodThatNamesNodesHasThePartForNodeNames) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n"))
          .Add(Pod("plain"))
          .Add(Pod("named").With([](objects::Pod& pod) {
            pod.required_node_affinity.nil = false;
            pod.required_node_affinity.terms.push_back({{}, {{"metadata.name", "In", {"n"}}}});
          }))
          .Build();
  const auto parts = [&](std::string_view pod) {
    return PartsOf(snapshot.catalog(), snapshot.catalog().shape_of(PodNamed(snapshot, pod)));
  };
  EXPECT_EQ(parts("plain"), kConstraintsPart | kRequestsPart);
  EXPECT_EQ(parts("named"), kConstraintsPart | kRequestsPart | kNodeNamesPart);
}

}  // namespace
}  // namespace ebb::test::filters_test
