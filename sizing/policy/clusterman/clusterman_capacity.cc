#include "sizing/policy/clusterman/clusterman_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>

#include "base/check.h"
#include "sizing/policy/figure_text.h"

namespace ebb {
namespace {

// A pool farther from its target than this is taken for an error in a number.
constexpr double kStepsTimesGroupsMax = 1e8;

double Sum(const std::vector<ClustermanGroupTarget>& targets) {
  double sum = 0;
  for (const ClustermanGroupTarget& target : targets) sum += target.target;
  return sum;
}

// Whether every number of the group that must be finite is.  For assertions.
bool IsFinite(const ClustermanGroup& group) {
  const double numbers[] = {group.target_capacity, group.min_capacity, group.fulfilled_capacity,
                            group.stale_weight};
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

// The group that takes the next unit, among those with room: going up, the smallest; going down,
// the largest; in a tie, the first id.  Absent: no group has room.
std::optional<size_t> NextGroup(const std::vector<const ClustermanGroup*>& live,
                                const std::vector<ClustermanGroupTarget>& targets, double sign) {
  std::optional<size_t> next;
  for (size_t i = 0; i < live.size(); ++i) {
    const double moved = targets[i].target + sign;
    if (sign > 0 ? moved > live[i]->max_capacity : moved < live[i]->min_capacity) continue;
    if (next) {
      const double mine = sign * targets[i].target;
      const double best = sign * targets[*next].target;
      if (mine > best || (mine == best && live[i]->id >= live[*next]->id)) continue;
    }
    next = i;
  }
  return next;
}

}  // namespace

std::optional<double> CurrentTarget(const std::vector<ClustermanGroup>& groups) {
  std::optional<double> sum;
  for (const ClustermanGroup& group : groups) {
    if (!group.is_stale) sum = sum.value_or(0) + group.target_capacity;
  }
  return sum;
}

std::string_view Name(ClustermanLimit limit) {
  switch (limit) {
    case ClustermanLimit::kNone:
      return "";
    case ClustermanLimit::kMinCapacity:
      return "min_capacity";
    case ClustermanLimit::kMaxCapacity:
      return "max_capacity";
    case ClustermanLimit::kMaxWeightToAdd:
      return "max_weight_to_add";
    case ClustermanLimit::kMaxWeightToRemove:
      return "max_weight_to_remove";
    case ClustermanLimit::kNoScaleDown:
      break;
  }
  return "prevent_scale_down_after_capacity_loss";
}

ClustermanConstraint Constrain(double requested, double current, const ClustermanLimits& limits,
                               const ClustermanConstrainOptions& options) {
  ClustermanConstraint result{.requested = requested, .ask = requested - current};
  const auto set = [&](double step, ClustermanLimit limit) {
    if (step != result.step) result.limit = limit;
    result.step = step;
  };

  // The bounds, which may reverse the direction of the step.
  result.step = result.ask;
  if (result.ask > 0) {
    set(std::min(static_cast<double>(limits.max_capacity) - current, result.ask),
        ClustermanLimit::kMaxCapacity);
  } else if (result.ask < 0) {
    set(std::max(static_cast<double>(limits.min_capacity) - current, result.ask),
        ClustermanLimit::kMinCapacity);
  } else {
    result.step = 0;
  }

  // The most that one run may change.
  if (result.step > 0) {
    set(std::min(static_cast<double>(limits.max_weight_to_add), result.step),
        ClustermanLimit::kMaxWeightToAdd);
  } else if (result.step < 0) {
    set(std::max(-static_cast<double>(limits.max_weight_to_remove), result.step),
        ClustermanLimit::kMaxWeightToRemove);
  }
  if (options.no_scale_down) set(std::max(result.step, 0.0), ClustermanLimit::kNoScaleDown);

  result.restricted = current + result.step;
  result.capacity = result.restricted;
  if (result.ask == result.step) return result;
  if (options.force) {
    result.capacity = current + result.ask;
    result.warning = fmt::format(
        "Forcing target capacity to {} even though scaling limits would restrict to {}.",
        FigureText(result.capacity), FigureText(result.restricted));
  } else {
    result.warning =
        fmt::format("Requested target capacity {}; restricting to {} due to scaling limits.",
                    FigureText(requested), FigureText(result.restricted));
  }
  return result;
}

bool HaveUniqueIds(const std::vector<ClustermanGroup>& groups) {
  std::set<std::string_view> ids;
  return std::ranges::all_of(
      groups, [&](const ClustermanGroup& group) { return ids.insert(group.id).second; });
}

ClustermanBalance Balance(const std::vector<ClustermanGroup>& groups, double capacity) {
  EBB_DCHECK(HaveUniqueIds(groups) && std::ranges::all_of(groups, IsFinite));
  using Outcome = ClustermanBalance::Outcome;
  const std::optional<double> current = CurrentTarget(groups);
  if (!current) return {.outcome = Outcome::kAllStale};
  const double sign = capacity < *current ? -1 : 1;
  const double wanted = std::ceil(capacity);
  if (!(std::abs(wanted - *current) * static_cast<double>(groups.size()) <= kStepsTimesGroupsMax)) {
    return {.outcome = Outcome::kTooManySteps};
  }

  // Start from the present targets; stale groups follow with 0.
  ClustermanBalance balance;
  std::vector<const ClustermanGroup*> live;
  for (const ClustermanGroup& group : groups) {
    if (group.is_stale) continue;
    live.push_back(&group);
    balance.targets.push_back({group.id, group.target_capacity});
  }
  for (const ClustermanGroup& group : groups) {
    if (group.is_stale) balance.targets.push_back({group.id, 0});
  }

  // Unit by unit, until the sum reaches `wanted`.
  while (Sum(balance.targets) * sign < wanted * sign) {
    const std::optional<size_t> next = NextGroup(live, balance.targets, sign);
    if (!next) {
      balance.outcome = Outcome::kNoRoom;
      balance.warning = fmt::format(
          "All resource groups are stale or constrained. The closest we could get to {} is {}",
          capacity, Sum(balance.targets));
      break;
    }
    balance.targets[*next].target += sign;
  }
  return balance;
}

int64_t CloudSize(const ClustermanGroup& group, double target) {
  double size = target;
  if (group.kind == ClustermanGroupKind::kAsg) {
    size += group.stale_weight;
    if (size > group.max_capacity) {
      size = group.max_capacity;
    } else if (size < group.min_capacity) {
      size = group.min_capacity;
    }
  }
  constexpr double kLargest = 9007199254740992.0;  // 2^53.
  if (!(std::abs(size) <= kLargest)) return 0;     // Balance never yields such a target.
  return static_cast<int64_t>(size);
}

}  // namespace ebb
