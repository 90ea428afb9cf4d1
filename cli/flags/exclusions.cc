#include "cli/flags/exclusions.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace ebb {
namespace {

constexpr std::string_view kOwnOptions =
    "a round follows the autoscaler's rules and does not search for another plan";
constexpr std::string_view kOneSource =
    "the daemon already has a cluster, which its feeder keeps up to date";
constexpr std::string_view kAlone = "each change is tried with a plain plan, without a search";
constexpr std::string_view kNoFigures =
    "explanations and comparisons do not show figures of the whole plan";
constexpr std::string_view kOwnCluster = "a simulation generates its own cluster";
constexpr std::string_view kReadsNothing = "a simulation of a generated cluster reads no dump";
constexpr std::string_view kOwnRules =
    "a simulation follows the newest kubelet, and kubelets reject pods of another system";
constexpr std::string_view kDaemonsRounds = "the daemon makes the rounds, and does not search";
constexpr std::string_view kDumpStays = "a dump is read once, and ebb cannot act on it";
constexpr std::string_view kInRequests = "each request on standard input has these itself";
constexpr std::string_view kOwnObjects = "each request on standard input has its own objects";
constexpr std::string_view kNoRequests = "a daemon's answer does not say what each pod requests";
constexpr std::string_view kSearchFlag = "it is a setting of the search";
constexpr std::string_view kKept = "a stable plan keeps the last one";
constexpr std::string_view kStableFlag = "it is a setting of stable plans";
constexpr std::string_view kTrialsFlag = "it is a setting of trials";
constexpr std::string_view kRoundFlag = "it applies to rounds, which continue from a state";
constexpr std::string_view kWatchFlag = "it is a setting for reading events";
constexpr std::string_view kDaemonFlag = "it is a setting for calls of a daemon";
constexpr std::string_view kSimulationFlag = "it is a setting of the simulation";
constexpr std::string_view kLiveFlag = "it applies to a cluster that a feeder keeps up to date";
constexpr std::string_view kStateFlag = "a daemon keeps the state of its sessions itself";
constexpr std::string_view kPoolsFlag = "policies decide by it";
constexpr std::string_view kNoWaves = "there is no place for waves in its answer";
constexpr std::string_view kOwnSearch = "purchases have a search of their own, for cost";
constexpr std::string_view kNoPurchases = "there is no place for purchases in its answer";
constexpr std::string_view kNotWithPurchases = "a plan with purchases cannot do that yet";
constexpr std::string_view kReplaceFlag = "it is a setting for buying nodes";
constexpr std::string_view kGenerated = "a recorded load replaces a generated one";

constexpr Exclusion kExclusions[] = {
    {"plan", "--state", "--server",
     "a daemon keeps the state of its sessions itself; `ebb run --server` asks it for rounds"},
    {"plan", "--state", "--watch-file",
     "rounds are made at given times, not when a watch is quiet; `ebb run` makes them"},
    {"plan", "--state", "--explain",
     "a round depends on the rounds before it, which an explanation does not have"},
    {"plan", "--state", "--what-if",
     "a round is stored in the state file, and the plans of a comparison must not be"},
    {"plan", "--state", "--optimize", kOwnOptions},
    {"plan", "--state", "--bound", kOwnOptions},
    {"plan", "--state", "--seed", kOwnOptions},
    {"plan", "--state", "--prices", kOwnOptions},
    {"plan", "--state", "--max-workload-share", kOwnOptions},
    {"plan", "--state", "--trials", kOwnOptions},
    {"plan", "--state", "--robust", kOwnOptions},
    {"plan", "--state", "--nominated-share", kOwnOptions},
    {"plan", "--state", "--stable", kOwnOptions},
    {"plan", "--waves", "--state",
     "a round is one step over time; `ebb run --simulate --input` makes rounds in virtual time"},
    {"plan", "--waves", "--watch-file", "waves show how a cluster develops without other changes"},
    {"plan", "--waves", "--explain", kNoWaves},
    {"plan", "--waves", "--what-if", kNoWaves},
    {"plan", "--replace", "--optimize", kOwnSearch},
    {"plan", "--replace", "--headroom", "a search keeps no headroom"},
    {"plan", "--replace", "--state", kOwnOptions},
    {"plan", "--replace", "--stable", kKept},
    {"plan", "--replace", "--bound", "purchases have a bound of their own"},
    {"plan", "--replace", "--scale-down-simulation-timeout", kNotWithPurchases},
    {"plan", "--replace", "--trials", kNotWithPurchases},
    {"plan", "--replace", "--robust", kNotWithPurchases},
    {"plan", "--replace", "--waves", kNotWithPurchases},
    {"plan", "--replace", "--watch-file", kNotWithPurchases},
    {"plan", "--replace", "--what-if", kNotWithPurchases},
    {"plan", "--replace", "--explain", kNoPurchases},
    {"plan", "--replace", "--fail-if", kNoPurchases},
    {"plan", "--state", "--fail-if", "its figures are of a plan, and a round is not one"},
    {"plan", "--explain", "--fail-if", kNoFigures},
    {"plan", "--optimize", "--headroom", "a search keeps no headroom"},
    {"plan", "--stable", "--optimize", kKept},
    {"plan", "--stable", "--robust", kKept},
    {"plan", "--stable", "--what-if", "a comparison makes two plans; neither continues the other"},
    {"plan", "--stable", "--counterfactual", kAlone},
    {"plan", "--server", "--watch-file", kOneSource},
    {"plan", "--what-if", "--explain",
     "a comparison shows all nodes of two plans, and an explanation belongs to one plan"},
    {"plan", "--counterfactual", "--optimize", kAlone},
    {"plan", "--counterfactual", "--robust", kAlone},
    {"plan", "--iterations", "--budget", "each of them ends the search"},
    {"plan", "--max-evictions", "--move-cost",
     "a search weighs moves by one of them: a limit or a price"},
    {"plan", "--team-label", "--server", kNoRequests},
    {"blockers", "--team-label", "--server", kNoRequests},
    {"blockers", "--server", "--watch-file", kOneSource},
    {"blockers", "--server", "--usage", "usage is compared with a dump; a daemon takes none"},
    {"frontier", "--server", "--watch-file", kOneSource},
    {"filter", "--server", "--watch-file", kOneSource},
    {"plan", "--explain", "--bound", kNoFigures},
    {"plan", "--what-if", "--bound", kNoFigures},
    {"run", "--replace", "--pools", "policies say how many nodes there are"},
    {"run", "--replace", "--headroom", "a search keeps no headroom"},
    {"run", "--replace", "--dry-run",
     "a dry run buys nothing; `ebb plan --replace` says what to buy"},
    {"run", "--simulate", "--server", kOwnCluster},
    {"run", "--simulate", "--socket", kOwnCluster},
    {"run", "--simulate", "--actuator", "a simulation carries out its deletions itself"},
    {"run", "--simulate", "--dry-run", "a simulation touches no real node"},
    {"run", "--simulate", "--state", "a simulation starts without a state and keeps none"},
    {"run", "--simulate", "--usage", "usage of pods is read from a real cluster"},
    {"run", "--simulate", "--log", "a simulation prints its result at the end, and no rounds"},
    {"run", "--simulate", "--grace", "a simulation ends after its last hour, not at a signal"},
    {"run", "--simulate", "--match-os", kOwnRules},
    {"run", "--simulate", "--kubernetes-version", kOwnRules},
    {"run", "--simulate", "--vpa", "a simulation makes pods with the requests of their templates"},
    {"run", "--input", "--kind", "the cluster is that of the dump"},
    {"run", "--server", "--socket", "with --socket ebb is the daemon itself"},
    {"run", "--input", "--server", kDumpStays},
    {"run", "--input", "--socket", kDumpStays},
    {"run", "--input", "--actuator", kDumpStays},
    {"run", "--optimize", "--server", kDaemonsRounds},
    {"run", "--optimize", "--socket", kDaemonsRounds},
    {"run", "--optimize", "--actuator", kDaemonsRounds},
    {"run", "--state", "--state-folder", "each of them names the place of the state"},
    {"filter", "--stdin", "INPUT", kOwnObjects},
    {"filter", "--stdin", "--server", kOwnObjects},
    {"filter", "--stdin", "--watch-file", kOwnObjects},
    {"filter", "--stdin", "--pod", kInRequests},
    {"filter", "--stdin", "--node", "an answer names every node; pick it there"},
    {"filter", "--stdin", "--output", "answers are JSON, one a line"},
    {"filter", "--stdin", "--strict", kOwnObjects},
    {"filter", "--stdin", "--assume-complete", kOwnObjects},
    {"filter", "--stdin", "--allow-incomplete", kOwnObjects},
    {"filter", "--stdin", "--match-os", kOwnObjects},
    {"filter", "--stdin", "--kubernetes-version", kOwnObjects},
    {"filter", "--stdin", "--vpa", kOwnObjects},
    {"filter", "--stdin", "--unhealthy-pods", kOwnObjects},
    {"filter", "--stdin", "--max-input-bytes", kOwnObjects},
    {"policy simulate", "--series", "--load", kGenerated},
    {"policy simulate", "--series", "--pods", kGenerated},
    {"man", "--folder", "COMMAND", "the folder gets the pages of all commands"},
};

std::vector<Need> MakeNeeds() {
  const std::vector<std::string_view> questions = {"plan", "blockers", "frontier", "filter"};
  return {
      {{"plan"},
       "--counterfactual",
       "",
       {"--explain"},
       "it applies to the nodes that are explained"},
      {{"plan"}, "--budget", "", {"--optimize"}, kSearchFlag},
      {{"plan"}, "--iterations", "", {"--optimize"}, kSearchFlag},
      {{"plan"}, "--objective", "", {"--optimize"}, kSearchFlag},
      {{"plan"}, "--max-evictions", "", {"--optimize"}, kSearchFlag},
      {{"plan"},
       "--move-cost",
       "",
       {"--objective", "--replace"},
       "it is weighed against what nodes cost"},
      {{"plan"}, "--move-cost", "", {"--prices"}, "it is weighed against what nodes cost"},
      {{"plan", "blockers", "frontier", "run"},
       "--price-rule",
       "",
       {"--prices"},
       "it changes these prices"},
      {{"plan", "run"}, "--replace", "", {"--prices"}, "it compares what nodes cost"},
      {{"plan", "run"}, "--max-new-nodes", "", {"--replace"}, kReplaceFlag},
      {{"plan", "run"}, "--machine-types", "", {"--replace"}, kReplaceFlag},
      {{"plan", "run"},
       "--machine-type-groups",
       "",
       {"--machine-types"},
       "it says which groups may have these types"},
      {{"plan", "run"}, "--max-tries", "", {"--replace"}, kReplaceFlag},
      {{"plan", "run"}, "--replace-budget", "", {"--replace"}, kReplaceFlag},
      {{"plan", "run"}, "--min-saving", "", {"--replace"}, kReplaceFlag},
      {{"plan", "run"}, "--min-score", "", {"--replace"}, kReplaceFlag},
      {{"plan", "run"}, "--allow-spot", "", {"--replace"}, kReplaceFlag},
      {{"run"}, "--replace-interval", "", {"--replace"}, kReplaceFlag},
      {{"run"}, "--replace-ready-within", "", {"--replace"}, kReplaceFlag},
      {{"run"}, "--prices", "", {"--replace"}, "purchases alone depend on prices"},
      {{"plan"}, "--nominated-share", "", {"--trials", "--robust"}, kTrialsFlag},
      {{"plan"}, "--seed", "", {"--optimize", "--trials", "--robust"}, "it seeds these"},
      {{"plan"}, "--trials", "--explain", {"--robust"}, kNoFigures},
      {{"plan"}, "--trials", "--what-if", {"--robust"}, kNoFigures},
      {{"plan"},
       "--stable",
       "",
       {"--watch-file", "--server"},
       "it keeps the last plan of a cluster that changes, and a dump has no last plan"},
      {{"plan"}, "--stable-margin", "", {"--stable"}, kStableFlag},
      {{"plan"}, "--stable-greedy-every", "", {"--stable"}, kStableFlag},
      {{"plan"}, "--stable-verify-every", "", {"--stable"}, kStableFlag},
      {{"plan"}, "--pod-startup-time", "", {"--waves"}, "it is a setting of waves"},
      {{"plan", "blockers"}, "--team-label", "", {"--report"}, "the page divides costs by it"},
      {{"plan"}, "--record", "", {"--state"}, kRoundFlag},
      {{"plan"}, "--events", "", {"--state"}, kRoundFlag},
      {{"plan"}, "--metrics", "", {"--state"}, kRoundFlag},
      {{"plan"}, "--state-rounds", "", {"--state"}, kRoundFlag},
      {questions, "--watch-quiet-time", "", {"--watch-file"}, kWatchFlag},
      {questions, "--max-object-bytes", "", {"--watch-file"}, kWatchFlag},
      {questions, "--session", "", {"--server"}, kDaemonFlag},
      {questions, "--wait", "", {"--server"}, kDaemonFlag},
      {questions, "--max-age", "", {"--server"}, kDaemonFlag},
      {questions, "--max-input-bytes", "", {"INPUT"}, "it limits what is read from INPUT"},
      {{"blockers"}, "--usage-percentile", "", {"--usage"}, "it is a setting for usage"},
      {{"run"}, "--kind", "", {"--simulate"}, kSimulationFlag},
      {{"run"}, "--hours", "", {"--simulate"}, kSimulationFlag},
      {{"run"}, "--faults", "", {"--simulate"}, kSimulationFlag},
      {{"run"}, "--churn", "", {"--simulate"}, kSimulationFlag},
      {{"run"}, "--load", "", {"--simulate"}, kSimulationFlag},
      {{"run"}, "--strict", "--simulate", {"--input"}, kReadsNothing},
      {{"run"}, "--assume-complete", "--simulate", {"--input"}, kReadsNothing},
      {{"run"}, "--allow-incomplete", "--simulate", {"--input"}, kReadsNothing},
      {{"run"}, "--max-input-bytes", "--simulate", {"--input"}, kReadsNothing},
      {{"run"}, "--report", "", {"--simulate"}, "the page is about a simulation"},
      {{"run"}, "--output", "", {"--simulate"}, "a simulation alone has a result to print"},
      {{"run"}, "--seed", "", {"--simulate", "--optimize"}, "it seeds these"},
      {{"run"}, "--session", "", {"--server", "--socket"}, kLiveFlag},
      {{"run"}, "--require-feed", "", {"--server", "--socket"}, kLiveFlag},
      {{"run"}, "--round-timeout", "", {"--server", "--socket"}, kLiveFlag},
      {{"run"}, "--metrics-address", "", {"--server", "--socket"}, kLiveFlag},
      {{"run"}, "--threads", "", {"--socket"}, "it applies to the daemon that ebb then is"},
      {{"run"}, "--state", "", {"--socket"}, kStateFlag},
      {{"run"}, "--state-folder", "", {"--socket"}, kStateFlag},
      {{"run"}, "--record", "", {"--state"}, kRoundFlag},
      {{"run"}, "--state-rounds", "", {"--state", "--state-folder"}, kRoundFlag},
      {{"run"}, "--optimize-interval", "", {"--optimize"}, kSearchFlag},
      {{"run"}, "--iterations", "", {"--optimize"}, kSearchFlag},
      {{"run"}, "--series", "", {"--pools"}, kPoolsFlag},
      {{"run"}, "--usage", "", {"--pools"}, kPoolsFlag},
      {{"serve"}, "--make-folder", "", {"--socket"}, "the folder is that of the socket"},
      {{"serve"},
       "--rounds-kept",
       "",
       {"--state-folder"},
       "without state files there are no rounds"},
      {{"conformance"},
       "--drain-and-delete",
       "",
       {"--node"},
       "a test node is drained and then deleted"},
      {{"conformance"},
       "--wait",
       "",
       {"--drain-and-delete"},
       "it limits the time of a drain and a deletion"},
  };
}

CLI::Option* FindOption(std::string_view name, const CLI::App& app) {
  return const_cast<CLI::App&>(app).get_option_no_throw(std::string(name));
}

bool WasGiven(std::string_view name, const CLI::App& app) {
  const CLI::Option* const option = FindOption(name, app);
  return option != nullptr && option->count() > 0;
}

// CLI11 checks such a need, and help states it.
bool IsPlain(const Need& need) { return need.when.empty() && need.others.size() == 1; }

std::string NeedText(const Need& need) {
  return fmt::format("{} {}needs {}: {}", need.flag,
                     need.when.empty() ? "" : fmt::format("with {} ", need.when),
                     fmt::join(need.others, " or "), need.reason);
}

std::vector<const Need*> NeedRowsOf(std::string_view command) {
  std::vector<const Need*> rows;
  for (const Need& need : Needs()) {
    if (std::ranges::find(need.commands, command) != need.commands.end()) rows.push_back(&need);
  }
  return rows;
}

}  // namespace

