#include "cli/remote.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/commands/compare_command.h"
#include "cli/commands/gate.h"
#include "cli/commands/what_if.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/print/explain_print.h"
#include "cli/print/fail.h"
#include "cli/print/filter_print.h"
#include "cli/print/page_file.h"
#include "cli/print/plan_print.h"
#include "cli/print/progress.h"
#include "cli/print/terminal.h"
#include "cli/rounds/round_command.h"
#include "cli/rounds/wire_settings.h"
#include "daemon/client.h"
#include "groups/prices.h"
#include "options/round_options.h"
#include "platform/clock.h"
#include "platform/file_identity.h"
#include "platform/settings_file.h"
#include "report/plan_comparison.h"
#include "session/session_settings.h"
#include "session/wire_query.h"
#include "session/wire_tables.h"
#include "session/wire_what_if.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/incomplete.h"
#include "what_if/blockers.h"

namespace ebb {
namespace {

// Facts about the input that only this process knows, because the daemon sees just the snapshot.
struct Sent {
  ImportStats stats;
  double seconds = 0;
  std::string token;  // Of the cluster loaded from the input; "" if no input was sent.
};

// Sends all inputs as one snapshot.
absl::StatusOr<Sent> SendInputs(PlannerClient& client, const std::string& session,
                                std::span<const std::string> inputs, const LoadOptions& load,
                                size_t threads, const wire::Settings& settings) {
  Sent sent;
  const auto start = Clock::now();
  InputCensus census;
  const Parallelism parallelism(threads);
  // Nothing is sent before all input is read: of an object that comes in two versions, only the
  // newer one is sent.
  std::string snapshot;
  absl::Status read = LoadNewest(census, [&]() -> absl::Status {
    snapshot.clear();
    sent.stats = {};
    BinarySnapshotWriter writer([&](std::string_view bytes) {
      snapshot += bytes;
      return absl::OkStatus();
    });
    absl::Status status = census.Read(inputs, writer, sent.stats, parallelism, load.limits);
    return status.ok() ? writer.Finish() : status;
  });
  if (read.ok()) read = CheckAllFilesRead(sent.stats);
  if (!read.ok()) return read;
  const auto loaded = client.Load(session, settings, [&](const PlannerClient::Write& write) {
    constexpr size_t kPartBytes = size_t{1} << 20;
    for (size_t at = 0; at < snapshot.size(); at += kPartBytes) {
      absl::Status s = write(std::string_view(snapshot).substr(at, kPartBytes));
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  });
  if (!loaded.ok()) return loaded.status();
  sent.seconds = SecondsSince(start);
  sent.token = loaded->cluster_token();
  return sent;
}

absl::Status PutPrices(const PlanCommand& command, wire::PlanInput& input) {
  if (command.prices.empty()) return absl::OkStatus();
  const absl::StatusOr<std::optional<PriceList>> list = command.ReadPriceFlags();
  if (!list.ok()) return list.status();
  input.set_prices(PricesText(**list));
  // A name that ends in .csv would stand for CSV.
  input.set_prices_name((*list)->file.ends_with(".csv") ? "--prices" : (*list)->file);
  return absl::OkStatus();
}

absl::Status PutReplace(const PlanCommand& command, wire::PlanInput& input) {
  if (!command.replace) return absl::OkStatus();
  wire::Replace& replace = *input.mutable_replace();
  replace.set_max_new_nodes(static_cast<uint32_t>(command.purchases.max_new_nodes));
  replace.set_min_saving(command.purchases.min_saving);
  replace.set_min_score(command.purchases.min_score);
  replace.set_move_cost(command.questions.search.move_cost);
  replace.set_allow_spot(command.purchases.allow_spot);
  replace.set_max_tries(command.purchases.max_tries);
  if (const std::optional<double> budget = command.ReplaceBudget()) {
    replace.set_budget_seconds(*budget);
  }
  if (command.machine_types.empty()) return absl::OkStatus();
  replace.mutable_machine_type_groups()->Assign(command.machine_type_groups.begin(),
                                                command.machine_type_groups.end());
  absl::StatusOr<std::string> text = ReadWholeFile(command.machine_types);
  if (!text.ok()) return text.status();
  replace.set_machine_types(*std::move(text));
  replace.set_machine_types_name(command.machine_types);
  return absl::OkStatus();
}

// Fills in the question that the flags ask, without settings.
absl::Status PutQuestion(const PlanCommand& command, Clock::time_point start,
                         wire::PlanInput& input) {
  input.set_session(command.at_server.session);
  if (const auto max_age = command.at_server.MaxAgeSeconds()) {
    input.set_max_age_seconds(*max_age);
  }
  if (!command.now.empty()) input.set_now(*ParseRfc3339(command.now));
  if (absl::Status s = PutPrices(command, input); !s.ok()) return s;
  input.set_allow_incomplete(command.options.load.allow_incomplete);
  if (command.over_time.app != nullptr) {
    if (const auto warning = FlagsNotHonoured(*command.over_time.app)) {
      wire::Warning& told = *input.add_warnings();
      told.set_code(warning->code);
      told.set_message(warning->message);
      told.set_command(warning->command);
    }
  }
  PlanQuery query = command.Query();
  // Neither an explanation nor a comparison prints a bound or trials.
  if (!command.explain.empty() || !command.what_if.empty()) {
    query.bound = false;
    if (query.trials && !query.trials->robust) query.trials.reset();
  }
  query.seconds = command.SecondsLeft(start);
  PutQuery(query, input);
  if (command.waves) {
    const WaveModel model = command.Model();
    wire::WaveSettings& waves = *input.mutable_waves();
    waves.set_pod_startup_seconds(model.pod_startup_s);
    waves.set_unneeded_seconds(model.unneeded_s);
    waves.set_delay_after_delete_seconds(model.delay_after_delete_s);
  }
  return PutReplace(command, input);
}

absl::Status PutSettings(absl::StatusOr<wire::Settings> settings, wire::PlanInput& input) {
  if (!settings.ok()) return settings.status();
  if (settings->ByteSizeLong() == 0) return absl::OkStatus();
  *input.mutable_settings() = *std::move(settings);
  input.set_settings_over_session(true);
  return absl::OkStatus();
}

// The session, if it is being filled.
std::optional<wire::SessionStatus> FillingSession(PlannerClient& client,
                                                  const std::string& session) {
  const absl::StatusOr<wire::StatusReply> status = client.Status();
  if (!status.ok()) return std::nullopt;
  for (const wire::SessionStatus& each : status->sessions()) {
    if (each.session() == session && each.fill() == wire::SessionStatus::FILLING) return each;
  }
  return std::nullopt;
}

std::string FillingText(const wire::SessionStatus& session) {
  return fmt::format("session {} is being filled: {} so far, with {} and {}",
                     Printable(session.session()), Count(session.objects(), "object", "objects"),
                     Count(session.nodes(), "node", "nodes"), Count(session.pods(), "pod", "pods"));
}

// Repeats `ask` until the session is filled.  Errors: once --wait or `until` has passed, the error
// of the last call.  `until`: the end of the time limit of the whole command; absent: there is
// none.
template <typename Ask>
auto AskWhole(PlannerClient& client, const ServerFlags& flags,
              std::optional<Clock::time_point> until, std::ostream& err, Ask ask)
    -> decltype(ask()) {
  constexpr auto kLookEvery = std::chrono::milliseconds(100);
  constexpr double kWaitMaxS = 1e9;  // Decades; a larger value would overflow the clock.
  const auto wait = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(flags.WaitSeconds(), kWaitMaxS)));
  const auto end = until ? std::min(*until, Clock::now() + wait) : Clock::now() + wait;
  std::optional<Progress> progress;
  while (true) {
    auto reply = ask();
    if (!absl::IsUnavailable(reply.status()) || Clock::now() >= end) return reply;
    const std::optional<wire::SessionStatus> filling = FillingSession(client, flags.session);
    if (filling && !progress) {
      PrintMessage(
          fmt::format("{}; waits for it up to {} (--wait)", FillingText(*filling), flags.wait),
          err);
      err.flush();
      progress.emplace();
    }
    // Unavailable for another reason, or filled meanwhile.
    if (!filling) return progress ? ask() : reply;
    progress->Say(FillingText(*filling));
    std::this_thread::sleep_for(
        std::min<Clock::duration>(kLookEvery, std::max<Clock::duration>(end - Clock::now(), {})));
  }
}

void PrintExplained(const wire::ExplainReply& reply, PlanFormat format, std::ostream& out) {
  if (format == PlanFormat::kJson) {
    out << reply.json();
  } else if (format == PlanFormat::kYaml) {
    out << Yaml(nlohmann::ordered_json::parse(reply.json()));
  } else {
    PrintExplanations(reply, OutputTerminal(), out);
  }
}

// Makes the error read as it does without --server.
absl::Status OfExplain(const absl::Status& status) {
  const std::string message = absl::StrCat(status.message());
  if (!message.starts_with("no such node")) return status;
  return {status.code(), absl::StrCat("--explain: ", message)};
}

// Prints a note if --stats was given for a question that a daemon does not measure.
void PrintNoStats(const PlanCommand& command, std::ostream& err) {
  if (!command.stats) return;
  PrintMessage("note: with --server these do not count for this question: --stats", err);
}

// Asks a daemon the questions about plans that a command has.
struct PlanAsker {
  PlanAsker(const PlanCommand& plan_command, std::ostream& stream)
      : command(&plan_command), err(&stream), start(Clock::now()) {}

