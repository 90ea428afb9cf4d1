// What-if answers as messages of planner.proto: remedies, blockers, frontiers and comparisons of
// plans (what_if).
//
// A what-if file's options are flags of `ebb plan`, which its command line reads (docs/what-if.md).
// A call has WhatIfCall.then in their place: a client that reads the options fills it.
//
// Threads: pure.

#ifndef EBB_SESSION_WIRE_WHAT_IF_H_
#define EBB_SESSION_WIRE_WHAT_IF_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "planning/plan_answer.h"
#include "report/plan_comparison.h"
#include "what_if/blockers.h"
#include "what_if/counterfactual.h"
#include "what_if/what_if_file.h"
#include "wire/planner.pb.h"

namespace ebb {

// `found`: for each node of the reply, or empty if remedies were not requested.  Nodes that go have
// no remedies.
void PutRemedies(std::span<const Counterfactual> found, v1alpha1::ExplainReply& reply);

void PutBlockers(const Blockers& blockers, v1alpha1::BlockersReply& reply);
Blockers ReadBlockers(const v1alpha1::BlockersReply& reply);

// Without FrontierPoint::plan.
void PutFrontier(std::span<const FrontierPoint> points, v1alpha1::FrontierReply& reply);
std::vector<FrontierPoint> ReadFrontier(const v1alpha1::FrontierReply& reply);

void PutComparison(const PlanComparison& comparison, v1alpha1::PlanDifferences& to);
PlanComparison ReadComparison(const v1alpha1::PlanDifferences& from);

// The field of a WhatIfCall that replaces a flag of `ebb plan`: "then.prices"; "": no field does.
// nullopt: the flag is not an option of a what-if file.
std::optional<std::string> FieldOfFlag(std::string_view flag);

// Errors: InvalidArgument that names the first option that is not a flag of a plan; if the call has
// no `then`, the first option, and the field to use instead.
absl::Status CheckOptionsOfCall(const WhatIf& what_if, bool has_then);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_WHAT_IF_H_
