#include "engine/plan/karpenter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/cron.h"
#include "base/duration.h"
#include "base/text.h"
#include "engine/plan/node_standing.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Budget = KarpenterObjects::Budget;
using Claim = KarpenterObjects::Claim;
using Pool = KarpenterObjects::Pool;

// Whole seconds, rounded up: times have whole seconds, so an age is less than the duration if it
// is less than this.
std::optional<int64_t> SecondsOf(std::string_view duration) {
  const auto parsed = ParseDuration(duration);
  if (!parsed) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(*parsed).count();
}

// Whether the node is set up, by Karpenter's labels, or without them by its claim.
bool IsInitialized(const NodeInfo& info, const Claim* claim) {
  if (info.setup == NodeSetup::kNotKarpenters) return true;
  if (info.setup != NodeSetup::kUnlabelled) return info.setup == NodeSetup::kInitialized;
  return claim == nullptr || !claim->has_conditions;
}

// Whether Karpenter counts the node to its NodePool: it manages the node and has set it up.
bool IsCounted(const Catalog& catalog, NodeId node, const Claim* claim) {
  if (claim == nullptr && catalog.storage().karpenter().HasClaims()) return false;
  if (claim != nullptr && claim->terminating) return false;
  return IsInitialized(catalog.node(node), claim);
}

bool AppliesTo(const Budget& budget, DisruptionReason reason) {
  return !budget.reasons || std::ranges::count(*budget.reasons, ToString(reason)) > 0;
}

absl::Status WrongBudget(size_t index, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("spec.disruption.budgets[", index, "].", status.message()));
}

// The tightest open budget.  A budget that is not understood allows nothing, as in Karpenter.
void SetAllowed(const Pool& pool, int64_t now_s, NodePoolBudgets::Allowance& allowance) {
  allowance.allowed.fill(NodePoolBudgets::kUnlimited);
  for (size_t b = 0; b < pool.budgets.size(); ++b) {
    const Budget& budget = pool.budgets[b];
    const absl::StatusOr<bool> open = IsOpen(budget, now_s);
    const absl::StatusOr<int64_t> allowed = AllowedNodes(budget, allowance.nodes);
    if (!open.ok() || (*open && !allowed.ok())) {
      const absl::Status problem = WrongBudget(b, open.ok() ? allowed.status() : open.status());
      allowance.problem = std::string(problem.message());
      allowance.allowed.fill(0);
      return;
    }
    if (!*open) continue;
    for (const DisruptionReason reason :
         {DisruptionReason::kEmpty, DisruptionReason::kUnderutilized}) {
      if (!AppliesTo(budget, reason)) continue;
      int64_t& least = allowance.allowed[static_cast<size_t>(reason)];
      least = std::min(least, *allowed);
    }
  }
}

}  // namespace

std::string_view ToString(DisruptionReason reason) {
  return reason == DisruptionReason::kEmpty ? "Empty" : "Underutilized";
}

std::string_view NodePoolOf(const Catalog& catalog, NodeId node) {
  for (const auto& label : catalog.node(node).labels) {
    if (catalog.Text(label.key) == kNodePoolLabel) return catalog.Text(label.value);
  }
  return "";
}

const Pool* FindNodePool(const Catalog& catalog, NodeId node) {
  const KarpenterObjects& objects = catalog.storage().karpenter();
  return objects.HasPools() ? objects.FindPool(NodePoolOf(catalog, node)) : nullptr;
}

const Claim* FindNodeClaim(const Catalog& catalog, NodeId node) {
  const NodeInfo& info = catalog.node(node);
  return catalog.storage().karpenter().FindClaim(info.name, info.provider_id);
}

std::optional<int64_t> ConsolidateAfterOf(const Pool& pool) {
  if (pool.consolidate_after.empty()) return 0;
  return SecondsOf(pool.consolidate_after);
}

