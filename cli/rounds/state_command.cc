#include "cli/rounds/state_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/state_print.h"
#include "engine/scale_down/state_clock.h"
#include "rounds/sqlite_state.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

constexpr uint64_t kRoundMax = uint64_t{1} << 53;  // The largest round number of a state file.

struct OpenedState {
  std::unique_ptr<SqliteState> store;
  std::optional<ScaleDownState> state;  // Absent: no round was made yet.
};

absl::StatusOr<OpenedState> OpenState(const std::string& file, SqliteStateOptions options) {
  options.use = SqliteUse::kState;
  auto store = SqliteState::Open(file, options);
  if (!store.ok()) return store.status();
  auto state = (*store)->Load();
  if (!state.ok()) return state.status();
  return OpenedState{*std::move(store), *std::move(state)};
}

absl::Status NoRoundYet(const std::string& file) {
  return absl::InvalidArgumentError(file + ": holds no round yet");
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
  show->add_option("-o,--output", output, "How to print what the file remembers")
      ->check(values::Choice({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  set_clock_ = app.add_subcommand("set-clock",
                                  "Set the clock of a state back after rounds were made at a wrong "
                                  "time: every later time in it "
                                  "is replaced by the given time and printed");
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
  absl::StatusOr<OpenedState> opened = OpenState(file, {.read_only = true});
  if (!opened.ok()) return Fail(opened.status(), err);
  const ShownState shown{.state = std::move(opened->state),
                         .reported = opened->store->reports().With({})};
  if (!shown.state && shown.reported == DeletionReport()) return Fail(NoRoundYet(file), err);
  if (output == "json") {
    out << IndentedJson(StateJson(shown));
  } else {
    PrintState(shown, out);
  }
  return 0;
}

int StateCommand::SetClockBack(std::ostream& out, std::ostream& err) const {
  absl::StatusOr<OpenedState> opened = OpenState(file, {.must_exist = true});
  if (!opened.ok()) return Fail(opened.status(), err);
  const int64_t now_s = now.empty() ? std::chrono::duration_cast<std::chrono::seconds>(
                                          std::chrono::system_clock::now().time_since_epoch())
                                          .count()
                                    : *ParseRfc3339(now);
  if (!opened->state) return Fail(NoRoundYet(file), err);
  ScaleDownState& state = *opened->state;
  const bool jumped = state.jump_s.has_value();
  const std::vector<ClockChange> changes = SetClock(state, now_s);
  if (changes.empty() && !jumped) {
    out << fmt::format("the state has no time after {}; it was not changed\n",
                       FormatRfc3339(now_s));
    return 0;
  }
  if (absl::Status s = opened->store->SaveState(state); !s.ok()) return Fail(s, err);
  if (jumped) out << "the clock jump that the last round recorded was cleared\n";
  for (const ClockChange& change : changes) {
    out << fmt::format("{}: {} -> {}\n", Printable(change.what), FormatRfc3339(change.from_s),
                       FormatRfc3339(change.to_s));
  }
  return 0;
}

}  // namespace ebb
