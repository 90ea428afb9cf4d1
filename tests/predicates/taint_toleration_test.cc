#include "predicates/taint_toleration.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/predicates/verdict.h"

namespace ebb::test::taint_toleration_test {
namespace {

constexpr char kRefused[] = "TaintToleration: node(s) had untolerated taint(s)";

std::string WithToleration(objects::Toleration toleration, std::string_view effect = "NoSchedule") {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n").Taint("gpu", "a100", effect))
          .Add(Pod("p").With([&](objects::Pod& pod) { pod.tolerations.push_back(toleration); }))
          .Build();
  return VerdictOf(snapshot, "p", "n");
}

TEST(TaintTolerationTest, EqualComparesTheValueAndExistsDoesNot) {
  EXPECT_EQ(WithToleration({"gpu", "Equal", "a100", "NoSchedule"}), "fits");
  EXPECT_EQ(WithToleration({"gpu", "", "a100", ""}), "fits");
  EXPECT_EQ(WithToleration({"gpu", "Equal", "h100", ""}), kRefused);
  EXPECT_EQ(WithToleration({"gpu", "Exists", "", ""}), "fits");
}

TEST(TaintTolerationTest, EmptyKeyMeansAnyKey) {
  EXPECT_EQ(WithToleration({"", "Exists", "", ""}), "fits");
  EXPECT_EQ(WithToleration({"", "Equal", "a100", ""}), "fits");
  EXPECT_EQ(WithToleration({"", "Equal", "", ""}), kRefused);
}

TEST(TaintTolerationTest, EffectMustBeTheTaintsOrEmpty) {
  EXPECT_EQ(WithToleration({"gpu", "Exists", "", "NoExecute"}), kRefused);
  EXPECT_EQ(WithToleration({"gpu", "Exists", "", "NoExecute"}, "NoExecute"), "fits");
}

TEST(TaintTolerationTest, ComparisonOperatorsNeverTolerate) {
  EXPECT_EQ(WithToleration({"gpu", "Gt", "a100", ""}), kRefused);
  EXPECT_EQ(WithToleration({"gpu", "Sometimes", "a100", ""}), kRefused);
}

TEST(TaintTolerationTest, PreferNoScheduleRefusesNoPod) {
  EXPECT_EQ(WithToleration({"other", "Exists", "", ""}, "PreferNoSchedule"), "fits");
}

TEST(TaintTolerationTest, AGhostAcceptsNoPod) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Node("ghost"))
                                 .Add(Pod("plain"))
                                 .Add(Pod("careless").ToleratesEverything())
                                 .Build();
  snapshot.SetGhost(NodeNamed(snapshot, "ghost"));
  EXPECT_EQ(VerdictOf(snapshot, "plain", "ghost"), kRefused);
  EXPECT_EQ(VerdictOf(snapshot, "careless", "ghost"), kRefused);
  const PodShape& careless = snapshot.catalog().shape_of(PodNamed(snapshot, "careless"));
  EXPECT_FALSE(DynamicFits(snapshot, careless, NodeNamed(snapshot, "ghost")));
}

}  // namespace
}  // namespace ebb::test::taint_toleration_test
