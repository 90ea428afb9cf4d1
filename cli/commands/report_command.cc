#include "cli/commands/report_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/commands/search_interrupt.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/query_flags.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/progress.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "planning/plan_waves.h"
#include "platform/clock.h"
#include "platform/file_identity.h"
#include "report/page_data.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "report/plan_waves.h"
#include "search/frontier.h"
#include "what_if/blockers.h"

namespace ebb {
namespace {

constexpr uint64_t kFrontierIterations = 30;  // As `ebb frontier`.

}  // namespace

void ReportCommand::AddTo(CLI::App& app) {
  plan.AddPlanFlags(app);
  const std::string group = "Output";
  app.add_option("-o,--output", output, "The page: one file of HTML")
      ->check(values::File())
      ->type_name("FILE")
      ->capture_default_str()
      ->group(group);
  plan.report.AddLabelTo(app);
  app.add_option("--trials", trials, "Try the plan out so often in each of two orders")
      ->check(WholeNumberIn(kTrialsRange))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--limit", limit, "Try this many blockers; those that keep most nodes come first")
      ->check(values::WholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--budget", budget, "How long to look for plans with more or fewer evictions")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  RefuseMisfits("report", app);
}

int ReportCommand::Run(std::ostream& out, std::ostream& err) const {
  plan.PrintFlagRemarks(err);
  std::vector<UsedFile> files = plan.Files();
  files.push_back({"--output", output, FileUse::kWrite});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(output); !s.ok()) return Fail(s, err);
  Progress progress;
  const auto fail = [&](const absl::Status& status) { return progress.Done(), Fail(status, err); };
  progress.Say("reading");
  const Clock::time_point start = Clock::now();
  const Parallelism parallelism(plan.threads);
  const absl::StatusOr<GroupRules> rules = plan.ReadGroupRules();
  if (!rules.ok()) return fail(rules.status());
  const absl::StatusOr<std::unique_ptr<LiveCluster>> live =
      LiveCluster::FromInputs(plan.inputs, plan.options.load, parallelism);
  if (!live.ok()) return fail(live.status());
  absl::StatusOr<LiveCluster::Version> version = (*live)->CheckedRecently();
  if (!version.ok()) return fail(version.status());

  PlanCommand asked = plan;
  asked.questions.query.bound = true;
  asked.questions.trials = trials;
  const absl::StatusOr<PlanCommand::Made> made =
      asked.Make(version->cluster, *rules, start, progress, err);
  if (!made.ok()) return fail(made.status());
  // An interrupt ends the tries and the searches; the page then has what was found until then.
  const SearchInterrupt interrupt;
  std::optional<ClockDeadline> deadline;
  if (const auto end = plan.SimulationEnd(start)) deadline.emplace(*end);
  const FirstDeadline ends(deadline ? &*deadline : nullptr, interrupt.ends());

  progress.Say("following waves");
  const absl::StatusOr<PlanWaves> waves = FollowWaves(*made->answer, plan.Model(), &ends);
  if (!waves.ok()) return fail(waves.status());
  PlanContext context = made->answer->Context();
  context.waves = &*waves;
  const PlanReport report = MakeReport(context);
  nlohmann::ordered_json page = PageData(report, PlanJson(report), plan.report.team_label);

  BlockersOptions options;
  options.limit = limit;
  options.deadline = &ends;
  const std::optional<NodePrices>& prices = made->answer->prices;
  if (prices) {
    options.price = [&hourly = prices->hourly](NodeId node) { return hourly[Index(node)]; };
  }
  options.on_progress = [&](size_t tried, size_t of) {
    progress.Say(fmt::format("tried {} of {} changes", tried, of));
  };
  const absl::StatusOr<Blockers> blockers = FindBlockers(report, made->query, **live, options);
  if (!blockers.ok()) return fail(blockers.status());
  page["blockers"] = BlockersJson(*blockers);

  progress.Say("searching");
  LiveCluster::Version again = (*live)->Unchecked();
  PlanQuery query = made->query;
  query.bound = false;
  query.trials.reset();
  query.search =
      SearchQuery{.budget_s = std::chrono::duration<double>(*ParseDuration(budget)).count(),
                  .iterations = kFrontierIterations};
  query.seconds = plan.SecondsLeft(start);
  const absl::StatusOr<FrontierAnswer> frontier =
      AnswerFrontier(query, again.cluster, {.cancelled = interrupt.ends()}, parallelism);
  if (!frontier.ok()) return fail(frontier.status());
  page["frontier"] = FrontierJson(frontier->frontier.points, version->cluster.warnings,
                                  prices ? std::optional(prices->currency) : std::nullopt);
  progress.Done();
  asked.PrintRemarks(*made, err);
  if (interrupt.ends()->Expired()) {
    PrintMessage("interrupted; the page has what was found until then", err);
  }
  if (absl::Status s = WritePageFile(output, std::move(page)); !s.ok()) return Fail(s, err);
  out << fmt::format("{} of {} can go; wrote {}\n", WithCommas(report.remove.size()),
                     Count(version->cluster.snapshot.nodes(), "node", "nodes"), Printable(output));
  return 0;
}

}  // namespace ebb
