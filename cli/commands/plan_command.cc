#include "cli/commands/plan_command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/commands/gate.h"
#include "cli/commands/search_interrupt.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/input_flags.h"
#include "cli/flags/option_flags.h"
#include "cli/print/explain_print.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/plan_print.h"
#include "cli/print/progress.h"
#include "cli/print/table.h"
#include "cli/print/terminal.h"
#include "groups/groups.h"
#include "options/option_field.h"
#include "planning/live_cluster.h"
#include "planning/plan_answer.h"
#include "planning/plan_waves.h"
#include "platform/clock.h"
#include "report/explain.h"
#include "report/page_data.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "session/wire_tables.h"
#include "session/wire_what_if.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/dump_kinds.h"
#include "snapshot/import/incomplete.h"
#include "what_if/counterfactual.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

constexpr const char* kInputGroup = "Input";
constexpr const char* kReplaceGroup = "Cheaper nodes";
// Flags of rounds that --waves uses.
constexpr std::string_view kUnneededTime = "scale-down-unneeded-time";
constexpr std::string_view kDelayAfterDelete = "scale-down-delay-after-delete";
constexpr std::string_view kFlagsOfWaves[] = {kUnneededTime, kDelayAfterDelete};

void AddNodeGroupsFlag(PlanCommand& command, CLI::App& app) {
  app.add_option("--node-groups", command.node_groups,
                 "YAML file about node groups (docs/plan.md); without it they come from labels")
      ->check(values::File())
      ->type_name("FILE")
      ->group(kInputGroup);
}

void AddLoadingFlags(PlanCommand& command, CLI::App& app) {
  std::vector<OptionField> fields = FieldsOf(command.options);
  std::erase_if(fields,
                [](const OptionField& field) { return field.row.about == OptionAbout::kLoading; });
  AddOptionFlags(fields, OptionGroup::kInput, app, kInputGroup, &command.given);
  AddLoadFlags(command.options.load, app, kInputGroup, &command.given);
}

void AddInputFlags(PlanCommand& command, CLI::App& app) {
  app.add_option("INPUT", command.inputs,
                 "What `ebb dump` writes, or `" + KubectlGet(DumpWords()) +
                     "` (or yaml) prints, the autoscaler's debugging snapshot, or ebb's own: "
                     "files, also .gz, folders, or - for stdin")
      ->check(values::File());
  // A watched file, or a daemon's session, may be the only input.
  app.final_callback([&command] {
    const bool has_other = command.watch.active() || command.at_server.active();
    if (command.inputs.empty() && !has_other) throw CLI::RequiredError("INPUT");
  });
  const std::string group = kInputGroup;
  AddNodeGroupsFlag(command, app);
  AddPriceFlags(command.prices, command.price_rules, group, app);
  app.add_option(
         "--nodes", command.nodes,
         "Smallest and largest size of a node group, over what --node-groups says of it, as "
         "cloud providers of the autoscaler spell it; may be given often")
      ->check(values::GroupSize(kGroupSizeMax))
      ->type_name("MIN:MAX:NAME")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--now", command.now,
                 "The time to plan for, as 2026-01-02T03:04:05Z (default: the clock's)")
      ->check(values::Time())
      ->type_name("TIME")
      ->group(group);
  AddLoadingFlags(command, app);
}

// Arrow and Parquet are written by the program of the package for Python (python/ebb_command),
// which takes these two words itself.
CLI::Validator PlanFormatChoice() {
  const CLI::Validator choice = values::Choice(PlanFormatNames());
  CLI::Validator validator = choice;
  validator.operation([choice](std::string& format) -> std::string {
    if (format != "arrow" && format != "parquet") return choice(format);
    return format + " is written by the program in ebb's wheel for Python (docs/python.md)";
  });
  return validator;
}

