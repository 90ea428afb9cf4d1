#include "cli/print/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "base/check.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/plan_print.h"
#include "groups/prices.h"
#include "snapshot/import/incomplete.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

constexpr const char* kIncomplete = "\n**The cluster is incomplete:** ";

// "12.30 `USD`"
std::string MarkdownMoney(double amount, std::string_view currency) {
  const std::string number = MoneyText(amount, "");
  return currency.empty() ? number : number + " " + MarkdownCode(currency);
}

// The first kMarkdownRows of `rows` as a table, with a heading.
void PrintSection(std::string_view heading, const std::vector<std::string>& headings,
                  const std::vector<bool>& right, std::vector<std::vector<std::string>> rows,
                  size_t total, std::ostream& out) {
  if (rows.empty()) return;
  if (rows.size() > kMarkdownRows) rows.resize(kMarkdownRows);
  out << "\n" << heading << "\n\n";
  PrintMarkdownTable(headings, right, rows, total - rows.size(), out);
}

void PrintAlone(std::string_view heading, const std::vector<PlanComparison::Difference>& nodes,
                std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const PlanComparison::Difference& each : nodes) {
    if (rows.size() == kMarkdownRows) break;
    rows.push_back(
        {MarkdownCode(each.node), MarkdownCode(each.group), MarkdownCode(each.kept_because)});
  }
  PrintSection(heading, {"node", "group", "the other plan keeps it"}, {false, false, false},
               std::move(rows), nodes.size(), out);
}

}  // namespace

std::string MarkdownCode(std::string_view text) {
  if (text.empty()) return "-";
  // Cut before it is made printable: the text may be very long.
  std::string cell = ShortenedAtEnd(Printable(text.substr(0, 4 * kMarkdownCell)), kMarkdownCell);
  // A backtick would end the span, and no escape works in it.
  std::ranges::replace(cell, '`', '\'');
  std::string code = "`";
  for (const char c : cell) code += c == '|' ? "\\|" : std::string(1, c);
  return code + "`";
}

void PrintMarkdownTable(const std::vector<std::string>& headings, const std::vector<bool>& right,
                        const std::vector<std::vector<std::string>>& rows, size_t more,
                        std::ostream& out) {
  EBB_DCHECK(headings.size() == right.size());
  if (rows.empty()) return;
  const auto print = [&out](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) out << "| " << cell << " ";
    out << "|\n";
  };
  print(headings);
  for (const bool is_right : right) out << (is_right ? "|--:" : "|---");
  out << "|\n";
  for (const std::vector<std::string>& row : rows) print(row);
  if (more > 0) out << fmt::format("\n... {} more\n", WithCommas(more));
}

