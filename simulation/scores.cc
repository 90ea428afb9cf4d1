#include "simulation/scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ebb {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
// ImageLocality's minThreshold and maxContainerThreshold.
constexpr int64_t kImagesMin = 23 * kMiB;
constexpr int64_t kImagesMaxPerContainer = 1000 * kMiB;

// free * 100 / allocatable in whole numbers.  A quotient of up to 100 that is not whole is at least
// 1 / allocatable below the next whole number, and doubles near 100 are 2^-46 apart.  So below
// kExactMax the quicker division of doubles never rounds up to that number.
int64_t FreePercent(int64_t free, int64_t allocatable) {
  constexpr int64_t kExactMax = int64_t{1} << 45;
  if (free <= allocatable && allocatable < kExactMax) {
    return static_cast<int64_t>(static_cast<double>(free * kMaxNodeScore) /
                                static_cast<double>(allocatable));
  }
  // As in the scheduler; floating point only if the product would overflow.
  return free > std::numeric_limits<int64_t>::max() / kMaxNodeScore
             ? static_cast<int64_t>(static_cast<double>(free) / static_cast<double>(allocatable) *
                                    kMaxNodeScore)
             : free * kMaxNodeScore / allocatable;
}

}  // namespace

int64_t LeastAllocatedScore(std::span<const int64_t> requested,
                            std::span<const int64_t> allocatable) {
  int64_t sum = 0;
  int64_t resources = 0;
  for (size_t i = 0; i < requested.size(); ++i) {
    if (allocatable[i] == 0) continue;
    ++resources;
    if (requested[i] > allocatable[i]) continue;
    sum += FreePercent(allocatable[i] - requested[i], allocatable[i]);
  }
  if (resources == 0) return 0;
  return resources == 2 ? sum / 2 : sum / resources;  // Dividing by a constant is quicker.
}

namespace {

// helper.BuildBrokenLinearFunction over points of rising utilization.
int64_t OnShape(std::span<const std::pair<int64_t, int64_t>> shape, int64_t utilization) {
  constexpr int64_t kScale = kMaxNodeScore / 10;  // Points have scores from 0 to 10.
  for (size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].first) continue;
    const int64_t score = shape[i].second * kScale;
    if (i == 0) return score;
    const int64_t before = shape[i - 1].second * kScale;
    return before + (score - before) * (utilization - shape[i - 1].first) /
                        (shape[i].first - shape[i - 1].first);
  }
  return shape.back().second * kScale;
}

}  // namespace

int64_t ScoreOfFit(const FitScore& how, std::span<const int64_t, 2> requested,
                   std::span<const int64_t, 2> allocatable) {
  using enum FitScore::Strategy;
  if (how.strategy == kLeastAllocated && how.cpu_weight == 1 && how.memory_weight == 1) {
    return LeastAllocatedScore(requested, allocatable);
  }
  const std::array<int64_t, 2> weights = {how.cpu_weight, how.memory_weight};
  int64_t sum = 0;
  int64_t all = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (allocatable[i] == 0 || weights[i] == 0) continue;
    const bool is_over = requested[i] > allocatable[i];
    const int64_t used = is_over ? 100 : FreePercent(requested[i], allocatable[i]);
    int64_t score = 0;
    if (how.strategy == kMostAllocated) {
      score = used;
    } else if (how.strategy == kLeastAllocated) {
      score = is_over ? 0 : FreePercent(allocatable[i] - requested[i], allocatable[i]);
    } else {
      score = OnShape(how.shape, used);
      if (score == 0) continue;
    }
    sum += weights[i] * score;
    all += weights[i];
  }
  if (all == 0) return 0;
  if (how.strategy != kRequestedToCapacityRatio) return sum / all;
  return std::llround(static_cast<double>(sum) / static_cast<double>(all));
}

