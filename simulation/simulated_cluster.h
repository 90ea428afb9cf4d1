// SimulatedCluster: a cluster in memory that behaves like a real one, under a virtual clock.
//
//   auto cluster = SimulatedCluster::Make(read, groups_of, options);
//   OwnRounds rounds(scale_down, **cluster);
//   Loop loop(rounds, **cluster, loop_options);
//   loop.Turn((*cluster)->now_s());
//   (*cluster)->AdvanceTo((*cluster)->now_s() + 10);
//
// What it simulates:
//  scheduler     binds pending pods (scheduler.h), and retries pods that fit nowhere;
//  controllers   replace the pods that they lost.  StatefulSets keep the names of pods, and wait
//                until the old pod is gone.  DaemonSets put a pod on every new node if they have
//                one on the pattern of its group;
//  disruption    keeps PodDisruptionBudgets up to date at all times (budget_keeper.h);
//  kubelets      start and end pods, which takes time;
//  groups        boot a node for a pod that fits nowhere if a node of the group would take it, and
//                for a node that vanished.  Each keeps one node, the pattern for new ones;
//  load          if options.daily_load is set, Deployments grow and shrink over the day, and pods
//                of Jobs end and are replaced;
//  churn         if options.churn is set (simulated_churn.cc), Deployments get new versions each
//                hour, CronJobs run, preview namespaces come and go, and budgets change;
//  faults        according to options.faults.
//
// It is an Actuator and a ClusterSource.  Events happen only in AdvanceTo; the functions of both
// interfaces call it with the time that they are given.
//
// Deterministic: the same objects, options and calls give the same cluster, as far as the
//                logarithms of C libraries agree.  Load and churn have their own random
//                generators: they do not depend on what is done to the cluster.
// Errors:        those of the Actuator; Unavailable while the API is unavailable.
// Cost:          O(log events) for each event; O(nodes) for each scheduled pod.
// Threads:       one at a time.
// Source:        for evictions and drains, cluster-autoscaler core/scaledown/actuation/drain.go.

#ifndef EBB_SIMULATION_SIMULATED_CLUSTER_H_
#define EBB_SIMULATION_SIMULATED_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "loop/actuator.h"
#include "loop/loop.h"
#include "predicates/drainability.h"
#include "simulation/scheduler.h"
#include "simulation/simulated_objects.h"

namespace ebb {

inline constexpr int64_t kDayS = 86400;

// Faults and how often they happen.  `permille`: a share in thousandths.  All zero: no faults.
struct SimulatedFaults {
  int64_t eviction_refused_permille = 0;  // Pods whose first eviction is refused.
  int64_t eviction_refused_for_s = 180;
  int64_t never_ends_permille = 0;   // Evicted pods that end only after an hour.
  int64_t taint_fails_permille = 0;  // Calls to Begin that fail.
  // Calls to Begin before which a pod without a controller (a bare pod) lands on one of the nodes.
  int64_t pod_before_taint_permille = 0;
  int64_t api_away_per_day = 0;
  int64_t api_away_for_s = 30;
  int64_t node_vanishes_per_day = 0;
};

// A range in seconds, both ends included.
struct SimulatedLatency {
  int64_t from_s;
  int64_t to_s;
};

struct SimulatedClusterOptions {
  uint64_t seed = 1;
  int64_t start_s = 0;  // Unix time.
  bool daily_load = false;
  // With `daily_load`: the initial pods are those of the load at the start.  False: those of the
  // average load.
  bool load_is_of_start = false;
  bool churn = false;
  // True: groups boot nodes for pods that fit nowhere, and keep at least one node.  False: they
  // have as many nodes as Grow requests, possibly none.
  bool groups_grow = true;
  // The same for single groups, by name.  Null: `groups_grow` applies to all.
  std::function<bool(std::string_view group)> group_grows = nullptr;
  SimulatedFaults faults;
  // Latencies of the model; no measurement of a real cluster is on record for them.
  SimulatedLatency schedule = {0, 1};
  SimulatedLatency replace = {1, 2};  // Until a controller notices that it lost a pod.
  SimulatedLatency start = {2, 15};   // Until a bound pod runs.
  SimulatedLatency end = {1, 30};     // Until an evicted pod ends, at most its grace period.
  SimulatedLatency boot = {60, 180};
  SimulatedLatency delete_node = {20, 90};
  // Limits of drains.
  int64_t max_pod_eviction_time_s = 120;
  int64_t max_graceful_termination_s = 600;
  DrainOptions drain;
  // The configuration of the scheduler, whose profiles place the pods; null: the default one.
  std::shared_ptr<const SchedulerConfig> scheduler = nullptr;
  // Tests only: count the healthy pods of every budget before each eviction.
  bool recount_budgets = false;
};

struct SimulationCounts {
  uint64_t evictions = 0;
  uint64_t pdb_refusals = 0;    // Evictions that a budget prevented.
  uint64_t fault_refusals = 0;  // Evictions that a fault prevented.
  uint64_t nodes_deleted = 0;   // By the actuator.
  uint64_t deletions_failed = 0;
  uint64_t nodes_added = 0;   // By groups.
  uint64_t nodes_bought = 0;  // By the loop (loop/buyer.h).
  uint64_t nodes_vanished = 0;
  uint64_t rollouts = 0;
  uint64_t cron_jobs = 0;
  uint64_t previews = 0;
  uint64_t budget_changes = 0;
  uint64_t pods_scheduled = 0;
  uint64_t pods_waited = 0;    // Pods that no node took at first.
  int64_t pod_wait_s = 0;      // The sum of the waiting times of pods that found a node,
  int64_t pod_wait_max_s = 0;  // and the longest.
  uint64_t planned = 0;        // Replacements of evicted pods for which a plan had a destination,
  uint64_t landed_as_planned = 0;  // and how many of them landed there.
  uint64_t killed_with_node = 0;   // Pods that came after the drain.
  std::vector<int64_t> drains_s;   // The duration of each drain.
};

class SimulatedCluster : public Actuator, public ClusterSource {
 public:
  using Read = std::function<absl::Status(ObjectSink&)>;
  using GroupsOf = std::function<NodeGroups(const Catalog&)>;

