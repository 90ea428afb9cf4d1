#include "groups/node_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "tests/testing/cluster_builder.h"

namespace ebb::node_pools_test {
namespace {

using Pool = KarpenterObjects::Pool;
using Requirement = KarpenterObjects::Requirement;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

TEST(NodePoolsTest, EachOperatorIsThatOfKarpenter) {
  struct Case {
    Requirement asked;
    std::optional<std::string> value;
    bool meets;
  };
  const std::optional<std::string> absent;
  const Case cases[] = {
      {{"k", "In", {"a", "b"}, {}}, "b", true},      {{"k", "In", {"a"}, {}}, "b", false},
      {{"k", "In", {"a"}, {}}, absent, false},       {{"k", "NotIn", {"a"}, {}}, "a", false},
      {{"k", "NotIn", {"a"}, {}}, absent, true},     {{"k", "Exists", {}, {}}, "", true},
      {{"k", "Exists", {}, {}}, absent, false},      {{"k", "DoesNotExist", {}, {}}, "a", false},
      {{"k", "DoesNotExist", {}, {}}, absent, true}, {{"k", "Gt", {"7"}, {}}, "8", true},
      {{"k", "Gt", {"7"}, {}}, "7", false},          {{"k", "Gt", {"7"}, {}}, "x", false},
      {{"k", "Gt", {"7"}, {}}, absent, false},       {{"k", "Lt", {"10"}, {}}, "9", true},
      {{"k", "Lt", {"10"}, {}}, "10", false},        {{"k", "Gte", {"7"}, {}}, "7", true},
      {{"k", "Gte", {"7"}, {}}, "6", false},         {{"k", "Lte", {"7"}, {}}, "7", true},
      {{"k", "Lte", {"7"}, {}}, "8", false},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(Meets(each.asked, each.value), each.meets)
        << each.asked.op << " " << each.value.value_or("absent");
  }
}

TEST(NodePoolsTest, WhatCannotBeReadIsNamed) {
  const auto unread = [](Requirement asked) {
    Pool pool;
    pool.requirements = {{"k", "Exists", {}, {}}, std::move(asked)};
    return UnreadRequirement(pool);
  };
  EXPECT_EQ(unread({"k", "In", {"a"}, {}}), "");
  EXPECT_EQ(unread({"", "In", {"a"}, {}}), "requirements[1].key");
  EXPECT_EQ(unread({"k", "in", {"a"}, {}}), "requirements[1].operator");
  EXPECT_EQ(unread({"k", "In", {}, {}}), "requirements[1].values");
  EXPECT_EQ(unread({"k", "Gt", {"1", "2"}, {}}), "requirements[1].values");
  EXPECT_EQ(unread({"k", "Lte", {"1.5"}, {}}), "requirements[1].values");
  Pool older;
  older.not_understood = "apiVersion karpenter.sh/v1beta1";
  EXPECT_EQ(UnreadRequirement(older), "apiVersion karpenter.sh/v1beta1");
  older.not_understood = "spec.disruption.paused";  // Matters to removals only.
  EXPECT_EQ(UnreadRequirement(older), "");
}

TEST(NodePoolsTest, TheNamesOfMachinesTellTheirArchitecture) {
  for (const char* const arm :
       {"c7g.large", "m6gd.metal", "t4g.nano", "im4gn.16xlarge", "x2gd.medium", "g5g.xlarge",
        "Standard_D2ps_v5", "Standard_E4pds_v5", "t2a-standard-1", "c4a-highmem-8"}) {
    EXPECT_EQ(ArchOfName(arm), "arm64") << arm;
  }
  for (const char* const amd :
       {"c7i.large", "m5.2xlarge", "g4dn.xlarge", "g5.xlarge", "p4de.24xlarge", "u-6tb1.metal",
        "Standard_D2s_v5", "Standard_NC24ads_A100_v4", "Standard_NP10s", "n2d-standard-2",
        "e2-medium"}) {
    EXPECT_EQ(ArchOfName(amd), "amd64") << amd;
  }
  for (const char* const unknown : {"", "m8", "cx41", "node-1", "custom", "large"}) {
    EXPECT_EQ(ArchOfName(unknown), "") << unknown;
  }
}

TEST(NodePoolsTest, TheNamesOfMachinesSayWhatTheyAre) {
  const AmountMap capacity = {{"cpu", 96000}, {"memory", int64_t{384} << 30}};
  const std::string aws = "karpenter.k8s.aws/instance-";
  TextMap labels = MachineLabels("m7i.24xlarge", capacity);
  EXPECT_THAT(labels, Contains(Pair(aws + "category", "m")));
  EXPECT_THAT(labels, Contains(Pair(aws + "family", "m7i")));
  EXPECT_THAT(labels, Contains(Pair(aws + "generation", "7")));
  EXPECT_THAT(labels, Contains(Pair(aws + "size", "24xlarge")));
  EXPECT_THAT(labels, Contains(Pair(aws + "cpu", "96")));
  EXPECT_THAT(labels, Contains(Pair(aws + "memory", "393216")));
  EXPECT_THAT(labels, Not(Contains(Key(aws + "gpu-count"))));
  labels = MachineLabels("u-6tb1.metal", capacity);
  EXPECT_THAT(labels, Contains(Pair(aws + "category", "u")));
  EXPECT_THAT(labels, Contains(Pair(aws + "generation", "1")));
  labels = MachineLabels("Standard_NC24ads_A100_v4", {{"nvidia.com/gpu", 1}});
  EXPECT_THAT(labels, Contains(Pair("karpenter.azure.com/sku-family", "NC")));
  EXPECT_THAT(labels, Contains(Pair("karpenter.azure.com/sku-version", "4")));
  EXPECT_THAT(labels, Contains(Pair("karpenter.azure.com/sku-gpu-count", "1")));
  EXPECT_THAT(MachineLabels("n2-standard-4", {}),
              Contains(Pair("karpenter.k8s.gcp/instance-family", "n2")));
  EXPECT_TRUE(MachineLabels("box", capacity).empty());
}

TEST(NodePoolsTest, ALabelThatIsNotKnownMeetsNoRequirement) {
  Pool pool;
  pool.requirements = {{"karpenter.k8s.aws/x", "DoesNotExist", {}, {}}, {"team", "In", {"a"}, {}}};
  const auto none = [](std::string_view) { return false; };
  const auto all = [](std::string_view) { return true; };
  EXPECT_EQ(UnmetRequirement(pool, {}, none), "") << "no machine decides the label team";
  EXPECT_EQ(UnmetRequirement(pool, {}, all), "karpenter.k8s.aws/x, whose value is not known");
}

TEST(NodePoolsTest, LimitsCountTheCapacityOfTheNodePoolsNodes) {
  const ClusterSnapshot snapshot =
      test::Cluster()
          .Add(test::Node("a").Cpu(4000).Label("karpenter.sh/nodepool", "p"))
          .Add(test::Node("b").Cpu(2000).Label("karpenter.sh/nodepool", "p"))
          .Add(test::Node("c").Cpu(8000).Label("karpenter.sh/nodepool", "q"))
          .Build();
  Pool pool;
  pool.name = "p";
  pool.limits = {{"cpu", 8000}, {"nodes", 3}, {"nvidia.com/gpu", 0}};
  AmountMap used = UsedOfLimits(snapshot, pool);
  EXPECT_EQ(used, (AmountMap{{"cpu", 6000}, {"nodes", 2}, {"nvidia.com/gpu", 0}}));
  EXPECT_EQ(ExceededLimit(pool, used), "");
  CountNode({{"cpu", 2000}, {"memory", 1}}, used);
  EXPECT_EQ(ExceededLimit(pool, used), "");
  CountNode({}, used);
  EXPECT_EQ(ExceededLimit(pool, used), "nodes");
  pool.resources = {{"cpu", 8001}};
  EXPECT_EQ(ExceededLimit(pool, UsedOfLimits(snapshot, pool)), "cpu");
}

}  // namespace
}  // namespace ebb::node_pools_test
