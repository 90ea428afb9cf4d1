#include "cli/commands/serve_command.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/commands/end_signals.h"
#include "cli/flags/exclusions.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/table.h"
#include "daemon/call_log.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/memory.h"
#include "loop/run/loop_log.h"
#include "platform/service_manager.h"
#include "session/wire_unremovable.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

uint64_t MachineBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void AddLimit(CLI::App& app, const std::string& name, int64_t& value, int64_t max,
              const std::string& text) {
  app.add_option(name, value, text)
      ->check(values::WholeNumber(1, static_cast<uint64_t>(max)))
      ->type_name("N")
      ->capture_default_str()
      ->group("Limits");
}
void AddByteLimit(CLI::App& app, const std::string& name, uint64_t& value,
                  const std::string& text) {
  app.add_option_function<std::string>(
         name, [&value](const std::string& bytes) { value = ParseBytes(bytes); }, text)
      ->check(values::Bytes())
      ->type_name("BYTES")
      ->group("Limits");
}

using Json = nlohmann::ordered_json;

const char* FillWord(const wire::SessionStatus& session) {
  switch (session.fill()) {
    case wire::SessionStatus::FILLING:
      return "filling";
    case wire::SessionStatus::MAYBE_INCOMPLETE:
      return "maybeIncomplete";
    case wire::SessionStatus::WHOLE:
      return "whole";
    default:
      return "empty";
  }
}

// "whole, fed", "filling since 2026-06-01T12:00:00Z".
std::string ClusterText(const wire::SessionStatus& session) {
  std::string text = session.fill() == wire::SessionStatus::MAYBE_INCOMPLETE ? "may be incomplete"
                                                                             : FillWord(session);
  if (session.has_filling_since()) {
    return text + " since " + FormatRfc3339(session.filling_since());
  }
  if (session.feeds() > 0) return text + ", fed";
  if (session.has_not_fed_since()) {
    text += ", not fed since " + FormatRfc3339(session.not_fed_since());
  }
  return text;
}

Json StatusOf(const wire::SessionStatus& session) {
  Json json = {{"session", session.session()},
               {"version", session.version()},
               {"nodes", session.nodes()},
               {"pods", session.pods()},
               {"put", session.put()},
               {"deleted", session.deleted()},
               {"unchanged", session.unchanged()},
               {"older", session.older()},
               {"unknownDeletes", session.unknown_deletes()},
               {"rebuilds", session.rebuilds()},
               {"plans", session.plans()},
               {"rounds", session.rounds()},
               {"callsWaiting", session.calls_waiting()},
               {"fill", FillWord(session)},
               {"objects", session.objects()},
               {"feeds", session.feeds()}};
  if (session.has_filling_since()) {
    json["fillingSince"] = FormatRfc3339(session.filling_since());
  }
  if (session.has_as_of()) json["asOf"] = FormatRfc3339(session.as_of());
  if (session.has_not_fed_since()) {
    json["notFedSince"] = FormatRfc3339(session.not_fed_since());
  }
  if (!session.cluster_uid().empty()) json["clusterUid"] = session.cluster_uid();
  if (session.has_last_plan_version()) {
    json["lastPlan"] = {{"version", session.last_plan_version()},
                        {"removed", session.last_plan_removes()},
                        {"seconds", RoundedAmount(session.last_plan_seconds())}};
  }
  if (session.has_unremovable()) {
    json["lastRound"] = {
        {"at", FormatRfc3339(session.last_round_at())},
        {"unremovable", UnremovableAsJson(ReadUnremovable(session.unremovable()))}};
  }
  return json;
}

Json StatusJson(const wire::VersionReply& version, const wire::StatusReply& status) {
  Json json = {{"apiVersion", version.plan_api_version()},
               {"kind", "ServerStatus"},
               {"version", version.version()},
               {"process", version.pid()},
               {"startedAt", FormatRfc3339(version.started_at())},
               {"residentBytes", status.resident_bytes()},
               {"sessions", Json::array()}};
  for (const wire::SessionStatus& session : status.sessions()) {
    json["sessions"].push_back(StatusOf(session));
  }
  return json;
}

}  // namespace

