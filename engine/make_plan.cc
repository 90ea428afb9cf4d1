#include "engine/make_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/deletions_under_way.h"
#include "engine/plan/atomic_groups.h"
#include "engine/plan/check_input.h"
#include "engine/plan/gang_parts.h"
#include "engine/plan/group_quotas.h"
#include "engine/plan/node_standing.h"
#include "engine/verify/verify.h"

// How a plan comes from repeated passes.
//
// A pass (planner.cc) is greedy and knows no limits of groups: it removes every candidate whose
// pods fit elsewhere.  MakePlan repeats the pass with fewer candidates until its plan keeps every
// limit:
//
//   candidates = sort(nodes whose group may shrink)
//   repeat: plan = pass(candidates); take candidates away, by the first rule that finds some
//     surplus        a group would go below its minimum: its candidates from that removal on
//     on completion  a removed node has a pod that must run to completion: that node
//     atomic groups  an atomic group would be removed in part: all its candidates
//     gangs          a gang would move in part: all candidates with a pod that it holds
//   until no rule finds any; verify the plan
//
// PlanResult (`made`) holds the loop's state: `candidates`, which shrinks; `excluded`, the nodes
// taken away, with their reasons; and the plan of the latest pass.  `quotas` (group_quotas.h) and
// `registered` (atomic_groups.h) are computed once, because no pass changes the snapshot.
//
// Why it is right:
// - Every pass has a new Planner, which knows only the suggestions of the request.  So equal
//   candidates give equal decisions, and a pass repeats the decisions of the pass before up to the
//   first candidate that was taken away.  (A planner of the request remembers where the pass before
//   has put each pod, and tries that first.  So it repeats these decisions too.)
// - Therefore ExcludeSurplus handles one group only, the first one to go below its minimum.  Up to
//   that removal the next pass is the same, so the result is what counting during the pass would
//   give.  What comes later may change, and is judged again.
// - The loop ends: each repetition takes away at least one candidate, the removal that broke the
//   limit.  When it ends, no rule is broken.
// - A node that is taken away keeps the reason that the pass found for it, if it has one.  The
//   exception is a surplus node whose verdict DependsOnOrder: it found no room, or a budget was
//   used up.  The removals that caused that may not be part of the final plan.
//
// Time limits: a plan is a sequence, and each removal was judged after the ones before it.  So the
// first n removals of a plan are a plan, and a verified plan stays verified when it is cut.  They
// need not keep the limits of groups: half of an atomic group may be among them.  SoundRemovals
// finds the largest n that does, in one walk over the removals.  Cut then shortens the plan,
// returns the disruptions of the removals that are dropped, and turns verdicts of later candidates
// that depend on order into skipped ones.
//
// Cost: one pass for each repetition, at worst one for each candidate.  A repetition also walks
// over candidates and removals, and over the kept nodes for each node that it takes away.
// Verification costs about one pass.

namespace ebb {
namespace {

UnremovableNode Kept(NodeId node, UnremovableReason reason, PodId pod = kNoPod) {
  UnremovableNode kept;
  kept.node = node;
  kept.reason = reason;
  kept.pod = pod;
  return kept;
}

// Whether the verdict may depend on which nodes were removed before.
bool DependsOnOrder(const UnremovableNode& kept) {
  return kept.reason == UnremovableReason::kNoPlaceToMovePods ||
         kept.reason == UnremovableReason::kHeadroomReached ||
         kept.reason == UnremovableReason::kEmptyBudgetReached ||
         kept.reason == UnremovableReason::kUnderutilizedBudgetReached ||
         kept.reason == UnremovableReason::kNodeNotEmpty ||
         (kept.reason == UnremovableReason::kBlockedByPod &&
          kept.blocking_reason == BlockingPodReason::kNotEnoughPdb);
}

// Takes nodes out of the candidates, each with a reason.  The others keep their order.
class Exclusions {
 public:
  Exclusions(size_t nodes, PlanResult& made) : out_(nodes), made_(made) {}

  // Excludes the node.  If the pass kept it, the pass's reason counts instead of `reason`.
  void Add(NodeId node, UnremovableReason reason, PodId pod = kNoPod) {
    Add(Kept(node, reason, pod));
  }
  void Add(const UnremovableNode& kept) {
    const UnremovableNode* const own = OwnReason(kept.node);
    Exclude(own != nullptr ? *own : kept);
  }

