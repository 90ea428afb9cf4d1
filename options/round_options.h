// RoundOptions: everything that decides a plan or a round, except the cluster, its node groups,
// events and the time; and the JSON form in which messages and records store it.
//
//   const nlohmann::ordered_json json = OptionsJson(options);
//   absl::StatusOr<RoundOptions> same = ParseOptions("rounds.db: round 3", json);
//
// The form is a JSON object, nested as the structs are, with the names of their fields:
//
//   {"candidateOrder":"autoscaler",
//    "load":{"expendablePodsPriorityCutoff":-10,"assumeComplete":false,
//            "bypassedSchedulerNames":[],"matchOs":true,"kubernetesVersion":"auto"},
//    "readiness":{"startupTaints":[],"startupTaintPrefixes":[],"csiNodeAware":false},
//    "rules":"auto",
//    "scaleDown":{"planner":{"scaleDownUtilizationThreshold":0.5,...},...}}
//
// Durations are whole seconds (...Seconds), and memory is in bytes.  The table of options
// (option_field.h) drives reading and writing.
//
// Errors:  one line that names the file and the field: a field that is unknown, missing, of another
//          type or out of range.  No field has a default here; otherwise a replay could decide by
//          options that the round did not have.
// Threads: pure functions.

#ifndef EBB_OPTIONS_ROUND_OPTIONS_H_
#define EBB_OPTIONS_ROUND_OPTIONS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "engine/plan/candidate_order.h"
#include "engine/plan/node_groups.h"
#include "engine/scale_down/round.h"
#include "options/readiness_rules.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

// The form's version.  Increase it when the form gains, loses or renames a field.
inline constexpr int64_t kOptionsVersion = 2;

struct RoundOptions {
  // Always verify: the plan of a round is shown and stored.
  RoundOptions() { scale_down.verify = VerifyPlans::kAlways; }

  ScaleDownOptions scale_down;
  CandidateOrder candidate_order = CandidateOrder::kAutoscaler;
  ReadinessRules readiness;
  RuleSet rules = RuleSet::kAuto;  // Whose rules decide about a node.
  // The form omits `limits`, `strict` and `allow_incomplete`, which only say what is refused, and
  // `use`, which is always kPlan.
  LoadOptions load;
};

nlohmann::ordered_json OptionsJson(const RoundOptions& options);
// `where` names the file in errors.
absl::StatusOr<RoundOptions> ParseOptions(const std::string& where,
                                          const nlohmann::ordered_json& json);

// Whether both read a cluster in the same way: all that the form has of `load` is equal.
bool SameLoad(const LoadOptions& a, const LoadOptions& b);

// Bounds of option values, for flags and for the form.  kOptionCountMax is more than any number of
// nodes, cores, GiB or rounds; as GiB it still fits in an int64_t of bytes.
inline constexpr int64_t kOptionCountMax = 1'000'000'000;
inline constexpr int64_t kOptionSecondsMax = 100LL * 365 * 24 * 3600;

}  // namespace ebb

#endif  // EBB_OPTIONS_ROUND_OPTIONS_H_
