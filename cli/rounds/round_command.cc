#include "cli/rounds/round_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/page_file.h"
#include "cli/print/plan_print.h"
#include "cli/print/round_print.h"
#include "cli/print/terminal.h"
#include "options/round_options.h"
#include "platform/clock.h"
#include "platform/file_identity.h"
#include "platform/output_file.h"
#include "platform/settings_file.h"
#include "report/page_data.h"
#include "report/story.h"
#include "rounds/round_driver.h"
#include "rounds/round_replay.h"
#include "rounds/round_settings.h"
#include "rounds/round_source.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

// The content of the file that a flag names; absent if the flag names no file.
absl::StatusOr<std::optional<NamedText>> ReadText(const std::string& path) {
  if (path.empty()) return std::nullopt;
  absl::StatusOr<std::string> text = ReadWholeFile(path, kDataLimits.bytes);
  if (!text.ok()) return text.status();
  return NamedText{path, *std::move(text)};
}

absl::StatusOr<RoundSettings> ReadSettings(const PlanCommand& command) {
  auto groups = ReadText(command.node_groups);
  if (!groups.ok()) return groups.status();
  auto events = ReadText(command.over_time.events);
  if (!events.ok()) return events.status();
  return MakeSettings(command.options, {.groups = *std::move(groups),
                                        .group_sizes = command.GroupSizes(),
                                        .events = *std::move(events)});
}

// Prints the warnings about the input and the log of the round.
void PrintLog(const RoundSource& source, const RoundOutcome& round, std::ostream& err) {
  PrintLoadWarnings(source.cluster, err);
  for (const std::string& line : source.log) PrintMessage(PrintableLine(line), err);
  for (const std::string& line : round.log) PrintMessage(PrintableLine(line), err);
}

absl::Status WriteMetrics(OutputFile& file, const std::string& text, int64_t round) {
  absl::Status written = file.Write(text);
  if (written.ok()) written = file.Commit();
  if (written.ok()) return written;
  return absl::InvalidArgumentError(
      absl::StrCat(written.message(), "; round ", round,
                   " was made and saved; the next round writes its metrics"));
}

// Prints the decision of a saved round, then its metrics.  Returns false if printing failed.
bool PrintDecision(const PlanCommand& command, const RoundOutcome& round, const RoundDriver& driver,
                   std::ostream& out, std::ostream& err) {
  PrintRoundOutcome(round, PlanFormatOf(command.output),
                    {.terminal = OutputTerminal(), .all_rows = command.all_rows}, out);
  if (command.over_time.metrics == "-") out << driver.MetricsText();
  out.flush();
  if (out.good()) return true;
  PrintMessage(fmt::format("round {} was made and saved, but its decision could "
                           "not be printed; the next round names its nodes again",
                           round.number),
               err);
  return false;
}

int ExitCodeOf(const PlanCommand& command, const RoundResult& result, std::ostream& err) {
  if (result.status == ScaleDownStatus::kClockJumped) {
    PrintMessage(
        result.message + "; see `ebb state set-clock` and --clock-jump-max in docs/rounds.md", err);
    return kExitClockJumped;
  }
  return command.ExitCode(!result.start.empty.empty() || !result.start.drain.empty());
}

}  // namespace

