#include "engine/pass/planner.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "engine/pass/hints.h"
#include "engine/pass/pass_fork.h"
#include "engine/pass/pending_holds.h"
#include "engine/pass/placement.h"
#include "engine/pass/settled_pass.h"
#include "engine/pass/workloads.h"
#include "engine/plan/check_input.h"
#include "engine/plan/eligibility.h"
#include "engine/plan/headroom.h"
#include "engine/plan/karpenter.h"
#include "engine/plan/node_standing.h"

// How a pass works, and what it may remember.
//
// A pass is greedy: it tries the candidates in order, and each removal stays.  PassRun is one pass:
//
//   PackPending      pending pods take the room that they will need
//   FindEligible     which candidates may be removed at all; asked before any node is removed
//   TryStanding      candidates that the caller expects to go (PassInput::standing)
//   TryInOrder       for each of the others: GetPodsToMove, then a RemovalAttempt in which
//                    Placement looks for nodes; all pods placed: Remove, else Keep
//
// PassRun changes the snapshot only through its PassFork (pass_fork.h), which restores it when
// PassRun is destroyed.  Three other things follow each removal: the budgets left (pdbs_), the
// evictions left to each workload (shares_) and the open destinations.  They are charged in Remove,
// that is once for each removed node, after its attempt was committed.  So at every point of a
// pass, the forked snapshot and the budgets are what remains after plan_.remove was carried out so
// far.  Later candidates must be judged against exactly that.
//
// PassMemory is what passes share.  Only three parts can change an answer, and they are what Save
// writes:
//   - the hints of pods that moved, and of pending pods: which node is tried first;
//   - the pointer of the scan: where a search begins;
//   - the unremovable cache: candidates that are not tried again before some time.
// The rest saves work and cannot change an answer: the static verdicts of the scan and the
// DrainRules, which are dropped when the catalog changes, and the settled pass.
//
// A settled pass (settled_pass.h) is one that has set every hint to the same node again and left
// the pointer where it was.  A pass is a function of the snapshot, the input, the groups, the time
// and the memory.  So if these are the same again, the next pass would give the same plan.  Pass
// then returns that plan without a PassRun; it renews the entries of the unremovable cache, as the
// pass would have done.  A pass with a deadline never settles, because the deadline may cut the
// next pass at another candidate.  A pass that stopped because pending pods found no room does not
// settle either.
//
// Standing candidates.  Most of a pass that repeats another one is spent on placing pods where they
// were placed before.  If a pod needs only room (PodScan::NeedsOnlyRoom), no filter looks for it,
// so its room can be taken before its node is tried, without an attempt.  TryStanding does that for
// all pods that have a hint, and then removes the nodes in order, with an attempt for the other
// pods. Less is free meanwhile than if the nodes went one after the other, so what fits then fits
// too.  If the attempt fails, the room is given back.  Such a pod becomes a guest of its new node
// only if that node is tried later (NoteGuests).  Many nodes that are tried later cannot go,
// because one of their own pods finds no room anywhere.  IsKeptByOwnPods answers that without an
// attempt.
//
// Cost: nearly linear in the pods that move.  The pods of a node lie anywhere in the catalog, so a
// pass would often wait for memory.  Therefore Prefetch loads what the next node needs while the
// current one is judged.  If there are many shapes or topology tables, the way from a pod to its
// counts takes four dependent loads: its shape's id, the row of the shape, the table, the counts.
// If the row is not filled yet, the shape and its lists of requests and tables come before it.
// PrefetchByShapes makes one of these loads for each of the next nodes, so that none has to wait
// for the one before.

namespace ebb {

namespace {

// The memory that passes share.
struct PassMemory {
  // Of all passes so far and of the restored memory; null: no pass and no Restore yet.  The first
  // member, so that it is destroyed last: other members hold texts of it.
  std::shared_ptr<const Symbols> symbols;

  Hints hints;
  Hints pending_hints;
  PassForkMemory fork;
  // By name: nodes that could not be removed, when to try them again, and why.
  struct Unremovable {
    int64_t until_s = 0;
    PastVerdict why;
    HeldText pod_name;  // Keeps why.pod_name alive, since the pod may go.
  };
  absl::flat_hash_map<TextId, Unremovable> unremovable;

  // The drainability verdicts on the shapes of one catalog.  Between passes it refers to the
  // budgets of the last pass; RulesFor replaces them by those of the new pass.
  std::shared_ptr<const Catalog> rules_catalog;
  uint64_t rules_revision = 0;
  std::optional<DrainRules> rules;

  // The last pass, if it left the memory as it was.
  std::optional<SettledPass> settled;
  uint64_t repeated = 0;

