#include "sizing/policy/maestro/maestro_types.h"

#include <cmath>
#include <utility>

#include "base/nearest.h"
#include "fmt/format.h"

namespace ebb {
namespace {

std::optional<int64_t> ToInteger(double rooms) {
  // Both bounds are doubles; the upper bound is the smallest double that does not fit.
  if (!(rooms >= -0x1p63 && rooms < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(rooms);
}

double Target(const MaestroTrigger& trigger) { return static_cast<double>(trigger.usage) / 100; }

// ---------------------------------------------------------------- room and legacy

float RoomUtilization(const MaestroCounts& counts) {
  const std::optional<int64_t> available = Available(counts.rooms);
  if (!available) return kNoUtilization;
  return static_cast<float>(counts.rooms.occupied) / static_cast<float>(*available);
}

// The number of rooms to add so that the share of occupied rooms becomes the usage.  Other forms of
// the formula are equal in exact arithmetic, but round halves differently.
std::optional<int64_t> RoomDelta(const MaestroTrigger& trigger, const MaestroCounts& counts) {
  const std::optional<int64_t> available = Available(counts.rooms);
  if (!available) return std::nullopt;
  const double target = Target(trigger);
  const double wanted = target * static_cast<double>(*available);
  return ToInteger(std::round((static_cast<double>(counts.rooms.occupied) - wanted) / target));
}

std::optional<int64_t> LegacyDelta(const MaestroTrigger& trigger, const MaestroCounts&) {
  return trigger.delta;
}

// ---------------------------------------------------------------- cpu and mem

using Figure = int64_t MaestroContainer::*;

// Both sums are 32-bit floats, added container by container.
template <Figure kUsage, Figure kRequest>
float ResourceUtilization(const MaestroCounts& counts) {
  float usage = 0;
  float request = 0;
  for (const MaestroContainer& container : counts.containers) {
    usage += static_cast<float>(container.*kUsage);
    request += static_cast<float>(container.*kRequest);
  }
  return usage / request;
}

template <Figure kUsage, Figure kRequest>
std::optional<int64_t> ResourceDelta(const MaestroTrigger& trigger, const MaestroCounts& counts) {
  const std::optional<int64_t> available = Available(counts.rooms);
  if (!available) return std::nullopt;
  const auto utilization = static_cast<double>(ResourceUtilization<kUsage, kRequest>(counts));
  const double ratio = std::round(utilization / Target(trigger) * 100) / 100;
  const std::optional<int64_t> wanted =
      ToInteger(std::ceil(ratio * static_cast<double>(*available)));
  int64_t delta = 0;
  if (!wanted || __builtin_sub_overflow(*wanted, *available, &delta)) return std::nullopt;
  return delta;
}

template <Figure kUsage, Figure kRequest>
MaestroPolicyType ResourceType() {
  return {.delta = ResourceDelta<kUsage, kRequest>,
          .utilization = ResourceUtilization<kUsage, kRequest>};
}

// The place of a trigger in the configuration: "autoscaling.up.metricsTrigger[0]".
std::string Place(const MaestroScaling& scaling, std::string_view section, size_t index) {
  if (scaling.metrics_trigger.empty()) return fmt::format("autoscaling.{}.trigger", section);
  return fmt::format("autoscaling.{}.metricsTrigger[{}]", section, index);
}

void AddTriggerProblems(const MaestroScaling& scaling, std::string_view section,
                        const MaestroTypes& types, std::vector<std::string>* problems) {
  const std::vector<MaestroTrigger> triggers = Triggers(scaling);
  for (size_t i = 0; i < triggers.size(); ++i) {
    const MaestroTrigger& trigger = triggers[i];
    if (types.Find(trigger.type) == nullptr) {
      const std::vector<std::string> names = types.Names();
      const std::string nearest = Nearest(trigger.type, names);
      problems->push_back(fmt::format(
          "{}.type: there is no type \"{}\"; {}", Place(scaling, section, i), trigger.type,
          nearest.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                          : fmt::format("did you mean \"{}\"?", nearest)));
    }
    if (trigger.time < 0) {
      problems->push_back(
          fmt::format("{}.time: {} is below 0", Place(scaling, section, i), trigger.time));
    }
  }
}

}  // namespace

std::optional<int64_t> Available(const MaestroRooms& rooms) {
  int64_t sum = 0;
  for (const int64_t count : {rooms.creating, rooms.ready, rooms.occupied}) {
    if (count < 0 || __builtin_add_overflow(sum, count, &sum)) return std::nullopt;
  }
  return sum;
}

MaestroTypes::MaestroTypes() {
  using C = MaestroContainer;
  types_["room"] = {.delta = RoomDelta, .utilization = RoomUtilization};
  types_["legacy"] = {.delta = LegacyDelta, .utilization = RoomUtilization};
  types_["cpu"] = ResourceType<&C::cpu_usage_milli, &C::cpu_request_milli>();
  types_["mem"] = ResourceType<&C::mem_usage_bytes, &C::mem_request_bytes>();
}

bool MaestroTypes::Add(std::string name, MaestroPolicyType type) {
  if (name.empty() || !type.delta || !type.utilization) return false;
  return types_.insert({std::move(name), std::move(type)}).second;
}

const MaestroPolicyType* MaestroTypes::Find(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

std::vector<std::string> MaestroTypes::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, type] : types_) names.push_back(name);
  return names;
}

std::vector<std::string> Problems(const MaestroOptions& options, const MaestroTypes& types) {
  std::vector<std::string> problems;
  if (options.max > 0 && options.min > options.max) {
    problems.push_back(
        fmt::format("autoscaling.max: {} is below min, {}", options.max, options.min));
  }
  AddTriggerProblems(options.up, "up", types, &problems);
  AddTriggerProblems(options.down, "down", types, &problems);
  if (options.auto_scaling_period < 1) {
    problems.push_back(
        fmt::format("watcher.autoScalingPeriod: {} is below 1", options.auto_scaling_period));
  }
  if (options.max_scale_up_amount < 0) {
    problems.push_back(
        fmt::format("watcher.maxScaleUpAmount: {} is below 0", options.max_scale_up_amount));
  }
  return problems;
}

}  // namespace ebb
