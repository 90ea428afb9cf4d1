#include "tools/policy_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/figures.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "engine/policy/policy_registry.h"
#include "service/file_identity.h"
#include "service/settings_file.h"
#include "service/sizing/policy_file.h"
#include "service/sizing/policy_schema.h"
#include "service/sizing/pool_reader.h"
#include "service/sizing/signal_series.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/rfc3339.h"
#include "tools/fail.h"
#include "tools/flag_values.h"
#include "tools/table.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kJsonVersion = "ebb.policy.eval/v1";

absl::StatusOr<std::vector<SizedPool>> ReadPools(const std::string& file) {
  absl::StatusOr<std::string> yaml = ReadWholeFile(file);
  if (!yaml.ok()) return yaml.status();
  return ReadPolicyFile(file, *yaml, PolicyRegistry());
}

// One pool, and what was decided for it.
struct Evaluated {
  const SizedPool* pool;
  size_t nodes;
  PolicyDecision decision{};
};

Evaluated Evaluate(const SizedPool& pool, const PoolReader& reader,
                   const std::vector<SignalPoint>& points, int64_t now_s) {
  PolicyObservation seen = reader.Observe(pool);
  seen.signals = Latest(points, pool.name, now_s);
  const std::vector<std::string> stale = StaleSignals(seen, pool.signal_period_s, now_s);
  Evaluated evaluated{.pool = &pool, .nodes = seen.nodes.size()};
  if (!stale.empty()) {
    evaluated.decision = Denied("signalPeriod", "stale signal");
    for (const std::string& name : stale) {
      evaluated.decision.figures.push_back(
          {fmt::format("signal {}, seconds old", name),
           std::to_string(now_s - *seen.signals.find(name)->second.at_s)});
    }
    evaluated.decision.figures.push_back({"signalPeriod", std::to_string(pool.signal_period_s)});
    return evaluated;
  }
  std::string state;
  evaluated.decision = pool.policy->Decide(seen, now_s, &state);
  return evaluated;
}

std::string Signed(int64_t delta) { return fmt::format("{:+}", delta); }

void Print(const Evaluated& evaluated, std::ostream& out) {
  const PolicyDecision& decision = evaluated.decision;
  const std::string delta = decision.delta == 0 ? "stays" : Signed(decision.delta);
  out << fmt::format("pool {}, {}: {}, {} ({})\n", Printable(evaluated.pool->name),
                     evaluated.pool->policy_name, Count(evaluated.nodes, "node", "nodes"), delta,
                     decision.reason);
  if (!decision.denied_by.empty()) {
    out << fmt::format("  denied by {}\n", Printable(decision.denied_by));
  }
  for (const std::string& warning : decision.warnings) {
    out << fmt::format("  warning: {}\n", Printable(warning));
  }
  Table figures({"", ""});
  figures.Indent(2);
  for (const PolicyFigure& figure : decision.figures) figures.AddRow({figure.name, figure.value});
  if (!figures.empty()) figures.Print(out);
  if (decision.direction != PolicyDirection::kDown || !decision.candidates) return;
  const size_t shown = std::min<size_t>(decision.candidates->size(), 5);
  out << (shown == 0 ? "  no node may go" : "  first to go:");
  for (size_t i = 0; i < shown; ++i) out << " " << Printable((*decision.candidates)[i]);
  out << (shown < decision.candidates->size() ? " ...\n" : "\n");
}

Json AsJson(const Evaluated& evaluated) {
  const PolicyDecision& decision = evaluated.decision;
  Json figures = Json::array();
  for (const PolicyFigure& figure : decision.figures) {
    figures.push_back({{"name", figure.name}, {"value", figure.value}});
  }
  return {{"pool", evaluated.pool->name},
          {"policy", evaluated.pool->policy_name},
          {"nodes", evaluated.nodes},
          {"delta", decision.delta},
          {"direction", Name(decision.direction)},
          {"reason", decision.reason},
          {"deniedBy", decision.denied_by},
          {"figures", std::move(figures)},
          {"candidates", decision.candidates ? Json(*decision.candidates) : Json()},
          {"warnings", decision.warnings}};
}

}  // namespace

