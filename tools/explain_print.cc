// Explanations for people and as data.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

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

bool NeedsEviction(Outcome outcome) {
  return outcome == Outcome::kMoves || outcome == Outcome::kMayMove || outcome == Outcome::kBlocks;
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

void PrintUtilization(const PlanContext& context, const Explanation& explanation,
                      std::ostream& out) {
  const Catalog& catalog = context.catalog();
  if (const auto& before = context.made->plan.utilization[Index(explanation.node)]) {
    out << "Its utilization is " << UtilizationText(catalog, *before) << ".\n";
  }
  if (const auto& then = explanation.utilization_at_turn) {
    out << "With the pods that the plan brought before its turn it is "
        << UtilizationText(catalog, *then) << "; the threshold is not asked again.\n";
  }
}

void PrintBudget(const Catalog& catalog, const Explanation::Budget& budget, std::ostream& out) {
  constexpr size_t kNodesShown = 5;
  out << fmt::format(
      "Budget {}: {} of {} spent by this plan before its turn, on ",
      Printable(BudgetName(catalog, budget.pdb)), budget.spent,
      Count(static_cast<uint64_t>(std::max(budget.allowed, 0)), "disruption", "disruptions"));
  for (size_t i = 0; i < std::min(budget.nodes.size(), kNodesShown); ++i) {
    const auto& [node, disruptions] = budget.nodes[i];
    out << (i == 0 ? "node " : ", ") << NodeText(catalog, node);
    if (disruptions > 1) out << fmt::format(" ({})", disruptions);
  }
  if (budget.nodes.size() > kNodesShown) {
    out << fmt::format(", {} more", budget.nodes.size() - kNodesShown);
  }
  out << ".\n";
}

void PrintPods(const Catalog& catalog, const Explanation& explanation, const Terminal& terminal,
               std::ostream& out) {
  Table table({"POD", "DRAIN"});
  table.Indent(2).FitTo(terminal.columns).ShortenMiddle(0).ShortenEnd(1);
  for (const Explanation::Pod& pod : explanation.pods) {
    std::string text = OutcomeText(catalog, pod);
    const size_t budgets = catalog.shape_of(pod.pod).budgets.size();
    if (budgets > 1 && NeedsEviction(pod.outcome)) {
      text += fmt::format("; {} budgets select it, and the eviction API refuses more than one",
                          budgets);
    }
    if (pod.from != kNoNode) {
      text += fmt::format("; arrives in this plan, from node {}", catalog.NodeName(pod.from));
    }
    table.AddRow({catalog.PodName(pod.pod), std::move(text)});
  }
  if (!table.empty()) table.Print(out);
}

void PrintPlaces(const Catalog& catalog, const Explanation& explanation, std::ostream& out) {
  if (explanation.places.empty()) return;
  out << "Places, when it was the node's turn:\n";
  bool all = true;
  for (const Explanation::Place& place : explanation.places) {
    out << "  " << Printable(catalog.PodName(place.pod)) << ": " << Printable(place.tally.Text())
        << "\n";
    all &= place.to != kNoNode;
  }
  if (all) out << "  In this order all find a place; in the order of the pass they did not.\n";
}

void Print(const PlanReport& report, const Explanation& explanation, const Terminal& terminal,
           std::ostream& out) {
  const Catalog& catalog = report.context.catalog();
  const std::string name = NodeText(catalog, explanation.node);
  if (explanation.order > 0) {
    const size_t moves = report.remove[explanation.order - 1].pods.size();
    out << fmt::format("Node {} goes, as number {} of {}; {} from it.\n", name, explanation.order,
                       report.remove.size(), Count(moves, "pod moves", "pods move"));
  } else {
    out << fmt::format("Node {} is kept: {}\n", name, ReasonText(*explanation.kept));
  }
  PrintUtilization(report.context, explanation, out);
  if (explanation.risky) {
    out << "Risky: a budget admits its pods only one after the other.\n";
  }
  if (!explanation.because.empty()) out << Printable(explanation.because) << "\n";
  if (explanation.kept != nullptr && explanation.kept->why.before) {
    const std::string detail = KeptDetail(catalog, explanation.kept->why);
    if (!detail.empty()) out << "Found then: " << Printable(detail) << ".\n";
  }
  PrintPods(catalog, explanation, terminal, out);
  for (const Explanation::Budget& budget : explanation.budgets) PrintBudget(catalog, budget, out);
  PrintPlaces(catalog, explanation, out);
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
  const std::vector<PdbId>& budgets = catalog.shape_of(pod.pod).budgets;
  if (budgets.size() > 1 && NeedsEviction(pod.outcome)) {
    for (const PdbId pdb : budgets) {
      json["selectedBy"].push_back(catalog.Text(catalog.pdbs()[Index(pdb)].name));
    }
  }
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
    Print(report, Explain(report, nodes[i]), terminal, out);
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
