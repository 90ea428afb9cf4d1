// When time is up.  The engine reads no clock; whoever calls it may.

#ifndef EBB_BASE_DEADLINE_H_
#define EBB_BASE_DEADLINE_H_

#include <atomic>

namespace ebb {

class Deadline {
 public:
  virtual ~Deadline() = default;
  // Cheap; asked between candidates and every few thousand filter evaluations.
  [[nodiscard]] virtual bool Expired() const = 0;
};

// Time is up when somebody says so, in any thread: what runs until then ends with what it has.
class CancelToken final : public Deadline {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Relaxed: nothing else is read because of it, and it may be seen a little later.
  [[nodiscard]] bool Expired() const override { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_ = false;
};

// The earlier of two; null is none.
class FirstDeadline final : public Deadline {
 public:
  FirstDeadline(const Deadline* one, const Deadline* other) : one_(one), other_(other) {}
  [[nodiscard]] bool Expired() const override {
    return (one_ != nullptr && one_->Expired()) || (other_ != nullptr && other_->Expired());
  }

 private:
  const Deadline* one_;
  const Deadline* other_;
};

}  // namespace ebb

#endif  // EBB_BASE_DEADLINE_H_
