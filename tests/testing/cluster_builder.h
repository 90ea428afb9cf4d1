// Small clusters in a few words, for tests:
//
//   ClusterSnapshot snapshot =
//       Cluster()
//           .Add(Node("a").Label("zone", "x").Cpu(4000))
//           .Add(Pod("web-0").On("a").Cpu(500).Label("app", "web"))
//           .Add(Budget("web").Matching("app", "web").Allows(1))
//           .Build();
//   EXPECT_EQ(snapshot.NodeOf(PodNamed(snapshot, "web-0")), NodeNamed(snapshot, "a"));
//
// By default a node is ready and has 4 CPUs, 8 GiB and 110 pod slots; a
// pod is in namespace "default", runs, requests nothing and belongs to a ReplicaSet
// "rs" that exists, so that every rule lets it move.  `raw` and With() reach the
// fields that have no word of their own.
//
// Ownership: texts are kept until the process ends, so temporaries are welcome.
// Errors:    Build() ends the process and says why; TryBuild() returns the status.

#ifndef EBB_TESTS_TESTING_CLUSTER_BUILDER_H_
#define EBB_TESTS_TESTING_CLUSTER_BUILDER_H_

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot/builder.h"
#include "snapshot/catalog.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb::test {

inline constexpr int64_t kMiB = int64_t{1} << 20;
inline constexpr int64_t kGiB = int64_t{1} << 30;

inline std::string_view Keep(std::string_view text) {
  static auto* const kept = new std::unordered_set<std::string>();
  return *kept->emplace(text).first;
}

inline void SetAmount(objects::ResourceList& list, std::string_view name, int64_t amount) {
  for (objects::ResourceAmount& entry : list) {
    if (entry.name == name) {
      entry.amount = amount;
      return;
    }
  }
  list.push_back({Keep(name), amount});
}

inline objects::LabelSelector SelectEverything() {
  return {.nil = false, .match_labels = {}, .match_expressions = {}};
}
inline objects::LabelSelector SelectNothing() { return {}; }
inline objects::LabelSelector Select(std::string_view key, std::string_view value) {
  return {.nil = false, .match_labels = {{Keep(key), Keep(value)}}, .match_expressions = {}};
}

struct Node {
  objects::Node raw;

  explicit Node(std::string_view name) {
    raw.meta.name = Keep(name);
    raw.conditions = {{"Ready", "True"}};
    Cpu(4000).Memory(8 * kGiB).Pods(110);
  }
  // Allocatable and capacity alike.
  Node& Resource(std::string_view name, int64_t amount) {
    SetAmount(raw.allocatable, name, amount);
    SetAmount(raw.capacity, name, amount);
    return *this;
  }
  Node& Cpu(int64_t milli) { return Resource("cpu", milli); }
  Node& Memory(int64_t bytes) { return Resource("memory", bytes); }
  Node& Pods(int64_t count) { return Resource("pods", count); }
  Node& NoAllocatable() {
    raw.allocatable.clear();
    return *this;
  }
  Node& Label(std::string_view key, std::string_view value) {
    raw.meta.labels.push_back({Keep(key), Keep(value)});
    return *this;
  }
  Node& Annotation(std::string_view key, std::string_view value) {
    raw.meta.annotations.push_back({Keep(key), Keep(value)});
    return *this;
  }
  Node& Taint(std::string_view key, std::string_view value = "",
              std::string_view effect = "NoSchedule") {
    raw.taints.push_back({Keep(key), Keep(value), Keep(effect)});
    return *this;
  }
  Node& Unschedulable() {
    raw.unschedulable = true;
    return *this;
  }
  Node& NotReady() {
    raw.conditions = {{"Ready", "False"}};
    return *this;
  }
  template <typename Change>
  Node& With(Change&& change) {
    change(raw);
    return *this;
  }
};

struct Pod {
  objects::Pod raw;
  bool controller_exists = true;  // Cluster registers the controlling owner.

  explicit Pod(std::string_view name) {
    raw.meta.name = Keep(name);
    raw.meta.namespace_name = "default";
    raw.phase = "Running";
    raw.containers.resize(1);
    raw.containers[0].name = "main";
    OwnedBy("ReplicaSet", "rs");
  }
  Pod& In(std::string_view namespace_name) {
    raw.meta.namespace_name = Keep(namespace_name);
    return *this;
  }
  Pod& On(std::string_view node) {
    raw.node_name = Keep(node);
    return *this;
  }
  Pod& Uid(std::string_view uid) {
    raw.meta.uid = Keep(uid);
    return *this;
  }
  Pod& Request(std::string_view resource, int64_t amount) {
    SetAmount(raw.containers[0].requests, resource, amount);
    return *this;
  }
  Pod& Cpu(int64_t milli) { return Request("cpu", milli); }
  Pod& Memory(int64_t bytes) { return Request("memory", bytes); }
  Pod& Label(std::string_view key, std::string_view value) {
    raw.meta.labels.push_back({Keep(key), Keep(value)});
    return *this;
  }
  Pod& Annotation(std::string_view key, std::string_view value) {
    raw.meta.annotations.push_back({Keep(key), Keep(value)});
    return *this;
  }
  // "true", "false", "on-completion".
  Pod& SafeToEvict(std::string_view value) {
    return Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", value);
  }
  Pod& Priority(int64_t priority) {
    raw.priority = priority;
    return *this;
  }
  Pod& CreatedAt(int64_t time_s) {
    raw.meta.creation_time = time_s;
    return *this;
  }
  Pod& DeletedAt(int64_t time_s) {
    raw.meta.deletion_time = time_s;
    return *this;
  }
  Pod& Phase(std::string_view phase) {
    raw.phase = Keep(phase);
    return *this;
  }

