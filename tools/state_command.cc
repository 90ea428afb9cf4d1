#include "tools/state_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/figures.h"
#include "base/printable.h"
#include "engine/state_clock.h"
#include "service/sqlite_state.h"
#include "snapshot/formats/rfc3339.h"
#include "tools/fail.h"
#include "tools/flag_values.h"
#include "tools/table.h"

namespace ebb {
namespace {

constexpr uint64_t kRoundMax = uint64_t{1} << 53;  // Of a state file.

struct OpenedState {
  std::unique_ptr<SqliteState> store;
  ScaleDownState state;
};

absl::StatusOr<OpenedState> OpenState(const std::string& file, SqliteStateOptions options) {
  options.use = SqliteUse::kState;
  auto store = SqliteState::Open(file, options);
  if (!store.ok()) return store.status();
  auto state = (*store)->Load();
  if (!state.ok()) return state.status();
  if (!state->has_value()) {
    return absl::InvalidArgumentError(file + ": holds no round yet");
  }
  return OpenedState{*std::move(store), **std::move(state)};
}

std::string Time(const std::optional<int64_t>& at_s) { return at_s ? FormatRfc3339(*at_s) : "-"; }

void PrintTable(const Table& table, std::ostream& out) {
  if (table.empty()) return;
  out << "\n";
  table.Print(out);
}

std::string Name(StartedDeletions::Phase phase) {
  switch (phase) {
    case StartedDeletions::Phase::kAskedFor:
      return "asked for";
    case StartedDeletions::Phase::kRunning:
      return "running";
    case StartedDeletions::Phase::kSucceeded:
      break;
  }
  return "succeeded";
}

}  // namespace

void StateCommand::AddTo(CLI::App& app) {
  app.require_subcommand(1);
  const auto takes_file = [&](CLI::App& command) {
    command.add_option("FILE", file, "A file that `ebb plan --state` wrote")
        ->check(values::File())
        ->required();
  };
  CLI::App* const show = app.add_subcommand("show", "Print what a state file remembers");
  takes_file(*show);
  show->add_option("--round", round, "Print what this round decided, as JSON, in place of that")
      ->check(values::WholeNumber(1, kRoundMax))
      ->type_name("N");
  set_clock_ = app.add_subcommand(
      "set-clock",
      "Set the clock of a state back after rounds were made at a wrong time: every time in it "
      "that lies after the one given becomes it, and is printed");
  takes_file(*set_clock_);
  set_clock_
      ->add_option("--now", now,
                   "The time that is right, as 2026-01-02T03:04:05Z "
                   "(default: the clock's)")
      ->check(values::Time())
      ->type_name("TIME");
}

int StateCommand::Run(std::ostream& out, std::ostream& err) const {
  return set_clock_->parsed() ? SetClockBack(out, err) : Show(out, err);
}

int StateCommand::ShowRound(std::ostream& out, std::ostream& err) const {
  const auto store = SqliteState::Open(file, {.read_only = true});
  if (!store.ok()) return Fail(store.status(), err);
  const auto rounds = (*store)->Rounds();
  if (!rounds.ok()) return Fail(rounds.status(), err);
  const auto found = std::ranges::find(*rounds, round, &RoundRecord::round);
  if (found == rounds->end()) {
    const std::string there =
        rounds->empty()
            ? "no round"
            : fmt::format("the rounds {} to {}", rounds->front().round, rounds->back().round);
    return Fail(absl::NotFoundError(
                    fmt::format("{}: holds {}, and not round {}", Printable(file), there, round)),
                err);
  }
  out << found->decision << "\n";
  return 0;
}

int StateCommand::Show(std::ostream& out, std::ostream& err) const {
  if (round > 0) return ShowRound(out, err);
  const absl::StatusOr<OpenedState> opened = OpenState(file, {.read_only = true});
  if (!opened.ok()) return Fail(opened.status(), err);
  const ScaleDownState& state = opened->state;
  out << fmt::format("{}, the last at {}\n",
                     Count(static_cast<uint64_t>(state.rounds), "round", "rounds"),
                     FormatRfc3339(state.latest_s));
  if (state.jump_s) {
    out << fmt::format("The clock jumped to {}; a second round at about that time goes on\n",
                       FormatRfc3339(*state.jump_s));
  }
  Table timers({"NODE", "UNNEEDED SINCE", "JUDGED BY THE LAST ROUND"});
  for (const auto& timer : state.timers) {
    timers.AddRow({timer.node, FormatRfc3339(timer.since_s), timer.judged ? "yes" : "no"});
  }
  PrintTable(timers, out);
  Table deletions({"NODE", "DELETION", "LAST SEEN SO"});
  for (const auto& deletion : state.started) {
    deletions.AddRow({deletion.node, Name(deletion.phase), FormatRfc3339(deletion.at_s)});
  }
  PrintTable(deletions, out);
  Table unremovable({"NODE", "UNREMOVABLE", "LOOKED AT AGAIN"});
  for (const auto& node : state.planner.unremovable) {
    const std::string& why = node.blocking_reason.empty() ? node.reason : node.blocking_reason;
    unremovable.AddRow({node.node, why.empty() ? "-" : why, FormatRfc3339(node.until_s)});
  }
  PrintTable(unremovable, out);
  Table cooldowns({"GROUP", "LAST SCALE-UP", "LAST DELETION", "LAST FAILED DELETION"});
  for (const auto& last : state.cooldowns) {
    cooldowns.AddRow({last.group.empty() ? "(any)" : last.group, Time(last.scale_up_s),
                      Time(last.deletion_s), Time(last.failed_deletion_s)});
  }
  PrintTable(cooldowns, out);
  Table evictions({"EVICTED POD", "AT"});
  for (const auto& pod : state.actuation.recent_evictions) {
    evictions.AddRow({pod.namespace_name + "/" + pod.name, FormatRfc3339(pod.evicted_at_s)});
  }
  PrintTable(evictions, out);
  return 0;
}

int StateCommand::SetClockBack(std::ostream& out, std::ostream& err) const {
  absl::StatusOr<OpenedState> opened = OpenState(file, {.must_exist = true});
  if (!opened.ok()) return Fail(opened.status(), err);
  const int64_t now_s = now.empty() ? std::chrono::duration_cast<std::chrono::seconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count()
                                    : *ParseRfc3339(now);
  ScaleDownState& state = opened->state;
  const bool jumped = state.jump_s.has_value();
  const std::vector<ClockChange> changes = SetClock(state, now_s);
  if (changes.empty() && !jumped) {
    out << fmt::format("nothing in it lies after {}; it stays as it is\n", FormatRfc3339(now_s));
    return 0;
  }
  if (absl::Status s = opened->store->SaveState(state); !s.ok()) return Fail(s, err);
  if (jumped) out << "the jump that the last round saw is forgotten\n";
  for (const ClockChange& change : changes) {
    out << fmt::format("{}: {} -> {}\n", Printable(change.what), FormatRfc3339(change.from_s),
                       FormatRfc3339(change.to_s));
  }
  return 0;
}

}  // namespace ebb
