// The configuration files of Clusterman, Escalator and Maestro, as their own users have them, as
// settings of the policy of that name.  Keys that do not decide are skipped, as there; of one that
// is nearly another, `place` takes a warning.
//
// - escalator   `node_groups`: the group of the pool's name, or the only one.
// - maestro     a scheduler's `autoscaling`, and its `requests`, which triggers of type cpu and mem
//               need.  A `trigger` stands where there is no metricsTrigger.
// - clusterman  a pool's file; a service's file gives setpoint, margin and excluded resources where
//               the pool's does not.  `parameters` of a signal are a list of maps.
//
// Errors:  InvalidArgument with file, line and key.
// Threads: pure.

#ifndef EBB_SIZING_SCHOOL_FILES_H_
#define EBB_SIZING_SCHOOL_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sizing/policy/policy_school.h"
#include "sizing/policy/policy_settings.h"
#include "sizing/settings_reader.h"

namespace ebb {

enum class SchoolFile : uint8_t { kPool, kService };  // kService: of Clusterman.

// Takes what `yaml`, the text of `place.file`, says of `pool` into the settings of `school`.
absl::Status ReadSchoolFile(const PolicySchool& school, SchoolFile kind, std::string_view pool,
                            const std::string& yaml, SettingsPlace& place,
                            PolicySettings& settings);

}  // namespace ebb

#endif  // EBB_SIZING_SCHOOL_FILES_H_
