// `ebb compare PLAN PLAN`: how two plans of `ebb plan -o json` differ.

#ifndef EBB_CLI_COMMANDS_COMPARE_COMMAND_H_
#define EBB_CLI_COMMANDS_COMPARE_COMMAND_H_

#include <iosfwd>
#include <string>

#include "cli/flags/fail_if.h"
#include "cli/flags/report_flags.h"
#include "report/plan_comparison.h"

namespace CLI {
class App;
}

namespace ebb {

struct CompareCommand {
  std::string before;
  std::string after;
  std::string output = "table";
  FailIf fail_if;
  ReportFlags report;

  void AddTo(CLI::App& app);
  // Returns the exit code: 0, 1 for bad input, or that of `fail_if`.
  int Run(std::ostream& out, std::ostream& err) const;
};

// Prints the comparison; `format` is table, json, yaml or markdown.  `all_rows`: tables have all of
// their rows also on a terminal.
void PrintComparison(const PlanComparison& comparison, const std::string& format, bool all_rows,
                     std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_COMPARE_COMMAND_H_
