// `ebb run`: the loop, over a simulated cluster, for days of virtual time in seconds, or over that
// of a dump, on the wall clock, saying what it would do.
//
//   ebb run --simulate --nodes 1000 --hours 24 [--seed S] [--report F.html]
//   ebb run --input all.json --dry-run
//
// A simulated load is simulated a second time without scale-down, for comparing.

#ifndef EBB_TOOLS_RUN_COMMAND_H_
#define EBB_TOOLS_RUN_COMMAND_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct RunCommand {
  bool simulate = false;
  std::vector<std::string> inputs;
  bool dry_run = false;
  std::string kind = "company";
  uint32_t nodes = 1000;
  int64_t hours = 24;
  uint64_t seed = 1;
  std::string report;
  bool faults = false;
  std::string scan_interval = "10s";
  std::string unneeded_time = "10m";
  std::string delay_after_add = "10m";
  double utilization_threshold = 0.5;
  int64_t max_drain_parallelism = 1;
  int64_t max_scale_down_parallelism = 10;
  bool optimize = false;
  std::string optimize_interval = "10m";
  uint64_t iterations = 5;

  void AddTo(CLI::App& app);
  int Run(std::ostream& out, std::ostream& err) const;

 private:
  int Simulate(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_RUN_COMMAND_H_