  void ForgetExpired(const ClusterSnapshot& snapshot, int64_t now_s);
  // Null: the node could be removed, or has not been tried recently.
  [[nodiscard]] const Unremovable* RecentlyUnremovable(const Catalog& catalog, NodeId node) const {
    if (unremovable.empty()) return nullptr;
    const auto it = unremovable.find(catalog.node(node).name);
    return it == unremovable.end() ? nullptr : &it->second;
  }
  // Notes that the node could not be removed, and why.
  void Note(const Catalog& catalog, NodeId node, const PastVerdict& why, int64_t now_s,
            const PlannerOptions& options) {
    // The next pass would drop the entry before it reads it.
    if (options.unremovable_node_recheck_timeout_s <= 0) return;
    Unremovable& noted = unremovable[catalog.node(node).name];
    noted.until_s = now_s + options.unremovable_node_recheck_timeout_s;
    if (noted.why == why) return;
    noted.why = why;
    noted.pod_name = HeldText(*catalog.shared_symbols(), why.pod_name);
  }
  DrainRules& RulesFor(std::shared_ptr<const Catalog> catalog, const DrainOptions& options,
                       const PdbTracker& pdbs, int64_t now_s);
};

// Drops entries that have expired and nodes that have left the cluster.
void PassMemory::ForgetExpired(const ClusterSnapshot& snapshot, int64_t now_s) {
  absl::erase_if(unremovable, [&](const auto& entry) {
    const NodeId node = snapshot.catalog().FindNode(entry.first);
    return entry.second.until_s <= now_s || node == kNoNode || !snapshot.Contains(node);
  });
}

DrainRules& PassMemory::RulesFor(std::shared_ptr<const Catalog> catalog,
                                 const DrainOptions& options, const PdbTracker& pdbs,
                                 int64_t now_s) {
  if (rules.has_value() && rules_catalog == catalog && rules_revision == catalog->revision()) {
    rules->Renew(pdbs, now_s);
  } else {
    rules_catalog = std::move(catalog);
    rules_revision = rules_catalog->revision();
    rules.emplace(*rules_catalog, options, pdbs, now_s);
  }
  return *rules;
}

// The result of a pass.
struct PassOutcome {
  Plan plan;
  // The number of nodes at the start of plan.keep that eligibility ruled out.
  size_t ineligible = 0;
  std::vector<bool> recently_unremovable;  // By place among the candidates.
};

// One pass: the variables that its steps share.  When it is destroyed the snapshot is as it was.
class PassRun {
 public:
  PassRun(ClusterSnapshot& snapshot, const NodeGroups& groups, const PlannerOptions& options,
          const PassInput& input, PassMemory& memory)
      : fork_(snapshot, memory.fork),
        snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        groups_(groups),
        options_(options),
        input_(input),
        memory_(memory),
        destinations_(input.destinations != nullptr ? *input.destinations : snapshot.alive()),
        some_absent_(EraseAbsent(catalog_, groups, input.now_s, destinations_)),
        some_closed_(EraseClosed(catalog_, groups, input.now_s, destinations_)),
        pdbs_(catalog_),
        holds_(snapshot, input.pending),
        shares_(snapshot, input.max_workload_share),
        node_pools_(snapshot, groups, input.in_deletion, input.now_s),
        rules_(memory.RulesFor(snapshot.shared_catalog(), options.drain, pdbs_, input.now_s)),
        placement_(fork_, memory.hints, input.pod_order),
        pending_placement_(fork_, memory.pending_hints, input.pod_order) {
    for (const NodeId node : input.in_deletion) destinations_.Erase(node);
  }

  PassOutcome Run() {
    plan_.utilization.resize(catalog_.nodes());
    pdbs_.RemovePods(input_.evicting);
    if (PackPending()) {
      headroom_.emplace(snapshot_, groups_, options_.headroom, input_.in_deletion);
      const std::vector<NodeId> eligible = FindEligible();
      const size_t stand = MayStand() ? eligible_standing_ : 0;
      TryStanding(std::span(eligible).first(stand));
      TryInOrder(std::span(eligible).subspan(stand));
    } else {
      plan_.termination = Termination::kNoRoomForPending;
    }
    for (uint32_t p = 0; p < catalog_.pdbs().size(); ++p) {
      plan_.pdb_remaining.push_back(pdbs_.remaining(PdbId{p}));
    }
    EBB_DCHECK(IsWhole() && RemovedNodesAreEmpty() && BudgetsAreSpentByMoves());
    return {.plan = std::move(plan_),
            .ineligible = ineligible_,
            .recently_unremovable = std::move(recently_unremovable_)};
  }

 private:
  // A standing candidate that the rules let go.
  struct Standing {
    NodeId node;
    size_t moved = 0;  // In taken_: the pods that go to the node of their hint.
    size_t moved_end = 0;
    size_t rest = 0;  // In rest_: the other pods that must be moved.
    size_t rest_end = 0;
    std::vector<PodId> daemonset;
    std::vector<PodId> on_completion;
    bool has_budgets = false;  // A budget matches some pod.
    [[nodiscard]] size_t Moved() const { return moved_end - moved; }
    [[nodiscard]] size_t Rest() const { return rest_end - rest; }
  };
  enum ShapeFact : uint8_t { kKnownShape = 1, kOnlyRoom = 2, kHasBudgets = 4 };

