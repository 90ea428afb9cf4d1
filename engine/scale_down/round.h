// ScaleDown: the planner over time.  A loop calls Round repeatedly.
//
//   ScaleDown scale_down(options);
//   absl::StatusOr<RoundResult> result = scale_down.Round(snapshot, groups, input);
//   // Taint and delete result->start.  Then call again, with the status of these deletions.
//
// A round first updates the state to the newest snapshot: which nodes are unneeded and since when,
// which could not be removed, which are being deleted, which pods were evicted and not replaced
// yet, and when scale-ups, deletions and failures last happened.  Then it decides what may be
// deleted now, in this order:
//   1. If the cluster is unhealthy, all timers end and nothing is deleted.
//   2. Pods that have already lost their node get room; if they find none, no node is tried.
//   3. One planner pass, then timers, cooldowns, unneeded times and budgets.
//   4. The plan is verified before any deletion starts.
//
// Invariants: no node is both unneeded and in deletion.  A timer starts at the time of some round
// and does not move unless the clock is set back.  Deletions exceed the budgets by at most one
// atomic group.
//
// Time: no clock is read, and the time given to a round may be wrong.  A time that is far from that
// of the last round, in either direction, is accepted only when a second round has about the same
// time.  The first of these rounds waits and changes no timer.  When such a time is accepted, times
// of the state that lie after it are set to it (state_clock.h).  A time slightly before that of the
// last round is replaced by the last round's, and a line is logged.
//
// A node that returns as another machine (with another UID) starts with a new timer, unless the
// options say otherwise.
//
// Each round may have a new snapshot, but all snapshots must share one Symbols, because the state
// refers to names by its ids.
//
// Errors:    InvalidArgument for input that fails a check of check_input.h; then nothing has
//            changed.  Oddities of the cluster that are not errors of the call are lines of
//            RoundResult::log.  ScaleDownStatus::kError is a bug of ebb.
// Ownership: a round borrows its arguments until it returns.  The ids in a RoundResult are those of
//            the round's snapshot.
// Units:     seconds since the Unix epoch.
// Cost:      one planner pass, and O(nodes).  If deletions start, the verification costs about as
//            much as a pass without memory.
// Threads:   not thread-safe.
// Source:    cluster-autoscaler core/static_autoscaler.go scaleDown and core/scaledown/planner; the
//            parallel drain proposal where it is stricter.

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
#include "engine/plan/plan_changes.h"
#include "engine/scale_down/budgets.h"
#include "engine/scale_down/cooldown.h"
#include "engine/scale_down/deletion.h"
#include "engine/scale_down/scale_down_state.h"
#include "engine/scale_down/soft_taints.h"
#include "engine/scale_down/started_deletions.h"
#include "engine/scale_down/unneeded.h"
#include "engine/scale_down/unremovable_nodes.h"

namespace ebb {

// What a round does if pods that lost their node find no room.
enum class DisplacedPods : uint8_t {
  kMustFit,     // No candidate is tried.
  kBestEffort,  // The round continues, as in the autoscaler.
};

// Rounds that keep what they found.  The nodes that are unneeded are tried first, those that have
// been unneeded longest before the others, with the destinations that the last round found, and no
// pod is placed on them.  So a node leaves the unneeded nodes only if something has changed that
// concerns it, and its timer goes on.  Its timer also goes on while only a PodDisruptionBudget
// keeps it, and each round tries it again.  Has no effect on a round whose input has its own
// candidates. stable_planner.h has the same for single plans, and says why it is right.
struct StableRounds {
  bool on = false;
  // Each so many rounds, a pass in the autoscaler's order is made beside, and replaces the kept
  // nodes if it removes more than this share more nodes.
  double margin = 0.02;
  int64_t greedy_every = 60;  // 0: never.

  bool operator==(const StableRounds&) const = default;
};

// Which plans are verified (verify.h).
enum class VerifyPlans : uint8_t {
  kAlways,          // For callers that show or store the plan.
  kBeforeDeletion,  // Only plans that start a deletion; a round that only waits is cheaper.
};

struct ScaleDownOptions {
  PlannerOptions planner;
  DeletionOptions deletion;
  DeletionBudgets budgets;
  CooldownOptions cooldown;

  // The cluster is unhealthy, and nothing is deleted, if the number of nodes that are not ready
  // exceeds both limits.
  int64_t ok_total_unready_count = 3;
  double max_total_unready_percentage = 45;
  // A node that is not ready and younger than this counts as starting, not as unready.
  int64_t max_node_startup_time_s = 900;

  // A round waits (kClockJumped) if its time is further than this from that of the last round.  A
  // larger value allows longer pauses between rounds, but a clock that is wrong by less is not
  // noticed.  0: every time is accepted; a time before the last round's is replaced by it.  Not
  // tuned: an hour is far above the interval of rounds.
  int64_t clock_jump_max_s = 3600;

