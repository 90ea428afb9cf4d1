// What changes would let go, as it travels: remedies, blockers, frontiers and comparisons of plans
// (service/what_if) as messages of planner.proto.
//
// Threads: pure.

#ifndef EBB_SERVICE_SESSION_WIRE_WHAT_IF_H_
#define EBB_SERVICE_SESSION_WIRE_WHAT_IF_H_

#include <span>

#include "service/what_if/counterfactual.h"
#include "service/wire/planner.pb.h"

namespace ebb {

// `found`: of each node of the reply, or none were asked for.  Nodes that go have none.
void PutRemedies(std::span<const Counterfactual> found, v1alpha1::ExplainReply& reply);

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_WIRE_WHAT_IF_H_