int RunRound(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  if (command.output == "sh" || command.output == "patch") {
    PrintMessage("--state: -o " + command.output +
                     " is not a format of rounds; expected table, wide, json, yaml, csv or name",
                 err, "ebb plan");
    err << "See `ebb plan --help`.\n";
    return 2;
  }
  const RoundFlags& flags = command.over_time;
  command.PrintFlagRemarks(err);
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(command.report.file); !s.ok()) return Fail(s, err);
  absl::StatusOr<RoundSettings> settings = ReadSettings(command);
  if (!settings.ok()) return Fail(settings.status(), err);
  auto opened = RoundDriver::Open(
      {.state = flags.state, .rounds_kept = flags.rounds_kept, .record = flags.record});
  if (!opened.ok()) return Fail(opened.status(), err);
  RoundDriver& driver = **opened;
  settings->report = driver.reports().With(settings->report);

  const Parallelism parallelism(command.threads);
  const Clock::time_point start = Clock::now();
  absl::StatusOr<RoundSource> source = ReadSource(
      command.inputs, *settings, driver.before(),
      flags.record.empty() ? RoundObjects::kNone : RoundObjects::kForRecord, parallelism);
  if (!source.ok()) return Fail(source.status(), err);
  if (absl::Status s = driver.CheckCluster(*source); !s.ok()) return Fail(s, err);
  const absl::StatusOr<int64_t> now_s = command.Accept(settings->groups, source->cluster);
  if (!now_s.ok()) {
    PrintLoadWarnings(source->cluster, err);
    return Fail(now_s.status(), err);
  }
  if (*now_s < 0) {
    return Fail(absl::InvalidArgumentError("--now: a round is not before 1970"), err);
  }
  const double import_s = SecondsSince(start);

  std::optional<ClockDeadline> deadline;
  if (!command.simulation_timeout.empty()) {
    deadline.emplace(Clock::now() + *ParseDuration(command.simulation_timeout));
  }
  const auto made = driver.Make(*settings, *now_s, *source, deadline ? &*deadline : nullptr);
  if (!made.ok()) return Fail(made.status(), err);
  const RoundOutcome& round = **made;
  PrintLog(*source, round, err);
  if (round.result.status == ScaleDownStatus::kError) {
    return Fail(absl::InternalError(round.result.message), err);
  }
  // If the file of metrics cannot be created, the command fails before the state is saved, so that
  // no decision is lost.
  std::optional<OutputFile> metrics;
  if (!flags.metrics.empty() && flags.metrics != "-") {
    absl::StatusOr<OutputFile> file = OutputFile::Create(flags.metrics);
    if (!file.ok()) return Fail(file.status(), err);
    metrics.emplace(*std::move(file));
  }
  if (absl::Status s = driver.Save(round, *source); !s.ok()) return Fail(s, err);
  // The state is saved before any deletion is printed.  Metrics are written after the decision,
  // because their file may be standard output under another name.
  const bool printed = PrintDecision(command, round, driver, out, err);
  if (metrics) {
    if (absl::Status s = WriteMetrics(*metrics, driver.MetricsText(), round.number); !s.ok()) {
      return Fail(s, err);
    }
  }
  if (!printed) return 1;
  if (command.report.active()) {
    const absl::Status written = WritePageFile(
        command.report.file, PageData(*round.report, *round.json, command.report.team_label));
    if (!written.ok()) return Fail(written, err);
  }
  if (command.stats) PrintStats(*round.report, import_s, err);
  return ExitCodeOf(command, round.result, err);
}

namespace {

// The rounds over time, and each as a row.
class ReplayStory {
 public:
  void Add(const ReplayedRound& round) {
    if (rows_.empty()) begin_s_ = round.now_s;
    const auto at_s = static_cast<double>(round.now_s - begin_s_);
    nodes_.points.emplace_back(at_s, round.nodes);
    unneeded_.points.emplace_back(at_s, round.unneeded);
    in_deletion_.points.emplace_back(at_s, round.in_deletion);
    rows_.push_back({std::to_string(round.round), FormatRfc3339(round.now_s), round.status,
                     WithCommas(round.nodes), WithCommas(round.unneeded), WithCommas(round.started),
                     WithCommas(round.in_deletion),
                     round.departure.empty() ? "identical" : round.departure});
  }

  [[nodiscard]] nlohmann::ordered_json Data(const std::string& record,
                                            const std::string& headline) const {
    Story page("ebb replay", record, headline);
    page.Part("time", "Over time")
        .Chart("Nodes", {.lines = {nodes_}})
        .Chart("Unneeded nodes, and deletions in progress", {.lines = {unneeded_, in_deletion_}});
    page.Part("rounds", "Rounds")
        .Table("",
               {"round", "time", "status", "nodes", "unneeded", "started", "in deletion",
                "decision, beside the recorded one"},
               rows_);
    return std::move(page).Data();
  }

 private:
  int64_t begin_s_ = 0;
  StoryLine nodes_{.name = "nodes"};
  StoryLine unneeded_{.name = "unneeded"};
  StoryLine in_deletion_{.name = "in deletion"};
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace

void ReplayCommand::AddTo(CLI::App& app) {
  app.add_option("RECORD", record, "A file that `ebb plan --record` wrote")
      ->check(values::File())
      ->required();
  app.add_option("--report", report, "Write a page about the rounds, in one file of HTML")
      ->check(values::File())
      ->type_name("FILE");
}

int ReplayCommand::Run(std::ostream& out, std::ostream& err) const {
  std::vector<UsedFile> files = {{"RECORD", record, FileUse::kDatabase}};
  if (!report.empty()) files.push_back({"--report", report, FileUse::kWrite});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  if (absl::Status s = CheckPageFile(report); !s.ok()) return Fail(s, err);
  size_t rounds = 0;
  size_t same = 0;
  ReplayStory story;
  const absl::Status status = ReplayRecord(record, [&](const ReplayedRound& round) {
    ++rounds;
    same += round.departure.empty() ? 1 : 0;
    if (!report.empty()) story.Add(round);
    out << fmt::format(
        "round {} at {}: {}\n", round.round, FormatRfc3339(round.now_s),
        round.departure.empty() ? "identical" : "DIFFERENT: " + PrintableLine(round.departure));
  });
  if (!status.ok()) return Fail(status, err);
  const std::string headline =
      fmt::format("{} of {} identical", same, Count(rounds, "round", "rounds"));
  if (!report.empty()) {
    const absl::Status written = WritePageFile(report, story.Data(record, headline));
    if (!written.ok()) return Fail(written, err);
  }
  out << headline << "\n";
  out.flush();
  return same == rounds ? 0 : 1;
}

}  // namespace ebb
