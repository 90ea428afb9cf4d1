#include "tests/support/random_cluster.h"

#include <string_view>
#include <utility>

#include "snapshot/builder.h"

namespace ebb::test {
namespace {

using objects::Text;
template <size_t N>
using Texts = std::array<Text, N>;

constexpr Texts<6> kNodeNames = {"n0", "n1", "n2", "n3", "n4", "n5"};
constexpr Texts<16> kPodNames = {"p0", "p1", "p2",  "p3",  "p4",  "p5",  "p6",  "p7",
                                 "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"};
constexpr Texts<3> kNamespaces = {"a", "b", "c"};
constexpr Texts<3> kZones = {"x", "y", "z"};
constexpr Texts<3> kTopologyKeys = {"zone", "host", "rack"};
constexpr Texts<4> kGenerations = {"1", "5", "10", "old"};
constexpr Texts<3> kPodKeys = {"app", "tier", "version"};
constexpr Texts<3> kPodValues = {"1", "2", ""};
constexpr Texts<3> kTaintKeys = {"gpu", "spot", "node.kubernetes.io/unschedulable"};
constexpr Texts<3> kEffects = {"NoSchedule", "NoExecute", "PreferNoSchedule"};
constexpr Texts<8> kResources = {
    "cpu",   "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "kubernetes.io/odd",
    "plain", "pods"};
constexpr Texts<2> kFeatures = {"RestartAllContainersOnContainerExits",
                                "UserNamespacesHostNetworkSupport"};

class Maker {
 public:
  explicit Maker(Choices& choices) : choose_(choices) {}

  RawCluster Make() {
    // In the order of the bytes.
    odd_ = choose_.Chance(15);
    taints_ = choose_.Chance(40);
    affinity_ = choose_.Chance(40);
    ports_ = choose_.Chance(30);
    requests_ = choose_.Chance(50);
    spread_ = choose_.Chance(60);
    inter_pod_ = choose_.Chance(60);
    features_ = choose_.Chance(20);
    RawCluster cluster;
    MakeNamespaces(cluster);
    const size_t nodes = 1 + choose_.Below(kNodeNames.size());
    for (size_t n = 0; n < nodes; ++n) cluster.nodes.push_back(MakeNode(n));
    const size_t pods = 1 + choose_.Below(kPodNames.size());
    for (size_t p = 0; p < pods; ++p) cluster.pods.push_back(MakePod(p, nodes));
    return cluster;
  }

 private:
  void MakeNamespaces(RawCluster& cluster) {
    for (const Text name : kNamespaces) {
      if (choose_.Chance(20)) continue;  // The dump may lack it.
      objects::Namespace& ns = cluster.namespaces.emplace_back();
      ns.meta.name = name;
      if (choose_.Chance(70)) ns.meta.labels.push_back({"app", choose_.Pick(kPodValues)});
    }
  }

  objects::Node MakeNode(size_t n) {
    objects::Node node;
    node.meta.name = kNodeNames[n];
    if (choose_.Chance(85)) node.meta.labels.push_back({"zone", choose_.Pick(kZones)});
    if (choose_.Chance(90)) node.meta.labels.push_back({"host", kNodeNames[n]});
    if (choose_.Chance(50)) node.meta.labels.push_back({"rack", choose_.Pick(kZones)});
    if (choose_.Chance(50)) node.meta.labels.push_back({"generation", choose_.Pick(kGenerations)});
    if (taints_) {
      node.unschedulable = choose_.Chance(20);
      if (choose_.Chance(50)) {
        node.taints.push_back(
            {choose_.Pick(kTaintKeys), choose_.Pick(kPodValues), choose_.Pick(kEffects)});
      }
    }
    if (!choose_.Chance(3)) {
      node.allocatable.push_back(
          {"pods", requests_ ? static_cast<int64_t>(choose_.Below(12)) : 110});
    }
    for (const Text name : kResources) {
      if (name == "pods" || choose_.Chance(15)) continue;
      node.allocatable.push_back({name, static_cast<int64_t>(choose_.Below(16))});
    }
    for (const Text feature : kFeatures) {
      if (choose_.Chance(50)) node.declared_features.push_back(feature);
    }
    return node;
  }

