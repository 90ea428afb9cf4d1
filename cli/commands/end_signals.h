// EndSignals: waits for SIGTERM and SIGINT instead of handling them.
//
//   EndSignals signals;  // Create it before any thread: threads inherit the signal mask.
//   while (!signals.Wait(std::chrono::seconds(10))) Work();
//
// While an EndSignals exists, these signals do not end the process, and writing to a pipe without a
// reader returns an error instead of raising SIGPIPE.
// Threads: one.

#ifndef EBB_CLI_COMMANDS_END_SIGNALS_H_
#define EBB_CLI_COMMANDS_END_SIGNALS_H_

#include <signal.h>

#include <chrono>

namespace ebb {

class EndSignals {
 public:
  EndSignals();
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Waits at most `time` for a signal.  Returns whether one came.
  bool Wait(std::chrono::microseconds time);
  // From here on, either signal ends the process at once.
  void LetEnd();

 private:
  sigset_t signals_{};
  sigset_t before_{};
  void (*previous_)(int) = SIG_DFL;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_END_SIGNALS_H_
