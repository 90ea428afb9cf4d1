#include "groups/cloud_machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "groups/groups.h"
#include "groups/machine_types.h"
#include "tests/support/source_dir.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::cloud_machines_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kMib = int64_t{1} << 20;

MachineFile Example(const std::string& name) {
  const absl::StatusOr<MachineFile> file =
      ReadMachineFile(absl::StrCat(SourceDir(), "/examples/", name));
  EXPECT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->is_cloud_list);
  return *file;
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<MachineFile> file = ParseMachineFile("list.json", text);
  return file.ok() ? "" : std::string(file.status().message());
}

TEST(CloudMachinesTest, AwsListsGiveMachinesWithEksReservations) {
  const MachineFile file = Example("machine_types_aws.json");
  ASSERT_EQ(file.machines.size(), 3u);
  const FileMachine& m7i = file.machines[0];
  EXPECT_EQ(m7i.name, "m7i.large");
  EXPECT_EQ(m7i.capacity.at("pods"), 29)
      << "3 interfaces of 9 addresses, and 2 in the host network";
  EXPECT_EQ(m7i.capacity.at("cpu"), 2000);
  EXPECT_EQ(m7i.allocatable.at("cpu"), 1930);
  const int64_t memory = m7i.capacity.at("memory");
  EXPECT_NEAR(static_cast<double>(memory), 8192 * 0.925 * kMib, 1);
  EXPECT_EQ(m7i.allocatable.at("memory"), memory - (255 + 11 * 29 + 100) * kMib);
  EXPECT_THAT(m7i.labels, ElementsAre(Pair("kubernetes.io/arch", "amd64")));
  EXPECT_THAT(m7i.pool_labels, Contains(Pair("karpenter.k8s.aws/instance-memory", "8192")));
  ASSERT_EQ(m7i.offers.size(), 2u);
  EXPECT_EQ(m7i.offers[1].capacity_type, "spot");
  EXPECT_THAT(m7i.groups, IsEmpty());
  EXPECT_EQ(file.machines[1].labels.at("kubernetes.io/arch"), "arm64");
  // 6% of one CPU, 1% of another, 0.5% of two and 0.25% of four.
  EXPECT_EQ(file.machines[1].allocatable.at("cpu"), 8000 - 90);
  EXPECT_EQ(file.machines[2].capacity.at("nvidia.com/gpu"), 1);
  EXPECT_EQ(file.machines[2].pool_labels.at("karpenter.k8s.aws/instance-gpu-name"), "a10g");
}

TEST(CloudMachinesTest, GcpListsGiveATypeOnceWithItsZones) {
  const MachineFile file = Example("machine_types_gcp.json");
  ASSERT_EQ(file.machines.size(), 2u);
  const FileMachine& n2 = file.machines[0];
  ASSERT_EQ(n2.offers.size(), 4u) << "on demand and spot, in two zones";
  EXPECT_THAT(n2.offers[2].zones, ElementsAre("us-central1-b"));
  // Of 14.8 GiB: 25% of 4, 20% of 4, 10% of 6.8.
  const double reserved = (0.25 * 4 + 0.2 * 4 + 0.1 * 6.8) * 1024 * kMib;
  EXPECT_NEAR(static_cast<double>(n2.capacity.at("memory") - n2.allocatable.at("memory")),
              reserved + 100 * kMib, 2);
  EXPECT_EQ(file.machines[1].capacity.at("nvidia.com/gpu"), 1);
}

TEST(CloudMachinesTest, AzureListsLeaveOutWhatIsRestricted) {
  const MachineFile file = Example("machine_types_azure.json");
  ASSERT_EQ(file.machines.size(), 2u) << "a disk is no machine";
  const FileMachine& d4 = file.machines[0];
  ASSERT_EQ(d4.offers.size(), 2u);
  EXPECT_THAT(d4.offers[0].zones, ElementsAre("eastus-1", "eastus-2"));
  EXPECT_EQ(d4.offers[1].capacity_type, "spot");
  EXPECT_EQ(d4.allocatable.at("cpu"), 4000 - 140);
  EXPECT_EQ(d4.allocatable.at("memory"), d4.capacity.at("memory") - (20 * 110 + 50 + 100) * kMib);
  EXPECT_EQ(file.machines[1].offers.size(), 1u);
  EXPECT_EQ(file.machines[1].labels.at("kubernetes.io/arch"), "arm64");
}

