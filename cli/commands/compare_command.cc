#include "cli/commands/compare_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "cli/commands/gate.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/markdown.h"
#include "cli/print/page_file.h"
#include "cli/print/table.h"
#include "cli/print/terminal.h"
#include "groups/prices.h"
#include "platform/settings_file.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::string WithSign(const std::string& text, bool positive) {
  return (positive ? "+" : "") + text;
}

void PrintTotals(const PlanComparison& comparison, std::ostream& out) {
  const PlanComparison::Side& a = comparison.before;
  const PlanComparison::Side& b = comparison.after;
  Table table({"", "BEFORE", "AFTER", "DIFFERENCE"});
  table.AlignRight(1).AlignRight(2).AlignRight(3);
  const auto add = [&](const char* what, size_t before, size_t after) {
    table.AddRow({what, WithCommas(before), WithCommas(after),
                  Signed(static_cast<int64_t>(after - before))});
  };
  add("nodes of the cluster", a.nodes, b.nodes);
  add("nodes that go", a.removed, b.removed);
  add("pods that move", a.moved_pods, b.moved_pods);
  if (a.saved_per_hour || b.saved_per_hour) {
    const auto saved = [](const PlanComparison::Side& side) {
      return side.saved_per_hour ? MoneyText(*side.saved_per_hour, side.currency) : "-";
    };
    // Amounts in different currencies, or without prices on one side, have no difference.
    std::string difference = "-";
    if (a.saved_per_hour && b.saved_per_hour && a.currency == b.currency) {
      const double more = *b.saved_per_hour - *a.saved_per_hour;
      difference = WithSign(MoneyText(more, a.currency), more >= 0.005);
    }
    table.AddRow({"saved an hour", saved(a), saved(b), difference});
  }
  table.Print(out);
}

void PrintDifferences(const char* heading, const std::vector<PlanComparison::Difference>& nodes,
                      const Terminal& terminal, bool all_rows, std::ostream& out) {
  if (nodes.empty()) return;
  constexpr size_t kShown = 40;
  out << "\n" << heading << "\n";
  Table table({"NODE", "GROUP", "THE OTHER PLAN KEEPS IT"});
  table.Indent(2).FitTo(terminal.columns).ShortenNames(0).ShortenNames(1).ShortenEnd(2);
  const size_t rows =
      terminal.columns == 0 || all_rows ? nodes.size() : std::min(nodes.size(), kShown);
  for (size_t i = 0; i < rows; ++i) {
    table.AddRow(
        {nodes[i].node, nodes[i].group.empty() ? "-" : nodes[i].group, nodes[i].kept_because});
  }
  table.Print(out);
  if (rows < nodes.size()) {
    out << fmt::format("  ... {} more; all with -o json\n", WithCommas(nodes.size() - rows));
  }
}

absl::StatusOr<Json> ReadPlanFile(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadWholeFile(file, kDataLimits.bytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<Json> json = ParseJson(*text);
  if (json.ok()) return json;
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": ", json.status().message(), "; pass what `ebb plan -o json` prints"));
}

}  // namespace

void PrintComparison(const PlanComparison& comparison, const std::string& format, bool all_rows,
                     std::ostream& out) {
  if (format == "json") {
    out << IndentedJson(ComparisonJson(comparison));
    return;
  }
  if (format == "yaml") {
    out << Yaml(ComparisonJson(comparison));
    return;
  }
  if (format == "markdown") {
    PrintMarkdown(comparison, out);
    return;
  }
  const Terminal terminal = OutputTerminal();
  if (!comparison.complete) out << "Plans of an incomplete cluster.\n";
  if (comparison.of_two_clusters) {
    out << "No node is in both plans: they are of two clusters, and the differences say nothing.\n";
  }
  PrintTotals(comparison, out);
  if (comparison.no_more.empty() && comparison.now_too.empty()) {
    out << fmt::format("\nBoth plans remove the same {}.\n",
                       Count(comparison.in_both, "node", "nodes"));
    return;
  }
  PrintDifferences("Nodes that go after and not before:", comparison.now_too, terminal, all_rows,
                   out);
  PrintDifferences("Nodes that go before and not after:", comparison.no_more, terminal, all_rows,
                   out);
  out << fmt::format("\n{} in both.\n", Count(comparison.in_both, "node goes", "nodes go"));
}

void CompareCommand::AddTo(CLI::App& app) {
  app.add_option("BEFORE", before, "A plan, as `ebb plan -o json` prints it")
      ->check(values::File())
      ->required();
  app.add_option("AFTER", after, "The plan that it is compared with")
      ->check(values::File())
      ->required();
  app.add_option("-o,--output", output, "table, json, yaml or markdown")
      ->check(values::Choice({"table", "json", "yaml", "markdown"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  fail_if.AddTo(app, "Output");
  report.AddFileTo(app);
}

int CompareCommand::Run(std::ostream& out, std::ostream& err) const {
  if (!fail_if.Fit(ComparisonFigures(), "ebb compare", err)) return 2;
  const UsedFile files[] = {
      {"BEFORE", before, FileUse::kRead}, {"AFTER", after, FileUse::kRead}, report.File()};
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(report.file); !s.ok()) return Fail(s, err);
  const absl::StatusOr<Json> a = ReadPlanFile(before);
  if (!a.ok()) return Fail(a.status(), err);
  absl::StatusOr<Json> b = ReadPlanFile(after);
  if (!b.ok()) return Fail(b.status(), err);
  const absl::StatusOr<PlanComparison> comparison = ComparePlans(*a, *b);
  if (!comparison.ok()) {
    return Fail(
        absl::Status(comparison.status().code(),
                     absl::StrCat(before, ", ", after, ": ", comparison.status().message())),
        err);
  }
  if (report.active()) {
    Json page = {{"comparison", ComparisonJson(*comparison)}, {"plan", *std::move(b)}};
    if (absl::Status s = WritePageFile(report.file, std::move(page)); !s.ok()) return Fail(s, err);
  }
  PrintComparison(*comparison, output, /*all_rows=*/false, out);
  out.flush();
  return GateOf(fail_if, *comparison, 0, err);
}

}  // namespace ebb
