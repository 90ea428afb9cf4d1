#include "cli/commands/what_if.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "cli/commands/compare_command.h"
#include "cli/commands/gate.h"
#include "cli/commands/plan_command.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/progress.h"
#include "planning/live_cluster.h"
#include "platform/clock.h"
#include "platform/settings_file.h"
#include "report/page_data.h"
#include "report/plan_comparison.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "what_if/apply_what_if.h"
#include "what_if/patched_cluster.h"
#include "what_if/what_if_file.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// The command with the file's options, as if they were flags after its other flags.
absl::StatusOr<PlanCommand> WithOptions(const PlanCommand& command, const WhatIf& what_if) {
  PlanCommand changed = command;
  if (what_if.options.empty()) return changed;
  CLI::App app;
  changed.AddPlanFlags(app);
  changed.questions.AddTo(app);
  RefuseMisfits("plan", app);
  TakeLastOfEach(app);
  std::vector<std::string> words;
  // Flags of the file may need other flags that were given with the command.
  const auto of_command = [&](bool is_given, std::string_view flag, const std::string& value) {
    const bool in_file = std::ranges::any_of(
        what_if.options, [flag](const auto& option) { return option.first == flag; });
    if (is_given && !in_file) words.push_back(fmt::format("--{}={}", flag, value));
  };
  const QueryFlags& questions = command.questions;
  of_command(questions.optimize, "optimize", "true");
  of_command(questions.ForCost(), "objective", "cost");
  for (const std::string& each : command.prices) of_command(true, "prices", each);
  for (const std::string& each : command.price_rules) of_command(true, "price-rule", each);
  of_command(questions.trials > 0, "trials", fmt::to_string(questions.trials));
  if (questions.trial.robust) {
    of_command(true, "robust", fmt::to_string(*questions.trial.robust));
  }
  for (const auto& [flag, value] : what_if.options) {
    const std::string name = "--" + flag;
    if (app.get_option_no_throw(name) == nullptr) {
      std::vector<std::string> flags;
      for (const CLI::Option* option : app.get_options()) {
        if (!option->get_lnames().empty()) flags.push_back(option->get_lnames()[0]);
      }
      const std::string nearest = Nearest(flag, flags);
      return BadSetting(
          what_if.file, "options." + flag,
          absl::StrCat("is not a flag of a plan",
                       nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
    }
    words.push_back(absl::StrCat(name, "=", value));
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return BadSetting(what_if.file, "options", WithReason("plan", error.what()));
  }
  if (const std::string unmet = UnmetNeed("plan", app); !unmet.empty()) {
    return BadSetting(what_if.file, "options", unmet);
  }
  if (changed.questions.ForCost() && changed.prices.empty()) {
    return BadSetting(what_if.file, "options.objective", "cost needs prices");
  }
  if (!changed.questions.ForCost() && app.count("--move-cost") > 0) {
    return BadSetting(what_if.file, "options.move-cost",
                      "applies to the objective cost only; expected options.objective: cost");
  }
  return changed;
}

// The output of `ebb plan -o json` for the cluster, with all flags of the command.
// `page`: receives the data of a page about the plan, if one is wanted; null: none is.
absl::StatusOr<Json> PlanOf(const PlanCommand& command, LoadedCluster& cluster, std::ostream& err,
                            Json* page = nullptr) {
  const absl::StatusOr<GroupRules> rules = command.ReadGroupRules();
  if (!rules.ok()) return rules.status();
  Progress progress;
  const absl::StatusOr<PlanCommand::Made> made =
      command.Make(cluster, *rules, Clock::now(), progress, err);
  progress.Done();
  if (!made.ok()) return made.status();
  command.PrintRemarks(*made, err);
  const PlanReport report = made->answer->Report();
  if (command.stats) PrintStats(report, /*import_s=*/0, err);
  Json json = PlanJson(report);
  if (page != nullptr && command.report.active()) {
    *page = PageData(report, json, command.report.team_label);
  }
  return json;
}

absl::StatusOr<PlanComparison> Compare(const PlanCommand& command, const WhatIfQuestion& question,
                                       LoadedCluster& cluster, LiveCluster& live, std::ostream& err,
                                       Json& page) {
  const absl::StatusOr<Json> plan_before = PlanOf(command, cluster, err);
  if (!plan_before.ok()) return plan_before.status();

  PatchedCluster patched(live);
  const absl::StatusOr<std::vector<std::string>> notes =
      ApplyWhatIf(question.what_if, cluster.snapshot, patched);
  if (!notes.ok()) return notes.status();
  PrintNotes(*notes, err);
  LiveCluster::Version after = live.Unchecked();
  // The first plan printed the warnings about the input already, so this plan prints only errors.
  std::ostringstream said;
  const absl::StatusOr<Json> plan_after = PlanOf(question.changed, after.cluster, said, &page);
  if (!plan_after.ok()) {
    err << said.str();
    return plan_after.status();
  }
  return ComparePlans(*plan_before, *plan_after);
}

}  // namespace

absl::StatusOr<WhatIfQuestion> ReadQuestion(const PlanCommand& command) {
  absl::StatusOr<WhatIf> what_if = ReadWhatIfFile(command.what_if);
  if (!what_if.ok()) return what_if.status();
  absl::StatusOr<PlanCommand> changed = WithOptions(command, *what_if);
  if (!changed.ok()) return changed.status();
  return WhatIfQuestion{.what_if = *std::move(what_if), .changed = *std::move(changed)};
}

void PrintNotes(std::span<const std::string> notes, std::ostream& err) {
  for (const std::string& note : notes) PrintMessage("warning: " + note, err);
}

bool CompareFlagsFit(const PlanCommand& command, std::ostream& err) {
  const std::string& form = command.output;
  if (form == "table" || form == "json" || form == "yaml" || form == "markdown") {
    return command.CostFlagsFit(err);
  }
  PrintMessage("--what-if: -o " + form +
                   " is not a format of comparisons; expected table, json, yaml or markdown",
               err, "ebb plan");
  err << "See `ebb plan --help`.\n";
  return false;
}

int WhatIfOver(const PlanCommand& command, const WhatIfQuestion& question, LoadedCluster& cluster,
               LiveCluster& live, std::ostream& out, std::ostream& err) {
  Json page;
  const absl::StatusOr<PlanComparison> comparison =
      Compare(command, question, cluster, live, err, page);
  if (!comparison.ok()) {
    if (comparison.status().message().empty()) return 1;
    return Fail(comparison.status(), err);
  }
  if (command.report.active()) {
    page["comparison"] = ComparisonJson(*comparison);
    if (absl::Status w = WritePageFile(command.report.file, std::move(page)); !w.ok()) {
      return Fail(w, err);
    }
  }
  PrintComparison(*comparison, command.output, command.all_rows, out);
  out.flush();
  return GateOf(command.fail_if, *comparison, command.ExitCode(comparison->after.removed > 0), err);
}

int RunWhatIf(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  command.PrintFlagRemarks(err);
  if (!CompareFlagsFit(command, err)) return 2;
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(command.report.file); !s.ok()) return Fail(s, err);
  const absl::StatusOr<WhatIfQuestion> question = ReadQuestion(command);
  if (!question.ok()) return Fail(question.status(), err);
  const absl::StatusOr<std::unique_ptr<LiveCluster>> live =
      LiveCluster::FromInputs(command.inputs, command.options.load, Parallelism(command.threads));
  if (!live.ok()) return Fail(live.status(), err);
  absl::StatusOr<LiveCluster::Version> before = (*live)->CheckedRecently();
  if (!before.ok()) return Fail(before.status(), err);
  return WhatIfOver(command, *question, before->cluster, **live, out, err);
}

}  // namespace ebb
