// PrintCsv: the plan for spreadsheets.

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "base/printable.h"
#include "service/plan_report.h"
#include "tools/plan_print.h"

namespace ebb {
namespace {

constexpr std::string_view kHeadings =
    "decision,order,node,group,instance_type,zone,capacity_type,cpu_cores,memory_bytes,gpus,"
    "utilization,resource,pods_moved,risky,reason,kept_by\r\n";

// Spreadsheets take a cell that begins so for a formula, quoted or not; the last four are
// the full-width forms.  Tabs and line ends are escaped by Printable.
bool LooksLikeFormula(std::string_view text) {
  for (const std::string_view start :
       {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"}) {
    if (text.starts_with(start)) return true;
  }
  return false;
}

std::string Cell(std::string_view text) {
  std::string cell = PrintableLine(text);
  if (LooksLikeFormula(cell)) cell.insert(0, "'");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string Fraction(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "";
}

// The columns from `node` to `resource`, which all nodes have.
std::string NodeCells(const PlanReport& report, NodeId node) {
  const PlanContext& context = report.context;
  const NodeFacts& facts = report.facts[Index(node)];
  const NodeGroup* const group = context.groups->Find(node);
  const auto& utilization = context.made->plan.utilization[Index(node)];
  return fmt::format("{},{},{},{},{},{},{},{},{},{}", Cell(context.catalog().NodeName(node)),
                     group == nullptr ? "" : Cell(group->name), Cell(facts.instance_type),
                     Cell(facts.zone), Cell(facts.capacity_type),
                     static_cast<double>(facts.allocatable.cpu_milli) / 1000,
                     facts.allocatable.memory_bytes, facts.allocatable.gpus,
                     utilization ? Fraction(utilization->utilization) : "",
                     utilization ? Cell(context.catalog().Text(utilization->resource)) : "");
}

}  // namespace

void PrintCsv(const PlanReport& report, std::ostream& out) {
  out << kHeadings;
  size_t order = 0;
  for (const PlanReport::Removal& removal : report.remove) {
    out << fmt::format("remove,{},{},{},{},,\r\n", ++order, NodeCells(report, removal.node),
                       removal.pods.size(), removal.risky ? "yes" : "no");
  }
  for (const PlanReport::Kept& kept : report.keep) {
    out << fmt::format("keep,,{},,,{},{}\r\n", NodeCells(report, kept.why.node),
                       Cell(ReasonText(kept)), Cell(KeptBy(report, kept.why)));
  }
}

}  // namespace ebb
