// A text, stored as its compressed difference from a base text: used for a round's decision, with
// an earlier round's decision as the base.
//
//   const DeltaBase base(earlier);
//   const std::string delta = PackDelta(base, text);
//   absl::StatusOr<std::string> same = UnpackDelta(base.text(), delta);   // == text
//
// Cost:    O(base) once, then O(text).  A few milliseconds for decisions over 1,000 nodes.
// Memory:  a DeltaBase takes up to three times its text.
// Errors:  InvalidArgument: the delta is damaged, or was made with another base.
// Threads: pure functions.

#ifndef EBB_ROUNDS_TEXT_DELTA_H_
#define EBB_ROUNDS_TEXT_DELTA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace ebb {

// A base text, indexed for PackDelta.
class DeltaBase {
 public:
  explicit DeltaBase(std::string text);
  DeltaBase() = default;  // Empty: texts are compressed without a base.

  [[nodiscard]] std::string_view text() const { return text_; }

  struct Match {
    size_t from = 0;
    size_t length = 0;  // 0: there is none.
  };
  // Where the base continues like the beginning of `text`; `expected`: the position in the base if
  // little changed.
  [[nodiscard]] Match Find(std::string_view text, size_t expected) const;

 private:
  std::string text_;
  absl::flat_hash_map<uint64_t, size_t> blocks_;  // The first position of each block, by its hash.
};

std::string PackDelta(const DeltaBase& base, std::string_view text);
absl::StatusOr<std::string> UnpackDelta(std::string_view base, std::string_view delta);

}  // namespace ebb

#endif  // EBB_ROUNDS_TEXT_DELTA_H_
