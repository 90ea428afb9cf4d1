// Operations on single values.  For this folder only.

#ifndef EBB_CEL_OPERATIONS_H_
#define EBB_CEL_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "cel/value.h"

namespace ebb::cel {

[[nodiscard]] bool IsNumber(const Value& value);
// -1, 0, 1; numbers of different kinds too.  REQUIRES: numbers that are not NaN.
[[nodiscard]] int CompareNumbers(const Value& a, const Value& b);
// False for NaN and for values that are not numbers.
[[nodiscard]] bool IsSameNumber(const Value& a, const Value& b);

// Whether a map of Go takes both as one key.  REQUIRES: not beyond Kind::kString.
[[nodiscard]] bool IsSameKey(const Value& a, const Value& b);
// The entry for a key, also if another kind of number has the same value.  nullptr: none.
[[nodiscard]] const std::pair<Value, Value>* FindEntry(const Map& map, const Value& key);
// Whether a set made of a list that holds `item` has `value`.
[[nodiscard]] bool IsInSet(const Value& item, const Value& value);
// The index of a list that a number means; false if it is not whole.
[[nodiscard]] bool IndexOf(const Value& key, int64_t& index);

[[nodiscard]] std::optional<int64_t> ExactInt(double value);
[[nodiscard]] std::optional<uint64_t> ExactUint(double value);

[[nodiscard]] size_t CountCharacters(std::string_view text);
// The bytes before character `index`.  REQUIRES: index <= CountCharacters(text).
[[nodiscard]] size_t BytesBefore(std::string_view text, size_t index);
// Without white space of Unicode at both ends.
[[nodiscard]] std::string_view Trim(std::string_view text);

}  // namespace ebb::cel

#endif  // EBB_CEL_OPERATIONS_H_
