// PlanCertificates: verifies plan after plan of a cluster that changes, for the cost of what
// changed.
//
//   PlanCertificates certificates;
//   // After Verify of the plan:
//   absl::Status certified = certificates.Certify(snapshot, groups, options, input, plan);
//   // ... the cluster changes, and the plan is made again ...
//   const auto part = certificates.Check(snapshot, groups, options, input, plan);
//   if (part.ok() && part->not_covered) VerifyAndCertify();
//
// Check gives the verdict of Verify (verify.h), or says that certificates do not cover the change.
// Like Verify it shares no state with the planner and no code but the functions that verify.h
// names: it reads pods, labels, requests and selectors, and no counter, column or bit set.
//
// A *row* is a node: its pods and their shapes.  Each row, and each list of the pods that the plan
// puts on a node, has a version: the number of the check at which it last changed.  The
// *certificate* of a removal holds the moves that were checked and the number of that check.  It
// holds as long as the removal has the same moves, comes after the same certified removals, and
// its row and the pods that come to its node have no newer version.  A removal without a
// certificate that holds is checked again.
//
// What a removal does to other nodes is not part of its certificate.  Each check looks at
//   - room: only destinations whose row or arriving pods have changed.  What the arriving pods take
//     together is kept as a sum.  Where their order may matter, they are charged one after the
//     other, in the order of the plan;
//   - spreading and affinity: if pods move that depend on them, the moves of all counted pods are
//     replayed, in the order of the plan, over kept counts;
//   - budgets: replayed over the charges that each certificate has stored;
//   - that destinations are allowed and are not removed before.
//
// Time only makes rules weaker, with one exception: pods that are being deleted stop counting.  So
// a removal with such a pod is checked again if the time is another.
//
// Not covered (NotCovered says which): facts about nodes, budgets that select other pods, new
// topology counters, another catalog, a time that goes back, and plans with pods that use storage,
// with limited shares of workloads, or with pending pods that are not understood.  If budgets or
// controllers have other numbers, the rules judge each shape again; only removals with a pod of a
// shape that is judged differently are checked again.
//
// Cost:      Check is O(pods + moves) to compare the rows and the moves with those of the last
//            check, many at a time; O(nodes + budgets + charges) for what is compared and replayed;
//            O(pods of their nodes) for removals that are checked again; O(1) for each pod that
//            comes or no longer comes to a destination.  Certify costs about as much as
//            Verify.  Memory: about that of the pods and moves, twice.
// Threads:   not thread-safe.
// Ownership: borrows nothing between calls.

#ifndef EBB_ENGINE_VERIFY_CERTIFIED_PLAN_H_
#define EBB_ENGINE_VERIFY_CERTIFIED_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "engine/plan/pass_input.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Why certificates do not cover a plan, so that it must be verified whole.
enum class NotCovered : uint8_t {
  kNothingCertified,  // No plan was certified before, or the last check failed.
  kOtherCatalog,      // The cluster was built again, or other rules apply to it.
  kManyChanges,       // The catalog no longer knows all changes of pods since the last check.
  kTime,              // The time, or the catalog, is older than that of the last check.
  kNodes,             // A node came, went, or has other labels, taints, amounts or states.
  kBudgets,           // A budget came, went or selects other pods.
  kTopology,          // A pod asks for counts that no pod asked for before.
  kStorage,           // A pod moves that uses volumes or claims.
  kWorkloadShare,     // PassInput::max_workload_share limits evictions.
  kPendingPods,       // A pending pod is not fully understood.
  kGangs,             // Gangs hold their pods, or headroom is kept.
  kKarpenter,         // Karpenter's rules hold for some nodes.
};
inline constexpr size_t kNotCoveredCauses = 12;
// As a word: "nodes".
std::string_view ToString(NotCovered cause);

struct CertifiedPart {
  // Set: the plan was not verified, and nothing is certified any more.
  std::optional<NotCovered> not_covered;
  size_t held = 0;          // Removals whose certificates held.
  size_t checked = 0;       // Removals that were checked again.
  size_t destinations = 0;  // Nodes whose room was checked again.
  bool topology = false;    // Moves were replayed for spreading and affinity.
};

class PlanCertificates {
 public:
  PlanCertificates();
  ~PlanCertificates();
  PlanCertificates(PlanCertificates&&) noexcept;
  PlanCertificates& operator=(PlanCertificates&&) noexcept;

  // Certifies every removal of the plan, as Check does.  A plan that certificates do not cover is
  // not certified.
  // Errors: those of Verify; then nothing is certified.
  // REQUIRES: the snapshot has no open fork.
  absl::Status Certify(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                       const PlannerOptions& options, const PassInput& input, const Plan& plan);

  // Verifies a plan of the same cluster, which may have changed, and certifies it.
  // Errors: those of Verify; then nothing is certified any more.
  // REQUIRES: the snapshot has no open fork.
  absl::StatusOr<CertifiedPart> Check(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlannerOptions& options, const PassInput& input,
                                      const Plan& plan);

  // Drops all certificates.
  void Forget();

 private:
  class Checker;

  std::unique_ptr<Checker> checker_;  // Null: nothing is certified.
};

}  // namespace ebb

#endif  // EBB_ENGINE_VERIFY_CERTIFIED_PLAN_H_