  // Places pending pods, which take the room that they will need before any node is removed.  They
  // may use every node that takes part and is not in deletion, not only the destinations.  Returns
  // false if a pod that must fit does not fit.
  bool PackPending() {
    bool all_fit = true;
    if (!input_.pending.empty()) {
      const bool some_in_deletion = !input_.in_deletion.empty();
      if (some_absent_ || some_closed_ || some_in_deletion || input_.destinations != nullptr) {
        NodeSet open = snapshot_.alive();
        const bool some_absent = EraseAbsent(catalog_, groups_, input_.now_s, open);
        for (const NodeId node : input_.in_deletion) open.Erase(node);
        if (some_absent || some_in_deletion) fork_.SetDestinations(open);
      }
      pending_placement_.TryPlace(input_.pending, OnFailure::kGoOn, /*deadline=*/nullptr);
      plan_.packed = fork_.moves();
      if (groups_.SomeFollowKarpenter()) {
        for (const Move& move : plan_.packed) packed_.insert(move.pod);
      }
      for (const PodId pod : input_.pending.first(input_.must_fit)) {
        all_fit = all_fit && snapshot_.NodeOf(pod) != kNoNode;
      }
    }
    fork_.SetDestinations(destinations_);
    return all_fit;
  }

  std::vector<NodeId> FindEligible() {
    NodeSet to_visit(catalog_.nodes());  // Nodes whose utilization must be computed pod by pod.
    const auto visit_node_of = [&](PodId pod) {
      const NodeId node = snapshot_.NodeOf(pod);
      if (node != kNoNode) to_visit.Insert(node);
    };
    for (const auto& [pod, time] : catalog_.deletion_times()) visit_node_of(pod);
    for (const PodId pod : catalog_.pods_counted_otherwise()) visit_node_of(pod);
    std::vector<NodeId> eligible;
    eligible.reserve(input_.candidates.size());
    plan_.remove.reserve(input_.candidates.size());
    plan_.keep.reserve(input_.candidates.size());
    for (size_t c = 0; c < input_.candidates.size(); ++c) {
      const NodeId node = input_.candidates[c];
      const PassMemory::Unremovable* const before = memory_.RecentlyUnremovable(catalog_, node);
      recently_unremovable_.push_back(before != nullptr);
      const Eligibility verdict =
          JudgeEligibility(snapshot_, groups_, node, options_, before != nullptr,
                           !to_visit.Contains(node), input_.now_s);
      plan_.utilization[Index(node)] = verdict.utilization;
      if (const PodId holder = holds_.HolderOf(node);
          verdict.reason == UnremovableReason::kNoReason && holder != kNoPod) {
        plan_.keep.push_back({.node = node,
                              .reason = UnremovableReason::kBlockedByPod,
                              .pod = holder,
                              .blocking_reason = BlockingPodReason::kPendingPodNotUnderstood,
                              .pdb = {}});
      } else if (verdict.reason == UnremovableReason::kNoReason) {
        eligible.push_back(node);
        if (c < input_.standing) ++eligible_standing_;
      } else {
        UnremovableNode& kept = plan_.keep.emplace_back();
        kept.node = node;
        kept.reason = verdict.reason;
        if (before != nullptr && verdict.reason == UnremovableReason::kRecentlyUnremovable) {
          kept.before = before->why;
        }
      }
    }
    ineligible_ = plan_.keep.size();
    return eligible;
  }

  // Whether all candidates are judged, without limits that depend on how many were judged before.
  [[nodiscard]] bool MayStand() const {
    return input_.deadline == nullptr && input_.max_workload_share == 1 &&
           input_.pod_order == PodOrder::kByPriority &&
           input_.unneeded_limit == std::numeric_limits<size_t>::max() &&
           !groups_.SomeFollowKarpenter();
  }

  void TryStanding(std::span<const NodeId> nodes) {
    if (nodes.empty()) return;
    facts_.assign(catalog_.pod_shapes(), 0);
    asked_by_.assign(catalog_.pod_shapes(), kNoNode);
    standing_.reserve(nodes.size());
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (n + 1 < nodes.size()) Prefetch(nodes[n + 1]);
      TakeRoomFor(nodes[n]);
    }
    for (const Standing& standing : standing_) RemoveStanding(standing);
    guests_are_noted_ = false;
    judged_ += nodes.size();
  }

  // What a pass reads of a shape for standing candidates.
  uint8_t FactsOf(PodShapeId shape) {
    uint8_t& facts = facts_[Index(shape)];
    if (facts == 0) {
      facts = kKnownShape;
      if (fork_.scan().NeedsOnlyRoom(shape)) facts |= kOnlyRoom;
      if (!catalog_.shape(shape).budgets.empty()) facts |= kHasBudgets;
    }
    return facts;
  }

