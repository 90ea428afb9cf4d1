#include "cli/commands/frontier_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/commands/search_interrupt.h"
#include "cli/commands/watch_command.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/query_flags.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/progress.h"
#include "cli/print/table.h"
#include "groups/prices.h"
#include "planning/plan_answer.h"
#include "platform/clock.h"
#include "report/plan_json.h"
#include "search/frontier.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/incomplete.h"

namespace ebb {
namespace {

// At most `most` points, about evenly spaced; always includes the last one.
std::vector<FrontierPoint> Some(const std::vector<FrontierPoint>& points, size_t most) {
  if (points.size() <= most) return points;
  std::vector<FrontierPoint> some;
  for (size_t i = 0; i < most; ++i) {
    some.push_back(points[i * (points.size() - 1) / (most - 1)]);
  }
  return some;
}

void PrintTable(const FrontierStory& story, std::ostream& out) {
  constexpr size_t kRows = 20;
  out << story.title << "\n\n";
  std::vector<std::string> headings = {"PODS EVICTED", "NODES THAT GO", "PODS A NODE"};
  if (story.currency) headings.emplace_back("SAVED AN HOUR");
  Table table(headings);
  for (size_t column = 0; column < headings.size(); ++column) table.AlignRight(column);
  for (const FrontierPoint& point : Some(story.points, kRows)) {
    std::vector<std::string> row = {WithCommas(point.evicted), WithCommas(point.nodes),
                                    fmt::format("{:.2f}", static_cast<double>(point.evicted) /
                                                              static_cast<double>(point.nodes))};
    if (story.currency) row.push_back(MoneyText(point.worth, *story.currency));
    table.AddRow(std::move(row));
  }
  if (table.empty()) return;
  table.Print(out);
  if (story.points.size() > kRows) {
    out << fmt::format("{} of {}; all with -o csv or json\n", kRows,
                       Count(story.points.size(), "point", "points"));
  }
}

void PrintCsv(const FrontierStory& story, std::ostream& out) {
  out << "pods_moved,removed" << (story.currency ? ",saved_per_hour" : "") << "\r\n";
  for (const FrontierPoint& point : story.points) {
    out << point.evicted << "," << point.nodes;
    if (story.currency) out << fmt::format(",{:.6f}", point.worth);
    out << "\r\n";
  }
}

nlohmann::ordered_json JsonOf(const FrontierStory& story) {
  return FrontierJson(story.points, story.warnings, story.currency);
}

void PrintStory(const FrontierStory& story, const std::string& output, std::ostream& out) {
  if (output == "csv") {
    PrintCsv(story, out);
  } else if (output == "json") {
    out << IndentedJson(JsonOf(story));
  } else if (output == "jsonl") {
    out << CompactJson(JsonOf(story)) << "\n";
  } else if (output == "yaml") {
    out << Yaml(JsonOf(story));
  } else {
    PrintTable(story, out);
  }
}

// Whether the two look the same to a reader.
bool IsAlike(const FrontierPoint& a, const FrontierPoint& b) {
  return a.evicted == b.evicted && a.nodes == b.nodes && a.worth == b.worth;
}

// The query that the flags ask.  The time for reading the input counts towards the budget.
absl::StatusOr<PlanQuery> QueryOf(const FrontierCommand& command, int64_t now_s,
                                  const GroupRules& rules, Clock::time_point start) {
  absl::StatusOr<PlanQuery> query = command.plan.QueryAt(now_s, rules);
  if (!query.ok()) return query;
  query->search = command.SearchFrom(start);
  query->seconds = command.plan.SecondsLeft(start);
  return query;
}

}  // namespace

FrontierStory StoryOf(std::vector<FrontierPoint> points, size_t nodes,
                      std::vector<InputWarning> warnings, std::optional<std::string> currency) {
  const std::string most =
      points.empty() ? "none"
                     : fmt::format("up to {} with {} evicted", WithCommas(points.back().nodes),
                                   Count(points.back().evicted, "pod", "pods"));
  return {.title = fmt::format("Of {}{}, {} can go.", Count(nodes, "node", "nodes"),
                               OfIncomplete(warnings), most),
          .warnings = std::move(warnings),
          .currency = std::move(currency),
          .points = std::move(points)};
}

void FrontierCommand::AddTo(CLI::App& app) {
  plan.AddPlanFlags(app);
  plan.watch.AddTo(app);
  plan.at_server.AddTo(app);
  const std::string search = "Search";
  app.add_option("--budget", budget, "How long to look, all prices of a move together")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(search);
  app.add_option("--iterations", iterations,
                 "Of the search at each price of a move, at most; --budget ends it too")
      ->check(WholeNumberIn(kIterationsRange))
      ->type_name("N")
      ->capture_default_str()
      ->group(search);
  AddSeedFlag(seed, "Seed of the search; another seed may find other plans", app);
  const std::string group = "Output";
  app.add_option("-o,--output", output,
                 "table, csv, json, jsonl or yaml; jsonl: a line for each better one")
      ->check(values::Choice({"table", "csv", "json", "jsonl", "yaml"}))
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--report", report, "Write a page with the curve: one file of HTML")
      ->check(values::File())
      ->type_name("FILE")
      ->group(group);
  if (CLI::Option* const headroom = app.get_option_no_throw("--headroom"); headroom != nullptr) {
    headroom->check([](const std::string& value) {
      return value == "none" ? "" : "does not go with `ebb frontier`: a search keeps no headroom";
    });
  }
  RefuseMisfits("frontier", app);
}

SearchQuery FrontierCommand::SearchFrom(Clock::time_point start) const {
  return {.budget_s =
              std::chrono::duration<double>(*ParseDuration(budget)).count() - SecondsSince(start),
          .iterations = iterations,
          .seed = seed};
}

std::vector<UsedFile> FrontierCommand::Files() const {
  std::vector<UsedFile> files = plan.Files();
  files.push_back({"--report", report, FileUse::kWrite});
  return files;
}

int FrontierCommand::WritePage(const FrontierStory& story, std::ostream& err) const {
  if (report.empty()) return 0;
  nlohmann::ordered_json data;
  data["title"] = story.title;
  data["frontier"] = JsonOf(story);
  const absl::Status written = WritePageFile(report, std::move(data));
  return written.ok() ? 0 : Fail(written, err);
}

int FrontierCommand::Print(const FrontierStory& story, std::ostream& out, std::ostream& err) const {
  if (const int code = WritePage(story, err); code != 0) return code;
  PrintStory(story, output, out);
  return 0;
}

int FrontierCommand::Over(LoadedCluster& cluster, const GroupRules& rules,
                          const PlanCommand::Loaded& loaded, Progress& progress, std::ostream& out,
                          std::ostream& err) const {
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  const absl::StatusOr<int64_t> now_s = plan.Accept(rules, cluster);
  if (!now_s.ok()) {
    progress.Done();
    PrintLoadWarnings(cluster, err);
    return Fail(now_s.status(), err);
  }
  const absl::StatusOr<PlanQuery> query = QueryOf(*this, *now_s, rules, loaded.since);
  if (!query.ok()) return fail(query.status());

  progress.Say("searching");
  std::optional<SearchInterrupt> interrupt(std::in_place);
  std::vector<FrontierPoint> shown;
  const auto show = [&](std::span<const FrontierPoint> so_far) {
    if (std::ranges::equal(so_far, shown, IsAlike)) return;
    shown.assign(so_far.begin(), so_far.end());
    const FrontierStory story =
        StoryOf(shown, cluster.snapshot.nodes(), cluster.warnings,
                query->prices ? std::optional(query->prices->currency) : std::nullopt);
    progress.Say(fmt::format("searching.  {}", story.title));
    if (output != "jsonl") return;
    PrintStory(story, output, out);
    out.flush();
  };
  const absl::StatusOr<FrontierAnswer> found = AnswerFrontier(
      *query, cluster, {.cancelled = interrupt->ends()}, Parallelism(plan.threads), show);
  if (!found.ok()) return fail(found.status());
  const bool interrupted = interrupt->ends()->Expired();
  interrupt.reset();
  progress.Done();
  PrintLoadWarnings(cluster, err);
  if (interrupted) {
    PrintMessage("interrupted; this is the best that was found so far", err);
  }
  const std::optional<NodePrices>& prices = found->prices;
  const FrontierStory story =
      StoryOf(found->frontier.points, cluster.snapshot.nodes(), cluster.warnings,
              prices ? std::optional(prices->currency) : std::nullopt);
  // A line of jsonl is printed when its points are found, the last one too.
  const bool is_printed = output == "jsonl" && !shown.empty();
  return is_printed ? WritePage(story, err) : Print(story, out, err);
}

int FrontierCommand::Run(std::ostream& out, std::ostream& err) const {
  plan.PrintFlagRemarks(err);
  if (absl::Status s = CheckFiles(Files()); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(report); !s.ok()) return Fail(s, err);
  if (plan.watch.active()) {
    const auto ask = [&](LoadedCluster& cluster, LiveCluster& /*live*/, const GroupRules& rules,
                         const PlanCommand::Loaded& loaded) {
      Progress progress;
      return Over(cluster, rules, loaded, progress, out, err);
    };
    // No empty line between two answers of jsonl.
    return RunWatch(plan, {.output = output == "jsonl" ? "json" : output, .ask = ask}, out, err);
  }
  Progress progress;
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  progress.Say("reading");
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<GroupRules> rules = plan.ReadGroupRules();
  if (!rules.ok()) return fail(rules.status());
  absl::StatusOr<LoadedCluster> cluster =
      LoadCluster(plan.inputs, plan.options.load, Parallelism(plan.threads));
  if (!cluster.ok()) return fail(cluster.status());
  return Over(*cluster, *rules, {.since = start}, progress, out, err);
}

}  // namespace ebb
