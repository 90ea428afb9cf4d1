#include "engine/verify/verify.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/text.h"
#include "engine/plan/check_input.h"
#include "engine/verify/slow_cluster.h"
#include "predicates/drainability.h"
#include "predicates/pdb_tracker.h"

namespace ebb {
namespace {

// A node with a deletion taint younger than this counts as in deletion.  Source: the autoscaler's
// MaxCloudProviderNodeDeletionTime.
constexpr int64_t kDeletionTimeoutS = 300;

// So that 0.07 of 100 pods is 7: a share may be off by rounding.
constexpr double kShareRounding = 1e-9;

// The verification of one plan: the replayed cluster, and what is left of its budgets.
class Replay {
 public:
  Replay(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PlannerOptions& options,
         const PassInput& input, const Plan& plan, const Deadline* deadline)
      : catalog_(snapshot.catalog()),
        groups_(groups),
        options_(options),
        input_(input),
        plan_(plan),
        deadline_(deadline),
        cluster_(snapshot, input.now_s),
        candidates_(catalog_.nodes()),
        full_budgets_(catalog_),
        duties_(catalog_.pods()),
        of_shape_(catalog_.pod_shapes()) {
    for (const Pdb& pdb : catalog_.pdbs()) remaining_.push_back(pdb.disruptions_allowed);
    for (const NodeId node : input.candidates) {
      if (IsKnown(node)) candidates_[Index(node)] = true;
    }
    if (input_.max_workload_share < 1) CountWorkloads(snapshot);
  }

  absl::StatusOr<VerifiedPart> Run() {
    VerifiedPart part;
    if (absl::Status s = CheckIds(); !s.ok()) return s;
    if (absl::Status s = CheckVerdicts(); !s.ok()) return s;
    for (const PodId pod : input_.evicting) Spend(pod);
    if (absl::Status s = CheckPendingHolds(); !s.ok()) return s;
    if (absl::Status s = ReplayPacking(); !s.ok()) return s;
    if (TimeIsUp()) return part;
    part.packed = true;
    // Eligibility is judged before any removal.
    for (const RemovableNode& removal : plan_.remove) {
      if (absl::Status s = CheckEligible(removal.node); !s.ok()) return s;
    }
    for (const RemovableNode& removal : plan_.remove) {
      if (TimeIsUp()) return part;
      if (absl::Status s = ReplayRemoval(removal); !s.ok()) return s;
      ++part.removals;
    }
    if (absl::Status s = CheckTotals(); !s.ok()) return s;
    return part;
  }

 private:
  [[nodiscard]] std::string Name(NodeId node) const {
    return absl::StrCat("node \"", Absl(catalog_.NodeName(node)), "\"");
  }
  [[nodiscard]] std::string Name(PodId pod) const {
    return absl::StrCat("pod \"", catalog_.PodName(pod), "\"");
  }
  [[nodiscard]] std::string Name(PdbId pdb) const {
    const Pdb& budget = catalog_.pdbs()[Index(pdb)];
    return absl::StrCat("budget \"", Absl(catalog_.Text(budget.namespace_name)), "/",
                        Absl(catalog_.Text(budget.name)), "\"");
  }
  [[nodiscard]] bool TimeIsUp() const { return deadline_ != nullptr && deadline_->Expired(); }
  template <typename... Parts>
  static absl::Status Refuse(const Parts&... parts) {
    return absl::InternalError(absl::StrCat("the plan is refused: ", parts...));
  }

  // --- The plan as data --------------------------------------------------------

  [[nodiscard]] bool IsKnown(NodeId node) const { return Index(node) < catalog_.nodes(); }
  [[nodiscard]] bool IsKnown(PodId pod) const { return Index(pod) < catalog_.pods(); }

  absl::Status CheckIds() const {
    const auto known_moves = [&](const std::vector<Move>& moves) {
      return std::all_of(moves.begin(), moves.end(),
                         [&](const Move& move) { return IsKnown(move.pod) && IsKnown(move.to); });
    };
    const auto known_pods = [&](const std::vector<PodId>& pods) {
      return std::all_of(pods.begin(), pods.end(), [&](PodId pod) { return IsKnown(pod); });
    };
    bool known = known_moves(plan_.packed);
    for (const RemovableNode& removal : plan_.remove) {
      known = known && IsKnown(removal.node) && known_moves(removal.moves) &&
              known_pods(removal.daemonset) && known_pods(removal.on_completion);
    }
    for (const UnremovableNode& node : plan_.keep) known = known && IsKnown(node.node);
    for (const NodeId node : plan_.skipped) known = known && IsKnown(node);
    return known ? absl::OkStatus() : Refuse("it names a node or pod that does not exist");
  }

