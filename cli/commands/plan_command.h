// `ebb plan INPUT...`: which nodes can go, all together, and where each pod lands.
//
// The flags that the autoscaler has too carry its names and defaults, except that
// no time limit and no limit on the number of nodes apply unless they are given.
// Source of names and defaults: cluster-autoscaler config/flags/flags.go.

#ifndef EBB_CLI_COMMANDS_PLAN_COMMAND_H_
#define EBB_CLI_COMMANDS_PLAN_COMMAND_H_

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "cli/flags/fail_if.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/option_flags.h"
#include "cli/flags/query_flags.h"
#include "cli/flags/report_flags.h"
#include "cli/flags/round_flags.h"
#include "cli/flags/server_flags.h"
#include "cli/flags/watch_flags.h"
#include "cli/print/progress.h"
#include "groups/groups.h"
#include "groups/prices.h"
#include "options/round_options.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "planning/plan_query.h"
#include "planning/plan_replace.h"
#include "planning/rebuild_log.h"
#include "platform/file_identity.h"
#include "report/plan_report.h"
#include "report/plan_waves.h"
#include "snapshot/import/load_cluster.h"

namespace CLI {
class App;
}

namespace ebb {

struct PlanCommand {
  std::vector<std::string> inputs;
  std::string node_groups;
  std::vector<std::string> prices;       // A file, "builtin", or both; empty: no prices.
  std::vector<std::string> price_rules;  // "spot=0.35", "discount=0.2".
  std::vector<std::string> nodes;        // MIN:MAX:NAME, as the autoscaler's --nodes.
  std::string output = "table";
  std::vector<std::string> explain;
  bool counterfactual = false;
  std::string what_if;  // A file; empty: no what-if.
  ReportFlags report;   // With --report: a page too.
  bool all_rows = false;
  bool exit_code = false;
  FailIf fail_if;
  bool stats = false;
  std::string now;
  size_t threads = Parallelism::Cores();

  // Options of plans and rounds.  A plan ignores the options that apply only to rounds.
  RoundOptions options = CommandLineOptions();
  GivenFlags given;  // Which flags of `options` were given.
  std::string simulation_timeout;
  QueryFlags questions;
  bool waves = false;
  std::string pod_startup_time = DurationFlagText(WaveModel().pod_startup_s);
  bool replace = false;       // The plan may buy nodes.
  ReplaceQuery purchases;     // Without the machine types.
  std::string machine_types;  // A file; empty: only the shapes of the cluster's nodes.
  std::vector<std::string> machine_type_groups;  // For a cloud's list.
  std::string replace_budget;                    // Empty: no limit.
  RoundFlags over_time;   // With --state: makes a round instead of a plan over a dump.
  WatchFlags watch;       // With --watch-file: plans whenever the cluster has changed.
  ServerFlags at_server;  // With --server: a daemon plans.

  void AddTo(CLI::App& app);
  // Adds only the flags about what to plan for and how: no search, no output, no rounds.
  void AddPlanFlags(CLI::App& app);
  // Adds the flags that decide how a loop makes its rounds: all of `options`, and the state's
  // files.
  void AddLoopFlags(CLI::App& app);
  // The purchases that the flags ask for.  Errors: those of reading the file of --machine-types.
  [[nodiscard]] absl::StatusOr<ReplaceQuery> ReadPurchases() const;
  [[nodiscard]] std::optional<double> ReplaceBudget() const;  // In seconds.
  // The question that the flags alone ask, without prices, groups and time.
  [[nodiscard]] PlanQuery Query() const;
  // Query(), with `rules`, `now_s` and the prices of --prices, but without the time limit.
  // Errors: those of reading the file of --prices.
  [[nodiscard]] absl::StatusOr<PlanQuery> QueryAt(int64_t now_s, const GroupRules& rules) const;
  // When --scale-down-simulation-timeout ends for a command that began at `start`; absent: no
  // limit.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> SimulationEnd(
      std::chrono::steady_clock::time_point start) const;
  // Seconds from now until SimulationEnd(start); below 0 if that has passed.
  [[nodiscard]] std::optional<double> SecondsLeft(
      std::chrono::steady_clock::time_point start) const;
  // The last checks before planning, once all input is read.  Adds the warnings about groups, flags
  // and time to those about the input, and returns the time to plan for.
  // Errors: those of CheckStrict; those of CheckMayBeCarriedOut where the output is acted upon (-o
  // name, --state).  The caller still prints the warnings.
  absl::StatusOr<int64_t> Accept(const GroupRules& rules, LoadedCluster& cluster) const;
  // Every file that the flags name.
  [[nodiscard]] std::vector<UsedFile> Files() const;
  // The sizes that --nodes gives.
  [[nodiscard]] std::vector<GroupSize> GroupSizes() const;
  // The exit code for a plan or round that was made: 10 if --exit-code was given and `something` is
  // to be done, else 0.  With --what-if it is about the plan after the changes.
  [[nodiscard]] int ExitCode(bool something) const { return exit_code && something ? 10 : 0; }
  // Makes a plan over a dump.  For --state, call RunRound (round_command.h) instead; for
  // --watch-file, RunPlanWatch (watch_command.h); for --what-if, RunWhatIf (what_if.h); for
  // --server, PlanAtServer (remote.h).
  // Returns the exit code: that of ExitCode() and `fail_if` if a plan was made; 1 for bad input.
  int Run(std::ostream& out, std::ostream& err) const;

