#include "tools/explain_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "service/explain.h"
#include "service/node_facts.h"
#include "snapshot/import/incomplete.h"
#include "tools/display_text.h"
#include "tools/table.h"

namespace ebb {
namespace {

using Outcome = Explanation::Outcome;

std::string NodeText(const Catalog& catalog, NodeId node) {
  return Printable(catalog.NodeName(node));
}

std::string BudgetName(const Catalog& catalog, PdbId id) {
  const Pdb& pdb = catalog.pdbs()[Index(id)];
  return fmt::format("{}/{}", catalog.Text(pdb.namespace_name), catalog.Text(pdb.name));
}

std::string OutcomeText(const Catalog& catalog, const Explanation::Pod& pod) {
  switch (pod.outcome) {
    case Outcome::kMoves: {
      std::string text = fmt::format("moves to {}", catalog.NodeName(pod.to));
      for (size_t i = 0; i < pod.via.size(); ++i) {
        text += i == 0 ? " via " : ", ";
        text += catalog.NodeName(pod.via[i]);
      }
      return text;
    }
    case Outcome::kMayMove:
      return "may move";
    case Outcome::kBlocks:
      return pod.pdb ? fmt::format("blocks: {} (PodDisruptionBudget {})", ToString(pod.reason),
                                   catalog.Text(catalog.pdbs()[Index(*pod.pdb)].name))
                     : fmt::format("blocks: {}", ToString(pod.reason));
    case Outcome::kMirror:
      return "is ignored: a mirror pod";
    case Outcome::kLongTerminating:
      return "is ignored: deleted, and past its grace period";
    case Outcome::kDaemonSet:
      return "goes with the node: a DaemonSet's";
    case Outcome::kMustEnd:
      return "must end by itself";
    case Outcome::kFindsNoRoom:
      return "must move, and finds no room";
  }
  return "";
}

std::string UtilizationText(const Catalog& catalog, const Utilization& utilization) {
  const std::string percent = Percent(utilization.utilization);
  if (!CountsCpuAndMemory(catalog, utilization)) {
    return fmt::format("{} ({})", percent, Printable(catalog.Text(utilization.resource)));
  }
  return fmt::format("{}, the larger of cpu ({}) and memory ({})", percent,
                     Percent(utilization.cpu), Percent(utilization.memory));
}

// Sentences, and a line that is too long for the terminal.
class Lines {
 public:
  Lines(const Terminal& terminal, std::ostream& out) : columns_(terminal.columns), out_(out) {}
  void Say(std::string_view text, size_t indent = 0) const {
    out_ << Wrapped(text, columns_, indent) << "\n";
  }
  [[nodiscard]] size_t columns() const { return columns_; }
  [[nodiscard]] std::ostream& out() const { return out_; }

