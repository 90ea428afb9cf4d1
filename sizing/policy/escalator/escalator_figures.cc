#include "sizing/policy/escalator/escalator_figures.h"

#include <algorithm>
#include <cmath>

#include "sizing/policy/replicator/replicator_figures.h"

namespace ebb {
namespace {

void Add(const EscalatorResources& more, EscalatorResources* sum) {
  sum->cpu_milli = SaturatedAdd(sum->cpu_milli, more.cpu_milli);
  sum->memory_bytes = SaturatedAdd(sum->memory_bytes, more.memory_bytes);
}

void RaiseTo(const EscalatorResources& other, EscalatorResources* largest) {
  largest->cpu_milli = std::max(largest->cpu_milli, other.cpu_milli);
  largest->memory_bytes = std::max(largest->memory_bytes, other.memory_bytes);
}

// The capacity of a node minus the requests of the group's pods that run on it or are bound to it.
EscalatorResources FreeOn(const EscalatorNode& node, const EscalatorObservation& observation,
                          const EscalatorGroup& group) {
  EscalatorResources used;
  const auto on = group.pods_on.find(node.name);
  if (on == group.pods_on.end()) return node.allocatable;
  for (const size_t i : on->second) {
    const EscalatorPod& pod = observation.pods[i];
    const bool uses =
        pod.phase == EscalatorPhase::kPending || pod.phase == EscalatorPhase::kRunning;
    if (pod.scheduled && uses) Add(RequestOf(pod), &used);
  }
  return {.cpu_milli = SaturatedSubtract(node.allocatable.cpu_milli, used.cpu_milli),
          .memory_bytes = SaturatedSubtract(node.allocatable.memory_bytes, used.memory_bytes)};
}

double Cpu(const EscalatorResources& amounts) { return static_cast<double>(amounts.cpu_milli); }
double Memory(const EscalatorResources& amounts) {
  return static_cast<double>(SaturatedMultiply(amounts.memory_bytes, 1000));
}

int64_t Whole(double number) {
  if (std::isnan(number)) return 0;
  if (number >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (number < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(number);
}

// The number of nodes that would bring utilization down to the threshold.
EscalatorAsk Grow(const EscalatorPercents& percents, double threshold,
                  const EscalatorResources& requests, const EscalatorResources& node,
                  int64_t untainted) {
  if (!percents.IsFromZero()) {
    const auto nodes = static_cast<double>(untainted);
    const double cpu = std::ceil(nodes * ((percents.cpu - threshold) / threshold));
    const double memory = std::ceil(nodes * ((percents.memory - threshold) / threshold));
    return {EscalatorRule::kGrow, Whole(std::max(cpu, memory))};
  }
  if (node.cpu_milli == 0 || node.memory_bytes == 0) return {EscalatorRule::kFirst, 1};
  const double cpu = std::ceil(Cpu(requests) / Cpu(node) / threshold * 100);
  const double memory = std::ceil(Memory(requests) / Memory(node) / threshold * 100);
  return {EscalatorRule::kFromZero, Whole(std::max(cpu, memory))};
}

}  // namespace

EscalatorSums Sum(const EscalatorObservation& observation, const EscalatorGroup& group) {
  EscalatorSums sums;
  for (const size_t i : group.pods) {
    const EscalatorResources request = RequestOf(observation.pods[i]);
    Add(request, &sums.requests);
    if (observation.pods[i].phase == EscalatorPhase::kPending) {
      RaiseTo(request, &sums.largest_pending);
    }
  }
  for (const size_t i : group.untainted) {
    const EscalatorNode& node = observation.nodes[i];
    Add(node.allocatable, &sums.capacity);
    RaiseTo(FreeOn(node, observation, group), &sums.largest_free);
  }
  return sums;
}

EscalatorPercents Percents(const EscalatorSums& sums, int64_t untainted) {
  if (sums.capacity.cpu_milli == 0 || sums.capacity.memory_bytes == 0) {
    if (untainted > 0) return {.divides_by_zero = true};
    if (sums.requests == EscalatorResources{}) return {};
    return {.cpu = kEscalatorFromZero, .memory = kEscalatorFromZero};
  }
  return {.cpu = Cpu(sums.requests) / Cpu(sums.capacity) * 100,
          .memory = Memory(sums.requests) / Memory(sums.capacity) * 100};
}

EscalatorAsk Ask(const EscalatorOptions& options, const EscalatorPercents& percents,
                 const EscalatorResources& requests, const EscalatorResources& node,
                 int64_t untainted) {
  const double most = percents.Max();
  const auto is_below = [&](int64_t threshold) { return most < static_cast<double>(threshold); };
  const auto threshold = static_cast<double>(options.scale_up_threshold_percent);
  if (is_below(options.taint_lower_capacity_threshold_percent)) {
    return {EscalatorRule::kFast, SaturatedSubtract(0, options.fast_node_removal_rate)};
  }
  if (is_below(options.taint_upper_capacity_threshold_percent)) {
    return {EscalatorRule::kSlow, SaturatedSubtract(0, options.slow_node_removal_rate)};
  }
  if (most > threshold) return Grow(percents, threshold, requests, node, untainted);
  return {};
}

bool IsStarving(const EscalatorSums& sums) {
  return sums.largest_pending.cpu_milli > sums.largest_free.cpu_milli ||
         sums.largest_pending.memory_bytes > sums.largest_free.memory_bytes;
}

std::string_view Name(EscalatorRule rule) {
  switch (rule) {
    case EscalatorRule::kBetween:
      return "between";
    case EscalatorRule::kFast:
      return "fast";
    case EscalatorRule::kSlow:
      return "slow";
    case EscalatorRule::kGrow:
      return "grow";
    case EscalatorRule::kFromZero:
      return "from_zero";
    case EscalatorRule::kFirst:
      break;
  }
  return "first";
}

}  // namespace ebb