  // Stop after removing this many nodes; absent: no limit.
  [[nodiscard]] std::optional<int64_t> ScaleDownLimit() const;
  // Prints lines about the given flags that are ignored, that are old, or that only rounds use.
  void PrintFlagRemarks(std::ostream& err) const;
  // Whether -o is a format that has a place for everything that an answer says.
  bool IsWholeAnswer() const;
  // Returns false and prints an error if -o is not a format of an explanation.
  bool ExplainFlagsFit(std::ostream& err) const;
  // Returns false and prints an error if -o is not a format of --replace.
  bool ReplaceFlagsFit(std::ostream& err) const;
  bool GangFlagsFit(std::ostream& err) const;
  // Returns false and prints an error if -o is not a format of --waves.
  bool WaveFlagsFit(std::ostream& err) const;
  // Returns false and prints an error if --objective, --prices and --move-cost contradict each
  // other, or --fail-if is not about figures of the answer.
  bool CostFlagsFit(std::ostream& err) const;
  // The prices that --prices and --price-rule give; nullopt: none.
  [[nodiscard]] absl::StatusOr<std::optional<PriceList>> ReadPriceFlags() const;
  // The groups and sizes that --node-groups and --nodes give.
  [[nodiscard]] absl::StatusOr<GroupRules> ReadGroupRules() const;
  // A plan, with the question it answers.  The cluster must outlive it.
  struct Made {
    PlanQuery query;
    std::unique_ptr<PlanAnswer> answer;
    bool interrupted = false;  // A signal ended the search early.
  };
  // Makes a plan for `cluster`; reading the cluster began at `since`.  Prints the cluster's
  // warnings if it refuses to plan because of them; otherwise PrintRemarks prints them.
  // `memory`: as in AnswerPlan.
  [[nodiscard]] absl::StatusOr<Made> Make(LoadedCluster& cluster, const GroupRules& rules,
                                          std::chrono::steady_clock::time_point since,
                                          Progress& progress, std::ostream& err,
                                          StablePlanner* memory = nullptr) const;
  // The model of --waves that the flags describe.
  [[nodiscard]] WaveModel Model() const;
  // Makes a plan that may buy nodes, and prints it.
  int ReplaceOver(LiveCluster& live, LoadedCluster& cluster, const GroupRules& rules,
                  double import_s, Progress& progress, std::ostream& out, std::ostream& err) const;
  // Prints warnings and notes about the plan.
  void PrintRemarks(const Made& made, std::ostream& err) const;
  // How the cluster was loaded.
  struct Loaded {
    std::chrono::steady_clock::time_point since;  // When reading it began.
    double import_s = 0;
    LiveCluster* live = nullptr;      // The same cluster, for trying changes (--counterfactual).
    StablePlanner* memory = nullptr;  // The last stable plan (--stable); null: no plan was kept.
    // A number that grows whenever changes of the cluster may have been missed.
    uint64_t missed = 0;
    std::vector<TimedRebuild> rebuilds = {};  // With --watch-file, since the last plan.
  };
  // Makes a plan for the cluster and prints it.  Returns the exit code, as Run does.
  int PlanOver(LoadedCluster& cluster, const GroupRules& rules, const Loaded& loaded,
               Progress& progress, std::ostream& out, std::ostream& err) const;
};

// Prints one line for each warning about the input.
void PrintLoadWarnings(const LoadedCluster& cluster, std::ostream& err);
void PrintLoadWarnings(const ImportStats& input, const std::string& left_out,
                       std::span<const InputWarning> warnings, std::ostream& err);

// The line of --stats.
struct PlanStats {
  uint64_t bytes = 0;  // Of the input.
  double import_s = 0;
  double pass_s = 0;
  double verify_s = 0;
  uint64_t nodes = 0;
  uint64_t pods = 0;
  uint64_t removed = 0;
  uint64_t passes = 0;
  std::span<const TimedRebuild> rebuilds = {};  // Of a live cluster.
  // Of a stable plan.
  struct Certificates {
    uint64_t held = 0;
    uint64_t checked = 0;
    std::string not_covered;  // "": they cover the plan.
  };
  std::optional<Certificates> certificates = std::nullopt;
};
void PrintStats(const PlanStats& stats, std::ostream& err);
void PrintStats(const PlanReport& report, double import_s, std::ostream& err,
                std::span<const TimedRebuild> rebuilds = {});

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_PLAN_COMMAND_H_
