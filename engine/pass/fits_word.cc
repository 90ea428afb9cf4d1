#include "engine/pass/fits_word.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/node_set.h"

// Highway includes this file again for each target except the last.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/pass/fits_word.cc"
#include "base/vector_ways.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ebb {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A mask with the bit of each node of a word.
constexpr auto kBits = [] {
  std::array<uint64_t, kNodesPerWord> bits{};
  for (size_t i = 0; i < kNodesPerWord; ++i) bits[i] = uint64_t{1} << i;
  return bits;
}();

// Returns a bit for each amount that is at least `amount`.
HWY_INLINE uint64_t AtLeast(const int64_t* amounts, int64_t amount) {
  const hn::CappedTag<int64_t, kNodesPerWord> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto needed = hn::Set(d, amount);
  // Collects the complement, because x86 compares integers only with <. Each lane collects the bits
  // of every n-th node, n being the number of lanes; that is faster than turning each comparison
  // into bits.
  auto less = hn::Zero(du);
  for (size_t i = 0; i < kNodesPerWord; i += hn::Lanes(d)) {
    const auto is_less = hn::Lt(hn::LoadU(d, amounts + i), needed);
    less = hn::Or(less,
                  hn::IfThenElseZero(hn::RebindMask(du, is_less), hn::LoadU(du, kBits.data() + i)));
  }
  return ~hn::GetLane(hn::SumOfLanes(du, less));
}

uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word) {
  uint64_t bits = AtLeast(snapshot.FreeOfWord(kPods, word), 1);
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (bits == 0) break;
    if (resource != kPods) bits &= AtLeast(snapshot.FreeOfWord(resource, word), amount);
  }
  return bits;
}

}  // namespace HWY_NAMESPACE
}  // namespace ebb
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ebb {
namespace {

const auto& Ways() {
  static const auto ways = EBB_VECTOR_WAYS(FitsWord);
  return ways;
}

}  // namespace

uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word) {
  static const auto widest = Ways().front();
  return widest(snapshot, shape, word);
}

size_t FitsWordWays() { return Ways().size(); }

uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word, size_t way) {
  EBB_DCHECK(way < FitsWordWays());
  return Ways()[way](snapshot, shape, word);
}

}  // namespace ebb
#endif  // HWY_ONCE
