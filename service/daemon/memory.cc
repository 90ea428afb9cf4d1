#include "service/daemon/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "service/clock.h"

namespace ebb {
namespace {

constexpr std::chrono::seconds kTrimEvery{1};
constexpr std::chrono::seconds kMemoryLookEvery{5};
constexpr uint64_t kGrowthBytes = uint64_t{64} << 20;

void GiveBack() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t ResidentBytesWithin(uint64_t limit) {
  const uint64_t bytes = ResidentBytes();
  if (bytes <= limit) return bytes;
  static std::mutex mutex;
  static Clock::time_point last;
  const std::lock_guard lock(mutex);
  if (last != Clock::time_point() && Clock::now() - last < kTrimEvery) return ResidentBytes();
  GiveBack();
  last = Clock::now();
  return ResidentBytes();
}

MemoryReturn::MemoryReturn() : thread_([this] { Run(); }) {}

MemoryReturn::~MemoryReturn() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MemoryReturn::Run() {
  uint64_t base = ResidentBytes();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kMemoryLookEvery, [this] { return over_; })) {
    const uint64_t bytes = ResidentBytes();
    if (bytes < base) base = bytes;
    if (bytes < base + base / 4 || bytes < base + kGrowthBytes) continue;
    GiveBack();
    base = ResidentBytes();
  }
}

}  // namespace ebb