  // Every node that has a verdict is a candidate and has only one.
  absl::Status CheckVerdicts() const {
    std::vector<bool> judged(catalog_.nodes());
    const auto judge = [&](NodeId node) {
      if (!candidates_[Index(node)]) return Refuse(Name(node), " is not a candidate");
      if (judged[Index(node)]) return Refuse(Name(node), " has more than one verdict");
      judged[Index(node)] = true;
      return absl::OkStatus();
    };
    absl::Status status;
    for (const RemovableNode& removal : plan_.remove) status.Update(judge(removal.node));
    for (const UnremovableNode& node : plan_.keep) status.Update(judge(node.node));
    for (const NodeId node : plan_.skipped) status.Update(judge(node));
    return status;
  }

  absl::Status CheckTotals() const {
    size_t counted = 0;
    for (const RemovableNode& removal : plan_.remove) {
      if (!groups_.Find(removal.node)->atomic) ++counted;
    }
    if (counted > input_.unneeded_limit) {
      return Refuse("it removes ", counted, " nodes where ", input_.unneeded_limit, " may go");
    }
    if (plan_.pdb_remaining.size() != remaining_.size()) {
      return Refuse("it accounts for ", plan_.pdb_remaining.size(), " budgets of ",
                    remaining_.size());
    }
    for (uint32_t p = 0; p < remaining_.size(); ++p) {
      if (plan_.pdb_remaining[p] == remaining_[p]) continue;
      return Refuse(Name(PdbId{p}), " has ", remaining_[p], " disruptions left, not ",
                    plan_.pdb_remaining[p]);
    }
    return absl::OkStatus();
  }

  // --- Budgets -----------------------------------------------------------------

  const std::vector<PdbId>& BudgetsOf(PodId pod) {
    if (budgets_of_shape_.empty()) FindBudgets();
    return budgets_of_shape_[Index(catalog_.shape_id(pod))];
  }

  void FindBudgets() {
    budgets_of_shape_.resize(catalog_.pod_shapes());
    for (uint32_t p = 0; p < catalog_.pdbs().size(); ++p) {
      const Pdb& pdb = catalog_.pdbs()[p];
      const PodMatcher matcher{.namespaces = {pdb.namespace_name}, .selector = pdb.selector};
      for (const PodShapeId shape : cluster_.matches().Find({&matcher, 1})) {
        budgets_of_shape_[Index(shape)].push_back(PdbId{p});
      }
    }
  }

  // --- Shares of workloads -------------------------------------------------------

  // Namespace, kind, name and UID of the pod's controller; "": it has no controller.
  [[nodiscard]] std::string WorkloadOf(PodId pod) const {
    const PodShape& shape = catalog_.shape_of(pod);
    if (!shape.has_controller) return "";
    const Owner& owner = shape.controller;
    return absl::StrCat(Absl(catalog_.Text(shape.namespace_name)), "/",
                        Absl(catalog_.Text(owner.kind)), "/", Absl(catalog_.Text(owner.name)), "/",
                        Absl(catalog_.Text(owner.uid)));
  }

  void CountWorkloads(const ClusterSnapshot& snapshot) {
    snapshot.alive().ForEach([&](NodeId node) {
      for (const PodId pod : snapshot.PodsOn(node)) {
        running_.insert(pod);
        ++workloads_[WorkloadOf(pod)].pods;
      }
    });
  }

  // Counts pods that leave the node on which they ran before the plan.  At most the share of their
  // workload may, rounded up: a pod is allowed while fewer pods than the share have left.
  absl::Status EvictAll(const std::vector<Move>& moves) {
    if (input_.max_workload_share >= 1) return absl::OkStatus();
    for (const Move& move : moves) {
      const std::string name = WorkloadOf(move.pod);
      if (name.empty() || running_.erase(move.pod) == 0) continue;
      Workload& workload = workloads_[name];
      const double share = input_.max_workload_share * static_cast<double>(workload.pods);
      if (static_cast<double>(workload.evicted++) < share - kShareRounding) continue;
      return Refuse(Name(move.pod), " is evicted beyond the share of the ",
                    Count(static_cast<uint64_t>(workload.pods), "pod", "pods"), " of ", name);
    }
    return absl::OkStatus();
  }

