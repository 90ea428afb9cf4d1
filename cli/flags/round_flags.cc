#include "cli/flags/round_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/flags/flag_values.h"

namespace ebb {
namespace {

constexpr const char* kLoopGroup = "Rounds";

CLI::Option* AddFile(CLI::App& app, const char* group, const char* name, std::string& value,
                     const char* help) {
  return app.add_option(name, value, help)
      ->check(values::File())
      ->type_name("FILE")
      ->capture_default_str()
      ->group(group);
}

void AddRoundsKept(CLI::App& app, const char* group, int64_t& rounds_kept) {
  app.add_option("--state-rounds", rounds_kept, "Rounds that the state file keeps; 0: all")
      ->check(values::WholeNumber(0, kOptionCountMax))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
}

void AddFileFlags(RoundFlags& flags, CLI::App& app) {
  AddFile(app, kRoundGroup, "--state", flags.state,
          "Make one round of the planner over time: go on from what this file remembers, and "
          "remember this round (made if absent)");
  AddFile(app, kRoundGroup, "--record", flags.record,
          "Add the round's input and decision to this file, for `ebb replay`");
  AddFile(app, kRoundGroup, "--events", flags.events,
          "YAML or JSON file of what happened since the last round: growth, deletions, "
          "evictions, unready nodes (docs/rounds.md)");
  AddFile(app, kRoundGroup, "--metrics", flags.metrics,
          "Write metrics in Prometheus' text form to this file (-: standard output, after the "
          "plan); counters go on from round to round");
  AddRoundsKept(app, kRoundGroup, flags.rounds_kept);
}

void AddLoopFileFlags(RoundFlags& flags, CLI::App& app) {
  AddFile(app, kLoopGroup, "--state", flags.state,
          "Go on from what this file remembers, and remember every round (made if absent)");
  AddFile(app, kLoopGroup, "--record", flags.record,
          "Add each round's input and decision to this file, for `ebb replay`");
  AddRoundsKept(app, kLoopGroup, flags.rounds_kept);
}

}  // namespace

void RoundFlags::AddTo(CLI::App& command, RoundOptions& options, GivenFlags& given) {
  app = &command;
  AddFileFlags(*this, command);
  AddOptionFlags(FieldsOf(options), OptionGroup::kRounds, command, kRoundGroup, &given);
}

void RoundFlags::AddLoopFlags(CLI::App& command, RoundOptions& options, GivenFlags& given) {
  app = &command;
  AddLoopFileFlags(*this, command);
  AddOptionFlags(FieldsOf(options), OptionGroup::kRounds, command, kLoopGroup, &given);
}

void RoundFlags::WarnUnused(std::ostream& err, std::span<const std::string_view> used) const {
  if (app == nullptr) return;
  std::vector<std::string> unused;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group() != kRoundGroup || option->count() == 0) continue;
    const std::string& name = option->get_lnames()[0];
    const bool counts = CountsInPlans(name) || std::ranges::find(used, name) != used.end();
    if (!counts) unused.push_back(option->get_name());
  }
  if (unused.empty()) return;
  PrintMessage(
      fmt::format("note: these flags have no effect without --state: {}", fmt::join(unused, ", ")),
      err);
}

}  // namespace ebb
