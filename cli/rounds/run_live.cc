#include "cli/rounds/run_live.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands/wall_clock.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/rounds/dry_run.h"
#include "cli/rounds/round_command.h"
#include "cli/rounds/run_flags.h"
#include "cli/rounds/run_pools.h"
#include "cli/rounds/wire_settings.h"
#include "daemon/call_log.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/http_pages.h"
#include "daemon/own_session.h"
#include "loop/actuators/grpc_actuator.h"
#include "loop/run/exported_cluster.h"
#include "loop/run/loop_log.h"
#include "loop/run/loop_metrics.h"
#include "loop/run/replace_market.h"
#include "loop/run/session_rounds.h"
#include "loop/run/session_sizing.h"
#include "platform/service_manager.h"
#include "snapshot/import/input_warning.h"

namespace ebb {
namespace {

// Lines about rebuilds, from the session's thread, until the loop's thread prints them.
class RebuildLines {
 public:
  void Add(const std::string& session, const TimedRebuild& rebuild, LogFormat format) {
    if (format == LogFormat::kNone) return;
    const std::lock_guard lock(mutex_);
    lines_.push_back(LogLine(session, rebuild, WallClock::Now(), format));
  }
  void Print(std::ostream& err) {
    std::vector<std::string> lines;
    {
      const std::lock_guard lock(mutex_);
      lines.swap(lines_);
    }
    for (const std::string& line : lines) err << line + "\n";
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// The place where rounds are made, and other objects that must outlive the loop.
struct Parts {
  LoopMetrics metrics;
  RebuildLines rebuilds;
  std::unique_ptr<Daemon> daemon;         // Null with --server.
  std::unique_ptr<Sessions> no_sessions;  // For `pages`, which need one; has no sessions.
  std::unique_ptr<HttpPages> pages;       // Metrics, if no daemon in this process serves them.
  std::unique_ptr<SessionCalls> calls;
  std::unique_ptr<RunPools> pools;  // Null without --pools.
};

// After --grace, how long the plugin may take to answer the calls that roll back.
constexpr std::chrono::seconds kLastCalls{2};

std::chrono::milliseconds RoundTimeout(const RunFlags& flags) {
  return std::chrono::seconds(std::max<int64_t>(1, DurationSeconds(flags.round_timeout)));
}

LogFormat FormatOf(const RunFlags& flags) {
  return flags.log == "json"   ? LogFormat::kJson
         : flags.log == "none" ? LogFormat::kNone
                               : LogFormat::kText;
}

// A daemon with one session.
absl::Status StartDaemon(const RunFlags& flags, Parts& parts) {
  DaemonOptions options;
  options.listener.path = flags.socket;
  options.pages.address = flags.metrics_address;
  options.more_metrics = [&parts] { return parts.metrics.Text(); };
  options.session.state_folder = flags.dry_run ? "" : flags.state_folder;
  options.session.state_file = flags.dry_run ? "" : flags.plan.over_time.state;
  options.session.record_file = flags.dry_run ? "" : flags.plan.over_time.record;
  options.session.rounds_kept = flags.plan.over_time.rounds_kept;
  options.session.dump_bytes_max = flags.plan.options.load.limits.bytes_max;
  options.session.clock_s = &WallClock::Now;
  options.session.threads = flags.plan.threads;
  options.session.on_rebuild = [&parts, format = FormatOf(flags)](const std::string& session,
                                                                  const TimedRebuild& rebuild) {
    parts.rebuilds.Add(session, rebuild, format);
  };
  options.limits.sessions_max = 1;
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Start(std::move(options));
  if (!daemon.ok()) return daemon.status();
  parts.daemon = *std::move(daemon);
  return absl::OkStatus();
}

absl::Status StartPages(const RunFlags& flags, Parts& parts) {
  if (flags.metrics_address.empty()) return absl::OkStatus();
  static const SessionOptions no_sessions;
  parts.no_sessions = std::make_unique<Sessions>(no_sessions, Sessions::Limits{.sessions_max = 0});
  absl::StatusOr<std::unique_ptr<HttpPages>> pages =
      HttpPages::Start({.address = flags.metrics_address, .socket = ""}, *parts.no_sessions,
                       [&parts] { return parts.metrics.Text(); });
  if (!pages.ok()) return pages.status();
  parts.pages = *std::move(pages);
  return absl::OkStatus();
}

// The settings of the session: for other clients that look at it, and for loading its cluster.
absl::Status OpenSession(const RunFlags& flags, SessionCalls& calls) {
  wire::OpenRequest request;
  request.set_session(flags.session);
  absl::StatusOr<wire::Settings> settings = SettingsOf(flags.plan);
  if (!settings.ok()) return settings.status();
  *request.mutable_settings() = *std::move(settings);
  return calls.Open(request).status();
}

// Checks that the files of state and record can be used, before the first round fails on them.
absl::Status CheckFilesOfRounds(const RunFlags& flags, SessionCalls& calls) {
  if (flags.dry_run) return absl::OkStatus();  // A dry run has no such files.
  wire::SizingCall call;
  call.set_session(flags.session);
  return calls.Sizing(call).status();
}

absl::Status Start(const RunFlags& flags, Parts& parts) {
  if (absl::Status s = CheckSessionName(flags.session); !s.ok()) return s;
  if (flags.server.empty()) {
    if (absl::Status started = StartDaemon(flags, parts); !started.ok()) return started;
    parts.calls = std::make_unique<OwnSession>(parts.daemon->sessions(), RoundTimeout(flags));
    if (absl::Status s = OpenSession(flags, *parts.calls); !s.ok()) return s;
    return CheckFilesOfRounds(flags, *parts.calls);
  }
  if (absl::Status started = StartPages(flags, parts); !started.ok()) return started;
  absl::StatusOr<std::unique_ptr<PlannerClient>> client =
      PlannerClient::Make(flags.server, RoundTimeout(flags));
  if (!client.ok()) return client.status();
  parts.calls = *std::move(client);
  return absl::OkStatus();
}

void PrintTurn(const RunFlags& flags, const LoopTurn& turn, std::ostream& err) {
  if (flags.log == "none") return;
  const std::string told = flags.log == "json" ? TurnAsJson(turn) : TurnAsText(turn);
  // Each write to standard error must be one line (standard_output.h).
  for (const auto line : absl::StrSplit(Absl(told), '\n', absl::SkipEmpty())) {
    err << line << "\n";
  }
  err.flush();
}

int RunDryOver(const RunFlags& flags, Parts& parts, LoopClock& clock, std::ostream& out,
               std::ostream& err) {
  absl::StatusOr<GroupRules> groups = flags.plan.ReadGroupRules();
  if (!groups.ok()) return Fail(groups.status(), err);
  ScaleDown scale_down(flags.plan.options.scale_down);
  ExportedCluster cluster(*parts.calls,
                          {.session = flags.session,
                           .load = flags.plan.options.load,
                           .groups = *std::move(groups),
                           .needs_feed = flags.require_feed},
                          scale_down);
  LoopOptions options = flags.LoopOptionsOf();
  if (parts.pools != nullptr) options.sizer = &parts.pools->sizer();
  NewWarnings warnings;
  options.on_turn = [&](const LoopTurn& turn) {
    parts.metrics.Observe(turn, 0);
    PrintInputWarnings(warnings.Among(cluster.warnings()), err);
    parts.rebuilds.Print(err);
    PrintTurn(flags, turn, err);
  };
  RunDryLoop(cluster, scale_down, {.order = flags.plan.options.candidate_order}, std::move(options),
             clock, out, err);
  return 0;
}

int RunLoop(const RunFlags& flags, Parts& parts, WallClock& clock, std::ostream& err) {
  const ServiceManager systemd = ServiceManager::Connect();
  // Unique: if a plugin has seen the key before, it attributes the calls to another process.
  const std::string session = fmt::format(
      "run-{}-{}", getpid(),
      std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1));
  const auto sleep = [&clock](int64_t ms) { clock.SleepFor(std::chrono::milliseconds(ms)); };
  absl::StatusOr<std::unique_ptr<GrpcActuator>> actuator =
      GrpcActuator::Make({.plugin = flags.actuator, .session = session, .sleep_ms = sleep});
  if (!actuator.ok()) return Fail(actuator.status(), err);
  const WallClock::LastEnd last_end(clock,
                                    std::chrono::seconds(DurationSeconds(flags.grace)) + kLastCalls,
                                    [plugin = actuator->get()] { plugin->EndCalls(); });
  absl::StatusOr<std::optional<wire::Settings>> settings = GivenSettingsOf(flags.plan);
  if (!settings.ok()) return Fail(settings.status(), err);
  SessionRoundsOptions of{.session = flags.session,
                          .settings = *std::move(settings),
                          .needs_feed = flags.require_feed,
                          .allow_incomplete = flags.plan.options.load.allow_incomplete};
  if (!flags.plan.simulation_timeout.empty()) {
    of.time_limit_seconds =
        std::chrono::duration<double>(*ParseDuration(flags.plan.simulation_timeout)).count();
  }
  // The cluster that pools are sized over, and that purchases are planned for.
  absl::StatusOr<GroupRules> groups = flags.plan.ReadGroupRules();
  if (!groups.ok()) return Fail(groups.status(), err);
  ExportedCluster cluster(*parts.calls, {.session = flags.session,
                                         .load = flags.plan.options.load,
                                         .groups = *std::move(groups),
                                         .needs_feed = flags.require_feed});
  PoolSizer* const sizer = parts.pools == nullptr ? nullptr : &parts.pools->sizer();
  SessionSizing sizing(
      *parts.calls, flags.session, cluster,
      {.now = [sizer] { return sizer->state(); },
       .restore = [sizer](SizingState state) { sizer->Restore(std::move(state)); }});
  of.cluster = &sizing;
  if (sizer != nullptr) of.sizing = [&sizing] { return sizing.ToKeep(); };
  SessionRounds rounds(*parts.calls, std::move(of));
  LoopOptions options = flags.LoopOptionsOf();
  options.sizer = sizer;
  absl::StatusOr<std::optional<ReplaceMarketOptions>> of_market = flags.MarketOptionsOf();
  if (!of_market.ok()) return Fail(of_market.status(), err);
  const Parallelism parallelism(flags.plan.threads);
  std::optional<ReplaceMarket> market;
  std::optional<Buyer> buyer;
  if (*of_market) {
    market.emplace(ObjectsOf(cluster), **std::move(of_market), parallelism);
    options.buyer = &buyer.emplace(*market, flags.BuyerOptionsOf());
  }
  options.on_turn = [&](const LoopTurn& turn) {
    parts.metrics.Observe(turn, rounds.evictions());
    parts.rebuilds.Print(err);
    PrintTurn(flags, turn, err);
    if (parts.pools != nullptr) parts.pools->PrintProblems(err);
  };
  systemd.Notify("READY=1");
  Loop(rounds, **actuator, std::move(options)).Run(clock);
  systemd.Notify("STOPPING=1");
  PrintMessage("ends", err, "ebb run");
  return 0;
}

}  // namespace

int RunLive(const RunFlags& flags, std::ostream& out, std::ostream& err) {
  WallClock clock;  // Created before the threads of the daemon.
  // The files that it writes describe a cluster: only this user may read them.  Sockets set modes
  // of their own.
  umask(0077);
  Parts parts;
  absl::StatusOr<std::unique_ptr<RunPools>> pools = RunPools::Read(flags, err);
  if (!pools.ok()) return Fail(pools.status(), err);
  parts.pools = *std::move(pools);
  if (absl::Status s = Start(flags, parts); !s.ok()) return Fail(s, err);
  PrintMessage(flags.server.empty()
                   ? "serves session " + flags.session + " on unix:" + Printable(flags.socket)
                   : "asks session " + flags.session + " of " + Printable(flags.server),
               err, "ebb run");
  err.flush();
  const int code =
      flags.dry_run ? RunDryOver(flags, parts, clock, out, err) : RunLoop(flags, parts, clock, err);
  if (parts.pools != nullptr) parts.pools->EndNotices(err);
  parts.pages.reset();
  if (parts.daemon != nullptr) parts.daemon->Stop();
  return code;
}

}  // namespace ebb
