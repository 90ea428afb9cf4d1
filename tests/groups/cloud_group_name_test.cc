#include "groups/cloud_group_name.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace ebb::cloud_group_name_test {
namespace {

constexpr std::string_view kMig =
    "https://www.googleapis.com/compute/v1/projects/p-1/zones/europe-west1-b/instanceGroups/"
    "gke-c-pool-1-5018659c-grp";

TEST(CloudGroupNameTest, ProvidersSpellAGroupInTheirOwnWays) {
  const std::pair<std::string_view, std::string_view> names[] = {
      {"exampleASG1", "exampleASG1"},
      {"k8s-nodepool-1-vmss", "k8s-nodepool-1-vmss"},
      {"12345", "12345"},
      {"a1cd9b96-3707-4998-8fc3-209144ad234c", "a1cd9b96-3707-4998-8fc3-209144ad234c"},
      {"ocid1.nodepool.oc1.iad.aaaa", "ocid1.nodepool.oc1.iad.aaaa"},
      {"MachineDeployment/default/workers", "workers"},
      {"karpenter.sh/nodepool=default", "karpenter.sh/nodepool=default"},
      {"cpx31:fsn1:pool1", "pool1"},
      {"CPX31:FSN1:a.b_c-1", "a.b_c-1"},
      {kMig, "gke-c-pool-1-5018659c-grp"},
      {"https://content.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/web", "web"},
      {"projects/p/zones/z/instanceGroups/web", "web"},
      {"https://x.test/instanceGroups/web", "web"},
  };
  for (const auto& [text, name] : names) {
    const auto read = ReadCloudGroupName(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->name, name) << text;
  }
  EXPECT_EQ(ReadCloudGroupName(kMig)->project, "p-1");
  EXPECT_EQ(ReadCloudGroupName(kMig)->zone, "europe-west1-b");
}

TEST(CloudGroupNameTest, MalformedGroupNamesAreRejected) {
  for (const std::string_view text : {"", "a:b", "a:b:c:d", ":b:c", "a::c", "a:b:", "a b:c:d",
                                      "path/", "https://host/", "https://host:8080"}) {
    EXPECT_FALSE(ReadCloudGroupName(text)) << text;
  }
}

TEST(CloudGroupNameTest, MachinesOfAScaleSetAreKnownByTheirProviderId) {
  const CloudGroupName group = *ReadCloudGroupName("aks-general-12345678-vmss");
  const std::string id =
      "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/"
      "virtualMachineScaleSets/AKS-general-12345678-vmss/virtualMachines/0";
  EXPECT_TRUE(IsMachineOf(group, {.name = "x", .provider_id = id, .zone = ""}));
  EXPECT_TRUE(IsMachineOf(
      group, {.name = "aks-general-12345678-vmss00000a", .provider_id = "", .zone = ""}));
  EXPECT_FALSE(
      IsMachineOf(group, {.name = "aks-general-12345678-vmss0000", .provider_id = "", .zone = ""}));
  EXPECT_FALSE(IsMachineOf(group, {.name = "aks-general-12345678-vmss000000",
                                   .provider_id = "azure:///x/virtualMachineScaleSets/other/y",
                                   .zone = ""}));
  EXPECT_FALSE(IsMachineOf(*ReadCloudGroupName("web"),
                           {.name = "web000000", .provider_id = "", .zone = ""}));
}

TEST(CloudGroupNameTest, MachinesOfAnInstanceGroupAreKnownByNameAndZone) {
  const CloudGroupName group = *ReadCloudGroupName(kMig);
  const auto is_of = [&](std::string_view name, std::string_view id, std::string_view zone) {
    return IsMachineOf(group, {.name = name, .provider_id = id, .zone = zone});
  };
  EXPECT_TRUE(is_of("n", "gce://p-1/europe-west1-b/gke-c-pool-1-5018659c-x1yz", ""));
  EXPECT_TRUE(is_of("gke-c-pool-1-5018659c-x1yz", "", "europe-west1-b"));
  EXPECT_FALSE(is_of("gke-c-pool-1-5018659c-x1yz", "", "europe-west1-c"));
  EXPECT_FALSE(is_of("n", "gce://p-1/europe-west1-c/gke-c-pool-1-5018659c-x1yz", ""));
  EXPECT_FALSE(is_of("n", "gce://p-2/europe-west1-b/gke-c-pool-1-5018659c-x1yz", ""));
  EXPECT_FALSE(is_of("gke-c-pool-1-5018659c-more-x1yz", "", "europe-west1-b"));
}

TEST(CloudGroupNameTest, ServersThatTheAutoscalerMadeAtHetznerCarryTheGroupInTheirName) {
  const CloudGroupName group = *ReadCloudGroupName("cpx31:fsn1:pool1");
  EXPECT_TRUE(IsMachineOf(
      group, {.name = "pool1-4a2f0c1b9d8e7f60", .provider_id = "hcloud://42", .zone = ""}));
  EXPECT_FALSE(IsMachineOf(
      group, {.name = "pool1-4a2f0c1b9d8e7f60", .provider_id = "aws:///a/i-1", .zone = ""}));
  EXPECT_FALSE(IsMachineOf(group, {.name = "pool1-a", .provider_id = "", .zone = ""}));
  EXPECT_FALSE(IsMachineOf(*ReadCloudGroupName("pool1"),
                           {.name = "pool1-4a2f0c1b9d8e7f60", .provider_id = "", .zone = ""}));
}

}  // namespace
}  // namespace ebb::cloud_group_name_test
