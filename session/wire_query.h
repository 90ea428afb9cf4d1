// Messages of a question about plans: converts between PlanQuery (planning) and PlanInput
// (wire/planner.proto).  The fields have the names of the table in
// planning/query_fields.h, which reads and writes them.
//
//   absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, {});
//
// Errors:  InvalidArgument, naming the field.
// Threads: pure, except that a time limit starts at the clock's time.

#ifndef EBB_SESSION_WIRE_QUERY_H_
#define EBB_SESSION_WIRE_QUERY_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "groups/groups.h"
#include "options/round_options.h"
#include "planning/plan_query.h"
#include "planning/plan_replace.h"
#include "platform/clock.h"
#include "report/plan_waves.h"
#include "wire/planner.pb.h"

namespace ebb {

// The question of a call with the deadline `end`, without the time to plan for.  `options` and
// `groups`: the settings that apply to it.
absl::StatusOr<PlanQuery> ReadQuery(const v1alpha1::PlanInput& input, const RoundOptions& options,
                                    const GroupRules& groups, std::optional<Clock::time_point> end);

// Writes everything that ReadQuery reads from `input`, except the settings and the prices, which
// messages carry as texts.
void PutQuery(const PlanQuery& query, v1alpha1::PlanInput& input);

// Errors: `now` is not a valid time.
absl::Status CheckNow(const v1alpha1::PlanInput& input);

// The earlier of `end` and the input's own time limit.
absl::StatusOr<std::optional<Clock::time_point>> EndOf(const v1alpha1::PlanInput& input,
                                                       std::optional<Clock::time_point> end);

// The calls that have a PlanInput, named as in planner.proto; kThen: WhatIfCall.then.
enum class QuestionOf : uint8_t {
  kPlan,
  kExplain,
  kBlockers,
  kFrontier,
  kWhatIf,
  kThen,
  kWatchPlans,
  kPass,
  kRound
};

// Uses one table of the fields of PlanInput (wire_query.cc).  Errors: InvalidArgument naming the
// first field that the call does not accept: "input.search.objective: Frontier takes none".
absl::Status CheckTaken(const v1alpha1::PlanInput& input, QuestionOf call);
// Checks `then` by CheckTaken.  Its fields that choose the cluster must be absent or as in `input`.
absl::Status CheckThen(const v1alpha1::PlanInput& then, const v1alpha1::PlanInput& input);

// The model of the waves; absent fields have its defaults.
// Errors: InvalidArgument, if a time is negative or too long.
absl::StatusOr<WaveModel> ReadWaveModel(const v1alpha1::WaveSettings& waves);

// What may be bought.  Errors: InvalidArgument: a number is out of its range, or the machine types
// are not understood.
absl::StatusOr<ReplaceQuery> ReadReplace(const v1alpha1::Replace& replace);

// Checks that the call named `call` can answer in this form.
absl::Status CheckForm(v1alpha1::Form form, std::initializer_list<v1alpha1::Form> taken,
                       std::string_view call);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_QUERY_H_
