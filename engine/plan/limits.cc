#include "engine/plan/limits.h"

#include <algorithm>
#include <limits>

namespace ebb {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMax : sum;
}

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMax : product;
}

}  // namespace

size_t FirstPassLimit(int64_t max_scale_down_parallelism) {
  // The default of the autoscaler's --scale-down-unneeded-time.
  constexpr int64_t kUnneededTimeS = 600;
  return UnneededLimit(kUnneededTimeS, max_scale_down_parallelism).Next(/*now_s=*/0, 0);
}

UnneededLimit::UnneededLimit(int64_t scale_down_unneeded_time_s, int64_t max_scale_down_parallelism)
    : unneeded_time_s_(std::max<int64_t>(scale_down_unneeded_time_s, 0)),
      parallelism_(std::max<int64_t>(max_scale_down_parallelism, 0)) {}

size_t UnneededLimit::Next(int64_t now_s, size_t unneeded_before) {
  if (state_.latest_update_s) {
    const int64_t interval = std::max<int64_t>(now_s - *state_.latest_update_s, 0);
    const int64_t shortest = state_.min_interval_s.value_or(unneeded_time_s_);
    // With an unneeded time of 0 the autoscaler starts with one nanosecond.
    if (interval < shortest || (unneeded_time_s_ == 0 && interval == 0)) {
      state_.min_interval_s = interval;
    }
  }
  state_.latest_update_s = now_s;

  const int64_t growth =
      SaturatingAdd(static_cast<int64_t>(unneeded_before), SaturatingMultiply(2, parallelism_));
  int64_t rounds = 1;  // How many fit into the unneeded time.
  if (state_.min_interval_s) {
    if (*state_.min_interval_s == 0) return static_cast<size_t>(growth);
    rounds = std::max(unneeded_time_s_, *state_.min_interval_s) / *state_.min_interval_s;
  }
  const int64_t upper = SaturatingAdd(SaturatingMultiply(parallelism_, rounds), parallelism_);
  return static_cast<size_t>(std::min(growth, upper));
}

}  // namespace ebb
