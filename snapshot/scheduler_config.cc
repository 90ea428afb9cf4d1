#include "snapshot/scheduler_config.h"

#include <algorithm>

namespace ebb {

// Source: noderesources/fit.go: only extended resources are ignored, so names with a slash that are
// not of Kubernetes.
bool SchedulerProfile::IgnoresResource(std::string_view resource) const {
  const size_t slash = resource.find('/');
  if (slash == std::string_view::npos) return false;
  return std::ranges::find(ignored_resources, resource) != ignored_resources.end() ||
         std::ranges::find(ignored_groups, resource.substr(0, slash)) != ignored_groups.end();
}

std::optional<uint32_t> SchedulerConfig::FindProfile(std::string_view scheduler_name) const {
  if (scheduler_name.empty()) scheduler_name = kDefaultScheduler;
  const auto found = std::ranges::find(profiles, scheduler_name, &SchedulerProfile::name);
  if (found == profiles.end()) return std::nullopt;
  return static_cast<uint32_t>(found - profiles.begin());
}

}  // namespace ebb
