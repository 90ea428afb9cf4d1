// The amount of work of a test under a sanitizer, which makes each step five to twenty times as
// slow.

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

// A fifth of the rounds under a sanitizer.  Errors that need many inputs are found by the release
// build's tests, which run all rounds; a wrong access or a race shows at once.
constexpr uint64_t Rounds(uint64_t rounds) { return kSanitized ? (rounds + 4) / 5 : rounds; }

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_SANITIZED_H_
