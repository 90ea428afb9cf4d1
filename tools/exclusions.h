// Which flags of a command exclude each other, and which need another one: the one table of them,
// with reasons.
//
// The command line refuses them and says why, `ebb help` lists them, and docs/plan.md has the
// tables, which a test compares with these.

#ifndef EBB_TOOLS_EXCLUSIONS_H_
#define EBB_TOOLS_EXCLUSIONS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct Exclusion {
  std::string_view command;  // "plan", "policy simulate".
  std::string_view flag;     // Or an argument: "INPUT".
  std::string_view other;
  std::string_view reason;  // Without a full stop.
};

// A flag that would do nothing without another one.
struct Need {
  std::vector<std::string_view> commands;
  std::string_view flag;
  std::string_view when;                 // Where this flag is given too; "": always.
  std::vector<std::string_view> others;  // One of these is needed.
  std::string_view reason;               // Without a full stop.
};

std::span<const Exclusion> Exclusions();
const std::vector<Need>& Needs();

// Has `app` refuse the flags of the command's rows, but for needs that several flags meet or that
// arise with another flag: UnmetNeed finds those.  Rows with a flag that `app` lacks count for
// nothing.
void RefuseMisfits(std::string_view command, CLI::App& app);

// The first need of the flags that were given, "--seed needs --simulate or --optimize: REASON"; "":
// all are met.
std::string UnmetNeed(std::string_view command, const CLI::App& app);

// CLI11's message with the reason of its row: "--state excludes --server", "--hours requires
// --simulate"; as it is where it is of no row of the command.
std::string WithReason(std::string_view command, const std::string& message);

}  // namespace ebb

#endif  // EBB_TOOLS_EXCLUSIONS_H_
