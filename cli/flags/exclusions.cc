#include "cli/flags/exclusions.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace ebb {
namespace {

constexpr std::string_view kOwnOptions =
    "a round decides by its own options, as the autoscaler's do, and looks for no other plan";
constexpr std::string_view kOneSource =
    "the daemon has a cluster of its own, and its feeder tells it what changes";
constexpr std::string_view kAlone =
    "each change is tried by itself, with a plan that is not searched for";

constexpr Exclusion kExclusions[] = {
    {"plan", "--state", "--server",
     "a daemon keeps the state of its sessions itself; `ebb run --server` has it make rounds"},
    {"plan", "--state", "--watch-file",
     "a round is made at its time, and not when a watch is quiet; `ebb run` makes them"},
    {"plan", "--state", "--explain",
     "a round rests on the rounds before it, which an explanation cannot go back to"},
    {"plan", "--state", "--what-if",
     "a round is kept in the state file, and a comparison makes plans that must not be"},
    {"plan", "--state", "--optimize", kOwnOptions},
    {"plan", "--state", "--bound", kOwnOptions},
    {"plan", "--state", "--seed", kOwnOptions},
    {"plan", "--state", "--prices", kOwnOptions},
    {"plan", "--state", "--max-workload-share", kOwnOptions},
    {"plan", "--state", "--trials", kOwnOptions},
    {"plan", "--state", "--robust", kOwnOptions},
    {"plan", "--state", "--nominated-share", kOwnOptions},
    {"plan", "--server", "--watch-file", kOneSource},
    {"plan", "--what-if", "--explain",
     "a comparison is of all nodes of two plans, and an explanation is of one plan"},
    {"plan", "--counterfactual", "--optimize", kAlone},
    {"plan", "--counterfactual", "--robust", kAlone},
    {"plan", "--iterations", "--budget", "each of them ends the search"},
    {"plan", "--max-evictions", "--move-cost",
     "a search has one of them to weigh moves: a limit or a price"},
    {"blockers", "--server", "--watch-file", kOneSource},
    {"frontier", "--server", "--watch-file", kOneSource},
    {"filter", "--server", "--watch-file", kOneSource},
};

}  // namespace

std::span<const Exclusion> Exclusions() { return kExclusions; }

void Exclude(std::string_view command, CLI::App& app) {
  for (const Exclusion& row : kExclusions) {
    if (row.command != command) continue;
    CLI::Option* const flag = app.get_option_no_throw(std::string(row.flag));
    CLI::Option* const other = app.get_option_no_throw(std::string(row.other));
    if (flag != nullptr && other != nullptr) flag->excludes(other);
  }
}

std::string WhyExcluded(std::string_view command, std::string_view message) {
  for (const Exclusion& row : kExclusions) {
    if (row.command != command) continue;
    if (message == fmt::format("{} excludes {}", row.flag, row.other) ||
        message == fmt::format("{} excludes {}", row.other, row.flag)) {
      return std::string(row.reason);
    }
  }
  return "";
}

}  // namespace ebb
