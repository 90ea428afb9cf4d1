#include "tests/support/random_snapshot.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::test {
namespace {

const std::vector<std::string_view> kKeys = {"zone", "host", "rack"};
const std::vector<std::string_view> kApps = {"a", "b", "c"};
const std::vector<std::string_view> kNamespaceNames = {"one", "two", "unlisted"};

objects::LabelSelector RandomSelector(Dice& dice) {
  objects::LabelSelector selector{
      .nil = dice.Percent(5), .match_labels = {}, .match_expressions = {}};
  if (selector.nil || dice.Percent(8)) return selector;  // Matches nothing (nil) or everything.
  if (dice.Percent(60)) selector.match_labels.push_back({"app", dice.Of(kApps)});
  if (dice.Percent(50)) {
    static const std::vector<objects::Requirement> kRequirements = {{"app", "In", {"a", "b"}},
                                                                    {"app", "NotIn", {"c"}},
                                                                    {"tier", "Exists", {}},
                                                                    {"tier", "NotIn", {"x"}},
                                                                    {"tier", "DoesNotExist", {}}};
    selector.match_expressions.push_back(dice.Of(kRequirements));
  }
  return selector;
}

objects::PodAffinityTerm RandomTerm(Dice& dice) {
  objects::PodAffinityTerm term;
  term.label_selector = RandomSelector(dice);
  term.topology_key = dice.Of(kKeys);
  if (dice.Percent(30)) term.namespaces.push_back(dice.Of(kNamespaceNames));
  if (dice.Percent(30)) {
    term.namespace_selector.nil = false;
    if (dice.Percent(70)) term.namespace_selector.match_labels = {{"team", dice.Of(kApps)}};
    if (dice.Percent(20)) term.namespace_selector.match_expressions = {{"team", "NotIn", {"a"}}};
  }
  return term;
}

objects::TopologySpreadConstraint RandomSpread(Dice& dice) {
  objects::TopologySpreadConstraint constraint;
  constraint.topology_key = dice.Of(kKeys);
  constraint.when_unsatisfiable = dice.Percent(85) ? "DoNotSchedule" : "ScheduleAnyway";
  constraint.label_selector = RandomSelector(dice);
  if (dice.Percent(25)) constraint.match_label_keys = {"tier"};
  if (dice.Percent(25)) constraint.node_affinity_policy = "Ignore";
  if (dice.Percent(40)) constraint.node_taints_policy = "Honor";
  return constraint;
}

Node RandomNode(Dice& dice, int number) {
  Node node(absl::StrCat("node-", number));
  node.Cpu(1000 * (1 + dice.Below(8))).Pods(20);
  if (dice.Percent(50)) node.Resource("example.com/gpu", dice.Below(4));
  if (dice.Percent(80)) node.Label("zone", dice.Of(kApps));
  if (dice.Percent(90)) node.Label("host", node.raw.meta.name);
  if (dice.Percent(70)) node.Label("rack", absl::StrCat("r", dice.Below(4)));
  if (dice.Percent(30)) node.Taint("dedicated", dice.Of(kApps), "NoSchedule");
  if (dice.Percent(20)) node.Taint("bad", "", "NoExecute");
  if (dice.Percent(20)) node.Taint("meh", "", "PreferNoSchedule");
  return node;
}

void AddRandomConstraints(Dice& dice, Pod& pod) {
  if (dice.Percent(25)) pod.NodeSelector("zone", dice.Of(kApps));
  if (dice.Percent(25)) {
    pod.raw.required_node_affinity.nil = false;
    pod.raw.required_node_affinity.terms = {{{{"zone", "NotIn", {"b"}}}, {}},
                                            {{{"rack", "Exists", {}}}, {}}};
  }
  if (dice.Percent(30)) pod.raw.tolerations.push_back({"dedicated", "Equal", "a", "NoSchedule"});
  if (dice.Percent(20)) pod.ToleratesKey("bad");
  if (dice.Percent(10)) pod.ToleratesEverything();
  for (int n = dice.Below(3); n > 0; --n) pod.raw.spread.push_back(RandomSpread(dice));
  for (int n = dice.Below(3); n > 0; --n) pod.raw.affinity.push_back(RandomTerm(dice));
  for (int n = dice.Below(3); n > 0; --n) pod.raw.anti_affinity.push_back(RandomTerm(dice));
}

Pod RandomPod(Dice& dice, int number, int nodes) {
  Pod pod(absl::StrCat("pod-", number));
  pod.In(dice.Of(kNamespaceNames)).Cpu(100 * dice.Below(10)).Memory(dice.Below(3) * kMiB);
  if (dice.Percent(20)) pod.Request("example.com/gpu", 1);
  if (dice.Percent(80)) pod.Label("app", dice.Of(kApps));
  if (dice.Percent(40)) pod.Label("tier", dice.Percent(50) ? "x" : "y");
  if (dice.Percent(10)) pod.DeletedAt(5);
  if (dice.Percent(85)) pod.On(absl::StrCat("node-", dice.Below(nodes)));
  if (dice.Percent(60)) AddRandomConstraints(dice, pod);
  for (int n = dice.Below(3); n > 0; --n) {
    pod.Volume("persistentVolumeClaim", absl::StrCat("volume-", n));
    pod.raw.volumes.back().claim_name = dice.Of(kApps);
  }
  return pod;
}

void ChangePod(ClusterSnapshot& snapshot, SnapshotTwin& twin, int pod, int node) {
  const PodId pod_id{static_cast<uint32_t>(pod)};
  const NodeId node_id{static_cast<uint32_t>(node)};
  const bool takes_pods = twin.Contains(node) && twin.ghost() != node;
  if (twin.NodeOf(pod) < 0) {
    if (!takes_pods) return;
    snapshot.AddPod(pod_id, node_id);
    twin.AddPod(pod, node);
  } else if (takes_pods && (pod + node) % 2 == 0) {
    snapshot.MovePod(pod_id, node_id);
    twin.MovePod(pod, node);
  } else {
    snapshot.RemovePod(pod_id);
    twin.RemovePod(pod);
  }
}

void ChangeNode(ClusterSnapshot& snapshot, SnapshotTwin& twin, int node) {
  const NodeId id{static_cast<uint32_t>(node)};
  if (twin.Contains(node)) {
    snapshot.RemoveNode(id);
    twin.RemoveNode(node);
  } else {
    snapshot.AddNode(id);
    twin.AddNode(node);
  }
}

void ChangeGhost(ClusterSnapshot& snapshot, SnapshotTwin& twin, int node) {
  if (twin.ghost() >= 0) {
    snapshot.ClearGhost();
    twin.ClearGhost();
  } else if (twin.Contains(node)) {
    for (const PodId pod : snapshot.PodsOn(NodeId{static_cast<uint32_t>(node)})) {
      twin.RemovePod(static_cast<int>(Index(pod)));
    }
    snapshot.SetGhost(NodeId{static_cast<uint32_t>(node)});
    twin.SetGhost(node);
  }
}

}  // namespace

