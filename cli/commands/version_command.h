// `ebb version`: the version, the commit it was built from, how it was linked, and which features
// work on this machine.
//
// The first line is what `ebb --version` prints.  Cost: loads libcurl, unless it is linked in.

#ifndef EBB_CLI_COMMANDS_VERSION_COMMAND_H_
#define EBB_CLI_COMMANDS_VERSION_COMMAND_H_

#include <iosfwd>
#include <string>

#include "base/version.h"

namespace CLI {
class App;
}

namespace ebb {

struct VersionCommand {
  std::string output = "text";

  void AddTo(CLI::App& app);
  // Returns the exit code, 0.
  int Run(const BuildInfo& build, std::ostream& out) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_VERSION_COMMAND_H_
