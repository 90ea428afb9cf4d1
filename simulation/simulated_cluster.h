// SimulatedCluster: a cluster in memory that behaves as a real one does, under a virtual clock.
//
//   auto cluster = SimulatedCluster::Make(read, groups_of, options);
//   OwnRounds rounds(scale_down, **cluster);
//   Loop loop(rounds, **cluster, loop_options);
//   loop.Turn((*cluster)->now_s());
//   (*cluster)->AdvanceTo((*cluster)->now_s() + 10);
//
// What lives in it:
//  scheduler     binds pending pods (scheduler.h), and tries again those that fit nowhere;
//  controllers   make anew the pods that they lost; a StatefulSet's keep their names, and wait
//                until the old one is gone; DaemonSets put a pod on every new node;
//  disruption    keeps budgets up to date (budget_keeper.h) at any time;
//  kubelets      start pods and end them, each in its time;
//  groups        boot a node where a pod fits nowhere and a node of the group would take it, and
//                for one that vanished.  They keep one node each, the pattern of new ones;
//  load          where options.daily_load is set: Deployments grow and shrink over the day, and
//                pods of Jobs end and are made anew;
//  faults        by options.faults.
//
// It is an Actuator and a ClusterSource.  Nothing happens but in AdvanceTo, which both call with
// the time that they are given.
//
// Deterministic: the same objects, options and calls give the same cluster, as far as the
//                logarithms of C libraries agree.  The load has a draw of its own: it is the same
//                whatever is done to the cluster.
// Errors:        those of the Actuator; Unavailable while the API is away.
// Cost:          O(log events) an event; a pod that is scheduled O(nodes).
// Threads:       one at a time.
// Source:        of evictions and drains cluster-autoscaler core/scaledown/actuation/drain.go.

#ifndef EBB_SIMULATION_SIMULATED_CLUSTER_H_
#define EBB_SIMULATION_SIMULATED_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
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

// What goes wrong, and how often.  All zero: nothing does.
struct SimulatedFaults {
  int64_t eviction_refused_permille = 0;  // Of pods, when they are first to be evicted.
  int64_t eviction_refused_for_s = 180;
  int64_t never_ends_permille = 0;        // Of evicted pods: they end after an hour.
  int64_t taint_fails_permille = 0;       // Of calls to Begin.
  int64_t pod_before_taint_permille = 0;  // Of calls to Begin: a bare pod lands on a node of it.
  int64_t api_away_per_day = 0;
  int64_t api_away_for_s = 30;
  int64_t node_vanishes_per_day = 0;
};

// From, to, both included; in seconds.
struct SimulatedLatency {
  int64_t from_s;
  int64_t to_s;
};

struct SimulatedClusterOptions {
  uint64_t seed = 1;
  int64_t start_s = 0;  // Unix time.
  bool daily_load = false;
  // Groups boot nodes for pods that fit nowhere, and keep one node each.  False: they have as many
  // as they are asked for (Grow), down to none.
  bool groups_grow = true;
  // The same of single groups, by name, once groups are known.  Null: `groups_grow` is for all.
  std::function<bool(std::string_view group)> group_grows = nullptr;
  SimulatedFaults faults;
  SimulatedLatency schedule = {0, 1};
  SimulatedLatency replace = {1, 2};  // A controller that sees that it lost a pod.
  SimulatedLatency start = {2, 15};   // A pod that was bound.
  SimulatedLatency end = {1, 30};     // A pod that was evicted, within its grace period.
  SimulatedLatency boot = {60, 180};
  SimulatedLatency delete_node = {20, 90};
  // Of drains.
  int64_t max_pod_eviction_time_s = 120;
  int64_t max_graceful_termination_s = 600;
  DrainOptions drain;
  // Count every budget's healthy pods before each eviction, one by one.  For tests.
  bool recount_budgets = false;
};

struct SimulationCounts {
  uint64_t evictions = 0;
  uint64_t pdb_refusals = 0;    // Attempts that a budget held.
  uint64_t fault_refusals = 0;  // Attempts that a fault refused.
  uint64_t nodes_deleted = 0;   // By the actuator.
  uint64_t deletions_failed = 0;
  uint64_t nodes_added = 0;
  uint64_t nodes_vanished = 0;
  uint64_t pods_scheduled = 0;
  uint64_t pods_waited = 0;        // That no node took at first.
  int64_t pod_wait_s = 0;          // Of these that found one, all together,
  int64_t pod_wait_max_s = 0;      // and the longest.
  uint64_t planned = 0;            // Pods made for evicted ones whose place a plan foresaw,
  uint64_t landed_as_planned = 0;  // and those that landed there.
  uint64_t killed_with_node = 0;   // Pods that came after the drain.
  std::vector<int64_t> drains_s;   // Of nodes that were drained.
};

