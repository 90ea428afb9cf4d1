// Plans as text: tables, JSON, YAML, names and CSV.
//
// What is printed is the same whether this process made the plan (PlanReport) or a daemon
// (PlanReply of planner.proto): tables are always made of the reply's message.

#ifndef EBB_CLI_PRINT_PLAN_PRINT_H_
#define EBB_CLI_PRINT_PLAN_PRINT_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/print/terminal.h"
#include "report/plan_report.h"
#include "session/wire_tables.h"

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

// What a PlanCall asks for, so that its reply can be printed in the format.
v1alpha1::Form FormOf(PlanFormat format);
struct PlanDetail {
  uint32_t rows = 0;  // As PlanCall's.
  bool every_node = false;
};
PlanDetail DetailFor(PlanFormat format, const PrintOptions& options);

void PrintPlan(const PlanReport& report, PlanFormat format, const PrintOptions& options,
               std::ostream& out);
// The answer to such a call.
void PrintPlan(const v1alpha1::PlanReply& reply, PlanFormat format, const PrintOptions& options,
               std::ostream& out);

// A row a node, first those that go, in order: RFC 4180, with a row of headings.  A cell
// that a spreadsheet would take for a formula has an apostrophe in front.
// REQUIRES: the tables have every node.
void PrintCsv(const v1alpha1::PlanTables& tables, std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_PLAN_PRINT_H_
