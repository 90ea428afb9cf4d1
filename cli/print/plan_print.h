// Plans as text: tables, JSON, YAML, names and CSV.
//
// The output is the same whether this process made the plan (PlanReport) or a daemon did (PlanReply
// of planner.proto): tables are always printed from a reply message.

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

enum class PlanFormat : uint8_t {
  kTable,
  kWide,
  kJson,
  kYaml,
  kName,
  kCsv,
  kMarkdown,
  kScript,
  kPatch
};

// "table", "wide", "json", "yaml", "name", "csv", "markdown", "sh", "patch": the choices of `-o`.
std::vector<std::string> PlanFormatNames();
// REQUIRES: PlanFormatNames() contains `name`.
PlanFormat PlanFormatOf(const std::string& name);

// Whether the user acts upon the plan in this format: names, a script, annotations.
bool IsCarriedOut(const std::string& format);

struct PrintOptions {
  Terminal terminal;  // Only tables are cut to fit the terminal.
  bool all_rows = false;
};

// The form and detail that a PlanCall must request so that its reply can be printed in `format`.
v1alpha1::Form FormOf(PlanFormat format);
struct PlanDetail {
  uint32_t rows = 0;  // As PlanCall.rows.
  bool every_node = false;
};
PlanDetail DetailFor(PlanFormat format, const PrintOptions& options);

void PrintPlan(const PlanReport& report, PlanFormat format, const PrintOptions& options,
               std::ostream& out);
// Prints the reply to a call with the FormOf and the DetailFor of `format`.
void PrintPlan(const v1alpha1::PlanReply& reply, PlanFormat format, const PrintOptions& options,
               std::ostream& out);

// Prints a short summary for a pull request or a chat (markdown.h).
// REQUIRES: the tables have no row limit below kMarkdownRows.
void PrintMarkdown(const v1alpha1::PlanReply& reply, std::ostream& out);

// Prints RFC 4180 CSV: a row of headings, then one row for each node; the nodes that go come first,
// in order.  A cell that a spreadsheet would read as a formula begins with an apostrophe.
// REQUIRES: the tables have every node.
void PrintCsv(const v1alpha1::PlanTables& tables, std::ostream& out);

}  // namespace ebb

#endif  // EBB_CLI_PRINT_PLAN_PRINT_H_
