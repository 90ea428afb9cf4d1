#include "cli/commands/end_signals.h"

#include <ctime>

namespace ebb {

EndSignals::EndSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  previous_ = signal(SIGPIPE, SIG_IGN);
}

EndSignals::~EndSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  signal(SIGPIPE, previous_);
}

bool EndSignals::Wait(std::chrono::microseconds time) {
  const timespec spec{.tv_sec = static_cast<time_t>(time.count() / 1'000'000),
                      .tv_nsec = static_cast<long>(time.count() % 1'000'000) * 1000};
  return sigtimedwait(&signals_, nullptr, &spec) > 0;
}

void EndSignals::LetEnd() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace ebb