class SimulatedCluster : public Actuator, public ClusterSource {
 public:
  using Read = std::function<absl::Status(ObjectSink&)>;
  using GroupsOf = std::function<NodeGroups(const Catalog&)>;

  // Errors: those of `read` and of an object.
  static absl::StatusOr<std::unique_ptr<SimulatedCluster>> Make(
      const Read& read, const GroupsOf& groups_of, const SimulatedClusterOptions& options);

  [[nodiscard]] int64_t now_s() const { return now_s_; }
  // All that happens until then.  A time that has passed changes nothing.
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
  absl::Status Taint(std::string_view node, const NodeTaint& taint, bool put,
                     int64_t now_s) override;
  absl::StatusOr<ActuatorStatus> Status(int64_t now_s) override;
  void Acknowledge(size_t results) override;

  // --- Load from outside ---------------------------------------------------------
  // From now on the ReplicaSet wants so many pods, made as its pods of the input are.  Errors:
  // NotFound; FailedPrecondition when the input has none of its pods; InvalidArgument below zero.
  absl::Status Want(std::string_view namespace_name, std::string_view name, int64_t pods);

  // --- For whoever looks on -----------------------------------------------------
  [[nodiscard]] const SimulationCounts& counts() const { return counts_; }
  [[nodiscard]] size_t nodes() const { return objects_.nodes_there(); }
  [[nodiscard]] size_t deletions() const { return deletions_.size(); }
  // Valid until the next change.
  [[nodiscard]] ClusterSnapshot& Snapshot() { return objects_.Snapshot(); }
  [[nodiscard]] size_t PendingPods() const { return pending_; }
  // All objects, as they are shown now.  Errors: the sink's.
  absl::Status Export(ObjectSink& sink) {
    objects_.Snapshot();  // Budgets as they are now.
    return objects_.Export(sink);
  }
  // What may never be: a pod evicted against its budget, a node that is tainted without a deletion
  // under way, a pod that its controller lost, an object that is not shown as it is.  Evictions
  // against a budget are found only with SimulatedClusterOptions::recount_budgets.
  // Errors: Internal, naming the first.  Cost: O(cluster).
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
  };
  struct Event {
    int64_t at_s;
    uint64_t number;  // Of equal times the first that was asked for is first.
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
    std::map<std::string, std::string> planned;  // Node by a pod's UID.
  };
  struct Group {
    NodeGroup group;
    size_t pattern = kNone;
    bool grows = true;  // By itself.
    bool gpu_label = false;
    int64_t nodes = 0;  // That are there.
    int64_t booting = 0;
    // Room on nodes that boot, per node: CPU, memory, pods.
    std::vector<std::vector<int64_t>> room;
  };

  struct Waiting {
    int64_t booted = 0;            // Nodes, for its sake.
    int64_t has_room_until_s = 0;  // On a node that boots.
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
  [[nodiscard]] bool GroupTakes(size_t group, const ClusterSnapshot& snapshot, PodId pod);
  void Boot(size_t group);
  void NodeUp(size_t group);
  void ChangeLoad();
  void SetWanted(size_t workload, int64_t wanted);
  void EndJobPod(size_t workload);
  void Vanish();
  void EmptyNode(size_t node, bool killed);

  // simulated_cluster.cc
  [[nodiscard]] absl::Status Reach(int64_t now_s);
  const NodeGroups& GroupsNow(const ClusterSnapshot& snapshot);
  absl::StatusOr<Deletion*> Find(std::string_view node);
  void Fail(Deletion& deletion, std::string why);
  void GoOnDraining(size_t node);
  // Empty: it was evicted.
  std::string TryEvict(size_t pod, const Deletion& deletion);
  void Evict(size_t pod, const Deletion& deletion);
  void EndDeletion(const std::string& node, bool ok, std::string why);
  void NodeGone(size_t node);

  const SimulatedClusterOptions options_;
  SimulatedObjects objects_;
  SimulatedScheduler scheduler_;
  Random random_;
  Random load_random_;
  int64_t now_s_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t events_made_ = 0;
  int64_t api_away_until_s_ = 0;

  std::vector<Group> groups_;
  // Of the last observation, and the catalog that it is of.
  NodeGroups observed_;
  uint64_t observed_lineage_ = 0;
  uint64_t observed_nodes_ = 0;
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
