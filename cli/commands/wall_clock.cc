#include "cli/commands/wall_clock.h"

#include <algorithm>
#include <utility>

namespace ebb {
namespace {

constexpr std::chrono::milliseconds kSignalsEvery{50};

// If the clock is set back, a sleep does not become longer than intended.
std::chrono::microseconds TimeUntil(int64_t time_s) {
  const std::chrono::system_clock::time_point end{std::chrono::seconds(time_s)};
  const auto left =
      std::chrono::duration_cast<std::chrono::microseconds>(end - std::chrono::system_clock::now());
  return std::max(left, std::chrono::microseconds(0));
}

}  // namespace

WallClock::WallClock() : thread_([this] { Run(); }) {}

WallClock::~WallClock() {
  over_ = true;
  thread_.join();
}

bool WallClock::SleepUntil(int64_t time_s) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, TimeUntil(time_s), [this] { return signals_met_ > 0; });
}

void WallClock::WaitUntil(int64_t time_s) {
  SleepFor(std::chrono::duration_cast<std::chrono::milliseconds>(TimeUntil(time_s)) +
           std::chrono::milliseconds(1));
}

int64_t WallClock::EndRequestedAtS() {
  const std::lock_guard lock(mutex_);
  if (last_end_) return 0;  // A long time ago: the loop waits for nothing any more.
  return met_at_s_.value_or(Now());
}

void WallClock::SleepFor(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return last_end_; });
}

void WallClock::Run() {
  while (!over_) {
    const bool met = signals_.Wait(kSignalsEvery);
    std::unique_lock lock(mutex_);
    if (met && signals_met_++ == 0) {
      met_at_ = Steady::now();
      met_at_s_ = Now();
      changed_.notify_all();
    }
    const bool is_due =
        signals_met_ > 1 || (signals_met_ == 1 && Steady::now() >= met_at_ + grace_);
    if (!is_due || then_ == nullptr) continue;
    last_end_ = true;
    changed_.notify_all();
    std::exchange(then_, nullptr)();
  }
}

WallClock::LastEnd::LastEnd(WallClock& clock, std::chrono::milliseconds grace,
                            std::function<void()> then)
    : clock_(clock) {
  const std::lock_guard lock(clock_.mutex_);
  clock_.grace_ = grace;
  clock_.then_ = std::move(then);
}

WallClock::LastEnd::~LastEnd() {
  const std::lock_guard lock(clock_.mutex_);
  clock_.then_ = nullptr;
}

}  // namespace ebb
