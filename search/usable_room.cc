#include "search/usable_room.h"

#include <algorithm>
#include <numeric>

#include "absl/numeric/int128.h"
#include "base/check.h"

namespace ebb {
namespace {

bool IsAmountOfRoom(int64_t amount) { return 0 <= amount && amount <= int64_t{1} << 62; }

}  // namespace

UsableRoom::UsableRoom(std::span<const std::vector<int64_t>> kinds)
    : resources_(kinds.empty() ? 0 : kinds.front().size()), orders_(resources_) {
  EBB_DCHECK(std::ranges::all_of(kinds, [this](const std::vector<int64_t>& amounts) {
    return amounts.size() == resources_ && std::ranges::all_of(amounts, IsAmountOfRoom);
  }));
  std::vector<size_t> order(kinds.size());
  for (size_t by = 0; by < resources_; ++by) {
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t kind) { return kinds[kind][by]; });
    ByResource& sorted = orders_[by];
    std::vector<int64_t> divisors(resources_);
    std::vector<Ratio> ratios(resources_ * resources_);
    for (const size_t kind : order) {
      const std::vector<int64_t>& takes = kinds[kind];
      sorted.amounts.push_back(takes[by]);
      for (size_t r = 0; r < resources_; ++r) {
        divisors[r] = std::gcd(divisors[r], takes[r]);
        for (size_t other = 0; other < resources_; ++other) {
          Ratio& ratio = ratios[r * resources_ + other];
          if (absl::int128(takes[r]) * ratio.per > absl::int128(ratio.of) * takes[other]) {
            ratio = {.of = takes[r], .per = takes[other]};
          }
        }
      }
      sorted.divisors.insert(sorted.divisors.end(), divisors.begin(), divisors.end());
      sorted.ratios.insert(sorted.ratios.end(), ratios.begin(), ratios.end());
    }
  }
}

void UsableRoom::Of(std::span<const int64_t> room, std::span<int64_t> most) const {
  EBB_DCHECK(room.size() == most.size() && (resources_ == 0 || room.size() == resources_));
  EBB_DCHECK(std::ranges::all_of(room, IsAmountOfRoom));
  std::ranges::copy(room, most.begin());
  if (resources_ == 0) std::ranges::fill(most, 0);
  for (size_t by = 0; by < resources_; ++by) {
    const ByResource& sorted = orders_[by];
    const auto fitting = static_cast<size_t>(std::ranges::upper_bound(sorted.amounts, room[by]) -
                                             sorted.amounts.begin());
    if (fitting == 0) {
      std::ranges::fill(most, 0);
      return;
    }
    const size_t last = fitting - 1;
    for (size_t r = 0; r < resources_; ++r) {
      const int64_t divisor = sorted.divisors[last * resources_ + r];
      for (size_t other = 0; other < resources_; ++other) {
        const Ratio& ratio = sorted.ratios[(last * resources_ + r) * resources_ + other];
        if (ratio.per == 0) continue;
        const absl::int128 reached = absl::int128(room[other]) * ratio.of / ratio.per;
        if (reached < most[r]) most[r] = static_cast<int64_t>(reached);
      }
      most[r] = divisor == 0 ? 0 : most[r] - most[r] % divisor;
    }
  }
}

}  // namespace ebb
