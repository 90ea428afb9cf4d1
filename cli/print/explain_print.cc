#include "cli/print/explain_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/table.h"
#include "report/plan_report.h"
#include "session/wire_tables.h"
#include "snapshot/import/incomplete.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

using Pod = wire::ExplainedPod;

std::string OutcomeText(const Pod& pod) {
  switch (pod.outcome()) {
    case Pod::MOVES: {
      std::string text = fmt::format("moves to {}", pod.to());
      for (int i = 0; i < pod.via_size(); ++i) {
        text += i == 0 ? " via " : ", ";
        text += pod.via(i);
      }
      return text;
    }
    case Pod::MAY_MOVE:
      return "may move";
    case Pod::BLOCKS:
      return pod.pod_disruption_budget().empty()
                 ? fmt::format("blocks: {}", pod.reason())
                 : fmt::format("blocks: {} (PodDisruptionBudget {})", pod.reason(),
                               pod.pod_disruption_budget());
    case Pod::MIRROR:
      return "is ignored: a mirror pod";
    case Pod::LONG_TERMINATING:
      return "is ignored: deleted, and past its grace period";
    case Pod::DAEMON_SET:
      return "goes with the node: a DaemonSet's";
    case Pod::MUST_END:
      return "must end by itself";
    case Pod::FINDS_NO_ROOM:
      return "must move, and finds no room";
    default:  // A value of a later version.
      return "";
  }
}

std::string UtilizationText(const wire::NodeUse& use) {
  const std::string percent = Percent(use.utilization());
  if (!CountsCpuAndMemory(use.resource())) {
    return fmt::format("{} ({})", percent, Printable(use.resource()));
  }
  return fmt::format("{}, the larger of cpu ({}) and memory ({})", percent, Percent(use.cpu()),
                     Percent(use.memory()));
}

// Prints sentences, wrapped to the width of the terminal.
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

// How pending pods affect this node: pods whose room the plan keeps, and a pending pod that may
// need the node.
void PrintPending(const wire::NodeExplanation& node, const Lines& lines) {
  if (!node.pending_pod().empty()) {
    lines.Say(fmt::format(
        "Pending pod {} may need it: {}. ebb does not evaluate that, so that it keeps the nodes on "
        "which the pod fits otherwise.",
        Printable(node.pending_pod()), Printable(node.not_understood())));
  }
  if (node.room_kept() == 0) return;
  std::string names;
  for (const wire::PodPlace& place : node.first_room_kept()) {
    names += (names.empty() ? "" : ", ") + Printable(place.pod()) + " on node " +
             Printable(place.node());
  }
  const auto listed = static_cast<uint64_t>(node.first_room_kept_size());
  if (node.room_kept() > listed) names += fmt::format(", {} more", node.room_kept() - listed);
  lines.Say(fmt::format("Before any node goes, the plan keeps room for {}: {}.",
                        Count(node.room_kept(), "pending pod", "pending pods"), names));
}

void PrintGpus(const wire::NodeExplanation& node, const Lines& lines) {
  if (!node.gpu_sharing().empty()) {
    lines.Say(fmt::format(
        "What it offers as nvidia.com/gpu is not whole GPUs: {}{}.", Printable(node.gpu_sharing()),
        node.gpus_are_devices()
            ? "; no label says on how many GPUs"
            : ", on " + Count(static_cast<uint64_t>(node.gpus()), "GPU", "GPUs")));
  }
  if (node.gpu_devices().empty()) return;
  std::string text;
  for (const wire::GpuDevices& each : node.gpu_devices()) {
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", each.requested(),
                        each.allocatable(), Printable(each.resource()));
  }
  lines.Say(
      fmt::format("Parts of its GPUs are requested: {}. The autoscaler's rule for "
                  "utilization does not count them.",
                  text));
}

void PrintUtilization(const wire::NodeExplanation& node, const Lines& lines) {
  if (node.has_use()) {
    lines.Say("Its utilization is " + UtilizationText(node.use()) + ".");
    PrintGpus(node, lines);
  }
  const auto pending = std::ranges::count_if(node.pods(), &Pod::pending);
  if (pending > 0) {
    lines.Say(fmt::format("That counts the room that the plan keeps here for {}.",
                          Count(static_cast<uint64_t>(pending), "pending pod", "pending pods")));
  }
  PrintPending(node, lines);
  if (node.has_use_at_turn()) {
    lines.Say("With the pods that the plan moved here before the node's turn, it is " +
              UtilizationText(node.use_at_turn()) +
              ". Only the utilization without them is compared with the threshold.");
  }
}

void PrintBudget(const wire::SpentBudget& budget, const Lines& lines) {
  constexpr int kNodesShown = 5;
  std::string text = fmt::format(
      "PodDisruptionBudget {} allows {}. The plan spent {} before this node's turn, on ",
      Printable(budget.budget()),
      Count(static_cast<uint64_t>(std::max<int64_t>(budget.disruptions_allowed(), 0)), "disruption",
            "disruptions"),
      budget.spent());
  const int nodes = budget.spent_for_size();
  for (int i = 0; i < std::min(nodes, kNodesShown); ++i) {
    const wire::SpentBudget::Node& each = budget.spent_for(i);
    text += (i == 0 ? "node " : ", ") + Printable(each.node());
    if (each.disruptions() > 1) text += fmt::format(" ({})", each.disruptions());
  }
  if (nodes > kNodesShown) text += fmt::format(", {} more", nodes - kNodesShown);
  text += '.';
  if (budget.counted() != budget.spent()) {
    text += fmt::format(
        " The autoscaler counts {}: a pod counts again on each node that it passes through.",
        budget.counted());
  }
  lines.Say(text);
}

