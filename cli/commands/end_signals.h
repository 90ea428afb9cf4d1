// EndSignals: SIGTERM and SIGINT, waited for instead of handled.
//
//   EndSignals signals;  // Before any thread is made: threads inherit it.
//   while (!signals.Wait(std::chrono::seconds(10))) Work();
//
// While it lives they do not end the process, and a pipe that nobody reads is an error of the
// write.
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

  // Whether one came within the time.
  bool Wait(std::chrono::microseconds time);
  // From here on a signal ends the process at once.
  void LetEnd();

 private:
  sigset_t signals_{};
  sigset_t before_{};
  void (*previous_)(int) = SIG_DFL;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_END_SIGNALS_H_