  // The controlling owner, in place of the one before.
  Pod& OwnedBy(std::string_view kind, std::string_view name, std::string_view api_version = "") {
    if (api_version.empty()) api_version = UsualApiVersion(kind);
    const std::string uid = std::string(kind) + "/" + std::string(name);
    raw.meta.owners = {{Keep(api_version), Keep(kind), Keep(name), Keep(uid), true}};
    controller_exists = true;
    return *this;
  }
  Pod& OwnedByMissing(std::string_view kind, std::string_view name,
                      std::string_view api_version = "") {
    OwnedBy(kind, name, api_version);
    controller_exists = false;
    return *this;
  }
  Pod& WithoutOwner() {
    raw.meta.owners.clear();
    return *this;
  }
  Pod& DaemonSet() { return OwnedBy("DaemonSet", "ds"); }
  Pod& Mirror() { return Annotation("kubernetes.io/config.mirror", "x"); }

  Pod& NodeSelector(std::string_view key, std::string_view value) {
    raw.has_node_selector = true;
    raw.node_selector.push_back({Keep(key), Keep(value)});
    return *this;
  }
  Pod& ToleratesKey(std::string_view key) {
    raw.tolerations.push_back({Keep(key), "Exists", "", ""});
    return *this;
  }
  Pod& ToleratesEverything() {
    raw.tolerations.push_back({"", "Exists", "", ""});
    return *this;
  }
  Pod& HostPort(int64_t port, std::string_view ip = "", std::string_view protocol = "") {
    raw.containers[0].ports.push_back({Keep(ip), port, Keep(protocol)});
    return *this;
  }
  // DoNotSchedule.
  Pod& Spread(std::string_view topology_key, int64_t max_skew, objects::LabelSelector selector) {
    objects::TopologySpreadConstraint& constraint = raw.spread.emplace_back();
    constraint.topology_key = Keep(topology_key);
    constraint.max_skew = max_skew;
    constraint.when_unsatisfiable = "DoNotSchedule";
    constraint.label_selector = std::move(selector);
    return *this;
  }
  static objects::PodAffinityTerm Term(std::string_view topology_key,
                                       objects::LabelSelector selector) {
    objects::PodAffinityTerm term;
    term.topology_key = Keep(topology_key);
    term.label_selector = std::move(selector);
    return term;
  }
  Pod& Near(std::string_view topology_key, objects::LabelSelector selector) {
    raw.affinity.push_back(Term(topology_key, std::move(selector)));
    return *this;
  }
  Pod& Away(std::string_view topology_key, objects::LabelSelector selector) {
    raw.anti_affinity.push_back(Term(topology_key, std::move(selector)));
    return *this;
  }
  Pod& Volume(std::string_view source, std::string_view name = "volume") {
    objects::Volume& volume = raw.volumes.emplace_back();
    volume.name = Keep(name);
    volume.source = Keep(source);
    return *this;
  }
  template <typename Change>
  Pod& With(Change&& change) {
    change(raw);
    return *this;
  }

 private:
  static std::string_view UsualApiVersion(std::string_view kind) {
    if (kind == "Job") return "batch/v1";
    return kind == "ReplicationController" ? "v1" : "apps/v1";
  }
};

// A PodDisruptionBudget: nil selector, nothing allowed.
struct Budget {
  objects::PodDisruptionBudget raw;

  explicit Budget(std::string_view name) {
    raw.meta.name = Keep(name);
    raw.meta.namespace_name = "default";
  }
  Budget& In(std::string_view namespace_name) {
    raw.meta.namespace_name = Keep(namespace_name);
    return *this;
  }
  Budget& Matching(std::string_view key, std::string_view value) {
    raw.selector = Select(key, value);
    return *this;
  }
  Budget& MatchingEverything() {
    raw.selector = SelectEverything();
    return *this;
  }
  Budget& Allows(int64_t disruptions) {
    raw.disruptions_allowed = disruptions;
    return *this;
  }
};

struct Controller {
  objects::Controller raw;

  Controller(objects::ControllerKind kind, std::string_view name) {
    raw.kind = kind;
    raw.meta.name = Keep(name);
    raw.meta.namespace_name = "default";
  }
  Controller& In(std::string_view namespace_name) {
    raw.meta.namespace_name = Keep(namespace_name);
    return *this;
  }
  Controller& Replicas(int64_t replicas) {
    raw.spec_replicas = replicas;
    raw.status_replicas = replicas;
    return *this;
  }
};