  // Connects, sends the inputs and prepares `input`.  Call it once, before Ask.
  absl::Status Begin() {
    if (command->questions.keeps && !command->inputs.empty()) {
      return absl::InvalidArgumentError(
          "--stable: takes no INPUT with --server; it keeps the last plan of a session that a "
          "feeder keeps up to date, and each INPUT is another cluster");
    }
    auto connected = PlannerClient::Connect(command->at_server.server);
    if (!connected.ok()) return connected.status();
    client = *std::move(connected);
    if (!command->inputs.empty()) {
      const absl::StatusOr<wire::Settings> settings = SettingsOf(*command);
      if (!settings.ok()) return settings.status();
      absl::StatusOr<Sent> loaded = SendInputs(*client, command->at_server.session, command->inputs,
                                               command->options.load, command->threads, *settings);
      if (!loaded.ok()) return loaded.status();
      sent = *std::move(loaded);
    }
    absl::Status put = PutQuestion(*command, start, input);
    if (put.ok() && command->inputs.empty()) put = PutSettings(GivenOptionsOf(*command), input);
    if (!put.ok()) return put;
    input.set_cluster_token(sent.token);
    if (const auto end = command->SimulationEnd(start)) {
      // The daemon itself ends a plan in time.  The client waits longer, because the planner gets
      // half of a call's deadline.
      const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(*end - start);
      constexpr std::chrono::milliseconds kYear = std::chrono::hours(24 * 365);
      client->SetTimeout(3 * std::min(time, kYear) + std::chrono::seconds(10));
    }
    return absl::OkStatus();
  }