  // Takes the room for the node's pods that go to the node of their hint.
  void TakeRoomFor(NodeId node) {
    EBB_DCHECK(!destinations_.Contains(node));
    rules_.GetPodsToMove(snapshot_.PodsOn(node), pods_, groups_.ManagerOf(node));
    if (pods_.blocked()) return KeepBlocked(node);
    Standing standing{.node = node,
                      .moved = taken_.size(),
                      .rest = rest_.size(),
                      .daemonset = pods_.daemonset,
                      .on_completion = pods_.on_completion};
    for (const PodId pod : pods_.move) {
      const PodShapeId shape = catalog_.shape_id(pod);
      const uint8_t facts = FactsOf(shape);
      standing.has_budgets |= (facts & kHasBudgets) != 0;
      if ((facts & kOnlyRoom) == 0 || !TakeRoomByHint(pod, shape)) rest_.push_back(pod);
    }
    standing.moved_end = taken_.size();
    standing.rest_end = rest_.size();
    standing_.push_back(std::move(standing));
  }

  bool TakeRoomByHint(PodId pod, PodShapeId shape) {
    const NodeId to = memory_.hints.Get(pod);
    if (to == kNoNode || !fork_.scan().IsOpen(to)) return false;
    fork_.BeginRun(shape);
    if (!fork_.scan().Fits(to)) return false;
    fork_.TakeRoom(to);
    memory_.hints.Set(pod, to);
    taken_.push_back({pod, to});
    return true;
  }

  void RemoveStanding(const Standing& standing) {
    const NodeId node = standing.node;
    const auto taken = std::span(taken_).subspan(standing.moved, standing.Moved());
    const auto rest = std::span(rest_).subspan(standing.rest, standing.Rest());
    if (standing.has_budgets) {  // The removals before may have used them up.
      rules_.GetPodsToMove(snapshot_.PodsOn(node), pods_, groups_.ManagerOf(node));
      if (pods_.blocked()) {
        fork_.GiveRoom(taken);
        return KeepBlocked(node);
      }
    }
    PodId failed = kNoPod;
    {
      RemovalAttempt attempt(fork_, node);
      if (!rest.empty()) {
        failed =
            placement_.TryPlace(rest, OnFailure::kStopGroup, /*deadline=*/nullptr).first_failed;
      }
      if (failed == kNoPod) attempt.Commit();
    }
    if (failed != kNoPod) {
      fork_.GiveRoom(taken);
      return KeepWithoutPlace(node, failed);
    }
    RemovableNode& removal = Removed(node);
    removal.moves.reserve(taken.size() + rest.size());
    removal.moves.assign(taken.begin(), taken.end());
    removal.moves.insert(removal.moves.end(), fork_.moves().begin(), fork_.moves().end());
    SortByPriority(removal.moves);
    removal.daemonset = standing.daemonset;
    removal.on_completion = standing.on_completion;
    if (standing.has_budgets) {
      removal.risky = !pdbs_.CanRemovePods(pods_.move).in_parallel;
      pdbs_.RemovePods(pods_.move);
    }
    gone_.push_back(&standing);
  }

  // As Placement orders them.
  void SortByPriority(std::vector<Move>& moves) {
    const auto priority_of = [&](const Move& move) {
      return fork_.scan().RowOf(catalog_.shape_id(move.pod)).priority;
    };
    if (std::ranges::is_sorted(moves, std::greater(), priority_of)) return;
    std::ranges::stable_sort(moves, std::greater(), priority_of);
  }

  // Pods of standing candidates become guests of their new nodes.
  void NoteGuests() {
    if (std::exchange(guests_are_noted_, true)) return;
    for (const Standing* const standing : gone_) {
      for (const auto& [pod, to] : std::span(taken_).subspan(standing->moved, standing->Moved())) {
        fork_.NoteGuest(pod, to);
      }
    }
  }

  // In a pass with standing candidates: keeps the node if the rules keep one of its own pods there,
  // or if one of them finds no room on any other node.  Otherwise returns false.
  bool IsKeptByOwnPods(NodeId node) {
    if (standing_.empty()) return false;
    rules_.GetPodsToMove(snapshot_.PodsOn(node), pods_, groups_.ManagerOf(node));
    if (pods_.blocked()) {
      KeepBlocked(node);
      return true;
    }
    for (const PodId pod : pods_.move) {
      const PodShapeId shape = catalog_.shape_id(pod);
      if (std::exchange(asked_by_[Index(shape)], node) == node) continue;
      if ((FactsOf(shape) & kOnlyRoom) == 0) continue;
      fork_.BeginRun(shape);
      if (!fork_.scan().HasNoPlaceBut(node)) continue;
      KeepWithoutPlace(node, pod);
      return true;
    }
    return false;
  }

  void TryInOrder(std::span<const NodeId> eligible) {
    size_t next = 0;
    for (; next < eligible.size(); ++next) {
      if (may_stop() && TimeIsUp()) {
        plan_.termination = Termination::kDeadline;
        break;
      }
      if (counted_removable_ >= input_.unneeded_limit) {
        plan_.termination = Termination::kLimit;
        break;
      }
      if (looks_far_ahead_) {
        PrefetchByShapes(eligible.subspan(next));
      } else if (next + 1 < eligible.size()) {
        Prefetch(eligible[next + 1]);
      }
      if (!TryRemoval(eligible[next])) {
        plan_.termination = Termination::kDeadline;
        break;
      }
      ++judged_;
    }
    plan_.skipped.assign(eligible.begin() + next, eligible.end());
  }

