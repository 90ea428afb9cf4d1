// PrintCsv: the plan for spreadsheets.

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "base/check.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/plan_print.h"

namespace ebb {
namespace {

constexpr std::string_view kHeadings =
    "decision,order,node,group,instance_type,zone,capacity_type,cpu_cores,memory_bytes,gpus,"
    "utilization,resource,pods_moved,risky,reason,kept_by";

// Spreadsheets read a cell that begins with one of these as a formula, quoted or not; the last four
// are the full-width forms.  Printable escapes tabs and line ends.
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

// The last cell of each row, with the comma before it, if there are prices.
std::string PriceCell(const v1alpha1::PlanTables& tables, const v1alpha1::TableNode& node) {
  if (!tables.has_saved_per_hour()) return "";
  return node.has_price_per_hour() ? fmt::format(",{}", RoundedAmount(node.price_per_hour())) : ",";
}

std::string Fraction(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "";
}

// The columns from `node` to `resource`, which every node has.
std::string NodeCells(const v1alpha1::TableNode& node) {
  const bool has_use = node.has_use();
  return fmt::format("{},{},{},{},{},{},{},{},{},{}", Cell(node.node()), Cell(node.group()),
                     Cell(node.instance_type()), Cell(node.zone()), Cell(node.capacity_type()),
                     static_cast<double>(node.allocatable().cpu_milli()) / 1000,
                     node.allocatable().memory_bytes(), node.allocatable().gpus(),
                     has_use ? Fraction(node.use().utilization()) : "",
                     has_use ? Cell(node.use().resource()) : "");
}

}  // namespace

void PrintCsv(const v1alpha1::PlanTables& tables, std::ostream& out) {
  EBB_DCHECK(static_cast<uint64_t>(tables.keep_size()) == tables.kept());
  out << kHeadings << (tables.has_saved_per_hour() ? ",price_per_hour\r\n" : "\r\n");
  size_t order = 0;
  for (const v1alpha1::TableNode& node : tables.remove()) {
    out << fmt::format("remove,{},{},{},{},,{}\r\n", ++order, NodeCells(node), node.pods(),
                       node.risky() ? "yes" : "no", PriceCell(tables, node));
  }
  for (const v1alpha1::TableNode& node : tables.keep()) {
    out << fmt::format("keep,,{},,,{},{}{}\r\n", NodeCells(node), Cell(node.reason()),
                       Cell(node.kept_by()), PriceCell(tables, node));
  }
}

}  // namespace ebb
