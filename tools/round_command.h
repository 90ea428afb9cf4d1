// `ebb plan --state FILE`: one round of the planner over time instead of a plan over
// a dump, and `ebb replay RECORD`, which runs recorded rounds again.
//
// A round goes on where the one before stopped (engine/round.h): FILE holds timers,
// cooldowns, hints, counters and what else must survive.  Nodes that carry the taint
// ToBeDeletedByClusterAutoscaler, not older than five minutes, are being deleted; what
// a dump does not show, --events FILE tells (round_events.h).
// --record FILE also writes what a round was given and what it decided.
//
// Errors: exit code 1; the state stays as it was, a counter of errors apart.
// A round that waits because the clock jumped: exit code 3; it is remembered.

#ifndef EBB_TOOLS_ROUND_COMMAND_H_
#define EBB_TOOLS_ROUND_COMMAND_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "engine/round.h"

namespace CLI {
class App;
}

namespace ebb {

struct PlanCommand;

// Flags that only rounds have.
struct RoundFlags {
  std::string state;
  std::string events;
  std::string record;
  std::string metrics;
  int64_t rounds_kept = 100;
  std::string unneeded_time = "10m";
  std::string unready_time = "20m";
  std::string recheck_timeout = "5m";
  std::string delay_after_add = "10m";
  std::string delay_after_delete = "0s";
  std::string delay_after_failure = "3m";
  std::string deletion_candidate_ttl = "0s";
  std::string cores_total = "0:320000";
  std::string memory_total = "0:6400000";  // GiB
  std::string displaced_pods = "must-fit";
  std::string recent_eviction_ttl = "2m";
  std::string skipped_timers = "kept";
  std::string returned_nodes = "anew";
  std::string clock_jump_max = "1h";
  std::string max_node_startup_time = "15m";
  int64_t nodes_min = 0;
  int64_t min_nodes_per_pass = 1;  // So that every candidate has its turn.
  std::optional<int64_t> max_empty_bulk_delete;
  ScaleDownOptions options;
  CLI::App* app = nullptr;  // The command that has the flags, for the record.

  void AddTo(CLI::App& app);
  [[nodiscard]] bool active() const { return !state.empty(); }
  // One line on the flags that were given and count only in rounds.
  void WarnUnused(std::ostream& err) const;
  void WarnOld(std::ostream& err) const;
};

constexpr int kExitClockJumped = 3;

// The exit code: 0 round made, 1 bad input, kExitClockJumped.
int RunRound(const PlanCommand& command, std::ostream& out, std::ostream& err);

struct ReplayCommand {
  std::string record;

  void AddTo(CLI::App& app);
  // 0: every decision is the same bytes; 1: one is not, or the record is unreadable.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_ROUND_COMMAND_H_
