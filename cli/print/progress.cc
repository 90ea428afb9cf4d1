#include "cli/print/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/duration.h"

namespace ebb {

Progress::Progress() {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread(&Progress::Run, this);
}

Progress::~Progress() { Done(); }

void Progress::Say(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::Done() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Progress::Run() {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const steady_clock::time_point start = steady_clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, milliseconds(1000), [this] { return done_; })) return;
  do {
    const std::chrono::duration<double> time = steady_clock::now() - start;
    fmt::print(stderr, "\r\x1b[Kebb: {} ({})", what_,
               DurationText(std::chrono::floor<std::chrono::seconds>(time).count()));
    std::fflush(stderr);
  } while (!changed_.wait_for(lock, milliseconds(200), [this] { return done_; }));
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace ebb
