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

#endif  // EBB_BASE_CHECK_H_
