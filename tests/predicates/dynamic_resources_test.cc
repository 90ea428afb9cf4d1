#include "predicates/dynamic_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "predicates/filters.h"
#include "snapshot/device_allocator.h"
#include "snapshot/devices.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::dynamic_resources_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;
using ::testing::HasSubstr;

constexpr std::string_view kDriver = "gpu.example.com";

objects::Device Device(std::string_view name) {
  objects::Device device;
  device.name = name;
  return device;
}

objects::Device Device(std::string_view name, std::string_view numa) {
  objects::Device device = Device(name);
  device.attributes = {{"example.com/numa", "string", numa}};
  return device;
}

// A pool of one slice, which belongs to a node of the same name.
objects::ResourceSlice Slice(std::string_view node, std::vector<objects::Device> devices) {
  objects::ResourceSlice slice;
  slice.meta.name = node;
  slice.driver = kDriver;
  slice.pool = node;
  slice.node_name = node;
  slice.generation = 1;
  slice.slice_count = 1;
  slice.devices = std::move(devices);
  return slice;
}

objects::DeviceClass Class(std::string_view name) {
  objects::DeviceClass device_class;
  device_class.meta.name = name;
  return device_class;
}

objects::DeviceAsk Ask(std::string_view name, int64_t count) {
  objects::DeviceAsk ask;
  ask.name = name;
  ask.class_name = "gpu";
  ask.mode = "ExactCount";
  ask.count = count;
  return ask;
}

objects::DeviceRequest Request(std::string_view name, int64_t count = 1) {
  objects::DeviceRequest request;
  request.name = name;
  request.asks = {Ask("", count)};
  return request;
}

objects::ResourceClaim Claim(std::string_view name, std::vector<objects::DeviceRequest> requests) {
  objects::ResourceClaim claim;
  claim.meta.namespace_name = "default";
  claim.meta.name = name;
  claim.requests = std::move(requests);
  return claim;
}

// A claim that a template made for the pod; the pod has the UID "uid-POD".
objects::ResourceClaim Own(std::string_view pod, std::string_view uid,
                           std::vector<objects::DeviceRequest> requests) {
  objects::ResourceClaim claim = Claim(pod, std::move(requests));
  claim.meta.owners = {
      {.api_version = "v1", .kind = "Pod", .name = pod, .uid = uid, .controller = true}};
  return claim;
}

objects::ResourceClaim On(objects::ResourceClaim claim, std::string_view node,
                          std::vector<std::string_view> devices, std::string_view uid) {
  claim.allocated = true;
  for (const std::string_view device : devices) {
    claim.devices.push_back({kDriver, node, device, false, {}, {}, {}, {}});
  }
  claim.allocated_on.nil = false;
  claim.allocated_on.terms.push_back(
      {.match_expressions = {}, .match_fields = {{"metadata.name", "In", {node}}}});
  claim.reserved_for.push_back({"pods", "p", uid});
  return claim;
}

Pod Asks(std::string_view name, std::string_view uid, std::string_view claim,
         std::string_view from_template = "gpus") {
  return Pod(name).With([&](objects::Pod& pod) {
    pod.meta.uid = uid;
    pod.resource_claims = {{"gpu", claim, from_template}};
  });
}

std::string Why(const ClusterSnapshot& snapshot, const char* pod, const char* node) {
  const PodId id = PodNamed(snapshot, pod);
  const FilterVerdict verdict =
      Explain(snapshot, snapshot.catalog().shape_of(id), NodeNamed(snapshot, node));
  if (verdict.fits) return "fits";
  return std::string(FilterName(verdict.filter)) + ": " + verdict.reasons.front();
}

std::string Devices(const ClusterSnapshot& snapshot, std::string_view claim) {
  const Catalog& catalog = snapshot.catalog();
  const auto id = catalog.devices().FindClaim(*catalog.symbols().Find("default"),
                                              *catalog.symbols().Find(claim));
  const DeviceClaimState& state = snapshot.devices().claim(*id);
  std::string names = state.allocated ? "" : "none";
  for (const HeldDevice& held : state.devices) {
    names += held.info == HeldDevice::kNoInfo
                 ? "? "
                 : std::string(catalog.Text(catalog.devices().device(held.info).name)) + " ";
  }
  return names;
}

TEST(DynamicResourcesTest, APodFitsWhereItsClaimFindsAFreeDevice) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Class("gpu"))
          .Add(Slice("a", {Device("gpu-0"), Device("gpu-1")}))
          .Add(Slice("b", {Device("gpu-0")}))
          .Add(On(Own("taker", "t", {Request("r")}), "b", {"gpu-0"}, "t"))
          .Add(Own("asker", "x", {Request("r")}))
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Node("c"))
          .Add(Asks("taker", "t", "taker").On("b"))
          .Add(Asks("asker", "x", "asker"))
          .Build();
  EXPECT_EQ(Why(snapshot, "asker", "a"), "fits");
  EXPECT_EQ(Why(snapshot, "asker", "b"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "asker", "c"), "DynamicResources: cannot allocate all claims");
  const FilterVerdict verdict = Explain(
      snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, "asker")), NodeNamed(snapshot, "b"));
  EXPECT_EQ(verdict.detail, "device gpu-0 of pool b is in use");
}

