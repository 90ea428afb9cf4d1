// Lists the versions of a function that Highway compiled for several vector widths and that
// this machine can run.  The file that defines such a function begins
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "folder/file.cc"  // Included once more for each target.
//   #include "base/vector_ways.h"                // Before Highway's own headers.
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//
// defines F between HWY_BEFORE_NAMESPACE() and HWY_AFTER_NAMESPACE(), and ends, within
// #if HWY_ONCE, with EBB_VECTOR_WAYS(F): a vector of function pointers, the widest first.
//
// Highway could choose the version itself (HWY_DYNAMIC_DISPATCH), but that needs Highway's
// library, which spends 6 ms on measuring timers whenever a program starts.  Only its
// headers are used.
//
// Threads: pure functions.

#ifndef EBB_BASE_VECTOR_WAYS_H_
#define EBB_BASE_VECTOR_WAYS_H_

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

// On arm64 every machine has NEON, so it is the only target there.  The gain from SVE has not
// been measured.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

namespace ebb {

// Whether this machine has the instructions of `target`, one of HWY_AVX3, HWY_AVX2 and
// HWY_SSE4.
bool MachineHas(int64_t target);

// Returns the functions of `choice` that are compiled (not null) and whose target this machine
// has, then `everywhere`, which runs on any machine.
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