  objects::Pod MakePod(size_t p, size_t nodes) {
    objects::Pod pod;
    pod.meta.name = kPodNames[p];
    pod.meta.namespace_name = choose_.Chance(60) ? kNamespaces[0] : choose_.Pick(kNamespaces);
    pod.phase = "Running";
    if (choose_.Chance(80)) pod.meta.labels.push_back({"app", choose_.Pick(kPodValues)});
    if (choose_.Chance(50)) pod.meta.labels.push_back({"tier", choose_.Pick(kPodValues)});
    if (choose_.Chance(10)) pod.meta.deletion_time = 1;
    if (choose_.Chance(80)) {
      (choose_.Chance(10) ? pod.nominated_node_name : pod.node_name) =
          kNodeNames[choose_.Below(nodes)];
    }
    MakeContainers(pod);
    if (affinity_) MakeNodeAffinity(pod);
    if (taints_) MakeTolerations(pod);
    if (spread_ && choose_.Chance(60)) MakeSpread(pod);
    if (inter_pod_ && choose_.Chance(40)) MakeTerms(pod.affinity);
    if (inter_pod_ && choose_.Chance(50)) MakeTerms(pod.anti_affinity);
    if (features_) {
      pod.host_network = choose_.Chance(40);
      if (choose_.Chance(50)) pod.host_users = choose_.Chance(30);
    }
    return pod;
  }

  void MakeContainers(objects::Pod& pod) {
    pod.containers.push_back(MakeContainer("main"));
    if (choose_.Chance(20)) pod.containers.push_back(MakeContainer("side"));
    if (choose_.Chance(20)) pod.init_containers.push_back(MakeContainer("init-0"));
    if (choose_.Chance(20)) pod.init_containers.push_back(MakeContainer("init-1"));
    for (objects::Container& container : pod.init_containers) {
      if (choose_.Chance(50)) container.restart_policy = "Always";
    }
    if (!requests_) return;
    if (choose_.Chance(15)) pod.overhead = MakeAmounts();
    if (choose_.Chance(15)) {
      pod.has_pod_resources = true;
      pod.pod_requests = MakeAmounts();
    }
    if (choose_.Chance(20)) MakeStatus(pod);
  }

  void MakeStatus(objects::Pod& pod) {
    pod.resize_infeasible = choose_.Chance(30);
    for (const Text name : {Text("main"), Text("init-0"), Text("nobody")}) {
      objects::ContainerStatus& status = pod.container_statuses.emplace_back();
      status.name = name;
      status.has_resources = choose_.Chance(60);
      status.requests = MakeAmounts();
      if (choose_.Chance(50)) status.allocated = MakeAmounts();
    }
    if (choose_.Chance(40)) {
      pod.has_pod_status_resources = true;
      pod.pod_status_requests = MakeAmounts();
      if (choose_.Chance(50)) pod.pod_allocated = MakeAmounts();
    }
  }

  objects::Container MakeContainer(Text name) {
    objects::Container container;
    container.name = name;
    if (requests_) container.requests = MakeAmounts();
    if (features_) container.restarts_all_containers = choose_.Chance(20);
    if (ports_ && choose_.Chance(50)) {
      static constexpr Texts<4> kAddresses = {"", "0.0.0.0", "10.0.0.1", "10.0.0.2"};
      static constexpr Texts<3> kProtocols = {"", "TCP", "UDP"};
      container.ports.push_back({choose_.Pick(kAddresses), static_cast<int64_t>(choose_.Below(3)),
                                 choose_.Pick(kProtocols)});
    }
    return container;
  }

