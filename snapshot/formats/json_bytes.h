// JSON as bytes: the padding it needs, and how errors name a position in it.

#ifndef EBB_SNAPSHOT_FORMATS_JSON_BYTES_H_
#define EBB_SNAPSHOT_FORMATS_JSON_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ebb {

// How many readable bytes must follow a JSON text; simdjson reads past its end.
inline constexpr size_t kJsonPadding = 64;

// "byte 120, line 4, column 7".  The byte counts from 0, line and column from 1.  Returns only
// "byte 120" if `text` is empty or shorter than that.  Cost: reads `text` up to the byte.
std::string BytePosition(std::string_view text, uint64_t byte);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_JSON_BYTES_H_
