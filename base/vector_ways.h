// A function that Highway compiles for several widths of vectors, and which of them this
// machine can run.  The file of such a function begins
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "folder/file.cc"  // Included once more a target.
//   #include "base/vector_ways.h"                // Before Highway's own headers.
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//
// defines F between HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), and ends, within
// #if HWY_ONCE, with EBB_VECTOR_WAYS(F): a vector of function pointers, the widest first.
//
// Highway could choose by itself (HWY_DYNAMIC_DISPATCH), but its library, which that
// needs, spends 6 ms on measuring timers whenever a program starts.  Only its headers are
// used.
//
// Threads: pure functions.

#ifndef EBB_BASE_VECTOR_WAYS_H_
#define EBB_BASE_VECTOR_WAYS_H_

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

// Every arm64 machine has NEON, which is then not chosen but taken for granted.  What SVE
// would gain has not been measured.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

namespace ebb {

// Whether this machine has the instructions of a target, which is one of HWY_AVX3,
// HWY_AVX2 and HWY_SSE4.
bool MachineHas(int64_t target);

// Of (target, function) those that are compiled (not null) and run here; then the one
// that runs everywhere.
template <typename Function>
std::vector<Function*> VectorWays(std::initializer_list<std::pair<int64_t, Function*>> choice,
                                  Function* everywhere) {
  std::vector<Function*> ways;
  for (const auto& [target, function] : choice) {
    if (function != nullptr && MachineHas(target)) ways.push_back(function);
  }
  ways.push_back(everywhere);
  return ways;
}

#define EBB_VECTOR_WAYS(F)                                                     \
  ::ebb::VectorWays<std::remove_pointer_t<decltype(&HWY_STATIC_DISPATCH(F))>>( \
      {{HWY_AVX3, HWY_CHOOSE_AVX3(F)},                                         \
       {HWY_AVX2, HWY_CHOOSE_AVX2(F)},                                         \
       {HWY_SSE4, HWY_CHOOSE_SSE4(F)}},                                        \
      &HWY_STATIC_DISPATCH(F))

}  // namespace ebb

#endif  // EBB_BASE_VECTOR_WAYS_H_