  // Changes of soft taints per round; 0: soft taints are never changed.
  int64_t max_bulk_soft_taint_count = 10;
  // In the very first round, a node with a soft taint at most this old counts as unneeded since the
  // taint's time.  0: taints are ignored.
  int64_t node_deletion_candidate_ttl_s = 0;

  // An evicted pod that its owner has not replaced is put back for this long.  0: never, as in the
  // autoscaler.
  int64_t recent_eviction_ttl_s = 120;
  DisplacedPods displaced_pods = DisplacedPods::kMustFit;
  SkippedTimer skipped_timer = SkippedTimer::kKept;
  ReturnedNode returned_node = ReturnedNode::kRestarts;
  VerifyPlans verify = VerifyPlans::kBeforeDeletion;
  // Whether the number of removable nodes limits a pass (limits.h).
  bool unneeded_limit = true;
  StableRounds stable;

  bool operator==(const ScaleDownOptions&) const = default;
};

enum class ScaleDownStatus : uint8_t {
  kNoCandidates,  // No node is unneeded.
  kInCooldown,
  kNoNodeDeleted,  // Some nodes are unneeded, but none may be deleted yet.
  kThrottled,      // Some nodes may be deleted, but the budgets (budgets.h) allow none of them now.
  kNodeDeleteStarted,  // result.start is not empty.
  kClusterUnhealthy,
  kNoRoomForPods,  // For pods of nodes in deletion or recently evicted pods.
  kClockJumped,    // Nothing was decided; the next round at about this time continues.
  // The plan failed its verification, or the pass rejected the input that the round gave it.
  kError,
};
// "ScaleDownInCooldown".
std::string_view ToString(ScaleDownStatus status);

struct RoundInput {
  int64_t now_s = 0;
  // Null: unchanged since the last round.
  const ActuationStatus* actuation = nullptr;
  std::span<const ScaleEvent> events = {};    // Since the last round.
  std::span<const EndedDeletion> ended = {};  // Deletions that ended since the last round.
  // Null: every node whose group may shrink, sorted by `order`.  Else these nodes, in this order.
  const std::vector<NodeId>* candidates = nullptr;
  // As PlanRequest::suggestions: the nodes to try first for some pods.
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
  int64_t needed = 0;       // Neither unneeded nor in deletion.
  int64_t unremovable = 0;  // Judged and kept for a reason.
  int64_t in_deletion = 0;
};

struct RoundResult {
  ScaleDownStatus status = ScaleDownStatus::kNoCandidates;
  std::string message;  // A detail of the status, for users; may be empty.
  // With kInCooldown: the event that holds deletions back.
  std::optional<Cooldowns::Hold> cooldown;
  int64_t now_s = 0;  // The time that the round used.

  Plan plan;
  std::vector<UnneededNode> unneeded;  // In the order of plan.remove.
  // Nodes that may be deleted, whatever the budgets.
  NodesToDelete may_go;
  CroppedNodes start;  // Deletions to start now.
  // The nodes of `start` that no earlier round has started (started_deletions.h), in its order.
  std::vector<NodeId> newly_started;
  SoftTaints soft_taints;
  std::vector<GroupCounts> groups;  // By GroupId.
  std::vector<NodeId> needed;       // Nodes of groups that are neither unneeded nor in deletion.
  // The number of displaced pods, and how many of them found room.  Displaced pods are those of
  // nodes in deletion and those put back after an eviction (displaced.h).
  size_t displaced = 0;
  size_t displaced_placed = 0;

  // The candidate that has waited longest among those that the pass did not reach (plan.skipped)
  // because of a deadline or the unneeded limit, and the time since it was first skipped.
  NodeId longest_skipped = kNoNode;
  int64_t longest_skipped_s = 0;
  // A summary of plan.keep.
  UnremovableNodes unremovable;
  // How many nodes have lost their timer, although they are still in the cluster and are not being
  // deleted.
  size_t timers_lost = 0;
  // With StableRounds: the nodes that became unneeded (`removes`), in the order of the plan, then
  // those that are needed again, in the order of their names.
  std::vector<PlanChange> changes;
  // With StableRounds: how many nodes the pass in the autoscaler's order removes, if one was made
  // beside; and whether its plan replaced the kept one.
  std::optional<size_t> greedy_removes;
  bool took_greedy = false;
  // Oddities of the input, one line each.
  std::vector<std::string> log;
};

class ScaleDown {
 public:
  explicit ScaleDown(ScaleDownOptions options);

  // The snapshot is unchanged when this returns; it must have no open fork.  All snapshots share
  // one Symbols; after Restore it is the one given there.
  absl::StatusOr<RoundResult> Round(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                    const RoundInput& input);

  // The state between two rounds.  `symbols`: shared by all later snapshots.
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
  // Shared by all rounds so far and by the restored state; null: no round and no Restore yet.
  std::shared_ptr<Symbols> symbols_;
  Planner planner_;
  UnneededLimit limit_;
  UnneededTimers timers_;
  // With StableRounds: of the last round.  Not saved: after a restart the first round does not say
  // why a node was kept before.
  KeptReasons kept_;
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