TEST(CloudMachinesTest, AnErrorNamesTheItemAndTheField) {
  EXPECT_THAT(ErrorOf(R"({"InstanceTypes": [{"InstanceType": ""}]})"),
              HasSubstr("list.json: InstanceTypes[0].name: is not a name"));
  EXPECT_THAT(ErrorOf(R"({"InstanceTypes": [{"InstanceType": "m5.large",
                      "VCpuInfo": {"DefaultVCpus": "two"}}]})"),
              HasSubstr("InstanceTypes[0] (m5.large).VCpuInfo.DefaultVCpus: is not a number"));
  EXPECT_THAT(ErrorOf(R"([{"name": "n2", "guestCpus": 2, "memoryMb": -1, "zone": "z"}])"),
              HasSubstr("[0] (n2).memoryMb: is not a number above 0"));
  EXPECT_THAT(ErrorOf(R"([{"name": "A", "resourceType": "virtualMachines", "capabilities": []}])"),
              HasSubstr("[0] (A).capabilities: vCPUs is missing"));
  EXPECT_THAT(ErrorOf(R"([{"name": "A"}])"), HasSubstr("[0].guestCpus: is missing"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("lists no machine types"));
  EXPECT_THAT(ErrorOf("[{"), HasSubstr("is not JSON"));
}

// A list is offered to groups with a NodePool and to groups that are named.
TEST(CloudMachinesTest, OnlyGroupsWithANodePoolOrANameGetTheTypes) {
  objects::NodePool pool;
  pool.meta.name = "kp";
  pool.requirements = {{"kubernetes.io/arch", "In", {"amd64"}, {}}};
  const auto node = [](std::string_view name, std::string_view label, std::string_view group) {
    return test::Node(name)
        .Label(label, group)
        .Label("kubernetes.io/arch", "amd64")
        .Label("node.kubernetes.io/instance-type", "m5.large")
        .Label("topology.kubernetes.io/zone", "z1")
        .Label("karpenter.sh/capacity-type", "on-demand");
  };
  const ClusterSnapshot snapshot = test::Cluster()
                                       .Add(pool)
                                       .Add(node("a", "karpenter.sh/nodepool", "kp"))
                                       .Add(node("b", "eks.amazonaws.com/nodegroup", "managed"))
                                       .Build();
  const NodeGroups groups = AssignGroups(snapshot.catalog(), {});
  const absl::StatusOr<PriceList> list =
      ParsePrices("prices.yaml", "types: {m5.large: 1, m7i.large: 0.5, c7g.2xlarge: 0.6}");
  ASSERT_TRUE(list.ok()) << list.status();
  const absl::StatusOr<NodePrices> prices = PriceNodes(snapshot.catalog(), *list);
  ASSERT_TRUE(prices.ok()) << prices.status();
  MachineFile file = Example("machine_types_aws.json");
  const auto found = [&] {
    std::vector<std::string> usable;
    const MachineCatalogue types = FindMachineTypes(snapshot, groups, *prices, *list, &file);
    for (const MachineType& each : types.usable) {
      if (each.of_file == nullptr) continue;
      usable.push_back(groups.groups[static_cast<size_t>(each.group)].name + ": " + each.name);
    }
    return usable;
  };
  EXPECT_THAT(found(), ElementsAre("kp: m7i.large"));
  file.groups = {"managed", "other"};
  EXPECT_THAT(found(), ::testing::UnorderedElementsAre("kp: m7i.large", "managed: m7i.large",
                                                       "managed: c7g.2xlarge"));
}

}  // namespace
}  // namespace ebb::cloud_machines_test
