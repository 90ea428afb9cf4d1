#include "cli/flags/report_flags.h"

#include <CLI/CLI.hpp>

#include "cli/flags/flag_values.h"

namespace ebb {
namespace {

constexpr const char* kReportGroup = "Output";

}  // namespace

void ReportFlags::AddTo(CLI::App& app) {
  AddFileTo(app);
  AddLabelTo(app);
}

void ReportFlags::AddFileTo(CLI::App& app) {
  app.add_option("--report", file,
                 "Also write a page for a browser: one file of HTML (docs/report.md)")
      ->check(values::File())
      ->type_name("FILE")
      ->group(kReportGroup);
}

void ReportFlags::AddLabelTo(CLI::App& app) {
  app.add_option("--team-label", team_label,
                 "Label of pods, or else of their namespaces, by which a page divides costs")
      ->check(values::Text())
      ->type_name("KEY")
      ->capture_default_str()
      ->group(kReportGroup);
}

}  // namespace ebb
