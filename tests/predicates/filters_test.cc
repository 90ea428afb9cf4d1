#include "predicates/filters.h"

#include <gtest/gtest.h>

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

TEST(FiltersTest, WhatIsNotUnderstoodFitsNowhereAndSaysWhy) {
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("n").Taint("gpu"))
                                       .Add(Pod("p").With([](objects::Pod& pod) {
                                         pod.not_understood = "spec.affinity.cosmicAffinity";
                                       }))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "n"), "NotUnderstood: spec.affinity.cosmicAffinity");
  const PodShape& shape = snapshot.catalog().shape_of(PodNamed(snapshot, "p"));
  EXPECT_FALSE(PreFilter(snapshot, shape).fits);
}

TEST(FiltersTest, EveryFilterHasTheSchedulersName) {
  EXPECT_EQ(FilterName(Filter::kNodeUnschedulable), "NodeUnschedulable");
  EXPECT_EQ(FilterName(Filter::kNodeResourcesFit), "NodeResourcesFit");
  EXPECT_EQ(FilterName(Filter::kVolumeZone), "VolumeZone");
  EXPECT_EQ(FilterName(Filter::kNodeDeclaredFeatures), "NodeDeclaredFeatures");
  EXPECT_EQ(FilterName(Filter::kNotUnderstood), "NotUnderstood");
}

}  // namespace
}  // namespace ebb::test::filters_test
