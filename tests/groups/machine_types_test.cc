#include "groups/machine_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "groups/groups.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::machine_types_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<MachineFile> file = ParseMachineFile("types.yaml", text);
  return file.ok() ? "" : std::string(file.status().message());
}

std::string WithType(const std::string& rest) {
  return "machineTypes:\n- name: m9\n  groups: [general]\n"
         "  capacity: {cpu: \"2\", memory: 8Gi}\n" +
         rest;
}

Node Machine(std::string_view name, std::string_view type, std::string_view zone,
             std::string_view capacity) {
  return Node(name)
      .Label("eks.amazonaws.com/nodegroup", "general")
      .Label("node.kubernetes.io/instance-type", type)
      .Label("topology.kubernetes.io/zone", zone)
      .Label("eks.amazonaws.com/capacityType", capacity);
}

struct Found {
  std::vector<std::string> usable;
  std::vector<std::string> unusable;  // "NoPrice: m9 in z1".
  std::vector<MachineType> types;
};

Found Find(const ClusterSnapshot& snapshot, const std::string& file, const std::string& groups,
           const std::string& prices = "types: {m4: 1, m8: 2}", RuleSet rule_set = RuleSet::kAuto) {
  const absl::StatusOr<MachineFile> machines = ParseMachineFile("types.yaml", file);
  EXPECT_TRUE(machines.ok()) << machines.status();
  absl::StatusOr<GroupRules> rules = ParseGroups("groups.yaml", groups);
  EXPECT_TRUE(rules.ok()) << rules.status();
  rules->rule_set = rule_set;
  const absl::StatusOr<PriceList> list = ParsePrices("prices.yaml", prices);
  EXPECT_TRUE(list.ok()) << list.status();
  const absl::StatusOr<NodePrices> hourly = PriceNodes(snapshot.catalog(), *list);
  EXPECT_TRUE(hourly.ok()) << hourly.status();
  Found found;
  MachineCatalogue catalogue = FindMachineTypes(snapshot, AssignGroups(snapshot.catalog(), *rules),
                                                *hourly, *list, &*machines);
  for (MachineType& type : catalogue.usable) {
    found.usable.push_back(ToText(type));
    type.of_file = nullptr;  // The file ends with this function.
    found.types.push_back(std::move(type));
  }
  for (const UnusableTypes& each : catalogue.unusable) {
    for (const std::string& name : each.names) {
      found.unusable.push_back(std::string(each.reason) + ": " + name);
    }
  }
  return found;
}

TEST(MachineFileTest, TheOverheadIsSubtracted) {
  const absl::StatusOr<MachineFile> file = ParseMachineFile("types.yaml", WithType(R"(
  pods: 29
  kubeReserved: {cpu: 70m, memory: 1Gi}
  systemReserved: {cpu: 30m}
  evictionHard: {memory: 25%}
  offers: [{hourly: 0.1}]
)"));
  ASSERT_TRUE(file.ok()) << file.status();
  const std::map<std::string, int64_t>& amounts = file->machines.at(0).allocatable;
  EXPECT_EQ(amounts.at("cpu"), 1900);
  EXPECT_EQ(amounts.at("memory"), 5 * test::kGiB);
  EXPECT_EQ(amounts.at("pods"), 29);
}

TEST(MachineFileTest, WhatTheFileDoesNotSayIsKnownAsAnAssumption) {
  const auto read = [](const std::string& rest) {
    const absl::StatusOr<MachineFile> file =
        ParseMachineFile("types.yaml", WithType("  offers: [{}]\n" + rest));
    EXPECT_TRUE(file.ok()) << file.status();
    const FileMachine& machine = file->machines.at(0);
    return std::pair(machine.assumes_pods, machine.assumes_no_overhead);
  };
  EXPECT_EQ(read(""), std::pair(true, true));
  EXPECT_EQ(read("  pods: 58"), std::pair(false, true));
  EXPECT_EQ(read("  evictionHard: {memory: 100Mi}"), std::pair(true, false));
}

TEST(MachineFileTest, TheKubeletsNamesOfWhatIsEvictedAreRead) {
  const absl::StatusOr<MachineFile> file = ParseMachineFile(
      "types.yaml", WithType("  evictionHard: {memory.available: 1Gi}\n  offers: [{}]"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->machines.at(0).allocatable.at("memory"), 7 * test::kGiB);
}

TEST(MachineFileTest, CapacityTypesHaveOneSpelling) {
  const absl::StatusOr<MachineFile> file = ParseMachineFile(
      "types.yaml", WithType("  offers: [{capacityType: ON_DEMAND}, {capacityType: OnDemand}, "
                             "{capacityType: SPOT}, {capacityType: Regular}]"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<std::string> types;
  for (const FileMachine::Offer& each : file->machines.at(0).offers) {
    types.push_back(each.capacity_type);
  }
  EXPECT_THAT(types, ElementsAre("on-demand", "on-demand", "spot", "on-demand"));
}

TEST(MachineTypesTest, AMachineOfAnotherArchitectureIsNotTakenForOneOfTheGroup) {
  const std::string file = R"(
machineTypes:
- {name: c7g.large, groups: [general], capacity: {cpu: "2", memory: 4Gi}, offers: [{hourly: 1}]}
- {name: c7i.large, groups: [general], capacity: {cpu: "2", memory: 4Gi}, offers: [{hourly: 1}]}
- {name: r7g.large, groups: [general], capacity: {cpu: "2", memory: 4Gi}, offers: [{hourly: 1}],
   labels: {kubernetes.io/arch: arm64}}
)";
  const Found found =
      Find(Cluster()
               .Add(Machine("a", "m4", "z1", "ON_DEMAND").Label("kubernetes.io/arch", "amd64"))
               .Build(),
           file, "nodeGroups: []");
  EXPECT_THAT(found.usable, ElementsAre("c7i.large in z1, on-demand", "m4 in z1, on-demand",
                                        "r7g.large in z1, on-demand"));
  EXPECT_THAT(found.unusable, ElementsAre("OtherArchitecture: c7g.large in z1, on-demand"));
}

TEST(MachineTypesTest, ByKarpentersRulesOnlyNodesThatItManagesAreCopied) {
  const auto usable = [](Node node) {
    return Find(Cluster().Add(std::move(node)).Build(), "machineTypes: []", "nodeGroups: []",
                "types: {m4: 1}", RuleSet::kKarpenter)
        .usable;
  };
  EXPECT_THAT(usable(Machine("a", "m4", "z1", "ON_DEMAND")), IsEmpty());
  EXPECT_THAT(usable(Machine("a", "m4", "z1", "ON_DEMAND").Label("karpenter.sh/nodepool", "p")),
              ElementsAre("m4 in z1, on-demand"));
}

TEST(MachineFileTest, JsonIsReadToo) {
  EXPECT_EQ(ErrorOf(R"({"machineTypes": [{"name": "m9", "groups": ["g"], "offers": [{}],
                       "capacity": {"cpu": "2", "memory": "8Gi"}}]})"),
            "");
}

