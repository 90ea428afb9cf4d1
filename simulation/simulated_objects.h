// SimulatedObjects: the nodes, pods and controllers of a cluster in memory, and the LiveSnapshot
// that shows them.  Every change of an object is made to the LiveSnapshot too.
//
// It makes no decisions; the SimulatedCluster does.  A node or pod keeps its number forever; one
// that is gone stays in the list and is marked as gone.
//
// Pods that are alike share a template, from which new pods are made.  Pods that have ended when
// the cluster is read, and expendable pods, are left out.
//
// Errors:  those of the LiveSnapshot for an object of the input.  Objects made here are like those
//          of the input; that the LiveSnapshot rejects one is a bug.
// Threads: not thread-safe.

#ifndef EBB_SIMULATION_SIMULATED_OBJECTS_H_
#define EBB_SIMULATION_SIMULATED_OBJECTS_H_

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
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "predicates/drainability.h"
#include "simulation/budget_keeper.h"
#include "simulation/simulated_devices.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/live_snapshot.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

inline constexpr size_t kNone = ~size_t{0};

struct PodTemplate {
  UnpackedObject object;        // Without the fields of a single pod: names, times, node.
  std::vector<size_t> budgets;  // The budgets that match such pods.
  int64_t grace_s = 30;
  // For each of the pod's resourceClaims that is made from a ResourceClaimTemplate: a claim of it.
  // Null: the pod names the claim itself, or no claim of the template was read.
  std::vector<std::shared_ptr<const UnpackedObject>> claims = {};
};

struct SimulatedPod {
  enum class State : uint8_t { kPending, kStarting, kRunning, kTerminating, kGone };
  std::string namespace_name;
  std::string name;
  std::string uid;
  size_t pod_template = kNone;
  size_t workload = kNone;  // kNone: no controller replaces the pod.
  size_t node = kNone;
  State state = State::kPending;
  int64_t created_s = 0;
  int64_t deletion_s = 0;         // kTerminating.
  std::string planned_node = {};  // The node that a plan had for the pod that this one replaces.
  bool had_to_wait = false;       // No node took it at first.
  int64_t evictions_refused_until_s = 0;  // Because of a fault; -1: not drawn yet.
  // The names of its claims, one for each of its resourceClaims; empty: it has no such claim.
  std::vector<std::string> claims = {};
};

struct SimulatedNode {
  std::string name;
  std::string uid;
  std::shared_ptr<const UnpackedObject> object;  // For a node that was added: its pattern.
  size_t group = kNone;                          // Of the cluster's groups; kNone: no group.
  bool there = true;
  int64_t created_s = 0;
  std::optional<int64_t> soft_taint_s;  // From the input, or put by the loop.
  std::optional<int64_t> hard_taint_s;  // Put by the loop only.
  // Taints of policies, by key: value and effect; nullopt: the taint of the input was removed.
  std::map<std::string, std::optional<std::pair<std::string, std::string>>> taints = {};
  std::set<size_t> pods;
};

// A controller and the pods that it wants.
struct Workload {
  // A pod that is to be replaced.
  struct Lost {
    std::string name;  // The name of the lost pod.
    size_t pod_template;
    std::string planned_node;
  };
  std::string namespace_name;
  std::string kind;  // "ReplicaSet"
  std::string name;
  std::unique_ptr<UnpackedObject> object;  // Null: the cluster has no such object.
  int64_t base = 0;                        // Pods at the start.
  int64_t wanted = 0;
  std::set<size_t> pods;  // Pods that are not terminating.
  std::deque<Lost> lost;
  size_t pod_template = kNone;
  uint64_t made = 0;  // The number of pods made so far, for their names.

  [[nodiscard]] bool IsDaemonSet() const { return kind == "DaemonSet"; }
  // Its pods are made for a node and go with it.  This includes static pods, whose owner is the
  // node.
  [[nodiscard]] bool IsOfNodes() const { return IsDaemonSet() || kind == "Node"; }
  [[nodiscard]] bool KeepsNames() const { return kind == "StatefulSet"; }
};

class SimulatedObjects : public ObjectSink {
 public:
  // `scheduler`: the configuration of the scheduler; null: the default one.
  explicit SimulatedObjects(std::shared_ptr<const SchedulerConfig> scheduler = nullptr)
      : live_({.match_os = true, .scheduler = std::move(scheduler)}) {}

  // --- Reading the cluster --------------------------------------------------------
  absl::Status OnNode(const objects::Node& node) override;
  absl::Status OnPod(const objects::Pod& pod) override;
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override;
  absl::Status OnController(const objects::Controller& controller) override;
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override;
  absl::Status OnStorageObject(const objects::StorageObject& object) override;
  // To be called after everything was read: matches budgets with pods, and terminating pods with
  // their end.
  void Settle();