UnremovableReason WhyNotDisruptable(const Catalog& catalog, NodeId node) {
  using enum UnremovableReason;
  const KarpenterObjects& objects = catalog.storage().karpenter();
  const NodeInfo& info = catalog.node(node);
  const Claim* const claim = FindNodeClaim(catalog, node);
  const bool is_managed = claim != nullptr || !objects.HasClaims();
  if (!is_managed || NodePoolOf(catalog, node).empty()) return kNodeClaimNotFound;
  if (objects.HasSeveralClaims(info.name, info.provider_id)) return kNodeClaimNotFound;
  if (!IsInitialized(info, claim)) return kNodeNotInitialized;
  if (info.do_not_disrupt) return kScaleDownDisabledAnnotation;
  if (objects.HasPools() && FindNodePool(catalog, node) == nullptr) return kNodePoolNotFound;
  return kNoReason;
}

DisruptionReason DisruptionReasonFor(const Catalog& catalog, std::span<const PodId> pods) {
  // An eviction costs 1 + priority / 2^25, and a cost below zero counts as zero.
  constexpr int32_t kCostsNothing = -(1 << 25);
  const bool is_empty = std::ranges::all_of(
      pods, [&](PodId pod) { return catalog.shape_of(pod).priority <= kCostsNothing; });
  return is_empty ? DisruptionReason::kEmpty : DisruptionReason::kUnderutilized;
}

bool LeavesConsolidation(const Pool& pool) {
  return pool.consolidate_after == "Never" || pool.policy == "WhenEmpty";
}

UnremovableReason WhyNotConsolidatable(const Catalog& catalog, NodeId node, DisruptionReason reason,
                                       int64_t now_s, bool ebb_consolidates) {
  using enum UnremovableReason;
  const Pool* const pool = FindNodePool(catalog, node);
  if (pool != nullptr) {
    if (!pool->not_understood.empty()) return kConsolidationPolicyNotEvaluated;
    if (pool->is_static) return kStaticNodePool;
  }
  if (ebb_consolidates) {
    return pool == nullptr || LeavesConsolidation(*pool) ? kNoReason
                                                         : kConsolidationPolicyNotEvaluated;
  }
  if (pool != nullptr) {
    if (!ConsolidateAfterOf(*pool)) return kConsolidationDisabled;
    if (reason == DisruptionReason::kUnderutilized) {
      if (pool->policy == "WhenEmpty") return kNodeNotEmpty;
      if (!pool->policy.empty() && pool->policy != "WhenEmptyOrUnderutilized") {
        return kConsolidationPolicyNotEvaluated;
      }
    }
  }
  const Claim* const claim = FindNodeClaim(catalog, node);
  const bool is_set = claim == nullptr || !claim->has_conditions || claim->consolidatable;
  return is_set && !UnderConsolidateAfterUntil(catalog, node, now_s) ? kNoReason
                                                                     : kNotConsolidatable;
}

std::optional<int64_t> UnderConsolidateAfterUntil(const Catalog& catalog, NodeId node,
                                                  int64_t now_s) {
  const Pool* const pool = FindNodePool(catalog, node);
  const Claim* const claim = FindNodeClaim(catalog, node);
  if (pool == nullptr || claim == nullptr || !claim->last_pod_event) return std::nullopt;
  const std::optional<int64_t> after_s = ConsolidateAfterOf(*pool);
  if (!after_s || now_s - *claim->last_pod_event >= *after_s) return std::nullopt;
  return *claim->last_pod_event + *after_s;
}

bool EraseClosed(const Catalog& catalog, const NodeGroups& groups, int64_t now_s, NodeSet& nodes) {
  if (!groups.SomeFollowKarpenter()) return false;
  std::vector<NodeId> closed;
  nodes.ForEach([&](NodeId node) {
    if (!groups.FollowsKarpenter(node)) return;
    const bool is_set_up = IsInitialized(catalog.node(node), FindNodeClaim(catalog, node));
    const bool is_waiting =
        !groups.ebb_consolidates && UnderConsolidateAfterUntil(catalog, node, now_s).has_value();
    if (!is_set_up || is_waiting) closed.push_back(node);
  });
  for (const NodeId node : closed) nodes.Erase(node);
  return !closed.empty();
}

