// Which flags of a command exclude each other, and why: the one table of them.
//
// The command line refuses them together and says why, `ebb help` lists them, and docs/plan.md has
// the table, which a test compares with this one.

#ifndef EBB_CLI_FLAGS_EXCLUSIONS_H_
#define EBB_CLI_FLAGS_EXCLUSIONS_H_

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace ebb {

struct Exclusion {
  std::string_view command;
  std::string_view flag;
  std::string_view other;
  std::string_view reason;  // Without a full stop.
};

std::span<const Exclusion> Exclusions();

// Has `app` refuse the flags of the command's rows together.  Rows with a flag that `app` lacks
// count for nothing.
void Exclude(std::string_view command, CLI::App& app);

// The reason to CLI11's message "--state excludes --server"; empty: it is no row of the command.
std::string WhyExcluded(std::string_view command, std::string_view message);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_EXCLUSIONS_H_
