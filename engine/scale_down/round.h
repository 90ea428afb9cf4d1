// ScaleDown: the planner over time.  One Round a loop.
//
//   ScaleDown scale_down(options);
//   absl::StatusOr<RoundResult> result = scale_down.Round(snapshot, groups, input);
//   // taint and delete result->start, then call again with the status of that
//
// A round brings the state to the newest snapshot: which nodes are unneeded and since
// when, which could not be removed, what is being deleted, which pods were evicted
// and not replaced yet, when what happened last.  Then it says what may go now, in
// this order:
//   unhealthy cluster -> every timer ends, nothing goes;
//   pods that lost their node already find room first, or nothing else is looked at;
//   one planner pass; timers; cooldown; what has waited long enough; budgets;
//   the plan is verified before anything starts.
//
// Invariants: no node is both unneeded and being deleted; a timer starts at a time of
// some round and never moves, unless the clock is set back; nothing starts beyond the
// budgets but one atomic group.
//
// No clock is read, and the time that a round is given may be wrong.  One that lies far
// from the last round's, ahead or back, is believed when a second round is at about the
// same time; the first one waits and changes no timer.  Times that lie after one that is
// believed become it (state_clock.h).  A time that lies a little before the last
// round's becomes the last round's, and is logged.
//
// A node that comes back as another machine (UID) starts anew, unless the options say
// otherwise.
//
// Snapshots may be built anew for every round but share one Symbols, by whose ids
// names are remembered.
//
// Errors:  InvalidArgument, for input that check_input.h refuses; nothing has changed then.
//          What is odd about the cluster and not wrong with the call is a line of
//          RoundResult::log.  ScaleDownStatus::kError is a bug of ebb.
// Units:   seconds since the Unix epoch.
// Cost:    one planner pass, and O(nodes); verifying, where something starts, costs
//          about a pass without memory.
// Threads: none.
// Source:  cluster-autoscaler core/static_autoscaler.go scaleDown and
//          core/scaledown/planner; the parallel drain proposal where it is stricter.

#ifndef EBB_ENGINE_SCALE_DOWN_ROUND_H_
#define EBB_ENGINE_SCALE_DOWN_ROUND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/actuation_status.h"
#include "engine/pass/planner.h"
#include "engine/plan/candidate_order.h"
#include "engine/plan/limits.h"
#include "engine/scale_down/budgets.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/deletion.h"
#include "engine/scale_down/scale_down_state.h"
#include "engine/scale_down/soft_taints.h"
#include "engine/scale_down/started_deletions.h"
#include "engine/scale_down/unneeded.h"
#include "engine/scale_down/unremovable_nodes.h"

namespace ebb {

// What happens to a round if pods that lost their node find no room.
enum class DisplacedPods : uint8_t {
  kMustFit,     // No candidate is looked at.
  kBestEffort,  // As the autoscaler: the round goes on.
};

// Which plans are verified (verify.h).
enum class VerifyPlans : uint8_t {
  kAlways,          // For callers that show or store the plan.
  kBeforeDeletion,  // Those of which something starts; a round that only waits is cheaper.
};

struct ScaleDownOptions {
  PlannerOptions planner;
  DeletionOptions deletion;
  DeletionBudgets budgets;
  CooldownOptions cooldown;

  // The cluster is unhealthy, and left alone, with more unready nodes than both.
  int64_t ok_total_unready_count = 3;
  double max_total_unready_percentage = 45;
  // A node that is not ready and not older than this is taken to be starting.  It does not
  // count as unready.
  int64_t max_node_startup_time_s = 900;

  // A round whose time is further from the last round's waits (kClockJumped).  Longer
  // lets rounds be further apart; a wrong clock may be off by as much unnoticed.
  // 0: every time is believed, and one that runs backwards is held.
  int64_t clock_jump_max_s = 3600;

  // Changes of soft taints a round; 0: none ever.
  int64_t max_bulk_soft_taint_count = 10;
  // A node that carries a soft taint not older than this, in the first round of all,
  // is unneeded since the taint's time.  0: taints say nothing.
  int64_t node_deletion_candidate_ttl_s = 0;

  // An evicted pod that its owner has not replaced is put back for this long.
  // 0: never, as in the autoscaler.
  int64_t recent_eviction_ttl_s = 120;
  DisplacedPods displaced_pods = DisplacedPods::kMustFit;
  SkippedTimer skipped_timer = SkippedTimer::kKept;
  ReturnedNode returned_node = ReturnedNode::kStartsAnew;
  VerifyPlans verify = VerifyPlans::kBeforeDeletion;
  // Whether removable nodes bound a pass (limits.h).
  bool unneeded_limit = true;