  // Loads what the pods of the node need, which lies anywhere in memory, while the node before it
  // is judged.
  void Prefetch(NodeId node) const {
    // Ids of pods in a cache line of 64 bytes.
    constexpr size_t kPodsPerLine = 16;
    size_t line = ~size_t{0};
    for (const PodId pod : snapshot_.PodsOn(node)) {
      // Ids of neighbouring pods are mostly consecutive.
      if (Index(pod) / kPodsPerLine == line) continue;
      line = Index(pod) / kPodsPerLine;
      snapshot_.Prefetch(pod);
      memory_.hints.Prefetch(pod);
    }
    fork_.ForEachGuest(node, [this](PodId pod) {
      catalog_.PrefetchShapeId(pod);
      memory_.hints.Prefetch(pod);
    });
  }

  // Loads in addition what many shapes and topology tables need.  `nodes`: the node that is judged
  // now, and the nodes after it.
  void PrefetchByShapes(std::span<const NodeId> nodes) {
    std::rotate(coming_.begin(), coming_.begin() + 1, coming_.end());
    const auto& [one, two, three, four] = coming_;
    const TopologyCounts& topology = snapshot_.topology();
    PodScan& scan = fork_.scan();
    for (const PodShapeId shape : one) {
      for (const TableId table : scan.FeedsOf(shape)) topology.PrefetchCounts(table);
    }
    for (const PodShapeId shape : two) {
      if (!scan.HasRow(shape)) PrefetchLists(shape);
    }
    for (const PodShapeId shape : three) {
      if (!scan.HasRow(shape)) {
        PrefetchShape(shape);
        continue;
      }
      for (const TableId table : scan.FeedsOf(shape)) topology.Prefetch(table);
    }
    ListShapes(nodes.size() > kAhead ? nodes[kAhead] : kNoNode, coming_.back());
    for (const PodShapeId shape : four) scan.Prefetch(shape);
    if (nodes.size() > kAhead + 1) Prefetch(nodes[kAhead + 1]);
  }

  // Loads a PodShape.  The scan reads the whole shape once, for its first pod.
  void PrefetchShape(PodShapeId id) const {
    constexpr size_t kLine = 64;
    const auto* const shape = reinterpret_cast<const char*>(&catalog_.shape(id));
    for (size_t at = 0; at < sizeof(PodShape); at += kLine) __builtin_prefetch(shape + at);
  }

  // Loads the lists of a PodShape that its row is filled from.  The shape is loaded.
  void PrefetchLists(PodShapeId id) const {
    const PodShape& shape = catalog_.shape(id);
    __builtin_prefetch(shape.fit_requests.data());
    __builtin_prefetch(shape.charge_requests.data());
    __builtin_prefetch(shape.feeds.data());
  }

  void ListShapes(NodeId node, std::vector<PodShapeId>& shapes) const {
    shapes.clear();
    if (node == kNoNode) return;
    const auto list = [&](PodId pod) { shapes.push_back(catalog_.shape_id(pod)); };
    std::ranges::for_each(snapshot_.PodsOn(node), list);
    fork_.ForEachGuest(node, list);
  }

  // Returns false if time ran out before there was an answer.
  bool TryRemoval(NodeId node) {
    EBB_DCHECK(snapshot_.Contains(node));  // A candidate is listed only once.
    if (IsKeptByOwnPods(node)) return true;
    NoteGuests();
    rules_.GetPodsToMove(fork_.PodsOn(node), pods_, groups_.ManagerOf(node));
    if (pods_.blocked()) {
      KeepBlocked(node);
      return true;
    }
    if (const UnremovableReason why = WhyNodePoolKeeps(node); why != UnremovableReason::kNoReason) {
      // Not for long: budgets recover, and windows of time end.
      plan_.keep.push_back({.node = node, .reason = why, .pdb = {}});
      return true;
    }
    if (const PodId pod = shares_.FirstTooMany(pods_.move); pod != kNoPod) {
      Keep({.node = node,
            .reason = UnremovableReason::kBlockedByPod,
            .pod = pod,
            .blocking_reason = BlockingPodReason::kWorkloadShareReached,
            .pdb = {}});
      return true;
    }
    const HeadroomTracker::Amounts free = HeadroomTracker::FreeOn(snapshot_, node);
    RemovalAttempt attempt(fork_, node);
    const Placement::Result placed = placement_.TryPlace(pods_.move, OnFailure::kStopGroup,
                                                         may_stop() ? input_.deadline : nullptr);
    if (fork_.moves().size() == pods_.move.size()) {
      if (!headroom_->Allows(node, free, fork_.moves())) {
        Keep({.node = node, .reason = UnremovableReason::kHeadroomReached, .pdb = {}});
        return true;
      }
      headroom_->Remove(node, free, fork_.moves());
      attempt.Commit();
      Remove(node);
      return true;
    }
    if (placed.gave_up) return false;
    KeepWithoutPlace(node, placed.first_failed);
    return true;
  }