void ServeCommand::AddTo(CLI::App& app) {
  app.add_option("--socket", socket,
                 "The socket to listen on, in a folder that others may not write; without it "
                 "the one that systemd hands over")
      ->check(values::File())
      ->type_name("PATH");
  app.add_flag("--make-folder", make_folder,
               "Make the socket's folder, for this user alone, unless it exists")
      ->check(values::Switch());
  app.add_option("--state-folder", state_folder,
                 "Folder of the sessions' state files, NAME.db; without it there are no rounds")
      ->check(values::File())
      ->type_name("DIR");
  app.add_option("--metrics-address", metrics_address,
                 "Metrics and a page over HTTP at HOST:PORT, for everybody who can reach it: "
                 "use 127.0.0.1:8085 or the like")
      ->check(values::Text())
      ->type_name("HOST:PORT");
  app.add_option("--metrics-socket", metrics_socket, "The same on a Unix socket, for this user")
      ->check(values::File())
      ->type_name("PATH");
  app.add_option("--allow-user", allowed_users,
                 "Uid of a user who may connect, in place of the one that ebb runs as; may be "
                 "given often")
      ->check(values::WholeNumber(0, UINT32_MAX))
      ->type_name("UID")
      ->allow_extra_args(false);
  app.add_option("--log", log, "A line a call and a rebuild on stderr: text, json or none")
      ->check(values::Choice({"text", "json", "none"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  app.add_option("--grace", grace, "How long calls may go on after SIGTERM or SIGINT")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--rounds-kept", rounds_kept, "Rounds that a state file keeps")
      ->check(values::WholeNumber(1, 1'000'000))
      ->type_name("N")
      ->capture_default_str();
  AddLimit(app, "--max-sessions", sessions_max, 10'000, "Sessions at once");
  AddLimit(app, "--max-objects", objects_max, 1'000'000'000, "Objects of a session");
  AddLimit(app, "--max-waiting-calls", calls_max, 1'000'000, "Calls of a session that wait");
  AddByteLimit(app, "--max-message", message_bytes_max, "A message (default: 64MiB)");
  AddByteLimit(app, "--max-dump", dump_bytes_max,
               "A dump, as it is sent and unpacked (default: 4GiB)");
  AddByteLimit(app, "--max-object", object_bytes_max, "One object (default: 10MiB)");
  AddByteLimit(app, "--max-memory", memory_bytes_max,
               "Memory of the process, beyond which changes are refused (default: three quarters "
               "of the machine's)");
  status_app = app.add_subcommand("status", "Tell what a daemon serves");
  status_app->add_option("--server", server, "The daemon, as unix:PATH")
      ->check(values::Text())
      ->type_name("unix:PATH")
      ->required();
  status_app->add_option("-o,--output", output, "How to print")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  RefuseMisfits("serve", app);
  TakeLastOfEach(*status_app);
  TakeLastOfEach(app);
}

DaemonOptions ServeCommand::Options(int inherited) const {
  DaemonOptions options;
  options.listener.path = socket;
  options.listener.inherited = inherited;
  for (const int64_t user : allowed_users) {
    options.listener.allowed_users.insert(static_cast<uid_t>(user));
  }
  options.pages = {.address = metrics_address, .socket = metrics_socket};
  options.session.state_folder = state_folder;
  options.session.rounds_kept = rounds_kept;
  options.session.objects_max = static_cast<uint64_t>(objects_max);
  options.session.object_bytes_max = object_bytes_max;
  options.session.dump_bytes_max = dump_bytes_max;
  options.session.memory_bytes_max =
      memory_bytes_max > 0 ? memory_bytes_max : MachineBytes() / 4 * 3;
  options.session.resident_bytes = [limit = options.session.memory_bytes_max] {
    return ResidentBytesWithin(limit);
  };
  options.session.clock_s = [] {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  options.session.threads = Parallelism::Cores();
  options.limits = {.sessions_max = static_cast<size_t>(sessions_max),
                    .calls_max = static_cast<size_t>(calls_max)};
  options.message_bytes_max = std::min<uint64_t>(message_bytes_max, INT32_MAX);
  options.grace = std::chrono::duration_cast<std::chrono::milliseconds>(*ParseDuration(grace));
  return options;
}

int ServeCommand::Run(std::ostream& out, std::ostream& err) const {
  if (status_app->parsed()) return Status(out, err);
  EndSignals signals;
  // The daemon's files describe a cluster: only the daemon's user may read them.  Sockets set modes
  // of their own.
  umask(0077);
  const ServiceManager systemd = ServiceManager::Connect();
  const absl::StatusOr<int> inherited = systemd.InheritedSocket();
  if (!inherited.ok()) return Fail(inherited.status(), err);
  if (*inherited < 0 && socket.empty()) {
    PrintMessage("pass --socket PATH", err, "ebb serve");
    return 2;
  }
  if (make_folder && !socket.empty()) {
    const std::filesystem::path folder = std::filesystem::absolute(socket).parent_path();
    std::error_code error;
    std::filesystem::create_directory(folder, error);  // With mode 0700, by the mask.
    if (error) {
      return Fail(absl::InvalidArgumentError(absl::StrCat(
                      "--make-folder: ", Printable(folder.string()), ": ", error.message())),
                  err);
    }
  }
  const LogFormat format = log == "json"   ? LogFormat::kJson
                           : log == "none" ? LogFormat::kNone
                                           : LogFormat::kText;
  CallLog call_log(STDERR_FILENO, format);
  DaemonOptions options = Options(*inherited);
  options.on_call = [&call_log](const EndedCall& call) { call_log.Add(call); };
  options.session.on_rebuild = [&call_log](const std::string& session,
                                           const TimedRebuild& rebuild) {
    call_log.Add(session, rebuild);
  };
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(std::move(options));
  if (!daemon.ok()) return Fail(daemon.status(), err);
  PrintMessage(*inherited >= 0 ? "serves on the socket that systemd handed over"
                               : "serves on unix:" + Printable(socket),
               err);
  err.flush();
  systemd.Notify("READY=1");
  const uint64_t watchdog_us = systemd.WatchdogUs();
  const std::chrono::microseconds wait(watchdog_us > 0 ? watchdog_us / 3 : 3'600'000'000);
  while (!signals.Wait(wait)) {
    if (watchdog_us > 0) systemd.Notify("WATCHDOG=1");
  }
  systemd.Notify("STOPPING=1");
  PrintMessage("ends", err);
  err.flush();
  signals.LetEnd();
  (*daemon)->Stop();
  return 0;
}

int ServeCommand::Status(std::ostream& out, std::ostream& err) const {
  absl::StatusOr<std::unique_ptr<PlannerClient>> client = PlannerClient::Connect(server);
  if (!client.ok()) return Fail(client.status(), err);
  (*client)->SetTimeout(std::chrono::seconds(30));
  const absl::StatusOr<wire::VersionReply> version = (*client)->Version();
  if (!version.ok()) return Fail(version.status(), err);
  const absl::StatusOr<wire::StatusReply> status = (*client)->Status();
  if (!status.ok()) return Fail(status.status(), err);
  if (output == "json") {
    out << IndentedJson(StatusJson(*version, *status));
    return 0;
  }
  out << fmt::format("ebb {}, process {}: {}, {} resident\n", Printable(version->version()),
                     version->pid(),
                     Count(static_cast<uint64_t>(status->sessions_size()), "session", "sessions"),
                     Bytes(status->resident_bytes()));
  if (status->sessions().empty()) return 0;
  out << "\n";
  Table table({"SESSION", "VERSION", "NODES", "PODS", "ROUNDS", "PLANS", "LAST PLAN", "REMOVES",
               "WAITING", "REBUILDS", "CLUSTER"});
  for (const wire::SessionStatus& each : status->sessions()) {
    const bool planned = each.has_last_plan_version();
    table.AddRow(
        {each.session(), WithCommas(each.version()), WithCommas(each.nodes()),
         WithCommas(each.pods()), WithCommas(static_cast<uint64_t>(each.rounds())),
         WithCommas(each.plans()),
         planned
             ? fmt::format("version {}, {}", each.last_plan_version(),
                           DurationText(std::chrono::duration<double>(each.last_plan_seconds())))
             : "",
         planned ? WithCommas(each.last_plan_removes()) : "", WithCommas(each.calls_waiting()),
         WithCommas(each.rebuilds()), ClusterText(each)});
  }
  table.Print(out);
  for (const wire::SessionStatus& each : status->sessions()) {
    if (!each.has_unremovable()) continue;
    out << fmt::format("\nRound of {}, session {}: {}\n", FormatRfc3339(each.last_round_at()),
                       each.session(), UnremovableAsText(ReadUnremovable(each.unremovable())));
  }
  return 0;
}

}  // namespace ebb
