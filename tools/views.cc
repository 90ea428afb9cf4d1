#include "tools/views.h"

#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "tools/explain_print.h"
#include "tools/filter_print.h"
#include "tools/plan_print.h"
#include "tools/round_print.h"

namespace ebb {
namespace {

struct Format {
  std::string_view output;
  wire::View::Format view;
  PlanFormat plan;
};
constexpr auto kFormats = std::to_array<Format>({{"json", wire::View::JSON, PlanFormat::kJson},
                                                 {"yaml", wire::View::YAML, PlanFormat::kYaml},
                                                 {"table", wire::View::TABLE, PlanFormat::kTable},
                                                 {"wide", wire::View::WIDE, PlanFormat::kWide},
                                                 {"csv", wire::View::CSV, PlanFormat::kCsv},
                                                 {"name", wire::View::NAME, PlanFormat::kName}});

// REQUIRES: it is a format (the session has checked).
PlanFormat FormatOf(const wire::View& view) {
  for (const Format& format : kFormats) {
    if (format.view == view.format()) return format.plan;
  }
  return PlanFormat::kJson;
}

Terminal TerminalOf(const wire::View& view) {
  return {.is_terminal = view.is_terminal(), .colour = view.colour(), .columns = view.columns()};
}

}  // namespace

ViewPrinters MakeViewPrinters() {
  ViewPrinters printers;
  printers.plan = [](const PlanReport& report, const wire::View& view) {
    std::ostringstream out;
    PrintPlan(report, FormatOf(view), {.terminal = TerminalOf(view), .all_rows = view.all_rows()},
              out);
    return std::move(out).str();
  };
  printers.explanations = [](const PlanReport& report, std::span<const NodeId> nodes,
                             const wire::View& view) {
    std::ostringstream out;
    PrintExplanations(report, nodes, {}, TerminalOf(view), out);
    return std::move(out).str();
  };
  printers.filter = [](ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> node) {
    std::ostringstream out;
    PrintFilterTable(snapshot, pod, node, out);
    return std::move(out).str();
  };
  printers.round = [](const MadeRound& round, const wire::View& view) {
    std::ostringstream out;
    PrintMadeRound(round, FormatOf(view),
                   {.terminal = TerminalOf(view), .all_rows = view.all_rows()}, out);
    return std::move(out).str();
  };
  return printers;
}

wire::View ViewOf(const std::string& output, bool all_rows, const Terminal& terminal) {
  wire::View view;
  for (const Format& format : kFormats) {
    if (format.output == output) view.set_format(format.view);
  }
  view.set_all_rows(all_rows);
  view.set_columns(static_cast<uint32_t>(terminal.columns));
  view.set_colour(terminal.colour);
  view.set_is_terminal(terminal.is_terminal);
  return view;
}

}  // namespace ebb
