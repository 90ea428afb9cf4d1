#include "base/vector_ways.h"

#include <cstdint>

#include "hwy/detect_targets.h"

namespace ebb {

// The instructions that each target may use: HWY_TARGET_STR in Highway's set_macros-inl.h.
bool MachineHas([[maybe_unused]] int64_t target) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
                    __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw");
  if (target == HWY_SSE4) return sse4;
  if (target == HWY_AVX2) return avx2;
  if (target == HWY_AVX3) return avx3;
#endif
  return false;
}

}  // namespace ebb