  // Excludes a node that comes after its group has reached its minimum.  If the pass kept it, the
  // pass's reason counts, unless that may depend on the order: the pass had removed more nodes by
  // then than the plan will.
  void AddSurplus(NodeId node) {
    const UnremovableNode* const own = OwnReason(node);
    const bool keeps_own = own != nullptr && !DependsOnOrder(*own);
    Exclude(keeps_own ? *own : Kept(node, UnremovableReason::kNodeGroupMinSizeReached));
  }

  void Apply() {
    std::erase_if(made_.candidates, [&](NodeId node) { return out_[Index(node)]; });
  }

 private:
  void Exclude(const UnremovableNode& kept) {
    out_[Index(kept.node)] = true;
    made_.excluded.push_back(kept);
  }

  // The verdict of the pass that kept the node; null: the pass removed or skipped it.
  [[nodiscard]] const UnremovableNode* OwnReason(NodeId node) const {
    const auto own = std::ranges::find(made_.plan.keep, node, &UnremovableNode::node);
    return own == made_.plan.keep.end() ? nullptr : &*own;
  }

  std::vector<bool> out_;
  PlanResult& made_;
};

void FindCandidates(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlanRequest& request, PlanResult& made) {
  const auto consider = [&](NodeId node) {
    const NodeGroup* group = groups.Find(node);
    if (IsLeaving(snapshot.catalog(), node)) {
      made.excluded.push_back(Kept(node, UnremovableReason::kCurrentlyBeingDeleted));
    } else if (group == nullptr) {
      made.excluded.push_back(Kept(node, UnremovableReason::kNotAutoscaled));
    } else if (!MayShrink(*group)) {
      made.excluded.push_back(Kept(node, UnremovableReason::kNodeGroupMinSizeReached));
    } else {
      made.candidates.push_back(node);
    }
  };
  if (request.candidates != nullptr) {
    for (const NodeId node : *request.candidates) consider(node);
  } else {
    snapshot.alive().ForEach(consider);
  }
}

// Excludes the remaining candidates of the first group that goes below its minimum.  Returns
// whether there is one.
bool ExcludeSurplus(const NodeGroups& groups, std::vector<int64_t> quotas, const PlanResult& made,
                    Exclusions& exclusions) {
  for (const RemovableNode& removal : made.plan.remove) {
    const GroupId group = groups.Of(removal.node);
    if (quotas[Index(group)]-- > 0) continue;
    const auto from = std::find(made.candidates.begin(), made.candidates.end(), removal.node);
    for (auto it = from; it != made.candidates.end(); ++it) {
      if (groups.Of(*it) == group) exclusions.AddSurplus(*it);
    }
    return true;
  }
  return false;
}

bool ExcludeOnCompletion(const PlanResult& made, Exclusions& exclusions) {
  bool any = false;
  for (const RemovableNode& removal : made.plan.remove) {
    if (removal.on_completion.empty()) continue;
    exclusions.Add(removal.node, UnremovableReason::kBlockedByOnCompletionPod,
                   removal.on_completion.front());
    any = true;
  }
  return any;
}

bool ExcludeBrokenAtomicGroups(const NodeGroups& groups, std::span<const int64_t> registered,
                               const PlanResult& made, Exclusions& exclusions) {
  std::vector<int64_t> removed(groups.groups.size());
  for (const RemovableNode& removal : made.plan.remove) ++removed[Index(groups.Of(removal.node))];
  bool any = false;
  for (const NodeId node : made.candidates) {
    const NodeGroup& group = *groups.Find(node);
    const size_t g = Index(groups.Of(node));
    if (!group.atomic || removed[g] == 0 || IsWhole(group, removed[g], registered[g])) continue;
    exclusions.Add(node, UnremovableReason::kAtomicScaleDownFailed);
    any = true;
  }
  return any;
}

bool ExcludeBrokenGangs(GangParts gangs, const PlanResult& made, Exclusions& exclusions) {
  for (const RemovableNode& removal : made.plan.remove) gangs.Remove(removal);
  if (gangs.AreWhole()) return false;
  for (const NodeId node : made.candidates) {
    const std::optional<PodId> pod = gangs.PodInParts(node);
    if (!pod) continue;
    UnremovableNode kept = Kept(node, UnremovableReason::kBlockedByPod, *pod);
    kept.blocking_reason = BlockingPodReason::kPodOfGang;
    exclusions.Add(kept);
  }
  return true;
}

// The largest number of removals, at most `most` and counted from the first, that keeps every limit
// of groups: no group is below its minimum, no atomic group is removed in part, no removed node has
// a pod that must run to completion, no gang moves in part.
size_t SoundRemovals(const NodeGroups& groups, std::span<const int64_t> registered,
                     std::vector<int64_t> quotas, GangParts gangs, const Plan& plan, size_t most) {
  std::vector<int64_t> removed(groups.groups.size());
  size_t in_parts = 0;  // Atomic groups that are removed in part.
  size_t sound = 0;
  for (size_t i = 0; i < most; ++i) {
    const RemovableNode& removal = plan.remove[i];
    const size_t g = Index(groups.Of(removal.node));
    const NodeGroup& group = groups.groups[g];
    if (!removal.on_completion.empty() || quotas[g]-- <= 0) break;
    const auto is_in_parts = [&] {
      return group.atomic && removed[g] > 0 && !IsWhole(group, removed[g], registered[g]);
    };
    if (is_in_parts()) --in_parts;
    ++removed[g];
    if (is_in_parts()) ++in_parts;
    gangs.Remove(removal);
    if (in_parts == 0 && gangs.AreWhole()) sound = i + 1;
  }
  return sound;
}

// Cuts the plan to its first `removals`.  A candidate behind the cut becomes a skipped one if its
// verdict may depend on the removals that were dropped.
void Cut(const Catalog& catalog, size_t removals, Termination termination, PlanResult& made) {
  Plan& plan = made.plan;
  plan.termination = termination;
  if (removals == plan.remove.size()) return;
  const auto first_out = std::ranges::find(made.candidates, plan.remove[removals].node);
  std::vector<bool> is_skipped(catalog.nodes());
  for (const NodeId node : plan.skipped) is_skipped[Index(node)] = true;
  for (size_t i = removals; i < plan.remove.size(); ++i) {
    is_skipped[Index(plan.remove[i].node)] = true;
    for (const Move& move : plan.remove[i].moves) {
      for (const PdbId pdb : catalog.ChargedBudgets(move.pod)) ++plan.pdb_remaining[Index(pdb)];
    }
  }
  plan.remove.resize(removals);
  std::vector<bool> is_behind(catalog.nodes());
  for (auto it = first_out; it != made.candidates.end(); ++it) is_behind[Index(*it)] = true;
  std::erase_if(plan.keep, [&](const UnremovableNode& kept) {
    if (!is_behind[Index(kept.node)] || !DependsOnOrder(kept)) return false;
    is_skipped[Index(kept.node)] = true;
    return true;
  });
  plan.skipped.clear();
  for (const NodeId node : made.candidates) {
    if (is_skipped[Index(node)]) plan.skipped.push_back(node);
  }
}

// Cuts the plan to the largest number of removals, at most `removals`, that keeps the limits of
// groups.
void CutToSound(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                const PlanRequest& request, size_t removals, Termination termination,
                PlanResult& made) {
  const size_t sound = SoundRemovals(groups, RegisteredNodes(snapshot, groups),
                                     GroupQuotas(snapshot, groups, request.pass.now_s),
                                     GangParts(snapshot, request.planner), made.plan, removals);
  Cut(snapshot.catalog(), sound, termination, made);
}

}  // namespace

absl::Status VerifyOrCut(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                         const PlanRequest& request, PlanResult& made) {
  const PassInput input = LastPassInput(request, made);
  if (request.verification_ends == nullptr) {
    return Verify(snapshot, groups, request.planner, input, made.plan);
  }
  const absl::StatusOr<VerifiedPart> part =
      VerifyUntil(*request.verification_ends, snapshot, groups, request.planner, input, made.plan);
  if (!part.ok()) return part.status();
  if (!part->packed) made.plan.packed.clear();
  if (!part->packed || part->removals < made.plan.remove.size()) {
    CutToSound(snapshot, groups, request, part->removals, Termination::kDeadline, made);
  }
  return absl::OkStatus();
}

void CutPlan(const ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
             size_t removals, Termination termination, PlanResult& made) {
  if (removals >= made.plan.remove.size()) return;
  CutToSound(snapshot, groups, request, removals, termination, made);
}

PassInput LastPassInput(const PlanRequest& request, const PlanResult& made) {
  PassInput input = request.pass;
  input.candidates = made.candidates;
  input.deadline = nullptr;
  return input;
}

namespace {

// How many candidates stand: those that the request tries first and that are not destinations.
size_t Standing(const PlanRequest& request, std::span<const NodeId> candidates) {
  const NodeSet* const destinations = request.pass.destinations;
  if (request.first.empty() || request.passes == nullptr || destinations == nullptr) return 0;
  NodeSet first(destinations->range());
  for (const NodeId node : request.first) first.Insert(node);
  const auto end = std::ranges::find_if(candidates, [&](NodeId node) {
    return !first.Contains(node) || destinations->Contains(node);
  });
  return static_cast<size_t>(end - candidates.begin());
}

// MakePlan for a request that accounts for nodes in deletion.
absl::StatusOr<PlanResult> MakePreparedPlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                            const PlanRequest& request) {
  PlanResult made;
  PassInput input = LastPassInput(request, made);
  if (request.candidates != nullptr) input.candidates = *request.candidates;
  if (absl::Status s = CheckGroups(snapshot.catalog(), groups); !s.ok()) return s;
  if (absl::Status s = CheckPassInput(snapshot, input); !s.ok()) return s;
  if (absl::Status s = CheckSuggestions(snapshot.catalog(), request.suggestions); !s.ok()) return s;

  FindCandidates(snapshot, groups, request, made);
  SortCandidates(snapshot, groups, request.planner, request.order, request.pass.now_s,
                 /*was_unneeded=*/nullptr, made.candidates);
  if (!request.first.empty()) {
    MoveToFront(request.first, snapshot.catalog().nodes(), made.candidates);
  }
  made.order = made.candidates;
  const std::vector<int64_t> registered = RegisteredNodes(snapshot, groups);
  const std::vector<int64_t> quotas = GroupQuotas(snapshot, groups, request.pass.now_s);
  const GangParts gangs(snapshot, request.planner);  // Before any removal.
  Exclusions exclusions(snapshot.catalog().nodes(), made);
  // Of the first pass, which judged all candidates.
  std::vector<std::optional<Utilization>> utilization;
  while (true) {
    input = LastPassInput(request, made);
    input.deadline = request.pass.deadline;
    input.standing = Standing(request, made.candidates);
    std::optional<Planner> fresh;
    Planner& planner = request.passes != nullptr ? *request.passes : fresh.emplace(request.planner);
    planner.Suggest(snapshot, request.suggestions);
    absl::StatusOr<Plan> plan = planner.Pass(snapshot, groups, input);
    if (!plan.ok()) return plan.status();
    made.plan = *std::move(plan);
    if (++made.passes == 1) utilization = made.plan.utilization;
    const size_t sound =
        SoundRemovals(groups, registered, quotas, gangs, made.plan, made.plan.remove.size());
    if (sound < made.plan.remove.size() && request.pass.deadline != nullptr &&
        request.pass.deadline->Expired()) {
      // There is no time for another pass.
      Cut(snapshot.catalog(), sound, Termination::kDeadline, made);
      break;
    }
    if (!ExcludeSurplus(groups, quotas, made, exclusions) &&
        !ExcludeOnCompletion(made, exclusions) &&
        !ExcludeBrokenAtomicGroups(groups, registered, made, exclusions) &&
        !ExcludeBrokenGangs(gangs, made, exclusions)) {
      break;
    }
    exclusions.Apply();
  }
  made.plan.utilization = std::move(utilization);
  if (request.on_passes_done) request.on_passes_done();

  if (request.verify) {
    if (absl::Status s = VerifyOrCut(snapshot, groups, request, made); !s.ok()) return s;
  }
  return made;
}

}  // namespace

absl::StatusOr<PlanResult> MakePlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                    const PlanRequest& request) {
  if (absl::Status s = CheckNoFork(snapshot); !s.ok()) return s;
  if (absl::Status s = CheckSnapshot(snapshot, /*remembered=*/nullptr); !s.ok()) return s;
  if (!request.pass.candidates.empty()) {
    return absl::InvalidArgumentError(
        "pass.candidates: a plan finds those of its passes; name nodes in candidates");
  }
  return BesideDeletions(snapshot, request, [&](ClusterSnapshot& beside, const PlanRequest& asked) {
    return MakePreparedPlan(beside, groups, asked);
  });
}

}  // namespace ebb
