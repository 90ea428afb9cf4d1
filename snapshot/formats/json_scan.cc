#include "snapshot/formats/json_scan.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"

// Highway includes this file again for each target except the last.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snapshot/formats/json_scan.cc"
#include "base/vector_ways.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb::json_scan {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kBlock = 64;

// One bit per byte of a block.
struct Masks {
  uint64_t backslash = 0;
  uint64_t quote = 0;
  uint64_t open = 0;   // { or [
  uint64_t close = 0;  // } or ]
};

// The mask of one vector, as bits.
template <class D>
HWY_INLINE uint64_t BitsOf(D d, hn::Mask<D> mask) {
  // The type has exactly as many bytes as StoreMaskBits writes, so that it stays in a register.
  using Bits = hwy::UnsignedFromSize<hn::MaxLanes(d) < 16 ? 1 : hn::MaxLanes(d) / 8>;
  Bits bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

HWY_INLINE Masks Classify(const char* block) {
  const hn::CappedTag<uint8_t, kBlock> d;
  const uint8_t* const bytes = reinterpret_cast<const uint8_t*>(block);
  Masks masks;
  for (size_t i = 0; i < kBlock; i += hn::MaxLanes(d)) {
    const auto part = hn::LoadU(d, bytes + i);
    // [ and {, and ] and }, differ in bit 5 only.
    const auto folded = hn::Or(part, hn::Set(d, 0x20));
    masks.backslash |= BitsOf(d, hn::Eq(part, hn::Set(d, '\\'))) << i;
    masks.quote |= BitsOf(d, hn::Eq(part, hn::Set(d, '"'))) << i;
    masks.open |= BitsOf(d, hn::Eq(folded, hn::Set(d, '{'))) << i;
    masks.close |= BitsOf(d, hn::Eq(folded, hn::Set(d, '}'))) << i;
  }
  return masks;
}

// Bit i is the parity of bits 0..i: set from an opening quote up to, but not at, its closing one.
HWY_INLINE uint64_t QuoteParity(uint64_t bits) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  // A carry-less multiplication by all ones.
  const hn::FixedTag<uint64_t, 2> d;
  return hn::GetLane(hn::CLMulLower(hn::Set(d, bits), hn::Set(d, ~uint64_t{0})));
#else  // Not every arm64 processor has that instruction.
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
#endif
}

// The bytes that a backslash escapes.  `carry` is 1 if the block before ended in a backslash that
// escapes the first byte of this one.  An odd run of backslashes escapes the byte that follows
// it: the addition carries through each run that starts on an odd bit.  (simdjson's scheme.)
HWY_INLINE uint64_t Escaped(uint64_t backslash, uint64_t& carry) {
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

// Tracks the depth while a container is read, one block at a time.
class DepthCounter {
 public:
  // The index just after the brace that brings the depth to zero, or kBlock + 1.
  HWY_INLINE size_t Feed(const char* block) {
    Masks masks = Classify(block);
    const uint64_t quotes = masks.quote & ~Escaped(masks.backslash, escape_carry_);
    const uint64_t in_string = QuoteParity(quotes) ^ in_string_;
    in_string_ = static_cast<uint64_t>(static_cast<int64_t>(in_string) >> 63);
    masks.open &= ~in_string;
    masks.close &= ~in_string;
    const int64_t closes = std::popcount(masks.close);
    if (depth_ > closes) {  // The depth cannot reach zero within this block.
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

}  // namespace HWY_NAMESPACE
}  // namespace ebb::json_scan
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb::json_scan {
namespace {

const auto& Ways() {
  static const auto ways = EBB_VECTOR_WAYS(SkipContainer);
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
  static const auto widest = Ways().front();
  return widest(p, end);
}

size_t ContainerWays() { return Ways().size(); }

const char* SkipContainer(const char* p, const char* end, size_t way) {
  EBB_DCHECK(way < ContainerWays());
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
#endif  // HWY_ONCE