TEST(DynamicResourcesTest, AMovedPodFreesItsOwnDevicesAndTakesOthers) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", {Device("gpu-0")}))
                                 .Add(Slice("b", {Device("gpu-0"), Device("gpu-1")}))
                                 .Add(On(Own("p", "p", {Request("r")}), "a", {"gpu-0"}, "p"))
                                 .Add(Own("q", "q", {Request("r")}))
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Asks("p", "p", "p").On("a"))
                                 .Add(Asks("q", "q", "q"))
                                 .Build();
  const std::string before = snapshot.Fingerprint();
  const PodId p = PodNamed(snapshot, "p");
  EXPECT_EQ(Why(snapshot, "q", "a"), "DynamicResources: cannot allocate all claims");
  snapshot.Fork();
  snapshot.MovePod(p, NodeNamed(snapshot, "b"));
  EXPECT_EQ(Devices(snapshot, "p"), "gpu-0 ");
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
  snapshot.AddPod(PodNamed(snapshot, "q"), NodeNamed(snapshot, "b"));
  EXPECT_EQ(Devices(snapshot, "q"), "gpu-1 ");
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  snapshot.Revert();
  EXPECT_EQ(snapshot.Fingerprint(), before);
  snapshot.Fork();
  snapshot.SetGhost(NodeNamed(snapshot, "a"));
  EXPECT_EQ(Devices(snapshot, "p"), "none");
  snapshot.AddPod(p, NodeNamed(snapshot, "b"));
  snapshot.Revert();
  EXPECT_EQ(snapshot.Fingerprint(), before);
}

TEST(DynamicResourcesTest, ASharedClaimKeepsItsDevicesWhileAnotherPodUsesIt) {
  objects::ResourceClaim shared = On(Claim("shared", {Request("r")}), "a", {"gpu-0"}, "p");
  shared.reserved_for.push_back({"pods", "q", "q"});
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", {Device("gpu-0")}))
                                 .Add(Slice("b", {Device("gpu-0")}))
                                 .Add(shared)
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Asks("p", "p", "shared", "").On("a"))
                                 .Add(Asks("q", "q", "shared", "").On("a"))
                                 .Build();
  snapshot.RemovePod(PodNamed(snapshot, "p"));
  EXPECT_EQ(Why(snapshot, "p", "a"), "fits");
  EXPECT_EQ(Why(snapshot, "p", "b"), "DynamicResources: resourceclaim not available on the node");
  snapshot.RemovePod(PodNamed(snapshot, "q"));
  EXPECT_EQ(Devices(snapshot, "shared"), "none");
  EXPECT_EQ(Why(snapshot, "p", "b"), "fits");
  snapshot.AddPod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "b"));
  EXPECT_EQ(Why(snapshot, "q", "a"), "DynamicResources: resourceclaim not available on the node");
  EXPECT_EQ(Why(snapshot, "q", "b"), "fits");
}

TEST(DynamicResourcesTest, AMatchedAttributeMakesTheSearchGoBack) {
  objects::ResourceClaim pair = Own("p", "p", {Request("r", 2)});
  pair.constraints = {
      {.requests = {}, .match_attribute = "example.com/numa", .distinct_attribute = {}}};
  objects::ResourceClaim apart = Own("q", "q", {Request("r"), Request("s")});
  apart.constraints = {
      {.requests = {}, .match_attribute = {}, .distinct_attribute = "example.com/numa"}};
  ClusterSnapshot snapshot =
      Cluster()
          .Add(Class("gpu"))
          .Add(Slice("a", {Device("gpu-0", "0"), Device("gpu-1", "1"), Device("gpu-2", "1")}))
          .Add(Slice("b", {Device("gpu-0", "0"), Device("gpu-1", "1")}))
          .Add(pair)
          .Add(apart)
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Asks("p", "p", "p"))
          .Add(Asks("q", "q", "q"))
          .Build();
  EXPECT_EQ(Why(snapshot, "p", "b"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "p", "a"), "fits");
  EXPECT_EQ(Why(snapshot, "q", "b"), "fits");
  snapshot.AddPod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Devices(snapshot, "p"), "gpu-1 gpu-2 ");
  EXPECT_EQ(Why(snapshot, "q", "a"), "DynamicResources: cannot allocate all claims");
}

