#include "cli/print/purchases_print.h"

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <utility>

#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/table.h"
#include "groups/prices.h"

namespace ebb {

namespace wire = v1alpha1;

void PrintPurchases(const wire::PlanReply& reply, size_t columns, std::ostream& out) {
  const wire::Purchases& purchases = reply.purchases();
  if (purchases.buy().empty()) {
    out << Wrapped(fmt::format("Buy nothing: {}.", PrintableLine(purchases.why_none())), columns)
        << "\n\n";
    return;
  }
  const auto bought = static_cast<size_t>(purchases.buy_size());
  out << Wrapped(fmt::format("First buy {}, and wait until {} Ready:",
                             Count(bought, "node", "nodes"), bought == 1 ? "it is" : "all are"),
                 columns)
      << "\n";
  Table table({"NODE", "TYPE", "GROUP", "ZONE", "CAPACITY TYPE", "PRICE/H", "PODS", "DAEMONSETS'"});
  for (const size_t column : {5, 6, 7}) table.AlignRight(column);
  table.FitTo(columns).ShortenNames(0).ShortenNames(2);
  for (const wire::Purchase& each : purchases.buy()) {
    table.AddRow({each.node(), each.machine_type(), each.group(),
                  each.zone().empty() ? "-" : each.zone(),
                  each.capacity_type().empty() ? "-" : each.capacity_type(),
                  MoneyText(each.price_per_hour(), Printable(reply.tables().currency())),
                  WithCommas(each.pods()), WithCommas(each.daemon_set_pods())});
  }
  table.Print(out);
  out << "Then remove these nodes, in this order:\n\n";
}

void PrintSavings(const wire::PlanReply& reply, size_t columns, std::ostream& out) {
  const wire::Purchases& purchases = reply.purchases();
  const std::string currency = Printable(reply.tables().currency());
  const auto money = [&](double amount) { return MoneyText(amount, currency); };
  const auto say = [&](const std::string& text) { out << Wrapped(text, columns) << "\n"; };
  const auto row = [&](Table& table, std::string what, const wire::Purchases::Figures& figures,
                       int bought) {
    const double saved = figures.net_saved_per_hour();
    table.AddRow({std::move(what), money(purchases.cost_per_hour() - saved), money(saved),
                  money(saved * kHoursPerMonth), WithCommas(static_cast<uint64_t>(bought)),
                  WithCommas(figures.removed()), WithCommas(figures.moved_pods()),
                  fmt::format("{:.2f}", figures.score())});
  };
  out << "\n";
  Table table(
      {"", "COST/H", "SAVED/H", "SAVED/MONTH", "BOUGHT", "REMOVED", "EVICTED PODS", "SCORE"});
  for (const size_t column : {1, 2, 3, 4, 5, 6, 7}) table.AlignRight(column);
  table.FitTo(columns);
  row(table, "Do nothing", {}, 0);
  row(table, "Only remove", purchases.without(), 0);
  if (!purchases.buy().empty()) row(table, "This plan", purchases.with(), purchases.buy_size());
  table.Print(out);
  if (purchases.with().moved_pods() > 0) {
    say(fmt::format("Each eviction saves {} per hour.",
                    money(purchases.with().net_saved_per_hour() /
                          static_cast<double>(purchases.with().moved_pods()))));
  }
  if (purchases.has_least_cost_per_hour()) {
    say(fmt::format("No set of new nodes makes it less than {} per hour: the gap is {} at most.",
                    money(purchases.least_cost_per_hour()), Percent(purchases.gap())));
  } else {
    say(fmt::format("No bound is known: {}.", PrintableLine(purchases.why_no_bound())));
  }
  say(fmt::format("Tried {} of {} that can be bought.",
                  Count(purchases.tried(), "set of new nodes", "sets of new nodes"),
                  Count(purchases.machine_types(), "machine type", "machine types")));
  for (const wire::Purchases::UnusableTypes& each : purchases.unusable_types()) {
    std::string names;
    for (const std::string& name : each.first()) {
      names += (names.empty() ? "" : "; ") + Printable(name);
    }
    const auto first = static_cast<uint64_t>(each.first_size());
    if (each.count() > first)
      names += fmt::format("; and {} more", WithCommas(each.count() - first));
    out << Wrapped(fmt::format("- {} not bought: {} ({}): {}", Count(each.count(), "type", "types"),
                               PrintableLine(each.detail()), PrintableLine(each.reason()), names),
                   columns, 2)
        << "\n";
  }
  out << "The purchases assume:\n";
  for (const std::string& text : purchases.assumptions()) {
    out << Wrapped("- " + PrintableLine(text), columns, 2) << "\n";
  }
}

}  // namespace ebb
