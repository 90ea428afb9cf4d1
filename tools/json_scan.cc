#include "tools/json_scan.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ebb::json_scan {
namespace {

constexpr size_t kBlock = 64;

// One bit per byte of a block.
struct Masks {
  uint64_t backslash = 0;
  uint64_t quote = 0;
  uint64_t open = 0;   // { or [
  uint64_t close = 0;  // } or ]
};

#if defined(__SSE2__)
Masks Classify(const char* block) {
  Masks masks;
  for (size_t i = 0; i < kBlock; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
    // Bit 5 is all that [ and {, ] and } differ in.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const auto mask = [i](__m128i equal) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal))) << i;
    };
    masks.backslash |= mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    masks.quote |= mask(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
    masks.open |= mask(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
    masks.close |= mask(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
  }
  return masks;
}
#else
Masks Classify(const char* block) {
  Masks masks;
  for (size_t i = 0; i < kBlock; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    switch (block[i]) {
      case '\\':
        masks.backslash |= bit;
        break;
      case '"':
        masks.quote |= bit;
        break;
      case '{':
      case '[':
        masks.open |= bit;
        break;
      case '}':
      case ']':
        masks.close |= bit;
        break;
      default:
        break;
    }
  }
  return masks;
}
#endif

// The bytes that a backslash escapes.  `carry` is 1 where the block before ended
// in a backslash that escapes.  Odd runs of backslashes escape what follows them:
// the addition carries through each run that starts on an odd bit.  (The scheme
// is simdjson's.)
uint64_t Escaped(uint64_t backslash, uint64_t& carry) {
  if (backslash == 0) {
    const uint64_t escaped = carry;
    carry = 0;
    return escaped;
  }
  constexpr uint64_t kEven = 0x5555555555555555ull;
  backslash &= ~carry;
  const uint64_t follows = (backslash << 1) | carry;
  const uint64_t odd_starts = backslash & ~kEven & ~follows;
  uint64_t even_runs = 0;
  carry = __builtin_add_overflow(odd_starts, backslash, &even_runs) ? 1 : 0;
  return (kEven ^ (even_runs << 1)) & follows;
}

// Bit i of the result is the parity of bits 0..i: set from an opening quote on,
// up to its closing one.
constexpr uint64_t PrefixXor(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Depth while walking a container, a block at a time.
class DepthCounter {
 public:
  // The index just past the brace that brings the depth to zero, or kBlock + 1.
  size_t Feed(const char* block) {
    Masks masks = Classify(block);
    const uint64_t quotes = masks.quote & ~Escaped(masks.backslash, escape_carry_);
    const uint64_t in_string = PrefixXor(quotes) ^ in_string_;
    in_string_ = static_cast<uint64_t>(static_cast<int64_t>(in_string) >> 63);
    masks.open &= ~in_string;
    masks.close &= ~in_string;
    const int64_t closes = std::popcount(masks.close);
    if (depth_ > closes) {  // Cannot come to zero within this block.
      depth_ += std::popcount(masks.open) - closes;
      return kBlock + 1;
    }
    for (uint64_t braces = masks.open | masks.close; braces != 0; braces &= braces - 1) {
      const uint64_t lowest = braces & -braces;
      depth_ += (masks.open & lowest) != 0 ? 1 : -1;
      if (depth_ == 0) return static_cast<size_t>(std::countr_zero(braces)) + 1;
    }
    return kBlock + 1;
  }

 private:
  uint64_t escape_carry_ = 0;
  uint64_t in_string_ = 0;
  int64_t depth_ = 0;
};

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

const char* SkipBlanks(const char* p, const char* end) {
  while (p < end && IsBlank(*p)) ++p;
  return p;
}

const char* SkipString(const char* p, const char* end) {
  for (++p; p < end; ++p) {
    if (*p == '"') return p + 1;
    if (*p == '\\' && ++p == end) break;
  }
  return nullptr;
}

const char* SkipContainer(const char* p, const char* end) {
  DepthCounter counter;
  for (; end - p >= static_cast<ptrdiff_t>(kBlock); p += kBlock) {
    const size_t at = counter.Feed(p);
    if (at <= kBlock) return p + at;
  }
  char last[kBlock];
  const size_t rest = static_cast<size_t>(end - p);
  std::memset(last, ' ', kBlock);
  std::memcpy(last, p, rest);
  const size_t at = counter.Feed(last);
  return at <= rest ? p + at : nullptr;
}

const char* SkipValue(const char* p, const char* end) {
  switch (*p) {
    case '"':
      return SkipString(p, end);
    case '{':
    case '[':
      return SkipContainer(p, end);
    default:
      break;
  }
  const char* const start = p;
  while (p < end && !IsBlank(*p) && *p != ',' && *p != '}' && *p != ']') ++p;
  return p == start ? nullptr : p;
}

}  // namespace ebb::json_scan