TEST(DynamicResourcesTest, TheFirstAlternativeThatServesIsTaken) {
  objects::DeviceRequest request;
  request.name = "r";
  request.first_available = true;
  request.asks = {Ask("two", 2), Ask("one", 1)};
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", {Device("gpu-0")}))
                                 .Add(Own("p", "p", {request}))
                                 .Add(Node("a"))
                                 .Add(Asks("p", "p", "p"))
                                 .Build();
  snapshot.AddPod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Devices(snapshot, "p"), "gpu-0 ");
}

TEST(DynamicResourcesTest, AllDevicesAreAllThatTheNodeReaches) {
  objects::DeviceRequest all = Request("r", 0);
  all.asks[0].mode = "All";
  objects::ResourceSlice incomplete = Slice("b", {Device("gpu-0")});
  incomplete.slice_count = 2;
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", {Device("gpu-0"), Device("gpu-1")}))
                                 .Add(incomplete)
                                 .Add(On(Own("t", "t", {Request("r")}), "a", {"gpu-1"}, "t"))
                                 .Add(Own("p", "p", {all}))
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Asks("t", "t", "t").On("a"))
                                 .Add(Asks("p", "p", "p"))
                                 .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "p", "b"),
            "DynamicResources: request r: asks for all devices, but resource pool "
            "gpu.example.com/b is currently being updated");
  EXPECT_EQ(Why(snapshot, "p", "c"), "DynamicResources: cannot allocate all claims");
  snapshot.RemovePod(PodNamed(snapshot, "t"));
  EXPECT_EQ(Why(snapshot, "p", "a"), "fits");
}

// Symptom: for a slice that is not evaluated, the detail said that each device serves by itself.
TEST(DynamicResourcesTest, TheDetailSaysThatAPoolIsNotUsed) {
  objects::ResourceSlice incomplete = Slice("a", {Device("gpu-0")});
  incomplete.slice_count = 2;
  objects::ResourceSlice odd = Slice("b", {Device("gpu-0")});
  odd.not_understood = "spec.fancy";
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Class("gpu"))
                                       .Add(incomplete)
                                       .Add(odd)
                                       .Add(Own("p", "p", {Request("r")}))
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Node("c"))
                                       .Add(Asks("p", "p", "p"))
                                       .Build();
  const auto detail = [&](const char* node) {
    return Explain(snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, "p")),
                   NodeNamed(snapshot, node))
        .detail;
  };
  EXPECT_EQ(detail("a"), "devices of an incomplete or invalid pool are not allocated");
  EXPECT_EQ(detail("b"), "");
  EXPECT_EQ(detail("c"), "the node reaches no devices");
}

TEST(DynamicResourcesTest, TaintsKeepClaimsAwayThatDoNotTolerateThem) {
  objects::Device sick = Device("gpu-0");
  sick.taints = {{"unhealthy", "yes", "NoExecute"}};
  objects::DeviceRequest tolerant = Request("r");
  tolerant.asks[0].tolerations = {{.key = "unhealthy", .op = "Exists", .value = {}, .effect = {}}};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Class("gpu"))
                                       .Add(Slice("a", {sick}))
                                       .Add(Own("p", "p", {Request("r")}))
                                       .Add(Own("q", "q", {tolerant}))
                                       .Add(Node("a"))
                                       .Add(Asks("p", "p", "p"))
                                       .Add(Asks("q", "q", "q"))
                                       .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
}

TEST(DynamicResourcesTest, ADeviceTaintRuleTaintsTheDevicesThatItSelects) {
  objects::DeviceTaintRule one;
  one.meta.name = "one";
  one.driver = kDriver;
  one.pool = "a";
  one.device = "gpu-0";
  one.taint = {"broken", "yes", "NoSchedule"};
  const auto build = [](const objects::DeviceTaintRule& rule) {
    objects::DeviceRequest tolerant = Request("r", 2);
    tolerant.asks[0].tolerations = {{.key = "broken", .op = "Exists", .value = {}, .effect = {}}};
    return Cluster()
        .Add(rule)
        .Add(Class("gpu"))
        .Add(Slice("a", {Device("gpu-0"), Device("gpu-1")}))
        .Add(Slice("b", {Device("gpu-0"), Device("gpu-1")}))
        .Add(Own("p", "p", {Request("r", 2)}))
        .Add(Own("q", "q", {tolerant}))
        .Add(Node("a"))
        .Add(Node("b"))
        .Add(Asks("p", "p", "p"))
        .Add(Asks("q", "q", "q"))
        .Build();
  };
  const std::string kNo = "DynamicResources: cannot allocate all claims";
  const ClusterSnapshot snapshot = build(one);
  EXPECT_EQ(Why(snapshot, "p", "a"), kNo);
  EXPECT_EQ(Why(snapshot, "p", "b"), "fits");
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
  objects::DeviceTaintRule all = one;
  all.driver = all.pool = all.device = {};
  EXPECT_EQ(Why(build(all), "p", "b"), kNo);
  all.driver = "other.example.com";
  EXPECT_EQ(Why(build(all), "p", "b"), "fits");
  objects::DeviceTaintRule unknown = one;
  unknown.not_understood = "spec.deviceSelector.rack";
  EXPECT_EQ(Why(build(unknown), "q", "a"),
            "DynamicResources: ResourceSlice a: DeviceTaintRule one: spec.deviceSelector.rack is "
            "not evaluated");
  EXPECT_EQ(Why(build(unknown), "q", "b"), "fits");
}

