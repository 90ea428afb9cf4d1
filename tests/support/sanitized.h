// How much a test does where a sanitizer makes each step five to twenty times as slow.

#ifndef EBB_TESTS_SUPPORT_SANITIZED_H_
#define EBB_TESTS_SUPPORT_SANITIZED_H_

#include <cstdint>

namespace ebb::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
#define EBB_TESTS_SANITIZED 1
#elif defined(__has_feature)  // clang
#define EBB_TESTS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define EBB_TESTS_SANITIZED 0
#endif
inline constexpr bool kSanitized = EBB_TESTS_SANITIZED;

// A fifth of them where sanitized.  What takes many inputs to be found is found by the release
// build's tests, which take them all; a wrong access or a race shows in the first that reach it.
constexpr uint64_t Rounds(uint64_t rounds) { return kSanitized ? (rounds + 4) / 5 : rounds; }

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_SANITIZED_H_