  // Whether the node's NodePool keeps it, now that these pods would move.
  [[nodiscard]] UnremovableReason WhyNodePoolKeeps(NodeId node) const {
    using enum UnremovableReason;
    if (!groups_.FollowsKarpenter(node)) return kNoReason;
    const auto why_for = [&](DisruptionReason reason) {
      const UnremovableReason why =
          WhyNotConsolidatable(catalog_, node, reason, input_.now_s, groups_.ebb_consolidates);
      if (why != kNoReason || node_pools_.Allows(node, reason)) return why;
      return reason == DisruptionReason::kEmpty ? kEmptyBudgetReached : kUnderutilizedBudgetReached;
    };
    // Guests of an empty node, such as a pending pod for which room is kept, are not there yet:
    // to Karpenter the node is empty now, and is not when they have come.
    const DisruptionReason later = DisruptionReasonFor(catalog_, pods_.move);
    const DisruptionReason now = DisruptionReasonFor(catalog_, OwnPodsToMove(node));
    const UnremovableReason why = why_for(now);
    return why != kNoReason || now == later ? why : why_for(later);
  }

  // The pods to move that run on the node already: without guests, and without those that room was
  // kept for before the first removal.
  [[nodiscard]] std::vector<PodId> OwnPodsToMove(NodeId node) const {
    std::vector<PodId> own = pods_.move;
    fork_.ForEachGuest(node, [&](PodId pod) { std::erase(own, pod); });
    std::erase_if(own, [&](PodId pod) { return packed_.contains(pod); });
    return own;
  }

  // Records that the node is removed.
  void Remove(NodeId node) {
    if (groups_.FollowsKarpenter(node)) node_pools_.Remove(node);
    const PdbTracker::Verdict budgets = pdbs_.CanRemovePods(pods_.move);
    pdbs_.RemovePods(pods_.move);
    shares_.Evict(pods_.move);
    RemovableNode& removal = Removed(node);
    removal.moves = fork_.moves();
    removal.daemonset = pods_.daemonset;
    removal.on_completion = pods_.on_completion;
    removal.risky = !budgets.in_parallel;
  }

  RemovableNode& Removed(NodeId node) {
    destinations_.Erase(node);
    const NodeGroup* group = groups_.Find(node);
    if (group == nullptr || !group->atomic) ++counted_removable_;
    RemovableNode& removal = plan_.remove.emplace_back();
    removal.node = node;
    return removal;
  }

  void KeepBlocked(NodeId node) {
    Keep({.node = node,
          .reason = UnremovableReason::kBlockedByPod,
          .pod = pods_.blocking_pod,
          .blocking_reason = pods_.reason,
          .pdb = pods_.pdb});
  }

  void KeepWithoutPlace(NodeId node, PodId pod) {
    Keep({.node = node, .reason = UnremovableReason::kNoPlaceToMovePods, .pod = pod, .pdb = {}});
  }

  void Keep(UnremovableNode node) {
    if (options_.unremovable_node_recheck_timeout_s > 0) {
      memory_.Note(catalog_, node.node, VerdictOf(catalog_, node), input_.now_s, options_);
    }
    plan_.keep.push_back(node);
  }

  // The following assert what a finished plan promises.  Verify (engine/verify) replays the plan
  // and asserts the last two by code of its own.

  // Whether each candidate has one answer, unless the pass has stopped before the first.
  [[nodiscard]] bool IsWhole() const {
    return plan_.termination == Termination::kNoRoomForPending ||
           plan_.remove.size() + plan_.keep.size() + plan_.skipped.size() ==
               input_.candidates.size();
  }
  // Whether no removed node is left, and each pod that moved ended on a node that is.
  [[nodiscard]] bool RemovedNodesAreEmpty() const {
    absl::flat_hash_map<PodId, NodeId> last;
    for (const RemovableNode& removed : plan_.remove) {
      if (snapshot_.Contains(removed.node) || !snapshot_.PodsOn(removed.node).empty()) return false;
      for (const Move& move : removed.moves) last[move.pod] = move.to;
    }
    return std::ranges::all_of(
        last, [this](const auto& entry) { return snapshot_.Contains(entry.second); });
  }
  // Whether the moves and the pods being evicted spent what the budgets lack now.
  [[nodiscard]] bool BudgetsAreSpentByMoves() const {
    std::vector<int32_t> left;
    for (const Pdb& pdb : catalog_.pdbs()) left.push_back(pdb.disruptions_allowed);
    const auto spend = [&](PodId pod) {
      for (const PdbId pdb : catalog_.ChargedBudgets(pod)) --left[Index(pdb)];
    };
    std::ranges::for_each(input_.evicting, spend);
    for (const RemovableNode& removed : plan_.remove) {
      for (const Move& move : removed.moves) spend(move.pod);
    }
    return left == plan_.pdb_remaining;
  }

  [[nodiscard]] bool may_stop() const {
    return input_.deadline != nullptr && judged_ >= options_.min_nodes_per_pass;
  }
  [[nodiscard]] bool TimeIsUp() const { return input_.deadline->Expired(); }

