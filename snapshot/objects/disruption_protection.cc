#include "snapshot/objects/disruption_protection.h"

#include <chrono>
#include <string_view>

#include "base/duration.h"
#include "snapshot/objects/key_values.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

// The duration in whole seconds, rounded up: a pod starts at a whole second, so this is when a
// clock of seconds first shows that the protection is over.  nullopt: no positive duration is set.
std::optional<int64_t> ProtectedSeconds(const objects::KeyValues& annotations) {
  const auto value = FindValue(annotations, kDoNotDisruptAnnotation);
  if (!value) return std::nullopt;
  const auto duration = ParseDuration(*value);
  if (!duration || duration->count() <= 0) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(*duration).count();
}

}  // namespace

bool AsksForStart(const objects::KeyValues& annotations) {
  return ProtectedSeconds(annotations).has_value();
}

std::optional<DisruptionProtection> ProtectionOf(const objects::Pod& pod) {
  const objects::KeyValues& annotations = pod.meta.annotations;
  if (FindValue(annotations, kDoNotEvictAnnotation) == "true" ||
      FindValue(annotations, kDoNotDisruptAnnotation) == "true") {
    return DisruptionProtection{};
  }
  const std::optional<int64_t> seconds = ProtectedSeconds(annotations);
  if (!seconds) return std::nullopt;
  if (!pod.start_time) return DisruptionProtection{.ends = std::nullopt, .start_unknown = true};
  int64_t ends = 0;
  if (__builtin_add_overflow(*pod.start_time, *seconds, &ends)) return DisruptionProtection{};
  return DisruptionProtection{.ends = ends};
}

}  // namespace ebb