TEST(MachineFileTest, AnErrorNamesFileTypeAndField) {
  EXPECT_EQ(ErrorOf("{}"), "types.yaml: machineTypes: is required");
  EXPECT_THAT(ErrorOf(WithType("")), HasSubstr("machineTypes[0] (m9).offers: is required"));
  EXPECT_THAT(ErrorOf(WithType("  offers: [{hourly: -1}]")),
              HasSubstr("types.yaml: machineTypes[0].offers[0].hourly: \"-1\" is not a price"));
  EXPECT_THAT(ErrorOf(WithType("  offers: [{}]\n  kubeReserved: {memory: 9Gi}")),
              HasSubstr("machineTypes[0] (m9).kubeReserved: memory: is more than the capacity"));
  EXPECT_THAT(ErrorOf(WithType("  offers: [{}]\n  kubeReserved: {cpu: 4x}")),
              HasSubstr("cpu: \"4x\" is not a quantity"));
  EXPECT_THAT(ErrorOf(WithType("  offers: [{}]\n  evictionHard: {cpu: 101%}")),
              HasSubstr("cpu: \"101%\" is not a share"));
  EXPECT_THAT(ErrorOf(WithType("  offers: [{}]\n  pods: 0")), HasSubstr("machineTypes[0].pods"));
  EXPECT_THAT(ErrorOf(WithType("  offers: [{}]\n  taints: [{key: a, effect: Never}]")),
              HasSubstr("taints[0].effect: \"Never\" is not an effect of a taint"));
  EXPECT_THAT(ErrorOf(WithType("  offer: [{}]")), HasSubstr("did you mean offers?"));
  EXPECT_THAT(ErrorOf("machineTypes: [{name: m9, groups: [g], offers: [{}], capacity: {}}]"),
              HasSubstr("capacity.cpu: is required"));
}

TEST(MachineTypesTest, EachShapeOfAGroupIsATypeOnce) {
  const Found found = Find(Cluster()
                               .Add(Machine("a", "m4", "z1", "ON_DEMAND"))
                               .Add(Machine("b", "m4", "z1", "ON_DEMAND"))
                               .Add(Pod("ds").On("b").DaemonSet())
                               .Add(Machine("c", "m4", "z2", "SPOT"))
                               .Add(Machine("d", "m8", "z1", "ON_DEMAND").NotReady())
                               .Build(),
                           "machineTypes: []", "nodeGroups: []");
  EXPECT_THAT(found.usable, ElementsAre("m4 in z1, on-demand", "m4 in z2, spot"));
  EXPECT_EQ(found.types[0].sibling, "b") << "the node with the most DaemonSets' pods";
  EXPECT_THAT(found.unusable, IsEmpty());
}

