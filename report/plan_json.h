// The plan as data: docs/plan.md describes it, docs/plan.schema.json is its schema.

#ifndef EBB_REPORT_PLAN_JSON_H_
#define EBB_REPORT_PLAN_JSON_H_

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/place_tally.h"
#include "report/plan_report.h"
#include "search/frontier.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

inline constexpr std::string_view kPlanApiVersion = "ebb/v1alpha1";

nlohmann::ordered_json PlanJson(const PlanReport& report);
// Adds "remove" and "keep" with the entries of the nodes for which `is_wanted` is true.
// Cost: replays the plan up to the last of these nodes, and looks for the places of their pods.
void PutEntries(const PlanReport& report, const std::function<bool(NodeId)>& is_wanted,
                nlohmann::ordered_json& json);

// Adds "complete", and if that is false "missing": what the input lacks (incomplete.h).
void PutComplete(std::span<const InputWarning> warnings, nlohmann::ordered_json& json);

// Kind Frontier of docs/frontier.schema.json.  `currency`: absent: no prices were given.
nlohmann::ordered_json FrontierJson(std::span<const FrontierPoint> points,
                                    std::span<const InputWarning> warnings,
                                    const std::optional<std::string>& currency);

// Parts that explanations share with plans.
nlohmann::ordered_json SessionJson(const PlanSession& session);
nlohmann::ordered_json PodNameJson(const Catalog& catalog, PodId pod);
nlohmann::ordered_json UtilizationJson(const Catalog& catalog, const Utilization& utilization);
// Name, group, and the facts that decide a node's price.
nlohmann::ordered_json NodeHeadJson(const PlanReport& report, NodeId node);
// Adds how much of the node was in use; docs/plan.md describes the fields.
void PutUtilization(const PlanContext& context, NodeId node, nlohmann::ordered_json& json);
// Adds the number of nodes on which each filter rejected the pod.
void PutTally(const Catalog& catalog, const PlaceTally& tally, nlohmann::ordered_json& json);
// `tally` may be null.
nlohmann::ordered_json KeptJson(const PlanReport& report, const PlanReport::Kept& kept,
                                const PlaceTally* tally);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_JSON_H_