  // --- Spending ------------------------------------------------------------------

  void Spend(PodId pod) {
    for (const PdbId pdb : BudgetsOf(pod)) --remaining_[Index(pdb)];
  }

  // Charges the budgets for all of `moves`.  Returns whether some budget does not allow all of them
  // at once.
  bool SpendAll(const std::vector<Move>& moves) {
    bool risky = false;
    for (const Move& move : moves) {
      Spend(move.pod);
      for (const PdbId pdb : BudgetsOf(move.pod)) risky = risky || remaining_[Index(pdb)] < 0;
    }
    return risky;
  }

  // --- Eligibility -------------------------------------------------------------

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

  OfShape& ShapeOf(PodId pod) {
    OfShape& of = of_shape_[Index(catalog_.shape_id(pod))];
    if (!of.known) Learn(catalog_.shape_of(pod), of);
    return of;
  }

  void Learn(const PodShape& shape, OfShape& of) const {
    of.known = true;
    of.daemonset = IsDaemonSetPod(catalog_, shape);
    of.mirror = shape.mirror;
    of.terminating = shape.terminating;
    // ApplyDrainRules reads the shape of a pod; for pods in kube-system also the creation time, and
    // for pods that are being deleted also the deletion time.
    of.rules_alike = !shape.terminating && catalog_.Text(shape.namespace_name) != "kube-system";
    of.priority = shape.priority;
    of.cpu = AmountOf(shape.Counted(), kCpu);
    of.memory = AmountOf(shape.Counted(), kMemory);
  }

  // Calls ignored(pod) or requested(pod) for each pod of the node that utilization counts.
  template <typename Ignored, typename Requested>
  void EachCounted(NodeId node, Ignored&& ignored, Requested&& requested) {
    const bool ignore_daemonsets = groups_.Find(node)->ignore_daemonsets_utilization.value_or(
        options_.ignore_daemonsets_utilization);
    for (const PodId pod : cluster_.PodsOn(node)) {
      const OfShape& of = ShapeOf(pod);
      if ((ignore_daemonsets && of.daemonset) ||
          (options_.ignore_mirror_pods_utilization && of.mirror)) {
        ignored(pod, of);
      } else if (!of.terminating || !IsLongTerminating(catalog_, pod, input_.now_s)) {
        requested(pod, of);
      }
    }
  }

  static double Share(__int128 requested, __int128 offered, double scale) {
    return static_cast<double>(requested) * scale / (static_cast<double>(offered) * scale);
  }

