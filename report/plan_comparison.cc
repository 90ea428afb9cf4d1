#include "report/plan_comparison.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/figures.h"
#include "groups/prices.h"
#include "report/plan_json.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

absl::Status NoPlan(std::string_view why) {
  return absl::InvalidArgumentError("is not a plan of `ebb plan -o json`: " + std::string(why));
}

// The parts of a plan that are compared.
struct ReadPlan {
  PlanComparison::Side side;
  std::vector<PlanComparison::Difference> removed;  // In order.
  std::set<std::string> names;                      // Names of the removed nodes.
  std::map<std::string, std::string> kept;          // Reasons by node.
};

std::string Text(const Json& map, const char* key) {
  const auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::StatusOr<size_t> CountIn(const Json& map, const char* key) {
  const auto found = map.find(key);
  if (found == map.end() || !found->is_number_unsigned()) {
    return NoPlan(std::string("summary.") + key + " is not a count");
  }
  return found->get<size_t>();
}

// "BlockedByPod, shop/db-0: NotEnoughPdb db"
std::string ReasonOf(const Json& kept) {
  std::string text = Text(kept, "reason");
  for (const char* key : {"blockingPod", "unplacedPod"}) {
    const auto pod = kept.find(key);
    if (pod == kept.end() || !pod->is_object()) continue;
    text += ", " + Text(*pod, "namespace") + "/" + Text(*pod, "name");
    if (const std::string reason = Text(*pod, "reason"); !reason.empty()) text += ": " + reason;
    if (const std::string budget = Text(*pod, "podDisruptionBudget"); !budget.empty()) {
      text += " " + budget;
    }
  }
  return text;
}

absl::StatusOr<ReadPlan> Read(const Json& json) {
  if (!json.is_object() || Text(json, "kind") != "Plan") return NoPlan("kind is not Plan");
  if (Text(json, "apiVersion") != kPlanApiVersion) {
    return NoPlan("apiVersion is not " + std::string(kPlanApiVersion));
  }
  const Json summary = json.value("summary", Json());
  const Json remove = json.value("remove", Json());
  const Json keep = json.value("keep", Json());
  if (!summary.is_object()) return NoPlan("summary is not an object");
  if (!remove.is_array()) return NoPlan("remove is not a list");
  if (!keep.is_array()) return NoPlan("keep is not a list");
  ReadPlan plan;
  for (const auto& [key, to] :
       {std::pair("nodes", &plan.side.nodes), std::pair("removed", &plan.side.removed),
        std::pair("movedPods", &plan.side.moved_pods)}) {
    const absl::StatusOr<size_t> count = CountIn(summary, key);
    if (!count.ok()) return count.status();
    *to = *count;
  }
  if (const auto saved = summary.find("savedPerHour");
      saved != summary.end() && saved->is_number()) {
    plan.side.saved_per_hour = saved->get<double>();
  }
  plan.side.currency = Text(summary, "currency");
  for (const Json& node : remove) {
    if (!node.is_object() || Text(node, "node").empty())
      return NoPlan("remove: a node has no name");
    plan.removed.push_back(
        {.node = Text(node, "node"), .group = Text(node, "group"), .kept_because = ""});
    plan.names.insert(plan.removed.back().node);
  }
  for (const Json& node : keep) {
    if (!node.is_object() || Text(node, "node").empty()) return NoPlan("keep: a node has no name");
    plan.kept[Text(node, "node")] = ReasonOf(node);
  }
  return plan;
}

// The nodes that `plan` removes and `other` does not.
std::vector<PlanComparison::Difference> Alone(const ReadPlan& plan, const ReadPlan& other) {
  std::vector<PlanComparison::Difference> alone;
  for (PlanComparison::Difference node : plan.removed) {
    if (other.names.contains(node.node)) continue;
    const auto kept = other.kept.find(node.node);
    node.kept_because = kept != other.kept.end() ? kept->second : "not in the cluster";
    alone.push_back(std::move(node));
  }
  return alone;
}

bool AreOfTwoClusters(const ReadPlan& a, const ReadPlan& b) {
  const auto is_in_b = [&b](const std::string& node) {
    return b.names.contains(node) || b.kept.contains(node);
  };
  if (a.names.empty() && a.kept.empty()) return false;
  if (b.names.empty() && b.kept.empty()) return false;
  return std::ranges::none_of(a.names, is_in_b) &&
         std::ranges::none_of(a.kept, [&](const auto& kept) { return is_in_b(kept.first); });
}

Json SideJson(const PlanComparison::Side& side) {
  Json json = {{"nodes", side.nodes}, {"removed", side.removed}, {"movedPods", side.moved_pods}};
  if (side.saved_per_hour) json["savedPerHour"] = RoundedAmount(*side.saved_per_hour);
  if (!side.currency.empty()) json["currency"] = side.currency;
  return json;
}

Json DifferencesJson(const std::vector<PlanComparison::Difference>& differences) {
  Json list = Json::array();
  for (const PlanComparison::Difference& each : differences) {
    Json json = {{"node", each.node}};
    if (!each.group.empty()) json["group"] = each.group;
    json["keptBecause"] = each.kept_because;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

absl::StatusOr<PlanComparison> ComparePlans(const Json& before, const Json& after) {
  const absl::StatusOr<ReadPlan> a = Read(before);
  if (!a.ok())
    return absl::Status(a.status().code(), "the first " + std::string(a.status().message()));
  const absl::StatusOr<ReadPlan> b = Read(after);
  if (!b.ok())
    return absl::Status(b.status().code(), "the second " + std::string(b.status().message()));
  PlanComparison comparison{.before = a->side,
                            .after = b->side,
                            .complete = true,
                            .of_two_clusters = AreOfTwoClusters(*a, *b),
                            .in_both = 0,
                            .no_more = Alone(*a, *b),
                            .now_too = Alone(*b, *a)};
  comparison.complete = before.value("complete", true) && after.value("complete", true);
  comparison.in_both = a->removed.size() - comparison.no_more.size();
  return comparison;
}

Json ComparisonJson(const PlanComparison& comparison) {
  return {{"apiVersion", kPlanApiVersion},
          {"kind", "PlanComparison"},
          {"complete", comparison.complete},
          {"ofTwoClusters", comparison.of_two_clusters},
          {"before", SideJson(comparison.before)},
          {"after", SideJson(comparison.after)},
          {"removedByBoth", comparison.in_both},
          {"removedBeforeAlone", DifferencesJson(comparison.no_more)},
          {"removedAfterAlone", DifferencesJson(comparison.now_too)}};
}

}  // namespace ebb
