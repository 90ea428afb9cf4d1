#include "cli/print/purchases_print.h"

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <string_view>

#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/table.h"
#include "groups/prices.h"
#include "report/plan_purchases.h"

namespace ebb {
namespace {

std::string CurrencyOf(const PlanReport& report) {
  const NodePrices* const prices = report.context.prices;
  return prices == nullptr ? "" : Printable(prices->currency);
}

}  // namespace

void PrintPurchases(const PlanReport& report, size_t columns, std::ostream& out) {
  const PlanPurchases& purchases = *report.context.purchases;
  if (purchases.buy.empty()) {
    out << Wrapped(fmt::format("Buy nothing: {}.", purchases.why_none), columns) << "\n\n";
    return;
  }
  out << Wrapped(fmt::format("First buy {}, and wait until {} Ready:",
                             Count(purchases.buy.size(), "node", "nodes"),
                             purchases.buy.size() == 1 ? "it is" : "all are"),
                 columns)
      << "\n";
  Table table({"NODE", "TYPE", "GROUP", "ZONE", "CAPACITY TYPE", "PRICE/H", "PODS", "DAEMONSETS'"});
  for (const size_t column : {5, 6, 7}) table.AlignRight(column);
  table.FitTo(columns).ShortenNames(0).ShortenNames(2);
  for (const PlanPurchases::Purchase& each : purchases.buy) {
    table.AddRow({std::string(report.context.catalog().NodeName(each.node)), each.type, each.group,
                  each.zone.empty() ? "-" : each.zone,
                  each.capacity_type.empty() ? "-" : each.capacity_type,
                  MoneyText(each.hourly, CurrencyOf(report)), WithCommas(each.pods),
                  WithCommas(each.daemon_pods)});
  }
  table.Print(out);
  out << "Then remove these nodes, in this order:\n\n";
}

void PrintSavings(const PlanReport& report, size_t columns, std::ostream& out) {
  const PlanPurchases& purchases = *report.context.purchases;
  const std::string currency = CurrencyOf(report);
  const auto money = [&](double amount) { return MoneyText(amount, currency); };
  const auto say = [&](const std::string& text) { out << Wrapped(text, columns) << "\n"; };
  const auto row = [&](Table& table, std::string what, const PlanPurchases::Figures& figures,
                       size_t bought) {
    table.AddRow({std::move(what), money(purchases.cost_per_hour - figures.saved_per_hour),
                  money(figures.saved_per_hour), money(figures.saved_per_hour * kHoursPerMonth),
                  WithCommas(bought), WithCommas(figures.removed), WithCommas(figures.moved),
                  fmt::format("{:.2f}", figures.score)});
  };
  out << "\n";
  Table table(
      {"", "COST/H", "SAVED/H", "SAVED/MONTH", "BOUGHT", "REMOVED", "EVICTED PODS", "SCORE"});
  for (const size_t column : {1, 2, 3, 4, 5, 6, 7}) table.AlignRight(column);
  table.FitTo(columns);
  row(table, "Do nothing", {}, 0);
  row(table, "Only remove", purchases.without, 0);
  if (!purchases.buy.empty()) row(table, "This plan", purchases.with, purchases.buy.size());
  table.Print(out);
  if (const auto each = SavedPerEviction(purchases)) {
    say(fmt::format("Each eviction saves {} per hour.", money(*each)));
  }
  say(fmt::format("Tried {} of {} that can be bought.",
                  Count(purchases.tried, "set of new nodes", "sets of new nodes"),
                  Count(purchases.types, "machine type", "machine types")));
  for (const PlanPurchases::Unusable& each : purchases.unusable) {
    std::string names;
    for (const std::string& name : each.first) {
      names += (names.empty() ? "" : "; ") + Printable(name);
    }
    if (each.types > each.first.size()) {
      names += fmt::format("; and {} more", WithCommas(each.types - each.first.size()));
    }
    out << Wrapped(fmt::format("- {} not bought: {} ({}): {}", Count(each.types, "type", "types"),
                               each.text, each.reason, names),
                   columns, 2)
        << "\n";
  }
  out << "The purchases assume:\n";
  for (const std::string& text : purchases.assumptions) {
    out << Wrapped("- " + PrintableLine(text), columns, 2) << "\n";
  }
}

}  // namespace ebb
