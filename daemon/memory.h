// What the daemon's process holds of the machine's memory, and how it gives back what is free.
//
// The allocator keeps memory that was freed: after a peak, a limit on resident memory would be
// exceeded for good although little is in use.  So free memory is given back before a limit is
// said to be exceeded, and some time after every peak.
//
// Cost:    ResidentBytes reads /proc.  Giving back takes tens of milliseconds a gigabyte, in which
//          other threads may wait to allocate.
// Threads: any.

#ifndef EBB_DAEMON_MEMORY_H_
#define EBB_DAEMON_MEMORY_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace ebb {

// Memory of this process that is resident; 0: it is not known.
uint64_t ResidentBytes();

// The same; where that is more than `limit`, after free memory was given back.  That is done at
// most once a second, so that many calls which are refused cost little.
uint64_t ResidentBytesWithin(uint64_t limit);

// Memory that the allocator has given out and not got back; 0: it is not known.  Takes locks of the
// allocator, and time for each free block.
uint64_t AllocatedBytes();

// Decides when free memory is given back.  Memory that is freed does not show: what is resident
// stays.  So the allocator is asked from time to time, soon after resident memory changed, and more
// and more rarely while there is nothing to give back.
class ReturnPolicy {
 public:
  static constexpr uint64_t kBytesMin = uint64_t{64} << 20;
  static constexpr int kLooksSkippedMax = 15;

  // Whether the allocator is to be asked at this look.
  bool IsDue(uint64_t resident) {
    const bool changed = resident > last_ + kBytesMin || resident + kBytesMin < last_;
    last_ = resident;
    if (changed) skip_ = next_skip_ = 0;
    return skip_ == 0 || --skip_ == 0;
  }
  // Whether free memory is to be given back, as the allocator says.
  bool Wants(uint64_t resident, uint64_t allocated) {
    const uint64_t free = resident - std::min(resident, allocated);
    kept_ = std::min(kept_, free);
    const bool wants = free >= kept_ + kBytesMin;
    next_skip_ = wants ? 0 : std::min(2 * next_skip_ + 1, kLooksSkippedMax);
    skip_ = next_skip_;
    return wants;
  }
  // It was: what is free still cannot be given back.
  void Returned(uint64_t resident, uint64_t allocated) {
    last_ = resident;
    kept_ = resident - std::min(resident, allocated);
  }

 private:
  uint64_t last_ = 0;  // Resident, at the last look.
  uint64_t kept_ = 0;  // Free, and not given back.
  int skip_ = 0;
  int next_skip_ = 0;
};

// While it lives, gives free memory back: within seconds after a peak, and within a minute and a
// half at any time.
class MemoryReturn {
 public:
  MemoryReturn();
  ~MemoryReturn();
  MemoryReturn(const MemoryReturn&) = delete;
  MemoryReturn& operator=(const MemoryReturn&) = delete;

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace ebb

#endif  // EBB_DAEMON_MEMORY_H_