 private:
  size_t columns_;
  std::ostream& out_;
};

// What pending pods have to do with a node that stays and has no place for its pods, or that such
// a pod may need.
void PrintPending(const PlanContext& context, const UnremovableNode& why, const Lines& lines) {
  constexpr size_t kPodsShown = 3;
  const Catalog& catalog = context.catalog();
  if (why.blocking_reason == BlockingPodReason::kPendingPodNotUnderstood) {
    lines.Say(fmt::format(
        "Pending pod {} may need it: {}. ebb does not evaluate that, so that it keeps the nodes on "
        "which the pod fits otherwise.",
        Printable(catalog.PodName(why.pod)), Printable(catalog.shape_of(why.pod).not_understood)));
  }
  const std::vector<Move>& packed = context.made->plan.packed;
  if (why.reason != UnremovableReason::kNoPlaceToMovePods || packed.empty()) return;
  std::string names;
  for (size_t i = 0; i < std::min(packed.size(), kPodsShown); ++i) {
    names += (i == 0 ? "" : ", ") + Printable(catalog.PodName(packed[i].pod)) + " on node " +
             NodeText(catalog, packed[i].to);
  }
  if (packed.size() > kPodsShown) names += fmt::format(", {} more", packed.size() - kPodsShown);
  lines.Say(fmt::format("Before any node goes, the plan keeps room for {}: {}.",
                        Count(packed.size(), "pending pod", "pending pods"), names));
}

void PrintUtilization(const PlanReport& report, const Explanation& explanation,
                      const Lines& lines) {
  const PlanContext& context = report.context;
  const Catalog& catalog = context.catalog();
  if (const auto& before = context.made->plan.utilization[Index(explanation.node)]) {
    lines.Say("Its utilization is " + UtilizationText(catalog, *before) + ".");
    const GpuSharing& sharing = report.facts[Index(explanation.node)].gpu_sharing;
    if (const std::string shared = ToText(sharing); !shared.empty()) {
      const int64_t gpus = report.facts[Index(explanation.node)].allocatable.gpus;
      lines.Say(fmt::format("What it offers as nvidia.com/gpu is not whole GPUs: {}{}.",
                            Printable(shared),
                            sharing.devices_are_counted
                                ? "; no label says on how many GPUs"
                                : ", on " + Count(static_cast<uint64_t>(gpus), "GPU", "GPUs")));
    }
    const std::vector<GpuSlices> slices = GpuSlicesOf(context.cluster->snapshot, explanation.node);
    std::string text;
    for (const GpuSlices& each : slices) {
      text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", each.requested,
                          each.allocatable, Printable(each.resource));
    }
    if (!slices.empty()) {
      lines.Say(
          fmt::format("Parts of its GPUs are requested: {}. The autoscaler's rule for "
                      "utilization does not count them.",
                      text));
    }
  }
  const auto pending = std::ranges::count(explanation.pods, true, &Explanation::Pod::pending);
  if (pending > 0) {
    lines.Say(fmt::format("That counts the room that the plan keeps here for {}.",
                          Count(static_cast<uint64_t>(pending), "pending pod", "pending pods")));
  }
  if (explanation.kept != nullptr) PrintPending(context, explanation.kept->why, lines);
  if (const auto& then = explanation.utilization_at_turn) {
    lines.Say("With the pods that the plan moved here before the node's turn, it is " +
              UtilizationText(catalog, *then) +
              ". Only the utilization without them is compared with the threshold.");
  }
}

void PrintBudget(const Catalog& catalog, const Explanation::Budget& budget, const Lines& lines) {
  constexpr size_t kNodesShown = 5;
  std::string text = fmt::format(
      "PodDisruptionBudget {} allows {}. The plan spent {} before this node's turn, on ",
      Printable(BudgetName(catalog, budget.pdb)),
      Count(static_cast<uint64_t>(std::max(budget.allowed, 0)), "disruption", "disruptions"),
      budget.spent);
  for (size_t i = 0; i < std::min(budget.nodes.size(), kNodesShown); ++i) {
    const auto& [node, disruptions] = budget.nodes[i];
    text += (i == 0 ? "node " : ", ") + NodeText(catalog, node);
    if (disruptions > 1) text += fmt::format(" ({})", disruptions);
  }
  if (budget.nodes.size() > kNodesShown) {
    text += fmt::format(", {} more", budget.nodes.size() - kNodesShown);
  }
  text += '.';
  if (budget.counted != budget.spent) {
    text += fmt::format(
        " The autoscaler counts {}: a pod counts again on each node that it passes through.",
        budget.counted);
  }
  lines.Say(text);
}

void PrintPods(const Catalog& catalog, const Explanation& explanation, const Lines& lines) {
  Table table({"POD", "DRAIN"});
  table.Indent(2).FitTo(lines.columns()).ShortenNames(0).WrapLast();
  for (const Explanation::Pod& pod : explanation.pods) {
    std::string text = OutcomeText(catalog, pod);
    const size_t budgets = catalog.shape_of(pod.pod).budgets.size();
    if (budgets > 1 && NeedsEviction(pod.outcome)) {
      text += fmt::format("; {} budgets select it, and the eviction API refuses more than one",
                          budgets);
    }
    if (!pod.words.empty()) text += "; " + pod.words;
    if (pod.pending && pod.from != kNoNode) {
      text += fmt::format("; it runs on node {}, which is being deleted, and the plan keeps room",
                          catalog.NodeName(pod.from));
    } else if (pod.pending) {
      text += "; it is pending, and the plan keeps room for it";
    } else if (pod.from != kNoNode) {
      text += fmt::format("; the plan moved it here from node {}", catalog.NodeName(pod.from));
    }
    table.AddRow({catalog.PodName(pod.pod), std::move(text)});
  }
  if (!table.empty()) table.Print(lines.out());
}

void PrintPlaces(const PlanContext& context, const Explanation& explanation, const Lines& lines) {
  if (explanation.places.empty()) return;
  const Catalog& catalog = context.catalog();
  lines.Say("Where its pods fit, when it was the node's turn:");
  bool all = true;
  for (const Explanation::Place& place : explanation.places) {
    lines.Say(fmt::format("  {}: {}", Printable(catalog.PodName(place.pod)),
                          PrintableLine(place.tally.Text())),
              4);
    if (!place.words.empty()) lines.Say("    " + place.words, 6);
    all &= place.to != kNoNode;
  }
  if (all) {
    lines.Say("  In this order all of them find a place. In the order of the pass they did not.",
              4);
  }
  if (!explanation.fits_first) return;
  lines.Say(absl::StrCat("Before other nodes went, all of them had a place.",
                         context.search ? "" : " --optimize looks for a better choice of nodes."));
}

void Print(const PlanReport& report, const Explanation& explanation, const Lines& lines) {
  const Catalog& catalog = report.context.catalog();
  const std::string name = NodeText(catalog, explanation.node);
  if (explanation.order > 0) {
    const size_t moves = report.remove[explanation.order - 1].pods.size();
    lines.Say(fmt::format("Node {} goes, as number {} of {}; {} from it.", name, explanation.order,
                          WithCommas(report.remove.size()),
                          Count(moves, "pod moves", "pods move")));
  } else {
    lines.Say(fmt::format("Node {} is kept: {}", name, ReasonText(*explanation.kept)));
  }
  PrintUtilization(report, explanation, lines);
  if (explanation.risky) {
    lines.Say(
        "Risky: a PodDisruptionBudget does not let all of its pods go at once; some of them "
        "wait until it does.");
  }
  if (!explanation.because.empty()) lines.Say(PrintableLine(explanation.because));
  if (explanation.kept != nullptr && explanation.kept->why.before) {
    const std::string detail = KeptDetail(report, explanation.kept->why);
    if (!detail.empty()) lines.Say("Found then: " + PrintableLine(detail) + ".");
  }
  PrintPods(catalog, explanation, lines);
  for (const Explanation::Budget& budget : explanation.budgets) PrintBudget(catalog, budget, lines);
  PrintPlaces(report.context, explanation, lines);
}

void Print(const Counterfactual& found, const Lines& lines) {
  if (found.helps.empty()) {
    lines.Say(found.in_vain.empty() ? "There is no single change that could be tried."
                                    : "No single change that was tried would let it go.");
  } else {
    lines.Say(fmt::format("Each of these would let it go by itself, as was tried; {} now:",
                          Count(found.removed, "node goes", "nodes go")));
  }
  for (const Counterfactual::Help& help : found.helps) {
    const std::string fewer =
        help.removed < found.removed
            ? fmt::format(", {} fewer than now", WithCommas(found.removed - help.removed))
            : "";
    lines.Say(fmt::format("  if {}: {} then{}", PrintableLine(help.what),
                          Count(help.removed, "node goes", "nodes go"), fewer),
              4);
  }
  if (!found.in_vain.empty()) lines.Say("It would stay all the same:");
  for (const Counterfactual::InVain& each : found.in_vain) {
    lines.Say(
        fmt::format("  if {}: {}", PrintableLine(each.what), PrintableLine(each.still_kept_by)), 4);
  }
}

}  // namespace

void PrintExplanations(const PlanReport& report, std::span<const NodeId> nodes,
                       std::span<const Counterfactual> remedies, const Terminal& terminal,
                       std::ostream& out) {
  const Lines lines(terminal, out);
  const std::string_view of = OfIncomplete(report.context.cluster->warnings);
  if (!of.empty()) lines.Say(fmt::format("In a plan{}:", of));
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) out << "\n";
    const Explanation explanation = Explain(report, nodes[i]);
    Print(report, explanation, lines);
    if (!remedies.empty() && explanation.kept != nullptr) Print(remedies[i], lines);
  }
}

}  // namespace ebb