  objects::ResourceList MakeAmounts() {
    objects::ResourceList list;
    for (const Text name : kResources) {
      if (!choose_.Chance(35)) continue;
      const auto amount = static_cast<int64_t>(choose_.Below(6));
      const bool broken = amount > 0 && choose_.Chance(20);  // Half a unit less, or nearly one.
      list.push_back({name, amount, !broken ? 0 : choose_.Chance(50) ? 500'000'000 : 999'999'000});
    }
    return list;
  }

  void MakeNodeAffinity(objects::Pod& pod) {
    if (choose_.Chance(30)) {
      pod.has_node_selector = true;
      if (choose_.Chance(90)) pod.node_selector.push_back({"zone", choose_.Pick(kZones)});
    }
    if (!choose_.Chance(50)) return;
    pod.required_node_affinity.nil = false;
    const size_t terms = odd_ ? choose_.Below(3) : 1 + choose_.Below(2);
    const bool by_name = choose_.Chance(40);
    for (size_t t = 0; t < terms; ++t) {
      objects::NodeSelectorTerm& term = pod.required_node_affinity.terms.emplace_back();
      if (choose_.Chance(by_name ? 30 : 90))
        term.match_expressions.push_back(MakeNodeRequirement());
      if (choose_.Chance(20)) term.match_expressions.push_back(MakeNodeRequirement());
      if (by_name && choose_.Chance(90)) term.match_fields.push_back(MakeField());
      if (by_name && choose_.Chance(20)) term.match_fields.push_back(MakeField());
    }
  }

  objects::Requirement MakeField() {
    objects::Requirement field{"metadata.name", "In", {choose_.Pick(kNodeNames)}};
    if (choose_.Chance(20)) field.op = "NotIn";
    if (odd_ && choose_.Chance(20)) field.values.push_back(choose_.Pick(kNodeNames));
    if (odd_ && choose_.Chance(10)) field.values.clear();
    if (odd_ && choose_.Chance(10)) field.key = "metadata.namespace";
    if (odd_ && choose_.Chance(10)) field.op = "Exists";
    return field;
  }

  objects::Requirement MakeNodeRequirement() {
    static constexpr Texts<6> kOps = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    objects::Requirement r;
    r.op = choose_.Pick(kOps);
    if (r.op == "Gt" || r.op == "Lt") {
      static constexpr Texts<4> kBounds = {"0", "5", "7", "-4"};
      r.key = "generation";
      r.values.push_back(choose_.Pick(kBounds));
    } else {
      r.key = choose_.Pick(kTopologyKeys);
      if (r.op == "In" || r.op == "NotIn") {
        r.values.push_back(choose_.Pick(kZones));
        if (choose_.Chance(30)) r.values.push_back(choose_.Pick(kZones));
      }
    }
    if (odd_) Distort(r);
    return r;
  }

  void Distort(objects::Requirement& r) {
    static constexpr Texts<4> kNoNumbers = {"abc", "+5", "a b", ""};
    if (choose_.Chance(10)) r.op = "Perhaps";
    if (choose_.Chance(10)) r.values.clear();
    if (choose_.Chance(15)) r.values.push_back(choose_.Pick(kNoNumbers));
    if (choose_.Chance(5)) r.key = "no key";
  }

  void MakeTolerations(objects::Pod& pod) {
    for (size_t left = choose_.Below(3); left > 0; --left) {
      objects::Toleration& toleration = pod.tolerations.emplace_back();
      static constexpr Texts<3> kOps = {"", "Equal", "Exists"};
      static constexpr Texts<2> kOddOps = {"Gt", "Sometimes"};
      toleration.key = choose_.Pick(kTaintKeys);
      toleration.op = choose_.Pick(kOps);
      if (toleration.op != "Exists") toleration.value = choose_.Pick(kPodValues);
      if (choose_.Chance(60)) toleration.effect = choose_.Pick(kEffects);
      if (choose_.Chance(15)) toleration.key = "";
      if (odd_ && choose_.Chance(20)) toleration.op = choose_.Pick(kOddOps);
    }
  }

