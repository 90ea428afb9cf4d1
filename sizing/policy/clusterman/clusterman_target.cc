#include "sizing/policy/clusterman/clusterman_target.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ebb {
namespace {

constexpr int64_t kWeekSeconds = 604800;
constexpr size_t kSmoothing = 5;  // The mean covers this many of the newest points above 0.

struct Smoothed {
  int64_t first_s = 0;
  int64_t last_s = 0;
  double mean = 0;
};

int64_t WeekBefore(int64_t now_s) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  return now_s < kFirst + kWeekSeconds ? kFirst : now_s - kWeekSeconds;
}

// The mean of the last points above 0 in [from_s, to_s], summed from the oldest.
std::optional<Smoothed> Smooth(const std::vector<ClustermanPoint>& points, int64_t from_s,
                               int64_t to_s) {
  std::vector<ClustermanPoint> last;
  for (auto it = points.rbegin(); it != points.rend() && last.size() < kSmoothing; ++it) {
    const bool within = it->at_s >= from_s && it->at_s <= to_s;
    if (within && it->value > 0 && std::isfinite(it->value)) last.push_back(*it);
  }
  if (last.empty()) return std::nullopt;
  std::reverse(last.begin(), last.end());
  double sum = 0;
  for (const ClustermanPoint& point : last) sum += point.value;
  return Smoothed{last.front().at_s, last.back().at_s, sum / static_cast<double>(last.size())};
}

// Test c.  Excluded resources count here too.
ClustermanTarget FromHistory(const ClustermanTargetInput& input, int64_t now_s) {
  const ClustermanTarget unknown{.rule = ClustermanTargetRule::kNoHistory, .capacity = 1};
  if (input.history == nullptr) return unknown;
  const std::optional<Smoothed> capacity =
      Smooth(input.history->non_orphan_fulfilled_capacity, WeekBefore(now_s), now_s);
  if (!capacity) return unknown;

  std::optional<double> most;
  for (size_t i = 0; i < kClustermanResourceCount; ++i) {
    const std::optional<Smoothed> total =
        Smooth(input.history->total[i], capacity->first_s, capacity->last_s);
    if (!total) continue;
    const double per_weight = total->mean / capacity->mean;
    if (per_weight == 0) continue;
    const double weight = input.request[i].value_or(0) / per_weight;
    most = most ? std::max(*most, weight) : weight;
  }
  if (!most) return unknown;
  return {.rule = ClustermanTargetRule::kFromHistory, .capacity = *most / input.setpoint.setpoint};
}

// Finds the resource of which the request would use the largest share.
void FindMostConstrained(const ClustermanTargetInput& input, ClustermanTarget& target) {
  const std::vector<ClustermanResource>& excluded = input.setpoint.excluded_resources;
  for (size_t i = 0; i < kClustermanResourceCount; ++i) {
    const auto resource = static_cast<ClustermanResource>(i);
    if (!input.request[i]) continue;
    if (std::find(excluded.begin(), excluded.end(), resource) != excluded.end()) continue;
    const double usage = input.total[i] == 0 ? 0 : *input.request[i] / input.total[i];
    if (target.most_constrained && !(usage > target.usage)) continue;
    target.most_constrained = resource;
    target.usage = usage;
  }
}

// Test e.
ClustermanTarget ToSetpoint(const ClustermanTargetInput& input) {
  ClustermanTarget target{.rule = ClustermanTargetRule::kNoUsableResource,
                          .capacity = input.current};
  FindMostConstrained(input, target);
  if (!target.most_constrained) return target;

  const double factor = target.usage / input.setpoint.setpoint;
  target.new_capacity = input.non_orphan_fulfilled * factor;
  target.change = std::abs(target.new_capacity - input.current) / input.current;
  if (target.change >= input.setpoint.target_capacity_margin) {
    target.rule = ClustermanTargetRule::kScaled;
    target.capacity = target.new_capacity;
  } else {
    target.rule = ClustermanTargetRule::kWithinMargin;
  }
  return target;
}

}  // namespace

std::string_view Name(ClustermanTargetRule rule) {
  switch (rule) {
    case ClustermanTargetRule::kNoRequest:
      return "no request";
    case ClustermanTargetRule::kZeroRequest:
      return "request of zero";
    case ClustermanTargetRule::kFromHistory:
      return "empty pool, sized by its history";
    case ClustermanTargetRule::kNoHistory:
      return "empty pool without history";
    case ClustermanTargetRule::kWaitForNodes:
      return "waiting for nodes to join";
    case ClustermanTargetRule::kScaled:
      return "scaled to the setpoint";
    case ClustermanTargetRule::kWithinMargin:
      return "within the margin";
    case ClustermanTargetRule::kNoUsableResource:
      break;
  }
  return "every requested resource is excluded";
}

ClustermanTarget ComputeClustermanTarget(const ClustermanTargetInput& input, int64_t now_s) {
  EBB_DCHECK(input.setpoint.setpoint > 0);
  const ClustermanRequest& request = input.request;
  const auto all = [&](auto test) { return std::all_of(request.begin(), request.end(), test); };
  if (all([](const std::optional<double>& amount) { return !amount; })) {
    return {.rule = ClustermanTargetRule::kNoRequest, .capacity = input.current};
  }
  if (all([](const std::optional<double>& amount) { return amount.value_or(0) == 0; })) {
    return {.rule = ClustermanTargetRule::kZeroRequest, .capacity = 0};
  }
  if (input.current == 0) return FromHistory(input, now_s);
  if (input.non_orphan_fulfilled == 0) {
    return {.rule = ClustermanTargetRule::kWaitForNodes, .capacity = input.current};
  }
  return ToSetpoint(input);
}

void Forget(int64_t now_s, ClustermanHistory& history) {
  const std::optional<Smoothed> capacity =
      Smooth(history.non_orphan_fulfilled_capacity, WeekBefore(now_s), now_s);
  // Totals count only between the first and the last of those capacity points, and both only move
  // forward.
  const int64_t from_s = capacity ? capacity->first_s : WeekBefore(now_s);
  const auto forget = [&](std::vector<ClustermanPoint>& points) {
    std::erase_if(points, [&](const ClustermanPoint& point) { return point.at_s < from_s; });
  };
  forget(history.non_orphan_fulfilled_capacity);
  for (std::vector<ClustermanPoint>& points : history.total) forget(points);
}

}  // namespace ebb