TEST(MachineTypesTest, TypesThatCannotBeBoughtAreNamedWithTheReason) {
  const Found found = Find(Cluster().Add(Machine("a", "m4", "z1", "ON_DEMAND")).Build(), R"(
machineTypes:
- name: m9
  groups: [general, absent]
  capacity: {cpu: "2", memory: 8Gi}
  offers:
  - {zones: [z1]}                                          # no price
  - {zones: [z7], hourly: 1}                               # no node there
  - {zones: [z1], capacityType: spot, hourly: 1}           # no spot node
  - {zones: [z1], capacityType: on-demand, hourly: 0.25}
)",
                           "nodeGroups: []");
  EXPECT_THAT(found.usable, ElementsAre("m4 in z1, on-demand", "m9 in z1, on-demand"));
  EXPECT_EQ(found.types[1].hourly, 0.25);
  EXPECT_THAT(found.unusable,
              ElementsAre("NoPrice: m9 in z1, on-demand", "NoZone: m9 in z7",
                          "NoSibling: m9 in z1, spot", "UnknownGroup: m9 of absent"));
}

TEST(MachineFileTest, TheNumberOfPodsMayStandInTheCapacity) {
  const absl::StatusOr<MachineFile> file =
      ParseMachineFile("types.yaml",
                       "machineTypes:\n- name: m9\n  groups: [g]\n  offers: [{}]\n"
                       "  capacity: {cpu: \"2\", memory: 8Gi, pods: \"5\"}\n");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->machines.at(0).allocatable.at("pods"), 5);
}

TEST(MachineFileTest, LabelsOfTheOfferAndTheGroupAreRefused) {
  for (const char* const key :
       {"topology.kubernetes.io/zone", "kubernetes.io/hostname", "node-role.kubernetes.io/master",
        "eks.amazonaws.com/capacityType", "eks.amazonaws.com/nodegroup"}) {
    EXPECT_THAT(
        ErrorOf(WithType("  offers: [{}]\n  labels: {" + std::string(key) + ": x}")),
        HasSubstr("(m9).labels: " + std::string(key) + ": is decided by the group and the offer"));
  }
}

TEST(MachineTypesTest, ANewNodeHasTheLabelsOfAllNodesAndTheTaintsOfAny) {
  Node one = Machine("a", "m4", "z1", "ON_DEMAND")
                 .Label("kubernetes.io/hostname", "ip-1")
                 .Label("topology.csi.x/node", "ip-1")
                 .Label("topology.csi.x/zone", "z1")
                 .Label("nvidia.com/gpu.product", "T4")
                 .Label("team", "x")
                 .Label("disk", "ssd");
  const Node other = Machine("b", "m4", "z1", "ON_DEMAND")
                         .Label("kubernetes.io/hostname", "ip-2")
                         .Label("nvidia.com/gpu.product", "T4")
                         .Label("team", "x")
                         .Label("disk", "hdd")
                         .Taint("only", "b", "NoSchedule");
  const Found found = Find(Cluster().Add(one).Add(Pod("ds").On("a").DaemonSet()).Add(other).Build(),
                           R"(
machineTypes:
- name: m9
  groups: [general]
  capacity: {cpu: "2", memory: 8Gi}
  offers: [{hourly: 1}]
)",
                           "nodeGroups: []");
  ASSERT_EQ(found.types.size(), 2u);
  EXPECT_EQ(found.types[0].sibling, "a");
  EXPECT_THAT(found.types[0].left_out, ElementsAre("disk", "topology.csi.x/node"));
  EXPECT_THAT(found.types[1].left_out,
              ElementsAre("disk", "nvidia.com/gpu.product", "topology.csi.x/node"));
  ASSERT_EQ(found.types[0].group_taints.size(), 1u);
  EXPECT_EQ(found.types[0].group_taints[0].key, "only");
}

TEST(MachineTypesTest, AGroupThatIsScaledAsAWholeTakesNoNewNode) {
  const Found found =
      Find(Cluster().Add(Machine("a", "m4", "z1", "ON_DEMAND")).Build(), "machineTypes: []",
           "nodeGroups: [{name: general, minSize: 0, maxSize: 9, atomic: true}]");
  EXPECT_THAT(found.usable, IsEmpty());
  EXPECT_THAT(found.unusable, ElementsAre("AtomicGroup: m4 in z1, on-demand"));
}

TEST(MachineTypesTest, AGroupAtItsMaximumTakesNoNewNode) {
  const Found found =
      Find(Cluster().Add(Machine("a", "m4", "z1", "ON_DEMAND")).Build(), "machineTypes: []",
           "nodeGroups: [{name: general, minSize: 0, maxSize: 1}]");
  EXPECT_THAT(found.usable, IsEmpty());
  EXPECT_THAT(found.unusable, ElementsAre("GroupAtMaximum: m4 in z1, on-demand"));
}

}  // namespace
}  // namespace ebb::machine_types_test
