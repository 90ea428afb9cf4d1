// When time is up.  The engine reads no clock; whoever calls it may.

#ifndef EBB_BASE_DEADLINE_H_
#define EBB_BASE_DEADLINE_H_

namespace ebb {

class Deadline {
 public:
  virtual ~Deadline() = default;
  // Cheap; asked between candidates and every few thousand filter evaluations.
  [[nodiscard]] virtual bool Expired() const = 0;
};

}  // namespace ebb

#endif  // EBB_BASE_DEADLINE_H_
