// RoundOptions: all that decides a round beside the cluster, its node groups, events and the
// time, and the form in which a record keeps it.
//
//   const nlohmann::ordered_json json = OptionsJson(options);
//   absl::StatusOr<RoundOptions> same = ParseOptions("rounds.db: round 3", json);
//
// The form is a JSON object, nested as the structs are and with their fields' names:
//
//   {"candidateOrder":"autoscaler",
//    "load":{"expendablePodsPriorityCutoff":-10,"assumeComplete":false,
//            "bypassedSchedulerNames":[]},
//    "readiness":{"startupTaints":[],"startupTaintPrefixes":[],"csiNodeAware":false},
//    "scaleDown":{"planner":{"scaleDownUtilizationThreshold":0.5,...},...}}
//
// Durations are whole seconds (...Seconds), memory is bytes.  Reading and writing go over
// one table of fields.  A field that a struct gains and the table lacks does not compile.
//
// Errors:  one line naming the file and the field: a field that is unknown, missing, of
//          another type or out of its range.  Nothing is taken by default, as a replay
//          would then decide by options that the round did not have; only load.matchOs and
//          load.kubernetesVersion may be missing, which earlier rounds had as false and "1.36".
// Threads: pure functions.

#ifndef EBB_SERVICE_ROUND_OPTIONS_H_
#define EBB_SERVICE_ROUND_OPTIONS_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/make_plan.h"
#include "engine/round.h"
#include "service/groups.h"
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
  // `limits` and `strict` say what is refused and are not in the form; nor is `use`, which
  // is always kPlan.
  LoadOptions load;
};

nlohmann::ordered_json OptionsJson(const RoundOptions& options);
// `where` stands for the file in errors.
absl::StatusOr<RoundOptions> ParseOptions(const std::string& where,
                                          const nlohmann::ordered_json& json);

// Bounds of what options may be set to, the same for flags and for the form.
// More nodes, cores, GiB and rounds than there are; as GiB it still fits an int64_t of bytes.
inline constexpr int64_t kOptionCountMax = 1'000'000'000;
inline constexpr int64_t kOptionSecondsMax = 100LL * 365 * 24 * 3600;

// The words for the values of an enumeration, the same in flags and in the form.
template <typename Enum>
struct Word {
  std::string_view text;
  Enum value;
};
inline constexpr Word<CandidateOrder> kCandidateOrderWords[] = {
    {"autoscaler", CandidateOrder::kAutoscaler},
    {"fewest-pods", CandidateOrder::kFewestPods},
    {"input", CandidateOrder::kInput},
    {"least-utilized", CandidateOrder::kLeastUtilized}};
inline constexpr Word<DisplacedPods> kDisplacedPodsWords[] = {
    {"must-fit", DisplacedPods::kMustFit}, {"best-effort", DisplacedPods::kBestEffort}};
inline constexpr Word<SkippedTimer> kSkippedTimerWords[] = {{"kept", SkippedTimer::kKept},
                                                            {"lost", SkippedTimer::kLost}};
inline constexpr Word<ReturnedNode> kReturnedNodeWords[] = {
    {"anew", ReturnedNode::kStartsAnew}, {"keep-timer", ReturnedNode::kKeepsTimer}};
inline constexpr Word<std::optional<KubernetesVersion>> kKubernetesVersionWords[] = {
    {"auto", std::nullopt}, {"1.36", KubernetesVersion::k136}, {"1.37", KubernetesVersion::k137}};
inline constexpr Word<VerifyPlans> kVerifyPlansWords[] = {
    {"always", VerifyPlans::kAlways}, {"before-deletion", VerifyPlans::kBeforeDeletion}};

// Absent: `text` is none of the words.
template <typename Enum, size_t kSize>
std::optional<Enum> ValueOf(const Word<Enum> (&words)[kSize], std::string_view text) {
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}
template <typename Enum, size_t kSize>
std::vector<std::string> TextsOf(const Word<Enum> (&words)[kSize]) {
  std::vector<std::string> texts;
  for (const Word<Enum>& word : words) texts.emplace_back(word.text);
  return texts;
}

}  // namespace ebb

#endif  // EBB_SERVICE_ROUND_OPTIONS_H_
