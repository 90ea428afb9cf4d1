// SimulatedObjects: the nodes, pods and controllers of a cluster in memory, and the LiveSnapshot
// that shows them.  Whatever changes here shows there.
//
// It decides nothing: who makes and moves what is the SimulatedCluster's business.  Nodes and pods
// keep their numbers for good; one that is gone is marked so.
//
// Pods that are alike share a template, from which new ones are made.  Pods that have ended when
// the cluster is read, and expendable ones, are left out.
//
// Errors:  what the LiveSnapshot says of an object of the input.  Objects made here are of its
//          kind, so that it takes them; that it refuses one is a bug.
// Threads: not thread-safe.

#ifndef EBB_ENGINE_SIMULATION_SIMULATED_OBJECTS_H_
#define EBB_ENGINE_SIMULATION_SIMULATED_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/simulation/budget_keeper.h"
#include "predicates/drainability.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/live_snapshot.h"
#include "snapshot/object_sink.h"

namespace ebb {

inline constexpr size_t kNone = ~size_t{0};

struct PodTemplate {
  UnpackedObject object;        // Without what is a pod's own: names, times, node.
  std::vector<size_t> budgets;  // That match such pods.
  int64_t grace_s = 30;
};

struct SimulatedPod {
  enum class State : uint8_t { kPending, kStarting, kRunning, kTerminating, kGone };
  std::string namespace_name;
  std::string name;
  std::string uid;
  size_t pod_template = kNone;
  size_t workload = kNone;  // kNone: nobody makes it anew.
  size_t node = kNone;
  State state = State::kPending;
  int64_t created_s = 0;
  int64_t deletion_s = 0;                 // kTerminating.
  std::string planned_node = {};          // Where a plan saw the pod that it stands for.
  bool had_to_wait = false;               // No node took it at first.
  int64_t evictions_refused_until_s = 0;  // By a fault; -1: no fault was drawn yet.
};

struct SimulatedNode {
  std::string name;
  std::string uid;
  std::shared_ptr<const UnpackedObject> object;  // Of a template, for those that were added.
  size_t group = kNone;                          // Of the cluster's; kNone: none.
  bool there = true;
  int64_t created_s = 0;
  std::optional<int64_t> soft_taint_s;  // The input's, or the loop's own.
  std::optional<int64_t> hard_taint_s;  // The loop's own alone.
  // By key: a policy's taints, value and effect; absent: the input's was taken off.
  std::map<std::string, std::optional<std::pair<std::string, std::string>>> taints = {};
  std::set<size_t> pods;
};

// A controller and what it wants.
struct Workload {
  // A pod that is to be made anew.
  struct Lost {
    std::string name;  // Of the pod that was lost.
    size_t pod_template;
    std::string planned_node;
  };
  std::string namespace_name;
  std::string kind;  // "ReplicaSet"
  std::string name;
  std::unique_ptr<UnpackedObject> object;  // Null: there is none in the cluster.
  int64_t base = 0;                        // Pods at the beginning.
  int64_t wanted = 0;
  std::set<size_t> pods;  // Those that are not terminating.
  std::deque<Lost> lost;
  size_t pod_template = kNone;
  uint64_t made = 0;  // Pods so far, for their names.

  [[nodiscard]] bool IsDaemonSet() const { return kind == "DaemonSet"; }
  // Its pods are made with a node and go with it: also static pods, whose owner is the node.
  [[nodiscard]] bool IsOfNodes() const { return IsDaemonSet() || kind == "Node"; }
  [[nodiscard]] bool KeepsNames() const { return kind == "StatefulSet"; }
};

class SimulatedObjects : public ObjectSink {
 public:
  // --- Reading the cluster --------------------------------------------------------
  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  // All was read: budgets find their pods, terminating pods their end.
  void Settle();

