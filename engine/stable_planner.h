// StablePlanner keeps a plan and repairs it when the cluster has changed.
//
//   StablePlanner planner;
//   absl::StatusOr<StablePlan> plan = planner.Make(snapshot, groups, request);
//   // ... the cluster changes ...
//   plan = planner.Make(snapshot, groups, request);   // What still holds is the same.
//
// MakePlan decides in the autoscaler's order, in which each early change moves all later decisions.
// So between two plans of a cluster in which little has changed, many nodes come and go without a
// reason that a user could see.  A StablePlanner instead begins with its last plan:
//   1. The nodes of the last plan are tried first, in its order, and each pod first tries the node
//      where the last plan put it.  What still fits stays as it was.
//   2. No pod is placed on a node that the last plan removes, so that no other pod that moves can
//      take such a node out of the plan.
//   3. Then the other candidates are tried, as MakePlan tries them.
// The filters, rules, limits and the verifier are those of MakePlan: the plan is a plan that
// MakePlan would accept.  Only the order of the candidates and the destinations differ.
//
// Repairing cannot find every plan: over time a greedy plan of the same cluster may remove more
// nodes.  So every `greedy_every` plans the greedy plan is made beside, and replaces the kept one
// if it removes more than `margin` more nodes.
//
// The plan is made from nothing, and says so (StableOrigin), if there is no last plan, if the
// request asks by other options, if the time is before that of the last plan, or if no node of the
// last plan is in the cluster.  A cluster that is built again, with other Symbols, continues by
// names.
//
// Determinism: a plan is a function of the requests and clusters since the planner was made.  A
// cluster that has not changed gives the same plan.
//
// Errors:    those of MakePlan; then the last plan stays.
// Cost:      O(nodes) if nothing has changed.  Otherwise that of MakePlan with hints; every
// `greedy_every` plans, MakePlan more.  Every
//            `verify_every` plans the plan is verified whole (verify.h); others are verified for
//            the cost of what changed (certified_plan.h), or whole if that is not possible.
// Ownership: keeps the catalog and the Symbols of the last plan alive.
// Threads:   not thread-safe.

#ifndef EBB_ENGINE_STABLE_PLANNER_H_
#define EBB_ENGINE_STABLE_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/make_plan.h"
#include "engine/pass/planner.h"
#include "engine/pass/settled_pass.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_changes.h"
#include "engine/plan/plan_request.h"
#include "engine/plan/stable_options.h"
#include "engine/verify/certified_plan.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/node_set.h"

namespace ebb {

// Where a stable plan comes from.
enum class StableOrigin : uint8_t {
  kFirst,         // No plan was made before.
  kKept,          // The last plan was repaired.
  kGreedy,        // The greedy plan was better by more than the margin.
  kOptions,       // The request has other options than the last one.
  kTime,          // The time is before that of the last plan.
  kMissed,        // Changes since the last plan may have been missed.
  kOtherCluster,  // No node of the last plan is in the cluster, or the cluster was replaced.
};
// "first", "kept", "greedyWasBetter", "otherOptions", "timeWentBack", "changesMissed",
// "otherCluster".
std::string_view ToString(StableOrigin origin);

struct StablePlan {
  std::shared_ptr<const PlanResult> made;  // Shared with the planner, which never changes it.
  StableOrigin origin = StableOrigin::kFirst;
  // Nodes of the last plan that this plan removes too; and how many of them with all pods on the
  // same destinations as before.
  size_t kept = 0;
  size_t unchanged = 0;
  // First nodes that came, in the order of the plan, then nodes that left, in the last plan's.
  // Empty if the plan was made from nothing.
  std::vector<PlanChange> changes;
  // How many nodes the greedy plan removes, if it was made beside.
  std::optional<size_t> greedy_removes;
  bool verified = false;  // The plan was verified whole.
  // Removals whose certificates held, and removals that were checked again, if certificates covered
  // what changed.  A plan that was verified whole too passed both, or it would be an error.
  size_t held = 0;
  size_t checked = 0;
  // Why certificates did not cover the plan, so that it was verified whole.
  std::optional<NotCovered> not_covered;
  // The destinations of the passes; absent: those of the request.  They do not contain the nodes
  // that the last plan removed.
  std::optional<NodeSet> destinations;
};

class StablePlanner {
 public:
  explicit StablePlanner(StableOptions options = {}) : options_(options) {}