  objects::LabelSelector MakeSelector() {
    objects::LabelSelector selector;
    if (choose_.Chance(6)) return selector;
    selector.nil = false;
    if (choose_.Chance(8)) return selector;
    if (choose_.Chance(75)) selector.match_labels.push_back({"app", choose_.Pick(kPodValues)});
    if (choose_.Chance(35)) {
      static constexpr Texts<4> kOps = {"In", "NotIn", "Exists", "DoesNotExist"};
      objects::Requirement& r = selector.match_expressions.emplace_back();
      r.key = choose_.Pick(kPodKeys);
      r.op = choose_.Pick(kOps);
      if (r.op == "In" || r.op == "NotIn") {
        r.values.push_back(choose_.Pick(kPodValues));
        if (choose_.Chance(30)) r.values.push_back(choose_.Pick(kPodValues));
      }
      if (odd_) Distort(r);
    }
    return selector;
  }

  void MakeSpread(objects::Pod& pod) {
    for (size_t left = 1 + choose_.Below(2); left > 0; --left) {
      static constexpr Texts<3> kPolicies = {"", "Honor", "Ignore"};
      objects::TopologySpreadConstraint& c = pod.spread.emplace_back();
      c.max_skew = 1 + static_cast<int64_t>(choose_.Below(2));
      c.topology_key = choose_.Pick(kTopologyKeys);
      c.when_unsatisfiable = choose_.Chance(10) ? "ScheduleAnyway" : "DoNotSchedule";
      c.label_selector = MakeSelector();
      if (choose_.Chance(25)) c.min_domains = 1 + static_cast<int64_t>(choose_.Below(4));
      if (choose_.Chance(25)) c.match_label_keys = {"tier", "no-such-label"};
      c.node_affinity_policy = choose_.Pick(kPolicies);
      c.node_taints_policy = choose_.Pick(kPolicies);
      if (odd_ && choose_.Chance(10)) c.topology_key = "";
    }
  }

  void MakeTerms(std::vector<objects::PodAffinityTerm>& terms) {
    for (size_t left = 1 + choose_.Below(2); left > 0; --left) {
      objects::PodAffinityTerm& term = terms.emplace_back();
      term.topology_key = choose_.Pick(kTopologyKeys);
      term.label_selector = MakeSelector();
      if (choose_.Chance(25)) term.namespaces.push_back(choose_.Pick(kNamespaces));
      if (choose_.Chance(25)) term.namespace_selector = MakeSelector();
      if (odd_ && choose_.Chance(10)) term.topology_key = "";
    }
  }

  Choices& choose_;
  bool odd_ = false;  // What an API server refuses.
  bool taints_ = false;
  bool affinity_ = false;
  bool ports_ = false;
  bool requests_ = false;
  bool spread_ = false;
  bool inter_pod_ = false;
  bool features_ = false;
};

}  // namespace

size_t Choices::Below(size_t n) {
  if (bytes_.empty()) return 0;
  const size_t byte = bytes_.front();
  bytes_ = bytes_.subspan(1);
  return byte % n;
}

RawCluster RandomCluster(Choices& choices) { return Maker(choices).Make(); }

absl::StatusOr<ClusterSnapshot> BuildSnapshot(const RawCluster& cluster) {
  SnapshotBuilder builder;
  absl::Status status;
  for (const objects::Namespace& ns : cluster.namespaces) status.Update(builder.AddNamespace(ns));
  for (const objects::Node& node : cluster.nodes) status.Update(builder.AddNode(node));
  for (const objects::Pod& pod : cluster.pods) status.Update(builder.AddPod(pod));
  if (!status.ok()) return status;
  return std::move(builder).Build();
}

}  // namespace ebb::test
