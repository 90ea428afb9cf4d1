// `ebb plan INPUT...`: which nodes can go, all together, and where each pod lands.
//
// The flags that the autoscaler has too carry its names and defaults, except that
// no time limit and no limit on the number of nodes apply unless they are given.
// Source of names and defaults: cluster-autoscaler config/flags/flags.go.

#ifndef EBB_TOOLS_PLAN_COMMAND_H_
#define EBB_TOOLS_PLAN_COMMAND_H_

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
#include "service/file_identity.h"
#include "service/groups.h"
#include "service/live_cluster.h"
#include "service/options/round_options.h"
#include "service/plan_report.h"
#include "service/planning/plan_answer.h"
#include "service/planning/plan_query.h"
#include "snapshot/import/load_cluster.h"
#include "tools/option_flags.h"
#include "tools/progress.h"
#include "tools/query_flags.h"
#include "tools/round_flags.h"
#include "tools/server_flags.h"
#include "tools/watch_flags.h"

namespace CLI {
class App;
}

namespace ebb {

struct PlanCommand {
  std::vector<std::string> inputs;
  std::string node_groups;
  std::string prices;              // A file; empty: none.
  std::vector<std::string> nodes;  // MIN:MAX:NAME, as the autoscaler's --nodes.
  std::string output = "table";
  std::vector<std::string> explain;
  bool counterfactual = false;
  std::string what_if;  // A file; empty: none.
  bool all_rows = false;
  bool exit_code = false;
  bool stats = false;
  std::string now;
  size_t threads = Parallelism::Cores();

  // How plans and rounds decide.  What counts in rounds alone is not read for a plan.
  RoundOptions options = CommandLineOptions();
  GivenFlags given;  // Of the flags of `options`.
  std::string simulation_timeout;
  QueryFlags questions;
  RoundFlags over_time;   // With --state: a round instead of a plan over a dump.
  WatchFlags watch;       // With --watch-file: plans over what changes.
  ServerFlags at_server;  // With --server: a daemon plans.

  void AddTo(CLI::App& app);
  // Of these the flags that say what to plan for, and how, without a search and what comes after
  // it.
  void AddPlanFlags(CLI::App& app);
  // Of these the flags that say how rounds of a loop decide: all of `options`, and the files of
  // their state.
  void AddLoopFlags(CLI::App& app);
  // The question that flags alone ask, without files and times.
  [[nodiscard]] PlanQuery Asked() const;
  // The same with them, but for the time limit.
  // Errors: those of the file of --prices.
  [[nodiscard]] absl::StatusOr<PlanQuery> QueryAt(int64_t now_s, const GroupRules& rules) const;
  // When --scale-down-simulation-timeout is over for a command that began then; absent: never.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> SimulationEnd(
      std::chrono::steady_clock::time_point start) const;
  // How long that is from now on; below 0: it is over.
  [[nodiscard]] std::optional<double> SecondsLeft(
      std::chrono::steady_clock::time_point start) const;
  // What is left to ask once all is read: adds the warnings about groups, flags and time to
  // those about the input, and returns the time to plan for.
  // Errors: as CheckStrict, and as CheckMayBeCarriedOut where the answer is one that is; the
  // warnings are still to be printed.
  absl::StatusOr<int64_t> Accept(const GroupRules& rules, LoadedCluster& cluster) const;
  // Every file that the flags name.
  [[nodiscard]] std::vector<UsedFile> Files() const;
  // What --nodes says.
  [[nodiscard]] std::vector<GroupSize> GroupSizes() const;
  // Of a plan or round that was made, with --what-if of the plan after the changes: with
  // --exit-code 10 if it has something to do.
  [[nodiscard]] int ExitCode(bool something) const { return exit_code && something ? 10 : 0; }
  // Makes a plan over a dump; with --state it is RunRound (round_command.h) that is wanted,
  // with --watch-file RunPlanWatch (watch_command.h), with --what-if RunWhatIf (what_if.h), and
  // with
  // --server PlanAtServer (remote.h).
  // The exit code: 0 or as ExitCode says, plan made; 1 bad input.
  int Run(std::ostream& out, std::ostream& err) const;

  // Stop at so many nodes; absent: no limit.
  [[nodiscard]] std::optional<int64_t> ScaleDownLimit() const;
  // Lines on flags that were given and are ignored, old, or of rounds alone.
  void TellOfFlags(std::ostream& err) const;
  // False: -o is no form of an explanation; told.
  bool ExplainsAsAsked(std::ostream& err) const;
  // False: --objective, --prices and --move-cost do not go together; told.
  bool CostFlagsFit(std::ostream& err) const;
  // What --node-groups and --nodes say.
  [[nodiscard]] absl::StatusOr<GroupRules> ReadGroupRules() const;
  // A plan that was made of a cluster, which outlives it.
  struct Made {
    PlanQuery query;
    std::unique_ptr<PlanAnswer> answer;
    bool interrupted = false;  // By a signal.
  };
  // Plans for a cluster of which reading began at `since`.  It prints warnings where they are why
  // it refuses; otherwise they are left to TellOf.
  [[nodiscard]] absl::StatusOr<Made> Make(LoadedCluster& cluster, const GroupRules& rules,
                                          std::chrono::steady_clock::time_point since,
                                          Progress& progress, std::ostream& err) const;
  // What is to be known of it beside the plan.
  void TellOf(const Made& made, std::ostream& err) const;
  // How a cluster came to be that is planned for.
  struct Loaded {
    std::chrono::steady_clock::time_point since;  // When reading it began.
    double import_s = 0;
    LiveCluster* live = nullptr;  // Of the same objects, for --counterfactual.
  };
  // Plans for a cluster and prints that.  The exit code, as Run's.
  int PlanOver(LoadedCluster& cluster, const GroupRules& rules, const Loaded& loaded,
               Progress& progress, std::ostream& out, std::ostream& err) const;
};

// What a plan does not rest on, a line each.
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
};
void PrintStats(const PlanStats& stats, std::ostream& err);
void PrintStats(const PlanReport& report, double import_s, std::ostream& err);

}  // namespace ebb

#endif  // EBB_TOOLS_PLAN_COMMAND_H_
