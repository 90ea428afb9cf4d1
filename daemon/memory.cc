#include "daemon/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "platform/clock.h"

namespace ebb {
namespace {

constexpr std::chrono::seconds kTrimEvery{1};
constexpr std::chrono::seconds kMemoryLookEvery{5};

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

uint64_t AllocatedBytes() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
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
  ReturnPolicy policy;
  policy.Returned(ResidentBytes(), AllocatedBytes());
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kMemoryLookEvery, [this] { return over_; })) {
    if (!policy.IsDue(ResidentBytes())) continue;
    if (!policy.Wants(ResidentBytes(), AllocatedBytes())) continue;
    GiveBack();
    policy.Returned(ResidentBytes(), AllocatedBytes());
  }
}

}  // namespace ebb
