#include "tools/server_flags.h"

#include <CLI/CLI.hpp>

#include "tools/flag_values.h"

namespace ebb {

void ServerFlags::AddTo(CLI::App& app) {
  const std::string group = "Daemon";
  app.add_option("--server", server,
                 "Ask `ebb serve`, which listens there; INPUT becomes the cluster of the session, "
                 "without it the question is about the cluster that is there")
      ->check(values::Text())
      ->type_name("unix:PATH")
      ->group(group);
  app.add_option("--session", session, "The daemon's session")
      ->check(values::Text())
      ->type_name("NAME")
      ->needs("--server")
      ->capture_default_str()
      ->group(group);
}

}  // namespace ebb