  // --- Reading the state -----------------------------------------------------------
  [[nodiscard]] const std::vector<SimulatedNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<SimulatedPod>& pods() const { return pods_; }
  [[nodiscard]] const std::vector<Workload>& workloads() const { return workloads_; }
  [[nodiscard]] const std::vector<PodTemplate>& templates() const { return templates_; }
  [[nodiscard]] const BudgetKeeper& budgets() const { return budgets_; }
  [[nodiscard]] const LiveCounts& live_counts() const { return live_.counts(); }
  SimulatedNode& node(size_t number) { return nodes_[number]; }
  SimulatedPod& pod(size_t number) { return pods_[number]; }
  Workload& workload(size_t number) { return workloads_[number]; }
  [[nodiscard]] size_t nodes_there() const { return nodes_there_; }
  // kNone: no such node.
  [[nodiscard]] size_t FindNode(std::string_view name) const;
  [[nodiscard]] bool HasPod(const std::string& namespace_name, const std::string& name) {
    return live_.FindPod(namespace_name, name) != kNoPod;
  }
  // Whether drains ignore the pod because it belongs to its node.
  [[nodiscard]] bool IsSkipped(size_t pod) {
    const PodId id = IdOf(pod);
    const Catalog& catalog = live_.Snapshot().catalog();
    const PodShape& shape = catalog.shape_of(id);
    return shape.mirror || shape.static_pod || IsDaemonSetPod(catalog, shape);
  }
  // CPU, memory, pods and devices that fit on a new node of this pattern, beside the pods of these
  // DaemonSets.
  [[nodiscard]] std::vector<int64_t> RoomOfEmpty(const SimulatedNode& pattern,
                                                 const std::set<size_t>& daemon_sets);
  // How many devices its claims request that are not allocated.
  [[nodiscard]] int64_t DevicesRequested(size_t pod) const;
  // The value of a label that the input set; "": it has none.
  [[nodiscard]] std::string_view LabelOf(const SimulatedNode& node, std::string_view key) const;
  // How many devices a new node of this pattern has.
  [[nodiscard]] int64_t DevicesOf(const SimulatedNode& pattern) const;
  // REQUIRES: the node is in the cluster.
  [[nodiscard]] size_t NumberOf(NodeId node);
  // REQUIRES: the pod is in the cluster.
  [[nodiscard]] PodId IdOf(size_t pod);
  // Sends the nodes and pods that are in the cluster to `sink`.  Cost: O(pods).
  absl::Status ShowAll(ObjectSink& sink) const;
  // The snapshot, with budgets in their current state.
  ClusterSnapshot& Snapshot();
  std::vector<PodId> Pending() { return live_.Pending(); }
  absl::Status Export(ObjectSink& sink) { return live_.Export(sink); }
  // The number of healthy pods that the budget matches, by a full count.  Cost: O(pods).
  [[nodiscard]] int64_t CountHealthy(size_t budget) const;
  // The same for all budgets at once.
  [[nodiscard]] std::vector<int64_t> CountHealthy() const;
  // Checks that the snapshot shows the current state.
  absl::Status CheckSound();

  // --- Changing --------------------------------------------------------------------
  // Adds a node like `pattern`, with devices like those that the pattern had at the start.
  size_t AddNode(size_t pattern, const std::string& name, int64_t now_s);
  // Adds a pod made from a template, and its claims.  `workload` kNone: a bare pod.  `node` kNone:
  // the pod is pending; else it starts there, unless the node lacks devices for its claims.
  size_t AddPod(size_t pod_template, size_t workload, std::string_view namespace_name,
                std::string name, size_t node, int64_t now_s);
  // Adds a pod without a controller, with small requests, that runs on the node.
  size_t AddBarePod(std::string name, size_t node, int64_t now_s);
  // Also allocates the pod's claims.  Returns false, and changes nothing, if the node lacks devices
  // for them.
  bool Bind(size_t pod, size_t node);
  void StartRunning(size_t pod);
  void Terminate(size_t pod, int64_t now_s);
  void RemovePod(size_t pod);
  // REQUIRES: the node has no pods.
  void RemoveNode(size_t node);
  void SetTaints(size_t node, std::optional<int64_t> soft_s, std::optional<int64_t> hard_s);
  // Puts a taint with another key than the soft and hard taints.  If the node has a taint with the
  // key, that taint is not changed.
  void PutTaint(size_t node, const std::string& key, const std::string& value,
                const std::string& effect);
  void TakeTaint(size_t node, const std::string& key);
  // From now on the controller wants `wanted` pods.
  void SetWanted(size_t workload, int64_t wanted);

  struct WorkloadNames {
    std::string namespace_name;
    std::string name;
    // Labels of its pods and of itself, in place of those of these keys; its UID is
    // "uid-of-<name>".
    std::vector<std::pair<std::string_view, std::string_view>> labels;
  };
  // Adds a controller of the kind of `like`, whose pods are like those of `like`.  It wants no
  // pods.  REQUIRES: `like` has a pod template.
  size_t AddWorkloadLike(size_t like, const WorkloadNames& names);
  // Removes the object of a controller.  REQUIRES: it wants no pods.
  void RemoveController(size_t workload);
  void AddNamespace(const std::string& name, int64_t now_s);
  void RemoveNamespace(const std::string& name);
  // As BudgetKeeper::AllowMissing.
  void AllowMissing(size_t budget, int64_t more) { budgets_.AllowMissing(budget, more); }

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

  void Put(const objects::StorageObject& object, bool gone);
  // The claims of the pod's resourceClaims, in their order.
  [[nodiscard]] const std::vector<objects::PodResourceClaim>& ClaimsOf(
      const SimulatedPod& pod) const;
  void MakeClaims(size_t pod, int64_t now_s);
  void LeaveClaims(size_t pod, bool removes_own);
  [[nodiscard]] static SimulatedDevices::PodName NameOf(const SimulatedPod& pod);

  // Kubelets reject pods made for another operating system.
  LiveSnapshot live_;
  SimulatedDevices devices_;
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

#endif  // EBB_SIMULATION_SIMULATED_OBJECTS_H_
