// Drainability: may the pods of a node be moved at all, and which of them must?
//
// The rules are a table read from the top (kRulesBeforeBudgets in the .cc), and budgets come
// last.  The first rule that applies decides about a pod; the first pod that blocks decides
// about its node.
//
// One rule stands before the table and holds on nodes that Karpenter manages alone: a
// pod that Karpenter must not disrupt keeps its node, whatever else the pod is.
//
// Units:   seconds.
// Cost:    O(pods of the node); no allocation where the lists of the result have room.
// Threads: pure.
// Source:  cluster-autoscaler simulator/drain.go GetPodsToMove and
//          simulator/drainability/rules; karpenter pkg/controllers/state/statenode.go
//          ValidatePodsDisruptable.

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

// Values as in the autoscaler.
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
  // ebb's own from here:
  kDoNotDisruptAnnotation,   // The annotation is Karpenter's.
  kWorkloadShareReached,     // PassInput::max_workload_share; no rule says it.
  kPendingPodNotUnderstood,  // The pod is pending and may need the node (PendingHolds).
};
// "NotEnoughPdb".
std::string_view ToString(BlockingPodReason reason);
// The reason that is spelled so; kNoReason: none is.
BlockingPodReason BlockingPodReasonOf(std::string_view text);

// Who manages the nodes of a group, and so whose annotations count there beside the
// autoscaler's.
enum class PoolManager : uint8_t { kClusterAutoscaler, kKarpenter };

struct DrainOptions {
  bool skip_nodes_with_system_pods = true;
  bool skip_nodes_with_local_storage = true;
  bool skip_nodes_with_custom_controller_pods = true;
  // ReplicaSets and ReplicationControllers with fewer replicas keep their nodes.
  int64_t min_replica_count = 0;
  // A kube-system pod without a budget stops blocking at this age.
  int64_t blocking_system_pod_disruption_timeout_s = 3600;

  bool operator==(const DrainOptions&) const = default;
};

enum class DrainOutcome : uint8_t { kUndefined, kDrain, kBlock, kSkip, kWaitForCompletion };

struct DrainVerdict {
  DrainOutcome outcome = DrainOutcome::kUndefined;
  BlockingPodReason reason = BlockingPodReason::kNoReason;  // kBlock.
  std::optional<PdbId> pdb;                                 // kNotEnoughPdb: the budget.
};

// Owned by a DaemonSet, or annotated as if.
bool IsDaemonSetPod(const Catalog& catalog, const PodShape& shape);

// Deleted, and past its grace period by more than 30 seconds.
bool IsLongTerminating(const Catalog& catalog, PodId pod, int64_t now_s);

// Whether the pod keeps any node that Karpenter manages: it is annotated, its protection is not
// over (disruption_protection.h), it has not ended and is not being deleted.  Pods of DaemonSets
// and mirror pods count.
bool IsKeptByKarpenter(const PodShape& shape, int64_t now_s);

// One pod.
DrainVerdict JudgePod(const Catalog& catalog, PodId pod, const DrainOptions& options,
                      const PdbTracker& pdbs, int64_t now_s,
                      PoolManager manager = PoolManager::kClusterAutoscaler);

// One pod, as if there were no budgets and nothing were known of controllers: what the
// autoscaler asks when it sorts empty nodes.
DrainVerdict JudgePodAlone(const Catalog& catalog, PodId pod, const DrainOptions& options,
                           int64_t now_s);

// The first time after `now_s` at which a rule may say otherwise of some pod because
// time went on; the largest number if that never comes.  Cost: O(pods + shapes).
int64_t NextDrainChange(const Catalog& catalog, const DrainOptions& options, int64_t now_s);

struct PodsToMove {
  std::vector<PodId> move;  // In the node's order.
  std::vector<PodId> daemonset;
  std::vector<PodId> on_completion;  // safe-to-evict: "on-completion".

  // The first pod that blocks; then the lists above are unfinished.
  PodId blocking_pod = kNoPod;
  BlockingPodReason reason = BlockingPodReason::kNoReason;
  std::optional<PdbId> pdb;

  [[nodiscard]] bool blocked() const { return blocking_pod != kNoPod; }
  void Clear();
};

// The rules over many pods at one time: what they say of all pods of a shape is
// worked out once.  Only budgets, deletion and age are asked of each pod again.
// Borrows the catalog, and the budgets until the next Renew.
class DrainJudge {
 public:
  DrainJudge(const Catalog& catalog, const DrainOptions& options, const PdbTracker& pdbs,
             int64_t now_s);

  // The same rules at another time, with other budgets and perhaps more shapes: what is known
  // of shapes stays.
  void Renew(const PdbTracker& pdbs, int64_t now_s) {
    verdicts_.resize(catalog_->pod_shapes());
    pdbs_ = &pdbs;
    now_s_ = now_s;
  }

  // As JudgePod where the autoscaler manages the node.
  [[nodiscard]] DrainVerdict Judge(PodId pod);

  // Of the pods of a node.  `result` is cleared first.
  void GetPodsToMove(std::span<const PodId> pods, PodsToMove& result,
                     PoolManager manager = PoolManager::kClusterAutoscaler);

 private:
  struct ShapeVerdict {
    enum class Scope : uint8_t { kUnknown, kShape, kBudgets, kPod };
    Scope scope = Scope::kUnknown;  // What decides: shape alone; its budgets too; each pod.
    bool daemonset = false;
    bool moves = false;  // All of the shape do.
    DrainOutcome outcome = DrainOutcome::kUndefined;
    BlockingPodReason reason = BlockingPodReason::kNoReason;
  };

  // GetPodsToMove, where `next` is the place of the next that moves.
  void AddPodsToMove(std::span<const PodId> pods, PodsToMove& result,
                     std::vector<PodId>::iterator& next, PoolManager manager);
  const ShapeVerdict& VerdictOf(PodId pod, PodShapeId shape) {
    ShapeVerdict& known = verdicts_[Index(shape)];
    if (known.scope == ShapeVerdict::Scope::kUnknown) [[unlikely]]
      Learn(pod, known);
    return known;
  }
  void Learn(PodId pod, ShapeVerdict& known) const;
  DrainVerdict Judge(PodId pod, const ShapeVerdict& of_shape) const;

  const Catalog* catalog_;
  DrainOptions options_;
  const PdbTracker* pdbs_;
  int64_t now_s_;
  std::vector<ShapeVerdict> verdicts_;  // By PodShapeId.
};

}  // namespace ebb

#endif  // EBB_PREDICATES_DRAINABILITY_H_