  // --- What is there ---------------------------------------------------------------
  [[nodiscard]] const std::vector<SimulatedNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<SimulatedPod>& pods() const { return pods_; }
  [[nodiscard]] const std::vector<Workload>& workloads() const { return workloads_; }
  [[nodiscard]] const std::vector<PodTemplate>& templates() const { return templates_; }
  [[nodiscard]] const BudgetKeeper& budgets() const { return budgets_; }
  SimulatedNode& node(size_t number) { return nodes_[number]; }
  SimulatedPod& pod(size_t number) { return pods_[number]; }
  Workload& workload(size_t number) { return workloads_[number]; }
  [[nodiscard]] size_t nodes_there() const { return nodes_there_; }
  // kNone: there is no such node.
  [[nodiscard]] size_t FindNode(std::string_view name) const;
  [[nodiscard]] bool HasPod(const std::string& namespace_name, const std::string& name) {
    return live_.FindPod(namespace_name, name) != kNoPod;
  }
  // A pod that no drain looks at: one of a node's own.
  [[nodiscard]] bool IsSkipped(size_t pod) {
    const PodId id = IdOf(pod);
    const Catalog& catalog = live_.Snapshot().catalog();
    const PodShape& shape = catalog.shape_of(id);
    return shape.mirror || shape.static_pod || IsDaemonSetPod(catalog, shape);
  }
  // CPU, memory and pods that fit on such a node, when the pods of DaemonSets are there.
  [[nodiscard]] std::vector<int64_t> RoomOfEmpty(const SimulatedNode& pattern);
  // Of nodes that are there.
  [[nodiscard]] size_t NumberOf(NodeId node);
  // Of pods that are there.
  [[nodiscard]] PodId IdOf(size_t pod);
  // Hands over the nodes and pods that are there.  Cost: O(pods).
  absl::Status ShowAll(ObjectSink& sink) const;
  // The snapshot, with budgets as they are now.
  ClusterSnapshot& Snapshot();
  std::vector<PodId> Pending() { return live_.Pending(); }
  absl::Status Export(ObjectSink& sink) { return live_.Export(sink); }
  // Healthy pods that the budget matches, counted one by one.  Cost: O(pods).
  [[nodiscard]] int64_t CountHealthy(size_t budget) const;
  // The same of all budgets at once.
  [[nodiscard]] std::vector<int64_t> CountHealthy() const;
  // Whether what is shown is what is there.
  absl::Status CheckSound();

  // --- Changing --------------------------------------------------------------------
  // A node like `pattern`.
  size_t AddNode(size_t pattern, const std::string& name, int64_t now_s);
  // A pod by a template.  `workload` kNone: a bare one.  On no node; a pod with a node starts.
  size_t AddPod(size_t pod_template, size_t workload, std::string_view namespace_name,
                std::string name, size_t node, int64_t now_s);
  // A pod of no controller, that asks for little, and runs on the node.
  size_t AddBarePod(std::string name, size_t node, int64_t now_s);
  void Bind(size_t pod, size_t node);
  void StartRunning(size_t pod);
  void Terminate(size_t pod, int64_t now_s);
  void RemovePod(size_t pod);
  // REQUIRES: it has no pods.
  void RemoveNode(size_t node);
  void SetTaints(size_t node, std::optional<int64_t> soft_s, std::optional<int64_t> hard_s);
  // Of another key.  A node that has the key already keeps its taint.
  void PutTaint(size_t node, const std::string& key, const std::string& value,
                const std::string& effect);
  void TakeTaint(size_t node, const std::string& key);
  // From now on the controller wants so many pods.
  void SetWanted(size_t workload, int64_t wanted);

 private:
  using WorkloadKey = std::tuple<std::string, std::string, std::string>;

  size_t TemplateOf(const objects::Pod& pod);
  size_t WorkloadOf(std::string_view namespace_name, std::string_view kind, std::string_view name);
  [[nodiscard]] bool IsHealthy(const SimulatedPod& pod) const {
    return pod.state == SimulatedPod::State::kRunning;
  }
  [[nodiscard]] objects::Pod PodAsIs(size_t pod) const;
  void Show(size_t pod);
  void ShowNode(size_t node);
  static absl::Status WithNode(const SimulatedNode& node,
                               absl::FunctionRef<absl::Status(const objects::Node&)> use);
  void ShowController(size_t workload);
  void Put(const objects::ObjectRef& object, Change::Type type = Change::Type::kPut);

  LiveSnapshot live_{{.match_os = true}};  // Kubelets refuse what is made for another system.
  BudgetKeeper budgets_;
  std::vector<SimulatedNode> nodes_;
  size_t nodes_there_ = 0;
  std::vector<SimulatedPod> pods_;
  std::vector<Workload> workloads_;
  std::vector<PodTemplate> templates_;
  std::vector<UnpackedObject> budget_objects_;
  absl::flat_hash_map<std::string, size_t> nodes_by_name_;
  absl::flat_hash_map<std::string, size_t> templates_by_bytes_;
  std::map<WorkloadKey, size_t> workloads_by_name_;
  size_t bare_template_ = kNone;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SIMULATION_SIMULATED_OBJECTS_H_
