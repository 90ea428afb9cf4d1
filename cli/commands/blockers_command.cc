#include "cli/commands/blockers_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/commands/search_interrupt.h"
#include "cli/commands/watch_command.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/print/display_text.h"
#include "cli/print/fail.h"
#include "cli/print/markdown.h"
#include "cli/print/page_file.h"
#include "cli/print/progress.h"
#include "cli/print/table.h"
#include "cli/print/terminal.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "platform/clock.h"
#include "report/page_data.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/incomplete.h"
#include "what_if/blockers.h"

namespace ebb {
namespace {

// "+11", "-1".
std::string Signed(int64_t number) {
  const std::string digits = WithCommas(static_cast<uint64_t>(number < 0 ? -number : number));
  return (number < 0 ? "-" : number > 0 ? "+" : "") + digits;
}

std::string NameOf(const Blocker& blocker) {
  return fmt::format("{} {}{}{}", blocker.kind, blocker.namespace_name,
                     blocker.namespace_name.empty() ? "" : "/", blocker.name);
}

// Prints what blocking budgets will do without a change to them (Blocker::detail).
void PrintOutlooks(const Blockers& blockers, const Terminal& terminal, std::ostream& out) {
  constexpr size_t kShown = 10;
  size_t outlooks = 0;
  for (const Blocker& each : blockers.blockers) {
    if (each.detail.empty() || ++outlooks > kShown) continue;
    const std::string line = fmt::format("{}: {}.", Printable(NameOf(each)), each.detail);
    out << (outlooks == 1 ? "\n" : "") << Wrapped(line, terminal.columns, 2) << "\n";
  }
  if (outlooks > kShown) {
    out << Count(outlooks - kShown, "more budget", "more budgets") << "; -o json has them all.\n";
  }
}

// `of_incomplete`: as for PrintBlockers.
void PrintMarkdown(const Blockers& blockers, std::string_view of_incomplete,
                   std::string_view currency, std::ostream& out) {
  out << fmt::format("### {}{} can go, {} stay\n\n", Count(blockers.removed, "node", "nodes"),
                     of_incomplete, WithCommas(blockers.kept));
  const bool has_prices = std::ranges::any_of(
      blockers.blockers, [](const Blocker& each) { return each.saved_per_hour.has_value(); });
  std::vector<std::string> headings = {"what keeps nodes", "reason", "if", "more nodes go"};
  if (has_prices) headings.emplace_back("saves an hour");
  std::vector<std::vector<std::string>> rows;
  size_t not_tried = 0;
  size_t more = 0;
  for (const Blocker& each : blockers.blockers) {
    if (!each.gained) {
      ++not_tried;
    } else if (rows.size() == kMarkdownRows) {
      ++more;
    } else {
      std::vector<std::string> row = {MarkdownCode(NameOf(each)), MarkdownCode(each.reason),
                                      MarkdownCode(each.change), Signed(*each.gained)};
      if (has_prices) {
        row.push_back(MarkdownCode(MoneyText(each.saved_per_hour.value_or(0), currency)));
      }
      rows.push_back(std::move(row));
    }
  }
  std::vector<bool> right = {false, false, false, true};
  if (has_prices) right.push_back(true);
  PrintMarkdownTable(headings, right, rows, more, out);
  if (not_tried > 0) {
    out << fmt::format("\n{}, and no change was tried; `-o json` says why.\n",
                       Count(not_tried, "more keeps nodes", "more keep nodes"));
  }
}

// `of_incomplete`: the result of OfIncomplete for the cluster.
void PrintBlockers(const Blockers& blockers, std::string_view of_incomplete,
                   std::string_view currency, const Terminal& terminal, std::ostream& out) {
  out << fmt::format("{}{} can go, {} stay.\n", Count(blockers.removed, "node", "nodes"),
                     of_incomplete, WithCommas(blockers.kept));
  if (blockers.blockers.empty()) return;
  const bool has_prices = std::ranges::any_of(
      blockers.blockers, [](const Blocker& each) { return each.saved_per_hour.has_value(); });
  std::vector<std::string> headings = {"WHAT KEEPS NODES", "REASON", "FIRST OBSTACLE OF", "IF",
                                       "MORE NODES GO"};
  if (has_prices) headings.emplace_back("SAVES AN HOUR");
  Table table(headings);
  table.AlignRight(2).AlignRight(4).FitTo(terminal.columns).ShortenNames(0).ShortenEnd(3);
  if (has_prices) table.AlignRight(5);
  std::map<std::string, size_t> not_tried;
  for (const Blocker& each : blockers.blockers) {
    if (!each.gained) {
      ++not_tried[each.not_tried];
      continue;
    }
    std::vector<std::string> row = {NameOf(each), each.reason, WithCommas(each.keeps), each.change,
                                    Signed(*each.gained)};
    if (has_prices) row.push_back(MoneyText(*each.saved_per_hour, currency));
    table.AddRow(std::move(row));
  }
  out << "\n";
  if (!table.empty()) {
    table.Print(out);
    out << "\nEach row was tried by itself: the change was made, and the plan made again, with the "
           "nodes of\nthis one tried first.\n";
  }
  PrintOutlooks(blockers, terminal, out);
  for (const auto& [why, number] : not_tried) {
    const std::string line =
        fmt::format("{}, and no change was tried: {}.",
                    Count(number, "more keeps nodes", "more keep nodes"), PrintableLine(why));
    out << Wrapped(line, terminal.columns, 2) << "\n";
  }
}

}  // namespace

void BlockersCommand::AddTo(CLI::App& app) {
  plan.AddPlanFlags(app);
  plan.watch.AddTo(app);
  plan.at_server.AddTo(app);
  const std::string group = "Output";
  app.add_option("-o,--output", output, "table, json, yaml or markdown")
      ->check(values::Choice({"table", "json", "yaml", "markdown"}))
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--limit", limit, "Try this many; those that keep most nodes come first")
      ->check(values::WholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  plan.report.AddTo(app);
  RefuseMisfits("blockers", app);
}

void BlockersCommand::Print(const Blockers& found, std::span<const InputWarning> warnings,
                            const std::optional<std::string>& currency, std::ostream& out) const {
  nlohmann::ordered_json json = BlockersJson(found);
  PutComplete(warnings, json);
  if (output == "json") {
    out << IndentedJson(json);
  } else if (output == "yaml") {
    out << Yaml(json);
  } else if (output == "markdown") {
    PrintMarkdown(found, OfIncomplete(warnings), currency.value_or(""), out);
  } else {
    PrintBlockers(found, OfIncomplete(warnings), currency.value_or(""), OutputTerminal(), out);
  }
}

int BlockersCommand::Over(LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                          const PlanCommand::Loaded& loaded, Progress& progress, std::ostream& out,
                          std::ostream& err) const {
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  const absl::StatusOr<int64_t> now_s = plan.Accept(rules, cluster);
  if (!now_s.ok()) {
    progress.Done();
    PrintLoadWarnings(cluster, err);
    return Fail(now_s.status(), err);
  }

  progress.Say("planning");
  const absl::StatusOr<PlanQuery> query = plan.QueryAt(*now_s, rules);
  if (!query.ok()) return fail(query.status());
  const auto answer = AnswerPlan(*query, cluster);
  if (!answer.ok()) return fail(answer.status());
  const std::optional<NodePrices>& prices = (*answer)->prices;
  BlockersOptions options;
  options.limit = limit;
  if (prices)
    options.price = [&hourly = prices->hourly](NodeId node) { return hourly[Index(node)]; };
  options.on_progress = [&](size_t tried, size_t of) {
    progress.Say(fmt::format("tried {} of {}", tried, of));
  };
  const SearchInterrupt interrupt;
  std::optional<ClockDeadline> limit;
  if (const auto end = plan.SimulationEnd(loaded.since)) limit.emplace(*end);
  const FirstDeadline ends(limit ? &*limit : nullptr, interrupt.ends());
  options.deadline = &ends;
  const PlanReport report = (*answer)->Report();
  // Made before changes are tried, which change the catalog.
  nlohmann::ordered_json page;
  if (plan.report.active()) page = PageData(report, PlanJson(report), plan.report.team_label);
  const absl::StatusOr<Blockers> found = FindBlockers(report, *query, live, options);
  if (!found.ok()) return fail(found.status());
  if (plan.report.active()) {
    page["blockers"] = BlockersJson(*found);
    if (absl::Status s = WritePageFile(plan.report.file, std::move(page)); !s.ok()) return fail(s);
  }
  progress.Done();

  PrintLoadWarnings(cluster, err);
  Print(*found, cluster.warnings, prices ? std::optional(prices->currency) : std::nullopt, out);
  return 0;
}

int BlockersCommand::Run(std::ostream& out, std::ostream& err) const {
  plan.PrintFlagRemarks(err);
  if (plan.watch.active()) {
    const auto ask = [&](LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                         const PlanCommand::Loaded& loaded) {
      absl::StatusOr<ScratchCluster> scratch = ScratchCluster::Of(live, cluster);
      if (!scratch.ok()) return Fail(scratch.status(), err);
      Progress progress;
      return Over(scratch->version.cluster, *scratch->live, rules, loaded, progress, out, err);
    };
    return RunWatch(plan, {.output = output, .ask = ask}, out, err);
  }
  if (absl::Status s = CheckFiles(plan.Files()); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(plan.report.file); !s.ok()) return Fail(s, err);
  Progress progress;
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  progress.Say("reading");
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<GroupRules> rules = plan.ReadGroupRules();
  if (!rules.ok()) return fail(rules.status());
  const absl::StatusOr<std::unique_ptr<LiveCluster>> live =
      LiveCluster::FromInputs(plan.inputs, plan.options.load, Parallelism(plan.threads));
  if (!live.ok()) return fail(live.status());
  absl::StatusOr<LiveCluster::Version> version = (*live)->CheckedRecently();
  if (!version.ok()) return fail(version.status());
  return Over(version->cluster, **live, *rules, {.since = start}, progress, out, err);
}

}  // namespace ebb
