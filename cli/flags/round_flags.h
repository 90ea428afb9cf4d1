// The flags for rounds of the planner over time: of `ebb plan --state` and of `ebb run`.

#ifndef EBB_CLI_FLAGS_ROUND_FLAGS_H_
#define EBB_CLI_FLAGS_ROUND_FLAGS_H_

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "cli/flags/option_flags.h"
#include "options/round_options.h"

namespace CLI {
class App;
}

namespace ebb {

// The heading in the help of `ebb plan` above the flags of rounds.
inline constexpr const char* kRoundGroup = "Over time (with --state)";

struct RoundFlags {
  std::string state;
  std::string events;
  std::string record;
  std::string metrics;
  int64_t rounds_kept = 100;
  CLI::App* app = nullptr;  // The command that has the flags.

  // Adds the flags of files, and the flags of `options` that belong to rounds; `given` records
  // which of the latter were given.
  void AddTo(CLI::App& app, RoundOptions& options, GivenFlags& given);
  // As AddTo, for a command that makes rounds continuously: without --events and --metrics.
  void AddLoopFlags(CLI::App& app, RoundOptions& options, GivenFlags& given);
  [[nodiscard]] bool active() const { return !state.empty(); }
  // One line on the flags that were given and count only in rounds.  `used`: flags that count
  // nevertheless, without dashes.
  void WarnUnused(std::ostream& err, std::span<const std::string_view> used = {}) const;
};

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_ROUND_FLAGS_H_
