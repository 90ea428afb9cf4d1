// Parallelism: how many threads a computation may use, and two ways to use them.
// The one header behind which oneTBB stands.
//
//   const Parallelism parallelism(threads);      // Made once, passed by reference.
//   parallelism.For(chunks.size(), [&](size_t index, size_t /*slot*/) { Parse(chunks[index]); });
//
//   WorkAhead<Chunk> ahead(parallelism, [](Chunk& chunk) { Parse(chunk); });
//   for (const Chunk& chunk : chunks) ahead.Push(chunk);  // Others begin on them.
//   Take(ahead.Pop());                                    // In the order of Push, done.
//
// One thread means no oneTBB at all: bodies run in the caller, in order.
//
// The same answer at any thread count is for the caller to keep: let each call write
// only what is its own (a result slot by index, a branch of the snapshot), and let one
// thread put the results together in a fixed order.
//
// Cost:    For with threads: some microseconds to wake the others, once; worth it from
//          about 50 us of work on.  An index is a task: give it a few microseconds of
//          work or more.  Push: under a microsecond.
// Threads: const methods may be called from several threads at once; bodies may call
//          For again.
// Errors:  bodies do not throw.

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

namespace ebb {

class Parallelism {
 public:
  // The most threads that one may ask for.
  static constexpr size_t kThreadsMax = 256;

  // The caller's thread and `threads` - 1 others.  Threads start when there is work.
  // REQUIRES: 1 <= threads <= kThreadsMax.
  explicit Parallelism(size_t threads = 1);
  ~Parallelism();
  Parallelism(const Parallelism&) = delete;
  Parallelism& operator=(const Parallelism&) = delete;

  // The caller's thread alone.
  static const Parallelism& One();

  [[nodiscard]] size_t threads() const { return threads_; }

  // Calls body(index, slot) once for each index < count and returns when all have
  // returned.  `slot` < threads() is for scratch memory: no two calls with the same
  // slot run at once.
  void For(size_t count, absl::FunctionRef<void(size_t index, size_t slot)> body) const;

  // The cores that this process may run on: what --threads is by default.
  static size_t Cores();

 private:
  template <typename Item>
  friend class WorkAhead;

  // Runs `task` on some other thread, sooner or later.  REQUIRES: threads() > 1.
  void Start(std::function<void()> task) const;

  class Impl;
  const size_t threads_;
  const std::unique_ptr<Impl> impl_;  // None for one thread.
};

// Items on which other threads work while their owner makes more of them, and which
// the owner takes back in order.  The owner's thread works too: where the item that it
// wants is not ready it does that one itself, or, while another thread works on it, the
// next that nobody has begun.  So one thread is never slower than a loop, and no thread
// sleeps while there is work.
//
// How many items wait is for the owner to bound; 2 * threads() keeps all busy.
//
// Threads:   Push and Pop from one thread.
// Ownership: borrows the Parallelism.  Destroying it waits for items in work; others
//            are dropped.
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

  // The oldest item, worked on.  REQUIRES: size() > 0.
  Item Pop() {
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
    // Whether the caller is the first, and so the one to do the work.  What the owner
    // wrote before Push is visible to the task through oneTBB's queue; nothing else
    // hangs on this exchange, so it needs no order.
    bool Claim() { return !claimed.exchange(true, std::memory_order_relaxed); }
    // Pairs with Wait: what the work wrote is visible to the owner.
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