  bool operator==(const ScaleDownOptions&) const = default;
};

enum class ScaleDownStatus : uint8_t {
  kNoCandidates,  // Nothing is unneeded.
  kInCooldown,
  kNoNodeDeleted,      // Some are unneeded, none may go yet.
  kThrottled,          // Some may go, and the budgets (budgets.h) admit none of them.
  kNodeDeleteStarted,  // result.start is not empty.
  kClusterUnhealthy,
  kNoRoomForPods,  // Of nodes in deletion, or recently evicted.
  kClockJumped,    // Nothing was looked at; the next round at about this time goes on.
  // The plan did not pass its verification, or the pass refused what the round gave it.
  kError,
};
// "ScaleDownInCooldown".
std::string_view ToString(ScaleDownStatus status);

struct RoundInput {
  int64_t now_s = 0;
  // Null: as the last round was told.
  const ActuationStatus* actuation = nullptr;
  std::span<const ScaleEvent> events = {};    // Since the last round.
  std::span<const EndedDeletion> ended = {};  // The same.
  // Null: every node whose group may shrink, in `order`.  Else these, as given.
  const std::vector<NodeId>* candidates = nullptr;
  // As PlanRequest::suggestions: where to look first for some pods.
  std::span<const Move> suggestions = {};
  CandidateOrder order = CandidateOrder::kAutoscaler;
  std::span<const PodId> pending = {};
  const Deadline* deadline = nullptr;
};

struct UnneededNode {
  NodeId node;
  int64_t since_s;
};

struct GroupCounts {
  int64_t nodes = 0;
  int64_t unneeded = 0;
  int64_t needed = 0;       // Every other node that is not being deleted.
  int64_t unremovable = 0;  // Judged, and kept for a reason.
  int64_t in_deletion = 0;
};

struct RoundResult {
  ScaleDownStatus status = ScaleDownStatus::kNoCandidates;
  std::string message;                      // What the status is about, for people; may be empty.
  std::optional<Cooldowns::Hold> cooldown;  // With kInCooldown: what holds deletions back.
  int64_t now_s = 0;                        // The time that counted.

  Plan plan;
  std::vector<UnneededNode> unneeded;  // In the order of plan.remove.
  NodesToDelete may_go;
  CroppedNodes start;  // To be deleted now.
  // Those of `start` that are no repetition (started_deletions.h), in its order.
  std::vector<NodeId> newly_started;
  SoftTaints soft_taints;
  std::vector<GroupCounts> groups;  // By GroupId.
  std::vector<NodeId> needed;       // Nodes of groups, neither unneeded nor being deleted.
  // Pods of nodes in deletion and pods put back after an eviction, and how many of them
  // found room.
  size_t displaced = 0;
  size_t displaced_placed = 0;

  // Of the candidates that passes did not come to (plan.skipped), by a deadline or the
  // unneeded limit: the one that has waited longest, and since its first skip how long.
  NodeId longest_skipped = kNoNode;
  int64_t longest_skipped_s = 0;
  // Of plan.keep.
  UnremovableNodes unremovable;
  // Input that was odd, a line each.
  std::vector<std::string> log;
};

class ScaleDown {
 public:
  explicit ScaleDown(ScaleDownOptions options);

  // The snapshot is afterwards as it was.  No fork of it may be open.  All snapshots share
  // one Symbols, that of the state that was restored, if any.
  absl::StatusOr<RoundResult> Round(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                    const RoundInput& input);

  // The state between two rounds.  `symbols`: of the snapshots to come.
  [[nodiscard]] ScaleDownState Save() const;
  void Restore(const ScaleDownState& state, const std::shared_ptr<Symbols>& symbols);

  [[nodiscard]] const ScaleDownOptions& options() const { return options_; }

 private:
  friend class RoundRun;

  struct Skipped {
    TextId node;  // Its name.
    int64_t since_s;
  };

  [[nodiscard]] absl::Status Check(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                   const RoundInput& input) const;

  ScaleDownOptions options_;
  // Of all rounds so far, and of the state that was restored; null: there are none.
  std::shared_ptr<Symbols> symbols_;
  Planner planner_;
  UnneededLimit limit_;
  UnneededTimers timers_;
  Cooldowns cooldowns_;
  ActuationStatus actuation_;
  StartedDeletions started_;
  std::vector<Skipped> skipped_;
  bool resume_ = false;
  int64_t rounds_ = 0;
  int64_t latest_s_ = 0;
  std::optional<int64_t> jump_s_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_ROUND_H_
