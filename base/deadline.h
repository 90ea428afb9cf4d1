// Deadline reports whether the time for a computation is over.  The engine reads no clock;
// a caller of the engine may implement Deadline with one.

#ifndef EBB_BASE_DEADLINE_H_
#define EBB_BASE_DEADLINE_H_

#include <atomic>

namespace ebb {

class Deadline {
 public:
  virtual ~Deadline() = default;
  // Cheap.  The engine calls it between candidates and every few thousand filter evaluations.
  [[nodiscard]] virtual bool Expired() const = 0;
};

// Expires when any thread calls Cancel().  The computation then stops and returns what it has.
class CancelToken final : public Deadline {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  // Relaxed: no other data depends on the flag, and seeing it a little later does no harm.
  [[nodiscard]] bool Expired() const override { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_ = false;
};

// Expires with the earlier of two deadlines.  A null deadline never expires.
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