void PrintPods(const wire::NodeExplanation& node, const Lines& lines) {
  Table table({"POD", "DRAIN"});
  table.Indent(2).FitTo(lines.columns()).ShortenNames(0).WrapLast();
  for (const Pod& pod : node.pods()) {
    std::string text = OutcomeText(pod);
    if (pod.budgets() > 0) {
      text += fmt::format("; {} budgets select it, and the eviction API refuses more than one",
                          pod.budgets());
    }
    if (!pod.detail().empty()) text += "; " + pod.detail();
    if (pod.pending() && !pod.arrived_from().empty()) {
      text += fmt::format("; it runs on node {}, which is being deleted, and the plan keeps room",
                          pod.arrived_from());
    } else if (pod.pending()) {
      text += "; it is pending, and the plan keeps room for it";
    } else if (!pod.arrived_from().empty()) {
      text += fmt::format("; the plan moved it here from node {}", pod.arrived_from());
    }
    table.AddRow({pod.pod(), std::move(text)});
  }
  if (!table.empty()) table.Print(lines.out());
}

void PrintPlaces(const wire::NodeExplanation& node, bool searched, const Lines& lines) {
  if (node.places().empty()) return;
  lines.Say("Where its pods fit, when it was the node's turn:");
  for (const wire::TriedPod& place : node.places()) {
    lines.Say(fmt::format("  {}: {}", Printable(place.pod()), PrintableLine(place.tally())), 4);
    if (!place.detail().empty()) lines.Say("    " + place.detail(), 6);
    for (const std::string& each : place.node_details()) lines.Say("    " + PrintableLine(each), 6);
    if (place.node_details_left_out() > 0) {
      lines.Say(fmt::format("    {} more with such an answer",
                            Count(place.node_details_left_out(), "node", "nodes")),
                6);
    }
  }
  if (std::ranges::all_of(node.places(), &wire::TriedPod::fits)) {
    lines.Say("  In this order all of them find a place. In the order of the pass they did not.",
              4);
  }
  if (!node.fits_first()) return;
  lines.Say(absl::StrCat("Before other nodes went, all of them had a place.",
                         searched ? "" : " --optimize looks for a better choice of nodes."));
}

void PrintNode(const wire::ExplainReply& reply, const wire::NodeExplanation& node,
               const Lines& lines) {
  const std::string name = Printable(node.node());
  if (node.order() > 0) {
    lines.Say(fmt::format("Node {} goes, as number {} of {}; {} from it.", name, node.order(),
                          WithCommas(reply.removes()),
                          Count(node.moves(), "pod moves", "pods move")));
  } else {
    lines.Say(fmt::format("Node {} is kept: {}", name, node.reason()));
  }
  PrintUtilization(node, lines);
  if (node.risky()) {
    lines.Say(
        "Risky: a PodDisruptionBudget does not let all of its pods go at once; some of them "
        "wait until it does.");
  }
  if (!node.because().empty()) lines.Say(PrintableLine(node.because()));
  if (!node.found_then().empty()) {
    lines.Say("Found then: " + PrintableLine(node.found_then()) + ".");
  }
  PrintPods(node, lines);
  for (const wire::SpentBudget& budget : node.budgets()) PrintBudget(budget, lines);
  PrintPlaces(node, reply.searched(), lines);
}

void PrintRemedies(const wire::Remedies& found, const Lines& lines) {
  if (found.helps().empty()) {
    lines.Say(found.in_vain().empty() ? "There is no single change that could be tried."
                                      : "No single change that was tried would let it go.");
  } else {
    lines.Say(fmt::format("Each of these would let it go by itself, as was tried; {} now:",
                          Count(found.removed(), "node goes", "nodes go")));
  }
  for (const wire::Remedies::Help& help : found.helps()) {
    const std::string fewer =
        help.removed() < found.removed()
            ? fmt::format(", {} fewer than now", WithCommas(found.removed() - help.removed()))
            : "";
    lines.Say(fmt::format("  if {}: {} then{}", PrintableLine(help.what()),
                          Count(help.removed(), "node goes", "nodes go"), fewer),
              4);
    // Unbroken, to be pasted into a shell.
    for (const std::string& line : help.commands())
      lines.out() << "      " << Printable(line) << "\n";
  }
  if (!found.in_vain().empty()) lines.Say("It would stay all the same:");
  for (const wire::Remedies::InVain& each : found.in_vain()) {
    lines.Say(
        fmt::format("  if {}: {}", PrintableLine(each.what()), PrintableLine(each.still_kept_by())),
        4);
  }
}

}  // namespace

void PrintExplanations(const wire::ExplainReply& reply, const Terminal& terminal,
                       std::ostream& out) {
  const Lines lines(terminal, out);
  const std::string_view of = OfIncomplete(ReadWarnings(reply));
  if (!of.empty()) lines.Say(fmt::format("In a plan{}:", of));
  bool is_first = true;
  for (const wire::NodeExplanation& node : reply.nodes()) {
    if (!std::exchange(is_first, false)) out << "\n";
    PrintNode(reply, node, lines);
    if (node.has_remedies()) PrintRemedies(node.remedies(), lines);
  }
}

}  // namespace ebb
