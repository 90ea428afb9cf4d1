// JSON as bytes: what must follow it, and how errors name a place in it.

#ifndef EBB_SNAPSHOT_FORMATS_JSON_BYTES_H_
#define EBB_SNAPSHOT_FORMATS_JSON_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ebb {

// Readable bytes that must follow the text.
inline constexpr size_t kJsonPadding = 64;

// "byte 120, line 4, column 7", all but the byte counted from 1; the byte alone where
// `text`, in which it is counted, is not at hand.  Cost: reads the text up to there.
std::string BytePosition(std::string_view text, uint64_t byte);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_JSON_BYTES_H_
