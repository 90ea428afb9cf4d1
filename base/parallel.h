// Parallelism: how many threads a computation may use, and two ways to use them.
// No other file uses oneTBB.
//
//   const Parallelism parallelism(threads);      // Made once, passed by reference.
//   parallelism.For(chunks.size(), [&](size_t index, size_t /*slot*/) { Parse(chunks[index]); });
//
//   WorkAhead<Chunk> ahead(parallelism, [](Chunk& chunk) { Parse(chunk); });
//   for (const Chunk& chunk : chunks) ahead.Push(chunk);  // Other threads begin them.
//   Take(ahead.Pop());                                    // In the order of Push, processed.
//
// With one thread oneTBB is not used: bodies run in the caller's thread, in order.
//
// The caller must ensure that the answer is the same at any thread count: let each call
// write only its own data (a result slot by index, a branch of the snapshot), and let one
// thread combine the results in a fixed order.
//
// Cost:    For, with more than one thread: some microseconds once, to wake the other threads;
//          worth it from about 50 us of work on.  Each index is a task and should have at least
//          a few microseconds of work.  Push: under a microsecond.
// Threads: const methods may be called from several threads at once; bodies may call
//          For again.
// Errors:  bodies must not throw.

#ifndef EBB_BASE_PARALLEL_H_
#define EBB_BASE_PARALLEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/check.h"

namespace ebb {

class Parallelism {
 public:
  // The largest number of threads that a caller may request.  Guards against mistyped numbers; not
  // a measured optimum.
  static constexpr size_t kThreadsMax = 256;

  // The caller's thread and `threads` - 1 others.  The others start when there is work.
  // REQUIRES: 1 <= threads <= kThreadsMax.
  explicit Parallelism(size_t threads = 1);
  ~Parallelism();
  Parallelism(const Parallelism&) = delete;
  Parallelism& operator=(const Parallelism&) = delete;

  // Uses only the caller's thread.
  static const Parallelism& One();

  [[nodiscard]] size_t threads() const { return threads_; }

  // Calls body(index, slot) once for each index < count and returns after all calls have
  // returned.  `slot` < threads() selects scratch memory: two calls with the same slot never
  // run at the same time.
  void For(size_t count, absl::FunctionRef<void(size_t index, size_t slot)> body) const;

  // The number of cores that this process may use: the default of --threads.
  static size_t Cores();

 private:
  template <typename Item>
  friend class WorkAhead;

  // Runs `task` later on another thread.  REQUIRES: threads() > 1.
  void Start(std::function<void()> task) const;

  class Impl;
  const size_t threads_;
  const std::unique_ptr<Impl> impl_;  // None for one thread.
};

// A queue of items that other threads process while the owner adds more.  The owner takes
// the items back in order.  If the item that the owner takes is not ready, the owner's
// thread helps: it processes that item itself or, if another thread has begun it, the next
// item that no thread has begun.  So WorkAhead with one thread is never slower than a
// loop, and no thread sleeps while there is work.
//
// The owner bounds the number of waiting items; 2 * threads() keeps all threads busy.
//
// Threads:   Push and Pop must be called from one thread.
// Ownership: borrows the Parallelism.  The destructor waits for items that a thread has begun
//            and drops the others.
template <typename Item>
class WorkAhead {
 public:
  WorkAhead(const Parallelism& parallelism, std::function<void(Item&)> work)
      : parallelism_(parallelism), work_(std::move(work)) {}
  WorkAhead(const WorkAhead&) = delete;
  WorkAhead& operator=(const WorkAhead&) = delete;
  ~WorkAhead() {
    for (const std::shared_ptr<Slot>& slot : slots_) {
      if (!slot->Claim()) slot->Wait();
    }
  }

  [[nodiscard]] size_t size() const { return slots_.size(); }

  void Push(Item item) {
    slots_.push_back(std::make_shared<Slot>(std::move(item)));
    if (parallelism_.threads() == 1) return;
    parallelism_.Start([this, slot = slots_.back()] {
      if (!slot->Claim()) return;  // The owner was first; `this` may be gone.
      work_(slot->item);
      slot->Done();
    });
  }

  // Removes and returns the oldest item, processed.  REQUIRES: size() > 0.
  Item Pop() {
    EBB_DCHECK(size() > 0);
    for (const std::shared_ptr<Slot>& slot : slots_) {
      if (slots_.front()->IsDone()) break;
      if (slot->Claim()) {
        work_(slot->item);
        slot->Done();
      }
    }
    const std::shared_ptr<Slot> first = std::move(slots_.front());
    slots_.pop_front();
    first->Wait();
    return std::move(first->item);
  }

 private:
  struct Slot {
    explicit Slot(Item i) : item(std::move(i)) {}
    // Returns true for the first caller only, which then does the work.  What the owner
    // wrote before Push is visible to the task through oneTBB's queue; nothing else
    // depends on the order of this exchange, so relaxed is enough.
    bool Claim() { return !claimed.exchange(true, std::memory_order_relaxed); }
    // Pairs with Wait and IsDone: what the work wrote is visible to the owner.
    void Done() {
      done.store(true, std::memory_order_release);
      done.notify_one();
    }
    bool IsDone() const { return done.load(std::memory_order_acquire); }
    void Wait() const { done.wait(false, std::memory_order_acquire); }

    Item item;
    std::atomic<bool> claimed{false};
    std::atomic<bool> done{false};
  };

  const Parallelism& parallelism_;
  const std::function<void(Item&)> work_;
  std::deque<std::shared_ptr<Slot>> slots_;
};

}  // namespace ebb

#endif  // EBB_BASE_PARALLEL_H_
