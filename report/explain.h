// Explain tells why nodes of a plan are kept or go, pod by pod.
//
// It goes back to the moment of the pass when the node had its turn: removals before
// it are carried out on a copy of the cluster.  Then each pod is judged by the
// drainability rules, and for a node that no place could be found for, each pod
// that must move is tried on every node, one after the other, and the refusals are
// counted in the scheduler's words.  A node that was judged before any removal is shown
// as it was then.
//
// Cost: a branch of the snapshot a node; nodes x pods of the node filter evaluations.

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
    kMoves,  // Of a node that goes, or that is being deleted.
    kMayMove,
    kBlocks,
    kMirror,           // Ignored.
    kLongTerminating,  // Ignored: deleted, and past its grace period.
    kDaemonSet,        // Goes with the node.
    kMustEnd,          // Is waited for.
    kFindsNoRoom,      // Of a node in deletion: it must move, and no node has room.
  };
  struct Pod {
    PodId pod;
    Outcome outcome = Outcome::kMayMove;
    BlockingPodReason reason = BlockingPodReason::kNoReason;  // kBlocks.
    std::optional<PdbId> pdb;                                 // kBlocks, by that budget.
    bool pending = false;   // The plan keeps room for it: it runs nowhere yet, or its node, `from`,
                            // is being deleted.
    NodeId from = kNoNode;  // The plan brought it here, from that node.
    NodeId to = kNoNode;    // kMoves: where it is after the whole plan.
    std::vector<NodeId> via;  // kMoves: and in between.
    std::string words = {};   // BlockWords, or PassedOverWords.
  };
  // A budget of the node's pods that the plan had spent from before the node's turn.
  struct Budget {
    PdbId pdb;
    int32_t allowed;  // Before the plan.
    int32_t spent;    // Each pod once.
    int32_t counted;  // As the pass counts: a pod again on each node that it passed through.
    std::vector<PassReplay::Spent> nodes;
  };
  struct Place {
    PodId pod;
    PlaceTally tally;
    NodeId to = kNoNode;     // Where it is put before the next pod is tried.
    std::string words = {};  // EphemeralWords, of one that fits nowhere.
  };

  NodeId node;
  size_t order = 0;                        // From 1, of a node that goes.
  bool risky = false;                      // The same.
  const PlanReport::Kept* kept = nullptr;  // Of a node that stays.
  std::string because;                     // A sentence on the reason; may be empty.
  bool had_turn = false;                   // Pods and budgets are as of its turn.
  // At its turn, if the plan had brought pods by then.
  std::optional<Utilization> utilization_at_turn;
  std::vector<Pod> pods;
  std::vector<Budget> budgets;
  std::vector<Place> places;  // kNoPlaceToMovePods.
  // The same: all of its pods find a place where the node is the first to go.
  bool fits_first = false;
};

// The nodes that `names` names: "X" or "node/X", each once, in order.
// Errors: NotFound, naming every node that is not there and the nearest name of each.
absl::StatusOr<std::vector<NodeId>> FindNodes(const Catalog& catalog,
                                              std::span<const std::string> names);

// Whether the eviction API is asked about such a pod.
bool NeedsEviction(Explanation::Outcome outcome);

Explanation Explain(const PlanReport& report, NodeId node);

// Kind Explanation of docs/explain.schema.json.  Ends with the nodes so far where `stops` has
// expired; null: never.  Cost: a pass up to its turn for each node.
nlohmann::ordered_json ExplanationJson(const PlanReport& report, std::span<const NodeId> nodes,
                                       const Deadline* stops = nullptr);

}  // namespace ebb

#endif  // EBB_REPORT_EXPLAIN_H_
