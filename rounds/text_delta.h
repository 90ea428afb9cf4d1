// A text, stored as its compressed difference from a base text: used for a round's decision, with
// an earlier round's decision as the base.
//
//   const std::string delta = PackDelta(base, text);
//   absl::StatusOr<std::string> same = UnpackDelta(base, delta);   // == text
//
// Cost:    O(base + text).  A few milliseconds for two decisions over 1,000 nodes.
// Errors:  InvalidArgument: the delta is damaged, or was made with another base.
// Threads: pure functions.

#ifndef EBB_ROUNDS_TEXT_DELTA_H_
#define EBB_ROUNDS_TEXT_DELTA_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

// `base` may be empty: then the text is compressed without a base.
std::string PackDelta(std::string_view base, std::string_view text);
absl::StatusOr<std::string> UnpackDelta(std::string_view base, std::string_view delta);

}  // namespace ebb

#endif  // EBB_ROUNDS_TEXT_DELTA_H_
