#include "engine/verify/verify.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/text.h"
#include "engine/plan/check_input.h"
#include "engine/plan/node_standing.h"
#include "engine/verify/plan_rules.h"
#include "engine/verify/slow_cluster.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

// So that 0.07 of 100 pods is 7: a share may be off by rounding.
constexpr double kShareRounding = 1e-9;

// The verification of one plan: the replayed cluster, and what is left of its budgets.
class Replay {
 public:
  Replay(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PlannerOptions& options,
         const PassInput& input, const Plan& plan, const Deadline* deadline)
      : snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        groups_(groups),
        options_(options),
        input_(input),
        plan_(plan),
        deadline_(deadline),
        cluster_(snapshot, input.now_s),
        rules_(catalog_, groups, options, input, cluster_.matches()) {
    for (const Pdb& pdb : catalog_.pdbs()) remaining_.push_back(pdb.disruptions_allowed);
    if (input_.max_workload_share < 1) CountWorkloads(snapshot);
  }

  absl::StatusOr<VerifiedPart> Run() {
    VerifiedPart part;
    if (absl::Status s = rules_.CheckIds(plan_); !s.ok()) return s;
    if (absl::Status s = rules_.CheckVerdicts(plan_); !s.ok()) return s;
    for (const PodId pod : input_.evicting) Spend(pod);
    if (absl::Status s = CheckPendingHolds(); !s.ok()) return s;
    if (absl::Status s = ReplayPacking(); !s.ok()) return s;
    if (TimeIsUp()) return part;
    part.packed = true;
    // Eligibility is judged before any removal.
    for (const RemovableNode& removal : plan_.remove) {
      const NodeId node = removal.node;
      if (!cluster_.Contains(node)) return RefusePlan(rules_.Name(node), " is not in the cluster");
      if (absl::Status s = rules_.CheckEligible(node, cluster_.PodsOn(node), cluster_.devices());
          !s.ok()) {
        return s;
      }
    }
    for (const RemovableNode& removal : plan_.remove) {
      if (TimeIsUp()) return part;
      if (absl::Status s = ReplayRemoval(removal); !s.ok()) return s;
      ++part.removals;
    }
    if (absl::Status s = rules_.CheckTotals(plan_, remaining_); !s.ok()) return s;
    if (absl::Status s = CheckGangs(); !s.ok()) return s;
    if (absl::Status s = CheckHeadroom(); !s.ok()) return s;
    return part;
  }