  PassFork fork_;
  const ClusterSnapshot& snapshot_;  // The snapshot of fork_.
  const Catalog& catalog_;
  const NodeGroups& groups_;
  const PlannerOptions& options_;
  const PassInput& input_;
  PassMemory& memory_;

  NodeSet destinations_;
  bool some_absent_;  // Some destinations were leaving or starting and have been removed.
  bool some_closed_;  // Some were under Karpenter's consolidateAfter.
  PdbTracker pdbs_;
  const PendingHolds holds_;
  WorkloadShares shares_;
  NodePoolBudgets node_pools_;
  std::optional<HeadroomTracker> headroom_;  // Made after pending pods took their room.
  DrainRules& rules_;
  Placement placement_;
  Placement pending_placement_;
  Plan plan_;
  absl::flat_hash_set<PodId> packed_;  // As plan_.packed, if some nodes follow Karpenter's rules.
  size_t judged_ = 0;
  size_t counted_removable_ = 0;  // Not counting nodes of atomic groups.
  // The number of nodes at the start of plan_.keep that eligibility ruled out.
  size_t ineligible_ = 0;
  std::vector<bool> recently_unremovable_;

  PodsToMove pods_;  // Of the current candidate; reused.

  // --- Standing candidates
  size_t eligible_standing_ = 0;
  std::vector<Standing> standing_;
  std::vector<const Standing*> gone_;  // Those that were removed.
  std::vector<Move> taken_;
  std::vector<PodId> rest_;
  std::vector<uint8_t> facts_;    // By PodShapeId: bits of ShapeFact; 0: not filled yet.
  std::vector<NodeId> asked_by_;  // By PodShapeId: the node for which IsKeptByOwnPods last asked.
  bool guests_are_noted_ = true;

  // Up to this many tables stay in the cache without being loaded ahead: loading fewer ahead took
  // 5% more instructions and no less time (docs/performance.md, "Tried and dropped").
  static constexpr size_t kTablesInCache = 4000;
  // The same for shapes.  Not tuned: as many as fit in half a megabyte.
  static constexpr size_t kShapesInCache = 768;
  const bool looks_far_ahead_ = catalog_.tables().size() > kTablesInCache ||
                                catalog_.pod_shapes() > kShapesInCache;
  // For PrefetchByShapes: the shapes of the pods on each of the next nodes.  One node for each of
  // its dependent loads but the first, so not a number to tune.
  static constexpr size_t kAhead = 4;
  std::array<std::vector<PodShapeId>, kAhead> coming_;
};

}  // namespace

struct Planner::Memory : PassMemory {};

Planner::Planner(PlannerOptions options) : options_(options), memory_(std::make_unique<Memory>()) {}

Planner::~Planner() = default;

absl::StatusOr<Plan> Planner::Pass(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                   const PassInput& input) {
  const Catalog& catalog = snapshot.catalog();
  Memory& memory = *memory_;
  if (absl::Status s = CheckSnapshot(snapshot, memory.symbols.get()); !s.ok()) return s;
  const uint64_t state = snapshot.StateId();
  // An input that was asked before was checked then.
  const bool asked_before = memory.settled && memory.settled->HasSameInput(state, groups, input);
  if (!asked_before) {
    if (absl::Status s = CheckOptions(options_); !s.ok()) return s;
    if (absl::Status s = CheckGroups(catalog, groups); !s.ok()) return s;
    if (absl::Status s = CheckPassInput(snapshot, input); !s.ok()) return s;
  }
  memory.symbols = catalog.shared_symbols();
  memory.ForgetExpired(snapshot, input.now_s);
  const auto is_recent = [&](NodeId node) {
    return memory.RecentlyUnremovable(catalog, node) != nullptr;
  };
  if (asked_before && memory.settled->SameAreRecent(is_recent)) {
    ++memory.repeated;
    const Plan& plan = memory.settled->plan();
    const std::span<const PastVerdict> verdicts = memory.settled->verdicts();
    for (size_t k = 0; k < verdicts.size(); ++k) {
      const NodeId node = plan.keep[memory.settled->ineligible() + k].node;
      memory.Note(catalog, node, verdicts[k], input.now_s, options_);
    }
    return plan;
  }
  memory.settled.reset();
  memory.hints.Attach(snapshot.shared_catalog());
  memory.pending_hints.Attach(snapshot.shared_catalog());
  const uint64_t pointer = memory.fork.pointer();
  // Compared in debug builds alone.
  [[maybe_unused]] const size_t depth = snapshot.depth();
  [[maybe_unused]] const size_t placed = snapshot.placed_pods();
  [[maybe_unused]] const size_t nodes = snapshot.nodes();
  PassOutcome outcome = PassRun(snapshot, groups, options_, input, memory).Run();
  // PassFork asserts the same by the StateId.
  EBB_DCHECK(snapshot.depth() == depth && snapshot.ghost() == kNoNode);
  EBB_DCHECK(snapshot.placed_pods() == placed && snapshot.nodes() == nodes);
  Plan& plan = outcome.plan;
  const bool same_hints = memory.hints.DropOld();
  const bool same_pending_hints = memory.pending_hints.DropOld();
  if (same_hints && same_pending_hints && memory.fork.pointer() == pointer &&
      input.deadline == nullptr && plan.termination != Termination::kNoRoomForPending) {
    memory.settled.emplace(snapshot, state, groups, options_, input,
                           std::move(outcome.recently_unremovable), plan, outcome.ineligible);
  }
  return std::move(plan);
}

