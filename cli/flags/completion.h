// Completion for shells, generated from the definitions of commands and flags.  It completes
// commands, flags, choices, files and node names.  For node names the script calls `ebb completion
// nodes`.

#ifndef EBB_CLI_FLAGS_COMPLETION_H_
#define EBB_CLI_FLAGS_COMPLETION_H_

#include <string>

namespace CLI {
class App;
}

namespace ebb {

std::string BashCompletion(const CLI::App& app);
std::string ZshCompletion(const CLI::App& app);
std::string FishCompletion(const CLI::App& app);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_COMPLETION_H_