int64_t BalanceOf(std::span<const int64_t> requested, std::span<const int64_t> allocatable) {
  double total = 0;
  size_t resources = 0;
  const auto fraction = [&](size_t i) {
    return std::min(1.0, static_cast<double>(requested[i]) / static_cast<double>(allocatable[i]));
  };
  double first = 0;
  double second = 0;
  for (size_t i = 0; i < requested.size(); ++i) {
    if (allocatable[i] == 0) continue;
    const double used = fraction(i);
    (resources == 0 ? first : second) = used;
    total += used;
    ++resources;
  }
  double deviation = 0;
  if (resources == 2) {
    deviation = std::abs((first - second) / 2);
  } else if (resources > 2) {
    const double mean = total / static_cast<double>(resources);
    double sum = 0;
    for (size_t i = 0; i < requested.size(); ++i) {
      if (allocatable[i] != 0) sum += (fraction(i) - mean) * (fraction(i) - mean);
    }
    deviation = std::sqrt(sum / static_cast<double>(resources));
  }
  return static_cast<int64_t>((1 - deviation) * kMaxNodeScore);
}

int64_t BalancedAllocationScore(int64_t balance, int64_t balance_before) {
  constexpr int64_t kHalf = kMaxNodeScore / 2;
  return kHalf + (kHalf + balance - balance_before) / 2;
}

int64_t BalancedAllocationScore(std::span<const int64_t> requested, std::span<const int64_t> before,
                                std::span<const int64_t> allocatable) {
  return BalancedAllocationScore(BalanceOf(requested, allocatable), BalanceOf(before, allocatable));
}

int64_t IntolerableTaints(const Constraints& constraints, std::span<const Taint> taints,
                          TextId prefer_no_schedule) {
  return std::ranges::count_if(taints, [&](const Taint& taint) {
    return taint.effect_text == prefer_no_schedule && !Tolerates(constraints, taint);
  });
}

int64_t PreferredTermsScore(std::span<const PreferredTerm> terms) {
  int64_t score = 0;
  for (const PreferredTerm& term : terms) score += term.matches ? term.weight : 0;
  return score;
}

double SpreadWeight(size_t domains) { return std::log(static_cast<double>(domains + 2)); }

double SpreadScore(int64_t pods, int32_t max_skew, double weight) {
  return static_cast<double>(pods) * weight + static_cast<double>(max_skew - 1);
}

int64_t ImageLocalityScore(std::span<const ImageOnNode> images, int64_t all_nodes,
                           int64_t containers) {
  const int64_t most = kImagesMaxPerContainer * std::max<int64_t>(1, containers);
  int64_t sum = 0;
  for (const ImageOnNode& image : images) {
    const double spread = static_cast<double>(image.nodes) / static_cast<double>(all_nodes);
    const double scaled = static_cast<double>(image.size_bytes) * spread;
    // Clamped first: more than `most` does not change the result, and the sum cannot overflow.
    sum += static_cast<int64_t>(std::clamp(scaled, 0.0, static_cast<double>(most)));
  }
  sum = std::clamp(sum, kImagesMin, most);
  return kMaxNodeScore * (sum - kImagesMin) / (most - kImagesMin);
}

void NormalizeByMax(std::span<int64_t> scores, bool reverse) {
  int64_t most = 0;
  for (const int64_t score : scores) most = std::max(most, score);
  for (int64_t& score : scores) {
    if (most > 0) score = kMaxNodeScore * score / most;
    if (reverse) score = kMaxNodeScore - score;
  }
}

void NormalizeSpread(std::span<int64_t> scores) {
  int64_t least = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (const int64_t score : scores) {
    if (score < 0) continue;
    least = std::min(least, score);
    most = std::max(most, score);
  }
  int64_t last = -1;  // Most nodes have the score of the node before.
  int64_t normalized = 0;
  for (int64_t& score : scores) {
    if (score != last) {
      last = score;
      normalized = kMaxNodeScore;
      if (most > 0) normalized = kMaxNodeScore * (most + least - score) / most;
      if (score < 0) normalized = 0;
    }
    score = normalized;
  }
}

void NormalizeAffinity(std::span<int64_t> scores) {
  if (scores.empty()) return;
  const auto [least_at, most_at] = std::ranges::minmax_element(scores);
  const int64_t least = *least_at;
  const int64_t most = *most_at;
  for (int64_t& score : scores) {
    if (most == least) {
      score = 0;
      continue;
    }
    const double share = static_cast<double>(score - least) / static_cast<double>(most - least);
    score = static_cast<int64_t>(static_cast<double>(kMaxNodeScore) * share);
  }
}

}  // namespace ebb
