#include "tools/what_if.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "service/clock.h"
#include "service/live_cluster.h"
#include "service/plan_comparison.h"
#include "service/plan_json.h"
#include "service/plan_report.h"
#include "service/settings_file.h"
#include "service/what_if/patched_cluster.h"
#include "service/what_if/strategic_merge.h"
#include "service/what_if/what_if_file.h"
#include "tools/compare_command.h"
#include "tools/fail.h"
#include "tools/flag_values.h"
#include "tools/plan_command.h"
#include "tools/progress.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// The command with the file's options, as if its flags had been given after the others.
absl::StatusOr<PlanCommand> WithOptions(const PlanCommand& command, const WhatIf& what_if) {
  PlanCommand changed = command;
  if (what_if.options.empty()) return changed;
  CLI::App app;
  changed.AddPlanFlags(app);
  changed.questions.AddTo(app);
  TakeLastOfEach(app);
  std::vector<std::string> words;
  // Flags that others need may have been given with the command.
  if (command.questions.optimize) words.emplace_back("--optimize");
  if (command.questions.ForCost()) words.emplace_back("--objective=cost");
  for (const auto& [flag, value] : what_if.options) {
    const std::string name = "--" + flag;
    if (app.get_option_no_throw(name) == nullptr) {
      return BadSetting(what_if.file, "options." + flag, "is not a flag of a plan");
    }
    words.push_back(absl::StrCat(name, "=", value));
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return BadSetting(what_if.file, "options", error.what());
  }
  if (changed.questions.ForCost() && changed.prices.empty()) {
    return BadSetting(what_if.file, "options.objective", "cost needs prices");
  }
  if (!changed.questions.ForCost() && app.count("--move-cost") > 0) {
    return BadSetting(what_if.file, "options.move-cost", "is for the objective cost");
  }
  return changed;
}

// What `ebb plan -o json` says of the cluster, with all flags of the command.
absl::StatusOr<Json> PlanOf(const PlanCommand& command, LoadedCluster& cluster, std::ostream& err) {
  const absl::StatusOr<GroupRules> rules = command.ReadGroupRules();
  if (!rules.ok()) return rules.status();
  Progress progress;
  const absl::StatusOr<PlanCommand::Made> made =
      command.Make(cluster, *rules, Clock::now(), progress, err);
  progress.Done();
  if (!made.ok()) return made.status();
  command.TellOf(*made, err);
  const PlanReport report = made->answer->Report();
  if (command.stats) PrintStats(report, /*import_s=*/0, err);
  return PlanJson(report);
}

// A field that is misspelt changes nothing, as one that no decision reads.  Pods of one workload
// are spoken of once.
absl::Status TellUnchanged(const WhatIf& what_if, std::span<const ObjectPatch> patches,
                           const ClusterSnapshot& before, PatchedCluster& patched,
                           std::ostream& err) {
  const absl::StatusOr<std::vector<ObjectName>> unchanged = patched.Unchanged();
  if (!unchanged.ok()) return unchanged.status();
  const absl::StatusOr<std::vector<PatchedCluster::FieldWithoutEffect>> fields =
      patched.WithoutEffect(patches);
  if (!fields.ok()) return fields.status();
  const auto is_unchanged = [&](const ObjectName& name) {
    return std::ranges::binary_search(*unchanged, name);
  };
  const auto tell = [&](const ObjectName& of, std::string_view what) {
    PrintMessage(absl::StrCat("warning: ", what_if.file, ": ", of.Text(), ": ", std::string(what)),
                 err);
  };
  const auto tell_fields = [&](const ObjectName& of, const std::set<ObjectName>& objects) {
    std::vector<std::string> told;
    for (const auto& [object, field] : *fields) {
      if (!objects.contains(object) || std::ranges::find(told, field) != told.end()) continue;
      told.push_back(field);
      const std::string_view instead = PatchInstead(object.kind, field);
      tell(of, absl::StrCat("no decision reads ", Printable(field),
                            instead.empty() ? "" : "; patch ", std::string(instead)));
    }
    return !told.empty();
  };
  constexpr std::string_view kNothing = "the patch changes nothing that a decision reads";
  for (const ObjectPatch& patch : what_if.objects) {
    if (!tell_fields(patch.of, {patch.of}) && is_unchanged(patch.of)) tell(patch.of, kNothing);
  }
  for (const WorkloadPatch& workload : what_if.workloads) {
    const std::vector<ObjectName> pods = PodsOf(workload.of, before);
    if (!tell_fields(workload.of, {pods.begin(), pods.end()}) &&
        std::ranges::all_of(pods, is_unchanged)) {
      tell(workload.of, kNothing);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanComparison> Compare(const PlanCommand& command, std::ostream& err) {
  const absl::StatusOr<WhatIf> what_if = ReadWhatIfFile(command.what_if);
  if (!what_if.ok()) return what_if.status();
  const absl::StatusOr<PlanCommand> changed = WithOptions(command, *what_if);
  if (!changed.ok()) return changed.status();
  const absl::StatusOr<std::unique_ptr<LiveCluster>> live =
      LiveCluster::FromInputs(command.inputs, command.options.load, Parallelism(command.threads));
  if (!live.ok()) return live.status();
  absl::StatusOr<LiveCluster::Version> before = (*live)->JudgedLately();
  if (!before.ok()) return before.status();
  const absl::StatusOr<Json> plan_before = PlanOf(command, before->cluster, err);
  if (!plan_before.ok()) return plan_before.status();

  PatchedCluster patched(**live);
  const absl::StatusOr<std::vector<ObjectPatch>> patches =
      PatchesOf(*what_if, before->cluster.snapshot, patched);
  const auto in_file = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(what_if->file, ": ", status.message()));
  };
  if (!patches.ok()) return in_file(patches.status());
  if (absl::Status s = patched.Apply(*patches); !s.ok()) return in_file(s);
  if (absl::Status s = TellUnchanged(*what_if, *patches, before->cluster.snapshot, patched, err);
      !s.ok()) {
    return in_file(s);
  }
  LiveCluster::Version after = (*live)->Unjudged();
  // What is to be said of the input was said of the first plan; errors are told all the same.
  std::ostringstream said;
  const absl::StatusOr<Json> plan_after = PlanOf(*changed, after.cluster, said);
  if (!plan_after.ok()) {
    err << said.str();
    return plan_after.status();
  }
  return ComparePlans(*plan_before, *plan_after);
}

}  // namespace

int RunWhatIf(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  const std::string& form = command.output;
  if (form != "table" && form != "json" && form != "yaml") {
    PrintMessage("--what-if: -o " + form + " is of plans; table, json and yaml compare", err,
                 "ebb plan");
    err << "See `ebb plan --help`.\n";
    return 2;
  }
  if (!command.CostFlagsFit(err)) return 2;
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  const absl::StatusOr<PlanComparison> comparison = Compare(command, err);
  if (!comparison.ok()) return Fail(comparison.status(), err);
  PrintComparison(*comparison, command.output, out);
  return 0;
}

}  // namespace ebb
