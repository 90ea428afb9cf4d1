#include "cli/commands/conformance_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/table.h"
#include "loop/actuators/conformance.h"

namespace ebb {
namespace {

int64_t SinceEpoch(std::chrono::system_clock::duration unit) {
  return std::chrono::system_clock::now().time_since_epoch() / unit;
}

const char* Name(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPassed:
      return "pass";
    case CheckOutcome::kFailed:
      return "FAIL";
    case CheckOutcome::kSkipped:
      return "skip";
  }
  return "";
}

}  // namespace

void ConformanceCommand::AddTo(CLI::App& app) {
  app.add_option("--actuator", actuator, "The plugin's socket, as unix:PATH")
      ->check(values::Text())
      ->type_name("unix:PATH")
      ->required();
  app.add_option("--node", nodes,
                 "A node that the test may taint and roll back; may be given often; without "
                 "a node only calls that must be rejected are tested")
      ->check(values::Text())
      ->type_name("NAME");
  app.add_flag("--drain-and-delete", drain_and_delete,
               "Drain and DELETE the first of the nodes too")
      ->check(values::Switch());
  app.add_option("--wait", wait, "How long a drain, and then a deletion, may take")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--call-timeout", call_timeout, "How long a call may take")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str();
  RefuseMisfits("conformance", app);
}

int ConformanceCommand::Run(std::ostream& out, std::ostream& err) const {
  ConformanceOptions options{.plugin = actuator,
                             .nodes = nodes,
                             .drain_and_delete = drain_and_delete,
                             .wait_s = DurationSeconds(wait)};
  options.call_timeout_ms = std::max<int64_t>(1, DurationSeconds(call_timeout)) * 1000;
  options.session =
      fmt::format("conformance-{}-{}", getpid(), SinceEpoch(std::chrono::milliseconds(1)));
  options.now_s = [] { return SinceEpoch(std::chrono::seconds(1)); };
  options.sleep_ms = [](int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  const absl::StatusOr<std::vector<ConformanceCheck>> checks = RunConformance(options);
  if (!checks.ok()) return Fail(checks.status(), err);
  Table table({"CHECK", "", "WHAT MUST HOLD, OR WHY NOT"});
  for (const ConformanceCheck& check : *checks) {
    table.AddRow({std::string(check.name), Name(check.outcome),
                  check.outcome == CheckOutcome::kPassed ? std::string(check.what) : check.why});
  }
  table.Print(out);
  const auto number = [&](CheckOutcome outcome) {
    return std::ranges::count(*checks, outcome, &ConformanceCheck::outcome);
  };
  const auto failed = number(CheckOutcome::kFailed);
  out << fmt::format("\n{} passed, {} failed, {} skipped\n", number(CheckOutcome::kPassed), failed,
                     number(CheckOutcome::kSkipped));
  return failed == 0 ? 0 : 1;
}

}  // namespace ebb