  // The larger of the utilizations of cpu and memory.
  double Used(NodeId node) {
    __int128 cpu = 0;
    __int128 memory = 0;
    __int128 cpu_offered = AmountOf(catalog_.node(node).allocatable, kCpu);
    __int128 memory_offered = AmountOf(catalog_.node(node).allocatable, kMemory);
    EachCounted(
        node,
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

  double UsedOf(ResourceId resource, NodeId node) {
    __int128 requested = 0;
    __int128 offered = AmountOf(catalog_.node(node).allocatable, resource);
    const auto amount = [&](PodId pod) {
      return AmountOf(catalog_.shape_of(pod).Counted(), resource);
    };
    EachCounted(
        node, [&](PodId pod, const OfShape&) { offered -= amount(pod); },
        [&](PodId pod, const OfShape&) { requested += amount(pod); });
    return Share(requested, offered, 1000);
  }

  absl::Status CheckEligible(NodeId node) {
    const NodeInfo& info = catalog_.node(node);
    if (!cluster_.Contains(node)) return Refuse(Name(node), " is not in the cluster");
    if (info.to_be_deleted && input_.now_s - *info.to_be_deleted < kDeletionTimeoutS) {
      return Refuse(Name(node), " is being deleted already");
    }
    if (GoesByItself(node)) return Refuse(Name(node), " is deleted by something else");
    if (IsUnfinished(node)) return Refuse(Name(node), " is still being set up");
    if (info.scale_down_disabled) return Refuse(Name(node), " is annotated to stay");
    const NodeGroup* group = groups_.Find(node);
    if (group == nullptr) return Refuse(Name(node), " belongs to no group");
    if (group->managed_by == PoolManager::kKarpenter && info.do_not_disrupt) {
      return Refuse(Name(node), " is annotated to stay");
    }
    if (!options_.scale_down_unready_enabled && (!info.ready || IsHeldUnready(node))) {
      return Refuse(Name(node), " is not ready");
    }
    const std::optional<ResourceId> gpu = GpuOf(catalog_, node);
    if (gpu || groups_.HasGpuLabel(node)) {
      const double threshold = group->scale_down_gpu_utilization_threshold.value_or(
          options_.scale_down_gpu_utilization_threshold);
      // A node with a GPU label that offers no GPU has the utilization 0.
      const double used = gpu ? UsedOf(*gpu, node) : 0;
      if (used > threshold) return Refuse(Name(node), " is used too much");
      return absl::OkStatus();
    }
    const double threshold =
        group->scale_down_utilization_threshold.value_or(options_.scale_down_utilization_threshold);
    if (Used(node) > threshold) return Refuse(Name(node), " is used too much");
    return absl::OkStatus();
  }

  // --- Nodes that take no part ---------------------------------------------------

  // Whether the node, or the machine that it runs on, is being deleted by something else.
  bool GoesByItself(NodeId node) const {
    const NodeInfo& info = catalog_.node(node);
    return info.leaving != NodeLeaving::kNo ||
           catalog_.storage().dying_machines().Of(info.name, info.provider_id) != nullptr;
  }

  bool IsHeldUnready(NodeId node) const {
    return !groups_.not_ready.empty() && groups_.not_ready[Index(node)] != NotReadyReason::kNone;
  }

  bool IsUnfinished(NodeId node) const {
    const int64_t startup_s = groups_.max_node_startup_time_s;
    if (startup_s <= 0) return false;
    const NodeInfo& info = catalog_.node(node);
    switch (info.setup) {
      case NodeSetup::kUnregistered:
      case NodeSetup::kNotInitialized:
        return true;
      case NodeSetup::kUnlabelled:
      case NodeSetup::kInitialized:
      case NodeSetup::kNotKarpenters:
        break;
    }
    if (input_.now_s - info.creation_time >= startup_s) return false;
    if (info.setup == NodeSetup::kUnlabelled || !info.ready) return true;
    if (!IsHeldUnready(node)) return false;
    if (groups_.not_ready[Index(node)] == NotReadyReason::kNoGpus && !groups_.has_unready_timers) {
      return true;
    }
    const NodeGroup* const group = groups_.Find(node);
    return group != nullptr && group->scaling_up;
  }

  // Why no pod may be placed on the node; empty: pods may.
  std::string_view WhyNoPlace(NodeId to) const {
    if (GoesByItself(to)) return ", which something deletes";
    if (IsUnfinished(to)) return ", which is still being set up";
    return "";
  }

  // --- Placement ---------------------------------------------------------------

  [[nodiscard]] bool IsInDeletion(NodeId node) const {
    return std::ranges::count(input_.in_deletion, node) > 0;
  }

  // A removed node must not be one that a pending pod may need which is not fully understood.
  // Checked before any pod is placed, when nodes have the most room.
  absl::Status CheckPendingHolds() {
    absl::flat_hash_set<PodShapeId> seen;
    for (const PodId pod : input_.pending) {
      if (catalog_.shape_of(pod).not_understood.empty()) continue;
      if (!seen.insert(catalog_.shape_id(pod)).second) continue;
      for (const RemovableNode& removal : plan_.remove) {
        if (!cluster_.Contains(removal.node)) continue;
        if (!cluster_.MayRunAsFarAsUnderstood(pod, removal.node)) continue;
        return Refuse(Name(removal.node), " goes although ", Name(pod), " may need it");
      }
    }
    return absl::OkStatus();
  }

  // Places the pending pods that found room, and checks that those which must fit did.
  absl::Status ReplayPacking() {
    absl::flat_hash_set<PodId> pending(input_.pending.begin(), input_.pending.end());
    absl::flat_hash_set<PodId> packed;
    for (const auto& [pod, to] : plan_.packed) {
      if (!pending.contains(pod)) return Refuse(Name(pod), " is not pending and was packed");
      if (!packed.insert(pod).second) return Refuse(Name(pod), " was packed twice");
      if (cluster_.NodeOf(pod) != kNoNode) {
        return Refuse(Name(pod), " was packed and runs already");
      }
      if (!cluster_.Contains(to))
        return Refuse(Name(pod), " was packed on ", Name(to), ", which is gone");
      if (IsInDeletion(to)) {
        return Refuse(Name(pod), " was packed on ", Name(to), ", which is being deleted");
      }
      if (const std::string_view why = WhyNoPlace(to); !why.empty()) {
        return Refuse(Name(pod), " was packed on ", Name(to), Absl(why));
      }
    }
    if (absl::Status s = PlaceAll(plan_.packed); !s.ok()) return s;
    const size_t must_fit = std::min(input_.must_fit, input_.pending.size());
    for (const PodId pod : input_.pending.first(must_fit)) {
      if (!packed.contains(pod) && !plan_.remove.empty()) {
        return Refuse("nodes go although ", Name(pod), " found no room");
      }
    }
    return absl::OkStatus();
  }

  // Places pods that are not placed yet, in the order of `moves`.  Each must fit when its turn
  // comes.  With PodOrder::kByPriority, no pod may come before one of higher priority.
  absl::Status PlaceAll(const std::vector<Move>& moves) {
    const auto priority = [&](const Move& move) { return ShapeOf(move.pod).priority; };
    const bool by_priority = input_.pod_order == PodOrder::kByPriority;
    for (size_t i = 0; i < moves.size(); ++i) {
      const auto& [pod, to] = moves[i];
      if (by_priority && i > 0 && priority(moves[i]) > priority(moves[i - 1])) {
        return Refuse(Name(moves[i - 1].pod), " is placed before ", Name(pod),
                      ", which has a higher priority");
      }
      if (const std::string why = cluster_.WhyNot(pod, to); !why.empty()) {
        return Refuse(Name(pod), " does not fit on ", Name(to), ": ", why);
      }
      cluster_.Add(pod, to);
    }
    return absl::OkStatus();
  }

  // --- Removal -----------------------------------------------------------------

  // What the rules require of a pod of the removed node, and what the plan has done with it.
  enum class Duty : uint8_t { kStays, kMoves, kMoved, kDaemonSet, kOnCompletion, kListed };

  DrainVerdict DrainVerdictOf(PodId pod, OfShape& of) {
    if (of.drain) return *of.drain;
    const DrainVerdict verdict =
        ApplyDrainRules(catalog_, pod, options_.drain, full_budgets_, input_.now_s);
    if (of.rules_alike) of.drain = verdict;
    return verdict;
  }

  [[nodiscard]] bool IsProtected(const PodShape& shape) const {
    return shape.do_not_disrupt && !shape.terminating && shape.phase != PodPhase::kSucceeded &&
           shape.phase != PodPhase::kFailed && !(shape.do_not_disrupt_until <= input_.now_s);
  }

  absl::Status CheckDrainVerdicts(NodeId node) {
    const bool karpenter = groups_.Find(node)->managed_by == PoolManager::kKarpenter;
    for (const PodId pod : cluster_.PodsOn(node)) {
      if (karpenter && IsProtected(catalog_.shape_of(pod))) {
        return Refuse(Name(node), " goes although Karpenter must not disrupt ", Name(pod));
      }
      OfShape& of = ShapeOf(pod);
      const DrainVerdict verdict = DrainVerdictOf(pod, of);
      Duty& duty = duties_[Index(pod)];
      switch (verdict.outcome) {
        case DrainOutcome::kBlock:
          return Refuse(Name(node), " goes although ", Name(pod),
                        " keeps it: ", Absl(ToString(verdict.reason)));
        case DrainOutcome::kUndefined:
          // All rules have passed, the last one with budgets that were not charged.
          for (const PdbId pdb : BudgetsOf(pod)) {
            if (remaining_[Index(pdb)] >= 1) continue;
            return Refuse(Name(node), " goes although ", Name(pdb), " has nothing left for ",
                          Name(pod));
          }
          [[fallthrough]];
        case DrainOutcome::kDrain:
          duty = of.daemonset ? Duty::kDaemonSet : Duty::kMoves;
          break;
        case DrainOutcome::kWaitForCompletion:
          duty = Duty::kOnCompletion;
          break;
        case DrainOutcome::kSkip:
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckMoves(const RemovableNode& removal) {
    for (const auto& [pod, to] : removal.moves) {
      if (cluster_.NodeOf(pod) != removal.node) {
        return Refuse(Name(pod), " moves with ", Name(removal.node), " and does not run there");
      }
      Duty& duty = duties_[Index(pod)];
      if (duty == Duty::kMoved) return Refuse(Name(pod), " moves twice at once");
      if (duty != Duty::kMoves) {
        return Refuse(Name(pod), " of ", Name(removal.node), " moves and must not");
      }
      duty = Duty::kMoved;
      if (to == removal.node) return Refuse(Name(pod), " moves to the node that it leaves");
      if (!cluster_.Contains(to))
        return Refuse(Name(pod), " moves to ", Name(to), ", which is gone");
      if (const std::string_view why = WhyNoPlace(to); !why.empty()) {
        return Refuse(Name(pod), " moves to ", Name(to), Absl(why));
      }
      if (input_.destinations != nullptr &&
          (Index(to) >= input_.destinations->range() || !input_.destinations->Contains(to))) {
        return Refuse(Name(pod), " moves to ", Name(to), ", which is not a destination");
      }
      if (IsInDeletion(to)) {
        return Refuse(Name(pod), " moves to ", Name(to), ", which is being deleted");
      }
    }
    return absl::OkStatus();
  }

  // Whether each pod of `list` has the duty `which` and is listed only once.
  bool AreAll(Duty which, const std::vector<PodId>& list) {
    return std::ranges::all_of(list, [&](PodId pod) {
      return std::exchange(duties_[Index(pod)], Duty::kListed) == which;
    });
  }

  // Checks that the plan accounts for every pod of the node that has a duty, and resets duties.
  absl::Status CheckLeft(NodeId node) {
    for (const PodId pod : cluster_.PodsOn(node)) {
      switch (std::exchange(duties_[Index(pod)], Duty::kStays)) {
        case Duty::kMoves:
          return Refuse(Name(pod), " of ", Name(node), " must move and does not");
        case Duty::kDaemonSet:
          return Refuse(Name(node), " runs other DaemonSet pods than listed");
        case Duty::kOnCompletion:
          return Refuse(Name(node), " waits for other pods than listed");
        case Duty::kStays:
        case Duty::kMoved:
        case Duty::kListed:
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReplayRemoval(const RemovableNode& removal) {
    if (absl::Status s = CheckDrainVerdicts(removal.node); !s.ok()) return s;
    if (absl::Status s = CheckMoves(removal); !s.ok()) return s;
    if (!AreAll(Duty::kDaemonSet, removal.daemonset)) {
      return Refuse(Name(removal.node), " runs other DaemonSet pods than listed");
    }
    if (!AreAll(Duty::kOnCompletion, removal.on_completion)) {
      return Refuse(Name(removal.node), " waits for other pods than listed");
    }
    if (absl::Status s = CheckLeft(removal.node); !s.ok()) return s;
    cluster_.BeginRemoval(removal.node);
    if (absl::Status s = PlaceAll(removal.moves); !s.ok()) return s;
    cluster_.EndRemoval();
    if (absl::Status s = EvictAll(removal.moves); !s.ok()) return s;
    if (SpendAll(removal.moves) != removal.risky) {
      return Refuse(Name(removal.node), removal.risky ? " is not risky" : " is risky");
    }
    return absl::OkStatus();
  }

  const Catalog& catalog_;
  const NodeGroups& groups_;
  const PlannerOptions& options_;
  const PassInput& input_;
  const Plan& plan_;
  const Deadline* const deadline_;  // Null: no time limit.

  SlowCluster cluster_;
  std::vector<bool> candidates_;                      // By NodeId.
  const PdbTracker full_budgets_;                     // Never charged.
  std::vector<Duty> duties_;                          // By PodId; kStays for pods of other nodes.
  std::vector<OfShape> of_shape_;                     // By PodShapeId.
  std::vector<int64_t> remaining_;                    // By PdbId.
  std::vector<std::vector<PdbId>> budgets_of_shape_;  // By PodShapeId, filled on first use.
  struct Workload {
    int64_t pods = 0;
    int64_t evicted = 0;
  };
  absl::flat_hash_map<std::string, Workload> workloads_;  // By WorkloadOf, if shares are limited.
  // Pods that are still on the node where they ran before the plan.
  absl::flat_hash_set<PodId> running_;
};

}  // namespace

absl::Status Verify(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlannerOptions& options, const PassInput& input, const Plan& plan) {
  if (absl::Status s = CheckGroups(snapshot.catalog(), groups); !s.ok()) return s;
  return Replay(snapshot, groups, options, input, plan, /*deadline=*/nullptr).Run().status();
}

absl::StatusOr<VerifiedPart> VerifyUntil(const Deadline& deadline, const ClusterSnapshot& snapshot,
                                         const NodeGroups& groups, const PlannerOptions& options,
                                         const PassInput& input, const Plan& plan) {
  if (absl::Status s = CheckGroups(snapshot.catalog(), groups); !s.ok()) return s;
  return Replay(snapshot, groups, options, input, plan, &deadline).Run();
}

}  // namespace ebb
