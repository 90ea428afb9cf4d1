#include "cli/flags/server_flags.h"

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/check.h"
#include "base/duration.h"
#include "cli/flags/flag_values.h"

namespace ebb {

void ServerFlags::AddTo(CLI::App& command) {
  app = &command;
  const std::string group = "Daemon";
  command
      .add_option("--server", server,
                  "Ask `ebb serve`, which listens there; INPUT becomes the cluster of the session, "
                  "without it the question is about the cluster that is there")
      ->check(values::Text())
      ->type_name("unix:PATH")
      ->group(group);
  command.add_option("--session", session, "The daemon's session")
      ->check(values::Text())
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--wait", wait,
                  "While the session is being filled (its first resync has not ended), wait up to "
                  "so long for its cluster, then fail; 0s: fail at once")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--max-age", max_age,
                  "Fail if the session's data is older than this, for example because the client "
                  "that feeds it has gone (default: only warn)")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->group(group);
}

namespace {

double SecondsOf(const std::string& duration) {
  EBB_DCHECK(ParseDuration(duration).has_value());
  return std::chrono::duration<double>(*ParseDuration(duration)).count();
}

}  // namespace

double ServerFlags::WaitSeconds() const { return SecondsOf(wait); }

std::optional<double> ServerFlags::MaxAgeSeconds() const {
  if (max_age.empty()) return std::nullopt;
  return SecondsOf(max_age);
}

}  // namespace ebb
