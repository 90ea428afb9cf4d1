// Drainability: may the pods of a node be moved at all, and which of them must?
//
// The rules are a table (kRulesBeforeBudgets in the .cc) and are evaluated in its order; budgets
// come last.  The first rule that applies decides for the pod.  The first pod that blocks decides
// for its node.
//
// One rule comes before the table and applies only to nodes that Karpenter manages: a pod that
// Karpenter must not disrupt keeps its node, whatever else is true of the pod.
//
// With PoolManager::kKarpenterRules, Karpenter's rules replace the table: budgets decide about
// every pod that Karpenter evicts (DaemonSet pods too; a pod that several budgets match keeps its
// node), and pods that have ended or are being deleted stay out of the way.  Of the table only the
// rule on gangs remains, which is ebb's own.
//
// Units:   seconds.
// Cost:    O(pods of the node); no allocation where the lists of the result have room.
// Threads: pure functions; a DrainRules is not thread-safe, because it caches verdicts.
// Source:  cluster-autoscaler simulator/drain.go GetPodsToMove and
//          simulator/drainability/rules; karpenter pkg/controllers/state/statenode.go
//          ValidatePodsDisruptable, pkg/utils/pod/scheduling.go, pkg/utils/pdb/pdb.go (1.14.3).

#ifndef EBB_PREDICATES_DRAINABILITY_H_
#define EBB_PREDICATES_DRAINABILITY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "predicates/pdb_tracker.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// The numeric values are those of the autoscaler.
enum class BlockingPodReason : uint8_t {
  kNoReason = 0,
  kControllerNotFound,
  kMinReplicasReached,
  kNotReplicated,
  kLocalStorageRequested,
  kNotSafeToEvictAnnotation,
  kUnmovableKubeSystemPod,
  kNotEnoughPdb,
  kUnexpectedError,
  // From here on: reasons that only ebb has.
  kDoNotDisruptAnnotation,   // Karpenter's annotation.
  kWorkloadShareReached,     // From PassInput::max_workload_share, not from a rule.
  kPendingPodNotUnderstood,  // The pod is pending and may need the node (PendingHolds).
  kPodOfGang,                // The pod's gang runs only as a whole (snapshot/gangs.h).
  kSeveralPdbs,              // Karpenter's rule: several budgets match the pod.
  kEvictionRequested,        // An EvictionRequest asks for the pod's eviction.
};
// "NotEnoughPdb".
std::string_view ToString(BlockingPodReason reason);
// Inverse of ToString.  Returns kNoReason if no reason has this name.
BlockingPodReason BlockingPodReasonOf(std::string_view text);

// Who manages the nodes of a group, and so whose rules hold for them.
enum class PoolManager : uint8_t {
  kClusterAutoscaler,
  kKarpenter,       // Karpenter's annotations count in addition to the autoscaler's rules.
  kKarpenterRules,  // Karpenter's rules hold instead of the autoscaler's (engine/plan/karpenter.h).
};

// What becomes of the pods of gangs (snapshot/gangs.h).
enum class Gangs : uint8_t {
  kKeep,    // A gang keeps the nodes of its pods.
  kMove,    // All pods of a gang move in one plan, or none (engine/plan/gang_parts.h).
  kIgnore,  // Each pod is moved as if it stood alone, as in the autoscaler.
};

struct DrainOptions {
  bool skip_nodes_with_system_pods = true;
  bool skip_nodes_with_local_storage = true;
  bool skip_nodes_with_custom_controller_pods = true;
  // A pod of a ReplicaSet or ReplicationController with fewer replicas keeps its node.
  int64_t min_replica_count = 0;
  // A kube-system pod without a budget stops blocking at this age.
  int64_t blocking_system_pod_disruption_timeout_s = 3600;
  Gangs gangs = Gangs::kKeep;

  bool operator==(const DrainOptions&) const = default;
};

// What the rules say about a pod:
//   kUndefined          no rule applies, so the pod must be moved;
//   kDrain              it must be moved, or it is a DaemonSet's pod and goes with its node;
//   kBlock              it keeps its node;
//   kSkip               drains ignore it;
//   kWaitForCompletion  its node goes only after the pod has ended.
enum class DrainOutcome : uint8_t { kUndefined, kDrain, kBlock, kSkip, kWaitForCompletion };

struct DrainVerdict {
  DrainOutcome outcome = DrainOutcome::kUndefined;
  BlockingPodReason reason = BlockingPodReason::kNoReason;  // Set for kBlock.
  std::optional<PdbId> pdb;  // Set for kNotEnoughPdb: the budget that blocks.
};

// Whether a DaemonSet owns the pod, or an annotation asks to treat it as a DaemonSet's pod.
bool IsDaemonSetPod(const Catalog& catalog, const PodShape& shape);

