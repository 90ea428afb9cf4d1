// A pass of the planner as it travels (PassCall, PassReply, PassTable of
// service/wire/planner.proto).
//
//   absl::StatusOr<PassRequest> request = ReadPassCall(call, snapshot, rules);
//   absl::StatusOr<Plan> plan = planner.Pass(snapshot, request->groups, request->Input(now_s));
//   WritePassPlan(snapshot.catalog(), *plan, reply.mutable_plan());
//
// Errors:  InvalidArgument or NotFound, naming the field, its index and the node.
// Cost:    O(nodes + what the call names); of a plan its size.
// Threads: pure.

#ifndef EBB_SERVICE_SESSION_PASS_CALL_H_
#define EBB_SERVICE_SESSION_PASS_CALL_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/node_groups.h"
#include "engine/pass_input.h"
#include "engine/plan.h"
#include "service/groups.h"
#include "service/wire/planner.pb.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// What a call asks, in the ids of a snapshot.
struct PassRequest {
  std::vector<NodeId> candidates;
  std::optional<NodeSet> destinations;
  NodeGroups groups;
  size_t unneeded_limit = std::numeric_limits<size_t>::max();
  PodOrder pod_order = PodOrder::kByPriority;

  // Points into this.
  [[nodiscard]] PassInput Input(int64_t now_s) const {
    return {.now_s = now_s,
            .candidates = candidates,
            .destinations = destinations ? &*destinations : nullptr,
            .unneeded_limit = unneeded_limit,
            .pod_order = pod_order,
            .pending = {},
            .evicting = {}};
  }
};

// `rules`: for a call that names no groups.
absl::StatusOr<PassRequest> ReadPassCall(const v1alpha1::PassCall& call,
                                         const ClusterSnapshot& snapshot, const GroupRules& rules);

void WritePassPlan(const Catalog& catalog, const Plan& plan, v1alpha1::PassPlan* written);

// The same in columns.
void WritePassTable(const Catalog& catalog, const Plan& plan, v1alpha1::PassTable* written);

}  // namespace ebb

#endif  // EBB_SERVICE_SESSION_PASS_CALL_H_
