// What the daemon's process holds of the machine's memory, and how it gives back what is free.
//
// The allocator keeps memory that was freed: after a peak, a limit on resident memory would be
// exceeded for good although little is in use.  So free memory is given back before a limit is
// said to be exceeded, and some time after every peak.
//
// Cost:    ResidentBytes reads /proc.  Giving back takes tens of milliseconds a gigabyte, in which
//          other threads may wait to allocate.
// Threads: any.

#ifndef EBB_SERVICE_DAEMON_MEMORY_H_
#define EBB_SERVICE_DAEMON_MEMORY_H_

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

// While it lives, gives free memory back within seconds after resident memory grew by a quarter
// and by 64 MiB.
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

#endif  // EBB_SERVICE_DAEMON_MEMORY_H_
