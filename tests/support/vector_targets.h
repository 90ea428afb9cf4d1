// Code that Highway compiles for several widths of vectors is tested in all of them that
// this machine has, not only in the one that it would choose.

#ifndef EBB_TESTS_SUPPORT_VECTOR_TARGETS_H_
#define EBB_TESTS_SUPPORT_VECTOR_TARGETS_H_

#include <hwy/highway.h>

#include <cstdint>

namespace ebb::test {

// Calls `check` with the name of each target, which is chosen meanwhile.
// Threads: none other may run such code.
template <typename Check>
void InEachVectorTarget(const Check& check) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    check(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_VECTOR_TARGETS_H_
