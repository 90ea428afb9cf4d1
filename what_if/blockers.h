// FindBlockers lists what keeps nodes in the whole cluster, and how many more nodes would go
// without it.
//
// A blocker is anything that a plan names as the first obstacle of some node: a budget, the pods of
// a workload, annotations of nodes, the minimum of a group, the utilization threshold.  Each
// blocker is removed by itself, and the plan is made again.  Counting obstacles is not enough,
// because a node may have further obstacles, and nodes compete for room.
//
// Then sets of changes are tried, greedily: starting with the blocker of the largest gain, the next
// one is added if the plan then removes more nodes, and at the end changes without which as many
// nodes go are left out.  Sets combine changes of objects and of groups; flags, pending pods and
// budgets that recover by themselves are left out.
//
// A plan that is tried is not carried out; only its number of nodes is reported.  So it is verified
// only if it removes more nodes than all before it: the largest gain is always that of a verified
// plan.
//
// Cost:    one plan per blocker and per set that is tried, and one pass over all pods.
// Threads: one at a time.
// Errors:  those of MakePlan.  If a blocker cannot be tried, its `not_tried` says why.

#ifndef EBB_WHAT_IF_BLOCKERS_H_
#define EBB_WHAT_IF_BLOCKERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "planning/live_cluster.h"
#include "report/plan_report.h"
#include "what_if/remedy.h"

namespace ebb {

struct Blocker {
  std::string kind;            // "PodDisruptionBudget", "StatefulSet", "NodeGroup", ...
  std::string namespace_name;  // Empty: the kind has none.
  std::string name;
  std::string reason;   // Why nodes stay: "NotEnoughPdb".
  std::string change;   // What was tried: "allows every disruption".
  std::string detail;   // OutlookWords for a budget, or which pod is not understood.
  std::string outlook;  // Of a budget, ToString(BudgetOutlook): "recovers", "neverAllows", ...
  std::string
      command;       // The kubectl line that makes the change (mild_remedy.h).  Empty: none does.
  size_t keeps = 0;  // Nodes whose first obstacle it is.
  // How many more nodes go without it; below 0 if the new greedy plan is worse.  Absent: not tried.
  std::optional<int64_t> gained;
  // Hourly price of the nodes that go without it, less that of the nodes that go now; absent: no
  // prices were given.
  std::optional<double> saved_per_hour;
  std::string not_tried;  // Why it was not tried; empty: it was tried.
};

// Changes that were tried together, each of another blocker.
struct BlockerSet {
  std::vector<size_t> blockers;  // Indices into Blockers::blockers, ascending.
  int64_t gained = 0;
  std::optional<double> saved_per_hour;  // As in Blocker.
};

struct Blockers {
  size_t removed = 0;  // By the plan without any change.
  size_t kept = 0;
  // The largest gain first; then budgets that recover by themselves; then blockers that were not
  // tried.
  std::vector<Blocker> blockers;
  std::vector<BlockerSet> sets;  // Each has more changes and a larger gain than the one before it.
  size_t sets_tried = 0;
};

struct BlockersOptions {
  size_t limit = 50;  // How many blockers are tried; blockers that keep the most nodes come first.
  size_t sets = 10;   // How many sets of changes are tried.
  // The price of a node of the report, per hour.  Null: no prices were given.
  std::function<double(NodeId node)> price;
  std::function<void(size_t tried, size_t of)> on_progress;
  const Deadline* deadline =
      nullptr;  // Blockers whose turn comes after this are not tried.  Null: no time limit.
};

// `cluster` holds the objects of the report's cluster; the report's plan answers `query`.
absl::StatusOr<Blockers> FindBlockers(const PlanReport& report, const PlanQuery& query,
                                      LiveCluster& cluster, const BlockersOptions& options);

// Kind Blockers of docs/blockers.schema.json.
nlohmann::ordered_json BlockersJson(const Blockers& blockers);

}  // namespace ebb

#endif  // EBB_WHAT_IF_BLOCKERS_H_
