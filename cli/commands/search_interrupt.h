// SearchInterrupt: an interrupted search returns the best plan that it has so far.
//
//   const SearchInterrupt interrupt;
//   hooks.cancelled = interrupt.ends();
//
// While a SearchInterrupt exists, the first SIGINT or SIGTERM only ends the search.  A second
// signal of the same kind ends the process, as it would without a SearchInterrupt.  A signal that
// the process ignored before stays ignored.
//
// Threads: at most one SearchInterrupt may exist in a process; any thread may read ends().

#ifndef EBB_CLI_COMMANDS_SEARCH_INTERRUPT_H_
#define EBB_CLI_COMMANDS_SEARCH_INTERRUPT_H_

#include <signal.h>

#include <array>

#include "base/deadline.h"

namespace ebb {

class SearchInterrupt {
 public:
  SearchInterrupt();
  ~SearchInterrupt();
  SearchInterrupt(const SearchInterrupt&) = delete;
  SearchInterrupt& operator=(const SearchInterrupt&) = delete;

  [[nodiscard]] const Deadline* ends() const { return &token_; }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM};

  CancelToken token_;
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_SEARCH_INTERRUPT_H_
