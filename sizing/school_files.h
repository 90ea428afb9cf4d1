// Reads the configuration files of Clusterman, Escalator and Maestro, as users of these programs
// have them, as settings of the policy of that name.  Keys that decide nothing are skipped, as in
// the program.  For a key that is nearly a known one, a warning is added to `place`.
//
// - escalator   `node_groups`: the group with the pool's name, or the only one.
// - maestro     a scheduler's `autoscaling`, and its `requests`, which triggers of type cpu and mem
//               need.  `trigger` applies if there is no metricsTrigger.
// - clusterman  a pool's file.  A service's file gives setpoint, margin, excluded resources and
//               exclude_daemonset_pods where the pool's file does not.  `parameters` of a signal
//               are a list of maps.
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

enum class SchoolFile : uint8_t { kPool, kService };  // kService: only Clusterman.

// Reads the settings of `pool` from `yaml`, the text of `place.file`, into `settings` of `school`.
absl::Status ReadSchoolFile(const PolicySchool& school, SchoolFile kind, std::string_view pool,
                            const std::string& yaml, SettingsPlace& place,
                            PolicySettings& settings);

}  // namespace ebb

#endif  // EBB_SIZING_SCHOOL_FILES_H_
