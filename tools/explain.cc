#include "tools/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "predicates/drainability.h"
#include "predicates/filters.h"
#include "tools/table.h"

namespace ebb {
namespace {

// The cluster when `node` had its turn.
ClusterSnapshot AtTurnOf(const PlanContext& context, NodeId node, PdbTracker& pdbs) {
  ClusterSnapshot snapshot = context.cluster->snapshot;
  for (const Move& packed : context.made->plan.packed) snapshot.AddPod(packed.pod, packed.to);
  const auto& candidates = context.made->candidates;
  const auto turn = std::find(candidates.begin(), candidates.end(), node);
  for (const RemovableNode& removal : context.made->plan.remove) {
    if (removal.node == node || std::find(candidates.begin(), turn, removal.node) == turn) break;
    std::vector<PodId> pods;
    for (const Move& move : removal.moves) {
      snapshot.MovePod(move.pod, move.to);
      pods.push_back(move.pod);
    }
    snapshot.RemoveNode(removal.node);
    pdbs.RemovePods(pods);
  }
  return snapshot;
}

std::string OutcomeText(const Catalog& catalog, PodId pod, const DrainVerdict& verdict) {
  const PodShape& shape = catalog.shape_of(pod);
  switch (verdict.outcome) {
    case DrainOutcome::kBlock: {
      std::string text = fmt::format("blocks: {}", ToString(verdict.reason));
      if (verdict.pdb) {
        text += fmt::format(" (PodDisruptionBudget {})",
                            catalog.Text(catalog.pdbs()[Index(*verdict.pdb)].name));
      }
      return text;
    }
    case DrainOutcome::kSkip:
      return "is ignored: a mirror pod, or long gone";
    case DrainOutcome::kWaitForCompletion:
      return "must end by itself";
    case DrainOutcome::kDrain:
    case DrainOutcome::kUndefined:
      break;
  }
  return IsDaemonSetPod(catalog, shape) ? "goes with the node: a DaemonSet's" : "may move";
}

std::string UtilizationLine(const PlanContext& context, NodeId node) {
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (!utilization) return "";
  return fmt::format("Its utilization is {} ({}; cpu {}, memory {}).\n",
                     Percent(utilization->utilization),
                     context.catalog().Text(utilization->resource), Percent(utilization->cpu),
                     Percent(utilization->memory));
}

void PrintJudgedPods(const PlanContext& context, const ClusterSnapshot& snapshot, NodeId node,
                     const PdbTracker& pdbs, std::ostream& out) {
  Table table({"POD", "DRAIN"});
  table.Indent(2);
  for (const PodId pod : snapshot.PodsOn(node)) {
    const DrainVerdict verdict =
        JudgePod(context.catalog(), pod, context.request->planner.drain, &pdbs,
                 /*listers=*/true, context.request->now_s);
    table.AddRow({context.catalog().PodName(pod), OutcomeText(context.catalog(), pod, verdict)});
  }
  if (!table.empty()) table.Print(out);
}

// Places the node's pods one after the other, as well as they go.
void PrintPlaces(const PlanContext& context, ClusterSnapshot& snapshot, NodeId node,
                 const PdbTracker& pdbs, std::ostream& out) {
  PodsToMove pods;
  DrainJudge judge(context.catalog(), context.request->planner.drain, &pdbs, /*listers=*/true,
                   context.request->now_s);
  judge.GetPodsToMove(snapshot.PodsOn(node), pods);
  if (pods.blocked()) return;
  snapshot.SetGhost(node);
  bool all = true;
  for (const PodId pod : pods.move) {
    NodeId fitting = kNoNode;
    const std::string tried = TryEverywhere(snapshot, pod, fitting);
    out << "  " << context.catalog().PodName(pod) << ": " << tried << "\n";
    all &= fitting != kNoNode;
    if (fitting != kNoNode) snapshot.AddPod(pod, fitting);
  }
  if (all) out << "  In this order all find a place; in the order of the pass they did not.\n";
}

void PrintMoves(const PlanContext& context, const PlanReport::Removal& removal, std::ostream& out) {
  const Catalog& catalog = context.catalog();
  Table table({"POD", "TO", "VIA"});
  table.Indent(2);
  for (const PlanReport::PodMove& move : removal.pods) {
    std::string via;
    for (const NodeId stop : move.via) {
      via += via.empty() ? "" : ", ";
      via += catalog.NodeName(stop);
    }
    table.AddRow({catalog.PodName(move.pod), std::string(catalog.NodeName(move.to)), via});
  }
  if (!table.empty()) table.Print(out);
}

std::string Because(const PlanReport& report, const PlanReport::Kept& kept) {
  const PlanContext& context = report.context;
  const NodeGroup* group = context.groups->Find(kept.why.node);
  const std::string name = group == nullptr ? "" : group->name;
  if (kept.reason == "NotAutoscaled") return "It belongs to no node group that is autoscaled.\n";
  if (kept.reason == "NotUnderutilized") {
    double threshold = context.request->planner.scale_down_utilization_threshold;
    if (group != nullptr && group->scale_down_utilization_threshold) {
      threshold = *group->scale_down_utilization_threshold;
    }
    return fmt::format("That is more than the threshold, {}.\n", Percent(threshold));
  }
  if (kept.reason == "NodeGroupMinSizeReached" && group != nullptr) {
    return fmt::format("Its group {} has {} and may not go below {}.\n", name,
                       Count(static_cast<uint64_t>(group->target_size), "node", "nodes"),
                       group->min_size);
  }
  if (kept.reason == "AtomicScaleDownFailed") {
    return fmt::format("Its group {} goes as a whole or not at all, and some node stays.\n", name);
  }
  if (kept.reason == kNotJudged) return "The pass ended before its turn.\n";
  return "";
}

void PrintKept(const PlanReport& report, const PlanReport::Kept& kept, std::ostream& out) {
  const PlanContext& context = report.context;
  const NodeId node = kept.why.node;
  out << "Node " << context.catalog().NodeName(node) << " is kept: " << kept.reason << "\n";
  out << UtilizationLine(context, node) << Because(report, kept);
  PdbTracker pdbs(context.catalog());
  ClusterSnapshot snapshot = AtTurnOf(context, node, pdbs);
  PrintJudgedPods(context, snapshot, node, pdbs, out);
  if (kept.why.reason == UnremovableReason::kNoPlaceToMovePods) {
    out << "Places, when it was the node's turn:\n";
    PrintPlaces(context, snapshot, node, pdbs, out);
  }
}

}  // namespace

std::string TryEverywhere(const ClusterSnapshot& snapshot, PodId pod, NodeId& fitting) {
  const Catalog& catalog = snapshot.catalog();
  const PodShape& shape = catalog.shape_of(pod);
  fitting = kNoNode;
  size_t tried = 0;
  size_t fits = 0;
  std::map<std::string, size_t> noes;
  snapshot.alive().ForEach([&](NodeId node) {
    if (snapshot.IsGhost(node)) return;
    ++tried;
    FilterVerdict verdict = Explain(snapshot, shape, node);
    if (verdict.fits && catalog.node(node).unschedulable) {
      // The autoscaler does not use such a node even for pods that would.
      verdict = {.fits = false,
                 .filter = Filter::kNodeUnschedulable,
                 .reasons = {"node(s) were unschedulable"}};
    }
    if (verdict.fits) {
      if (fits++ == 0) fitting = node;
      return;
    }
    for (const std::string& reason : verdict.reasons) {
      ++noes[fmt::format("{} ({})", reason, FilterName(verdict.filter))];
    }
  });
  std::string text = fmt::format("{}/{} nodes are available", fits, tried);
  const char* separator = ": ";
  std::vector<std::pair<std::string, size_t>> sorted(noes.begin(), noes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [reason, nodes] : sorted) {
    text += fmt::format("{}{} {}", separator, nodes, reason);
    separator = ", ";
  }
  return text + ".";
}

absl::Status ExplainNode(const PlanReport& report, std::string_view name, std::ostream& out) {
  const absl::StatusOr<NodeId> node = report.context.catalog().FindNode(name);
  if (!node.ok()) return node.status();
  for (size_t i = 0; i < report.remove.size(); ++i) {
    const PlanReport::Removal& removal = report.remove[i];
    if (removal.node != *node) continue;
    out << fmt::format("Node {} goes, as number {} of {}; {} from it.\n", name, i + 1,
                       report.remove.size(), Count(removal.pods.size(), "pod moves", "pods move"))
        << UtilizationLine(report.context, *node);
    if (removal.risky) out << "Risky: a budget admits its pods only one after the other.\n";
    PrintMoves(report.context, removal, out);
    return absl::OkStatus();
  }
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.node == *node) PrintKept(report, kept, out);
  }
  return absl::OkStatus();
}

}  // namespace ebb