// --- Budgets -----------------------------------------------------------------------------

absl::StatusOr<bool> IsOpen(const Budget& budget, int64_t now_s) {
  if (!budget.schedule && !budget.duration) return true;
  const absl::StatusOr<CronSchedule> schedule = CronSchedule::Parse(budget.schedule.value_or(""));
  if (!schedule.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule: not a cron expression: ", schedule.status().message()));
  }
  const std::optional<int64_t> open_s = SecondsOf(budget.duration.value_or("0s"));
  if (!open_s) {
    return absl::InvalidArgumentError(
        absl::StrCat("duration: \"", *budget.duration, "\" is not a duration"));
  }
  // A schedule that is not due within five years gives Karpenter the zero time, which is never
  // after now.
  const std::optional<int64_t> next_s = schedule->Next(now_s - *open_s);
  return !next_s || *next_s <= now_s;
}

absl::StatusOr<int64_t> AllowedNodes(const Budget& budget, int64_t nodes) {
  std::string_view text = budget.nodes;
  // Karpenter keeps the lower 32 bits.
  if (const std::optional<int64_t> number = ParseInt64(text)) return static_cast<int32_t>(*number);
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    if (const std::optional<int64_t> percent = ParseInt64(text)) {
      constexpr double kMost = 1e15;
      const double share = static_cast<double>(*percent) * static_cast<double>(nodes) / 100;
      return static_cast<int64_t>(std::ceil(std::clamp(share, -kMost, kMost)));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("nodes: \"", budget.nodes, "\" is neither a number nor a percentage"));
}

int64_t NodePoolBudgets::Allowance::Left(DisruptionReason reason) const {
  return std::max<int64_t>(0, allowed[static_cast<size_t>(reason)] - disrupting - removed);
}

NodePoolBudgets::NodePoolBudgets(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                 std::span<const NodeId> in_deletion, int64_t now_s)
    : catalog_(&snapshot.catalog()) {
  const Catalog& catalog = *catalog_;
  const KarpenterObjects& objects = catalog.storage().karpenter();
  if (!objects.HasPools() || !groups.SomeFollowKarpenter()) return;
  for (const auto& [name, pool] : objects.pools()) allowances_[name];
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (!catalog.IsThere(node)) continue;
    const auto it = allowances_.find(NodePoolOf(catalog, node));
    if (it == allowances_.end()) continue;
    if (!IsCounted(catalog, node, FindNodeClaim(catalog, node))) continue;
    ++it->second.nodes;
    const NodeInfo& info = catalog.node(node);
    const bool is_going = IsLeaving(catalog, node) || IsBeingDeleted(info, now_s) ||
                          std::ranges::count(in_deletion, node) > 0;
    if (is_going || !info.kubelet_ready) ++it->second.disrupting;
  }
  for (auto& [name, allowance] : allowances_) {
    SetAllowed(objects.pools().find(name)->second, now_s, allowance);
  }
}

const NodePoolBudgets::Allowance* NodePoolBudgets::Find(NodeId node) const {
  if (allowances_.empty()) return nullptr;
  const auto it = allowances_.find(NodePoolOf(*catalog_, node));
  return it == allowances_.end() ? nullptr : &it->second;
}

bool NodePoolBudgets::Allows(NodeId node, DisruptionReason reason) const {
  const Allowance* const allowance = Find(node);
  return allowance == nullptr || allowance->Left(reason) > 0;
}

void NodePoolBudgets::Remove(NodeId node) {
  const auto it = allowances_.find(NodePoolOf(*catalog_, node));
  if (it != allowances_.end()) ++it->second.removed;
}

}  // namespace ebb
