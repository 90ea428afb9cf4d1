// Plans (service/plan_report.h) as text: tables, JSON, YAML, names and CSV.

#ifndef EBB_TOOLS_PLAN_PRINT_H_
#define EBB_TOOLS_PLAN_PRINT_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "service/plan_report.h"
#include "tools/terminal.h"

namespace ebb {

enum class PlanFormat : uint8_t { kTable, kWide, kJson, kYaml, kName, kCsv };

// "table", "wide", "json", "yaml", "name", "csv": the choices of `-o`.
std::vector<std::string> PlanFormatNames();
// REQUIRES: `name` is one of them.
PlanFormat PlanFormatOf(const std::string& name);

struct PrintOptions {
  Terminal terminal;  // What is too wide or too long for it is cut, in tables alone.
  bool all_rows = false;
};

void PrintPlan(const PlanReport& report, PlanFormat format, const PrintOptions& options,
               std::ostream& out);

// A row a node, first those that go, in order: RFC 4180, with a row of headings.  A cell
// that a spreadsheet would take for a formula has an apostrophe in front.
void PrintCsv(const PlanReport& report, std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_PLAN_PRINT_H_
