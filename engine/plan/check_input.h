// Checks of the engine's input, made before any of it is used.
//
// Planner::Pass, MakePlan and ScaleDown::Round call these checks before they change anything.  So
// wrong input is an error and never causes an abort or an out-of-bounds write.  The functions that
// they call rely on the checks and do not repeat them.
//
// Errors:  InvalidArgument that names the field, the index and the object:
//            groups.group_of[4]: node b is in group 7, and there are 2 groups
// Cost:    O(nodes + groups + candidates + pending + evicting).
// Threads: pure functions.

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

// The time is in the range of base/time_range.h.
absl::Status CheckTime(std::string_view field, int64_t time_s);

// The duration is at most a century.
absl::Status CheckDuration(std::string_view field, int64_t duration_s);

// The share of a workload's pods (workloads.h) is more than 0 and at most 1.
absl::Status CheckShare(std::string_view field, double share);

// Thresholds are not NaN, and durations pass CheckDuration.
absl::Status CheckOptions(const PlannerOptions& options);

// A pass may begin: the snapshot has no ghost, and its Symbols are `remembered`, the one whose ids
// the planner remembers.  `remembered` null: the planner remembers no ids yet.
absl::Status CheckSnapshot(const ClusterSnapshot& snapshot, const Symbols* remembered);

// The snapshot has no open fork.
absl::Status CheckNoFork(const ClusterSnapshot& snapshot);

// Every column has an entry for each node of the catalog, every node's group exists, group names
// are unique and sizes are not negative.  The options that a group overrides pass the checks of
// CheckOptions.
absl::Status CheckGroups(const Catalog& catalog, const NodeGroups& groups);

// Nodes and pods belong to the catalog and are listed once each, and no pod has left the catalog.
// Pending pods are not placed, `destinations` covers the catalog's nodes, `must_fit` is at most the
// number of pending pods, and CheckTime and CheckShare hold.
absl::Status CheckPassInput(const ClusterSnapshot& snapshot, const PassInput& input);

// Pods and nodes belong to the catalog; no pod is listed twice or has left the catalog.
absl::Status CheckSuggestions(const Catalog& catalog, std::span<const Move> suggestions);

// The removed nodes and the pods and nodes of their moves belong to the catalog, so that the plan
// can be replayed.
absl::Status CheckPlan(const Catalog& catalog, const Plan& plan);

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_CHECK_INPUT_H_
