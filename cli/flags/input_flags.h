// The flags about the input, which several commands share.

#ifndef EBB_CLI_FLAGS_INPUT_FLAGS_H_
#define EBB_CLI_FLAGS_INPUT_FLAGS_H_

#include <string>

#include "cli/flags/option_flags.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/import/load_cluster.h"

namespace CLI {
class App;
}

namespace ebb {

// --max-input-bytes
void AddLimitFlags(InputLimits& limits, CLI::App& app, const std::string& group);

// Adds the flags that decide how a cluster is read (OptionAbout::kLoading), and those of
// AddLimitFlags.
void AddLoadFlags(LoadOptions& options, CLI::App& app, const std::string& group,
                  GivenFlags* given = nullptr);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_INPUT_FLAGS_H_
