// The flags of `ebb run`.

#ifndef EBB_TOOLS_RUN_FLAGS_H_
#define EBB_TOOLS_RUN_FLAGS_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "engine/actuation/loop.h"
#include "service/file_identity.h"
#include "service/run/round_advisor.h"
#include "tools/flag_values.h"
#include "tools/plan_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct RunFlags {
  bool simulate = false;
  std::vector<std::string> inputs;
  bool dry_run = false;
  // Of a simulation.
  std::string kind = "company";
  uint32_t nodes = 1000;
  bool nodes_given = false;
  int64_t hours = 24;
  uint64_t seed = 1;
  std::string report;
  bool faults = false;
  std::string output = "table";
  // Of pools that policies size.
  std::string pools;
  std::string series;
  std::vector<std::string> usage;
  // Of a loop that makes its rounds itself: a simulation, a dump.
  bool optimize = false;
  std::string optimize_interval = DurationFlagText(RoundAdvisorOptions().interval_s);
  uint64_t iterations = RoundAdvisorOptions().iterations;
  // Of a live cluster.
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
  // How rounds decide.  Its max_scale_down_parallelism and others have the defaults of rounds.
  PlanCommand plan;

  void AddTo(CLI::App& app);
  [[nodiscard]] bool IsLive() const { return !server.empty() || !socket.empty(); }
  // "" or what is wrong with the flags together, beside what the tables of exclusions.h say.
  [[nodiscard]] std::string Misuse() const;
  // One line on the flags that were given and do not count in a dry run or a simulation: what is
  // kept or carried out.
  void TellUncounted(std::ostream& err) const;
  // Of a loop, without what turns are told to.
  [[nodiscard]] LoopOptions LoopOptionsOf() const;
  // Every file that the flags name.
  [[nodiscard]] std::vector<UsedFile> Files() const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_RUN_FLAGS_H_
