// PlanRules: what a removed node and its pods must be, whatever the other nodes are.
//
// Verify and PlanCertificates (certified_plan.h) share it: which nodes may be removed, which pods
// must move with them, where pods may not be placed at all, and which budgets match which pods.
// Where pods are, and what is left of nodes and budgets, the callers know.
//
// Cost:      CheckEligible and CheckPods O(pods of the node); a shape costs more on first use.
// Threads:   one at a time: shapes are judged on first use.
// Ownership: borrows everything that it is made from, until the next Renew.

#ifndef EBB_ENGINE_VERIFY_PLAN_RULES_H_
#define EBB_ENGINE_VERIFY_PLAN_RULES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "engine/verify/slow_matches.h"
#include "engine/verify/slow_node_pools.h"
#include "predicates/drainability.h"
#include "predicates/pdb_tracker.h"

namespace ebb {

// "the plan is refused: <parts>", an Internal error.
template <typename... Parts>
absl::Status RefusePlan(const Parts&... parts) {
  return absl::InternalError(absl::StrCat("the plan is refused: ", parts...));
}

class PlanRules {
 public:
  PlanRules(const Catalog& catalog, const NodeGroups& groups, const PlannerOptions& options,
            const PassInput& input, SlowMatches& matches);

  // Continues with another question about the same nodes, shapes and budgets.  `catalog` is a later
  // version of the catalog (Catalog::lineage) and may have more pods and shapes.
  void Renew(const Catalog& catalog, const NodeGroups& groups, const PlannerOptions& options,
             const PassInput& input);
  // Judges all known shapes again: their controllers or budgets, or the options, have changed.
  // Returns, by PodShapeId, for which of them the rules have another verdict than before.
  std::vector<bool> JudgeShapesAgain();

  // "node \"a\"".
  [[nodiscard]] std::string Name(NodeId node) const {
    return absl::StrCat("node \"", Absl(catalog_->NodeName(node)), "\"");
  }
  [[nodiscard]] std::string Name(PodId pod) const {
    return absl::StrCat("pod \"", catalog_->PodName(pod), "\"");
  }
  [[nodiscard]] std::string Name(PdbId pdb) const;

  // --- The plan as data ----------------------------------------------------------

  // Nodes and pods belong to the catalog.
  [[nodiscard]] absl::Status CheckIds(const Plan& plan) const;
  // Every node that has a verdict is a candidate and has only one verdict.
  [[nodiscard]] absl::Status CheckVerdicts(const Plan& plan) const;
  // The plan keeps the limit of removals, and `remaining` is what it leaves of the budgets.
  [[nodiscard]] absl::Status CheckTotals(const Plan& plan,
                                         std::span<const int64_t> remaining) const;

  // --- Pods ----------------------------------------------------------------------

  // The budgets that match the pod.
  const std::vector<PdbId>& BudgetsOf(PodId pod);
  // Whether the rules judge all pods of the pod's shape alike.
  bool AreJudgedAlike(PodId pod) { return ShapeOf(pod).rules_alike; }
  int32_t PriorityOf(PodId pod) { return ShapeOf(pod).priority; }
  // With PodOrder::kByPriority: no pod comes before one of higher priority.
  absl::Status CheckOrder(std::span<const Move> moves);

  // --- Nodes -----------------------------------------------------------------------

  // The node may be removed.  `pods` are the pods that are there before the first removal,
  // pending pods that found room there included, and `devices` what they hold; null: nothing.
  absl::Status CheckEligible(NodeId node, std::span<const PodId> pods, const DeviceState* devices);
  // No pod may be placed on `to` if something deletes it, it is still being set up, or it is being
  // deleted; `what` begins the message.
  [[nodiscard]] absl::Status CheckPlace(std::string_view what, PodId pod, NodeId to);

  // The plan accounts for every pod that is on the removed node: `pods`.  The pods that must move
  // do, others do not, to nodes that `contains` says are in the cluster.  `spends` is called for
  // each budget of which at least 1 disruption must be left; it returns the error if none is.
  absl::Status CheckPods(const RemovableNode& removal, std::span<const PodId> pods,
                         absl::FunctionRef<bool(PodId)> runs_there,
                         absl::FunctionRef<bool(NodeId)> contains,
                         absl::FunctionRef<absl::Status(PdbId, PodId)> spends);

