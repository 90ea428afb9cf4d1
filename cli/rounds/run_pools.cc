#include "cli/rounds/run_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "cli/rounds/round_command.h"
#include "cli/rounds/run_flags.h"
#include "platform/settings_file.h"
#include "sizing/policy/policy_registry.h"
#include "sizing/prometheus.h"

namespace ebb {
namespace {

constexpr size_t kDecisionsMax = 10'000;  // How many decisions are kept for each pool.

// Errors for settings of the file that this kind of loop does not support.
absl::Status CheckForLoop(const RunFlags& flags, const SizingFile& file) {
  const auto wrong = [&](const std::string& where, std::string_view what) {
    return BadSetting(flags.pools, where, what);
  };
  if (file.discover_prefix) {
    return wrong("discover",
                 "ebb run sizes the pools that the file names; ebb policy eval "
                 "discovers pools");
  }
  if (file.pools.empty()) return wrong("pools", "names no pool to size");
  if (!file.conflicts.empty()) return wrong("pools", file.conflicts.front());
  for (const SizedPool& pool : file.pools) {
    if (pool.queries.empty() || !flags.simulate) continue;
    return wrong(fmt::format("pool {}: queries", pool.name),
                 "Prometheus does not know a simulated cluster; leave them out, or pass --series");
  }
  return absl::OkStatus();
}

}  // namespace

RunPools::RunPools(const RunFlags& flags) : series_(flags.series), usage_(flags.usage) {}

absl::StatusOr<std::unique_ptr<RunPools>> RunPools::Read(const RunFlags& flags, std::ostream& err) {
  if (flags.pools.empty()) return std::unique_ptr<RunPools>();
  std::unique_ptr<RunPools> pools(new RunPools(flags));
  if (absl::Status s = pools->ReadFile(flags); !s.ok()) return s;
  // Errors in these files at the start end the command; later errors may be temporary.
  const auto figures = ReadPoolFigures(flags.series, flags.usage);
  if (!figures.ok()) return figures.status();
  for (const std::string& warning : pools->file_.warnings) {
    PrintMessage(PrintableLine(absl::StrCat("warning: ", warning)), err, "ebb run");
  }
  pools->MakeSizer(flags, err);
  return pools;
}

absl::Status RunPools::ReadFile(const RunFlags& flags) {
  const absl::StatusOr<std::string> yaml = ReadWholeFile(flags.pools);
  if (!yaml.ok()) return yaml.status();
  absl::StatusOr<SizingFile> file = ReadSizingFile(flags.pools, *yaml, PolicyRegistry());
  if (!file.ok()) return file.status();
  file_ = *std::move(file);
  return CheckForLoop(flags, file_);
}

void RunPools::MakeSizer(const RunFlags& flags, std::ostream& err) {
  const ScaleDownOptions rounds = flags.plan.options.scale_down;
  PoolSizerOptions options;
  options.planner = rounds.planner;
  options.budgets = rounds.budgets;
  options.trust_growth = flags.dry_run;
  options.enrich = [this](const SizedPool& pool, int64_t now_s, PolicyObservation& seen) {
    return Enrich(pool, now_s, seen);
  };
  if (!flags.dry_run && !flags.simulate) {
    const auto print = [&err](std::string_view line) {
      PrintMessage(PrintableLine(line), err, "ebb run");
    };
    // Notifiers other than logs may be slow, so they get a queue: the loop never waits for them.
    std::vector<NotifierSettings> slow = file_.notifications;
    const auto is_log = [](const NotifierSettings& each) {
      return each.kind == NotifierSettings::Kind::kLog;
    };
    const auto logs = std::ranges::stable_partition(slow, std::not_fn(is_log));
    loggers_ = MakeNotifiers({logs.begin(), logs.end()}, print, nullptr);
    slow.erase(logs.begin(), logs.end());
    notices_.emplace(MakeNotifiers(slow, print, nullptr));
    options.notify = [this](const Notice& notice) {
      NotifyAll(loggers_, notice);
      notices_->Add(notice);
    };
  }
  sizer_.emplace(file_.pools, SizingState(), std::move(options));
}

void RunPools::PrintProblems(std::ostream& err) {
  if (!notices_) return;
  for (const std::string& problem : notices_->TakeProblems()) {
    PrintMessage(PrintableLine(problem), err, "ebb run");
  }
}

void RunPools::EndNotices(std::ostream& err) {
  if (!notices_) return;
  for (const std::string& problem : notices_->FinishAndTakeProblems()) {
    PrintMessage(PrintableLine(problem), err, "ebb run");
  }
}

absl::Status RunPools::Enrich(const SizedPool& pool, int64_t now_s, PolicyObservation& seen) {
  if (!figures_ || figures_at_s_ != now_s) {
    figures_ = ReadPoolFigures(series_, usage_);
    figures_at_s_ = now_s;
  }
  if (!figures_->ok()) return figures_->status();
  const PoolFigures& figures = **figures_;
  seen.signals = Latest(figures.points, pool.name, now_s);
  if (absl::Status s = figures.usage.AddTo(seen, now_s, pool.signal_period_s); !s.ok()) return s;
  if (pool.queries.empty()) return absl::OkStatus();
  auto asked = QuerySignals(file_.prometheus, pool, now_s);
  if (!asked.ok()) return asked.status();
  seen.signals.merge(*asked);
  return absl::OkStatus();
}

std::set<std::string> RunPools::GroupsOf(const Catalog& catalog, const NodeGroups& groups) const {
  std::set<std::string> names;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeGroup* const group = groups.Find(NodeId{n});
    if (group == nullptr) continue;
    for (const SizedPool& pool : file_.pools) {
      if (IsMember(pool, catalog, NodeId{n})) names.insert(group->name);
    }
  }
  return names;
}

void PoolStories::Take(int64_t now_s, const std::vector<PoolTurn>& pools) {
  for (const PoolTurn& turn : pools) {
    Story& story = stories_[turn.pool];
    if (story.decided == 0) {
      story.pool = turn.pool;
      story.policy = turn.policy;
      story.nodes_at_first = turn.nodes;
    }
    story.nodes_at_last = turn.nodes;
    ++story.decided;
    if (turn.grow_to > 0) {
      ++story.grew;
      story.machines += turn.grow_by;
    }
    if (turn.leaving > 0) ++story.shrank;
    story.left += turn.leaving;
    story.failsafe = turn.failsafe;
    if (!turn.denied_by.empty()) ++story.denied[turn.denied_by];
    if (story.decisions.size() >= kDecisionsMax) continue;
    if (!story.decisions.empty() && story.decisions.back().turn == turn) continue;
    story.decisions.push_back({now_s, turn});
  }
}

}  // namespace ebb