  // Returns the daemon's answer, once the session is filled.  Prints its warnings.
  // Errors: those of the call and of CheckStrict.
  template <typename Reply, typename Call>
  absl::StatusOr<Reply> Ask(absl::StatusOr<Reply> (PlannerClient::*method)(const Call&),
                            const Call& call) {
    absl::StatusOr<Reply> reply =
        AskWhole(*client, command->at_server, command->SimulationEnd(start), *err,
                 [&] { return (client.get()->*method)(call); });
    if (!reply.ok()) return reply;
    const std::vector<InputWarning> warnings = ReadWarnings(*reply);
    PrintLoadWarnings(sent.stats, reply->left_out(), warnings, *err);
    if (absl::Status s = CheckStrict(command->options.load, warnings); !s.ok()) return s;
    return reply;
  }

  const PlanCommand* command;
  std::ostream* err;
  Clock::time_point start;
  std::unique_ptr<PlannerClient> client;
  Sent sent;
  wire::PlanInput input;
};

// Writes the page of --report about the plan that `call` asks for.  A daemon's plan does not say
// what each pod requests.
absl::Status WritePlanPage(const PlanCommand& command, wire::PlanCall call, PlanAsker& asker) {
  call.set_form(wire::AS_JSON);
  const absl::StatusOr<wire::PlanReply> reply = asker.client->Plan(call);
  if (!reply.ok()) return reply.status();
  absl::StatusOr<nlohmann::ordered_json> plan = ParseJson(reply->plan());
  if (!plan.ok()) return plan.status();
  return WritePageFile(command.report.file, {{"plan", *std::move(plan)}});
}

}  // namespace

