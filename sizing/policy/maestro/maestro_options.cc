#include "sizing/policy/maestro/maestro_options.h"

#include "base/check.h"
#include "fmt/format.h"

namespace ebb {
namespace {

bool Uses(const MaestroOptions& options, std::string_view type) {
  for (const MaestroScaling* scaling : {&options.up, &options.down}) {
    for (const MaestroTrigger& trigger : scaling->metrics_trigger) {
      if (trigger.type == type) return true;
    }
  }
  return false;
}

}  // namespace

MaestroTrigger DefaultMaestroTrigger() {
  return {.type = "room", .usage = 80, .threshold = 80, .time = 600, .limit = 90};
}

MaestroScaling DefaultMaestroScaling() { return {.cooldown = 600, .delta = 1}; }

std::vector<MaestroTrigger> Triggers(const MaestroScaling& scaling) {
  if (!scaling.metrics_trigger.empty()) return scaling.metrics_trigger;
  MaestroTrigger trigger = scaling.trigger;
  trigger.type = "room";
  return {trigger};
}

int64_t UpLimit(const MaestroTrigger& trigger) { return trigger.limit <= 0 ? 90 : trigger.limit; }

int64_t Window(const MaestroOptions& options, const MaestroTrigger& trigger) {
  EBB_DCHECK(options.auto_scaling_period > 0);
  return trigger.time / options.auto_scaling_period;
}

std::vector<std::string> RequestProblems(const MaestroOptions& options,
                                         const std::vector<MaestroRequests>& requests) {
  struct Resource {
    std::string_view type;
    std::string_view key;
    std::string MaestroRequests::* text;
  };
  static constexpr Resource kResources[] = {
      {"cpu", "requests.cpu", &MaestroRequests::cpu},
      {"mem", "requests.memory", &MaestroRequests::memory},
  };
  std::vector<std::string> problems;
  for (const Resource& resource : kResources) {
    if (!Uses(options, resource.type)) continue;
    if (requests.empty()) {
      problems.push_back(
          fmt::format("{}: must be set for triggers of type {}", resource.key, resource.type));
    }
    for (const MaestroRequests& of : requests) {
      if (!(of.*resource.text).empty()) continue;
      const std::string where =
          of.container.empty() ? "" : fmt::format("containers, {}: ", of.container);
      problems.push_back(fmt::format("{}{}: must be set for triggers of type {}", where,
                                     resource.key, resource.type));
    }
  }
  return problems;
}

}  // namespace ebb