void AddOutputFlags(PlanCommand& command, CLI::App& app) {
  const std::string group = "Output";
  app.add_option("-o,--output", command.output,
                 "table, wide, json, yaml, csv (a row a node), name, markdown, sh (a script that "
                 "carries the plan out) or patch (commands that annotate the pods)")
      ->check(PlanFormatChoice())
      ->type_name("FORMAT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--explain", command.explain,
                 "Tell why this node is kept or goes, pod by pod, instead of the plan; X or "
                 "node/X, several with commas or by giving the flag again")
      ->check(values::NodeName())
      ->type_name("NODE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  app.add_flag("--counterfactual", command.counterfactual,
               "With --explain: tell which single changes would let the node go; each is tried")
      ->check(values::Switch())
      ->group(group);
  app.add_option("--what-if", command.what_if,
                 "Compare the plan with the one that changes to objects and flags in this file "
                 "would make (docs/what-if.md)")
      ->check(values::File())
      ->type_name("FILE")
      ->group(group);
  command.report.AddTo(app);
  app.add_flag("--all", command.all_rows,
               "Show every row of the table; on a terminal it ends after 40 otherwise")
      ->check(values::Switch())
      ->group(group);
  app.add_flag(
         "--exit-code", command.exit_code,
         "End with 10 if some node can go (with --state: is to be deleted now; with --what-if: can "
         "go after the changes), with 0 if none")
      ->check(values::Switch())
      ->group(group);
  command.fail_if.AddTo(app, group);
  app.add_flag("--stats", command.stats, "End stderr with a line of figures, as JSON")
      ->check(values::Switch())
      ->group(group);
}

void AddPassFlags(PlanCommand& command, CLI::App& app) {
  const std::string group = "Pass";
  AddOptionFlags(FieldsOf(command.options), OptionGroup::kPass, app, group, &command.given);
}

void AddTimeFlags(PlanCommand& command, CLI::App& app) {
  const std::string group = "Pass";
  app.add_option(
         "--scale-down-simulation-timeout", command.simulation_timeout,
         "End after this long with the plan so far, reading and verification included; with "
         "--state it bounds the pass alone (default: no limit)")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->group(group);
  app.add_option("--threads", command.threads,
                 "Threads to use; the plan is the same at any number (default: one a core)")
      ->check(values::WholeNumber(1, Parallelism::kThreadsMax))
      ->type_name("N")
      ->group(group);
}

void AddNodeAndPodFlags(PlanCommand& command, CLI::App& app) {
  const std::vector<OptionField> fields = FieldsOf(command.options);
  AddOptionFlags(fields, OptionGroup::kNodes, app, "Which nodes may go", &command.given);
  AddOptionFlags(fields, OptionGroup::kPods, app, "Which pods may be moved", &command.given);
}

void AddWaveFlags(PlanCommand& command, CLI::App& app) {
  const std::string group = "Waves";
  app.add_flag("--waves", command.waves,
               "Carry the plan on: budgets recover when evicted pods are ready elsewhere, and more "
               "nodes go, until none can (docs/waves.md)")
      ->check(values::Switch())
      ->group(group);
  app.add_option("--pod-startup-time", command.pod_startup_time,
                 "How long a pod takes from its eviction until it is ready elsewhere")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
}

void AddReplaceFlags(PlanCommand& command, CLI::App& app) {
  const std::string group = kReplaceGroup;
  app.add_flag("--replace", command.replace,
               "Also buy nodes if dearer ones can go then; needs --prices (docs/replace.md)")
      ->check(values::Switch())
      ->group(group);
  app.add_option("--max-new-nodes", command.purchases.max_new_nodes, "Buy at most so many nodes")
      ->check(values::WholeNumber(1, static_cast<int64_t>(kNewNodesMax)))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option(
         "--machine-types", command.machine_types,
         "File of machine types that may be bought, besides the shapes of the nodes of each "
         "group: YAML, or what aws, gcloud or az print as JSON (docs/replace.md)")
      ->check(values::File())
      ->type_name("FILE")
      ->group(group);
  app.add_option("--machine-type-groups", command.machine_type_groups,
                 "Groups that may have the machine types of a cloud's list, besides those with a "
                 "NodePool")
      ->check(values::Text())
      ->delimiter(',')
      ->type_name("GROUP,...")
      ->group(group);
  app.add_option("--max-tries", command.purchases.max_tries,
                 "Try at most so many sets of new nodes")
      ->check(values::WholeNumber(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--replace-budget", command.replace_budget,
                 "Begin no further set of new nodes after this time; the plan then depends on the "
                 "speed of the machine. Default: no limit")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->group(group);
  app.add_option("--min-saving", command.purchases.min_saving,
                 "Buy only if that saves at least this share of what the nodes cost that would "
                 "stay otherwise")
      ->transform(values::Share())  // check() would not change the text.
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(group);
  app.add_option("--min-score", command.purchases.min_score,
                 "Buy only if the plan's score is at least this: the share of the cost that it "
                 "saves, divided by the share of the disruption that it causes; 0.5 is the rule of "
                 "Karpenter's policy Balanced")
      ->check(values::Number(0, kScoreMax))
      ->type_name("SCORE")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--allow-spot", command.purchases.allow_spot,
               "Pods may move from on-demand nodes to new spot nodes")
      ->check(values::Switch())
      ->group(group);
}

}  // namespace

