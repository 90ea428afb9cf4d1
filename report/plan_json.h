// The plan as data: docs/plan.md describes it, docs/plan.schema.json is its schema.

#ifndef EBB_REPORT_PLAN_JSON_H_
#define EBB_REPORT_PLAN_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "report/place_tally.h"
#include "report/plan_report.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

inline constexpr std::string_view kPlanApiVersion = "ebb/v1alpha1";

nlohmann::ordered_json PlanJson(const PlanReport& report);

// Adds "complete", and where that is false "missing": what the input lacks (incomplete.h).
void PutComplete(std::span<const InputWarning> warnings, nlohmann::ordered_json& json);

// What explanations say in the same words.
nlohmann::ordered_json SessionJson(const PlanSession& session);
nlohmann::ordered_json PodNameJson(const Catalog& catalog, PodId pod);
nlohmann::ordered_json UtilizationJson(const Catalog& catalog, const Utilization& utilization);
// Name, group, and what a bill asks for.
nlohmann::ordered_json NodeHeadJson(const PlanReport& report, NodeId node);
// Adds what of the node was in use, as docs/plan.md names it.
void PutUtilization(const PlanContext& context, NodeId node, nlohmann::ordered_json& json);
// Adds on how many nodes each filter refused the pod.
void PutTally(const PlaceTally& tally, nlohmann::ordered_json& json);
// `tally` may be null.
nlohmann::ordered_json KeptJson(const PlanReport& report, const PlanReport::Kept& kept,
                                const PlaceTally* tally);

}  // namespace ebb

#endif  // EBB_REPORT_PLAN_JSON_H_
