#include "tools/plan_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/rfc3339.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity: what is asked of nothing is left out.
Json Fraction(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json PodName(const Catalog& catalog, PodId pod) {
  return {{"namespace", catalog.Text(catalog.shape_of(pod).namespace_name)},
          {"name", catalog.Text(catalog.pod(pod).name)}};
}

void PutNode(const PlanContext& context, NodeId node, Json& json) {
  json["node"] = context.catalog().NodeName(node);
  if (const NodeGroup* group = context.groups->Find(node)) json["group"] = group->name;
}

void PutUtilization(const PlanContext& context, NodeId node, Json& json) {
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (!utilization) return;
  json["utilization"] = {{"resource", context.catalog().Text(utilization->resource)},
                         {"value", Fraction(utilization->utilization)},
                         {"cpu", Fraction(utilization->cpu)},
                         {"memory", Fraction(utilization->memory)}};
  if (utilization->gpu != 0) json["utilization"]["gpu"] = Fraction(utilization->gpu);
}

Json RemovalJson(const PlanContext& context, const PlanReport::Removal& removal) {
  Json json = Json::object();
  PutNode(context, removal.node, json);
  PutUtilization(context, removal.node, json);
  json["risky"] = removal.risky;
  Json pods = Json::array();
  for (const PlanReport::PodMove& move : removal.pods) {
    Json pod = PodName(context.catalog(), move.pod);
    pod["to"] = context.catalog().NodeName(move.to);
    for (const NodeId stop : move.via) pod["via"].push_back(context.catalog().NodeName(stop));
    pods.push_back(std::move(pod));
  }
  json["pods"] = std::move(pods);
  return json;
}

Json KeptJson(const PlanContext& context, const PlanReport::Kept& kept) {
  const Catalog& catalog = context.catalog();
  const UnremovableNode& why = kept.why;
  Json json = Json::object();
  PutNode(context, why.node, json);
  json["reason"] = kept.reason;
  PutUtilization(context, why.node, json);
  if (why.pod == kNoPod) return json;
  if (why.reason == UnremovableReason::kNoPlaceToMovePods) {
    json["unplacedPod"] = PodName(catalog, why.pod);
    return json;
  }
  Json pod = PodName(catalog, why.pod);
  if (why.reason == UnremovableReason::kBlockedByPod) {
    pod["reason"] = ToString(why.blocking_reason);
    if (why.pdb) {
      pod["podDisruptionBudget"] = catalog.Text(catalog.pdbs()[Index(*why.pdb)].name);
    }
  }
  json["blockingPod"] = std::move(pod);
  return json;
}

Json SummaryJson(const PlanReport& report) {
  const PlanContext& context = report.context;
  const LoadCounts& counts = context.cluster->counts;
  Json by_reason = Json::object();
  for (const auto& [reason, nodes] : report.kept_by_reason) by_reason[std::string(reason)] = nodes;
  const size_t pending = context.cluster->pending.size();
  return {{"nodes", context.cluster->snapshot.nodes()},
          {"pods", report.pods},
          {"removed", report.remove.size()},
          {"movedPods", report.moved},
          {"kept", report.keep.size()},
          {"keptByReason", std::move(by_reason)},
          {"pendingPods", {{"total", pending}, {"placed", context.made->plan.packed.size()}}},
          {"leftOut",
           {{"endedPods", counts.ended},
            {"expendablePods", counts.expendable},
            {"podsOnUnknownNodes", counts.on_unknown_node}}},
          {"termination", ToString(context.made->plan.termination)}};
}

}  // namespace

Json PlanJson(const PlanReport& report) {
  Json json = {{"apiVersion", kPlanApiVersion},
               {"kind", "Plan"},
               {"now", FormatRfc3339(report.context.request->now_s)},
               {"summary", SummaryJson(report)}};
  Json remove = Json::array();
  for (const auto& removal : report.remove) remove.push_back(RemovalJson(report.context, removal));
  json["remove"] = std::move(remove);
  Json keep = Json::array();
  for (const auto& kept : report.keep) keep.push_back(KeptJson(report.context, kept));
  json["keep"] = std::move(keep);
  return json;
}

}  // namespace ebb