void PrintLoadWarnings(const LoadedCluster& cluster, std::ostream& err) {
  PrintLoadWarnings(cluster.counts.input, LeftOutText(cluster.counts), cluster.warnings, err);
}

void PrintLoadWarnings(const ImportStats& input, const std::string& left_out,
                       std::span<const InputWarning> warnings, std::ostream& err) {
  if (input.files_without_objects > 0) {
    PrintMessage(fmt::format("ignored {}: {}{}",
                             Count(input.files_without_objects, "file that holds no objects",
                                   "files that hold no objects"),
                             Printable(input.first_without_objects),
                             input.files_without_objects > 1 ? ", ..." : ""),
                 err);
  }
  if (input.files_skipped > 0) {
    PrintMessage(
        fmt::format(
            "skipped {}: {}{}",
            Count(input.files_skipped, "pipe, socket or device", "pipes, sockets or devices"),
            Printable(input.first_skipped), input.files_skipped > 1 ? ", ..." : ""),
        err);
  }
  if (!left_out.empty()) PrintMessage("left out " + left_out, err);
  PrintInputWarnings(warnings, err);
}

namespace {

uint64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

void PrintStats(const PlanStats& stats, std::ostream& err) {
  nlohmann::ordered_json json = {{"bytes", stats.bytes},
                                 {"import_s", stats.import_s},
                                 {"pass_s", stats.pass_s},
                                 {"verify_s", stats.verify_s},
                                 {"nodes", stats.nodes},
                                 {"pods", stats.pods},
                                 {"removed", stats.removed},
                                 {"passes", stats.passes},
                                 {"peak_rss_bytes", PeakRssBytes()}};
  if (stats.certificates && !stats.certificates->not_covered.empty()) {
    json["certificates_not_covered"] = stats.certificates->not_covered;
  } else if (stats.certificates) {
    json["certificates_held"] = stats.certificates->held;
    json["certificates_checked"] = stats.certificates->checked;
  }
  for (const TimedRebuild& each : stats.rebuilds) {
    nlohmann::ordered_json rebuild = {{"cause", ToString(each.rebuilt)}, {"s", each.seconds}};
    if (each.rebuilt.renewed_texts) rebuild["renewed_texts"] = true;
    json["rebuilds"].push_back(std::move(rebuild));
  }
  err << CompactJson(json) << "\n";
}

void PrintStats(const PlanReport& report, double import_s, std::ostream& err,
                std::span<const TimedRebuild> rebuilds) {
  const PlanContext& context = report.context;
  std::optional<PlanStats::Certificates> certificates;
  if (const StablePlan* const stable = context.stable; stable != nullptr) {
    certificates = {
        .held = stable->held,
        .checked = stable->checked,
        .not_covered = stable->not_covered ? std::string(ToString(*stable->not_covered)) : ""};
  }
  PrintStats({.bytes = context.cluster->counts.input.bytes,
              .import_s = import_s,
              .pass_s = context.pass_s,
              .verify_s = context.verify_s,
              .nodes = context.cluster->snapshot.nodes(),
              .pods = report.pods,
              .removed = report.remove.size(),
              .passes = context.made->passes,
              .rebuilds = rebuilds,
              .certificates = std::move(certificates)},
             err);
}

namespace {

// `remedies`: one for each node, or empty if none were requested.
void PrintExplained(const PlanReport& report, std::span<const NodeId> nodes,
                    std::span<const Counterfactual> remedies, PlanFormat format,
                    std::ostream& out) {
  if (format != PlanFormat::kJson && format != PlanFormat::kYaml) {
    wire::ExplainReply reply;
    PutExplanations(report, nodes, /*stops=*/nullptr, reply);
    PutRemedies(remedies, reply);
    return PrintExplanations(reply, OutputTerminal(), out);
  }
  nlohmann::ordered_json json = ExplanationJson(report, nodes);
  PutRemedies(remedies, json);
  out << (format == PlanFormat::kJson ? IndentedJson(json) : Yaml(json));
}

}  // namespace

void PlanCommand::AddPlanFlags(CLI::App& app) {
  AddInputFlags(*this, app);
  AddPassFlags(*this, app);
  questions.AddLimitsTo(app);
  AddTimeFlags(*this, app);
  AddNodeAndPodFlags(*this, app);
}

void PlanCommand::AddLoopFlags(CLI::App& app) {
  AddNodeGroupsFlag(*this, app);
  AddLoadingFlags(*this, app);
  AddPassFlags(*this, app);
  AddTimeFlags(*this, app);
  AddNodeAndPodFlags(*this, app);
  AddReplaceFlags(*this, app);
  AddPriceFlags(prices, price_rules, kReplaceGroup, app);
  over_time.AddLoopFlags(app, options, given);
}

void PlanCommand::AddTo(CLI::App& app) {
  AddPlanFlags(app);
  AddOutputFlags(*this, app);
  questions.AddTo(app);
  AddWaveFlags(*this, app);
  AddReplaceFlags(*this, app);
  over_time.AddTo(app, options, given);
  watch.AddTo(app);
  at_server.AddTo(app);
  RefuseMisfits("plan", app);
  TakeLastOfEach(app);
}

std::optional<Clock::time_point> PlanCommand::SimulationEnd(Clock::time_point start) const {
  if (simulation_timeout.empty()) return std::nullopt;
  return start + *ParseDuration(simulation_timeout);
}

PlanQuery PlanCommand::Query() const {
  const RoundOptions asked = WithoutFlagsOfRounds(options);
  PlanQuery query = questions.Query();
  query.planner = asked.scale_down.planner;
  query.order = asked.candidate_order;
  query.max_scale_down_parallelism = ScaleDownLimit();
  // The user acts upon the answer.
  if (query.stable && IsCarriedOut(output)) query.stable->verify_every = 1;
  return query;
}

absl::StatusOr<PlanQuery> PlanCommand::QueryAt(int64_t now_s, const GroupRules& rules) const {
  PlanQuery query = Query();
  query.groups = rules;
  query.now_s = now_s;
  absl::StatusOr<std::optional<PriceList>> list = ReadPriceFlags();
  if (!list.ok()) return list.status();
  query.prices = *std::move(list);
  return query;
}

absl::StatusOr<std::optional<PriceList>> PlanCommand::ReadPriceFlags() const {
  if (prices.empty()) return std::nullopt;
  absl::StatusOr<PriceList> list = ReadPrices(prices, ParsePriceRules(price_rules));
  if (!list.ok()) return list.status();
  return std::optional(*std::move(list));
}

std::optional<double> PlanCommand::SecondsLeft(Clock::time_point start) const {
  const auto end = SimulationEnd(start);
  if (!end) return std::nullopt;
  return std::chrono::duration<double>(*end - Clock::now()).count();
}

absl::StatusOr<int64_t> PlanCommand::Accept(const GroupRules& rules, LoadedCluster& cluster) const {
  std::vector<InputWarning> of_flags;
  if (over_time.app != nullptr) {
    if (auto warning = FlagsNotHonoured(*over_time.app)) of_flags.push_back(*warning);
  }
  const auto clock = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  absl::StatusOr<int64_t> now_s = CheckBeforePlan(
      rules, of_flags, now.empty() ? std::nullopt : ParseRfc3339(now), clock.count(), cluster);
  if (!now_s.ok()) return now_s;
  if (absl::Status s = CheckStrict(options.load, cluster.warnings); !s.ok()) return s;
  // The user acts upon names, scripts and rounds.
  const bool shown = !IsCarriedOut(output) && over_time.state.empty();
  absl::Status possible =
      shown ? CheckWhole(cluster.warnings, options.load.allow_incomplete)
            : CheckMayBeCarriedOut(cluster.warnings, options.load.allow_incomplete);
  if (!possible.ok()) return possible;
  return now_s;
}

std::vector<UsedFile> PlanCommand::Files() const {
  std::vector<UsedFile> files;
  for (const std::string& input : inputs) files.push_back({"INPUT", input, FileUse::kRead});
  for (const std::string& file : watch.files) {
    files.push_back({"--watch-file", file, FileUse::kRead});
  }
  files.push_back({"--node-groups", node_groups, FileUse::kRead});
  for (const std::string& name : prices) {
    if (name != kBuiltinPrices) files.push_back({"--prices", name, FileUse::kRead});
  }
  files.push_back({"--what-if", what_if, FileUse::kRead});
  files.push_back({"--machine-types", machine_types, FileUse::kRead});
  files.push_back(report.File());
  files.push_back({"--events", over_time.events, FileUse::kRead});
  files.push_back({"--state", over_time.state, FileUse::kDatabase});
  files.push_back({"--record", over_time.record, FileUse::kDatabase});
  files.push_back({"--metrics", over_time.metrics, FileUse::kWrite});
  return files;
}

std::vector<GroupSize> PlanCommand::GroupSizes() const {
  std::vector<GroupSize> sizes;
  for (const std::string& text : nodes) {
    GroupSizeParts parts = ParseGroupSize(text);
    sizes.push_back({.name = std::move(parts.name), .min_size = parts.min, .max_size = parts.max});
  }
  return sizes;
}

std::optional<int64_t> PlanCommand::ScaleDownLimit() const {
  const bool is_given =
      given.contains("max-scale-down-parallelism") || given.contains("max-empty-bulk-delete");
  if (!is_given) return std::nullopt;
  return options.scale_down.budgets.max_scale_down_parallelism;
}

bool PlanCommand::IsWholeAnswer() const {
  return output != "csv" && output != "markdown" && !IsCarriedOut(output);
}

bool PlanCommand::ExplainFlagsFit(std::ostream& err) const {
  if (explain.empty() || IsWholeAnswer()) return true;
  PrintMessage(
      "--explain: -o " + output + " is not a format of explanations; expected table, json or yaml",
      err, "ebb plan");
  err << "See `ebb plan --help`.\n";
  return false;
}

bool PlanCommand::CostFlagsFit(std::ostream& err) const {
  if (!fail_if.Fit(what_if.empty() ? PlanFigures() : ComparisonFigures(), "ebb plan", err)) {
    return false;
  }
  const char* wrong = nullptr;
  if (questions.ForCost() && prices.empty()) wrong = "--objective cost: pass --prices too";
  if (!questions.ForCost() && !replace && questions.search.move_cost > 0)
    wrong = "--move-cost: pass --objective cost too";
  if (prices.empty() && (fail_if.Names("saved") || fail_if.Names("cost")))
    wrong = "--fail-if: saved and cost need --prices";
  if (wrong == nullptr) return true;
  PrintMessage(wrong, err, "ebb plan");
  err << "See `ebb plan --help`.\n";
  return false;
}

bool PlanCommand::ReplaceFlagsFit(std::ostream& err) const {
  if (!replace || IsWholeAnswer()) return true;
  PrintMessage("--replace: -o " + output +
                   " does not say what to buy first; expected table, wide, json or yaml",
               err, "ebb plan");
  err << "See `ebb plan --help`.\n";
  return false;
}

bool PlanCommand::GangFlagsFit(std::ostream& err) const {
  if (options.scale_down.planner.drain.gangs != Gangs::kMove) return true;
  const char* wrong = nullptr;
  if (output == "sh") wrong = "-o sh drains node by node, and a gang's nodes are drained together";
  if (replace) wrong = "--replace searches, and a search does not move gangs whole";
  if (wrong == nullptr) return true;
  PrintMessage(fmt::format("--gangs=move: {}", wrong), err, "ebb plan");
  err << "See `ebb plan --help`.\n";
  return false;
}

bool PlanCommand::WaveFlagsFit(std::ostream& err) const {
  if (!waves || IsWholeAnswer()) return true;
  PrintMessage(
      "--waves: -o " + output + " is not a format of waves; expected table, wide, json or yaml",
      err, "ebb plan");
  err << "See `ebb plan --help`.\n";
  return false;
}

void PlanCommand::PrintFlagRemarks(std::ostream& err) const {
  if (over_time.app != nullptr) PrintIgnoredFlags(*over_time.app, err);
  std::span<const std::string_view> used;
  if (waves) used = kFlagsOfWaves;
  if (!over_time.active()) over_time.WarnUnused(err, used);
  WarnOfOldFlags(given, err);
}

int PlanCommand::Run(std::ostream& out, std::ostream& err) const {
  PrintFlagRemarks(err);
  if (!ExplainFlagsFit(err) || !CostFlagsFit(err) || !WaveFlagsFit(err) || !ReplaceFlagsFit(err) ||
      !GangFlagsFit(err)) {
    return 2;
  }
  if (absl::Status s = CheckFiles(Files()); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(report.file); !s.ok()) return Fail(s, err);
  Progress progress;
  progress.Say("reading");
  const absl::StatusOr<GroupRules> rules = ReadGroupRules();
  if (!rules.ok()) return Fail(rules.status(), err);
  const Parallelism parallelism(threads);
  const Clock::time_point start = Clock::now();
  if (counterfactual || replace) {
    const absl::StatusOr<std::unique_ptr<LiveCluster>> live =
        LiveCluster::FromInputs(inputs, options.load, parallelism);
    if (!live.ok()) return progress.Done(), Fail(live.status(), err);
    absl::StatusOr<LiveCluster::Version> version = (*live)->CheckedRecently();
    if (!version.ok()) return progress.Done(), Fail(version.status(), err);
    if (replace) {
      return ReplaceOver(**live, version->cluster, *rules, SecondsSince(start), progress, out, err);
    }
    return PlanOver(version->cluster, *rules,
                    {.since = start, .import_s = SecondsSince(start), .live = live->get()},
                    progress, out, err);
  }
  absl::StatusOr<LoadedCluster> cluster = LoadCluster(inputs, options.load, parallelism);
  if (!cluster.ok()) return progress.Done(), Fail(cluster.status(), err);
  return PlanOver(*cluster, *rules, {.since = start, .import_s = SecondsSince(start)}, progress,
                  out, err);
}

absl::StatusOr<GroupRules> PlanCommand::ReadGroupRules() const {
  GroupRules rules;
  if (!node_groups.empty()) {
    absl::StatusOr<GroupRules> read = ReadGroupFile(node_groups);
    if (!read.ok()) return read;
    rules = *std::move(read);
  }
  SetGroupSizes(GroupSizes(), rules);
  rules.readiness = options.readiness;
  rules.rule_set = options.rules;
  rules.max_node_startup_time_s = options.scale_down.max_node_startup_time_s;
  return rules;
}

namespace {

PlanHooks HooksOf(Progress& progress, const SearchInterrupt* interrupt) {
  return {.cancelled = interrupt != nullptr ? interrupt->ends() : nullptr,
          .on_better =
              [&progress](const PlanResult& plan) {
                progress.Say(fmt::format("planning: {} so far",
                                         Count(plan.plan.remove.size(), "node", "nodes")));
              },
          .on_step =
              [&progress](PlanStep step) {
                progress.Say(step == PlanStep::kTrials ? "trying the plan out" : "bounding");
              }};
}

void PrintAnswer(const PlanCommand& command, const PlanReport& report,
                 std::span<const NodeId> explained, const std::vector<Counterfactual>& remedies,
                 std::ostream& out) {
  const PlanFormat format = PlanFormatOf(command.output);
  if (command.explain.empty()) {
    PrintPlan(report, format, {.terminal = OutputTerminal(), .all_rows = command.all_rows}, out);
  } else {
    PrintExplained(report, explained, remedies, format, out);
  }
  out.flush();
}

}  // namespace

absl::StatusOr<PlanCommand::Made> PlanCommand::Make(LoadedCluster& cluster, const GroupRules& rules,
                                                    Clock::time_point since, Progress& progress,
                                                    std::ostream& err,
                                                    StablePlanner* memory) const {
  progress.Say("planning");
  // If a plan is refused because of warnings, the warnings are printed too.
  const auto refuse = [&](const absl::Status& status) {
    progress.Done();
    PrintLoadWarnings(cluster, err);
    return status;
  };
  const absl::StatusOr<int64_t> now_s = Accept(rules, cluster);
  if (!now_s.ok()) return refuse(now_s.status());
  absl::StatusOr<PlanQuery> query = QueryAt(*now_s, rules);
  if (!query.ok()) return query.status();
  query->seconds = SecondsLeft(since);
  std::optional<SearchInterrupt> interrupt;
  if (query->search || query->trials) interrupt.emplace();
  absl::StatusOr<std::unique_ptr<PlanAnswer>> answer =
      AnswerPlan(*query, cluster, HooksOf(progress, interrupt ? &*interrupt : nullptr),
                 Parallelism(threads), memory);  // Threads start when there is work for them.
  if (!answer.ok()) return answer.status();
  if (absl::Status s = CheckStrict(options.load, cluster.warnings); !s.ok()) return refuse(s);
  const bool interrupted = interrupt && interrupt->ends()->Expired();
  return Made{.query = *std::move(query), .answer = *std::move(answer), .interrupted = interrupted};
}

WaveModel PlanCommand::Model() const {
  WaveModel model{.pod_startup_s = DurationSeconds(pod_startup_time)};
  const ScaleDownOptions& rounds = options.scale_down;
  if (given.contains(kUnneededTime)) {
    model.unneeded_s = rounds.deletion.scale_down_unneeded_time_s;
  }
  if (given.contains(kDelayAfterDelete)) {
    model.delay_after_delete_s = rounds.cooldown.scale_down_delay_after_delete_s;
  }
  return model;
}

void PlanCommand::PrintRemarks(const Made& made, std::ostream& err) const {
  PrintLoadWarnings(*made.answer->cluster, err);
  if (made.interrupted) PrintMessage("interrupted; this is the best plan so far", err);
  // Names and rows have no place for it.
  if (made.answer->stable && (output == "name" || output == "csv")) {
    PrintMessage(fmt::format("stable plan: {}", ToString(made.answer->stable->origin)), err);
  }
  if (made.query.trials && !made.answer->trials) {
    PrintMessage("the time ended before the first trial of the plan", err);
  }
}

std::optional<double> PlanCommand::ReplaceBudget() const {
  if (replace_budget.empty()) return std::nullopt;
  return std::chrono::duration<double>(*ParseDuration(replace_budget)).count();
}

absl::StatusOr<ReplaceQuery> PlanCommand::ReadPurchases() const {
  ReplaceQuery asked = purchases;
  asked.move_cost = questions.search.move_cost;
  asked.budget_s = ReplaceBudget();
  if (machine_types.empty()) return asked;
  absl::StatusOr<MachineFile> file = ReadMachineFile(machine_types);
  if (!file.ok()) return file.status();
  asked.machines = *std::move(file);
  asked.machines->groups = machine_type_groups;
  return asked;
}

int PlanCommand::ReplaceOver(LiveCluster& live, LoadedCluster& cluster, const GroupRules& rules,
                             double import_s, Progress& progress, std::ostream& out,
                             std::ostream& err) const {
  const auto refuse = [&](const absl::Status& status) {
    progress.Done();
    PrintLoadWarnings(cluster, err);
    return Fail(status, err);
  };
  absl::StatusOr<ReplaceQuery> read = ReadPurchases();
  if (!read.ok()) return progress.Done(), Fail(read.status(), err);
  ReplaceQuery asked = *std::move(read);
  const absl::StatusOr<int64_t> now_s = Accept(rules, cluster);
  if (!now_s.ok()) return refuse(now_s.status());
  const absl::StatusOr<PlanQuery> query = QueryAt(*now_s, rules);
  if (!query.ok()) return progress.Done(), Fail(query.status(), err);
  progress.Say("looking for cheaper nodes");
  asked.on_tried = [&](size_t tried) {
    progress.Say(fmt::format("looking for cheaper nodes: {} tried",
                             Count(tried, "set of them", "sets of them")));
  };
  const absl::StatusOr<std::unique_ptr<ReplaceAnswer>> answer =
      AnswerReplace(*query, asked, live, cluster, {}, Parallelism(threads));
  if (!answer.ok()) return progress.Done(), Fail(answer.status(), err);
  const LoadedCluster& planned = *(*answer)->answer().cluster;
  if (absl::Status s = CheckStrict(options.load, planned.warnings); !s.ok()) return refuse(s);
  const PlanReport plan = MakeReport((*answer)->Context());
  progress.Done();
  PrintLoadWarnings(planned, err);
  if (report.active()) {
    const absl::Status written =
        WritePageFile(report.file, PageData(plan, PlanJson(plan), report.team_label));
    if (!written.ok()) return Fail(written, err);
  }
  PrintAnswer(*this, plan, {}, {}, out);
  if (stats) PrintStats(plan, import_s, err);
  return ExitCode(!plan.remove.empty());
}

int PlanCommand::PlanOver(LoadedCluster& cluster, const GroupRules& rules, const Loaded& loaded,
                          Progress& progress, std::ostream& out, std::ostream& err) const {
  const absl::StatusOr<Made> made =
      Make(cluster, rules, loaded.since, progress, err, loaded.memory);
  if (!made.ok()) return progress.Done(), Fail(made.status(), err);
  std::optional<PlanWaves> followed;
  PlanContext context = made->answer->Context();
  if (waves) {
    progress.Say("following waves");
    const auto end = SimulationEnd(loaded.since);
    std::optional<ClockDeadline> limit;
    if (end) limit.emplace(*end);
    absl::StatusOr<PlanWaves> found =
        FollowWaves(*made->answer, Model(), limit ? &*limit : nullptr);
    if (!found.ok()) return progress.Done(), Fail(found.status(), err);
    context.waves = &followed.emplace(*std::move(found));
  }
  const PlanReport plan = MakeReport(context);
  const absl::StatusOr<std::vector<NodeId>> explained = FindNodes(plan.context.catalog(), explain);
  absl::StatusOr<std::vector<Counterfactual>> remedies = std::vector<Counterfactual>();
  if (explained.ok() && loaded.live != nullptr) {
    progress.Say("trying changes");
    remedies = FindAllRemedies(plan, *explained, made->query, *loaded.live);
  }
  progress.Done();
  PrintRemarks(*made, err);
  if (!explained.ok()) {
    return Fail(absl::Status(explained.status().code(),
                             absl::StrCat("--explain: ", explained.status().message())),
                err);
  }
  if (!remedies.ok()) return Fail(remedies.status(), err);
  if (report.active()) {
    const absl::Status written =
        WritePageFile(report.file, PageData(plan, PlanJson(plan), report.team_label));
    if (!written.ok()) return Fail(written, err);
  }
  PrintAnswer(*this, plan, *explained, *remedies, out);
  if (stats) PrintStats(plan, loaded.import_s, err, loaded.rebuilds);
  return GateOf(fail_if, plan, ExitCode(!plan.remove.empty()), err);
}

}  // namespace ebb
