#include "cli/commands/gate.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace ebb {
namespace {

constexpr std::string_view kNoPrices = "no prices were given (--prices)";

// The figures of a plan, under the names of its JSON.
struct PlanGate {
  double nodes = 0;
  double pods = 0;
  double removed = 0;
  double kept = 0;
  double moved = 0;
  double pending = 0;  // Pods that found no room.
  std::optional<double> saved = std::nullopt;
  std::optional<double> cost = std::nullopt;
  std::string_view no_cost = kNoPrices;
  std::string currency = {};

  [[nodiscard]] std::vector<GateValue> Values() const {
    return {{"nodes", nodes},
            {"pods", pods},
            {"removed", removed, nodes},
            {"kept", kept, nodes},
            {"moved", moved, pods},
            {"pending", pending, pods},
            {"saved", saved, cost, saved ? no_cost : kNoPrices},
            {"cost", cost, std::nullopt, no_cost}};
  }
};

int ExitCodeOf(const FailIf& fail_if, const PlanGate& gate, int exit_code, std::ostream& err) {
  return fail_if.ExitCode(PlanFigures(), gate.Values(), gate.currency, exit_code, err);
}

PlanGate GateOfJson(const nlohmann::ordered_json& plan) {
  const nlohmann::ordered_json& summary = plan.at("summary");
  const nlohmann::ordered_json& pending = summary.at("pendingPods");
  PlanGate gate{.nodes = summary.at("nodes"),
                .pods = summary.at("pods"),
                .removed = summary.at("removed"),
                .kept = summary.at("kept"),
                .moved = summary.at("movedPods"),
                .pending = pending.at("total").get<double>() - pending.at("placed").get<double>(),
                .currency = summary.value("currency", "")};
  if (!summary.contains("savedPerHour")) return gate;
  gate.saved = summary.at("savedPerHour");
  gate.cost = 0;
  for (const char* const list : {"remove", "keep"}) {
    for (const auto& node : plan.at(list)) *gate.cost += node.value("pricePerHour", 0.0);
  }
  return gate;
}

}  // namespace

int GateOf(const FailIf& fail_if, const PlanReport& report, int exit_code, std::ostream& err) {
  if (!fail_if.active()) return exit_code;
  const PlanContext& context = report.context;
  const PodsWithRoom room = CountRoom(context);
  PlanGate gate{.nodes = static_cast<double>(context.cluster->snapshot.nodes()),
                .pods = static_cast<double>(report.pods),
                .removed = static_cast<double>(report.remove.size()),
                .kept = static_cast<double>(report.keep.size()),
                .moved = static_cast<double>(report.moved),
                .pending = static_cast<double>(room.pending - room.pending_placed),
                .saved = report.saved_per_hour};
  if (context.prices != nullptr) {
    const std::vector<double>& hourly = context.prices->hourly;
    gate.cost = std::accumulate(hourly.begin(), hourly.end(), 0.0);
    gate.currency = context.prices->currency;
  }
  return ExitCodeOf(fail_if, gate, exit_code, err);
}

int GateOf(const FailIf& fail_if, const v1alpha1::PlanReply& reply, int exit_code,
           std::ostream& err) {
  if (!fail_if.active()) return exit_code;
  if (!reply.has_tables()) {
    return ExitCodeOf(fail_if, GateOfJson(nlohmann::ordered_json::parse(reply.plan())), exit_code,
                      err);
  }
  const v1alpha1::PlanTables& tables = reply.tables();
  PlanGate gate{.nodes = static_cast<double>(reply.nodes()),
                .pods = static_cast<double>(reply.pods()),
                .removed = static_cast<double>(reply.removes()),
                .kept = static_cast<double>(tables.kept()),
                .moved = static_cast<double>(tables.moved_pods()),
                .pending = static_cast<double>(tables.pending() - tables.placed()),
                .currency = tables.currency()};
  if (tables.has_saved_per_hour()) {
    gate.saved = tables.saved_per_hour();
    gate.no_cost = "a daemon sends the cost of all nodes with -o json or -o yaml only";
  }
  return ExitCodeOf(fail_if, gate, exit_code, err);
}

int GateOf(const FailIf& fail_if, const PlanComparison& comparison, int exit_code,
           std::ostream& err) {
  if (!fail_if.active()) return exit_code;
  const PlanComparison::Side& a = comparison.before;
  const PlanComparison::Side& b = comparison.after;
  const auto difference = [](const char* name, size_t before, size_t after) {
    return GateValue{name, static_cast<double>(after) - static_cast<double>(before),
                     static_cast<double>(before)};
  };
  GateValue saved{.name = "saved", .value = {}, .why_absent = "a plan has no prices"};
  if (a.saved_per_hour && b.saved_per_hour) {
    saved.why_absent = "the two plans have prices in different currencies";
    saved.whole = a.saved_per_hour;
    if (a.currency == b.currency) saved.value = *b.saved_per_hour - *a.saved_per_hour;
  }
  const auto removed = static_cast<double>(a.removed);
  const GateValue values[] = {
      difference("nodes", a.nodes, b.nodes),
      difference("removed", a.removed, b.removed),
      difference("moved", a.moved_pods, b.moved_pods),
      saved,
      {"before-alone", static_cast<double>(comparison.no_more.size()), removed},
      {"after-alone", static_cast<double>(comparison.now_too.size()), removed}};
  return fail_if.ExitCode(ComparisonFigures(), values, b.currency, exit_code, err);
}

}  // namespace ebb
