// What-if answers as messages of planner.proto: remedies, blockers, frontiers and comparisons of
// plans (what_if).
//
// Threads: pure.

#ifndef EBB_SESSION_WIRE_WHAT_IF_H_
#define EBB_SESSION_WIRE_WHAT_IF_H_

#include <span>
#include <vector>

#include "planning/plan_answer.h"
#include "report/plan_comparison.h"
#include "what_if/blockers.h"
#include "what_if/counterfactual.h"
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

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_WHAT_IF_H_
