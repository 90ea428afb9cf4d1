// Karpenter's rules on nodes: which of them its consolidation may remove, and how many of a
// NodePool at a time.  They hold for groups with PoolManager::kKarpenterRules.  Its rules on pods
// are in predicates/drainability.h.
//
// A rule that needs a NodePool or a NodeClaim holds only if the input has objects of that kind: the
// input then has a warning.  If it has some, a node without its own stays.
//
// A node that several NodeClaims name stays, and so do the nodes of a NodePool that is not
// understood.
//
// Not evaluated: the prices that decide about replacing a node (so a node without a label for its
// zone or capacity type may go), and whether a pending pod was nominated for a node within the last
// seconds, which only Karpenter's memory says.  A NodeClaim without any condition, and a node
// without Karpenter's labels registered and initialized, count as set up.
//
// Units:   seconds since the Unix epoch.
// Threads: pure functions; a NodePoolBudgets needs exclusive access.
// Source:  karpenter 1.14.3: pkg/controllers/disruption (types.go NewCandidate, consolidation.go
//          and emptiness.go ShouldDisrupt, helpers.go BuildDisruptionBudgetMapping),
//          pkg/controllers/state/statenode.go ValidateNodeDisruptable, pkg/apis/v1/nodepool.go,
//          pkg/utils/disruption IsUnderConsolidateAfter.

#ifndef EBB_ENGINE_PLAN_KARPENTER_H_
#define EBB_ENGINE_PLAN_KARPENTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/node_set.h"

namespace ebb {

// Why Karpenter disrupts a node, as its budgets say it: no pod has to move, or some have.
enum class DisruptionReason : uint8_t { kEmpty, kUnderutilized };
std::string_view ToString(DisruptionReason reason);

// The value of the node's label karpenter.sh/nodepool; "" if it has none.
std::string_view NodePoolOf(const Catalog& catalog, NodeId node);
// The node's NodePool and NodeClaim; null if the input has none.
const KarpenterObjects::Pool* FindNodePool(const Catalog& catalog, NodeId node);
const KarpenterObjects::Claim* FindNodeClaim(const Catalog& catalog, NodeId node);

// The NodePool's consolidateAfter in seconds; nullopt: Never, or not a duration.
std::optional<int64_t> ConsolidateAfterOf(const KarpenterObjects::Pool& pool);

// Whether the node is not to be disrupted, whatever its NodePool says.  kNoReason: it may be.
// Nodes that are leaving or starting are left to the caller (node_standing.h).
UnremovableReason WhyNotDisruptable(const Catalog& catalog, NodeId node);

// Why Karpenter would disrupt a node from which the drain rules move `pods`.  It does not count
// pods of a very low priority.
DisruptionReason DisruptionReasonFor(const Catalog& catalog, std::span<const PodId> pods);

// Whether Karpenter leaves the consolidation of the NodePool's nodes with pods to another program:
// consolidationPolicy is WhenEmpty, or consolidateAfter is Never.
bool LeavesConsolidation(const KarpenterObjects::Pool& pool);

// Whether the NodePool's policy keeps the node.  kNoReason: the policy lets it go.
// `ebb_consolidates`: the policy says only whether Karpenter leaves the nodes to ebb, and
// consolidateAfter and the condition Consolidatable, which are for Karpenter, keep no node.
UnremovableReason WhyNotConsolidatable(const Catalog& catalog, NodeId node, DisruptionReason reason,
                                       int64_t now_s, bool ebb_consolidates = false);

// The time from which the node's consolidateAfter is over; nullopt: it is over at `now_s`.
std::optional<int64_t> UnderConsolidateAfterUntil(const Catalog& catalog, NodeId node,
                                                  int64_t now_s);
// Removes nodes that Karpenter does not let pods of removed nodes use: those under
// consolidateAfter, and those that it has not initialized.  Returns whether there were any.
bool EraseClosed(const Catalog& catalog, const NodeGroups& groups, int64_t now_s, NodeSet& nodes);

// What the budgets of all NodePools still allow.
class NodePoolBudgets {
 public:
  struct Allowance {
    int64_t nodes = 0;                    // That Karpenter counts.
    int64_t disrupting = 0;               // Of these, not ready or being deleted.
    std::array<int64_t, 2> allowed = {};  // By DisruptionReason.
    std::string problem;                  // A budget that is not understood: none is allowed.
    int64_t removed = 0;                  // By the plan.
    // How many more may be removed for the reason.
    [[nodiscard]] int64_t Left(DisruptionReason reason) const;
  };
  static constexpr int64_t kUnlimited = 2'147'483'647;  // As in Karpenter.

  // `in_deletion`: nodes that are being deleted, in addition to those that say so themselves.
  NodePoolBudgets(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                  std::span<const NodeId> in_deletion, int64_t now_s);

  // By the NodePool's name; only NodePools of the input.
  [[nodiscard]] const std::map<std::string, Allowance, std::less<>>& allowances() const {
    return allowances_;
  }
  // Whether one more node of the node's NodePool may go for the reason.
  [[nodiscard]] bool Allows(NodeId node, DisruptionReason reason) const;
  // Notes that the node goes.
  void Remove(NodeId node);

 private:
  [[nodiscard]] const Allowance* Find(NodeId node) const;

  const Catalog* catalog_;
  std::map<std::string, Allowance, std::less<>> allowances_;
};

// Whether the budget is open at `now_s`.  Errors: InvalidArgument that names the field.
absl::StatusOr<bool> IsOpen(const KarpenterObjects::Budget& budget, int64_t now_s);
// The number of nodes that the budget allows of `nodes`, rounded up.
absl::StatusOr<int64_t> AllowedNodes(const KarpenterObjects::Budget& budget, int64_t nodes);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_KARPENTER_H_
