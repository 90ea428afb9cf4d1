// Commands that write snapshots.
//
//   ebb gen KIND --nodes N --seed S [-o FILE]
//   ebb import INPUT... -o FILE
//   ebb scrub INPUT... [--key FILE] [-o FILE]
//   ebb import openb --nodes F --pods F [--ended-share 0.5 --seed S] -o FILE
//
// The file's name decides its format: .pb is ebb's own (binary_snapshot.h), .yaml or .yml is YAML
// documents, any other name is JSON as `kubectl -o json` prints it.  Without -o the command prints
// JSON to stdout.

#ifndef EBB_CLI_COMMANDS_SNAPSHOT_COMMANDS_H_
#define EBB_CLI_COMMANDS_SNAPSHOT_COMMANDS_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "snapshot/formats/read_input.h"
#include "snapshot/samples/generate.h"
#include "snapshot/samples/openb.h"

namespace CLI {
class App;
}

namespace ebb {

struct GenCommand {
  std::string kind;
  samples::GenerateOptions options;
  std::string output;

  void AddTo(CLI::App& app);
  int Run(std::ostream& out, std::ostream& err) const;
};

struct ImportCommand {
  std::vector<std::string> inputs;
  std::string output;
  InputLimits limits;
  OpenbOptions openb;
  CLI::App* openb_app = nullptr;

  void AddTo(CLI::App& app);
  int Run(std::ostream& out, std::ostream& err) const;
};

// `ebb scrub`: the input with pseudonyms (scrub_objects.h).  Lists on standard error what it kept
// as it is, and what it dropped.
struct ScrubCommand {
  std::vector<std::string> inputs;
  std::string output;
  std::string key;  // A file; empty: a random key, which is not kept.
  InputLimits limits;

  void AddTo(CLI::App& app);
  int Run(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_SNAPSHOT_COMMANDS_H_
