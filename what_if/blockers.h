// FindBlockers: what keeps nodes over the whole cluster, and how many nodes go without it.
//
// Whatever a plan names as the first obstacle of some node is a blocker: a budget, the pods of a
// workload, annotations of nodes, the minimum of a group, the utilization threshold.  Each is
// changed by itself, and the plan is made again: a node may have other obstacles too, and nodes
// take each other's room, so what goes then cannot be told from counts.
//
// Cost:    a plan for each that is tried, and one pass over all objects.
// Threads: one at a time.
// Errors:  those of MakePlan.  What cannot be tried is told in the blocker itself.

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
  std::string reason;  // Why nodes stay: "NotEnoughPdb".
  std::string change;  // What was tried: "allows every disruption".
  std::string detail;  // OutlookWords of a budget, or which pod is not understood.
  size_t keeps = 0;    // Nodes of which it is the first obstacle.
  // How many nodes more go then; below 0 where a greedy plan is worse off.  Absent: not tried.
  std::optional<int64_t> gained;
  std::optional<double> saved_per_hour;  // What those cost; absent: nobody gave prices.
  std::string not_tried;                 // Why.
};

struct Blockers {
  size_t removed = 0;  // By the plan as things are.
  size_t kept = 0;
  std::vector<Blocker> blockers;  // The largest gain first; those not tried last.
};

struct BlockersOptions {
  size_t limit = 50;  // So many are tried, those that keep most nodes first.
  // Of a node of the report, per hour.  Null: nobody gave prices.
  std::function<double(NodeId node)> price;
  std::function<void(size_t tried, size_t of)> on_progress;
  const Deadline* deadline =
      nullptr;  // What comes later is not tried.  Null: there is time for all.
};

// `cluster` holds the objects of which the report's plan was made as an answer to `query`.
absl::StatusOr<Blockers> FindBlockers(const PlanReport& report, const PlanQuery& query,
                                      LiveCluster& cluster, const BlockersOptions& options);

// Kind Blockers of docs/blockers.schema.json.
nlohmann::ordered_json BlockersJson(const Blockers& blockers);

}  // namespace ebb

#endif  // EBB_WHAT_IF_BLOCKERS_H_
