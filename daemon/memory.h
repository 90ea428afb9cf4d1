// How much memory the daemon's process holds, and how it returns free memory to the system.
//
// The allocator keeps memory that was freed.  After a peak, the process could exceed a limit on
// resident memory permanently, although it uses little.  So free memory is returned before the
// limit counts as exceeded, and some time after every peak.
//
// Cost:    ResidentBytes reads /proc.  Returning memory takes tens of milliseconds a gigabyte;
//          other threads that allocate may wait meanwhile.
// Threads: any.

#ifndef EBB_DAEMON_MEMORY_H_
#define EBB_DAEMON_MEMORY_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace ebb {

// Resident memory of this process; 0: unknown.
uint64_t ResidentBytes();

// As ResidentBytes(), but if that exceeds `limit`, first returns free memory.  It does so at most
// once a second, so that many rejected calls cost little.
uint64_t ResidentBytesWithin(uint64_t limit);

// Memory that the allocator has handed out and not got back; 0: unknown.  Takes locks of the
// allocator, and time for each free block.
uint64_t AllocatedBytes();

// Decides when to return free memory.  Freeing memory does not change the resident size.  So the
// allocator is asked periodically: soon after the resident size changed, and less and less often
// while there is nothing to return.
class ReturnPolicy {
 public:
  static constexpr uint64_t kBytesMin = uint64_t{64} << 20;
  static constexpr int kLooksSkippedMax = 15;

  // Whether to ask the allocator this time.
  bool IsDue(uint64_t resident) {
    const bool changed = resident > last_ + kBytesMin || resident + kBytesMin < last_;
    last_ = resident;
    if (changed) skip_ = next_skip_ = 0;
    return skip_ == 0 || --skip_ == 0;
  }
  // Whether to return free memory, given the allocator's answer.
  bool Wants(uint64_t resident, uint64_t allocated) {
    const uint64_t free = resident - std::min(resident, allocated);
    kept_ = std::min(kept_, free);
    const bool wants = free >= kept_ + kBytesMin;
    next_skip_ = wants ? 0 : std::min(2 * next_skip_ + 1, kLooksSkippedMax);
    skip_ = next_skip_;
    return wants;
  }
  // Free memory was returned; what is still free cannot be returned.
  void Returned(uint64_t resident, uint64_t allocated) {
    last_ = resident;
    kept_ = resident - std::min(resident, allocated);
  }

 private:
  uint64_t last_ = 0;  // Resident size at the last call.
  uint64_t kept_ = 0;  // Free memory that could not be returned.
  int skip_ = 0;
  int next_skip_ = 0;
};

// Returns free memory during its lifetime: within seconds after a peak, and within a minute and a
// half in any case.
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
