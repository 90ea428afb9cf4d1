#include "cli/rounds/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/progress.h"
#include "cli/rounds/dry_run.h"
#include "cli/rounds/round_command.h"
#include "cli/rounds/run_live.h"
#include "cli/rounds/run_pools.h"
#include "cli/rounds/simulation_print.h"
#include "groups/groups.h"
#include "loop/run/replace_market.h"
#include "loop/run/round_advisor.h"
#include "options/round_options.h"
#include "planning/live_cluster.h"
#include "platform/output_file.h"
#include "simulation/simulated_input.h"
#include "simulation/simulation.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb {
namespace {

// When the simulated day begins: the load is then the one for which the cluster was made.
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

// The cluster with which a simulation starts.
struct StartCluster {
  std::string name;  // "1,000 nodes", "5,003 nodes of c.json"
  int64_t start_s = kBegin;
  SimulatedCluster::Read read;
  std::vector<SimulatedGap> gaps = {};  // Without those of `input`.
  // Of a dump.
  std::unique_ptr<LiveCluster> live = {};
  std::mutex reads = {};  // Guards `live`.
  std::optional<LiveCluster::Version> version = {};
  NodeGroups groups = {};
  std::optional<SimulatedInput> input = {};
};

absl::Status ReadDump(const RunFlags& flags, const GroupRules& rules, StartCluster& start,
                      std::ostream& err) {
  const LoadOptions& load = flags.plan.options.load;
  auto live = LiveCluster::FromInputs(flags.inputs, load, Parallelism(flags.plan.threads));
  if (!live.ok()) return live.status();
  start.live = *std::move(live);
  absl::StatusOr<LiveCluster::Version> checked = start.live->Checked();
  if (!checked.ok()) return checked.status();
  LoadedCluster& cluster = start.version.emplace(*std::move(checked)).cluster;
  PrintLoadWarnings(cluster, err);
  if (absl::Status s = CheckStrict(load, cluster.warnings); !s.ok()) return s;
  start.name = fmt::format("{} of {}{}", Count(cluster.snapshot.nodes(), "node", "nodes"),
                           Printable(flags.inputs[0]), flags.inputs.size() > 1 ? ", ..." : "");
  const int64_t newest_s = std::max(cluster.newest_time, cluster.counts.newest_heartbeat);
  if (newest_s > 0) start.start_s = newest_s;
  start.groups = AssignGroups(cluster.snapshot.catalog(), rules);
  start.input.emplace(cluster.snapshot, start.groups, start.start_s, [&start](ObjectSink& sink) {
    const std::lock_guard lock(start.reads);
    return start.live->Export(sink);
  });
  start.read = start.input->AsRead();
  const auto left_out = [&start](uint64_t pods, const char* what) {
    if (pods > 0) start.gaps.push_back({.objects = pods, .what = what, .first = ""});
  };
  left_out(cluster.counts.ended, "pods that have ended: left out");
  left_out(cluster.counts.expendable, "expendable pods: left out");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StartCluster>> StartOf(const RunFlags& flags,
                                                      const GroupRules& rules, std::ostream& err) {
  auto start = std::make_unique<StartCluster>();
  if (!flags.inputs.empty()) {
    if (absl::Status s = ReadDump(flags, rules, *start, err); !s.ok()) return s;
    return start;
  }
  const auto chosen = std::ranges::find(samples::Kinds(), flags.kind, &samples::Kind::name);
  start->name = Count(flags.nodes, "node", "nodes");
  start->read = [chosen, nodes = flags.nodes, seed = flags.seed](ObjectSink& sink) {
    return samples::GenerateDump(*chosen, {.nodes = nodes, .seed = seed}, sink);
  };
  return start;
}

SimulationOptions OptionsOf(const RunFlags& flags, int64_t start_s) {
  SimulationOptions options;
  options.cluster.seed = flags.seed;
  options.cluster.start_s = start_s;
  options.cluster.daily_load = flags.load == "daily";
  options.cluster.scheduler = flags.plan.options.load.scheduler;
  options.cluster.load_is_of_start = !flags.inputs.empty();
  options.cluster.churn = flags.churn;
  if (flags.faults) options.cluster.faults = SomeFaults();
  options.duration_s = flags.hours * 3600;
  options.sample_every_s = std::max<int64_t>(300, options.duration_s / 500);
  options.loop = flags.LoopOptionsOf();
  options.rounds.order = flags.plan.options.candidate_order;
  options.scale_down = flags.plan.options.scale_down;
  // The virtual clock never jumps, however long it sleeps.
  options.scale_down.clock_jump_max_s = 0;
  // A plan that only waits is neither shown nor kept.
  options.scale_down.verify = VerifyPlans::kBeforeDeletion;
  return options;
}

// Absent: rounds plan as the autoscaler does.
std::optional<RoundAdvisorOptions> AdviceOf(const RunFlags& flags) {
  if (!flags.optimize) return std::nullopt;
  return RoundAdvisorOptions{.iterations = flags.iterations,
                             .seed = flags.seed,
                             .interval_s = DurationSeconds(flags.optimize_interval),
                             .budget_s = {}};
}

std::vector<std::pair<std::string, std::string>> OptionTexts(const RunFlags& flags) {
  const ScaleDownOptions& rounds = flags.plan.options.scale_down;
  const auto text_of = [&flags](std::string_view flag) { return TextOf(flag, flags.plan.given); };
  std::vector<std::pair<std::string, std::string>> texts = {
      {"cluster",
       flags.inputs.empty() ? flags.kind : fmt::format("{}", fmt::join(flags.inputs, ", "))},
      {"seed", fmt::format("{}", flags.seed)},
      {"faults", flags.faults ? "some" : "none"},
      {"scan interval", flags.scan_interval},
      {"scale-down unneeded time", text_of("scale-down-unneeded-time")},
      {"scale-down delay after add", text_of("scale-down-delay-after-add")},
      {"utilization threshold", fmt::format("{}", rounds.planner.scale_down_utilization_threshold)},
      {"max drain parallelism", fmt::format("{}", rounds.budgets.max_drain_parallelism)},
      {"max scale-down parallelism", fmt::format("{}", rounds.budgets.max_scale_down_parallelism)},
      {"optimize", flags.optimize ? "every " + flags.optimize_interval : "no"},
      {"pools", flags.pools.empty() ? "none" : flags.pools}};
  if (flags.plan.replace) texts.emplace_back("replace", "every " + flags.replace_interval);
  texts.emplace_back("load", flags.load);
  if (flags.churn) texts.emplace_back("churn", "rollouts, CronJobs, previews, budgets");
  return texts;
}

int DryRunOfDump(const RunFlags& flags, std::ostream& out, std::ostream& err) {
  absl::StatusOr<GroupRules> groups = flags.plan.ReadGroupRules();
  if (!groups.ok()) return Fail(groups.status(), err);
  const absl::StatusOr<std::unique_ptr<RunPools>> pools = RunPools::Read(flags, err);
  if (!pools.ok()) return Fail(pools.status(), err);
  return RunDry({.inputs = flags.inputs,
                 .load = flags.plan.options.load,
                 .groups = *std::move(groups),
                 .scale_down = flags.plan.options.scale_down,
                 .loop = flags.LoopOptionsOf(),
                 .rounds = {.order = flags.plan.options.candidate_order},
                 .advice = AdviceOf(flags),
                 .sizer = *pools == nullptr ? nullptr : &(*pools)->sizer(),
                 .log = flags.log},
                out, err);
}

// Lets policies size the pools of a simulation; `stories` records what happens to them.  The groups
// of these pools boot machines only when a policy requests them.
void SizePools(RunPools& pools, PoolStories& stories, SimulationOptions& options,
               SimulatedCluster::GroupsOf& groups_of) {
  const auto sized = std::make_shared<std::set<std::string>>();
  groups_of = [&pools, sized, all = std::move(groups_of)](const Catalog& catalog) {
    NodeGroups groups = all(catalog);
    if (sized->empty()) *sized = pools.GroupsOf(catalog, groups);
    return groups;
  };
  options.cluster.group_grows = [sized](std::string_view group) {
    return !sized->contains(std::string(group));
  };
  options.loop.sizer = &pools.sizer();
  options.loop.on_turn = [&stories](const LoopTurn& turn) { stories.Take(turn.now_s, turn.pools); };
}

// How the cluster of a dump changes by itself; empty for a generated one.
std::string ModelText(const RunFlags& flags, int64_t start_s) {
  if (flags.inputs.empty()) return "";
  return fmt::format(
      "The time begins at {}, the newest time of the dump. {} The dump does not say how the "
      "cluster really changes: autoscalers of pods and CronJobs are not in it.",
      FormatRfc3339(start_s),
      flags.load == "daily"
          ? "Deployments follow a load that is highest at 14:00 UTC and lowest, 40% less, at 2:00 "
            "UTC; with --load none they stay as they are."
          : "Deployments stay as they are (--load none).");
}

int ReportSimulation(const RunFlags& flags, const SimulationStory& story, std::ostream& out,
                     std::ostream& err) {
  if (flags.output == "json") {
    out << SimulationJson(story);
  } else {
    PrintSimulation(story, out);
  }
  if (flags.report.empty()) return 0;
  if (const absl::Status s = WriteFile(flags.report, SimulationPage(story)); !s.ok())
    return Fail(s, err);
  PrintMessage("wrote " + Printable(flags.report), err);
  return 0;
}

int RunSimulation(const RunFlags& flags, std::ostream& out, std::ostream& err) {
  if (absl::Status s = CheckPageFile(flags.report); !s.ok()) return Fail(s, err);
  const absl::StatusOr<GroupRules> rules = flags.plan.ReadGroupRules();
  if (!rules.ok()) return Fail(rules.status(), err);
  absl::StatusOr<std::unique_ptr<StartCluster>> start = StartOf(flags, *rules, err);
  if (!start.ok()) return Fail(start.status(), err);
  const SimulatedCluster::Read& read = (*start)->read;
  const SimulatedCluster::GroupsOf groups_of = [&](const Catalog& catalog) {
    return AssignGroups(catalog, *rules);
  };
  const absl::StatusOr<std::unique_ptr<RunPools>> pools = RunPools::Read(flags, err);
  if (!pools.ok()) return Fail(pools.status(), err);
  Progress progress;
  SimulationOptions options = OptionsOf(flags, (*start)->start_s);
  if ((*start)->version) {
    // The configuration of the dump, if it has one.  It lives as long as `start`.
    options.cluster.scheduler = std::shared_ptr<const SchedulerConfig>(
        std::shared_ptr<void>(), (*start)->version->cluster.snapshot.catalog().scheduler());
  }
  SimulationOptions without = options;
  without.scale_down_enabled = false;
  std::optional<RoundAdvisor> advisor;
  if (const auto advice = AdviceOf(flags)) {
    advisor.emplace(options.scale_down, *advice);
    options.rounds.advise = [&](const Observation& observed, int64_t now_s,
                                const std::vector<std::string>& unneeded) {
      return advisor->Advise(observed, now_s, unneeded);
    };
  }
  absl::StatusOr<std::optional<ReplaceMarketOptions>> of_market = flags.MarketOptionsOf();
  if (!of_market.ok()) return Fail(of_market.status(), err);
  const Parallelism parallelism(flags.plan.threads);
  if (*of_market) {
    options.buying = flags.BuyerOptionsOf();
    options.market = [&](SimulatedCluster& cluster) {
      return std::make_unique<ReplaceMarket>(
          [&cluster](int64_t /*now_s*/, ObjectSink& sink) { return cluster.Export(sink); },
          **of_market, parallelism);
    };
  }
  PoolStories stories;
  bool warned = false;
  absl::Status minimums;
  SimulatedCluster::GroupsOf groups_with = [&](const Catalog& catalog) {
    if (!std::exchange(warned, true)) {
      minimums = CheckMinimums(catalog, *rules);
      PrintInputWarnings(GroupWarnings(catalog, *rules), err);
    }
    return groups_of(catalog);
  };
  if (*pools != nullptr) SizePools(**pools, stories, options, groups_with);
  options.on_sample = [&](const SimulationSample& now) {
    progress.Say(fmt::format("hour {} of {}, {}", (now.time_s - (*start)->start_s) / 3600,
                             flags.hours, Count(now.nodes, "node", "nodes")));
  };
  std::optional<absl::StatusOr<SimulationResult>> compared;
  std::thread beside([&] { compared = ebb::Simulate(read, groups_of, without); });
  absl::StatusOr<SimulationResult> made = ebb::Simulate(read, groups_with, options);
  beside.join();
  progress.Done();
  if (!minimums.ok()) return Fail(minimums, err);
  if (!made.ok()) return Fail(made.status(), err);
  if (!compared->ok()) return Fail(compared->status(), err);
  std::vector<SimulatedGap> gaps = std::move((*start)->gaps);
  if ((*start)->input) std::ranges::move((*start)->input->gaps(), std::back_inserter(gaps));
  const SimulationStory story{
      .title = fmt::format("{} for {}, seed {}", (*start)->name,
                           DurationText(int64_t{3600} * flags.hours), flags.seed),
      .options = OptionTexts(flags),
      .hours = static_cast<double>(flags.hours),
      .with = *std::move(made),
      .without = **std::move(compared),
      .pools = std::move(stories),
      .model = ModelText(flags, (*start)->start_s),
      .gaps = std::move(gaps)};
  return ReportSimulation(flags, story, out, err);
}

}  // namespace

int RunCommand::Run(std::ostream& out, std::ostream& err) const {
  if (const std::string misuse = flags.Misuse(); !misuse.empty()) {
    PrintMessage(misuse, err, "ebb run");
    err << "See `ebb run --help`.\n";
    return 2;
  }
  PrintIgnoredFlags(*flags.plan.over_time.app, err);
  if (const auto warning = FlagsNotHonoured(*flags.plan.over_time.app)) {
    PrintMessage("warning: " + warning->message, err);
  }
  flags.PrintUncountedFlags(err);
  WarnOfOldFlags(flags.plan.given, err);
  if (absl::Status s = CheckFiles(flags.Files()); !s.ok()) return Fail(s, err);
  if (flags.simulate) return RunSimulation(flags, out, err);
  return flags.inputs.empty() ? RunLive(flags, out, err) : DryRunOfDump(flags, out, err);
}

}  // namespace ebb
