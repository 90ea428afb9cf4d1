// RoundOptions: all that decides a plan or a round beside the cluster, its node groups, events and
// the time, and the form in which messages and records keep it.
//
//   const nlohmann::ordered_json json = OptionsJson(options);
//   absl::StatusOr<RoundOptions> same = ParseOptions("rounds.db: round 3", json);
//
// The form is a JSON object, nested as the structs are and with their fields' names:
//
//   {"candidateOrder":"autoscaler",
//    "load":{"expendablePodsPriorityCutoff":-10,"assumeComplete":false,
//            "bypassedSchedulerNames":[],"matchOs":true,"kubernetesVersion":"auto"},
//    "readiness":{"startupTaints":[],"startupTaintPrefixes":[],"csiNodeAware":false},
//    "scaleDown":{"planner":{"scaleDownUtilizationThreshold":0.5,...},...}}
//
// Durations are whole seconds (...Seconds), memory is bytes.  Reading and writing go over the
// table of options (option_field.h).
//
// Errors:  one line naming the file and the field: a field that is unknown, missing, of
//          another type or out of its range.  No field has a default here, as a replay would then
//          decide by options that the round did not have.
// Threads: pure functions.

#ifndef EBB_OPTIONS_ROUND_OPTIONS_H_
#define EBB_OPTIONS_ROUND_OPTIONS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "engine/plan/candidate_order.h"
#include "engine/scale_down/round.h"
#include "options/readiness_rules.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

// The form's version.  It goes up when the form gains, loses or renames a field.
inline constexpr int64_t kOptionsVersion = 2;

struct RoundOptions {
  // The plan of a round is shown and stored.
  RoundOptions() { scale_down.verify = VerifyPlans::kAlways; }

  ScaleDownOptions scale_down;
  CandidateOrder candidate_order = CandidateOrder::kAutoscaler;
  ReadinessRules readiness;
  // `limits`, `strict` and `allow_incomplete` say what is refused and are not in the form; nor is
  // `use`, which is always kPlan.
  LoadOptions load;
};

nlohmann::ordered_json OptionsJson(const RoundOptions& options);
// `where` stands for the file in errors.
absl::StatusOr<RoundOptions> ParseOptions(const std::string& where,
                                          const nlohmann::ordered_json& json);

// Whether both read a cluster alike: all that the form has of `load` is the same.
bool SameLoad(const LoadOptions& a, const LoadOptions& b);

// Bounds of what options may be set to, the same for flags and for the form.
// More nodes, cores, GiB and rounds than there are; as GiB it still fits an int64_t of bytes.
inline constexpr int64_t kOptionCountMax = 1'000'000'000;
inline constexpr int64_t kOptionSecondsMax = 100LL * 365 * 24 * 3600;

}  // namespace ebb

#endif  // EBB_OPTIONS_ROUND_OPTIONS_H_
