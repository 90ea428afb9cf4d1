#include "sizing/policy/clusterman/clusterman_options.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace ebb {
namespace {

// A double does not represent every integer above this.
constexpr int64_t kCapacityMax = int64_t{1} << 53;

void CheckAutoscaling(std::string_view file, const ClustermanAutoscaling& autoscaling,
                      std::vector<std::string>& problems) {
  if (autoscaling.setpoint &&
      !(*autoscaling.setpoint > 0 && std::isfinite(*autoscaling.setpoint))) {
    problems.push_back(fmt::format("{}: autoscaling.setpoint: must be above 0", file));
  }
  if (autoscaling.target_capacity_margin && !std::isfinite(*autoscaling.target_capacity_margin)) {
    problems.push_back(
        fmt::format("{}: autoscaling.target_capacity_margin: must be a finite number", file));
  }
}

void CheckLimits(const ClustermanLimits& limits, std::vector<std::string>& problems) {
  const auto check = [&](std::string_view key, int64_t value) {
    if (value < 0 || value > kCapacityMax) {
      problems.push_back(fmt::format("scaling_limits.{}: must be from 0 to 2^53", key));
    }
  };
  check("min_capacity", limits.min_capacity);
  check("max_capacity", limits.max_capacity);
  check("max_weight_to_add", limits.max_weight_to_add);
  check("max_weight_to_remove", limits.max_weight_to_remove);
  if (limits.min_capacity > limits.max_capacity) {
    problems.emplace_back("scaling_limits.min_capacity: is above max_capacity");
  }
  if (!(limits.max_tasks_to_kill >= 0)) {
    problems.emplace_back("scaling_limits.max_tasks_to_kill: must be 0 or more, or inf");
  }
}

void CheckSignal(std::string_view file, const ClustermanSignalOptions& signal,
                 std::vector<std::string>& problems) {
  if (signal.period_minutes <= 0) {
    problems.push_back(fmt::format("{}: autoscale_signal.period_minutes: must be above 0", file));
  }
  if (!signal.internal) return;  // An outside program defines its own parameters.
  if (signal.parameters.per_pod_resource_requests) {
    problems.push_back(fmt::format(
        "{}: autoscale_signal.parameters.per_pod_resource_requests: not implemented", file));
  }
  if (!std::isfinite(signal.parameters.pending_pods_multiplier)) {
    problems.push_back(fmt::format(
        "{}: autoscale_signal.parameters.pending_pods_multiplier: must be a finite number", file));
  }
}

}  // namespace

ClustermanSetpoint Effective(const ClustermanAutoscaling& service,
                             const ClustermanAutoscaling& pool) {
  ClustermanSetpoint effective;
  effective.setpoint = pool.setpoint.value_or(service.setpoint.value_or(0));
  effective.target_capacity_margin =
      pool.target_capacity_margin.value_or(service.target_capacity_margin.value_or(0));
  if (pool.excluded_resources) {
    effective.excluded_resources = *pool.excluded_resources;
  } else if (service.excluded_resources) {
    effective.excluded_resources = *service.excluded_resources;
  }
  return effective;
}

std::vector<std::string> Problems(const ClustermanOptions& options) {
  std::vector<std::string> problems;
  if (options.apps.size() > 1) problems.emplace_back("apps: a pool has one at most");
  if (!options.service.setpoint) problems.emplace_back("service: autoscaling.setpoint: required");
  if (!options.service.target_capacity_margin) {
    problems.emplace_back("service: autoscaling.target_capacity_margin: required");
  }
  CheckAutoscaling("service", options.service, problems);
  CheckAutoscaling("pool", options.pool, problems);
  CheckLimits(options.limits, problems);
  CheckSignal("pool", options.signal, problems);
  CheckSignal("service", options.default_signal, problems);
  return problems;
}

}  // namespace ebb
