// A question about plans as it travels: PlanQuery (planning) and PlanInput
// (wire/planner.proto), whose fields are called as in the table of
// planning/query_fields.h, by which they are read and written.
//
//   absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, {});
//
// Errors:  InvalidArgument, naming the field.
// Threads: pure but for the clock, which a time limit is counted from.

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
#include "platform/clock.h"
#include "wire/planner.pb.h"

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

// Which calls ask: each takes fields of its own.
enum class QuestionOf : uint8_t { kPlan, kPass, kRound };

// Errors: the input has a field that calls of that kind do not take.
absl::Status CheckTaken(const v1alpha1::PlanInput& input, QuestionOf call);

// That `call`, by its name, answers in the form.
absl::Status CheckForm(v1alpha1::Form form, std::initializer_list<v1alpha1::Form> taken,
                       std::string_view call);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_QUERY_H_
