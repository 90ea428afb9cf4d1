#include "report/plan_purchases.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "groups/prices.h"
#include "report/plan_report.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

Json PurchaseJson(const Catalog& catalog, const PlanPurchases::Purchase& bought) {
  Json json = {{"node", catalog.NodeName(bought.node)},
               {"machineType", bought.type},
               {"group", bought.group}};
  if (!bought.zone.empty()) json["zone"] = bought.zone;
  if (!bought.capacity_type.empty()) json["capacityType"] = bought.capacity_type;
  json["like"] = bought.sibling;
  json["pricePerHour"] = RoundedAmount(bought.hourly);
  json["pods"] = bought.pods;
  json["daemonSetPods"] = bought.daemon_pods;
  return json;
}

Json FiguresJson(const PlanPurchases& purchases, const PlanPurchases::Figures& figures) {
  return {{"removed", figures.removed},
          {"movedPods", figures.moved},
          {"netSavedPerHour", RoundedAmount(figures.saved_per_hour)},
          {"costPerHour", RoundedAmount(purchases.cost_per_hour - figures.saved_per_hour)},
          {"score", RoundedAmount(figures.score)}};
}

}  // namespace

double SavedByPurchases(const PlanPurchases& purchases) {
  return purchases.with.saved_per_hour - purchases.without.saved_per_hour;
}

std::optional<double> GapOf(const PlanPurchases& purchases) {
  const double cost = purchases.cost_per_hour - purchases.with.saved_per_hour;
  if (!purchases.least_cost_per_hour) return std::nullopt;
  return cost <= 0 ? 0 : std::max(0.0, (cost - *purchases.least_cost_per_hour) / cost);
}

std::optional<double> SavedPerEviction(const PlanPurchases& purchases) {
  if (purchases.with.moved == 0) return std::nullopt;
  return purchases.with.saved_per_hour / static_cast<double>(purchases.with.moved);
}

void PutPurchases(const PlanReport& report, Json& plan) {
  const PlanPurchases& purchases = *report.context.purchases;
  Json json = Json::object();
  json["buy"] = Json::array();
  for (const PlanPurchases::Purchase& each : purchases.buy) {
    json["buy"].push_back(PurchaseJson(report.context.catalog(), each));
  }
  if (!purchases.why_none.empty()) json["whyNone"] = purchases.why_none;
  json["costPerHour"] = RoundedAmount(purchases.cost_per_hour);
  json["without"] = FiguresJson(purchases, purchases.without);
  json["with"] = FiguresJson(purchases, purchases.with);
  json["netSavedPerMonth"] = RoundedAmount(purchases.with.saved_per_hour * kHoursPerMonth);
  if (const std::optional<double> each = SavedPerEviction(purchases)) {
    json["netSavedPerEviction"] = RoundedAmount(*each);
  }
  if (purchases.least_cost_per_hour) {
    json["leastCostPerHour"] = RoundedAmount(*purchases.least_cost_per_hour);
    json["gap"] = RoundedAmount(*GapOf(purchases));
  } else {
    json["whyNoBound"] = purchases.why_no_bound;
  }
  json["maxNewNodes"] = purchases.max_new_nodes;
  json["minSaving"] = purchases.min_saving;
  json["minScore"] = purchases.min_score;
  json["machineTypes"] = purchases.types;
  json["tried"] = purchases.tried;
  json["unusableTypes"] = Json::array();
  for (const PlanPurchases::Unusable& each : purchases.unusable) {
    json["unusableTypes"].push_back({{"reason", each.reason},
                                     {"detail", each.text},
                                     {"count", each.types},
                                     {"first", each.first}});
  }
  json["assumptions"] = purchases.assumptions;
  plan["replace"] = std::move(json);
}

}  // namespace ebb
