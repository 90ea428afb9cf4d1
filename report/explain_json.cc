// Explanations as data.

#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "report/explain.h"
#include "report/plan_json.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;
using Outcome = Explanation::Outcome;

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
    case Outcome::kFindsNoRoom:
      return "findsNoRoom";
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
  if (!pod.words.empty()) json["detail"] = pod.words;
  if (pod.pending) json["pending"] = true;
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
  Json json = {{"namespace", catalog.Text(pdb.namespace_name)},
               {"name", catalog.Text(pdb.name)},
               {"disruptionsAllowed", budget.allowed},
               {"spent", budget.spent}};
  if (budget.counted != budget.spent) json["counted"] = budget.counted;
  json["spentFor"] = std::move(nodes);
  return json;
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
    PutTally(catalog, place.tally, tried);
    if (place.to != kNoNode) tried["putOn"] = catalog.NodeName(place.to);
    if (!place.words.empty()) tried["detail"] = place.words;
    places.push_back(std::move(tried));
  }
  json["places"] = std::move(places);
  if (explanation.fits_first) json["fitsFirst"] = true;
  return json;
}

}  // namespace

Json ExplanationJson(const PlanReport& report, std::span<const NodeId> nodes,
                     const Deadline* stops) {
  Json json = {{"apiVersion", kPlanApiVersion},
               {"kind", "Explanation"},
               {"now", FormatRfc3339(report.context.request->pass.now_s)}};
  PutComplete(report.context.cluster->warnings, json);
  if (report.context.session) json["session"] = SessionJson(*report.context.session);
  Json list = Json::array();
  for (const NodeId node : nodes) {
    if (stops != nullptr && stops->Expired()) break;
    list.push_back(NodeJson(report, Explain(report, node)));
  }
  json["nodes"] = std::move(list);
  return json;
}

}  // namespace ebb