// Symptom: devices of running pods were given to others if a dump lacked their claims.
TEST(DynamicResourcesTest, NothingIsAllocatedWhereAPodsClaimIsMissingOrNotAllocated) {
  objects::ResourceSlice network = Slice("net", {Device("nic-0"), Device("nic-1")});
  network.node_name = {};
  network.all_nodes = true;
  for (const bool is_missing : {true, false}) {
    for (const bool has_network : {false, true}) {
      Cluster cluster;
      cluster.Add(Class("gpu"));
      cluster.Add(Slice("b", {Device("gpu-0"), Device("gpu-1")}));
      if (has_network) cluster.Add(network);
      if (!is_missing) cluster.Add(Own("running", "r", {Request("r")}));
      cluster.Add(Own("p", "p", {Request("r")}));
      cluster.Add(Node("b"));
      cluster.Add(Node("c"));
      cluster.Add(Asks("running", "r", "running").On("b"));
      cluster.Add(Asks("p", "p", "p"));
      if (!has_network) cluster.Add(Slice("c", {Device("gpu-0")}));
      const ClusterSnapshot snapshot = cluster.Build();
      EXPECT_EQ(Why(snapshot, "p", "b"), "DynamicResources: cannot allocate all claims");
      // The running pod may use a device of the network, too.
      EXPECT_EQ(Why(snapshot, "p", "c"),
                has_network ? "DynamicResources: cannot allocate all claims" : "fits");
      const FilterVerdict verdict = Explain(
          snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, "p")), NodeNamed(snapshot, "b"));
      EXPECT_THAT(verdict.detail, HasSubstr("devices that pods with missing or unallocated claims "
                                            "may use are not allocated"));
    }
  }
}

// Symptom: a search that takes 200,000 steps was made again for each pod and node.
TEST(DynamicResourcesTest, ALongSearchFailsAgainInTheSameWay) {
  std::vector<objects::Device> devices;
  std::vector<std::string> names(26);
  for (size_t d = 0; d < names.size(); ++d) {
    names[d] = "gpu-" + std::to_string(d);
    devices.push_back(Device(names[d], d % 2 == 0 ? "0" : "1"));
  }
  // 13 devices of one numa node serve the claim, 12 do not.
  const std::vector<objects::Device> enough = devices;
  devices.resize(24);
  objects::ResourceClaim big = Own("p", "p", {Request("r", 8), Request("s", 5)});
  big.constraints = {
      {.requests = {}, .match_attribute = "example.com/numa", .distinct_attribute = {}}};
  objects::ResourceClaim again = big;
  again.meta.name = "q";
  again.meta.owners = Own("q", "q", {}).meta.owners;
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", devices))
                                 .Add(Slice("b", devices))
                                 .Add(Slice("c", enough))
                                 .Add(On(Own("t", "t", {Request("r")}), "b", {"gpu-1"}, "t"))
                                 .Add(big)
                                 .Add(again)
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Node("c"))
                                 .Add(Asks("t", "t", "t").On("b"))
                                 .Add(Asks("p", "p", "p"))
                                 .Add(Asks("q", "q", "q"))
                                 .Build();
  std::map<std::string, std::string> details;  // By node: of the first search.
  for (int round = 0; round < 2; ++round) {
    for (const char* pod : {"p", "q"}) {
      for (const char* node : {"a", "b"}) {
        const FilterVerdict verdict =
            Explain(snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, pod)),
                    NodeNamed(snapshot, node));
        ASSERT_FALSE(verdict.fits);
        EXPECT_EQ(verdict.reasons.front(), "cannot allocate all claims");
        std::string& detail = details[node];
        if (detail.empty()) detail = verdict.detail;
        EXPECT_EQ(verdict.detail, detail) << pod << " on " << node;
      }
      EXPECT_EQ(Why(snapshot, pod, "c"), "fits");
    }
  }
}

TEST(DynamicResourcesTest, AdminAccessSharesADevice) {
  objects::DeviceRequest admin = Request("r");
  admin.asks[0].admin_access = true;
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", {Device("gpu-0")}))
                                 .Add(Own("p", "p", {admin}))
                                 .Add(Own("q", "q", {Request("r")}))
                                 .Add(Node("a"))
                                 .Add(Asks("p", "p", "p"))
                                 .Add(Asks("q", "q", "q"))
                                 .Build();
  snapshot.AddPod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
  snapshot.AddPod(PodNamed(snapshot, "q"), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Devices(snapshot, "q"), "gpu-0 ");
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
}

