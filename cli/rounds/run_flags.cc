#include "cli/rounds/run_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "base/printable.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "snapshot/samples/generate.h"

namespace ebb {
namespace {

constexpr int64_t kNodesMax = 100'000;

void AddSimulationFlags(RunFlags& flags, CLI::App& app) {
  const std::string group = "Simulation";
  app.add_flag("--simulate", flags.simulate, "Over a cluster in memory, under a virtual clock")
      ->check(values::Switch())
      ->group(group);
  std::vector<std::string> names;
  for (const samples::Kind& each : samples::Kinds()) names.emplace_back(each.name);
  app.add_option("--kind", flags.kind, "What the cluster is like, as for `ebb gen`")
      ->check(values::Choice(names))
      ->type_name("KIND")
      ->capture_default_str()
      ->group(group);
  app.add_option_function<std::vector<std::string>>(
         "--nodes",
         [&flags](const std::vector<std::string>& all) {
           for (const std::string& text : all) {
             if (text.find(':') != std::string::npos) {
               flags.plan.nodes.push_back(text);
             } else {
               flags.nodes_given = true;
               flags.nodes = static_cast<uint32_t>(std::stoul(text));
             }
           }
         },
         "Number of nodes (default: 1000; in company control-plane nodes come on top); or smallest "
         "and largest size of a node group, as for `ebb plan`, any number of times")
      ->check(values::NodesOrGroupSize(kNodesMax, kGroupSizeMax))
      ->type_name("N|MIN:MAX:NAME")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--hours", flags.hours,
                 "Hours of virtual time; the first begins at eight, or with --input at the newest "
                 "time of the "
                 "dump")
      ->check(values::WholeNumber(1, 8760))
      ->type_name("H")
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", flags.seed,
                 "With --simulate or --optimize: the same seed makes the same cluster, load and "
                 "faults, and "
                 "the same searches")
      ->check(values::WholeNumber(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("S")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--faults", flags.faults,
               "Evictions are refused, pods do not end, the API is away, nodes vanish, now and "
               "then")
      ->check(values::Switch())
      ->group(group);
  app.add_option(
         "--load", flags.load,
         "How Deployments grow and shrink: daily (with the hour of the day, in UTC) or none")
      ->check(values::Choice({"daily", "none"}))
      ->type_name("LOAD")
      ->capture_default_str()
      ->group(group);
  app.add_flag(
         "--churn", flags.churn,
         "Each hour some Deployments get a new version and some budgets change; CronJobs run, "
         "preview namespaces come and go")
      ->check(values::Switch())
      ->group(group);
  app.add_option("--report", flags.report, "Write a page with curves, in one file of HTML")
      ->check(values::File())
      ->type_name("FILE")
      ->group(group);
  app.add_option("-o,--output", flags.output, "How to print the result of a simulation")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
}

void AddPoolFlags(RunFlags& flags, CLI::App& app) {
  const std::string group = "Pools";
  app.add_option("--pools", flags.pools,
                 "Sizing policies say how many nodes the pools of this file have, as for `ebb "
                 "policy check` (docs/policies.md)")
      ->check(values::File())
      ->type_name("FILE")
      ->group(group);
  app.add_option("--series", flags.series,
                 "Signals of pools over time, as CSV or JSON, read again each round")
      ->check(values::File())
      ->type_name("FILE")
      ->group(group);
  app.add_option("--usage", flags.usage,
                 "What pods or nodes use, as `kubectl get --raw "
                 "/apis/metrics.k8s.io/v1beta1/pods` prints it, read again each round; several "
                 "times for several files")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
}

void AddClusterFlags(RunFlags& flags, CLI::App& app) {
  const std::string group = "Cluster";
  app.add_option("--actuator", flags.actuator,
                 "The plugin that taints, drains and deletes, as unix:PATH (docs/actuators.md)")
      ->check(values::Text())
      ->type_name("unix:PATH")
      ->group(group);
  app.add_option("--server", flags.server,
                 "The daemon (`ebb serve`) that knows the cluster and makes the rounds")
      ->check(values::Text())
      ->type_name("unix:PATH")
      ->group(group);
  app.add_option(
         "--socket", flags.socket,
         "Without --server: also be the daemon, and listen on this socket for the cluster's feeder")
      ->check(values::File())
      ->type_name("PATH")
      ->group(group);
  app.add_option("--session", flags.session, "With --server or --socket: the daemon's session")
      ->check(values::Text())
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--require-feed", flags.require_feed,
               "With --server or --socket: no round while no client feeds the session, while no "
               "Sync stream is open that has "
               "ended a resync [true]")
      ->check(values::Switch())
      ->group(group);
  app.add_option(
         "--input", flags.inputs,
         "With --dry-run or --simulate: the cluster of this dump; several times for several "
         "files")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--dry-run", flags.dry_run, "Say what would be done, and do nothing")
      ->check(values::Switch())
      ->group(group);
}

