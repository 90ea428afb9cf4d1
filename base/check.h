// EBB_CHECK ends the process when a condition that the code itself guarantees
// does not hold: a bug, never bad input.  EBB_DCHECK does so in debug builds only.

#ifndef EBB_BASE_CHECK_H_
#define EBB_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define EBB_CHECK(condition)                                                             \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#ifdef NDEBUG
#define EBB_DCHECK(condition)   \
  do {                          \
    if (false && (condition)) { \
    }                           \
  } while (false)
#else
#define EBB_DCHECK(condition) EBB_CHECK(condition)
#endif

namespace ebb {

// A flag that only an EBB_DCHECK reads, such as whether a function was called before.  As a
// [[no_unique_address]] member it takes no space in release builds, which do not store it.
class DebugFlag {
 public:
#ifdef NDEBUG
  constexpr void Set() {}
  [[nodiscard]] constexpr bool IsSet() const { return false; }
#else
  constexpr void Set() { is_set_ = true; }
  [[nodiscard]] constexpr bool IsSet() const { return is_set_; }

 private:
  bool is_set_ = false;
#endif
};

}  // namespace ebb

#endif  // EBB_BASE_CHECK_H_