std::shared_ptr<const TwinObjects> RandomObjects(Dice& dice, RandomClusterSize size) {
  auto objects = std::make_shared<TwinObjects>();
  for (int n = 0; n < size.nodes; ++n) objects->nodes.push_back(RandomNode(dice, n).raw);
  for (int p = 0; p < size.pods; ++p) {
    objects->pods.push_back(RandomPod(dice, p, size.nodes).raw);
  }
  for (const std::string_view name : {"one", "two", "empty"}) {
    objects::Namespace ns;
    ns.meta.name = name;
    if (dice.Percent(70)) ns.meta.labels = {{"team", dice.Of(kApps)}};
    objects->namespaces.push_back(ns);
  }
  return objects;
}

ClusterSnapshot BuildSnapshot(const TwinObjects& objects) {
  SnapshotBuilder builder;
  absl::Status status;
  for (const objects::Node& node : objects.nodes) status.Update(builder.AddNode(node));
  for (const objects::Pod& pod : objects.pods) status.Update(builder.AddPod(pod));
  for (const objects::Namespace& ns : objects.namespaces) status.Update(builder.AddNamespace(ns));
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
  status.Update(snapshot.status());
  if (!status.ok()) {
    std::fprintf(stderr, "random cluster: %s\n", status.ToString().c_str());
    std::abort();
  }
  return *std::move(snapshot);
}

void Change(ClusterSnapshot& snapshot, SnapshotTwin& twin, const TwinObjects& objects, Dice& dice,
            size_t keep_open) {
  const int pod = dice.Below(static_cast<int>(objects.pods.size()));
  const int node = dice.Below(static_cast<int>(objects.nodes.size()));
  const int kind = dice.Below(100);
  if (kind < 70) {
    ChangePod(snapshot, twin, pod, node);
  } else if (kind < 75) {
    ChangeNode(snapshot, twin, node);
  } else if (kind < 82) {
    ChangeGhost(snapshot, twin, node);
  } else if (kind < 91) {
    if (twin.depth() == kDepthMax) return;
    snapshot.Fork();
    twin.Fork();
  } else if (twin.depth() > keep_open) {
    if (kind < 96) {
      snapshot.Revert();
      twin.Revert();
    } else {
      snapshot.Commit();
      twin.Commit();
    }
  }
}

}  // namespace ebb::test
