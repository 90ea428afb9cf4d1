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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "engine/planner.h"
#include "service/file_identity.h"
#include "service/groups.h"
#include "service/live_cluster.h"
#include "service/plan_report.h"
#include "service/planning/plan_query.h"
#include "snapshot/import/load_cluster.h"
#include "tools/progress.h"
#include "tools/round_flags.h"
#include "tools/search_flags.h"
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
  std::string candidate_order = "autoscaler";
  std::string output = "table";
  std::vector<std::string> explain;
  bool counterfactual = false;
  std::string what_if;  // A file; empty: none.
  bool all_rows = false;
  bool exit_code = false;
  bool stats = false;
  std::string now;
  size_t threads = Parallelism::Cores();

  PlannerOptions planner;
  LoadOptions load;
  std::string blocking_system_pod_timeout = "1h";
  std::string simulation_timeout;
  std::optional<int64_t> max_scale_down_parallelism;
  double max_workload_share = 1;
  SearchFlags search;
  RoundFlags over_time;   // With --state: a round instead of a plan over a dump.
  WatchFlags watch;       // With --watch-file: plans over what changes.
  ServerFlags at_server;  // With --server: a daemon plans.

  void AddTo(CLI::App& app);
  // Of these the flags that say what to plan for, and how: all that QueryAt reads.
  void AddPlanFlags(CLI::App& app);
  // Of these the flags that say how rounds of a loop decide: all that RoundOptionsOf reads, and
  // the files of their state.
  void AddLoopFlags(CLI::App& app);
  [[nodiscard]] CandidateOrder Order() const;
  // The question that the flags ask, without search, trials and time limit.
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
  // Of a plan or round that was made: with --exit-code 10 if it has something to do.
  [[nodiscard]] int ExitCode(bool something) const { return exit_code && something ? 10 : 0; }
  // Makes a plan over a dump; with --state it is RunRound (round_command.h) that is wanted,
  // with --watch-file RunPlanWatch (watch_command.h), with --what-if RunWhatIf (what_if.h), and
  // with
  // --server PlanAtServer (remote.h).
  // The exit code: 0 or as ExitCode says, plan made; 1 bad input.
  int Run(std::ostream& out, std::ostream& err) const;

  // Stop at so many nodes; absent: no limit.
  [[nodiscard]] std::optional<int64_t> ScaleDownLimit() const;
  // False: -o is no form of an explanation; told.
  bool ExplainsAsAsked(std::ostream& err) const;
  // False: --objective, --prices and --move-cost do not go together; told.
  bool CostFlagsFit(std::ostream& err) const;
  // What --node-groups and --nodes say.
  [[nodiscard]] absl::StatusOr<GroupRules> ReadGroupRules() const;
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

// The options of the round that the flags ask for.
RoundOptions RoundOptionsOf(const PlanCommand& command);

}  // namespace ebb

#endif  // EBB_TOOLS_PLAN_COMMAND_H_
