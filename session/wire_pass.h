// Messages of a planner's pass: PlanInput, PassReply, PassTable of wire/planner.proto.
//
//   PassLists lists;
//   absl::StatusOr<PassInput> pass = ReadPass(input, snapshot, rules, lists);
//   absl::StatusOr<Plan> plan = planner.Pass(snapshot, lists.groups, *pass);
//   WritePassPlan(snapshot.catalog(), *plan, reply.mutable_plan());
//
// Errors:  InvalidArgument or NotFound, naming the field, its index and the node.
// Cost:    O(nodes + size of the input); for a plan, its size.
// Threads: pure.

#ifndef EBB_SESSION_WIRE_PASS_H_
#define EBB_SESSION_WIRE_PASS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/make_plan.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "groups/groups.h"
#include "snapshot/cluster_snapshot.h"
#include "wire/planner.pb.h"

namespace ebb {

// The lists that a PassInput borrows, and the groups of the pass.
struct PassLists {
  std::vector<NodeId> candidates;
  std::optional<NodeSet> destinations;
  NodeGroups groups;
};

// The question of `input`, with ids of the snapshot and without the time limit.  The result borrows
// `lists`, which this function fills.  `rules`: used if the input has no groups.
absl::StatusOr<PassInput> ReadPass(const v1alpha1::PlanInput& input,
                                   const ClusterSnapshot& snapshot, const GroupRules& rules,
                                   PassLists& lists);

void WritePassPlan(const Catalog& catalog, const Plan& plan, v1alpha1::PassPlan* written);
// As WritePassPlan(), with the nodes that are no candidates.
void WriteWholePlan(const Catalog& catalog, const PlanResult& made, v1alpha1::PassPlan* written);
void WritePodName(const Catalog& catalog, PodId pod, v1alpha1::PodName& written);

// As WritePassPlan(), in columns.
void WritePassTable(const Catalog& catalog, const Plan& plan, v1alpha1::PassTable* written);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_PASS_H_
