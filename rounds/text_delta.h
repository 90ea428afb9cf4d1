// A text as what differs from another one, compressed: a round's decision from an earlier round's.
//
//   const std::string delta = PackDelta(base, text);
//   absl::StatusOr<std::string> same = UnpackDelta(base, delta);   // == text
//
// Cost:    O(base + text).  Of two decisions over 1,000 nodes some milliseconds.
// Errors:  InvalidArgument: the delta is damaged, or of another base.
// Threads: pure functions.

#ifndef EBB_ROUNDS_TEXT_DELTA_H_
#define EBB_ROUNDS_TEXT_DELTA_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ebb {

// `base` may be empty: then the text is compressed alone.
std::string PackDelta(std::string_view base, std::string_view text);
absl::StatusOr<std::string> UnpackDelta(std::string_view base, std::string_view delta);

}  // namespace ebb

#endif  // EBB_ROUNDS_TEXT_DELTA_H_
