// `ebb dump`: fetches with kubectl everything that an answer may depend on, as one file.
//
//   ebb dump [-o FILE] [--context C] [--kubeconfig F] [--kubectl PROGRAM] [--redact] [-- ARGS...]
//
// Asks `kubectl api-resources` which kinds of dump_kinds.h the server has, and lists each over all
// namespaces.  The file is a List of lists, as ebb reads it; a kind without objects is an empty
// list of its own kind, which differs from a kind that was not fetched.  Secrets
// and ConfigMaps are never fetched.
//
// If a kind cannot be read, the command reports the kind with the server's reason and writes the
// rest.  Nodes and pods are required: if either cannot be read, nothing is written.
// Exit codes: 0 everything that the server has was fetched; 3 some kinds could not be read; 1 no
// dump was written; 2 wrong usage.

#ifndef EBB_CLI_COMMANDS_DUMP_COMMAND_H_
#define EBB_CLI_COMMANDS_DUMP_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct DumpCommand {
  std::string output;  // "": standard output.
  std::string kubectl = "kubectl";
  std::string context;
  std::string kubeconfig;
  bool redact = false;
  std::vector<std::string> args;  // Passed to every call of kubectl.

  void AddTo(CLI::App& app);
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_DUMP_COMMAND_H_
