// Explanations for people and as data.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/display_text.h"
#include "tools/explain.h"
#include "tools/plan_json.h"
#include "tools/printable.h"
#include "tools/rfc3339.h"
#include "tools/table.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;
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
  }
  return "";
}

std::string UtilizationText(const Catalog& catalog, const Utilization& utilization) {
  std::string text = fmt::format("{} ({}", Percent(utilization.utilization),
                                 Printable(catalog.Text(utilization.resource)));
  if (CountsCpuAndMemory(catalog, utilization)) {
    text +=
        fmt::format("; cpu {}, memory {}", Percent(utilization.cpu), Percent(utilization.memory));
  }
  return text + ")";
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

void PrintUtilization(const PlanContext& context, const Explanation& explanation,
                      const Lines& lines) {
  const Catalog& catalog = context.catalog();
  if (const auto& before = context.made->plan.utilization[Index(explanation.node)]) {
    lines.Say("Its utilization is " + UtilizationText(catalog, *before) + ".");
  }
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
  lines.Say(text + ".");
}

void PrintPods(const Catalog& catalog, const Explanation& explanation, const Lines& lines) {
  Table table({"POD", "DRAIN"});
  table.Indent(2).FitTo(lines.columns()).ShortenNames(0).WrapLast();
  for (const Explanation::Pod& pod : explanation.pods) {
    std::string text = OutcomeText(catalog, pod);
    if (pod.from != kNoNode) {
      text += fmt::format("; the plan moved it here from node {}", catalog.NodeName(pod.from));
    }
    table.AddRow({catalog.PodName(pod.pod), std::move(text)});
  }
  if (!table.empty()) table.Print(lines.out());
}

void PrintPlaces(const Catalog& catalog, const Explanation& explanation, const Lines& lines) {
  if (explanation.places.empty()) return;
  lines.Say("Where its pods fit, when it was the node's turn:");
  bool all = true;
  for (const Explanation::Place& place : explanation.places) {
    lines.Say(fmt::format("  {}: {}", Printable(catalog.PodName(place.pod)),
                          Printable(place.tally.Text())),
              4);
    all &= place.to != kNoNode;
  }
  if (all) {
    lines.Say("  In this order all of them find a place. In the order of the pass they did not.",
              4);
  }
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
  PrintUtilization(report.context, explanation, lines);
  if (explanation.risky) {
    lines.Say("Risky: a PodDisruptionBudget lets its pods go only one after the other.");
  }
  if (!explanation.because.empty()) lines.Say(Printable(explanation.because));
  if (explanation.kept != nullptr && explanation.kept->why.before) {
    const std::string detail = KeptDetail(report, explanation.kept->why);
    if (!detail.empty()) lines.Say("Found then: " + Printable(detail) + ".");
  }
  PrintPods(catalog, explanation, lines);
  for (const Explanation::Budget& budget : explanation.budgets) PrintBudget(catalog, budget, lines);
  PrintPlaces(catalog, explanation, lines);
}

std::string_view OutcomeWord(Outcome outcome) {
  switch (outcome) {
    case Outcome::kMoves:
      return "moves";
    case Outcome::kMayMove:
      return "mayMove";
    case Outcome::kBlocks:
      return "blocks";
    case Outcome::kMirror:
      return "ignoredMirrorPod";
    case Outcome::kLongTerminating:
      return "ignoredLongTerminating";
    case Outcome::kDaemonSet:
      return "goesWithNode";
    case Outcome::kMustEnd:
      return "mustEnd";
  }
  return "";
}

Json PodJson(const Catalog& catalog, const Explanation::Pod& pod) {
  Json json = PodNameJson(catalog, pod.pod);
  json["outcome"] = OutcomeWord(pod.outcome);
  if (pod.outcome == Outcome::kBlocks) json["reason"] = ToString(pod.reason);
  if (pod.pdb) json["podDisruptionBudget"] = catalog.Text(catalog.pdbs()[Index(*pod.pdb)].name);
  if (pod.from != kNoNode) json["arrivedFrom"] = catalog.NodeName(pod.from);
  if (pod.to != kNoNode) json["to"] = catalog.NodeName(pod.to);
  for (const NodeId stop : pod.via) json["via"].push_back(catalog.NodeName(stop));
  return json;
}

Json BudgetJson(const Catalog& catalog, const Explanation::Budget& budget) {
  const Pdb& pdb = catalog.pdbs()[Index(budget.pdb)];
  Json nodes = Json::array();
  for (const auto& [node, disruptions] : budget.nodes) {
    nodes.push_back({{"node", catalog.NodeName(node)}, {"disruptions", disruptions}});
  }
  return {{"namespace", catalog.Text(pdb.namespace_name)},
          {"name", catalog.Text(pdb.name)},
          {"disruptionsAllowed", budget.allowed},
          {"spent", budget.spent},
          {"spentFor", std::move(nodes)}};
}

Json NodeJson(const PlanReport& report, const Explanation& explanation) {
  const PlanContext& context = report.context;
  const Catalog& catalog = context.catalog();
  Json json = explanation.order > 0 ? NodeHeadJson(report, explanation.node)
                                    : KeptJson(report, *explanation.kept, /*tally=*/nullptr);
  json["decision"] = explanation.order > 0 ? "remove" : "keep";
  if (explanation.order > 0) {
    PutUtilization(context, explanation.node, json);
    json["order"] = explanation.order;
    json["risky"] = explanation.risky;
  }
  if (const auto& then = explanation.utilization_at_turn) {
    json["utilizationAtTurn"] = UtilizationJson(catalog, *then);
  }
  if (!explanation.because.empty()) json["because"] = explanation.because;
  json["asOf"] = explanation.had_turn ? "turn" : "start";
  Json pods = Json::array();
  for (const Explanation::Pod& pod : explanation.pods) pods.push_back(PodJson(catalog, pod));
  json["pods"] = std::move(pods);
  Json budgets = Json::array();
  for (const Explanation::Budget& budget : explanation.budgets) {
    budgets.push_back(BudgetJson(catalog, budget));
  }
  json["budgets"] = std::move(budgets);
  Json places = Json::array();
  for (const Explanation::Place& place : explanation.places) {
    Json tried = PodNameJson(catalog, place.pod);
    PutTally(place.tally, tried);
    if (place.to != kNoNode) tried["putOn"] = catalog.NodeName(place.to);
    places.push_back(std::move(tried));
  }
  json["places"] = std::move(places);
  return json;
}

}  // namespace

void PrintExplanations(const PlanReport& report, std::span<const NodeId> nodes,
                       const Terminal& terminal, std::ostream& out) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) out << "\n";
    Print(report, Explain(report, nodes[i]), Lines(terminal, out));
  }
}

Json ExplanationJson(const PlanReport& report, std::span<const NodeId> nodes) {
  Json json = {{"apiVersion", kPlanApiVersion},
               {"kind", "Explanation"},
               {"now", FormatRfc3339(report.context.request->now_s)}};
  Json list = Json::array();
  for (const NodeId node : nodes) list.push_back(NodeJson(report, Explain(report, node)));
  json["nodes"] = std::move(list);
  return json;
}

}  // namespace ebb
