// The one set of tables of which flags of a command exclude each other, and which flags need
// another one, with reasons.
//
// The command line rejects such flags and gives the reason, and `ebb help` lists them.  A test
// compares the tables in docs/plan.md with these.

#ifndef EBB_CLI_FLAGS_EXCLUSIONS_H_
#define EBB_CLI_FLAGS_EXCLUSIONS_H_

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
  std::string_view when;                 // Only if this flag is given too; "": always.
  std::vector<std::string_view> others;  // One of these is needed.
  std::string_view reason;               // Without a full stop.
};

std::span<const Exclusion> Exclusions();
const std::vector<Need>& Needs();

// Makes `app` reject the flags of each row of `command`, except for needs that several flags meet
// or that arise with another flag: UnmetNeed finds those.  Skips rows with a flag that `app` does
// not have.
void RefuseMisfits(std::string_view command, CLI::App& app);

// The first need that the given flags do not meet, "--seed needs --simulate or --optimize: REASON";
// "" if all needs are met.
std::string UnmetNeed(std::string_view command, const CLI::App& app);

// CLI11's message with the reason of its row: "--state excludes --server", "--hours requires
// --simulate".  Returns the message unchanged if the command has no such row.
std::string WithReason(std::string_view command, const std::string& message);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_EXCLUSIONS_H_
