// `ebb filter`: which nodes of a cluster take a pod, and why the others do not.
//
//   ebb filter INPUT... --pod NS/NAME [--node NODE] [-o table|json]
//   ebb filter --stdin    one request a line, one answer a line (go/oracle/README.md)
//
// A pod is tested as if it were not placed; all other pods stay where they are.  A node's verdict
// is the scheduler's: the first filter that rejects the pod.  With --node, and in JSON, the verdict
// of every filter is included.
//
// Threads: none.

#ifndef EBB_CLI_COMMANDS_FILTER_COMMAND_H_
#define EBB_CLI_COMMANDS_FILTER_COMMAND_H_

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/server_flags.h"
#include "cli/flags/watch_flags.h"
#include "snapshot/import/load_cluster.h"

namespace CLI {
class App;
}

namespace ebb {

struct FilterCommand {
  std::vector<std::string> inputs;
  std::vector<std::string> pods;
  std::string node;
  std::string output = "table";
  bool from_stdin = false;
  LoadOptions load = {.use = InputUse::kFilter};
  WatchFlags watch;
  ServerFlags at_server;

  void AddTo(CLI::App& app);
  // Runs over files, with --watch-file over the watched cluster, or with --stdin over its requests.
  // For --server, call FilterAtServer (remote.h) instead.
  // Returns the exit code: 0, 1 for bad input, 2 for wrong usage.
  int Run(std::istream& in, std::ostream& out, std::ostream& err) const;

 private:
  int Over(LoadedCluster& cluster, std::ostream& out, std::ostream& err) const;
};

// Answers one line of `ebb filter --stdin`.  Each request carries a cluster of its own.  A request
// that cannot be parsed is answered with an `error`.
std::string AnswerFilterRequest(std::string_view request);

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_FILTER_COMMAND_H_