 private:
  [[nodiscard]] bool TimeIsUp() const { return deadline_ != nullptr && deadline_->Expired(); }
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
      return RefusePlan(rules_.Name(move.pod), " is evicted beyond the share of the ",
                        Count(static_cast<uint64_t>(workload.pods), "pod", "pods"), " of ", name);
    }
    return absl::OkStatus();
  }

  // --- Gangs and headroom ----------------------------------------------------------

  static bool RunsInGang(const PodShape& shape) {
    return !shape.gangs.empty() && !shape.terminating && !HasEnded(shape);
  }

  // Counts the gangs' pods itself: no more move than a gang may lose, whatever the plan's order, or
  // with Gangs::kMove all that run.
  absl::Status CheckGangs() {
    if (options_.drain.gangs == Gangs::kIgnore || catalog_.gangs().empty()) return absl::OkStatus();
    absl::flat_hash_map<uint32_t, int64_t> running;
    absl::flat_hash_map<uint32_t, int64_t> staying;  // Of these, on nodes that are not deleted.
    absl::flat_hash_map<uint32_t, int64_t> declared;
    const auto count = [&](PodId pod, bool stays) {
      const PodShape& shape = catalog_.shape_of(pod);
      if (!RunsInGang(shape)) return;
      for (size_t i = 0; i < shape.gangs.size(); ++i) {
        const uint32_t g = shape.gangs[i];
        ++running[g];
        staying[g] += stays ? 1 : 0;
        declared[g] = std::max(declared[g], shape.gang_sizes[i]);
      }
    };
    snapshot_.alive().ForEach([&](NodeId node) {
      const bool stays = !IsLeaving(catalog_, node) &&
                         !IsBeingDeleted(catalog_.node(node), input_.now_s) &&
                         std::ranges::count(input_.in_deletion, node) == 0;
      for (const PodId pod : snapshot_.PodsOn(node)) count(pod, stays);
    });
    // Pods of nodes in deletion have been taken off these nodes, and still run there.
    for (const PodId pod : input_.pending) {
      if (catalog_.shape_of(pod).spec_digest == 0) count(pod, /*stays=*/false);
    }
    std::vector<PodId> moved;
    absl::flat_hash_set<PodId> is_moved;
    absl::flat_hash_map<uint32_t, int64_t> moved_of;
    absl::flat_hash_set<uint32_t> late;  // Gangs some of whose pods a budget lets go only later.
    for (const RemovableNode& removal : plan_.remove) {
      for (const Move& move : removal.moves) {
        const PodShape& shape = catalog_.shape_of(move.pod);
        if (!RunsInGang(shape) || snapshot_.NodeOf(move.pod) == kNoNode) continue;
        if (!is_moved.insert(move.pod).second) continue;
        moved.push_back(move.pod);
        for (const uint32_t g : shape.gangs) {
          ++moved_of[g];
          if (removal.risky) late.insert(g);
        }
      }
    }
    // How many pods of the gang must run.
    const auto least = [&](uint32_t g) {
      const Gang& gang = catalog_.gangs()[g];
      const GangStates::State& state = catalog_.gang_states().gangs[g];
      if (gang.kind == GangKind::kJobSet) return state.missing > 0 ? running[g] + 1 : 0;
      const bool counts_succeeded =
          gang.kind == GangKind::kVolcano || gang.kind == GangKind::kKueue;
      return gang.min_count.value_or(declared[g]) - (counts_succeeded ? state.absent.succeeded : 0);
    };
    const auto is_known = [&](uint32_t g) {
      const Gang& gang = catalog_.gangs()[g];
      return gang.not_understood.empty() && (gang.has_object || !HasPodGroup(gang.kind));
    };
    const auto moves_whole = [&](uint32_t g) {
      return options_.drain.gangs == Gangs::kMove && is_known(g) && !late.contains(g) &&
             moved_of[g] == running[g] && running[g] >= least(g);
    };
    for (const PodId pod : moved) {
      const PodShape& shape = catalog_.shape_of(pod);
      if (shape.safe_to_evict == SafeToEvict::kTrue) continue;
      for (const uint32_t g : shape.gangs) {
        const Gang& gang = catalog_.gangs()[g];
        if (is_known(g)) {
          const bool alone = running[g] <= 1 && least(g) <= 1;
          const bool has_least = gang.min_count.has_value() || declared[g] > 0;
          if (alone || (gang.one_by_one && !has_least)) continue;
          if (gang.one_by_one && --staying[g] >= least(g)) continue;
        }
        if (moves_whole(g)) continue;
        return RefusePlan(rules_.Name(pod), " leaves its gang, ", Absl(ToString(gang.kind)), " ",
                          Absl(catalog_.Text(gang.namespace_name)), "/",
                          Absl(catalog_.Text(gang.name)));
      }
    }
    return absl::OkStatus();
  }

  // The text of a scope of headroom.
  [[nodiscard]] std::string ScopeOf(NodeId node) const {
    if (options_.headroom.per == HeadroomPer::kGroup) {
      return absl::StrCat(Index(groups_.Of(node)));
    }
    if (options_.headroom.per == HeadroomPer::kCluster) return "";
    for (const std::string_view key : {kZoneLabel, kBetaZoneLabel}) {
      for (const auto& [name, value] : catalog_.node(node).labels) {
        if (catalog_.Text(name) == key) return std::string(catalog_.Text(value));
      }
    }
    return "";
  }

  // Whether what is free on the node counts as headroom.
  [[nodiscard]] bool HasHeadroom(NodeId node) const {
    const NodeInfo& info = catalog_.node(node);
    return info.ready && !info.unschedulable && !IsLeaving(catalog_, node) &&
           std::ranges::count(input_.in_deletion, node) == 0;
  }

  // Adds up what is left at the end, where the least is free.
  absl::Status CheckHeadroom() {
    const Headroom& wanted = options_.headroom;
    if (wanted.empty() || plan_.remove.empty()) return absl::OkStatus();
    absl::flat_hash_set<std::string> touched;
    for (const RemovableNode& removal : plan_.remove) {
      if (HasHeadroom(removal.node)) touched.insert(ScopeOf(removal.node));
      for (const Move& move : removal.moves) {
        if (HasHeadroom(move.to)) touched.insert(ScopeOf(move.to));
      }
    }
    struct Sum {
      __int128 offered[2] = {};
      __int128 free[2] = {};
    };
    absl::flat_hash_map<std::string, Sum> sums;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      const NodeId node{n};
      if (!snapshot_.Contains(node) || !cluster_.Contains(node)) continue;
      if (!HasHeadroom(node)) continue;
      Sum& sum = sums[ScopeOf(node)];
      const ResourceId resources[] = {kCpu, kMemory};
      for (size_t r = 0; r < 2; ++r) {
        const int64_t offered = AmountOf(catalog_.node(node).allocatable, resources[r]);
        sum.offered[r] += offered;
        sum.free[r] += offered;
        for (const PodId pod : cluster_.PodsOn(node)) {
          sum.free[r] -= AmountOf(catalog_.ChargeOn(pod, node), resources[r]);
        }
      }
    }
    for (const auto& [scope, sum] : sums) {
      if (!touched.contains(scope)) continue;
      const double wants[] = {wanted.cpu, wanted.memory};
      for (size_t r = 0; r < 2; ++r) {
        if (static_cast<double>(sum.free[r]) >= wants[r] * static_cast<double>(sum.offered[r])) {
          continue;
        }
        return RefusePlan("less ", r == 0 ? "cpu" : "memory", " is left free than the headroom",
                          scope.empty() ? "" : " in ", scope);
      }
    }
    return absl::OkStatus();
  }

  // --- Spending ------------------------------------------------------------------

  void Spend(PodId pod) {
    for (const PdbId pdb : rules_.BudgetsOf(pod)) --remaining_[Index(pdb)];
  }

  // Charges the budgets for all of `moves`.  Returns whether some budget does not allow all of them
  // at once.
  bool SpendAll(const std::vector<Move>& moves) {
    bool risky = false;
    for (const Move& move : moves) {
      Spend(move.pod);
      for (const PdbId pdb : rules_.BudgetsOf(move.pod))
        risky = risky || remaining_[Index(pdb)] < 0;
    }
    return risky;
  }

  // --- Placement ---------------------------------------------------------------

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
        return RefusePlan(rules_.Name(removal.node), " goes although ", rules_.Name(pod),
                          " may need it");
      }
    }
    return absl::OkStatus();
  }

  // Places the pending pods that found room, and checks that those which must fit did.
  absl::Status ReplayPacking() {
    absl::flat_hash_set<PodId> pending(input_.pending.begin(), input_.pending.end());
    absl::flat_hash_set<PodId> packed;
    for (const auto& [pod, to] : plan_.packed) {
      if (!pending.contains(pod))
        return RefusePlan(rules_.Name(pod), " is not pending and was packed");
      if (!packed.insert(pod).second) return RefusePlan(rules_.Name(pod), " was packed twice");
      if (cluster_.NodeOf(pod) != kNoNode) {
        return RefusePlan(rules_.Name(pod), " was packed and runs already");
      }
      if (!cluster_.Contains(to))
        return RefusePlan(rules_.Name(pod), " was packed on ", rules_.Name(to), ", which is gone");
      if (absl::Status s = rules_.CheckPlace(" was packed on ", pod, to); !s.ok()) return s;
    }
    if (absl::Status s = PlaceAll(plan_.packed); !s.ok()) return s;
    const size_t must_fit = std::min(input_.must_fit, input_.pending.size());
    for (const PodId pod : input_.pending.first(must_fit)) {
      if (!packed.contains(pod) && !plan_.remove.empty()) {
        return RefusePlan("nodes go although ", rules_.Name(pod), " found no room");
      }
    }
    return absl::OkStatus();
  }

  // Places pods that are not placed yet, in the order of `moves`.  Each must fit when its turn
  // comes.
  absl::Status PlaceAll(const std::vector<Move>& moves) {
    if (absl::Status s = rules_.CheckOrder(moves); !s.ok()) return s;
    for (const auto& [pod, to] : moves) {
      if (const std::string why = cluster_.WhyNot(pod, to); !why.empty()) {
        return RefusePlan(rules_.Name(pod), " does not fit on ", rules_.Name(to), ": ", why);
      }
      cluster_.Add(pod, to);
    }
    return absl::OkStatus();
  }

  // --- Removal -----------------------------------------------------------------

  absl::Status ReplayRemoval(const RemovableNode& removal) {
    absl::Status pods = rules_.CheckPods(
        removal, cluster_.PodsOn(removal.node),
        [&](PodId pod) { return cluster_.NodeOf(pod) == removal.node; },
        [&](NodeId node) { return cluster_.Contains(node); },
        [&](PdbId pdb, PodId pod) {
          if (remaining_[Index(pdb)] >= 1) return absl::OkStatus();
          return RefusePlan(rules_.Name(removal.node), " goes although ", rules_.Name(pdb),
                            " has nothing left for ", rules_.Name(pod));
        });
    if (!pods.ok()) return pods;
    absl::Status pool = rules_.CheckNodePool(
        removal, [&](PodId pod) { return snapshot_.NodeOf(pod) == removal.node; });
    if (!pool.ok()) return pool;
    cluster_.BeginRemoval(removal.node);
    if (absl::Status s = PlaceAll(removal.moves); !s.ok()) return s;
    cluster_.EndRemoval();
    if (absl::Status s = EvictAll(removal.moves); !s.ok()) return s;
    if (SpendAll(removal.moves) != removal.risky) {
      return RefusePlan(rules_.Name(removal.node), removal.risky ? " is not risky" : " is risky");
    }
    return absl::OkStatus();
  }

  const ClusterSnapshot& snapshot_;  // Before the plan.
  const Catalog& catalog_;
  const NodeGroups& groups_;
  const PlannerOptions& options_;
  const PassInput& input_;
  const Plan& plan_;
  const Deadline* const deadline_;  // Null: no time limit.

  SlowCluster cluster_;
  PlanRules rules_;
  std::vector<int64_t> remaining_;  // By PdbId.
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