void PolicyCommand::AddTo(CLI::App& app) {
  app.require_subcommand(1);
  schema_ = app.add_subcommand("schema", "Print the JSON schema of the file of pools");
  init_ = app.add_subcommand("init", "Print a commented sample of the file of pools");
  init_->add_option("--school", school, "The policy of its pool")
      ->check(values::Choice(PolicyRegistry().Names()))
      ->type_name("SCHOOL")
      ->capture_default_str();
  check_ = app.add_subcommand("check", "Tell whether a file of pools is right");
  CLI::App* const eval =
      app.add_subcommand("eval", "Decide one round of each pool, and show how it was computed");
  for (CLI::App* command : {check_, eval}) {
    command->add_option("FILE", file, "The file of pools")->check(values::File())->required();
  }
  eval->add_option("INPUT", inputs, "Dumps of the cluster, as for `ebb plan`")
      ->check(values::File())
      ->required();
  eval->add_option("--series", series,
                   "Signals over time, as CSV or JSON (default: there are none)")
      ->check(values::File())
      ->type_name("FILE");
  eval->add_option("--now", now,
                   "The time of the round, as 2026-01-02T03:04:05Z (default: the latest time that "
                   "the input or the series has)")
      ->check(values::Time())
      ->type_name("TIME");
  eval->add_option("-o,--output", output, "How to print")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  for (CLI::App* command : {init_, eval}) TakeLastOfEach(*command);
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
  return check_->parsed() ? Check(out, err) : Eval(out, err);
}

int PolicyCommand::Check(std::ostream& out, std::ostream& err) const {
  const absl::StatusOr<std::vector<SizedPool>> pools = ReadPools(file);
  if (!pools.ok()) return Fail(pools.status(), err);
  out << Count(pools->size(), "pool", "pools") << (pools->size() == 1 ? " is" : " are")
      << " right\n";
  return 0;
}

int PolicyCommand::Eval(std::ostream& out, std::ostream& err) const {
  std::vector<UsedFile> files = {{"FILE", file, FileUse::kRead}};
  for (const std::string& input : inputs) files.push_back({"INPUT", input, FileUse::kRead});
  if (!series.empty()) files.push_back({"--series", series, FileUse::kRead});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  const absl::StatusOr<std::vector<SizedPool>> pools = ReadPools(file);
  if (!pools.ok()) return Fail(pools.status(), err);
  PoolReader reader;
  ImportStats stats;
  for (const std::string& input : inputs) {
    if (absl::Status s = ReadInput(input, reader, stats); !s.ok()) return Fail(s, err);
  }
  std::vector<SignalPoint> points;
  if (!series.empty()) {
    const absl::StatusOr<std::string> text = ReadWholeFile(series);
    if (!text.ok()) return Fail(text.status(), err);
    absl::StatusOr<std::vector<SignalPoint>> read = ReadSignals(series, *text);
    if (!read.ok()) return Fail(read.status(), err);
    points = *std::move(read);
  }
  int64_t now_s = reader.newest_s();
  for (const SignalPoint& point : points) now_s = std::max(now_s, point.at_s);
  if (!now.empty()) now_s = *ParseRfc3339(now);
  Json rows = Json::array();
  bool is_first = true;
  for (const SizedPool& pool : *pools) {
    const Evaluated evaluated = Evaluate(pool, reader, points, now_s);
    if (output == "json") {
      rows.push_back(AsJson(evaluated));
      continue;
    }
    if (!is_first) out << "\n";
    is_first = false;
    Print(evaluated, out);
  }
  if (output == "json") {
    out << IndentedJson(
        Json{{"version", kJsonVersion}, {"now", FormatRfc3339(now_s)}, {"pools", rows}});
  }
  return 0;
}

}  // namespace ebb
