// `ebb dump`: fetches with kubectl all that an answer may depend on, as one file.
//
//   ebb dump [-o FILE] [--context C] [--kubeconfig F] [--kubectl PROGRAM] [--redact] [-- ARGS...]
//
// Asks `kubectl api-resources` which kinds of dump_kinds.h the server has, and lists each over all
// namespaces.  The file is a List of lists, as ebb reads it; a kind without objects is an empty
// list of its own kind, which differs from a kind that was not fetched.  Secrets
// and ConfigMaps are never fetched.
//
// A kind that may not be read is named with the server's reason, and the rest is written.  Nodes
// and pods are no dump without: then nothing is written.
// Exit codes: 0 all that the server has; 3 some kinds could not be read; 1 no dump; 2 wrong usage.

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
  std::vector<std::string> args;  // Handed to every call of kubectl.

  void AddTo(CLI::App& app);
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_DUMP_COMMAND_H_
