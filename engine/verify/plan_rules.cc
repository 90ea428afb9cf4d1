#include "engine/verify/plan_rules.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/plan/utilization.h"
#include "snapshot/device_state.h"
#include "snapshot/devices.h"

namespace ebb {
namespace {

// A node with a deletion taint younger than this counts as in deletion.  Source: the autoscaler's
// MaxCloudProviderNodeDeletionTime.
constexpr int64_t kTaintTimeoutS = 300;

double Share(__int128 requested, __int128 offered, double scale) {
  return static_cast<double>(requested) * scale / (static_cast<double>(offered) * scale);
}

}  // namespace

PlanRules::PlanRules(const Catalog& catalog, const NodeGroups& groups,
                     const PlannerOptions& options, const PassInput& input, SlowMatches& matches)
    : catalog_(&catalog),
      groups_(&groups),
      options_(&options),
      input_(&input),
      matches_(&matches),
      full_budgets_(catalog),
      duties_(catalog.pods()),
      of_shape_(catalog.pod_shapes()),
      node_pools_(catalog, groups, input.in_deletion, input.now_s) {
  SetCandidates();
}

void PlanRules::SetCandidates() {
  candidates_.assign(catalog_->nodes(), false);
  takes_pods_.assign(catalog_->nodes(), false);
  for (const NodeId node : input_->candidates) {
    if (IsKnown(node)) candidates_[Index(node)] = true;
  }
}

void PlanRules::Renew(const Catalog& catalog, const NodeGroups& groups,
                      const PlannerOptions& options, const PassInput& input) {
  catalog_ = &catalog;
  groups_ = &groups;
  options_ = &options;
  input_ = &input;
  full_budgets_.emplace(catalog);
  // A plan that was refused may have left duties behind.
  duties_.assign(catalog.pods(), Duty::kStays);
  of_shape_.resize(catalog.pod_shapes());
  node_pools_ = SlowNodePools(catalog, groups, input.in_deletion, input.now_s);
  for (size_t s = budgets_of_shape_.size(); !budgets_of_shape_.empty() && s < of_shape_.size();
       ++s) {
    FindBudgets(PodShapeId{static_cast<uint32_t>(s)});
  }
  SetCandidates();
}

std::vector<bool> PlanRules::JudgeShapesAgain() {
  std::vector<PodId> pod_of(catalog_->pod_shapes(), kNoPod);
  for (uint32_t p = 0; p < catalog_->pods(); ++p) {
    if (catalog_->IsThere(PodId{p})) pod_of[Index(catalog_->shape_id(PodId{p}))] = PodId{p};
  }
  std::vector<bool> differ(of_shape_.size());
  for (size_t s = 0; s < of_shape_.size(); ++s) {
    const std::optional<DrainVerdict> before = std::exchange(of_shape_[s].drain, std::nullopt);
    if (!before || pod_of[s] == kNoPod) continue;
    const DrainVerdict now = DrainVerdictOf(pod_of[s], of_shape_[s]);
    differ[s] = now.outcome != before->outcome || now.reason != before->reason;
  }
  return differ;
}

std::string PlanRules::Name(PdbId pdb) const {
  const Pdb& budget = catalog_->pdbs()[Index(pdb)];
  return absl::StrCat("budget \"", Absl(catalog_->Text(budget.namespace_name)), "/",
                      Absl(catalog_->Text(budget.name)), "\"");
}

// --- The plan as data --------------------------------------------------------------

absl::Status PlanRules::CheckIds(const Plan& plan) const {
  const auto known_moves = [&](const std::vector<Move>& moves) {
    return std::all_of(moves.begin(), moves.end(),
                       [&](const Move& move) { return IsKnown(move.pod) && IsKnown(move.to); });
  };
  const auto known_pods = [&](const std::vector<PodId>& pods) {
    return std::all_of(pods.begin(), pods.end(), [&](PodId pod) { return IsKnown(pod); });
  };
  bool known = known_moves(plan.packed);
  for (const RemovableNode& removal : plan.remove) {
    known = known && IsKnown(removal.node) && known_moves(removal.moves) &&
            known_pods(removal.daemonset) && known_pods(removal.on_completion);
  }
  for (const UnremovableNode& node : plan.keep) known = known && IsKnown(node.node);
  for (const NodeId node : plan.skipped) known = known && IsKnown(node);
  return known ? absl::OkStatus() : RefusePlan("it names a node or pod that does not exist");
}

absl::Status PlanRules::CheckVerdicts(const Plan& plan) const {
  std::vector<bool> judged(catalog_->nodes());
  const auto judge = [&](NodeId node) {
    if (!candidates_[Index(node)]) return RefusePlan(Name(node), " is not a candidate");
    if (judged[Index(node)]) return RefusePlan(Name(node), " has more than one verdict");
    judged[Index(node)] = true;
    return absl::OkStatus();
  };
  absl::Status status;
  for (const RemovableNode& removal : plan.remove) status.Update(judge(removal.node));
  for (const UnremovableNode& node : plan.keep) status.Update(judge(node.node));
  for (const NodeId node : plan.skipped) status.Update(judge(node));
  return status;
}

absl::Status PlanRules::CheckTotals(const Plan& plan, std::span<const int64_t> remaining) const {
  size_t counted = 0;
  for (const RemovableNode& removal : plan.remove) {
    if (!groups_->Find(removal.node)->atomic) ++counted;
  }
  if (counted > input_->unneeded_limit) {
    return RefusePlan("it removes ", counted, " nodes where ", input_->unneeded_limit, " may go");
  }
  if (plan.pdb_remaining.size() != remaining.size()) {
    return RefusePlan("it accounts for ", plan.pdb_remaining.size(), " budgets of ",
                      remaining.size());
  }
  for (uint32_t p = 0; p < remaining.size(); ++p) {
    if (plan.pdb_remaining[p] == remaining[p]) continue;
    return RefusePlan(Name(PdbId{p}), " has ", remaining[p], " disruptions left, not ",
                      plan.pdb_remaining[p]);
  }
  return absl::OkStatus();
}

// --- Pods --------------------------------------------------------------------------

const std::vector<PdbId>& PlanRules::BudgetsOf(PodId pod) {
  static const std::vector<PdbId> kNone;
  if (budgets_of_shape_.empty()) FindBudgets();
  const std::vector<PdbId>& all = budgets_of_shape_[Index(catalog_->shape_id(pod))];
  return IsFree(pod, all) ? kNone : all;
}

// Whether the eviction API does not ask the budgets `all` for the pod, with --unhealthy-pods=evict.
bool PlanRules::IsFree(PodId pod, const std::vector<PdbId>& all) const {
  if (catalog_->unhealthy_pods() != UnhealthyPods::kEvict) return false;
  const PodShape& shape = catalog_->shape_of(pod);
  if (shape.terminating || shape.phase == PodPhase::kPending || HasEnded(shape)) return true;
  if (!catalog_->IsUnready(pod) || all.size() != 1) return false;
  const Pdb& pdb = catalog_->pdbs()[Index(all.front())];
  if (pdb.always_allows_unready) return true;
  const int64_t desired = pdb.desired_healthy.value_or(0);
  return desired > 0 && pdb.current_healthy.value_or(0) >= desired;
}

void PlanRules::FindBudgets() {
  budgets_of_shape_.resize(catalog_->pod_shapes());
  for (uint32_t p = 0; p < catalog_->pdbs().size(); ++p) {
    const Pdb& pdb = catalog_->pdbs()[p];
    const PodMatcher matcher{.namespaces = {pdb.namespace_name}, .selector = pdb.selector};
    for (const PodShapeId shape : matches_->Find({&matcher, 1})) {
      budgets_of_shape_[Index(shape)].push_back(PdbId{p});
    }
  }
}

// Appends the budgets of a shape that is new.
void PlanRules::FindBudgets(PodShapeId id) {
  const PodShape& shape = catalog_->shape(id);
  std::vector<PdbId>& budgets = budgets_of_shape_.emplace_back();
  for (uint32_t p = 0; p < catalog_->pdbs().size(); ++p) {
    const Pdb& pdb = catalog_->pdbs()[p];
    if (pdb.namespace_name != shape.namespace_name) continue;
    const PodMatcher matcher{.namespaces = {pdb.namespace_name}, .selector = pdb.selector};
    if (matches_->IsMatch(matcher, shape)) budgets.push_back(PdbId{p});
  }
}

absl::Status PlanRules::CheckOrder(std::span<const Move> moves) {
  if (input_->pod_order != PodOrder::kByPriority) return absl::OkStatus();
  for (size_t i = 1; i < moves.size(); ++i) {
    if (PriorityOf(moves[i].pod) <= PriorityOf(moves[i - 1].pod)) continue;
    return RefusePlan(Name(moves[i - 1].pod), " is placed before ", Name(moves[i].pod),
                      ", which has a higher priority");
  }
  return absl::OkStatus();
}

void PlanRules::Learn(const PodShape& shape, OfShape& of) const {
  of.known = true;
  of.daemonset = IsDaemonSetPod(*catalog_, shape);
  of.mirror = shape.mirror;
  of.terminating = shape.terminating;
  // ApplyDrainRules reads the shape of a pod.  For pods that are being deleted it also reads the
  // deletion time; for pods in kube-system also the creation time, unless an earlier rule decides:
  // that on mirror pods or that on DaemonSet pods.
  of.rules_alike =
      !shape.terminating && shape.gangs.empty() &&
      (of.daemonset || of.mirror || catalog_->Text(shape.namespace_name) != "kube-system");
  of.priority = shape.priority;
  of.cpu = AmountOf(shape.Counted(), kCpu);
  of.memory = AmountOf(shape.Counted(), kMemory);
}

// --- Eligibility ---------------------------------------------------------------------

// Calls ignored(pod) or requested(pod) for each pod of the node that utilization counts.
template <typename Ignored, typename Requested>
void PlanRules::EachCounted(NodeId node, std::span<const PodId> pods, Ignored&& ignored,
                            Requested&& requested) {
  const bool ignore_daemonsets = groups_->Find(node)->ignore_daemonsets_utilization.value_or(
      options_->ignore_daemonsets_utilization);
  for (const PodId pod : pods) {
    const OfShape& of = ShapeOf(pod);
    if ((ignore_daemonsets && of.daemonset) ||
        (options_->ignore_mirror_pods_utilization && of.mirror)) {
      ignored(pod, of);
    } else if (!of.terminating || !IsLongTerminating(*catalog_, pod, input_->now_s)) {
      requested(pod, of);
    }
  }
}

// The larger of the utilizations of cpu and memory.
double PlanRules::Used(NodeId node, std::span<const PodId> pods) {
  __int128 cpu = 0;
  __int128 memory = 0;
  __int128 cpu_offered = AmountOf(catalog_->node(node).allocatable, kCpu);
  __int128 memory_offered = AmountOf(catalog_->node(node).allocatable, kMemory);
  EachCounted(
      node, pods,
      [&](PodId, const OfShape& of) {
        cpu_offered -= of.cpu;
        memory_offered -= of.memory;
      },
      [&](PodId, const OfShape& of) {
        cpu += of.cpu;
        memory += of.memory;
      });
  const double of_cpu = Share(cpu, cpu_offered, 1);
  const double of_memory = Share(memory, memory_offered, 1000);
  return of_cpu > of_memory ? of_cpu : of_memory;
}

double PlanRules::UsedOf(ResourceId resource, NodeId node, std::span<const PodId> pods) {
  __int128 requested = 0;
  __int128 offered = AmountOf(catalog_->node(node).allocatable, resource);
  const auto amount = [&](PodId pod) {
    return AmountOf(catalog_->shape_of(pod).Counted(), resource);
  };
  EachCounted(
      node, pods, [&](PodId pod, const OfShape&) { offered -= amount(pod); },
      [&](PodId pod, const OfShape&) { requested += amount(pod); });
  return Share(requested, offered, 1000);
}

// The largest share of a pool of the node's own devices that its pods hold; nullopt: a pool is
// incomplete.  What a share is, Devices computes for the planner too.
std::optional<double> PlanRules::UsedOfDevices(NodeId node, std::span<const PodId> pods,
                                               const DeviceState* devices) const {
  absl::flat_hash_set<DeviceId> held;
  const auto hold = [&](const PodShape& shape, const DeviceState& state) {
    for (const PodResourceClaimInfo& claim : shape.resource_claims) {
      const auto id = catalog_->devices().FindClaim(shape.namespace_name, claim.claim_name);
      if (!id) continue;
      for (const HeldDevice& device : state.claim(*id).devices) {
        if (!device.admin_access) held.insert(device.id);
      }
    }
  };
  if (devices != nullptr) {
    for (const PodId pod : pods) hold(catalog_->shape_of(pod), *devices);
  }
  const auto highest = catalog_->devices().HighestUse(node, held, catalog_->symbols());
  if (!highest) return std::nullopt;
  return highest->utilization;
}

absl::Status PlanRules::CheckEligible(NodeId node, std::span<const PodId> pods,
                                      const DeviceState* devices) {
  const NodeInfo& info = catalog_->node(node);
  if (info.to_be_deleted && input_->now_s - *info.to_be_deleted < kTaintTimeoutS) {
    return RefusePlan(Name(node), " is being deleted already");
  }
  if (GoesByItself(node)) return RefusePlan(Name(node), " is deleted by something else");
  if (IsUnfinished(node)) return RefusePlan(Name(node), " is still being set up");
  const NodeGroup* group = groups_->Find(node);
  if (group == nullptr) return RefusePlan(Name(node), " belongs to no group");
  if (group->FollowsKarpenter()) {
    const std::string why = node_pools_.WhyNotDisrupted(node);
    return why.empty() ? absl::OkStatus() : RefusePlan(Name(node), " ", why);
  }
  if (info.scale_down_disabled) return RefusePlan(Name(node), " is annotated to stay");
  if (group->managed_by == PoolManager::kKarpenter && info.do_not_disrupt) {
    return RefusePlan(Name(node), " is annotated to stay");
  }
  if (!options_->scale_down_unready_enabled && (!info.ready || IsHeldUnready(node))) {
    return RefusePlan(Name(node), " is not ready");
  }
  const std::optional<ResourceId> gpu = GpuOf(*catalog_, node);
  if (gpu || groups_->HasGpuLabel(node)) {
    const double threshold = group->scale_down_gpu_utilization_threshold.value_or(
        options_->scale_down_gpu_utilization_threshold);
    // A node with a GPU label that offers no GPU has the utilization 0.
    const double used = gpu ? UsedOf(*gpu, node, pods) : 0;
    if (used > threshold) return RefusePlan(Name(node), " is used too much");
    return absl::OkStatus();
  }
  const double threshold =
      group->scale_down_utilization_threshold.value_or(options_->scale_down_utilization_threshold);
  if (catalog_->devices().HasOwnSlices(node)) {
    const std::optional<double> used = UsedOfDevices(node, pods, devices);
    if (!used) return RefusePlan(Name(node), " has a pool of devices that is incomplete");
    if (*used > threshold) return RefusePlan(Name(node), " is used too much");
    return absl::OkStatus();
  }
  if (Used(node, pods) > threshold) return RefusePlan(Name(node), " is used too much");
  return absl::OkStatus();
}

// --- Nodes that take no part -----------------------------------------------------------

// Whether the node, or the machine that it runs on, is being deleted by something else.
bool PlanRules::GoesByItself(NodeId node) const {
  const NodeInfo& info = catalog_->node(node);
  return info.leaving != NodeLeaving::kNo ||
         catalog_->storage().dying_machines().Of(info.name, info.provider_id) != nullptr;
}

bool PlanRules::IsHeldUnready(NodeId node) const {
  return !groups_->not_ready.empty() && groups_->not_ready[Index(node)] != NotReadyReason::kNone;
}

bool PlanRules::IsUnfinished(NodeId node) const {
  const int64_t startup_s = groups_->max_node_startup_time_s;
  if (startup_s <= 0) return false;
  const NodeInfo& info = catalog_->node(node);
  switch (info.setup) {
    case NodeSetup::kUnregistered:
    case NodeSetup::kNotInitialized:
      return true;
    case NodeSetup::kUnlabelled:
    case NodeSetup::kInitialized:
    case NodeSetup::kNotKarpenters:
      break;
  }
  if (input_->now_s - info.creation_time >= startup_s) return false;
  if (info.setup == NodeSetup::kUnlabelled || !info.ready) return true;
  if (!IsHeldUnready(node)) return false;
  if (groups_->not_ready[Index(node)] == NotReadyReason::kNoGpus && !groups_->has_unready_timers) {
    return true;
  }
  const NodeGroup* const group = groups_->Find(node);
  return group != nullptr && group->scaling_up;
}

// Why no pod may be placed on the node; empty: pods may.
std::string_view PlanRules::WhyNoPlace(NodeId to) const {
  if (GoesByItself(to)) return ", which something deletes";
  if (IsUnfinished(to)) return ", which is still being set up";
  return "";
}

bool PlanRules::IsInDeletion(NodeId node) const {
  return std::ranges::count(input_->in_deletion, node) > 0;
}

absl::Status PlanRules::CheckPlace(std::string_view what, PodId pod, NodeId to) {
  if (takes_pods_[Index(to)]) return absl::OkStatus();
  if (const std::string_view why = WhyNoPlace(to); !why.empty()) {
    return RefusePlan(Name(pod), Absl(what), Name(to), Absl(why));
  }
  if (IsInDeletion(to)) {
    return RefusePlan(Name(pod), Absl(what), Name(to), ", which is being deleted");
  }
  takes_pods_[Index(to)] = true;
  return absl::OkStatus();
}

// --- The pods of a removed node ----------------------------------------------------------

DrainVerdict PlanRules::DrainVerdictOf(PodId pod, OfShape& of) const {
  if (of.drain) return *of.drain;
  const DrainVerdict verdict =
      ApplyDrainRules(*catalog_, pod, options_->drain, *full_budgets_, input_->now_s);
  if (of.rules_alike) of.drain = verdict;
  return verdict;
}

bool PlanRules::IsProtected(const PodShape& shape) const {
  return shape.do_not_disrupt && !shape.terminating && !HasEnded(shape) &&
         !(shape.do_not_disrupt_until <= input_->now_s);
}

absl::StatusOr<PlanRules::Duty> PlanRules::DutyOf(
    NodeId node, PodId pod, absl::FunctionRef<absl::Status(PdbId, PodId)> spends) {
  OfShape& of = ShapeOf(pod);
  const DrainVerdict verdict = DrainVerdictOf(pod, of);
  switch (verdict.outcome) {
    case DrainOutcome::kBlock:
      return RefusePlan(Name(node), " goes although ", Name(pod),
                        " keeps it: ", Absl(ToString(verdict.reason)));
    case DrainOutcome::kUndefined:
      // All rules have passed, the last one with budgets that were not charged.
      for (const PdbId pdb : BudgetsOf(pod)) {
        if (absl::Status s = spends(pdb, pod); !s.ok()) return s;
      }
      [[fallthrough]];
    case DrainOutcome::kDrain:
      return of.daemonset ? Duty::kDaemonSet : Duty::kMoves;
    case DrainOutcome::kWaitForCompletion:
      return Duty::kOnCompletion;
    case DrainOutcome::kSkip:
      break;
  }
  return Duty::kStays;
}

// Karpenter's rules, without code of the drain rules.  Gangs are counted by CheckGangs of the
// verifier.
absl::StatusOr<PlanRules::Duty> PlanRules::DutyByKarpenter(
    NodeId node, PodId pod, absl::FunctionRef<absl::Status(PdbId, PodId)> spends) {
  const PodShape& shape = catalog_->shape_of(pod);
  bool of_daemonset = false;
  bool of_statefulset = false;
  bool of_node = shape.mirror;
  for (const Owner& owner : shape.owners) {
    const std::string_view kind = catalog_->Text(owner.kind);
    const std::string_view version = catalog_->Text(owner.api_version);
    of_daemonset |= kind == "DaemonSet" && version == "apps/v1";
    of_statefulset |= kind == "StatefulSet" && version == "apps/v1";
    of_node |= kind == "Node" && version == "v1";
  }
  if (HasEnded(shape) || of_node) return Duty::kStays;
  if (shape.terminating) return of_statefulset ? Duty::kMoves : Duty::kStays;
  const Duty duty = of_daemonset ? Duty::kDaemonSet : Duty::kMoves;
  bool is_evicted = true;
  for (const auto& [key, value, exists, effect] :
       catalog_->constraints(shape.constraints).tolerations) {
    const std::string_view name = catalog_->Text(key);
    const std::string_view on = catalog_->Text(effect);
    const bool tolerates = (name.empty() || name == "karpenter.sh/disrupted") &&
                           (on.empty() || on == "NoSchedule") && (exists || value == kNoText);
    if (tolerates) is_evicted = false;
  }
  const std::vector<PdbId>& budgets = BudgetsOf(pod);
  if (!is_evicted || budgets.empty()) return duty;
  if (budgets.size() > 1) {
    return RefusePlan(Name(node), " goes although several budgets select ", Name(pod));
  }
  if (catalog_->pdbs()[Index(budgets[0])].always_allows_unready && catalog_->IsUnready(pod)) {
    return duty;
  }
  if (absl::Status s = spends(budgets[0], pod); !s.ok()) return s;
  return duty;
}

absl::Status PlanRules::SetDuties(NodeId node, std::span<const PodId> pods,
                                  absl::FunctionRef<absl::Status(PdbId, PodId)> spends) {
  const PoolManager manager = groups_->Find(node)->managed_by;
  for (const PodId pod : pods) {
    if (manager != PoolManager::kClusterAutoscaler && IsProtected(catalog_->shape_of(pod))) {
      return RefusePlan(Name(node), " goes although Karpenter must not disrupt ", Name(pod));
    }
    const absl::StatusOr<Duty> duty = manager == PoolManager::kKarpenterRules
                                          ? DutyByKarpenter(node, pod, spends)
                                          : DutyOf(node, pod, spends);
    if (!duty.ok()) return duty.status();
    duties_[Index(pod)] = *duty;
  }
  return absl::OkStatus();
}

absl::Status PlanRules::CheckNodePool(const RemovableNode& removal,
                                      absl::FunctionRef<bool(PodId)> ran_there) {
  if (!groups_->FollowsKarpenter(removal.node)) return absl::OkStatus();
  // Karpenter counts 1 + priority / 2^25 for a pod, and nothing below zero.
  bool is_empty = true;     // Before the plan.
  bool stays_empty = true;  // When the plan has brought pods.
  for (const Move& move : removal.moves) {
    if (1 + static_cast<double>(PriorityOf(move.pod)) / (1 << 25) <= 0) continue;
    stays_empty = false;
    if (ran_there(move.pod)) is_empty = false;
  }
  for (const bool empty : {is_empty, stays_empty}) {
    const std::string why = node_pools_.WhyKept(removal.node, empty);
    if (!why.empty()) return RefusePlan(Name(removal.node), " ", why);
  }
  node_pools_.Remove(removal.node);
  return absl::OkStatus();
}

absl::Status PlanRules::CheckMoves(const RemovableNode& removal,
                                   absl::FunctionRef<bool(PodId)> runs_there,
                                   absl::FunctionRef<bool(NodeId)> contains) {
  for (const auto& [pod, to] : removal.moves) {
    if (!runs_there(pod)) {
      return RefusePlan(Name(pod), " moves with ", Name(removal.node), " and does not run there");
    }
    Duty& duty = duties_[Index(pod)];
    if (duty == Duty::kMoved) return RefusePlan(Name(pod), " moves twice at once");
    if (duty != Duty::kMoves) {
      return RefusePlan(Name(pod), " of ", Name(removal.node), " moves and must not");
    }
    duty = Duty::kMoved;
    if (to == removal.node) return RefusePlan(Name(pod), " moves to the node that it leaves");
    if (!contains(to)) return RefusePlan(Name(pod), " moves to ", Name(to), ", which is gone");
    if (absl::Status s = CheckPlace(" moves to ", pod, to); !s.ok()) return s;
    if (groups_->FollowsKarpenter(to) && node_pools_.IsClosed(to)) {
      return RefusePlan(Name(pod), " moves to ", Name(to),
                        ", which is under consolidateAfter or not initialized");
    }
    if (input_->destinations != nullptr &&
        (Index(to) >= input_->destinations->range() || !input_->destinations->Contains(to))) {
      return RefusePlan(Name(pod), " moves to ", Name(to), ", which is not a destination");
    }
  }
  return absl::OkStatus();
}

// Whether each pod of `list` has the duty `which` and is listed only once.
bool PlanRules::AreAll(Duty which, const std::vector<PodId>& list) {
  return std::ranges::all_of(
      list, [&](PodId pod) { return std::exchange(duties_[Index(pod)], Duty::kListed) == which; });
}

// Checks that the plan accounts for every pod of the node that has a duty, and resets duties.
absl::Status PlanRules::CheckLeft(NodeId node, std::span<const PodId> pods) {
  for (const PodId pod : pods) {
    switch (std::exchange(duties_[Index(pod)], Duty::kStays)) {
      case Duty::kMoves:
        return RefusePlan(Name(pod), " of ", Name(node), " must move and does not");
      case Duty::kDaemonSet:
        return RefusePlan(Name(node), " runs other DaemonSet pods than listed");
      case Duty::kOnCompletion:
        return RefusePlan(Name(node), " waits for other pods than listed");
      case Duty::kStays:
      case Duty::kMoved:
      case Duty::kListed:
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status PlanRules::CheckPods(const RemovableNode& removal, std::span<const PodId> pods,
                                  absl::FunctionRef<bool(PodId)> runs_there,
                                  absl::FunctionRef<bool(NodeId)> contains,
                                  absl::FunctionRef<absl::Status(PdbId, PodId)> spends) {
  if (absl::Status s = SetDuties(removal.node, pods, spends); !s.ok()) return s;
  if (absl::Status s = CheckMoves(removal, runs_there, contains); !s.ok()) return s;
  if (!AreAll(Duty::kDaemonSet, removal.daemonset)) {
    return RefusePlan(Name(removal.node), " runs other DaemonSet pods than listed");
  }
  if (!AreAll(Duty::kOnCompletion, removal.on_completion)) {
    return RefusePlan(Name(removal.node), " waits for other pods than listed");
  }
  return CheckLeft(removal.node, pods);
}

}  // namespace ebb