std::span<const Exclusion> Exclusions() { return kExclusions; }

const std::vector<Need>& Needs() {
  static const auto* const needs = new std::vector<Need>(MakeNeeds());
  return *needs;
}

void RefuseMisfits(std::string_view command, CLI::App& app) {
  for (const Exclusion& row : kExclusions) {
    if (row.command != command) continue;
    CLI::Option* const flag = FindOption(row.flag, app);
    CLI::Option* const other = FindOption(row.other, app);
    if (flag != nullptr && other != nullptr) flag->excludes(other);
  }
  for (const Need* const need : NeedRowsOf(command)) {
    if (!IsPlain(*need)) continue;
    CLI::Option* const flag = FindOption(need->flag, app);
    CLI::Option* const other = FindOption(need->others[0], app);
    if (flag != nullptr && other != nullptr) flag->needs(other);
  }
}

std::string UnmetNeed(std::string_view command, const CLI::App& app) {
  for (const Need* const need : NeedRowsOf(command)) {
    const bool arises =
        WasGiven(need->flag, app) && (need->when.empty() || WasGiven(need->when, app));
    if (!arises) continue;
    const bool is_met = std::ranges::any_of(
        need->others, [&app](std::string_view other) { return WasGiven(other, app); });
    if (!is_met) return NeedText(*need);
  }
  return "";
}

std::string WithReason(std::string_view command, const std::string& message) {
  for (const Exclusion& row : kExclusions) {
    if (row.command != command) continue;
    if (message == fmt::format("{} excludes {}", row.flag, row.other) ||
        message == fmt::format("{} excludes {}", row.other, row.flag)) {
      return fmt::format("{}: {}", message, row.reason);
    }
  }
  for (const Need* const need : NeedRowsOf(command)) {
    if (IsPlain(*need) && message == fmt::format("{} requires {}", need->flag, need->others[0])) {
      return NeedText(*need);
    }
  }
  return message;
}

}  // namespace ebb
