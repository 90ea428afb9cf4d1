#include "cli/policies/policy_command.h"

#include <CLI/CLI.hpp>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/input_flags.h"
#include "cli/policies/policy_state.h"
#include "cli/print/fail.h"
#include "platform/settings_file.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/policy_file.h"
#include "sizing/policy_schema.h"
#include "snapshot/formats/json_text.h"

namespace ebb {

void PolicyCommand::AddTo(CLI::App& app) {
  app.require_subcommand(1);
  schema_ = app.add_subcommand("schema", "Print the JSON schema of the file of pools");
  init_ = app.add_subcommand("init", "Print a commented sample of the file of pools");
  init_->add_option("--school", school, "The policy of its pool")
      ->check(values::Choice(PolicyRegistry().Names()))
      ->type_name("SCHOOL")
      ->capture_default_str();
  TakeLastOfEach(*init_);
  check_ = app.add_subcommand("check", "Tell whether a file of pools is right");
  check_->add_option("FILE", file, "The file of pools")->check(values::File())->required();
  AddEval(
      *app.add_subcommand("eval", "Decide one round of each pool, and show how it was computed"));
  failsafe_ = app.add_subcommand(
      "failsafe",
      "List the pools in failsafe, in which ebb changes nothing, or end the failsafe of one");
  AddFailsafe(*failsafe_);
  simulate_ = app.add_subcommand("simulate", "Run policies over a load, and compare them");
  AddSimulate(*simulate_);
}

void PolicyCommand::AddEval(CLI::App& app) {
  app.add_option("FILE", eval.file, "The file of pools")->check(values::File())->required();
  app.add_option("INPUT", eval.inputs, "Dumps of the cluster, as for `ebb plan`")
      ->check(values::File())
      ->required();
  app.add_option("--series", eval.series,
                 "Signals over time, as CSV or JSON (default: there are none)")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option("--usage", eval.usage,
                 "What pods or nodes use, as `kubectl get --raw "
                 "/apis/metrics.k8s.io/v1beta1/pods` prints it; several times for several files")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--state", eval.state,
                 "Go on from this file, and remember the round there: what it asks for counts as "
                 "done (default: the round is each pool's first)")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option("--now", eval.now,
                 "The time of the round, as 2026-01-02T03:04:05Z (default: the latest time that "
                 "the input, the series or the usage has)")
      ->check(values::Time())
      ->type_name("TIME");
  app.add_option("-o,--output", eval.output, "How to print")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  AddLoadFlags(eval.load, app, "Input");
  TakeLastOfEach(app);
}

void PolicyCommand::AddFailsafe(CLI::App& app) {
  app.add_option("ACTION", action,
                 "list: the pools of the state file; clear: end a pool's failsafe")
      ->check(values::Choice({"list", "clear"}))
      ->type_name("list|clear")
      ->required();
  app.add_option("POOL", pool, "The pool to clear")->check(values::Text())->type_name("POOL");
  app.add_option("--state", state, "A file that `ebb policy eval` wrote")
      ->check(values::File())
      ->type_name("FILE")
      ->required();
  TakeLastOfEach(app);
}

void PolicyCommand::AddSimulate(CLI::App& app) {
  app.add_option("FILE", simulate.file,
                 "The file of pools (default: a pool under each of the four schools)")
      ->check(values::File());
  app.add_option("--series", simulate.series,
                 "A recorded load, as CSV or JSON: the signal pods of each pool, or of no pool "
                 "for all of them")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option("--load", simulate.load, "A generated load: the same for all pools")
      ->check(values::Choice(LoadCurve::Names()))
      ->type_name("LOAD")
      ->capture_default_str();
  app.add_option("--pods", simulate.pods, "Pods of a generated load, on average")
      ->check(values::WholeNumber(1, 100'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--hours", simulate.hours, "Hours of virtual time")
      ->check(values::WholeNumber(1, 8760))
      ->type_name("H")
      ->capture_default_str();
  app.add_option("--seed", simulate.seed, "The same seed makes the same cluster")
      ->check(values::WholeNumber(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--report", simulate.report, "Write a page with curves, in one file of HTML")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option("-o,--output", simulate.output, "How to print")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  RefuseMisfits("policy simulate", app);
  TakeLastOfEach(app);
}

int PolicyCommand::Run(std::ostream& out, std::ostream& err) const {
  if (schema_->parsed()) {
    out << IndentedJson(PolicyFileSchema(PolicyRegistry()));
    return 0;
  }
  if (init_->parsed()) {
    out << PolicyFileSample(*PolicyRegistry().Find(school));
    return 0;
  }
  if (check_->parsed()) return Check(out, err);
  if (simulate_->parsed()) return SimulatePools(simulate, out, err);
  if (failsafe_->parsed()) return Failsafe(out, err);
  return EvalPools(eval, out, err);
}

int PolicyCommand::Failsafe(std::ostream& out, std::ostream& err) const {
  if (action == "list" && pool.empty()) return ListFailsafe(state, out, err);
  if (action == "clear" && !pool.empty()) return ClearFailsafe(state, pool, out, err);
  PrintMessage(pool.empty() ? "name the pool to clear" : "list: takes no pool, it lists all pools",
               err, "ebb policy failsafe");
  return 2;
}

int PolicyCommand::Check(std::ostream& out, std::ostream& err) const {
  const absl::StatusOr<std::string> yaml = ReadWholeFile(file);
  if (!yaml.ok()) return Fail(yaml.status(), err);
  std::vector<std::string> errors;
  const absl::StatusOr<SizingFile> read = ReadSizingFile(file, *yaml, PolicyRegistry(), &errors);
  for (const std::string& error : errors) PrintMessage(PrintableLine(error), err);
  if (!read.ok()) return Fail(read.status(), err);
  for (const std::string& warning : read->warnings) {
    PrintMessage(absl::StrCat("warning: ", PrintableLine(warning)), err, "ebb policy check");
  }
  for (const std::string& conflict : read->conflicts) {
    PrintMessage(
        absl::StrCat("warning: ", PrintableLine(conflict), "; ebb run sizes no such pools"), err,
        "ebb policy check");
  }
  if (!errors.empty()) return 1;
  out << Count(read->pools.size(), "pool", "pools") << (read->pools.size() == 1 ? " is" : " are")
      << " right\n";
  return 0;
}

}  // namespace ebb
