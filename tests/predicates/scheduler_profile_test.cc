// What a profile of the scheduler's configuration changes for its pods.  The oracle (go/oracle)
// asks the real scheduler the same.  EBB_TEST_SEED=<n> sets the first seed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "predicates/filters.h"
#include "snapshot/builder.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "tests/support/filter_twin.h"
#include "tests/support/random_cluster.h"
#include "tests/support/sanitized.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::scheduler_profile_test {
namespace {

using test::Node;
using test::Pod;
using ::testing::HasSubstr;

std::shared_ptr<const SchedulerConfig> ConfigOf(std::string_view profiles) {
  auto config = ParseSchedulerConfig(
      absl::StrCat("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
                   std::string(profiles)));
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

// --- Small clusters: the verdict on a pod of one profile, by filter ---------------------------

class SchedulerProfileTest : public ::testing::Test {
 protected:
  // Why pod "p", which is on no node, may not run on node "n"; "fits".
  std::string Verdict(const Pod& pod, std::string_view profiles) {
    SnapshotBuilder builder;
    builder.SetScheduler(ConfigOf(profiles));
    for (const Node& node : nodes_) EXPECT_TRUE(builder.AddNode(node.raw).ok());
    EXPECT_TRUE(builder.AddPod(pod.raw).ok());
    for (const Pod& other : others_) EXPECT_TRUE(builder.AddPod(other.raw).ok());
    for (const objects::StorageObject& each : services_) {
      EXPECT_TRUE(builder.AddStorageObject(each).ok());
    }
    for (const objects::Controller& each : controllers_) {
      EXPECT_TRUE(builder.AddController(each).ok());
    }
    if (keeps_unknown_) builder.KeepWhereNamespacesAreUnknown();
    const ClusterSnapshot snapshot = std::move(builder).Build().value();
    const Catalog& catalog = snapshot.catalog();
    const PodShape& shape = catalog.shape_of(catalog.FindPod("default", "p").value());
    const NodeId node = catalog.FindNode("n").value();
    const FilterVerdict verdict = Explain(snapshot, shape, node);
    EXPECT_EQ(verdict.fits, PreFilter(snapshot, shape).fits && StaticFits(snapshot, shape, node) &&
                                DynamicFits(snapshot, shape, node));
    ignored_ = shape.ignored;
    if (verdict.fits) return "fits";
    return absl::StrCat(std::string(FilterName(verdict.filter)), ": ",
                        verdict.reasons.empty() ? "" : verdict.reasons[0]);
  }
  static std::string Off(std::string_view filter) {
    return absl::StrCat(
        "profiles: [{plugins: {multiPoint: {disabled: [{name: ", std::string(filter), "}]}}}]\n");
  }

  std::vector<Node> nodes_ = {Node("n").Label("zone", "a").Label("kubernetes.io/hostname", "n"),
                              Node("m").Label("zone", "b").Label("kubernetes.io/hostname", "m")};
  std::vector<Pod> others_;
  std::vector<objects::StorageObject> services_;
  std::vector<objects::Controller> controllers_;
  bool keeps_unknown_ = false;
  std::string ignored_;
};

constexpr std::string_view kNone = "profiles: []\n";

TEST_F(SchedulerProfileTest, AFilterThatIsOffRefusesNoNode) {
  nodes_[0].raw.unschedulable = true;
  EXPECT_THAT(Verdict(Pod("p"), kNone), HasSubstr("NodeUnschedulable: "));
  EXPECT_EQ(Verdict(Pod("p"), Off("NodeUnschedulable")), "fits");
  nodes_[0].raw.unschedulable = false;
  nodes_[0].raw.taints.push_back({.key = "k", .value = "v", .effect = "NoSchedule"});
  EXPECT_THAT(Verdict(Pod("p"), kNone), HasSubstr("TaintToleration: "));
  EXPECT_EQ(Verdict(Pod("p"), Off("TaintToleration")), "fits");
  nodes_[0].raw.taints.clear();
  Pod selective("p");
  selective.raw.has_node_selector = true;
  selective.raw.node_selector = {{"zone", "b"}};
  EXPECT_THAT(Verdict(selective, kNone), HasSubstr("NodeAffinity: "));
  EXPECT_EQ(Verdict(selective, Off("NodeAffinity")), "fits");
  EXPECT_THAT(Verdict(selective,
                      "profiles: [{schedulerName: other, plugins: {filter: {disabled: "
                      "[{name: NodeAffinity}]}}}]\n"),
              HasSubstr("NodeAffinity: "))
      << "a profile of other pods";
}

TEST_F(SchedulerProfileTest, PortsAndAntiAffinityThatAreOffStillCountForOtherSchedulers) {
  Pod pod("p");
  pod.raw.containers[0].ports.push_back({.host_ip = {}, .host_port = 80, .protocol = {}});
  pod.raw.meta.labels = {{"app", "x"}};
  objects::PodAffinityTerm term;
  term.label_selector.nil = false;
  term.label_selector.match_labels = {{"app", "x"}};
  term.topology_key = "zone";
  Pod other = Pod("q").On("n");
  other.raw.containers[0].ports = pod.raw.containers[0].ports;
  other.raw.meta.labels = pod.raw.meta.labels;
  other.raw.anti_affinity.push_back(term);
  others_ = {other};
  EXPECT_THAT(Verdict(pod, kNone), HasSubstr("NodePorts: "));
  EXPECT_THAT(Verdict(pod, Off("NodePorts")), HasSubstr("InterPodAffinity: "));
  EXPECT_EQ(Verdict(pod,
                    "profiles: [{plugins: {filter: {disabled: [{name: NodePorts}, {name: "
                    "InterPodAffinity}]}}}]\n"),
            "fits");
  // The placed pod's scheduler evaluates nothing; that of the new pod does.
  others_[0].raw.scheduler_name = "lax";
  EXPECT_THAT(Verdict(pod,
                      "profiles: [{schedulerName: lax, plugins: {filter: {disabled: [{name: "
                      "NodePorts}, {name: InterPodAffinity}]}}}]\n"),
              HasSubstr("NodePorts: "));
}

TEST_F(SchedulerProfileTest, AddedAffinityCountsBesideThePodsOwn) {
  constexpr std::string_view kAdded =
      "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: "
      "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
      "[{key: zone, operator: In, values: [b]}]}]}}}}]}]\n";
  EXPECT_EQ(Verdict(Pod("p"), kAdded),
            "NodeAffinity: node(s) didn't match scheduler-enforced node affinity");
  nodes_[0].raw.meta.labels[0].value = "b";
  EXPECT_EQ(Verdict(Pod("p"), kAdded), "fits");
}

TEST_F(SchedulerProfileTest, IgnoredResourcesNeedNoRoom) {
  Pod pod("p");
  pod.raw.containers[0].requests.push_back({.name = "example.com/gpu", .amount = 1});
  EXPECT_THAT(Verdict(pod, kNone), HasSubstr("NodeResourcesFit: "));
  EXPECT_EQ(Verdict(pod,
                    "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: "
                    "{ignoredResourceGroups: [example.com]}}]}]\n"),
            "fits");
}

// The kubelet would refuse such a pod where it does not belong.
TEST_F(SchedulerProfileTest, PodsOfNodesStayIfOnlyTheKubeletWouldCheckTheirNode) {
  Pod pod = Pod("p").On("m");
  EXPECT_EQ(Verdict(pod, Off("NodeAffinity")), "fits");
  EXPECT_EQ(Verdict(pod, Off("NodePorts")), "fits");
  Pod chooses = pod;
  chooses.raw.has_node_selector = true;
  chooses.raw.node_selector = {{"zone", "b"}};
  EXPECT_THAT(Verdict(chooses, Off("NodeAffinity")),
              HasSubstr("NodeAffinity is off, and the pod chooses nodes"));
  pod.raw.containers[0].ports.push_back({.host_ip = {}, .host_port = 80, .protocol = {}});
  EXPECT_THAT(Verdict(pod, Off("NodePorts")),
              HasSubstr("NodePorts is off, and the pod has host ports"));
}

TEST_F(SchedulerProfileTest, VolumesWithoutVolumeBindingKeepThePod) {
  Pod pod = Pod("p").On("m");
  EXPECT_EQ(Verdict(pod, Off("VolumeBinding")), "fits");
  objects::Volume volume;
  volume.name = "v";
  volume.source = "persistentVolumeClaim";
  volume.claim_name = "missing";
  pod.raw.volumes.push_back(volume);
  EXPECT_THAT(Verdict(pod, kNone), HasSubstr("VolumeRestrictions: "));
  EXPECT_EQ(
      Verdict(pod,
              "profiles: [{plugins: {multiPoint: {disabled: [{name: VolumeRestrictions}, "
              "{name: VolumeBinding}, {name: VolumeZone}]}}}]\n"),
      "NotUnderstood: scheduler configuration: profiles[0].plugins: VolumeBinding is off, and "
      "the pod has volumes");
}

TEST_F(SchedulerProfileTest, AProfileThatIsNotUnderstoodKeepsThePodsOfNodes) {
  constexpr std::string_view kUnknown =
      "profiles: [{plugins: {filter: {enabled: [{name: Mine}]}}}]\n";
  EXPECT_EQ(Verdict(Pod("p").On("m"), kUnknown),
            "NotUnderstood: scheduler configuration: profiles[0].plugins.filter.enabled[0].name: "
            "Mine is not a plugin that ebb knows");
  // Room is kept for a pod that waits, as if it was placed by the default configuration.
  EXPECT_EQ(Verdict(Pod("p"), kUnknown), "fits");
  EXPECT_THAT(ignored_, HasSubstr("Mine is not a plugin"));
}

constexpr std::string_view kSpreadByZone =
    "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, "
    "defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
    "DoNotSchedule}]}}]}]\n";

TEST_F(SchedulerProfileTest, PodsOfAServiceAreSpreadByDefault) {
  Pod pod("p");
  pod.raw.meta.labels = {{"app", "x"}};
  others_ = {Pod("q").On("n")};
  others_[0].raw.meta.labels = pod.raw.meta.labels;
  EXPECT_EQ(Verdict(pod, kSpreadByZone), "fits") << "no selector: no constraint";
  objects::Service service;
  service.meta.name = "s";
  service.meta.namespace_name = "default";
  service.selector = {{"app", "x"}};
  services_.emplace_back(service);
  EXPECT_THAT(Verdict(pod, kSpreadByZone), HasSubstr("PodTopologySpread: "));
  pod.raw.spread.push_back({.max_skew = 1,
                            .topology_key = "zone",
                            .when_unsatisfiable = "ScheduleAnyway",
                            .label_selector = {},
                            .match_label_keys = {},
                            .min_domains = {},
                            .node_affinity_policy = {},
                            .node_taints_policy = {}});
  EXPECT_EQ(Verdict(pod, kSpreadByZone), "fits")
      << "the pod's own constraints replace the defaults";
}

TEST_F(SchedulerProfileTest, WhatTheInputLacksKeepsThePod) {
  Pod pod = Pod("p").On("m");
  pod.raw.meta.labels = {{"app", "x"}};
  pod.raw.meta.owners = {{.api_version = "apps/v1",
                          .kind = "ReplicaSet",
                          .name = "rs",
                          .uid = "u",
                          .controller = true}};
  EXPECT_EQ(Verdict(pod, kSpreadByZone), "fits");
  keeps_unknown_ = true;
  EXPECT_THAT(Verdict(pod, kSpreadByZone),
              HasSubstr("the scheduler deduces a selector from ReplicaSet default/rs, which the "
                        "input lacks"));
  objects::Controller rs;
  rs.meta.name = "rs";
  rs.meta.namespace_name = "default";
  rs.selector.nil = false;
  rs.selector.match_labels = {{"app", "x"}};
  controllers_ = {rs};
  EXPECT_EQ(Verdict(pod, kSpreadByZone), "fits");
  for (const std::string_view name : {"q", "r"}) {
    Pod& other = others_.emplace_back(Pod(name).On("n"));
    other.raw.meta.labels = pod.raw.meta.labels;
    other.raw.meta.owners = pod.raw.meta.owners;
  }
  EXPECT_THAT(Verdict(pod, kSpreadByZone), HasSubstr("PodTopologySpread: "));
}

// --- Random clusters: default constraints against pods that have them ---------------------------

// Gives the pods of `raw` the constraints that the scheduler would deduce.  Shares no code with
// ebb's way to deduce them.
void SpreadByHand(const std::vector<objects::TopologySpreadConstraint>& constraints,
                  const std::vector<objects::Service>& services,
                  const std::vector<objects::Controller>& controllers, test::RawCluster& raw) {
  const auto value_of = [](const objects::Pod& pod, std::string_view key) -> std::string_view {
    std::string_view found;
    for (const auto& [each, value] : pod.meta.labels) {
      if (each == key) found = value;
    }
    return found;
  };
  const auto has = [](const objects::Pod& pod, std::string_view key) {
    return std::ranges::any_of(pod.meta.labels, [&](const auto& each) { return each.key == key; });
  };
  for (objects::Pod& pod : raw.pods) {
    if (!pod.spread.empty() || pod.scheduler_name == "nobody") continue;
    std::map<std::string_view, std::string_view> labels;
    for (const objects::Service& service : services) {
      if (service.meta.namespace_name != pod.meta.namespace_name) continue;
      const bool selects = std::ranges::all_of(service.selector, [&](const auto& each) {
        return has(pod, each.key) && value_of(pod, each.key) == each.value;
      });
      if (!selects) continue;
      for (const auto& [key, value] : service.selector) labels[key] = value;
    }
    objects::LabelSelector selector;
    selector.nil = false;
    for (const auto& [key, value] : labels) selector.match_labels.push_back({key, value});
    for (const objects::Controller& each : controllers) {
      if (pod.meta.owners.empty() || pod.meta.owners[0].name != each.meta.name ||
          each.meta.namespace_name != pod.meta.namespace_name) {
        continue;
      }
      for (const auto& [key, value] : each.selector.match_labels) {
        selector.match_expressions.push_back({.key = key, .op = "In", .values = {value}});
      }
      for (const auto& more : each.selector.match_expressions) {
        selector.match_expressions.push_back(more);
      }
    }
    if (selector.match_labels.empty() && selector.match_expressions.empty()) continue;
    pod.spread = constraints;
    for (objects::TopologySpreadConstraint& each : pod.spread) each.label_selector = selector;
  }
}

TEST(SchedulerProfileRandomTest, DefaultConstraintsAreAsIfPodsHadThemThemselves) {
  const char* const first = std::getenv("EBB_TEST_SEED");
  const uint64_t start = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  const auto config = ConfigOf(
      "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, "
      "defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, "
      "whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: kubernetes.io/hostname, "
      "whenUnsatisfiable: DoNotSchedule, minDomains: 2, nodeTaintsPolicy: Honor}]}}]}]\n");
  std::vector<objects::TopologySpreadConstraint> constraints(2);
  constraints[0].max_skew = 1;
  constraints[0].topology_key = "topology.kubernetes.io/zone";
  constraints[1].max_skew = 2;
  constraints[1].topology_key = "kubernetes.io/hostname";
  constraints[1].min_domains = 2;
  constraints[1].node_taints_policy = "Honor";
  for (auto& each : constraints) each.when_unsatisfiable = "DoNotSchedule";
  uint64_t verdicts = 0;
  uint64_t refused = 0;
  uint64_t deduced = 0;
  constexpr uint64_t kClusters = test::Rounds(600);
  for (uint64_t c = 0; c < kClusters; ++c) {
    SCOPED_TRACE(absl::StrCat("EBB_TEST_SEED=", start + c));
    std::mt19937_64 random(start + c);
    std::vector<uint8_t> bytes(3000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    test::Choices choices(bytes);
    test::RawCluster raw = test::RandomCluster(choices);
    std::vector<objects::Service> services;
    std::vector<objects::Controller> controllers;
    for (size_t p = 0; p < raw.pods.size(); ++p) {
      objects::Pod& pod = raw.pods[p];
      if (random() % 4 == 0) pod.scheduler_name = "nobody";
      if (random() % 2 == 0) {
        pod.meta.owners = {{.api_version = "apps/v1",
                            .kind = "ReplicaSet",
                            .name = random() % 2 == 0 ? "one" : "two",
                            .uid = "u",
                            .controller = true}};
      }
      if (pod.meta.labels.empty()) continue;
      const objects::KeyValue& label = pod.meta.labels[random() % pod.meta.labels.size()];
      if (random() % 8 == 0) {
        objects::Service& service = services.emplace_back();
        service.meta.name = p % 2 == 0 ? "even" : "odd";
        service.meta.namespace_name = pod.meta.namespace_name;
        service.selector = {label};
        if (std::ranges::count_if(services, [&](const objects::Service& each) {
              return each.meta.name == service.meta.name &&
                     each.meta.namespace_name == service.meta.namespace_name;
            }) > 1) {
          services.pop_back();
        }
      }
      const bool is_known = std::ranges::any_of(controllers, [&](const auto& each) {
        return each.meta.namespace_name == pod.meta.namespace_name;
      });
      if (random() % 4 == 0 && !is_known) {
        objects::Controller& controller = controllers.emplace_back();
        controller.meta.name = "one";
        controller.meta.namespace_name = pod.meta.namespace_name;
        controller.selector.nil = false;
        if (random() % 2 == 0) {
          controller.selector.match_labels = {label};
        } else {
          controller.selector.match_expressions = {
              {.key = label.key, .op = "Exists", .values = {}}};
        }
      }
    }
    SnapshotBuilder builder;
    builder.SetVersion(raw.version);
    builder.SetScheduler(config);
    absl::Status status;
    for (const auto& each : raw.namespaces) status.Update(builder.AddNamespace(each));
    for (const auto& each : raw.nodes) status.Update(builder.AddNode(each));
    for (const auto& each : raw.pods) status.Update(builder.AddPod(each));
    for (const auto& each : services) status.Update(builder.AddStorageObject(each));
    for (const auto& each : controllers) status.Update(builder.AddController(each));
    const auto add_all = [&](const auto& list) {
      for (const auto& object : list) status.Update(builder.AddStorageObject(object));
    };
    add_all(raw.volumes);
    add_all(raw.claims);
    add_all(raw.classes);
    add_all(raw.drivers);
    add_all(raw.csi_nodes);
    add_all(raw.attachments);
    add_all(raw.capacities);
    ASSERT_TRUE(status.ok()) << status;
    ClusterSnapshot snapshot = std::move(builder).Build().value();
    snapshot.SetMatchOs(raw.match_os);
    test::RawCluster by_hand = raw;
    SpreadByHand(constraints, services, controllers, by_hand);
    const Catalog& catalog = snapshot.catalog();
    for (uint32_t p = 0; p < raw.pods.size(); ++p) {
      deduced += by_hand.pods[p].spread.size() != raw.pods[p].spread.size() ? 1 : 0;
      snapshot.Fork();
      if (snapshot.NodeOf(PodId{p}) != kNoNode) snapshot.RemovePod(PodId{p});
      for (uint32_t n = 0; n < raw.nodes.size(); ++n) {
        const FilterVerdict verdict = Explain(snapshot, catalog.shape_of(PodId{p}), NodeId{n});
        const test::TwinVerdict twin = test::TwinExplain(by_hand, p, n);
        ASSERT_EQ(verdict.fits, twin.verdict.fits) << p << " on " << n;
        if (!verdict.fits) {
          ASSERT_EQ(verdict.filter, twin.verdict.filter) << p << " on " << n;
        }
        ++verdicts;
        refused += verdict.filter == Filter::kPodTopologySpread && !verdict.fits ? 1 : 0;
      }
      snapshot.Revert();
    }
  }
  EXPECT_GT(verdicts, 10 * kClusters);
  EXPECT_GT(deduced, kClusters);
  EXPECT_GT(refused, kClusters / 2);
}

}  // namespace
}  // namespace ebb::scheduler_profile_test
