#include "tools/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/figures.h"
#include "base/printable.h"
#include "engine/actuation/loop.h"
#include "engine/actuation/record_actuator.h"
#include "service/groups.h"
#include "service/round_advisor.h"
#include "snapshot/formats/rfc3339.h"
#include "snapshot/import/load_cluster.h"
#include "tools/end_signals.h"
#include "tools/fail.h"
#include "tools/plan_command.h"

namespace ebb {
namespace {

// The cluster of the dump, in which nothing happens.
class DumpSource : public ClusterSource {
 public:
  explicit DumpSource(LoadedCluster& cluster) : cluster_(cluster) {}

  absl::StatusOr<Observation> Observe(int64_t /*now_s*/) override {
    Observation observed;
    observed.snapshot = &cluster_.snapshot;
    observed.groups = AssignGroups(cluster_.snapshot.catalog(), {});
    observed.pending = cluster_.pending;
    return observed;
  }

 private:
  LoadedCluster& cluster_;
};

class WallClock : public LoopClock {
 public:
  int64_t NowS() override {
    return std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);
  }
  bool SleepUntil(int64_t time_s) override { return !signals_.Wait(Until(time_s)); }
  void WaitUntil(int64_t time_s) override { std::this_thread::sleep_for(Until(time_s)); }

 private:
  // A clock that is set back makes no sleep longer than it was to be.
  static std::chrono::microseconds Until(int64_t time_s) {
    const std::chrono::system_clock::time_point end{std::chrono::seconds(time_s)};
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
        end - std::chrono::system_clock::now());
    return std::max(left, std::chrono::microseconds(0));
  }

  EndSignals signals_;
};

void TellTurn(const LoopTurn& turn, std::ostream& err) {
  for (const std::string& line : turn.log) PrintMessage(Printable(line), err, "ebb run");
  if (turn.begun == 0) return;
  PrintMessage(fmt::format("{}: {} of {} would be deleted", FormatRfc3339(turn.now_s), turn.begun,
                           Count(turn.nodes, "node", "nodes")),
               err, "ebb run");
}

}  // namespace

int RunDry(const DryRunOptions& options, std::ostream& out, std::ostream& err) {
  WallClock clock;  // Before threads that read the dump.
  absl::StatusOr<LoadedCluster> cluster = LoadCluster(options.inputs, {});
  if (!cluster.ok()) return Fail(cluster.status(), err);
  PrintLoadWarnings(*cluster, err);
  RecordActuator actuator([&](std::string_view line) {
    out << Printable(line) << "\n";
    out.flush();
  });
  DumpSource dump(*cluster);
  DeductingSource source(dump, actuator);
  ScaleDown scale_down(options.scale_down);
  LoopOptions loop_options;
  loop_options.scan_interval_s = options.scan_interval_s;
  loop_options.on_turn = [&](const LoopTurn& turn) { TellTurn(turn, err); };
  std::optional<RoundAdvisor> advisor;
  if (options.advice) {
    RoundAdvisorOptions advice = *options.advice;
    advice.budget_s = static_cast<double>(options.scan_interval_s) / 2;  // The rest is the round's.
    advisor.emplace(options.scale_down, advice);
    loop_options.advise = [&](const Observation& observed, int64_t now_s,
                              const std::vector<std::string>& unneeded) {
      return advisor->Advise(observed, now_s, unneeded);
    };
  }
  Loop(scale_down, source, actuator, loop_options).Run(clock);
  PrintMessage(
      fmt::format("ends; {} would be gone", Count(actuator.done().size(), "node", "nodes")), err,
      "ebb run");
  return 0;
}

}  // namespace ebb