void Planner::Suggest(const ClusterSnapshot& snapshot, std::span<const Move> places) {
  if (places.empty()) return;
  Memory& memory = *memory_;
  EBB_DCHECK(memory.symbols == nullptr || memory.symbols == snapshot.catalog().shared_symbols());
  memory.symbols = snapshot.catalog().shared_symbols();
  memory.hints.Attach(snapshot.shared_catalog());
  memory.settled.reset();
  for (const Move& place : places) memory.hints.Set(place.pod, place.to);
}

void Planner::Adopt(const ClusterSnapshot& snapshot, const Plan& plan) {
  // In the order of the plan, so that the last place of a pod that moves again counts.
  for (const RemovableNode& removal : plan.remove) {
    Suggest(snapshot, removal.moves);
    TryAgain(snapshot.catalog(), removal.node);
  }
  // As after a pass, so that a planner that restores the memory has the same hints.
  memory_->hints.DropOld();
}

void Planner::TryAgain(const Catalog& catalog, NodeId node) {
  memory_->unremovable.erase(catalog.node(node).name);
}

uint64_t Planner::repeated_passes() const { return memory_->repeated; }

NodeId Planner::Hint(PodId pod) const {
  return Index(pod) < memory_->hints.size() ? memory_->hints.Get(pod) : kNoNode;
}

std::optional<int64_t> Planner::TriedAgainAt(const Catalog& catalog, NodeId node,
                                             int64_t now_s) const {
  const Memory::Unremovable* const noted = memory_->RecentlyUnremovable(catalog, node);
  if (noted == nullptr || noted->until_s <= now_s) return std::nullopt;
  return noted->until_s;
}

PlannerMemory Planner::Save() const {
  PlannerMemory saved;
  // If no pass was made, there are no names to look up.
  const auto text = [&](TextId id) { return std::string(memory_->symbols->Text(id)); };
  const auto save = [&](Hints& hints, std::vector<PlannerMemory::Hint>& list) {
    hints.CatchUp();
    hints.ForEach(
        [&](TextId pod_key, TextId node) { list.push_back({text(pod_key), text(node)}); });
    // If several pods of a faulty input share a UID, only one of their hints can be kept.
    std::ranges::sort(list, {}, [](const PlannerMemory::Hint& hint) {
      return std::tie(hint.pod_key, hint.node);
    });
    const auto again = std::ranges::unique(list, {}, &PlannerMemory::Hint::pod_key);
    list.erase(again.begin(), again.end());
  };
  save(memory_->hints, saved.hints);
  save(memory_->pending_hints, saved.pending_hints);
  for (const auto& [node, entry] : memory_->unremovable) {
    const PastVerdict& why = entry.why;
    PlannerMemory::Unremovable& row = saved.unremovable.emplace_back();
    row.node = text(node);
    row.until_s = entry.until_s;
    if (why.reason == UnremovableReason::kNoReason) continue;
    row.reason = ToString(why.reason);
    if (why.blocking_reason != BlockingPodReason::kNoReason) {
      row.blocking_reason = ToString(why.blocking_reason);
    }
    row.pod_namespace = text(why.pod_namespace);
    row.pod_name = text(why.pod_name);
    row.pdb = text(why.pdb);
  }
  std::ranges::sort(saved.unremovable, {}, &PlannerMemory::Unremovable::node);
  saved.scan_pointer = memory_->fork.pointer();
  return saved;
}

void Planner::Restore(const PlannerMemory& saved, const std::shared_ptr<Symbols>& shared) {
  memory_ = std::make_unique<Memory>();
  memory_->symbols = shared;
  Symbols& symbols = *shared;
  const auto restore = [&](const std::vector<PlannerMemory::Hint>& list, Hints& hints) {
    for (const auto& [pod_key, node] : list) {
      hints.Set(symbols.Intern(pod_key), symbols.Intern(node));
    }
    hints.DropOld();
  };
  restore(saved.hints, memory_->hints);
  restore(saved.pending_hints, memory_->pending_hints);
  for (const PlannerMemory::Unremovable& row : saved.unremovable) {
    memory_->unremovable[symbols.Intern(row.node)] = {
        .until_s = row.until_s,
        .why = {.reason = UnremovableReasonOf(row.reason),
                .blocking_reason = BlockingPodReasonOf(row.blocking_reason),
                .pod_namespace = symbols.Intern(row.pod_namespace),
                .pod_name = symbols.Intern(row.pod_name),
                .pdb = symbols.Intern(row.pdb)},
        .pod_name = {}};
  }
  memory_->fork.SetPointer(saved.scan_pointer);
}

}  // namespace ebb