void PrintMarkdown(const wire::PlanReply& reply, std::ostream& out) {
  const wire::PlanTables& tables = reply.tables();
  const double share = reply.nodes() == 0 ? 0
                                          : static_cast<double>(reply.removes()) /
                                                static_cast<double>(reply.nodes());
  out << fmt::format("### {} of {} can go ({})\n\n", WithCommas(reply.removes()),
                     Count(reply.nodes(), "node", "nodes"), Percent(share));
  out << fmt::format("{} of {} move.", WithCommas(tables.moved_pods()),
                     Count(reply.pods(), "pod", "pods"));
  if (reply.removes() > 0) {
    out << fmt::format(" Freed: {} cores and {} of memory", Cores(tables.freed().cpu_milli()),
                       Bytes(tables.freed().memory_bytes()));
    if (tables.freed().gpus() > 0) {
      out << fmt::format(", {}",
                         Count(static_cast<uint64_t>(tables.freed().gpus()), "GPU", "GPUs"));
    }
    out << ".";
  }
  if (tables.has_saved_per_hour()) {
    out << " Saved: " << MarkdownMoney(tables.saved_per_hour(), tables.currency()) << " an hour, "
        << MarkdownMoney(tables.saved_per_hour() * kHoursPerMonth, tables.currency()) << " a month"
        << ".";
  }
  if (tables.termination() != "complete") {
    out << " The plan ended early: " << MarkdownCode(tables.termination()) << ".";
  }
  if (const uint64_t unplaced = tables.pending() - tables.placed(); unplaced > 0) {
    out << fmt::format(" {} no room.", Count(unplaced, "pending pod finds", "pending pods find"));
  }
  out << "\n";
  if (const auto missing = MissingOf(ReadWarnings(reply)); !missing.empty()) {
    out << kIncomplete;
    for (const InputWarning& each : missing) {
      out << (&each == missing.data() ? "" : ", ") << MarkdownCode(each.code);
    }
    out << "\n";
  }

  std::vector<std::vector<std::string>> groups;
  for (const wire::FreedShare& each : tables.by_group()) {
    groups.push_back({MarkdownCode(each.name()), WithCommas(each.removed()),
                      WithCommas(each.nodes()), Cores(each.freed().cpu_milli()),
                      Bytes(each.freed().memory_bytes())});
  }
  const size_t group_count = groups.size();
  PrintSection("**Groups that shrink**", {"group", "go", "of", "cores", "memory"},
               {false, true, true, true, true}, std::move(groups), group_count, out);

  std::vector<std::vector<std::string>> kept;
  for (const wire::KeptReason& each : tables.kept_by_reason()) {
    kept.push_back({MarkdownCode(each.reason()), WithCommas(each.nodes())});
  }
  const size_t reasons = kept.size();
  PrintSection("**Why the others stay**", {"reason", "nodes"}, {false, true}, std::move(kept),
               reasons, out);

  std::vector<std::vector<std::string>> nodes;
  for (const wire::TableNode& each : tables.remove()) {
    if (nodes.size() == kMarkdownRows) break;
    nodes.push_back(
        {MarkdownCode(each.node()), MarkdownCode(each.group()), WithCommas(each.pods())});
  }
  if (nodes.empty()) return;
  const size_t more = reply.removes() - nodes.size();
  out << "\n<details><summary>Nodes that go, in order</summary>\n\n";
  PrintMarkdownTable({"node", "group", "pods that move"}, {false, false, true}, nodes, more, out);
  out << "\n</details>\n";
}

void PrintMarkdown(const PlanComparison& comparison, std::ostream& out) {
  const PlanComparison::Side& a = comparison.before;
  const PlanComparison::Side& b = comparison.after;
  out << fmt::format("### {} can go, {} before ({})\n", Count(b.removed, "node", "nodes"),
                     WithCommas(a.removed), Signed(static_cast<int64_t>(b.removed - a.removed)));
  if (!comparison.complete) out << kIncomplete << "`missing` of the plans says what it lacks.\n";
  if (comparison.of_two_clusters) {
    out << "\n**No node is in both plans:** they are of two clusters.\n";
  }
  std::vector<std::vector<std::string>> rows;
  const auto add = [&rows](const char* name, size_t before, size_t after) {
    rows.push_back({name, WithCommas(before), WithCommas(after),
                    Signed(static_cast<int64_t>(after - before))});
  };
  add("nodes of the cluster", a.nodes, b.nodes);
  add("nodes that go", a.removed, b.removed);
  add("pods that move", a.moved_pods, b.moved_pods);
  if (a.saved_per_hour || b.saved_per_hour) {
    const auto money = [](const std::optional<double>& amount, const std::string& currency) {
      return amount ? MarkdownMoney(*amount, currency) : "-";
    };
    std::optional<double> more;
    if (a.saved_per_hour && b.saved_per_hour && a.currency == b.currency) {
      more = *b.saved_per_hour - *a.saved_per_hour;
    }
    rows.push_back({"saved an hour", money(a.saved_per_hour, a.currency),
                    money(b.saved_per_hour, b.currency),
                    (more && *more >= 0.005 ? "+" : "") + money(more, b.currency)});
  }
  out << "\n";
  PrintMarkdownTable({"", "before", "after", "difference"}, {false, true, true, true}, rows, 0,
                     out);
  if (comparison.no_more.empty() && comparison.now_too.empty()) {
    out << fmt::format("\nBoth plans remove the same {}.\n",
                       Count(comparison.in_both, "node", "nodes"));
    return;
  }
  PrintAlone("**Nodes that go after and not before**", comparison.now_too, out);
  PrintAlone("**Nodes that go before and not after**", comparison.no_more, out);
}

}  // namespace ebb