// Whether the pod goes with its node by Karpenter's rules: a DaemonSet owns it.
bool IsDaemonSetPodOfKarpenter(const Catalog& catalog, const PodShape& shape);

// Whether the pod was deleted and its grace period ended more than 30 seconds ago.
bool IsLongTerminating(const Catalog& catalog, PodId pod, int64_t now_s);

// Whether the pod keeps its node if Karpenter manages the node: the pod is annotated, its
// protection is not over (disruption_protection.h), and it has not finished and is not being
// deleted.  DaemonSet pods and mirror pods are not exempt.
bool IsKeptByKarpenter(const PodShape& shape, int64_t now_s);

// Applies all rules and the budgets to one pod.
DrainVerdict ApplyDrainRules(const Catalog& catalog, PodId pod, const DrainOptions& options,
                             const PdbTracker& pdbs, int64_t now_s,
                             PoolManager manager = PoolManager::kClusterAutoscaler);

// Applies the rules to one pod without budgets and without looking up its controller, as the
// autoscaler does when it sorts empty nodes.
DrainVerdict ApplyDrainRulesAlone(const Catalog& catalog, PodId pod, const DrainOptions& options,
                                  int64_t now_s);

// The first time after `now_s` at which the verdict on some pod may change merely because time
// passes; the largest int64 if there is no such time.  Cost: O(pods + shapes).
int64_t NextDrainChange(const Catalog& catalog, const DrainOptions& options, int64_t now_s);

struct PodsToMove {
  std::vector<PodId> move;  // In the node's order.
  std::vector<PodId> daemonset;
  std::vector<PodId> on_completion;  // safe-to-evict: "on-completion".

  // The first pod that blocks the node.  If it is set, the lists above are incomplete.
  PodId blocking_pod = kNoPod;
  BlockingPodReason reason = BlockingPodReason::kNoReason;
  std::optional<PdbId> pdb;

  [[nodiscard]] bool blocked() const { return blocking_pod != kNoPod; }
  void Clear();
};

// Applies the rules to many pods at one time.  The verdict on a shape is computed once and used
// for all its pods; only budgets, deletion times and ages are checked again for each pod.
// Ownership: borrows the catalog, and borrows the budgets until the next Renew.
class DrainRules {
 public:
  DrainRules(const Catalog& catalog, const DrainOptions& options, const PdbTracker& pdbs,
             int64_t now_s);

  // Continues with another time, other budgets and possibly more shapes.  Cached verdicts on
  // shapes are kept.
  void Renew(const PdbTracker& pdbs, int64_t now_s) {
    verdicts_.resize(catalog_->pod_shapes());
    pdbs_ = &pdbs;
    now_s_ = now_s;
  }

  // The verdict of ApplyDrainRules with PoolManager::kClusterAutoscaler.
  [[nodiscard]] DrainVerdict Apply(PodId pod);

  // Sorts the pods of a node into the lists of `result`, which is cleared first.  Pods that a
  // drain skips (mirror pods, long terminating pods) are in none of the lists.
  void GetPodsToMove(std::span<const PodId> pods, PodsToMove& result,
                     PoolManager manager = PoolManager::kClusterAutoscaler);

 private:
  struct ShapeVerdict {
    enum class Scope : uint8_t { kUnknown, kShape, kBudgets, kPod };
    Scope scope = Scope::kUnknown;  // What decides: shape; shape and budgets; each pod.
    bool daemonset = false;
    bool moves = false;  // Every pod of the shape must be moved.
    DrainOutcome outcome = DrainOutcome::kUndefined;
    BlockingPodReason reason = BlockingPodReason::kNoReason;
  };

  // The loop of GetPodsToMove.  `next` is where the next pod to move is written.
  void AddPodsToMove(std::span<const PodId> pods, PodsToMove& result,
                     std::vector<PodId>::iterator& next, PoolManager manager);
  // GetPodsToMove with PoolManager::kKarpenterRules.
  void AddPodsOfKarpenter(std::span<const PodId> pods, PodsToMove& result);
  const ShapeVerdict& VerdictOf(PodId pod, PodShapeId shape) {
    ShapeVerdict& known = verdicts_[Index(shape)];
    if (known.scope == ShapeVerdict::Scope::kUnknown) [[unlikely]]
      Learn(pod, known);
    return known;
  }
  void Learn(PodId pod, ShapeVerdict& known) const;
  DrainVerdict Apply(PodId pod, const ShapeVerdict& of_shape) const;

  const Catalog* catalog_;
  DrainOptions options_;
  const PdbTracker* pdbs_;
  int64_t now_s_;
  std::vector<ShapeVerdict> verdicts_;  // By PodShapeId.
};

}  // namespace ebb

#endif  // EBB_PREDICATES_DRAINABILITY_H_