TEST(DynamicResourcesTest, PartsOfADeviceShareItsCounters) {
  const auto part = [](std::string_view name, std::string_view memory) {
    objects::Device device = Device(name);
    device.consumes = {{"card", {{"memory", memory}}}};
    return device;
  };
  objects::ResourceSlice devices =
      Slice("a", {part("half-0", "20Gi"), part("half-1", "20Gi"), part("whole", "40Gi")});
  objects::ResourceSlice counters = Slice("a", {});
  counters.meta.name = "counters";
  counters.shared_counters = {{"card", {{"memory", "40Gi"}}}};
  devices.slice_count = counters.slice_count = 2;
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(devices)
                                 .Add(counters)
                                 .Add(Own("p", "p", {Request("r", 2)}))
                                 .Add(Own("q", "q", {Request("r", 3)}))
                                 .Add(Own("s", "s", {Request("r")}))
                                 .Add(Node("a"))
                                 .Add(Asks("p", "p", "p"))
                                 .Add(Asks("q", "q", "q"))
                                 .Add(Asks("s", "s", "s"))
                                 .Build();
  EXPECT_EQ(Why(snapshot, "q", "a"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "p", "a"), "fits");
  snapshot.AddPod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Devices(snapshot, "p"), "half-0 half-1 ");
  EXPECT_EQ(Why(snapshot, "s", "a"), "DynamicResources: cannot allocate all claims");
}

TEST(DynamicResourcesTest, NodesReachWhatTheSliceOrTheDeviceSays) {
  objects::ResourceSlice everywhere = Slice("everywhere", {Device("d")});
  everywhere.node_name = {};
  everywhere.all_nodes = true;
  objects::ResourceSlice mixed = Slice("mixed", {Device("x"), Device("y")});
  mixed.node_name = {};
  mixed.per_device_nodes = true;
  mixed.devices[0].node_name = "a";
  mixed.devices[1].node_selector.nil = false;
  mixed.devices[1].node_selector.terms = {
      {.match_expressions = {{"rack", "In", {"1"}}}, .match_fields = {}}};
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(everywhere)
                                 .Add(mixed)
                                 .Add(Own("p", "p", {Request("r", 2)}))
                                 .Add(Claim("one", {Request("r")}))
                                 .Add(Node("a"))
                                 .Add(Node("b").Label("rack", "1"))
                                 .Add(Node("c"))
                                 .Add(Asks("p", "p", "p"))
                                 .Add(Asks("q", "q", "one", ""))
                                 .Add(Asks("s", "s", "one", ""))
                                 .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"), "fits");
  EXPECT_EQ(Why(snapshot, "p", "b"), "fits");
  EXPECT_EQ(Why(snapshot, "p", "c"), "DynamicResources: cannot allocate all claims");
  // The device of this claim is everywhere, so that pods on all nodes may share it.
  snapshot.AddPod(PodNamed(snapshot, "q"), NodeNamed(snapshot, "c"));
  EXPECT_EQ(Why(snapshot, "s", "a"), "fits");
  EXPECT_EQ(Why(snapshot, "p", "a"), "DynamicResources: cannot allocate all claims");
}

TEST(DynamicResourcesTest, OlderGenerationsOfAPoolDoNotCount) {
  objects::ResourceSlice old = Slice("a", {Device("gpu-0"), Device("gpu-1")});
  old.meta.name = "old";
  objects::ResourceSlice now = Slice("a", {Device("gpu-2")});
  now.generation = 2;
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Class("gpu"))
                                       .Add(old)
                                       .Add(now)
                                       .Add(Own("p", "p", {Request("r", 2)}))
                                       .Add(Own("q", "q", {Request("r")}))
                                       .Add(Node("a"))
                                       .Add(Asks("p", "p", "p"))
                                       .Add(Asks("q", "q", "q"))
                                       .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
}

