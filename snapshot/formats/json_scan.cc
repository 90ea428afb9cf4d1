#include "snapshot/formats/json_scan.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
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

// Each way to classify comes with the way to count quotes that its machine has.
//
// QuoteParity: bit i is the parity of bits 0..i, so set from an opening quote on, up to
// its closing one.
struct Portable {
  static Masks Classify(const char* block) {
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
  static uint64_t QuoteParity(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
  }
};

#if defined(__x86_64__)
struct Sse2 : Portable {
  static Masks Classify(const char* block) {
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
};

#define EBB_AVX2 __attribute__((target("avx2,pclmul,popcnt,bmi")))
#define EBB_AVX512 __attribute__((target("avx512f,avx512bw,pclmul,popcnt,bmi")))

struct Avx2 {
  EBB_AVX2 static uint64_t Mask(__m256i low, __m256i high) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(high))} << 32;
  }
  EBB_AVX2 static Masks Classify(const char* block) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
    const __m256i bit5 = _mm256_set1_epi8(0x20);
    const __m256i low5 = _mm256_or_si256(low, bit5);
    const __m256i high5 = _mm256_or_si256(high, bit5);
    Masks masks;
    __m256i wanted = _mm256_set1_epi8('\\');
    masks.backslash = Mask(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
    wanted = _mm256_set1_epi8('"');
    masks.quote = Mask(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
    wanted = _mm256_set1_epi8('{');
    masks.open = Mask(_mm256_cmpeq_epi8(low5, wanted), _mm256_cmpeq_epi8(high5, wanted));
    wanted = _mm256_set1_epi8('}');
    masks.close = Mask(_mm256_cmpeq_epi8(low5, wanted), _mm256_cmpeq_epi8(high5, wanted));
    return masks;
  }
  // A carry-less product with all ones.
  EBB_AVX2 static uint64_t QuoteParity(uint64_t bits) {
    const __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(bits)),
                                                 _mm_set1_epi8('\xff'), 0);
    return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
  }
};

struct Avx512 {
  EBB_AVX512 static Masks Classify(const char* block) {
    const __m512i bytes = _mm512_loadu_si512(block);
    const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    Masks masks;
    masks.backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
    masks.quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    masks.open = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{'));
    masks.close = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'));
    return masks;
  }
  EBB_AVX512 static uint64_t QuoteParity(uint64_t bits) {
    const __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(bits)),
                                                 _mm_set1_epi8('\xff'), 0);
    return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
  }
};
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

// Depth while walking a container, a block at a time.  Inlined into a function for each
// way, which alone may use that way's instructions.
template <typename Way>
class DepthCounter {
 public:
  // The index just past the brace that brings the depth to zero, or kBlock + 1.
  [[gnu::always_inline]] size_t Feed(const char* block) {
    Masks masks = Way::Classify(block);
    const uint64_t quotes = masks.quote & ~Escaped(masks.backslash, escape_carry_);
    const uint64_t in_string = Way::QuoteParity(quotes) ^ in_string_;
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

template <typename Way>
[[gnu::always_inline]] inline const char* Skip(const char* p, const char* end) {
  DepthCounter<Way> counter;
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

using SkipFunction = const char* (*)(const char*, const char*);

const char* SkipPortable(const char* p, const char* end) { return Skip<Portable>(p, end); }
#if defined(__x86_64__)
const char* SkipSse2(const char* p, const char* end) { return Skip<Sse2>(p, end); }
EBB_AVX2 const char* SkipAvx2(const char* p, const char* end) { return Skip<Avx2>(p, end); }
EBB_AVX512 const char* SkipAvx512(const char* p, const char* end) { return Skip<Avx512>(p, end); }
#endif

// What this machine can do, the quickest last.
std::vector<SkipFunction> Ways() {
  std::vector<SkipFunction> ways = {SkipPortable};
#if defined(__x86_64__)
  ways.push_back(SkipSse2);
  const bool pclmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi");
  if (pclmul && __builtin_cpu_supports("avx2")) ways.push_back(SkipAvx2);
  if (pclmul && __builtin_cpu_supports("avx512bw")) ways.push_back(SkipAvx512);
#endif
  return ways;
}

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
  static const SkipFunction quickest = Ways().back();
  return quickest(p, end);
}

size_t ContainerWays() { return Ways().size(); }

const char* SkipContainer(const char* p, const char* end, size_t way) {
  return Ways()[way](p, end);
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
