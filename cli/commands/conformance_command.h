// `ebb conformance`: the test that the author of an actuator plugin runs (conformance.h).
//
//   ebb conformance --actuator unix:/run/plugin.sock --node worker-7 --drain-and-delete

#ifndef EBB_CLI_COMMANDS_CONFORMANCE_COMMAND_H_
#define EBB_CLI_COMMANDS_CONFORMANCE_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct ConformanceCommand {
  std::string actuator;
  std::vector<std::string> nodes;
  bool drain_and_delete = false;
  std::string wait = "10m";
  std::string call_timeout = "10s";

  void AddTo(CLI::App& app);
  // Returns the exit code: 0 if no check failed; 1 if one failed, or if no check could run.
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_CONFORMANCE_COMMAND_H_
