// A pass of the planner as it travels (PlanInput, PassReply, PassTable of
// wire/planner.proto).
//
//   PassLists lists;
//   absl::StatusOr<PassInput> pass = ReadPass(input, snapshot, rules, lists);
//   absl::StatusOr<Plan> plan = planner.Pass(snapshot, lists.groups, *pass);
//   WritePassPlan(snapshot.catalog(), *plan, reply.mutable_plan());
//
// Errors:  InvalidArgument or NotFound, naming the field, its index and the node.
// Cost:    O(nodes + what the input names); of a plan its size.
// Threads: pure.

#ifndef EBB_SESSION_WIRE_PASS_H_
#define EBB_SESSION_WIRE_PASS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "groups/groups.h"
#include "snapshot/cluster_snapshot.h"
#include "wire/planner.pb.h"

namespace ebb {

// What a PassInput borrows, and the groups that it is asked with.
struct PassLists {
  std::vector<NodeId> candidates;
  std::optional<NodeSet> destinations;
  NodeGroups groups;
};

// What `input` asks, in the ids of the snapshot, without the time limit.  Its lists are put into
// `lists`, which it borrows.  `rules`: for an input that names no groups.
absl::StatusOr<PassInput> ReadPass(const v1alpha1::PlanInput& input,
                                   const ClusterSnapshot& snapshot, const GroupRules& rules,
                                   PassLists& lists);

void WritePassPlan(const Catalog& catalog, const Plan& plan, v1alpha1::PassPlan* written);

// The same in columns.
void WritePassTable(const Catalog& catalog, const Plan& plan, v1alpha1::PassTable* written);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_PASS_H_
