#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace ebb {
namespace {

// The length in bytes of the well-formed sequence at the start of `text`; 0 if the text does
// not start with one.
size_t SequenceLength(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte reveals overlong forms, surrogates and code points beyond U+10FFFF.
  const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view text) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight = 0;  // Eight bytes of ASCII at a time: Kubernetes' texts have little else.
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & kHighBits) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string_view CutUtf8(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace ebb
