// Flags about the input that the commands share.

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

// The flags that say how a cluster is read (OptionAbout::kLoading), and those above.
void AddLoadFlags(LoadOptions& options, CLI::App& app, const std::string& group,
                  GivenFlags* given = nullptr);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_INPUT_FLAGS_H_
