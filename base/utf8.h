// Finds the first byte of a text that is not UTF-8, and cuts texts between characters.

#ifndef EBB_BASE_UTF8_H_
#define EBB_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace ebb {

// The offset of the first byte that is not part of a well-formed UTF-8 sequence
// (Unicode table 3-7); text.size() if all of the text is valid.  Reads eight bytes of ASCII at a
// time, and other text character by character.
size_t FirstInvalidUtf8(std::string_view text);

// The longest beginning of at most `bytes` bytes that ends between two characters.
std::string_view CutUtf8(std::string_view text, size_t bytes);

}  // namespace ebb

#endif  // EBB_BASE_UTF8_H_