  // Errors: those of `read`, and those of an invalid object.
  static absl::StatusOr<std::unique_ptr<SimulatedCluster>> Make(
      const Read& read, const GroupsOf& groups_of, const SimulatedClusterOptions& options);

  [[nodiscard]] int64_t now_s() const { return now_s_; }
  // Processes all events until `time_s`.  Does nothing if that time has passed.
  void AdvanceTo(int64_t time_s);

  // --- ClusterSource ------------------------------------------------------------
  absl::StatusOr<Observation> Observe(int64_t now_s) override;

  // --- Actuator -----------------------------------------------------------------
  absl::Status SoftTaint(std::string_view node, bool taint, int64_t now_s) override;
  absl::Status Begin(std::span<const DeletionOrder> orders, int64_t now_s) override;
  absl::Status Drain(std::string_view node, int64_t now_s) override;
  absl::Status Delete(std::string_view node, int64_t now_s) override;
  absl::Status RollBack(std::string_view node, std::string_view why, int64_t now_s) override;
  absl::Status Grow(std::string_view group, int64_t size, int64_t now_s) override;
  // Boots nodes like one of the group with this instance type, zone and capacity type.
  absl::StatusOr<std::vector<BoughtMachine>> Buy(std::span<const MachineOrder> orders,
                                                 int64_t now_s) override;
  absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                     int64_t now_s) override;
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override;
  void Acknowledge(size_t results) override;

  // --- Load from outside ---------------------------------------------------------

  // From now on the ReplicaSet wants `pods` pods; new pods are like those of the input.
  // Errors: NotFound; FailedPrecondition if the input has no pod of it; InvalidArgument if `pods`
  // is negative.
  absl::Status Want(std::string_view namespace_name, std::string_view name, int64_t pods);

  // --- For observers ---------------------------------------------------------------
  [[nodiscard]] const SimulationCounts& counts() const { return counts_; }
  // Of the LiveSnapshot that shows the objects.
  [[nodiscard]] const LiveCounts& live_counts() const { return objects_.live_counts(); }
  [[nodiscard]] size_t nodes() const { return objects_.nodes_there(); }
  [[nodiscard]] size_t deletions() const { return deletions_.size(); }
  // Valid until the next change.
  [[nodiscard]] ClusterSnapshot& Snapshot() { return objects_.Snapshot(); }
  [[nodiscard]] size_t PendingPods() const { return pending_; }
  // Sends all objects in their current state to `sink`.  Errors: those of the sink.
  absl::Status Export(ObjectSink& sink) {
    objects_.Snapshot();  // Updates budgets.
    return objects_.Export(sink);
  }
  // Checks what must never happen: a pod was evicted against its budget, a node is tainted without
  // a running deletion, a controller has lost count of a pod, an object is not shown in its current
  // state.  Evictions against a budget are found only with
  // SimulatedClusterOptions::recount_budgets.
  // Errors: Internal, naming the first violation.
  // Cost: O(cluster).
  absl::Status CheckSound();