int PlanAtServer(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  command.PrintFlagRemarks(err);
  if (!command.ExplainFlagsFit(err) || !command.CostFlagsFit(err)) return 2;
  if (!command.WaveFlagsFit(err) || !command.ReplaceFlagsFit(err)) return 2;
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  PlanAsker asker(command, err);
  if (absl::Status s = asker.Begin(); !s.ok()) return Fail(s, err);
  const PlanFormat format = PlanFormatOf(command.output);
  if (!command.explain.empty()) {
    PrintNoStats(command, err);
    wire::ExplainCall call;
    *call.mutable_input() = asker.input;
    call.set_form(FormOf(format));
    for (const std::string& node : command.explain) call.add_nodes(node);
    call.set_remedies(command.counterfactual);
    const absl::StatusOr<wire::ExplainReply> reply = asker.Ask(&PlannerClient::Explain, call);
    if (!reply.ok()) return Fail(OfExplain(reply.status()), err);
    PrintExplained(*reply, format, out);
    return command.ExitCode(reply->removes() > 0);
  }
  const PrintOptions print{.terminal = OutputTerminal(), .all_rows = command.all_rows};
  const PlanDetail detail = DetailFor(format, print);
  wire::PlanCall call;
  *call.mutable_input() = asker.input;
  // Names alone do not have the figures of --fail-if.
  const bool names = format == PlanFormat::kName;
  call.set_form(names && command.fail_if.active() ? wire::AS_TABLES : FormOf(format));
  call.set_rows(detail.rows);
  call.set_every_node(detail.every_node);
  absl::StatusOr<wire::PlanReply> reply = asker.Ask(&PlannerClient::Plan, call);
  if (!reply.ok()) return Fail(reply.status(), err);
  if (command.replace && !reply->has_purchases()) {
    return Fail(absl::FailedPreconditionError(
                    "--replace: the daemon is older than this program and buys no nodes"),
                err);
  }
  if (names && reply->has_tables()) {
    for (const wire::TableNode& node : reply->tables().remove()) reply->add_names(node.node());
  }
  if (call.input().has_trials() && !reply->tried_out()) {
    PrintMessage("the time ended before the first trial of the plan", err);
  }
  if (reply->has_stable() && (format == PlanFormat::kName || format == PlanFormat::kCsv)) {
    PrintMessage("stable plan: " + Printable(reply->stable().origin()), err);
  }
  if (command.report.active()) {
    if (absl::Status s = WritePlanPage(command, call, asker); !s.ok()) return Fail(s, err);
  }
  PrintPlan(*reply, format, print, out);
  out.flush();
  if (command.stats) {
    std::optional<PlanStats::Certificates> certificates;
    if (reply->has_stable()) {
      certificates = {.held = reply->stable().certificates_held(),
                      .checked = reply->stable().certificates_checked(),
                      .not_covered = reply->stable().certificates_not_covered()};
    }
    PrintStats({.bytes = asker.sent.stats.bytes,
                .import_s = asker.sent.seconds,
                .pass_s = reply->pass_seconds(),
                .verify_s = reply->verify_seconds(),
                .nodes = reply->nodes(),
                .pods = reply->pods(),
                .removed = reply->removes(),
                .passes = reply->passes(),
                .certificates = std::move(certificates)},
               err);
  }
  return GateOf(command.fail_if, *reply, command.ExitCode(reply->removes() > 0), err);
}

int WhatIfAtServer(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  command.PrintFlagRemarks(err);
  PrintNoStats(command, err);
  if (!CompareFlagsFit(command, err)) return 2;
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  const absl::StatusOr<WhatIfQuestion> question = ReadQuestion(command);
  if (!question.ok()) return Fail(question.status(), err);
  absl::StatusOr<std::string> changes = ReadWholeFile(command.what_if);
  if (!changes.ok()) return Fail(changes.status(), err);
  PlanAsker asker(command, err);
  if (absl::Status s = asker.Begin(); !s.ok()) return Fail(s, err);
  wire::WhatIfCall call;
  *call.mutable_input() = asker.input;
  const PlanCommand& changed = question->changed;
  absl::Status put = PutQuestion(changed, asker.start, *call.mutable_then());
  if (put.ok()) put = PutSettings(ChangedOptionsOf(command, changed), *call.mutable_then());
  if (!put.ok()) return Fail(put, err);
  call.set_changes(*std::move(changes));
  call.set_changes_name(command.what_if);
  const absl::StatusOr<wire::WhatIfReply> reply = asker.Ask(&PlannerClient::WhatIf, call);
  if (!reply.ok()) return Fail(reply.status(), err);
  const std::vector<std::string> notes(reply->notes().begin(), reply->notes().end());
  PrintNotes(notes, err);
  const PlanComparison comparison = ReadComparison(reply->differences());
  if (command.report.active()) {
    const absl::Status written =
        WritePageFile(command.report.file, {{"comparison", ComparisonJson(comparison)}});
    if (!written.ok()) return Fail(written, err);
  }
  PrintComparison(comparison, command.output, command.all_rows, out);
  out.flush();
  return GateOf(command.fail_if, comparison, command.ExitCode(comparison.after.removed > 0), err);
}

