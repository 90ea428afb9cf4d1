#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "predicates/drainability.h"
#include "report/block_words.h"
#include "report/karpenter_words.h"

namespace ebb {
namespace {

using Outcome = Explanation::Outcome;

Outcome OutcomeOf(const Catalog& catalog, PodId pod, const DrainVerdict& verdict) {
  const PodShape& shape = catalog.shape_of(pod);
  switch (verdict.outcome) {
    case DrainOutcome::kBlock:
      return Outcome::kBlocks;
    case DrainOutcome::kSkip:
      return shape.mirror ? Outcome::kMirror : Outcome::kLongTerminating;
    case DrainOutcome::kWaitForCompletion:
      return Outcome::kMustEnd;
    case DrainOutcome::kDrain:
    case DrainOutcome::kUndefined:
      break;
  }
  return IsDaemonSetPod(catalog, shape) ? Outcome::kDaemonSet : Outcome::kMayMove;
}

std::string WordsOf(const Catalog& catalog, PodId pod, const DrainVerdict& verdict) {
  return verdict.outcome == DrainOutcome::kBlock
             ? BlockWords(catalog, pod, verdict.reason, verdict.pdb)
             : PassedOverWords(catalog, pod, verdict);
}

// The node in deletion that the pod runs on; kNoNode: the pod runs on no such node.
NodeId LeavesNode(const PlanContext& context, PodId pod) {
  const PlanRequest& request = *context.request;
  const auto at = std::ranges::find(request.pass.evicting, pod);
  const auto index = static_cast<size_t>(at - request.pass.evicting.begin());
  return index < request.evicted_from.size() ? request.evicted_from[index] : kNoNode;
}

void AddDrainVerdicts(const PlanContext& context, PassReplay& replay, Explanation& explanation) {
  const Catalog& catalog = context.catalog();
  for (const PodId pod : replay.snapshot().PodsOn(explanation.node)) {
    const DrainVerdict verdict =
        ApplyDrainRules(catalog, pod, context.request->planner.drain, replay.budgets(),
                        context.request->pass.now_s, context.groups->ManagerOf(explanation.node));
    const bool pending = context.cluster->snapshot.NodeOf(pod) == kNoNode;
    explanation.pods.push_back({.pod = pod,
                                .outcome = OutcomeOf(catalog, pod, verdict),
                                .reason = verdict.reason,
                                .pdb = verdict.pdb,
                                .pending = pending,
                                .from = pending ? LeavesNode(context, pod) : replay.CameFrom(pod),
                                .via = {},
                                .words = WordsOf(catalog, pod, verdict)});
  }
}

// Marks the pod whose workload has used up its share.  The drainability rules do not decide that:
// the pass found it.
void MarkTooMany(const UnremovableNode& why, Explanation& explanation) {
  if (why.blocking_reason != BlockingPodReason::kWorkloadShareReached) return;
  const auto pod = std::ranges::find(explanation.pods, why.pod, &Explanation::Pod::pod);
  if (pod == explanation.pods.end()) return;
  pod->outcome = Outcome::kBlocks;
  pod->reason = why.blocking_reason;
}

void FindSpentBudgets(const Catalog& catalog, const PassReplay& replay, Explanation& explanation) {
  std::set<uint32_t> budgets;
  for (const Explanation::Pod& pod : explanation.pods) {
    for (const PdbId pdb : catalog.ChargedBudgets(pod.pod)) {
      budgets.insert(static_cast<uint32_t>(pdb));
    }
  }
  for (const uint32_t id : budgets) {
    const PdbId pdb{id};
    const std::span<const PassReplay::Spent> nodes = replay.SpentOf(pdb);
    if (nodes.empty()) continue;
    explanation.budgets.push_back({.pdb = pdb,
                                   .allowed = catalog.pdbs()[id].disruptions_allowed,
                                   .spent = 0,
                                   .counted = replay.CountedOf(pdb),
                                   .nodes = {nodes.begin(), nodes.end()}});
    for (const PassReplay::Spent& each : nodes)
      explanation.budgets.back().spent += each.disruptions;
  }
}

// Fills in where the pods move, up to the end of the plan.
void FollowMoves(const PlanReport& report, Explanation& explanation) {
  const std::vector<RemovableNode>& remove = report.context.made->plan.remove;
  for (Explanation::Pod& pod : explanation.pods) {
    if (explanation.order == 0 && pod.outcome != Outcome::kMoves) continue;
    for (size_t r = std::max<size_t>(explanation.order, 1) - 1; r < remove.size(); ++r) {
      const auto move = std::ranges::find(remove[r].moves, pod.pod, &Move::pod);
      if (move == remove[r].moves.end()) continue;
      if (pod.to != kNoNode) pod.via.push_back(pod.to);
      pod.to = move->to;
      pod.outcome = Outcome::kMoves;
    }
  }
}

// Adds the pods of a node in deletion that need room elsewhere: they left the node before the pass
// began.  Pods that remain on the node go with it, whatever rules and budgets say.
void AddDisplaced(const PlanContext& context, Explanation& explanation) {
  for (Explanation::Pod& pod : explanation.pods) {
    if (!NeedsEviction(pod.outcome)) continue;
    const bool is_daemon = IsDaemonSetPod(context.catalog(), context.catalog().shape_of(pod.pod));
    pod.outcome = is_daemon ? Outcome::kDaemonSet : Outcome::kMustEnd;
    pod.pdb = std::nullopt;
    pod.words.clear();
  }
  const PlanRequest& request = *context.request;
  const std::vector<Move>& packed = context.made->plan.packed;
  uint64_t pods = 0;
  for (size_t i = 0; i < request.evicted_from.size(); ++i) {
    if (request.evicted_from[i] != explanation.node) continue;
    ++pods;
    const auto place = std::ranges::find(packed, request.pass.evicting[i], &Move::pod);
    const bool has_place = place != packed.end();
    explanation.pods.push_back({.pod = request.pass.evicting[i],
                                .outcome = has_place ? Outcome::kMoves : Outcome::kFindsNoRoom,
                                .pdb = {},
                                .to = has_place ? place->to : kNoNode,
                                .via = {}});
  }
  if (pods == 0) return;
  absl::StrAppend(&explanation.because, explanation.because.empty() ? "" : " ",
                  Count(pods, "pod of it needs", "pods of it need"), " room elsewhere first.");
}

// Places the node's pods one after the other, as far as they fit.
void TryPlaces(const PlanContext& context, PassReplay& replay, Explanation& explanation) {
  PodsToMove pods;
  DrainRules rules(context.catalog(), context.request->planner.drain, replay.budgets(),
                   context.request->pass.now_s);
  ClusterSnapshot& snapshot = replay.snapshot();
  rules.GetPodsToMove(snapshot.PodsOn(explanation.node), pods,
                      context.groups->ManagerOf(explanation.node));
  if (pods.blocked()) return;
  snapshot.Fork();
  snapshot.SetGhost(explanation.node);
  for (const PodId pod : pods.move) {
    Explanation::Place& place = explanation.places.emplace_back();
    place.pod = pod;
    place.tally = TallyPlaces(snapshot, pod);
    place.to = place.tally.first_fit;
    if (place.to != kNoNode) snapshot.AddPod(pod, place.to);
    if (place.to == kNoNode) place.words = PlaceWords(context.catalog(), pod);
  }
  snapshot.Revert();
}

// Whether all pods of the node find a place while no other node has gone.
bool FitsFirst(const PlanContext& context, NodeId node) {
  Explanation alone;
  alone.node = node;
  PassReplay start(context);
  TryPlaces(context, start, alone);
  return !alone.places.empty() &&
         std::ranges::find(alone.places, kNoNode, &Explanation::Place::to) == alone.places.end();
}

// A sentence about the reason; may be empty.
std::string OnReason(const PlanContext& context, const PlanReport::Kept& kept) {
  const NodeGroup* group = context.groups->Find(kept.why.node);
  const std::string name = group == nullptr ? "" : group->name;
  if (kept.reason == "NotAutoscaled") {
    const std::string why = DetailOf(context, kept.why);
    return fmt::format("It is in no node group that the autoscaler manages{}{}.",
                       why.empty() ? "" : ": ", why);
  }
  if (kept.reason == "ScaleDownDisabledAnnotation") {
    return fmt::format("It is {}.", DetailOf(context, kept.why));
  }
  if (kept.reason == "NotUnderutilized") {
    return fmt::format("That is more than the threshold, {}.",
                       Percent(ThresholdOf(context, kept.why.node)));
  }
  if (kept.reason == "NodeGroupMinSizeReached" && group != nullptr) {
    return fmt::format("Its group {} has {} and may not go below {}.", name,
                       Count(static_cast<uint64_t>(group->target_size), "node", "nodes"),
                       group->min_size);
  }
  if (kept.reason == "AtomicScaleDownFailed") {
    return fmt::format("Its group {} goes as a whole or not at all, and some node stays.", name);
  }
  if (kept.reason == kNotJudged) {
    return context.made->plan.termination == Termination::kNoRoomForPending
               ? "No node was judged, since pods of nodes in deletion do not all find room."
               : "The pass ended before its turn.";
  }
  return "";
}

// The sentence about the reason, followed by what would keep the node even without that reason.
std::string Because(const PlanContext& context, const PlanReport::Kept& kept) {
  if (const std::string words =
          KarpenterWords(context.catalog(), *context.groups, kept.why, context.request->pass.now_s);
      !words.empty()) {
    return fmt::format("By Karpenter's rules: {}.", words);
  }
  std::string text = OnReason(context, kept);
  const UnremovableReason reason = kept.why.reason;
  if (reason == UnremovableReason::kNotAutoscaled ||
      reason == UnremovableReason::kScaleDownDisabledAnnotation) {
    return text;
  }
  const std::string detail = DetailOf(context, kept.why);
  if (detail.empty()) return text;
  return fmt::format("{}{}It {}{}.", text, text.empty() ? "" : " ",
                     detail.starts_with("counts as") ? "" : "is ", detail);
}

std::string_view WithoutKind(std::string_view name) {
  for (const std::string_view kind : {"node/", "nodes/", "no/"}) {
    if (name.starts_with(kind)) return name.substr(kind.size());
  }
  return name;
}

std::vector<std::string> NamesOfNodes(const Catalog& catalog) {
  std::vector<std::string> names;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    if (catalog.IsThere(NodeId{n})) names.emplace_back(catalog.NodeName(NodeId{n}));
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<NodeId>> FindNodes(const Catalog& catalog,
                                              std::span<const std::string> names) {
  std::vector<NodeId> nodes;
  std::vector<std::string> unknown;
  bool any_near = false;
  std::vector<std::string> known;  // Every node's name; filled on first use.
  for (const std::string& given : names) {
    const std::string_view name = WithoutKind(given);
    if (const absl::StatusOr<NodeId> node = catalog.FindNode(name); node.ok()) {
      if (std::ranges::find(nodes, *node) == nodes.end()) nodes.push_back(*node);
      continue;
    }
    if (known.empty()) known = NamesOfNodes(catalog);
    const std::string nearest = Nearest(name, known);
    unknown.push_back(absl::StrCat(
        Printable(name),
        nearest.empty() ? "" : absl::StrCat(" (did you mean ", Printable(nearest), "?)")));
    any_near |= !nearest.empty();
  }
  if (unknown.empty()) return nodes;
  std::string list;
  for (const std::string& name : unknown) absl::StrAppend(&list, list.empty() ? "" : ", ", name);
  // No node has a similar name: show what names look like.
  const std::string example =
      any_near || known.empty()
          ? ""
          : absl::StrCat("; the input has ", Count(known.size(), "node", "nodes"),
                         ", the first is ", Printable(known[0]));
  return absl::NotFoundError(
      absl::StrCat("no such ", unknown.size() == 1 ? "node" : "nodes", ": ", list, example));
}

Explanation Explain(const PlanReport& report, NodeId node) {
  const PlanContext& context = report.context;
  Explanation explanation;
  explanation.node = node;
  PassReplay replay(context);
  for (size_t i = 0; i < report.remove.size(); ++i) {
    if (report.remove[i].node != node) continue;
    explanation.order = i + 1;
    explanation.risky = report.remove[i].risky;
    if (const std::string words = UnreadyWords(context, node); !words.empty()) {
      explanation.because = fmt::format("It {}.", words);
    }
    explanation.had_turn = true;
  }
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.node != node) continue;
    explanation.kept = &kept;
    explanation.because = Because(context, kept);
    explanation.had_turn = replay.HadTurn(kept.why);
  }
  if (explanation.had_turn) {
    replay.GoTo(node);
    if (replay.HasGuests(node)) explanation.utilization_at_turn = replay.UtilizationOf(node);
  }
  AddDrainVerdicts(context, replay, explanation);
  if (explanation.kept != nullptr) MarkTooMany(explanation.kept->why, explanation);
  FindSpentBudgets(context.catalog(), replay, explanation);
  if (explanation.order > 0) {
    FollowMoves(report, explanation);
  } else if (explanation.kept != nullptr &&
             explanation.kept->why.reason == UnremovableReason::kCurrentlyBeingDeleted) {
    AddDisplaced(context, explanation);
    FollowMoves(report, explanation);
  } else if (explanation.kept != nullptr &&
             explanation.kept->why.reason == UnremovableReason::kNoPlaceToMovePods) {
    TryPlaces(context, replay, explanation);
    explanation.fits_first = FitsFirst(context, node);
  }
  return explanation;
}

bool NeedsEviction(Explanation::Outcome outcome) {
  return outcome == Outcome::kMoves || outcome == Outcome::kMayMove ||
         outcome == Outcome::kBlocks || outcome == Outcome::kFindsNoRoom;
}

}  // namespace ebb
