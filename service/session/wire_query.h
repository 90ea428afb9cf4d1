// A question about plans as it travels: PlanQuery (service/planning) and PlanInput
// (service/wire/planner.proto).
//
//   absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, {});
//
// Errors:  InvalidArgument, naming the field.
// Threads: pure but for the clock, which a time limit is counted from.

#ifndef EBB_SERVICE_SESSION_WIRE_QUERY_H_
#define EBB_SERVICE_SESSION_WIRE_QUERY_H_

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

// Errors: the input says how to plan, which `call` does not take.
absl::Status RefuseSearch(const v1alpha1::PlanInput& input, std::string_view call);

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_WIRE_QUERY_H_