class Cluster {
 public:
  explicit Cluster(std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>())
      : symbols_(std::move(symbols)) {}

  Cluster& Add(const Node& node) {
    nodes_.push_back(node.raw);
    return *this;
  }
  Cluster& Add(const Pod& pod) {
    pods_.push_back(pod);
    return *this;
  }
  Cluster& Add(const Budget& budget) {
    budgets_.push_back(budget.raw);
    return *this;
  }
  Cluster& Add(const Controller& controller) {
    controllers_.push_back(controller.raw);
    return *this;
  }
  // Its texts must outlive Build(): literals, or Keep().
  Cluster& Add(objects::StorageObject object) {
    storage_.push_back(std::move(object));
    return *this;
  }
  Cluster& AddNamespace(std::string_view name, objects::KeyValues labels = {}) {
    objects::Namespace& ns = namespaces_.emplace_back();
    ns.meta.name = Keep(name);
    ns.meta.labels = std::move(labels);
    return *this;
  }

  Cluster& Unhealthy(UnhealthyPods rule) {
    unhealthy_pods_ = rule;
    return *this;
  }

  [[nodiscard]] absl::StatusOr<ClusterSnapshot> TryBuild() const {
    SnapshotBuilder builder(symbols_);
    builder.SetUnhealthyPods(unhealthy_pods_);
    absl::Status status;
    const auto add = [&](absl::Status added) { status.Update(added); };
    for (const objects::Namespace& ns : namespaces_) add(builder.AddNamespace(ns));
    for (const objects::Node& node : nodes_) add(builder.AddNode(node));
    for (const objects::Controller& controller : AllControllers()) {
      add(builder.AddController(controller));
    }
    for (const objects::PodDisruptionBudget& budget : budgets_) {
      add(builder.AddPodDisruptionBudget(budget));
    }
    for (const Pod& pod : pods_) add(builder.AddPod(pod.raw));
    for (const objects::StorageObject& object : storage_) add(builder.AddStorageObject(object));
    if (!status.ok()) return status;
    return std::move(builder).Build();
  }

  [[nodiscard]] ClusterSnapshot Build() const {
    absl::StatusOr<ClusterSnapshot> snapshot = TryBuild();
    if (!snapshot.ok()) {
      std::fprintf(stderr, "test cluster: %s\n", snapshot.status().ToString().c_str());
      std::abort();
    }
    return *std::move(snapshot);
  }

 private:
  static std::optional<objects::ControllerKind> KindNamed(std::string_view kind) {
    using enum objects::ControllerKind;
    if (kind == "ReplicationController") return kReplicationController;
    if (kind == "ReplicaSet") return kReplicaSet;
    if (kind == "StatefulSet") return kStatefulSet;
    if (kind == "DaemonSet") return kDaemonSet;
    if (kind == "Job") return kJob;
    return std::nullopt;
  }

  // Controllers that were added, and owners of pods that were not added.
  [[nodiscard]] std::vector<objects::Controller> AllControllers() const {
    std::vector<objects::Controller> all = controllers_;
    const auto is_known = [&](objects::ControllerKind kind, const objects::ObjectMeta& meta) {
      for (const objects::Controller& known : all) {
        if (known.kind == kind && known.meta.name == meta.name &&
            known.meta.namespace_name == meta.namespace_name) {
          return true;
        }
      }
      return false;
    };
    for (const Pod& pod : pods_) {
      if (!pod.controller_exists) continue;
      for (const objects::OwnerReference& owner : pod.raw.meta.owners) {
        const std::optional<objects::ControllerKind> kind = KindNamed(owner.kind);
        objects::Controller controller;
        controller.meta.name = owner.name;
        controller.meta.namespace_name = pod.raw.meta.namespace_name;
        controller.meta.uid = owner.uid;
        controller.spec_replicas = 1;
        if (!kind || is_known(*kind, controller.meta)) continue;
        controller.kind = *kind;
        all.push_back(controller);
      }
    }
    return all;
  }

  std::shared_ptr<Symbols> symbols_;
  std::vector<objects::Node> nodes_;
  std::vector<Pod> pods_;
  std::vector<objects::PodDisruptionBudget> budgets_;
  std::vector<objects::Controller> controllers_;
  std::vector<objects::Namespace> namespaces_;
  std::vector<objects::StorageObject> storage_;
  UnhealthyPods unhealthy_pods_ = UnhealthyPods::kKeep;
};

// Look-ups that end the process where there is nothing of that name.
inline NodeId NodeNamed(const ClusterSnapshot& snapshot, std::string_view name) {
  return snapshot.catalog().FindNode(name).value();
}
inline PodId PodNamed(const ClusterSnapshot& snapshot, std::string_view name,
                      std::string_view namespace_name = "default") {
  return snapshot.catalog().FindPod(namespace_name, name).value();
}

}  // namespace ebb::test

#endif  // EBB_TESTS_TESTING_CLUSTER_BUILDER_H_
