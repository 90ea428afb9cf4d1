// CommandLine: every command of `ebb` with its flags, and the structs that they fill.
// Flags are declared once, here; parsing, --help, man pages and completion read them.
//
// Ownership: the app points into the other members, so it neither moves nor copies.

#ifndef EBB_TOOLS_COMMAND_LINE_H_
#define EBB_TOOLS_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/blockers_command.h"
#include "tools/compare_command.h"
#include "tools/conformance_command.h"
#include "tools/dump_command.h"
#include "tools/filter_command.h"
#include "tools/frontier_command.h"
#include "tools/plan_command.h"
#include "tools/policy_command.h"
#include "tools/round_command.h"
#include "tools/run_command.h"
#include "tools/serve_command.h"
#include "tools/snapshot_commands.h"
#include "tools/state_command.h"

namespace CLI {
class App;
}

namespace ebb {

struct CommandLine {
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Adds the flags of the autoscaler that ebb does not honour, if `command` is one that takes them.
  // Making them takes as long as all others: only the command that runs gets them.
  void AddAutoscalerFlags(std::string_view command);

  PlanCommand plan;
  BlockersCommand blockers;
  CompareCommand compare;
  FrontierCommand frontier;
  FilterCommand filter;
  GenCommand gen;
  ImportCommand import;
  DumpCommand dump;
  ReplayCommand replay;
  StateCommand state;
  PolicyCommand policy;
  ServeCommand serve;
  RunCommand run;
  ConformanceCommand conformance;
  std::vector<std::string> help_of;  // Names of a command: {"import", "openb"}.
  std::vector<std::string> man_of;
  std::string man_folder;     // Of all pages; "": one page is printed.
  std::string completion_of;  // A shell, or "nodes".
  std::vector<std::string> completion_inputs;
  std::unique_ptr<CLI::App> app;
};

}  // namespace ebb

#endif  // EBB_TOOLS_COMMAND_LINE_H_