TEST(DynamicResourcesTest, WhatIsNotUnderstoodKeepsTheNodeAndNamesTheObject) {
  objects::ResourceClaim odd = Own("odd", "odd", {Request("r")});
  odd.not_understood = "spec.devices.requests[].exactly.derivedAttributes";
  objects::ResourceClaim both = Own("both", "both", {Request("r")});
  both.constraints = {{{}, "example.com/numa", "example.com/numa"}};
  objects::ResourceSlice slice = Slice("b", {Device("gpu-0")});
  slice.not_understood = "spec.devices[].compatibilityGroups";
  objects::ResourceClaim other_class = Own("other", "other", {Request("r")});
  other_class.requests[0].asks[0].class_name = "nobody";
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Class("gpu"))
          .Add(Slice("a", {Device("gpu-0")}))
          .Add(slice)
          .Add(odd)
          .Add(both)
          .Add(other_class)
          .Add(Own("p", "p", {Request("r")}))
          .Add(Own("stolen", "another", {Request("r")}))
          .Add(On(Own("lost", "lost", {Request("r")}), "a", {"gpu-0"}, "another"))
          .Add(Node("a"))
          .Add(Node("b"))
          .Add(Asks("odd", "odd", "odd"))
          .Add(Asks("both", "both", "both"))
          .Add(Asks("other", "other", "other"))
          .Add(Asks("stolen", "stolen", "stolen"))
          .Add(Asks("lost", "lost", "lost").On("a"))
          .Add(Asks("p", "p", "p"))
          .Build();
  EXPECT_THAT(Why(snapshot, "odd", "a"),
              HasSubstr("spec.devices.requests[].exactly.derivedAttributes is not evaluated"));
  EXPECT_THAT(Why(snapshot, "other", "a"), HasSubstr("DeviceClass nobody is not in the input"));
  EXPECT_THAT(Why(snapshot, "stolen", "a"), HasSubstr("was not created for the pod"));
  EXPECT_THAT(Why(snapshot, "lost", "a"), HasSubstr("is not reserved for the pod"));
  EXPECT_THAT(Why(snapshot, "both", "a"), HasSubstr("a constraint of an unknown kind"));
  EXPECT_EQ(Why(snapshot, "p", "b"),
            "DynamicResources: ResourceSlice b: spec.devices[].compatibilityGroups is not "
            "evaluated");
}

TEST(DynamicResourcesTest, AClaimTakesNoMoreUsersThanTheApiAllows) {
  objects::ResourceClaim shared = On(Claim("shared", {Request("r")}), "a", {"gpu-0"}, "x");
  std::vector<std::string> uids;
  for (size_t i = 1; i < kUsersOfClaimMax; ++i) uids.push_back("u" + std::to_string(i));
  for (const std::string& uid : uids) shared.reserved_for.push_back({"pods", uid, uid});
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Class("gpu"))
                                       .Add(Slice("a", {Device("gpu-0")}))
                                       .Add(shared)
                                       .Add(Node("a"))
                                       .Add(Asks("p", "p", "shared", ""))
                                       .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"), "DynamicResources: resourceclaim in use");
}

// --- Consumable capacity

objects::Device SharedDevice(std::string_view name, std::string_view memory) {
  objects::Device device = Device(name);
  device.allow_multiple = true;
  objects::DeviceCapacity& capacity = device.capacity.emplace_back();
  capacity.name = "memory";
  capacity.value = memory;
  return device;
}

objects::DeviceRequest Takes(std::string_view memory) {
  objects::DeviceRequest request = Request("r");
  request.asks[0].capacity = {{"memory", memory}};
  return request;
}

TEST(DynamicResourcesTest, PodsShareADeviceUntilItsCapacityIsTaken) {
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(Slice("a", {SharedDevice("gpu-0", "10Gi")}))
                                 .Add(Own("p", "p", {Takes("6Gi")}))
                                 .Add(Own("q", "q", {Takes("4Gi")}))
                                 .Add(Own("r", "r", {Takes("1")}))
                                 .Add(Own("all", "all", {Request("r")}))
                                 .Add(Node("a"))
                                 .Add(Asks("p", "p", "p"))
                                 .Add(Asks("q", "q", "q"))
                                 .Add(Asks("r", "r", "r"))
                                 .Add(Asks("all", "all", "all"))
                                 .Build();
  const PodId p = PodNamed(snapshot, "p");
  const PodId q = PodNamed(snapshot, "q");
  const NodeId a = NodeNamed(snapshot, "a");
  EXPECT_EQ(Why(snapshot, "all", "a"), "fits");
  snapshot.AddPod(p, a);
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
  // Without an amount, a request takes all.
  EXPECT_EQ(Why(snapshot, "all", "a"), "DynamicResources: cannot allocate all claims");
  snapshot.Fork();
  snapshot.AddPod(q, a);
  EXPECT_EQ(Devices(snapshot, "p"), "gpu-0 ");
  EXPECT_EQ(Devices(snapshot, "q"), "gpu-0 ");
  EXPECT_EQ(Why(snapshot, "r", "a"), "DynamicResources: cannot allocate all claims");
  EXPECT_TRUE(snapshot.devices().Check().ok());
  snapshot.RemovePod(p);
  EXPECT_EQ(Why(snapshot, "r", "a"), "fits");
  EXPECT_TRUE(snapshot.devices().Check().ok());
  snapshot.Revert();
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
  EXPECT_EQ(Devices(snapshot, "q"), "none");
  EXPECT_TRUE(snapshot.devices().Check().ok());
  snapshot.RemovePod(p);
  EXPECT_EQ(Why(snapshot, "all", "a"), "fits");
}

