// The flags of `ebb run`.

#ifndef EBB_CLI_ROUNDS_RUN_FLAGS_H_
#define EBB_CLI_ROUNDS_RUN_FLAGS_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/commands/plan_command.h"
#include "cli/flags/flag_values.h"
#include "loop/buyer.h"
#include "loop/loop.h"
#include "loop/run/replace_market.h"
#include "loop/run/round_advisor.h"
#include "platform/file_identity.h"

namespace CLI {
class App;
}

namespace ebb {

struct RunFlags {
  bool simulate = false;
  std::vector<std::string> inputs;
  bool dry_run = false;
  // For a simulation.
  std::string kind = "company";
  uint32_t nodes = 1000;
  bool nodes_given = false;
  int64_t hours = 24;
  uint64_t seed = 1;
  std::string report;
  bool faults = false;
  bool churn = false;
  std::string load = "daily";
  std::string output = "table";
  // For pools that policies size.
  std::string pools;
  std::string series;
  std::vector<std::string> usage;
  // For a loop that makes its rounds itself: over a simulation or a dump.
  bool optimize = false;
  std::string optimize_interval = DurationFlagText(RoundAdvisorOptions().interval_s);
  uint64_t iterations = RoundAdvisorOptions().iterations;
  // With --replace (loop/buyer.h).
  std::string replace_interval = DurationFlagText(BuyerOptions().interval_s);
  std::string replace_ready_within = DurationFlagText(BuyerOptions().ready_within_s);
  // For a live cluster.
  std::string actuator;
  std::string server;
  std::string session = "default";
  std::string socket;
  std::string state_folder;
  std::string metrics_address;
  std::string log = "text";
  std::string grace = DurationFlagText(LoopOptions().stop_grace_s);
  std::string round_timeout = "2m";
  bool require_feed = true;

  std::string scan_interval = DurationFlagText(LoopOptions().scan_interval_s);
  std::string delay_after_taint =
      DurationFlagText(DeletionStepOptions().node_delete_delay_after_taint_s);
  // How rounds decide.  max_scale_down_parallelism and some others have the defaults of rounds.
  PlanCommand plan;

  void AddTo(CLI::App& app);
  [[nodiscard]] bool IsLive() const { return !server.empty() || !socket.empty(); }
  // "", or the error in the combination of flags that the tables of exclusions.h do not state.
  [[nodiscard]] std::string Misuse() const;
  // Prints one line about the given flags that a dry run or a simulation ignores, as they are about
  // what is kept or carried out.
  void PrintUncountedFlags(std::ostream& err) const;
  // The options of the loop, without on_turn.
  [[nodiscard]] LoopOptions LoopOptionsOf() const;
  // How --replace buys.
  [[nodiscard]] BuyerOptions BuyerOptionsOf() const;
  // Absent: no --replace.  Errors: those of reading prices, machine types and node groups.
  [[nodiscard]] absl::StatusOr<std::optional<ReplaceMarketOptions>> MarketOptionsOf() const;
  // Every file that the flags name.
  [[nodiscard]] std::vector<UsedFile> Files() const;
};

}  // namespace ebb

#endif  // EBB_CLI_ROUNDS_RUN_FLAGS_H_
