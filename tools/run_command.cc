#include "tools/run_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/printable.h"
#include "engine/simulation/simulation.h"
#include "service/groups.h"
#include "service/output_file.h"
#include "service/round_advisor.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"
#include "tools/dry_run.h"
#include "tools/fail.h"
#include "tools/flag_values.h"
#include "tools/progress.h"
#include "tools/simulation_print.h"

namespace ebb {
namespace {

// When the simulated day begins: the load is then as it was when the cluster was made.
constexpr int64_t kBegin = samples::kNewYearS + samples::kDayS + int64_t{8} * 3600;

SimulatedFaults SomeFaults() {
  return {.eviction_refused_permille = 20,
          .eviction_refused_for_s = 180,
          .never_ends_permille = 2,
          .taint_fails_permille = 20,
          .pod_before_taint_permille = 20,
          .api_away_per_day = 6,
          .api_away_for_s = 30,
          .node_vanishes_per_day = 6};
}

int64_t ScanIntervalS(const RunCommand& command) {
  return std::max<int64_t>(1, DurationSeconds(command.scan_interval));
}

ScaleDownOptions ScaleDownOptionsOf(const RunCommand& command) {
  ScaleDownOptions rounds;
  rounds.deletion.scale_down_unneeded_time_s = DurationSeconds(command.unneeded_time);
  rounds.cooldown.scale_down_delay_after_add_s = DurationSeconds(command.delay_after_add);
  rounds.planner.scale_down_utilization_threshold = command.utilization_threshold;
  rounds.budgets.max_drain_parallelism = command.max_drain_parallelism;
  rounds.budgets.max_scale_down_parallelism = command.max_scale_down_parallelism;
  return rounds;
}

SimulationOptions OptionsOf(const RunCommand& command) {
  SimulationOptions options;
  options.cluster.seed = command.seed;
  options.cluster.start_s = kBegin;
  options.cluster.daily_load = true;
  if (command.faults) options.cluster.faults = SomeFaults();
  options.duration_s = command.hours * 3600;
  options.sample_every_s = std::max<int64_t>(300, options.duration_s / 500);
  options.loop.scan_interval_s = ScanIntervalS(command);
  options.scale_down = ScaleDownOptionsOf(command);
  // The virtual clock is never wrong, however long it sleeps.
  options.scale_down.clock_jump_max_s = 0;
  return options;
}

// Absent: rounds are to plan as the autoscaler does.
std::optional<RoundAdvisorOptions> AdviceOf(const RunCommand& command) {
  if (!command.optimize) return std::nullopt;
  return RoundAdvisorOptions{.iterations = command.iterations,
                             .seed = command.seed,
                             .interval_s = DurationSeconds(command.optimize_interval),
                             .budget_s = {}};
}

std::vector<std::pair<std::string, std::string>> OptionTexts(const RunCommand& command) {
  return {{"cluster", command.kind},
          {"seed", fmt::format("{}", command.seed)},
          {"faults", command.faults ? "some" : "none"},
          {"scan interval", command.scan_interval},
          {"scale-down unneeded time", command.unneeded_time},
          {"scale-down delay after add", command.delay_after_add},
          {"utilization threshold", fmt::format("{}", command.utilization_threshold)},
          {"max drain parallelism", fmt::format("{}", command.max_drain_parallelism)},
          {"max scale-down parallelism", fmt::format("{}", command.max_scale_down_parallelism)},
          {"optimize", command.optimize ? "every " + command.optimize_interval : "no"}};
}

}  // namespace

void RunCommand::AddTo(CLI::App& app) {
  CLI::Option* const simulated =
      app.add_flag("--simulate", simulate, "Over a cluster in memory, under a virtual clock")
          ->check(values::Switch());
  app.add_option("--input", inputs,
                 "Over the cluster of this dump; several times for several files")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->excludes(simulated);
  app.add_flag("--dry-run", dry_run, "With --input: say what would be done, and do nothing")
      ->check(values::Switch())
      ->needs("--input");
  std::vector<std::string> names;
  for (const samples::Kind& each : samples::Kinds()) names.emplace_back(each.name);
  app.add_option("--kind", kind, "What the cluster is like, as for `ebb gen`")
      ->check(values::Choice(names))
      ->type_name("KIND")
      ->capture_default_str();
  app.add_option("--nodes", nodes, "Number of nodes; in company control-plane nodes come on top")
      ->check(values::WholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--hours", hours, "Hours of virtual time; the first begins at eight")
      ->check(values::WholeNumber(1, 8760))
      ->type_name("H")
      ->capture_default_str();
  app.add_option("--seed", seed, "The same seed makes the same cluster, load and faults")
      ->check(values::WholeNumber(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("S")
      ->capture_default_str();
  app.add_flag("--faults", faults,
               "Evictions are refused, pods do not end, the API is away, nodes vanish, now and "
               "then")
      ->check(values::Switch());
  app.add_option("--report", report, "Write a page with curves, in one file of HTML")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option("--scan-interval", scan_interval, "Time from round to round")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--scale-down-unneeded-time", unneeded_time,
                 "How long a node must have been unneeded")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--scale-down-delay-after-add", delay_after_add,
                 "How long nothing is deleted after a node was added")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--scale-down-utilization-threshold", utilization_threshold,
                 "Nodes that are used more than this stay")
      ->check(values::Number(0, 1))
      ->type_name("SHARE")
      ->capture_default_str();
  app.add_option("--max-drain-parallelism", max_drain_parallelism, "Nodes that drain at a time")
      ->check(values::WholeNumber(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--max-scale-down-parallelism", max_scale_down_parallelism,
                 "Nodes in deletion at a time")
      ->check(values::WholeNumber(1, 10'000))
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* const search =
      app.add_flag("--optimize", optimize,
                   "Rounds try nodes in an order that was searched for (docs/better-plans.md)")
          ->check(values::Switch());
  app.add_option("--optimize-interval", optimize_interval, "Time from search to search")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->needs(search);
  app.add_option("--iterations", iterations,
                 "Of a search, at most; with --input it also ends at half of the scan interval")
      ->check(values::WholeNumber(0, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->needs(search);
  TakeLastOfEach(app);
}

int RunCommand::Run(std::ostream& out, std::ostream& err) const {
  if (simulate) return Simulate(out, err);
  if (!inputs.empty() && dry_run) {
    return RunDry({.inputs = inputs,
                   .scale_down = ScaleDownOptionsOf(*this),
                   .scan_interval_s = ScanIntervalS(*this),
                   .advice = AdviceOf(*this)},
                  out, err);
  }
  PrintMessage("pass --simulate, or --input FILE with --dry-run: other clusters cannot be run yet",
               err, "ebb run");
  return 2;
}

int RunCommand::Simulate(std::ostream& out, std::ostream& err) const {
  const auto chosen = std::ranges::find(samples::Kinds(), kind, &samples::Kind::name);
  const SimulatedCluster::Read read = [&](ObjectSink& sink) {
    return samples::GenerateDump(*chosen, {.nodes = nodes, .seed = seed}, sink);
  };
  const SimulatedCluster::GroupsOf groups_of = [](const Catalog& catalog) {
    return AssignGroups(catalog, {});
  };
  Progress progress;
  SimulationOptions options = OptionsOf(*this);
  SimulationOptions without = options;
  without.scale_down_enabled = false;
  std::optional<RoundAdvisor> advisor;
  if (const auto advice = AdviceOf(*this)) {
    advisor.emplace(options.scale_down, *advice);
    options.loop.advise = [&](const Observation& observed, int64_t now_s,
                              const std::vector<std::string>& unneeded) {
      return advisor->Advise(observed, now_s, unneeded);
    };
  }
  options.on_sample = [&](const SimulationSample& now) {
    progress.Say(fmt::format("hour {} of {}, {}", (now.time_s - kBegin) / 3600, hours,
                             Count(now.nodes, "node", "nodes")));
  };
  std::optional<absl::StatusOr<SimulationResult>> compared;
  std::thread beside([&] { compared = ebb::Simulate(read, groups_of, without); });
  absl::StatusOr<SimulationResult> made = ebb::Simulate(read, groups_of, options);
  beside.join();
  progress.Done();
  if (!made.ok()) return Fail(made.status(), err);
  if (!compared->ok()) return Fail(compared->status(), err);
  const SimulationStory story{
      .title = fmt::format("{} for {}, seed {}", Count(nodes, "node", "nodes"),
                           Count(static_cast<uint64_t>(hours), "hour", "hours"), seed),
      .options = OptionTexts(*this),
      .hours = static_cast<double>(hours),
      .with = *std::move(made),
      .without = **std::move(compared)};
  PrintSimulation(story, out);
  if (report.empty()) return 0;
  if (const absl::Status s = WriteFile(report, SimulationPage(story)); !s.ok()) return Fail(s, err);
  PrintMessage("wrote " + Printable(report), err);
  return 0;
}

}  // namespace ebb