TEST(DynamicResourcesTest, AllocatedSharesCountAndSoDoesAClaimThatHoldsTheDeviceAlone) {
  const auto taken = [](std::string_view share, std::string_view memory) {
    objects::ResourceClaim claim = On(Claim("held", {Request("r")}), "a", {"gpu-0"}, "x");
    claim.devices[0].share_id = share;
    if (!memory.empty()) claim.devices[0].consumed = {{"memory", memory}};
    const ClusterSnapshot snapshot = Cluster()
                                         .Add(Class("gpu"))
                                         .Add(Slice("a", {SharedDevice("gpu-0", "10Gi")}))
                                         .Add(claim)
                                         .Add(Own("p", "p", {Takes("5Gi")}))
                                         .Add(Node("a"))
                                         .Add(Asks("p", "p", "p"))
                                         .Build();
    const std::string why = Why(snapshot, "p", "a");
    const FilterVerdict verdict = Explain(
        snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, "p")), NodeNamed(snapshot, "a"));
    return why == "fits" ? why : verdict.detail;
  };
  EXPECT_EQ(taken("s", "5Gi"), "fits");
  EXPECT_EQ(taken("s", ""), "fits");
  EXPECT_EQ(taken("s", "6Gi"), "device gpu-0 of pool a has not the capacity that request r takes");
  EXPECT_EQ(taken("", ""), "device gpu-0 of pool a is in use");
  // What is not known is all.
  EXPECT_EQ(taken("s", "much"), "device gpu-0 of pool a is in use");
}

TEST(DynamicResourcesTest, ARequestForACapacityThatTheDeviceLacksFindsNone) {
  objects::Device plain = Device("gpu-0");
  plain.capacity.emplace_back().name = "slots";
  plain.capacity.back().value = "3";
  objects::DeviceRequest slots = Request("r");
  slots.asks[0].capacity = {{"slots", "4"}};
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Class("gpu"))
                                       .Add(Slice("a", {plain}))
                                       .Add(Own("p", "p", {Takes("1")}))
                                       .Add(Own("q", "q", {slots}))
                                       .Add(Node("a"))
                                       .Add(Asks("p", "p", "p"))
                                       .Add(Asks("q", "q", "q"))
                                       .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"), "DynamicResources: cannot allocate all claims");
  EXPECT_EQ(Why(snapshot, "q", "a"), "DynamicResources: cannot allocate all claims");
}

// Symptom: a step of 0 crashed where the reason was looked for.
TEST(DynamicResourcesTest, APolicyThatIsNotUnderstoodRoundsNoAmount) {
  for (const std::string_view step : {"0", "-1", "much"}) {
    objects::Device device = SharedDevice("gpu-0", "10Gi");
    device.capacity[0].has_range = true;
    device.capacity[0].range_min = "1Gi";
    device.capacity[0].range_step = step;
    const ClusterSnapshot snapshot = Cluster()
                                         .Add(Class("gpu"))
                                         .Add(Slice("a", {device}))
                                         .Add(Own("p", "p", {Takes("5Gi")}))
                                         .Add(Node("a"))
                                         .Add(Asks("p", "p", "p"))
                                         .Build();
    const FilterVerdict verdict = Explain(
        snapshot, snapshot.catalog().shape_of(PodNamed(snapshot, "p")), NodeNamed(snapshot, "a"));
    EXPECT_FALSE(verdict.fits) << step;
    EXPECT_THAT(Why(snapshot, "p", "a"), ::testing::HasSubstr("validRange.step")) << step;
  }
}

