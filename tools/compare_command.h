// `ebb compare PLAN PLAN`: in what two plans of `ebb plan -o json` differ.

#ifndef EBB_TOOLS_COMPARE_COMMAND_H_
#define EBB_TOOLS_COMPARE_COMMAND_H_

#include <iosfwd>
#include <string>

#include "service/plan_comparison.h"

namespace CLI {
class App;
}

namespace ebb {

struct CompareCommand {
  std::string before;
  std::string after;
  std::string output = "table";

  void AddTo(CLI::App& app);
  // The exit code: 0, 1 bad input.
  int Run(std::ostream& out, std::ostream& err) const;
};

// As table, json or yaml.
// `all_rows`: of tables, also on a terminal.
void PrintComparison(const PlanComparison& comparison, const std::string& format, bool all_rows,
                     std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_COMPARE_COMMAND_H_
