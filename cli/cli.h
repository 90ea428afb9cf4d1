// The command line of `ebb`: subcommands, help, version, and the error for an unknown flag.

#ifndef EBB_CLI_CLI_H_
#define EBB_CLI_CLI_H_

#include <iosfwd>

#include "base/version.h"

namespace ebb {

// Exit codes: 0 done; 1 bad input or output; 2 usage; 3 the clock jumped (round_command.h);
// 10 with --exit-code: the plan or round has something to do.  `build`: for `ebb version`.
int RunCli(int argc, const char* const* argv, std::istream& in, std::ostream& out,
           std::ostream& err, const BuildInfo& build = {});

}  // namespace ebb

#endif  // EBB_CLI_CLI_H_
