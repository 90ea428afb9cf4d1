#include "cli/rounds/dry_run.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/wall_clock.h"
#include "cli/print/fail.h"
#include "groups/groups.h"
#include "loop/loop.h"
#include "loop/record_actuator.h"
#include "loop/run/loop_log.h"
#include "loop/run/round_advisor.h"
#include "planning/live_cluster.h"
#include "report/plan_time.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {
namespace {

// The cluster of the dump, which never changes.
class DumpSource : public ClusterSource {
 public:
  DumpSource(LiveCluster& live, LoadedCluster& cluster, const GroupRules& rules)
      : live_(live), cluster_(cluster), rules_(rules) {}

  absl::StatusOr<Observation> Observe(int64_t /*now_s*/) override {
    Observation observed;
    observed.snapshot = &cluster_.snapshot;
    observed.groups = AssignGroups(cluster_.snapshot.catalog(), rules_);
    observed.pending = cluster_.pending;
    observed.objects = [this](ObjectSink& sink) { return live_.Export(sink); };
    return observed;
  }

 private:
  LiveCluster& live_;
  LoadedCluster& cluster_;
  const GroupRules& rules_;
};

// The line that was last printed for each pool.
using PrintedPools = std::map<std::string, std::string>;

void PrintTurn(const LoopTurn& turn, PrintedPools& told, std::ostream& err) {
  for (const PoolTurn& pool : turn.pools) {
    const std::string text = PoolAsText(pool);
    if (std::exchange(told[pool.pool], text) == text) continue;
    PrintMessage(fmt::format("{}: {}", FormatRfc3339(turn.now_s), text), err, "ebb run");
  }
  for (const std::string& line : turn.log) PrintMessage(PrintableLine(line), err, "ebb run");
  if (turn.begun == 0) return;
  PrintMessage(fmt::format("{}: {} of {} would be deleted", FormatRfc3339(turn.now_s), turn.begun,
                           Count(turn.round ? turn.round->nodes : 0, "node", "nodes")),
               err, "ebb run");
}

}  // namespace

int RunDry(const DryRunOptions& options, std::ostream& out, std::ostream& err) {
  WallClock clock;  // Created before the threads that read the dump.
  const auto live = LiveCluster::FromInputs(options.inputs, options.load);
  if (!live.ok()) return Fail(live.status(), err);
  absl::StatusOr<LiveCluster::Version> checked = (*live)->Checked();
  if (!checked.ok()) return Fail(checked.status(), err);
  if (absl::Status s = CheckMinimums(checked->cluster.snapshot.catalog(), options.groups);
      !s.ok()) {
    return Fail(s, err);
  }
  AddGroupWarnings(checked->cluster.snapshot.catalog(), options.groups, checked->cluster.warnings);
  if (auto warning = WarningOfAge(WallClock::Now(), checked->cluster)) {
    checked->cluster.warnings.push_back(*std::move(warning));
  }
  PrintLoadWarnings(checked->cluster, err);
  if (absl::Status s =
          CheckMayBeCarriedOut(checked->cluster.warnings, options.load.allow_incomplete);
      !s.ok()) {
    return Fail(s, err);
  }
  DumpSource dump(**live, checked->cluster, options.groups);
  ScaleDown scale_down(options.scale_down);
  LoopOptions loop = options.loop;
  OwnRoundsOptions rounds = options.rounds;
  loop.sizer = options.sizer;
  PrintedPools told;
  loop.on_turn = [&](const LoopTurn& turn) {
    if (options.log == "text") PrintTurn(turn, told, err);
    if (options.log == "json") err << TurnAsJson(turn) << std::flush;
  };
  std::optional<RoundAdvisor> advisor;
  if (options.advice) {
    RoundAdvisorOptions advice = *options.advice;
    // The other half is for the round.
    advice.budget_s = static_cast<double>(loop.scan_interval_s) / 2;
    advisor.emplace(options.scale_down, advice);
    rounds.advise = [&](const Observation& observed, int64_t now_s,
                        const std::vector<std::string>& unneeded) {
      return advisor->Advise(observed, now_s, unneeded);
    };
  }
  RunDryLoop(dump, scale_down, std::move(rounds), std::move(loop), clock, out, err);
  return 0;
}

void RunDryLoop(ClusterSource& cluster, ScaleDown& scale_down, OwnRoundsOptions rounds,
                LoopOptions options, LoopClock& clock, std::ostream& out, std::ostream& err) {
  PrintMessage(
      "dry run: nothing is done; a pod that would be evicted counts as running again in the next "
      "turn, and its budgets allow again what they allowed before",
      err, "ebb run");
  RecordActuator actuator([&](int64_t now_s, std::string_view line) {
    out << FormatRfc3339(now_s) << " " << Printable(line) << "\n";
    out.flush();
  });
  DeductingSource source(cluster, actuator, scale_down);
  OwnRounds own(scale_down, source, std::move(rounds));
  Loop(own, actuator, std::move(options)).Run(clock);
  PrintMessage(
      fmt::format("ends; {} would be gone", Count(actuator.done().size(), "node", "nodes")), err,
      "ebb run");
}

}  // namespace ebb
