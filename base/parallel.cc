#include "base/parallel.h"

#ifndef EBB_ONE_THREAD
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "base/check.h"
#endif

namespace ebb {

#ifdef EBB_ONE_THREAD

// A build for programs that want no threads but their own: any requested number means one.
class Parallelism::Impl {
 public:
  explicit Impl(size_t /*threads*/) {}
  void For(size_t count, absl::FunctionRef<void(size_t, size_t)> body) {
    for (size_t i = 0; i < count; ++i) body(i, 0);
  }
  void Start(const std::function<void()>& task) { task(); }
};

size_t Parallelism::Cores() { return 1; }

#else

class Parallelism::Impl {
 public:
  explicit Impl(size_t threads)
      : allowed_(tbb::global_control::max_allowed_parallelism, threads),
        arena_(static_cast<int>(threads)) {}

  ~Impl() {
    arena_.execute([this] { started_.wait(); });
  }

  void For(size_t count, absl::FunctionRef<void(size_t, size_t)> body) {
    const auto run = [&](const tbb::blocked_range<size_t>& range) {
      const auto slot = static_cast<size_t>(tbb::this_task_arena::current_thread_index());
      for (size_t i = range.begin(); i != range.end(); ++i) body(i, slot);
    };
    // Isolated: a thread that waits here does not take a task of an enclosing For, which
    // would be a second call in its slot.
    arena_.execute([&] {
      tbb::this_task_arena::isolate(
          [&] { tbb::parallel_for(tbb::blocked_range<size_t>(0, count), run); });
    });
  }

  void Start(std::function<void()> task) {
    arena_.execute([&] { started_.run(std::move(task)); });
  }

 private:
  // Without this oneTBB uses at most one thread per core.
  tbb::global_control allowed_;
  tbb::task_arena arena_;
  tbb::task_group started_;
};

size_t Parallelism::Cores() { return static_cast<size_t>(tbb::info::default_concurrency()); }

#endif

Parallelism::Parallelism(size_t threads)
    : threads_(threads), impl_(threads > 1 ? std::make_unique<Impl>(threads) : nullptr) {
  EBB_DCHECK(1 <= threads && threads <= kThreadsMax);
}

Parallelism::~Parallelism() = default;

const Parallelism& Parallelism::One() {
  static const Parallelism one(1);
  return one;
}

void Parallelism::For(size_t count, absl::FunctionRef<void(size_t, size_t)> body) const {
  if (impl_ != nullptr && count > 1) {
    impl_->For(count, body);
    return;
  }
  for (size_t i = 0; i < count; ++i) body(i, 0);
}

void Parallelism::Start(std::function<void()> task) const {
  EBB_DCHECK(threads() > 1);
  impl_->Start(std::move(task));
}

}  // namespace ebb
