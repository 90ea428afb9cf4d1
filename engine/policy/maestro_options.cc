#include "engine/policy/maestro_options.h"

#include "base/nearest.h"
#include "engine/policy/maestro_types.h"
#include "fmt/format.h"

namespace ebb {
namespace {

// Where the triggers of a section stand: "autoscaling.up.metricsTrigger[0]".
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
  return trigger.time / options.auto_scaling_period;
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