void AddProcessFlags(RunFlags& flags, CLI::App& app) {
  const std::string group = "Loop";
  const auto duration = [&](const char* name, std::string& value, const char* help) {
    app.add_option(name, value, help)
        ->check(values::Duration())
        ->type_name("DURATION")
        ->capture_default_str()
        ->group(group);
  };
  duration("--scan-interval", flags.scan_interval, "Time from round to round");
  duration("--node-delete-delay-after-taint", flags.delay_after_taint,
           "How long a node waits from its taint to its drain");
  duration("--round-timeout", flags.round_timeout,
           "With --server or --socket: a round that the daemon has not made by then is left out");
  duration("--grace", flags.grace,
           "How long deletions that were begun go on after SIGTERM or SIGINT");
  app.add_option("--state-folder", flags.state_folder,
                 "With --socket: the folder of the state file, SESSION.db, in place of --state")
      ->check(values::File())
      ->type_name("DIR")
      ->group(group);
  app.add_option("--metrics-address", flags.metrics_address,
                 "With --server or --socket: metrics over HTTP at HOST:PORT, for everybody who can "
                 "reach it: use 127.0.0.1:8085 or the like")
      ->check(values::Text())
      ->type_name("HOST:PORT")
      ->group(group);
  app.add_option("--log", flags.log,
                 "A line a round on stderr, and one a deletion: text, json "
                 "(an object a round) or none")
      ->check(values::Choice({"text", "json", "none"}))
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
}

