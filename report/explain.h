// Explain says why nodes of a plan are kept or go, pod by pod.
//
// It goes back to the moment of the pass when the node had its turn: it carries out the earlier
// removals on a copy of the cluster.  Then it applies the drainability rules to each pod.  For a
// node whose pods found no place, it also tries each pod that must move on every node, one pod
// after the other, and counts the refusals in the scheduler's words.  A node that the pass judged
// before any removal is shown as it was then.
//
// Cost: one branch of the snapshot per node, and nodes x pods of the node filter evaluations.

#ifndef EBB_REPORT_EXPLAIN_H_
#define EBB_REPORT_EXPLAIN_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "report/pass_replay.h"
#include "report/place_tally.h"
#include "report/plan_report.h"

namespace ebb {

struct Explanation {
  enum class Outcome : uint8_t {
    kMoves,  // On a node that goes or is being deleted.
    kMayMove,
    kBlocks,
    kMirror,           // Ignored.
    kLongTerminating,  // Ignored: deleted, and past its grace period.
    kDaemonSet,        // Goes with the node.
    kMustEnd,          // The node waits until the pod ends.
    kFindsNoRoom,      // On a node in deletion: the pod must move, and no node has room.
  };
  struct Pod {
    PodId pod;
    Outcome outcome = Outcome::kMayMove;
    BlockingPodReason reason = BlockingPodReason::kNoReason;  // kBlocks.
    std::optional<PdbId> pdb;                                 // kBlocks, by that budget.
    // The plan keeps room for the pod: it runs nowhere yet, or its node, `from`, is being deleted.
    bool pending = false;
    NodeId from = kNoNode;    // The plan brought the pod here, from that node.
    NodeId to = kNoNode;      // kMoves: where it is after the whole plan.
    std::vector<NodeId> via;  // kMoves: the stops in between.
    std::string words = {};   // BlockWords, or PassedOverWords.
  };
  // A budget of the node's pods from which the plan had spent before the node's turn.
  struct Budget {
    PdbId pdb;
    int32_t allowed;  // Before the plan.
    int32_t spent;    // Counts each pod once.
    int32_t counted;  // As the pass counts: a pod counts again on each node that it passed through.
    std::vector<PassReplay::Spent> nodes;
  };
  struct Place {
    PodId pod;
    PlaceTally tally;
    NodeId to = kNoNode;     // Where the pod is put before the next pod is tried.
    std::string words = {};  // PlaceWords, if the pod fits nowhere.
  };

  NodeId node;
  // Position in the order of removal, from 1, if the node goes.
  size_t order = 0;
  // The removal is risky (PlanReport::Removal), if the node goes.
  bool risky = false;
  const PlanReport::Kept* kept = nullptr;  // Why the node stays; null: it goes.
  std::string because;                     // A sentence on the reason; may be empty.
  // Whether `pods` and `budgets` are as of the node's turn.
  bool had_turn = false;
  // Set if the plan had brought pods to the node by its turn.
  std::optional<Utilization> utilization_at_turn;
  std::vector<Pod> pods;
  std::vector<Budget> budgets;
  std::vector<Place> places;  // For kNoPlaceToMovePods.
  // For kNoPlaceToMovePods: all pods of the node find a place if it is the first node to go.
  bool fits_first = false;
};

// The nodes that `names` lists, as "X" or "node/X", each once, in order.
// Errors: NotFound, with every name that no node has and the nearest name of a node for each.
absl::StatusOr<std::vector<NodeId>> FindNodes(const Catalog& catalog,
                                              std::span<const std::string> names);

// Whether the pod is removed through the eviction API.
bool NeedsEviction(Explanation::Outcome outcome);

Explanation Explain(const PlanReport& report, NodeId node);

// Kind Explanation of docs/explain.schema.json.  When `stops` expires, returns the nodes explained
// so far; null: there is no time limit.  Cost: for each node, a pass up to its turn.
nlohmann::ordered_json ExplanationJson(const PlanReport& report, std::span<const NodeId> nodes,
                                       const Deadline* stops = nullptr);

}  // namespace ebb

#endif  // EBB_REPORT_EXPLAIN_H_