  // The snapshot is unchanged when this returns; it must have no open fork.  `request` must have no
  // `first`, `passes` and suggestions.
  // Errors: those of MakePlan.
  absl::StatusOr<StablePlan> Make(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const PlanRequest& request);

  // Forgets the last plan, if there is one.  `why` is the origin of the next plan.
  void Forget(StableOrigin why = StableOrigin::kFirst);

  [[nodiscard]] const StableOptions& options() const { return options_; }
  void SetOptions(const StableOptions& options) { options_ = options; }
  [[nodiscard]] uint64_t plans() const { return plans_; }

 private:
  // A node of the last plan.  The texts are never released: node names, and UIDs of nodes.
  struct Removal {
    TextId node;
    TextId uid;
    uint64_t places;  // A hash of its pods and their destinations, by name.
  };
  class Unchanged;
  // What makes two requests comparable.
  struct Asked {
    PlannerOptions planner;
    CandidateOrder order = CandidateOrder::kAutoscaler;
    PodOrder pod_order = PodOrder::kByPriority;
    size_t unneeded_limit = 0;
    double max_workload_share = 1;
    bool operator==(const Asked&) const = default;
  };

  static Asked AskedOf(const PlanRequest& request);
  // The last plan once more, if nothing has changed since that a plan depends on.
  std::optional<StablePlan> SameAsLast(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                       const PlanRequest& request);
  absl::StatusOr<StablePlan> MakeBeside(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                        const PlanRequest& request);
  // How the next plan begins.  Fills `first` with the nodes of the last plan that are still there.
  StableOrigin Begin(const ClusterSnapshot& snapshot, const PlanRequest& request,
                     std::vector<NodeId>& first) const;
  // Continues by names if the Symbols are others than before.
  void Follow(const std::shared_ptr<Symbols>& symbols);
  // Makes the greedy plan beside; if it is better by more than the margin, it replaces `plan`.
  absl::Status TryGreedy(ClusterSnapshot& snapshot, const NodeGroups& groups,
                         const PlanRequest& request, PlanResult& made, StablePlan& plan);
  // Describes how the plan differs from the last one, and keeps it as the last one.
  void Note(const ClusterSnapshot& snapshot, const PlanRequest& request, const PlanResult& made,
            StablePlan& plan);
  void NewPasses(const PlannerOptions& options);
  // Verifies the plan: by certificates, and whole if `whole` or if they do not cover it.
  absl::Status VerifyMade(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                          const PlanRequest& asked, bool whole, PlanResult& made, StablePlan& plan);

  StableOptions options_;
  uint64_t plans_ = 0;                                // Plans made so far.
  StableOrigin without_last_ = StableOrigin::kFirst;  // The origin of a plan without a last one.
  std::shared_ptr<Symbols> symbols_;
  std::unique_ptr<Planner> passes_;  // Its hints are the last plan's destinations.
  std::optional<Asked> asked_;       // Absent: no plan was made yet.
  int64_t now_s_ = 0;
  std::vector<Removal> last_;
  // Of last_: the catalog, and the end of its log of pods.
  uint64_t lineage_ = 0;
  uint64_t pods_seen_ = 0;
  KeptReasons kept_;  // Why the last plan kept its nodes.
  // The last answer, and the question that it answers; the question's plan is empty.
  std::optional<SettledPass> question_;
  std::optional<StablePlan> answer_;
  PlanCertificates certificates_;  // Of the last plan's removals.
};

}  // namespace ebb

#endif  // EBB_ENGINE_STABLE_PLANNER_H_
