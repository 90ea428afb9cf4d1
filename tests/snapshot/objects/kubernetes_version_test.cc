#include "snapshot/objects/kubernetes_version.h"

#include <gtest/gtest.h>

#include "tests/testing/cluster_builder.h"

namespace ebb::test::kubernetes_version_test {
namespace {

using enum KubernetesVersion;

TEST(KubernetesVersionTest, KubeletsSayWhichRulesTheyAreOf) {
  EXPECT_EQ(KubernetesVersionOf("v1.37.0"), k137);
  EXPECT_EQ(KubernetesVersionOf("v1.36.4-eks-3025e55"), k136);
  EXPECT_EQ(KubernetesVersionOf("v1.9.11"), k136);
  EXPECT_EQ(KubernetesVersionOf("v1.40.1+k3s1"), k137);
  EXPECT_EQ(KubernetesVersionOf("1.37"), k137);
  EXPECT_EQ(KubernetesVersionOf("v2.0.0"), k137);
  for (const char* const text : {"", "v1", "v1.", "vx.37", "v-1.37", "v1.x"}) {
    EXPECT_EQ(KubernetesVersionOf(text), std::nullopt) << text;
  }
}

TEST(KubernetesVersionTest, NamesAreReadBack) {
  for (const KubernetesVersion version : {k136, k137}) {
    EXPECT_EQ(ParseKubernetesVersion(ToString(version)), version);
  }
  EXPECT_EQ(ParseKubernetesVersion("1.38"), std::nullopt);
  EXPECT_EQ(ParseKubernetesVersion("auto"), std::nullopt);
}

Node WithKubelet(std::string_view name, std::string_view version) {
  return Node(name).With([&](objects::Node& node) { node.kubelet_version = Keep(version); });
}

TEST(KubernetesVersionTest, TheNewestKubeletDecidesUnlessAVersionIsGiven) {
  const auto of = [](const Cluster& cluster) {
    return cluster.Build().catalog().kubernetes_version();
  };
  EXPECT_EQ(of(Cluster().Add(Node("a"))), k136);
  EXPECT_EQ(of(Cluster().Add(WithKubelet("a", "v1.36.1")).Add(WithKubelet("b", "v1.37.0"))), k137);
  EXPECT_EQ(of(Cluster().Add(WithKubelet("a", "v1.36.1")).Add(WithKubelet("b", "odd"))), k136);
  SnapshotBuilder builder;
  builder.SetVersion(k136);
  ASSERT_TRUE(builder.AddNode(WithKubelet("a", "v1.37.0").raw).ok());
  EXPECT_EQ(std::move(builder).Build()->catalog().kubernetes_version(), k136);
}

// Symptom: if nodes were added after their pods, a resize was counted by the rules of 1.36.
TEST(KubernetesVersionTest, PodsAddedBeforeTheirNodesCountByTheNodesVersion) {
  Pod pod = Pod("p").On("a").Cpu(100);
  pod.raw.init_containers.push_back(pod.raw.containers[0]);
  pod.raw.init_containers[0].name = "init";
  pod.raw.container_statuses.push_back({.name = "init",
                                        .has_resources = true,
                                        .requests = {{"cpu", 2500}},
                                        .allocated = {{"cpu", 2500}}});
  const auto free_of = [&](std::string_view version) {
    SnapshotBuilder builder;
    EXPECT_TRUE(builder.AddPod(pod.raw).ok());
    EXPECT_TRUE(builder.AddNode(WithKubelet("a", version).raw).ok());
    const ClusterSnapshot snapshot = std::move(builder).Build().value();
    EXPECT_TRUE(snapshot.catalog().version_matters());
    EXPECT_TRUE(snapshot.CheckInvariants().ok());
    return snapshot.Free(kCpu, NodeNamed(snapshot, "a"));
  };
  EXPECT_EQ(free_of("v1.36.0"), 4000 - 100);
  EXPECT_EQ(free_of("v1.37.0"), 4000 - 2500);
}

TEST(KubernetesVersionTest, AnOrdinaryClusterHasTheSameAnswersByAllVersions) {
  Pod pod = Pod("p").On("a").Cpu(100);
  pod.raw.container_statuses.push_back({.name = "main",
                                        .has_resources = true,
                                        .requests = {{"cpu", 100}},
                                        .allocated = {{"cpu", 100}}});
  EXPECT_FALSE(Cluster().Add(Node("a")).Add(pod).Build().catalog().version_matters());
}

}  // namespace
}  // namespace ebb::test::kubernetes_version_test
