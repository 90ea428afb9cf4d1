// The flags that rounds of the planner over time have: of `ebb plan --state`, and of `ebb run`.

#ifndef EBB_TOOLS_ROUND_FLAGS_H_
#define EBB_TOOLS_ROUND_FLAGS_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "service/round_options.h"

namespace CLI {
class App;
}

namespace ebb {

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
  RoundOptions options;     // Of which the flags set a part; RoundOptionsOf() sets the others.
  CLI::App* app = nullptr;  // The command that has the flags.

  void AddTo(CLI::App& app);
  // The same for a command that makes rounds all the time: without --events and --metrics.
  void AddLoopFlags(CLI::App& app);
  [[nodiscard]] bool active() const { return !state.empty(); }
  // One line on the flags that were given and count only in rounds.
  void WarnUnused(std::ostream& err) const;
  void WarnOld(std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_ROUND_FLAGS_H_
