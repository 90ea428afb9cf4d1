// The one table of which flags of a command exclude each other, and why.
//
// The command line rejects such flags together and gives the reason, and `ebb help` lists them.  A
// test compares the table in docs/plan.md with this one.

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

// Makes `app` reject the flags of each row of `command` when they are given together.  Skips rows
// with a flag that `app` does not have.
void Exclude(std::string_view command, CLI::App& app);

// The reason for CLI11's message "--state excludes --server"; empty: the command has no such row.
std::string WhyExcluded(std::string_view command, std::string_view message);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_EXCLUSIONS_H_