 private:
  enum class Kind : uint8_t {
    kSchedule,
    kStart,
    kEnd,  // Of a terminating pod.
    kReplace,
    kDrain,
    kNodeGone,
    kNodeUp,
    kGrow,
    kLoad,
    kApiAway,
    kVanish,
    kBareEnds,
    kRollouts,
    kRolloutStep,
    kCron,
    kPreview,
    kPreviewEnds,
    kWorkloadEnds,
    kBudgets,
  };
  struct Event {
    int64_t at_s;
    uint64_t number;  // Events of equal times happen in the order in which they were made.
    Kind kind;
    size_t what;
    int64_t detail;
    bool operator>(const Event& other) const {
      return at_s != other.at_s ? at_s > other.at_s : number > other.number;
    }
  };
  struct Deletion {
    DeletionOrder order;
    size_t node;
    DeletionPhase phase = DeletionPhase::kTainted;
    int64_t since_s = 0;
    std::string why;
    std::vector<size_t> to_evict;
    std::map<std::string, std::string> planned;  // The plan's node, by the pod's UID.
  };
  struct Group {
    NodeGroup group;
    size_t pattern = kNone;
    bool grows = true;  // Boots nodes for pods that fit nowhere.
    bool gpu_label = false;
    std::set<size_t> daemon_sets = {};  // Workloads that have a pod on each new node.
    int64_t nodes = 0;                  // Nodes in the cluster.
    int64_t booting = 0;
    // For each booting node, the room that waiting pods have not taken: CPU, memory, pods, devices.
    std::vector<std::vector<int64_t>> room;
  };

  struct Waiting {
    int64_t booted = 0;            // Nodes that were booted for it.
    int64_t has_room_until_s = 0;  // Until then, room on a booting node is reserved for it.
  };

  explicit SimulatedCluster(const SimulatedClusterOptions& options);
  void TakeGroups(const NodeGroups& groups);
  void StartEvents();

  void At(int64_t time_s, Kind kind, size_t what = 0, int64_t detail = 0);
  int64_t Draw(const SimulatedLatency& latency);
  bool Chance(int64_t permille);
  void Handle(const Event& event);

  // simulated_workloads.cc
  void Schedule(size_t pod, int64_t tries);
  void Replace(size_t workload);
  void Lose(size_t pod, std::string planned_node);
  void AddPending(size_t pod);
  void Grow();
  bool TakeUpcomingRoom(Group& group, const std::vector<int64_t>& asked);
  [[nodiscard]] bool GroupTakes(size_t group, const ClusterSnapshot& snapshot, PodId pod,
                                int64_t devices);
  // `bought`: the place in bought_, from 1; 0: the node is one of a group that grows by itself.
  void Boot(size_t group, size_t bought = 0);
  void NodeUp(size_t group, size_t bought);
  void ChangeLoad();
  void SetWanted(size_t workload, int64_t wanted);
  void EndJobPod(size_t workload);
  void Vanish();
  void EmptyNode(size_t node, bool killed);

  // simulated_churn.cc
  void StartChurn();
  int64_t DrawChurn(const SimulatedLatency& latency);
  std::string DrawHash();
  void BeginRollouts();
  void StepRollout(size_t next, size_t old);
  void RunCronJobs();
  void BeginPreview();
  void EndPreview(size_t number);
  void EndWorkload(size_t workload);
  void ChangeBudgets();

  // simulated_cluster.cc
  [[nodiscard]] absl::Status Reach(int64_t now_s);
  const NodeGroups& GroupsNow(const ClusterSnapshot& snapshot);
  absl::StatusOr<Deletion*> Find(std::string_view node);
  void Fail(Deletion& deletion, std::string why);
  void GoOnDraining(size_t node);
  // Returns why the pod was not evicted; empty: it was.
  std::string TryEvict(size_t pod, const Deletion& deletion);
  void Evict(size_t pod, const Deletion& deletion);
  void EndDeletion(const std::string& node, bool ok, std::string why);
  void NodeGone(size_t node);

  const SimulatedClusterOptions options_;
  SimulatedObjects objects_;
  SimulatedScheduler scheduler_;
  Random random_;
  Random load_random_;
  Random churn_random_;
  int64_t now_s_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t events_made_ = 0;
  int64_t api_away_until_s_ = 0;

  std::vector<size_t> deployments_;  // The newest workload of each; used for churn.
  std::vector<size_t> jobs_;         // Jobs of the input; used for churn.
  std::vector<Group> groups_;
  // Groups of the last observation, and what identifies its catalog.
  NodeGroups observed_;
  uint64_t observed_lineage_ = 0;
  uint64_t observed_nodes_ = 0;
  struct Bought {
    std::string id;  // Of the order.
    size_t pattern = kNone;
    std::string node = {};  // "" until it is up.
  };
  std::vector<Bought> bought_;
  uint64_t nodes_named_ = 0;
  uint64_t bare_named_ = 0;
  size_t pending_ = 0;
  std::map<size_t, Waiting> waiting_;  // Pods that fit nowhere.

  std::map<std::string, Deletion> deletions_;
  std::vector<DeletionResult> results_;
  std::vector<EvictedPod> evicted_;
  std::vector<ScaleEvent> scale_events_;
  SimulationCounts counts_;
  std::vector<std::string> violations_;
};

}  // namespace ebb

#endif  // EBB_SIMULATION_SIMULATED_CLUSTER_H_