  // After CheckPods, in the order of the plan: Karpenter's NodePool lets the node go, and the
  // removals before leave it a disruption.  Spends the disruption.
  absl::Status CheckNodePool(const RemovableNode& removal,
                             absl::FunctionRef<bool(PodId)> ran_there);

 private:
  // Per-shape cache, filled on first use.
  struct OfShape {
    bool known = false;
    bool daemonset = false;
    bool mirror = false;
    bool terminating = false;
    bool rules_alike = false;  // The rules give all pods of the shape the same verdict.
    int32_t priority = 0;
    int64_t cpu = 0;  // As utilization counts it.
    int64_t memory = 0;
    std::optional<DrainVerdict> drain;  // With rules_alike: the verdict of the rules.
  };
  // What the rules require of a pod of the removed node, and what the plan has done with it.
  enum class Duty : uint8_t { kStays, kMoves, kMoved, kDaemonSet, kOnCompletion, kListed };

  [[nodiscard]] bool IsKnown(NodeId node) const { return Index(node) < catalog_->nodes(); }
  [[nodiscard]] bool IsKnown(PodId pod) const { return Index(pod) < catalog_->pods(); }
  // Reads the candidates of the question, and forgets which nodes CheckPlace allowed for the last
  // one.
  void SetCandidates();
  [[nodiscard]] bool IsFree(PodId pod, const std::vector<PdbId>& all) const;
  void FindBudgets();
  void FindBudgets(PodShapeId shape);
  OfShape& ShapeOf(PodId pod) {
    OfShape& of = of_shape_[Index(catalog_->shape_id(pod))];
    if (!of.known) Learn(catalog_->shape_of(pod), of);
    return of;
  }
  void Learn(const PodShape& shape, OfShape& of) const;
  DrainVerdict DrainVerdictOf(PodId pod, OfShape& of) const;

  template <typename Ignored, typename Requested>
  void EachCounted(NodeId node, std::span<const PodId> pods, Ignored&& ignored,
                   Requested&& requested);
  double Used(NodeId node, std::span<const PodId> pods);
  double UsedOf(ResourceId resource, NodeId node, std::span<const PodId> pods);
  [[nodiscard]] std::optional<double> UsedOfDevices(NodeId node, std::span<const PodId> pods,
                                                    const DeviceState* devices) const;

  [[nodiscard]] bool GoesByItself(NodeId node) const;
  [[nodiscard]] bool IsHeldUnready(NodeId node) const;
  [[nodiscard]] bool IsUnfinished(NodeId node) const;
  [[nodiscard]] std::string_view WhyNoPlace(NodeId to) const;
  [[nodiscard]] bool IsInDeletion(NodeId node) const;

  [[nodiscard]] bool IsProtected(const PodShape& shape) const;
  // What the rules of the node's manager require of the pod.  Spends budgets.
  absl::StatusOr<Duty> DutyOf(NodeId node, PodId pod,
                              absl::FunctionRef<absl::Status(PdbId, PodId)> spends);
  absl::StatusOr<Duty> DutyByKarpenter(NodeId node, PodId pod,
                                       absl::FunctionRef<absl::Status(PdbId, PodId)> spends);
  absl::Status SetDuties(NodeId node, std::span<const PodId> pods,
                         absl::FunctionRef<absl::Status(PdbId, PodId)> spends);
  absl::Status CheckMoves(const RemovableNode& removal, absl::FunctionRef<bool(PodId)> runs_there,
                          absl::FunctionRef<bool(NodeId)> contains);
  bool AreAll(Duty which, const std::vector<PodId>& list);
  absl::Status CheckLeft(NodeId node, std::span<const PodId> pods);

  const Catalog* catalog_;
  const NodeGroups* groups_;
  const PlannerOptions* options_;
  const PassInput* input_;
  SlowMatches* matches_;
  std::vector<bool> candidates_;                      // By NodeId.
  std::vector<bool> takes_pods_;                      // By NodeId: CheckPlace allowed it before.
  std::optional<PdbTracker> full_budgets_;            // Never charged.
  std::vector<Duty> duties_;                          // By PodId; kStays for pods of other nodes.
  std::vector<OfShape> of_shape_;                     // By PodShapeId.
  std::vector<std::vector<PdbId>> budgets_of_shape_;  // By PodShapeId, filled on first use.
  SlowNodePools node_pools_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_PLAN_RULES_H_
