// What the engine is asked, checked before any of it is used.
//
// Planner::Pass, MakePlan and ScaleDown::Round call these before they change anything, so
// that wrong input is an error, and never an abort or a write out of bounds.  Steps inside
// of them rest on what was checked here.
//
// Errors:  InvalidArgument that names the field, the index and the object:
//            groups.group_of[4]: node b is in group 7, and there are 2 groups
// Cost:    O(nodes + groups + candidates + pending + evicting).
// Threads: pure.

#ifndef EBB_ENGINE_PLAN_CHECK_INPUT_H_
#define EBB_ENGINE_PLAN_CHECK_INPUT_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// A time of the range of base/time_range.h.
absl::Status CheckTime(std::string_view field, int64_t time_s);

// A duration of at most a century.
absl::Status CheckDuration(std::string_view field, int64_t duration_s);

// A share of the pods of a workload (workloads.h): more than 0 and at most 1.
absl::Status CheckShare(std::string_view field, double share);

// Thresholds are numbers, and CheckDuration.
absl::Status CheckOptions(const PlannerOptions& options);

// A pass may begin in the snapshot: there is no ghost, and its Symbols are those whose ids
// the planner remembers.  `remembered` null: it remembers none yet.
absl::Status CheckSnapshot(const ClusterSnapshot& snapshot, const Symbols* remembered);

// Nothing is being tried out in the snapshot.
absl::Status CheckNoFork(const ClusterSnapshot& snapshot);

// Every column covers the catalog's nodes, every node's group exists, no two groups share
// a name, no size is negative; what a group says in place of options is as CheckOptions asks.
absl::Status CheckGroups(const Catalog& catalog, const NodeGroups& groups);

// Nodes and pods are of the catalog, come once each and, if pods, have not left it; pending pods
// are not placed, destinations range over the catalog's nodes, `must_fit` is within `pending`, the
// share of a workload is more than 0 and at most 1; and CheckTime.
absl::Status CheckPassInput(const ClusterSnapshot& snapshot, const PassInput& input);

// Pods and nodes are of the catalog, and no pod comes twice or has left it.
absl::Status CheckSuggestions(const Catalog& catalog, std::span<const Move> suggestions);

// Nodes that go, and pods and nodes of moves, are of the catalog: the plan may be replayed.
absl::Status CheckPlan(const Catalog& catalog, const Plan& plan);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_CHECK_INPUT_H_
