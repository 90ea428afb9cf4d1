// The flags that rounds of the planner over time have: of `ebb plan --state`, and of `ebb run`.

#ifndef EBB_TOOLS_ROUND_FLAGS_H_
#define EBB_TOOLS_ROUND_FLAGS_H_

#include <cstdint>
#include <iosfwd>
#include <string>

#include "service/options/round_options.h"
#include "tools/option_flags.h"

namespace CLI {
class App;
}

namespace ebb {

// The heading in help of the flags of `ebb plan` that are of rounds.
inline constexpr const char* kRoundGroup = "Over time (with --state)";

struct RoundFlags {
  std::string state;
  std::string events;
  std::string record;
  std::string metrics;
  int64_t rounds_kept = 100;
  CLI::App* app = nullptr;  // The command that has the flags.

  // The flags of files, and those of `options` that are of rounds.  `given` notes the latter.
  void AddTo(CLI::App& app, RoundOptions& options, GivenFlags& given);
  // The same for a command that makes rounds all the time: without --events and --metrics.
  void AddLoopFlags(CLI::App& app, RoundOptions& options, GivenFlags& given);
  [[nodiscard]] bool active() const { return !state.empty(); }
  // One line on the flags that were given and count only in rounds.
  void WarnUnused(std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_TOOLS_ROUND_FLAGS_H_