void AddSearchFlags(RunFlags& flags, CLI::App& app) {
  const std::string group = "Search";
  app.add_flag("--optimize", flags.optimize,
               "With --simulate or --input: rounds try nodes in an order that was searched for "
               "(docs/better-plans.md)")
      ->check(values::Switch())
      ->group(group);
  app.add_option("--optimize-interval", flags.optimize_interval, "Time from search to search")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  app.add_option("--iterations", flags.iterations,
                 "Of a search, at most; with --input it also ends at half of the scan interval")
      ->check(values::WholeNumber(0, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
}

void AddBuyerFlags(RunFlags& flags, CLI::App& app) {
  const std::string group = "Cheaper nodes";
  app.add_option("--replace-interval", flags.replace_interval,
                 "Time from one search for cheaper nodes to the next")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  app.add_option("--replace-ready-within", flags.replace_ready_within,
                 "Give up if bought nodes are not Ready by then; rounds remove no node meanwhile")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void RunFlags::AddTo(CLI::App& app) {
  AddClusterFlags(*this, app);
  AddSimulationFlags(*this, app);
  AddProcessFlags(*this, app);
  AddSearchFlags(*this, app);
  AddPoolFlags(*this, app);
  plan.options.scale_down.stable.on = true;
  plan.AddLoopFlags(app);
  AddBuyerFlags(*this, app);
  if (CLI::Option* const gangs = app.get_option_no_throw("--gangs"); gangs != nullptr) {
    gangs->check([](const std::string& value) {
      return value == "move"
                 ? "does not go with `ebb run`: a round may delete some nodes of a gang "
                   "later"
                 : "";
    });
  }
  RefuseMisfits("run", app);
  TakeLastOfEach(app);
}

LoopOptions RunFlags::LoopOptionsOf() const {
  LoopOptions options;
  options.scan_interval_s = std::max<int64_t>(1, DurationSeconds(scan_interval));
  options.steps.node_delete_delay_after_taint_s = DurationSeconds(delay_after_taint);
  options.stop_grace_s = DurationSeconds(grace);
  return options;
}

BuyerOptions RunFlags::BuyerOptionsOf() const {
  const int64_t drains = plan.options.scale_down.budgets.max_drain_parallelism;
  return {.interval_s = std::max<int64_t>(1, DurationSeconds(replace_interval)),
          .ready_within_s = DurationSeconds(replace_ready_within),
          .parallel = static_cast<size_t>(std::max<int64_t>(1, drains))};
}

absl::StatusOr<std::optional<ReplaceMarketOptions>> RunFlags::MarketOptionsOf() const {
  if (!plan.replace) return std::nullopt;
  ReplaceMarketOptions market{
      .query = {.planner = plan.options.scale_down.planner, .order = plan.options.candidate_order},
      .replace = {},
      .load = plan.options.load};
  absl::StatusOr<GroupRules> rules = plan.ReadGroupRules();
  if (!rules.ok()) return rules.status();
  market.query.groups = *std::move(rules);
  absl::StatusOr<std::optional<PriceList>> list = plan.ReadPriceFlags();
  if (!list.ok()) return list.status();
  market.query.prices = *std::move(list);
  absl::StatusOr<ReplaceQuery> asked = plan.ReadPurchases();
  if (!asked.ok()) return asked.status();
  market.replace = *std::move(asked);
  if (absl::Status s = CheckReplace(market.query, market.replace); !s.ok()) return s;
  return market;
}

std::vector<UsedFile> RunFlags::Files() const {
  std::vector<UsedFile> files = plan.Files();
  for (const std::string& input : inputs) files.push_back({"--input", input, FileUse::kRead});
  files.push_back({"--report", report, FileUse::kWrite});
  files.push_back({"--pools", pools, FileUse::kRead});
  files.push_back({"--series", series, FileUse::kRead});
  for (const std::string& each : usage) files.push_back({"--usage", each, FileUse::kRead});
  return files;
}

void RunFlags::PrintUncountedFlags(std::ostream& err) const {
  if (!dry_run && !simulate) return;
  std::vector<std::string> uncounted;
  for (const char* flag : {"--actuator", "--state", "--state-folder", "--record", "--state-rounds",
                           "--scale-down-simulation-timeout"}) {
    if (plan.over_time.app->count(flag) > 0) uncounted.emplace_back(flag);
  }
  if (simulate && plan.over_time.app->count("--bypassed-scheduler-names") > 0) {
    uncounted.emplace_back("--bypassed-scheduler-names");
  }
  if (uncounted.empty()) return;
  PrintMessage(fmt::format("note: with {} these do not count: {}",
                           dry_run ? "--dry-run" : "--simulate", fmt::join(uncounted, ", ")),
               err, "ebb run");
}

std::string RunFlags::Misuse() const {
  if (simulate && nodes_given && !inputs.empty()) {
    return "--nodes: the number of nodes is that of --input; pass MIN:MAX:NAME for a node group's "
           "size";
  }
  if (simulate) return "";
  if (inputs.empty() && !IsLive()) {
    return "pass --simulate; --input FILE with --dry-run or --simulate; or --actuator with "
           "--server or --socket";
  }
  if (nodes_given) {
    return "--nodes: a number of nodes needs --simulate; pass MIN:MAX:NAME for a node group's size";
  }
  if (dry_run) return "";
  if (!inputs.empty()) return "--input: a dump cannot be changed; pass --dry-run or --simulate too";
  if (actuator.empty()) return "pass --actuator unix:PATH, or --dry-run";
  if (!socket.empty() && state_folder.empty() && plan.over_time.state.empty()) {
    return "--socket: the state has no file; expected --state FILE or --state-folder DIR";
  }
  return "";
}

}  // namespace ebb
