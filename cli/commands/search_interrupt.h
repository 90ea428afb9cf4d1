// SearchInterrupt: whoever interrupts a search gets what it has so far.
//
//   const SearchInterrupt interrupt;
//   hooks.cancelled = interrupt.ends();
//
// While it lives the first SIGINT or SIGTERM only says that time is up; the second of a kind ends
// the process, as the first does at any other time.  A signal that was ignored stays so.
//
// Threads: one of them at a time in a process; ends() may be asked by any thread.

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
