// The command line of `ebb`: subcommands, help, version, and what is said about a
// flag that does not exist.

#ifndef EBB_TOOLS_CLI_H_
#define EBB_TOOLS_CLI_H_

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ebb {

inline constexpr std::string_view kVersion = "0.1.0";

// Exit codes: 0 done, 1 bad input, 2 usage.
int RunCli(int argc, const char* const* argv, std::istream& in, std::ostream& out,
           std::ostream& err);

// Tells the error in one line; returns 1, the exit code.
int Fail(const absl::Status& status, std::ostream& err);

// The only candidate that is `word` with a domain behind it ("ip-10-0-0-1" of
// "ip-10-0-0-1.ec2.internal"); else the one that is nearest by edits, if any is near; else
// empty.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace ebb

#endif  // EBB_TOOLS_CLI_H_
