// The plan as data: docs/plan.md describes it, docs/plan.schema.json is its schema.

#ifndef EBB_TOOLS_PLAN_JSON_H_
#define EBB_TOOLS_PLAN_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "tools/plan_report.h"

namespace ebb {

inline constexpr std::string_view kPlanApiVersion = "ebb/v1alpha1";

nlohmann::ordered_json PlanJson(const PlanReport& report);

}  // namespace ebb

#endif  // EBB_TOOLS_PLAN_JSON_H_