int BlockersAtServer(const BlockersCommand& command, std::ostream& out, std::ostream& err) {
  command.plan.PrintFlagRemarks(err);
  if (absl::Status s = CheckFiles(command.plan.Files()); !s.ok()) return Fail(s, err);
  PlanAsker asker(command.plan, err);
  if (absl::Status s = asker.Begin(); !s.ok()) return Fail(s, err);
  wire::BlockersCall call;
  *call.mutable_input() = asker.input;
  call.set_limit(static_cast<uint32_t>(command.limit));
  call.set_sets(static_cast<uint32_t>(command.sets));
  const absl::StatusOr<wire::BlockersReply> reply = asker.Ask(&PlannerClient::Blockers, call);
  if (!reply.ok()) return Fail(reply.status(), err);
  const Blockers blockers = ReadBlockers(*reply);
  if (command.plan.report.active()) {
    nlohmann::ordered_json json = BlockersJson(blockers);
    if (reply->has_currency()) json["currency"] = reply->currency();
    const absl::Status written =
        WritePageFile(command.plan.report.file, {{"blockers", std::move(json)}});
    if (!written.ok()) return Fail(written, err);
  }
  command.Print(blockers, /*requests=*/nullptr, ReadWarnings(*reply),
                reply->has_currency() ? std::optional(reply->currency()) : std::nullopt, out);
  return 0;
}

int FrontierAtServer(const FrontierCommand& command, std::ostream& out, std::ostream& err) {
  command.plan.PrintFlagRemarks(err);
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  PlanAsker asker(command.plan, err);
  if (absl::Status s = asker.Begin(); !s.ok()) return Fail(s, err);
  wire::FrontierCall call;
  *call.mutable_input() = asker.input;
  const SearchQuery search = command.SearchFrom(asker.start);
  wire::Search& to = *call.mutable_input()->mutable_search();
  to.set_budget_seconds(std::max(search.budget_s, 0.0));
  if (search.iterations) to.set_iterations(*search.iterations);
  to.set_seed(static_cast<uint32_t>(search.seed));
  const absl::StatusOr<wire::FrontierReply> reply = asker.Ask(&PlannerClient::Frontier, call);
  if (!reply.ok()) return Fail(reply.status(), err);
  return command.Print(
      StoryOf(ReadFrontier(*reply), reply->nodes(), ReadWarnings(*reply),
              reply->has_currency() ? std::optional(reply->currency()) : std::nullopt),
      out, err);
}

int FilterAtServer(const FilterCommand& command, std::ostream& out, std::ostream& err) {
  if (command.pods.empty()) {
    PrintMessage("pass --pod NAMESPACE/NAME", err, "ebb filter");
    return 2;
  }
  std::vector<UsedFile> files;
  for (const std::string& input : command.inputs) {
    files.push_back({"INPUT", input, FileUse::kRead});
  }
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  auto client = PlannerClient::Connect(command.at_server.server);
  if (!client.ok()) return Fail(client.status(), err);
  Sent sent;
  if (!command.inputs.empty()) {
    RoundOptions options;
    options.load = command.load;
    wire::Settings settings;
    if (absl::Status s = PutOptions(OptionsJson(options), settings); !s.ok()) return Fail(s, err);
    absl::StatusOr<Sent> loaded = SendInputs(**client, command.at_server.session, command.inputs,
                                             command.load, Parallelism::Cores(), settings);
    if (!loaded.ok()) return Fail(loaded.status(), err);
    sent = *std::move(loaded);
  }
  wire::FilterCall call;
  call.set_session(command.at_server.session);
  for (const std::string& pod : command.pods) call.add_pods(pod);
  call.set_node(command.node);
  call.set_allow_incomplete(command.load.allow_incomplete);
  call.set_form(command.output == "json" ? wire::AS_JSON : wire::AS_TABLES);
  call.set_cluster_token(sent.token);
  if (const auto max_age = command.at_server.MaxAgeSeconds()) {
    call.set_max_age_seconds(*max_age);
  }
  const absl::StatusOr<wire::FilterReply> reply = AskWhole(
      **client, command.at_server, std::nullopt, err, [&] { return (*client)->Filter(call); });
  if (!reply.ok()) return Fail(reply.status(), err);
  const std::vector<InputWarning> warnings = ReadWarnings(*reply);
  if (absl::Status s = CheckStrict(command.load, warnings); !s.ok()) {
    PrintLoadWarnings(sent.stats, reply->left_out(), warnings, err);
    return Fail(s, err);
  }
  if (command.output == "json") {
    out << reply->json();
  } else {
    PrintFilterTables(*reply, out);
  }
  PrintLoadWarnings(sent.stats, reply->left_out(), warnings, err);
  return 0;
}

}  // namespace ebb
