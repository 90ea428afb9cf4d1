// CommandLine: every command of `ebb` with its flags, and the structs that they fill.
// Flags are declared once, here; parsing, --help, man pages and completion read them.
//
// Ownership: `app` points into the other members, so a CommandLine cannot be moved or copied.

#ifndef EBB_CLI_COMMAND_LINE_H_
#define EBB_CLI_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/blockers_command.h"
#include "cli/commands/compare_command.h"
#include "cli/commands/conformance_command.h"
#include "cli/commands/dump_command.h"
#include "cli/commands/filter_command.h"
#include "cli/commands/frontier_command.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/prices_command.h"
#include "cli/commands/report_command.h"
#include "cli/commands/serve_command.h"
#include "cli/commands/snapshot_commands.h"
#include "cli/commands/top_command.h"
#include "cli/commands/version_command.h"
#include "cli/policies/policy_command.h"
#include "cli/rounds/round_command.h"
#include "cli/rounds/run_command.h"
#include "cli/rounds/state_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct CommandLine {
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Adds the autoscaler's flags that ebb does not honour, if `command` accepts them.  Adding them
  // takes as long as adding all other flags, so only the command that runs gets them.
  void AddAutoscalerFlags(std::string_view command);

  PlanCommand plan;
  BlockersCommand blockers;
  CompareCommand compare;
  PricesCommand prices;
  FrontierCommand frontier;
  ReportCommand report;
  FilterCommand filter;
  GenCommand gen;
  ImportCommand import;
  ScrubCommand scrub;
  DumpCommand dump;
  ReplayCommand replay;
  StateCommand state;
  TopCommand top;
  PolicyCommand policy;
  ServeCommand serve;
  RunCommand run;
  ConformanceCommand conformance;
  VersionCommand version;
  std::vector<std::string> help_of;  // The words of a command: {"import", "openb"}.
  std::vector<std::string> man_of;
  std::string man_folder;     // Where all pages are written; "": one page is printed.
  std::string completion_of;  // The name of a shell, or "nodes".
  std::vector<std::string> completion_inputs;
  std::unique_ptr<CLI::App> app;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMAND_LINE_H_
