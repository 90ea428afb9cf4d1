// A question about plans as it travels: PlanQuery (service/planning) and PlanInput
// (service/wire/planner.proto), whose fields are called as in the table of
// service/planning/query_fields.h, by which they are read and written.
//
//   absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, {});
//
// Errors:  InvalidArgument, naming the field.
// Threads: pure but for the clock, which a time limit is counted from.

#ifndef EBB_SERVICE_SESSION_WIRE_QUERY_H_
#define EBB_SERVICE_SESSION_WIRE_QUERY_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/clock.h"
#include "service/groups.h"
#include "service/options/round_options.h"
#include "service/planning/plan_query.h"
#include "service/wire/planner.pb.h"

namespace ebb {

// The question of a call that has time until `end`, without the time to plan for.  `options` and
// `groups`: the settings that hold for it.
absl::StatusOr<PlanQuery> ReadQuery(const v1alpha1::PlanInput& input, const RoundOptions& options,
                                    const GroupRules& groups, std::optional<Clock::time_point> end);

// What ReadQuery reads of `input`, but for the settings and the prices, which travel as texts.
void PutQuery(const PlanQuery& query, v1alpha1::PlanInput& input);

// Errors: `now` is no time.
absl::Status CheckNow(const v1alpha1::PlanInput& input);

// The earlier of `end` and the end of the input's own limit.
absl::StatusOr<std::optional<Clock::time_point>> EndOf(const v1alpha1::PlanInput& input,
                                                       std::optional<Clock::time_point> end);

// The calls that have a PlanInput, by the names of planner.proto; kThen: WhatIfCall.then.
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

// By one table of the fields of PlanInput (wire_query.cc).  Errors: InvalidArgument naming the
// first field that the call does not take: "input.search.objective: Frontier takes none".
absl::Status CheckTaken(const v1alpha1::PlanInput& input, QuestionOf call);
// Checks `then` by CheckTaken.  Its fields that choose the cluster must be absent or as in `input`.
absl::Status CheckThen(const v1alpha1::PlanInput& then, const v1alpha1::PlanInput& input);

// That `call`, by its name, answers in the form.
absl::Status CheckForm(v1alpha1::Form form, std::initializer_list<v1alpha1::Form> taken,
                       std::string_view call);

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_WIRE_QUERY_H_
