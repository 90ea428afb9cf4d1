// PlanRequest: what a plan over a whole cluster is asked for (make_plan.h).

#ifndef EBB_ENGINE_PLAN_REQUEST_H_
#define EBB_ENGINE_PLAN_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/deadline.h"
#include "engine/candidate_order.h"
#include "engine/pass_input.h"
#include "engine/plan.h"
#include "snapshot/ids.h"
#include "snapshot/node_set.h"

namespace ebb {

// What a plan does about nodes of the snapshot that are being deleted at its time.
enum class DeletionsInSnapshot : uint8_t {
  kPlanBeside,  // Their pods find room before any other node goes (deletions_under_way.h).
  kLeftToCaller,  // The caller accounts for them, as who makes a DeletionsUnderWay does.
};

struct PlanRequest {
  PlannerOptions planner;
  CandidateOrder order = CandidateOrder::kAutoscaler;
  int64_t now_s = 0;  // Unix time.
  // Null: every node.  Those whose group may not shrink are left out either way.
  const std::vector<NodeId>* candidates = nullptr;
  // Where pods of nodes that go may move to.  Null: to every node.
  const NodeSet* destinations = nullptr;
  // Where to look first for some pods, as if a pass before had placed them there: at most one
  // place a pod.  A place that does not fit, when its pod has to move, is as if it were not said.
  std::span<const Move> suggestions = {};
  // Absent: every candidate is judged.  Else the limit of an autoscaler's first pass.
  std::optional<int64_t> max_scale_down_parallelism;
  DeletionsInSnapshot deletions = DeletionsInSnapshot::kPlanBeside;
  // As in PassInput: nodes that are being deleted, how many of the pending pods, from the first,
  // must find room, and pods whose eviction is under way.  DeletionsUnderWay fills them in, which
  // MakePlan does where nothing else has.
  std::span<const NodeId> in_deletion = {};
  size_t must_fit = 0;
  std::span<const PodId> evicting = {};
  std::span<const NodeId> evicted_from =
      {};  // The node of each of `evicting`; no decision reads it.
  // Of the pods of a workload (workloads.h) at most this share is evicted, above 0.  1: no limit.
  double max_workload_share = 1;
  // Null: there is time for all.
  const Deadline* passes_end = nullptr;
  const Deadline* verification_ends = nullptr;
  // False: the plan is handed out as it was found.  Verifying costs about as much as a pass.
  bool verify = true;
  // Called once, between the last pass and the verification, for callers that take the time.
  std::function<void()> on_passes_done;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PLAN_REQUEST_H_