TEST(DeviceCapacityInfoTest, ARequestIsRoundedAsThePolicyDemands) {
  const auto milli = [](int64_t amount) { return absl::int128(amount) * 1'000'000; };
  const auto taken = [&](const DeviceCapacityInfo& capacity, int64_t asked) {
    const auto amount = capacity.Taken(milli(asked));
    return amount ? static_cast<int64_t>(*amount / 1'000'000) : -1;
  };
  DeviceCapacityInfo plain;
  plain.nanos = milli(8000);
  EXPECT_EQ(plain.Taken(std::nullopt), milli(8000));
  EXPECT_EQ(taken(plain, 2500), 2500);

  DeviceCapacityInfo values = plain;
  values.valid_values = {milli(1000), milli(2000)};
  EXPECT_EQ(taken(values, 1001), 2000);
  EXPECT_EQ(taken(values, 2001), -1);
  EXPECT_EQ(values.Taken(std::nullopt), std::nullopt);
  values.standard = milli(1000);
  EXPECT_EQ(values.Taken(std::nullopt), milli(1000));

  DeviceCapacityInfo range = plain;
  range.range = {.min = milli(500), .max = milli(3000), .step = milli(500)};
  EXPECT_EQ(taken(range, 100), 500);
  EXPECT_EQ(taken(range, 1200), 2000);  // Whole units.
  EXPECT_EQ(taken(range, 3001), -1);
  range.range->step.reset();
  EXPECT_EQ(taken(range, 1234), 1234);
  range.range = {.min = milli(1000), .max = std::nullopt, .step = milli(2000)};
  EXPECT_EQ(range.Taken(absl::int128(1'000'000'001)), milli(3000));
  EXPECT_EQ(range.Taken(std::nullopt), std::nullopt);  // 8 is on no step.
}

// --- Binding

TEST(DynamicResourcesTest, ADeviceThatBindsToItsNodeHoldsTheClaimThere) {
  objects::Device device = Device("net");
  device.binds_to_node = true;
  objects::ResourceSlice slice = Slice("", {device});
  slice.meta.name = slice.pool = "fabric";
  slice.all_nodes = true;
  ClusterSnapshot snapshot = Cluster()
                                 .Add(Class("gpu"))
                                 .Add(slice)
                                 .Add(Claim("shared", {Request("r")}))
                                 .Add(Node("a"))
                                 .Add(Node("b"))
                                 .Add(Asks("p", "p", "shared", ""))
                                 .Add(Asks("q", "q", "shared", ""))
                                 .Build();
  EXPECT_EQ(Why(snapshot, "q", "b"), "fits");
  snapshot.AddPod(PodNamed(snapshot, "p"), NodeNamed(snapshot, "a"));
  EXPECT_EQ(Why(snapshot, "q", "a"), "fits");
  EXPECT_EQ(Why(snapshot, "q", "b"), "DynamicResources: resourceclaim not available on the node");
}

TEST(DynamicResourcesTest, NoClaimIsAllocatedToADeviceThatWaitsForItsDriver) {
  objects::Device waits = Device("gpu-0");
  waits.binding_conditions = {"attached"};
  // A pool of devices without binding conditions comes first, whatever its name is.
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Class("gpu"))
                                       .Add(Slice("a", {waits}))
                                       .Add(Slice("b", {waits}))
                                       .Add([] {
                                         objects::ResourceSlice slice = Slice("b", {Device("z")});
                                         slice.meta.name = slice.pool = "z";
                                         return slice;
                                       }())
                                       .Add(Own("p", "p", {Request("r")}))
                                       .Add(Node("a"))
                                       .Add(Node("b"))
                                       .Add(Asks("p", "p", "p"))
                                       .Build();
  EXPECT_EQ(Why(snapshot, "p", "a"),
            "DynamicResources: claim p: device gpu-0 of pool a has binding conditions, which only "
            "its driver can fulfil; not understood");
  EXPECT_EQ(Why(snapshot, "p", "b"), "fits");
}

TEST(DynamicResourcesTest, AnAllocatedClaimIsBoundIfItsConditionsHold) {
  using DeviceStatus = objects::ResourceClaim::DeviceStatus;
  const auto why = [](std::vector<DeviceStatus::Condition> conditions) {
    objects::ResourceClaim claim = On(Claim("c", {Request("r")}), "a", {"gpu-0"}, "x");
    claim.devices[0].binding_conditions = {"attached"};
    claim.devices[0].binding_failure_conditions = {"failed"};
    DeviceStatus status;
    status.driver = kDriver;
    status.pool = "a";
    status.name = "gpu-0";
    status.conditions = std::move(conditions);
    claim.statuses = {status};
    const ClusterSnapshot snapshot = Cluster()
                                         .Add(Class("gpu"))
                                         .Add(Slice("a", {Device("gpu-0")}))
                                         .Add(claim)
                                         .Add(Node("a"))
                                         .Add(Asks("p", "p", "c", ""))
                                         .Build();
    return Why(snapshot, "p", "a");
  };
  EXPECT_EQ(why({{"attached", "True"}, {"failed", "False"}}), "fits");
  EXPECT_THAT(why({{"attached", "False"}}),
              HasSubstr("device gpu-0 of pool a: binding condition attached is not True"));
  EXPECT_THAT(why({}), HasSubstr("binding condition attached is not True"));
  EXPECT_THAT(why({{"attached", "True"}, {"failed", "True"}}),
              HasSubstr("device gpu-0 of pool a: condition failed is True"));
}

// --- Rules of versions

TEST(DynamicResourcesTest, From137OnEachDeviceCountsForADistinctAttribute) {
  const auto why = [](std::string_view kubelet) {
    objects::ResourceClaim claim = Own("p", "p", {Request("r", 3)});
    claim.constraints.emplace_back().distinct_attribute = "example.com/numa";
    const ClusterSnapshot snapshot =
        Cluster()
            .Add(Class("gpu"))
            .Add(Slice("a", {Device("gpu-0", "0"), Device("gpu-1", "1"), Device("gpu-2", "0")}))
            .Add(claim)
            .Add(Node("a").With([&](objects::Node& node) { node.kubelet_version = kubelet; }))
            .Add(Asks("p", "p", "p"))
            .Build();
    return Why(snapshot, "p", "a");
  };
  EXPECT_EQ(why("v1.36.0"), "fits");
  EXPECT_EQ(why("v1.37.0"), "DynamicResources: cannot allocate all claims");
}

}  // namespace
}  // namespace ebb::dynamic_resources_test
