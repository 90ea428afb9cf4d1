#include "engine/pass/pass_fork.h"

#include <algorithm>
#include <utility>

// How an attempt is undone for the cost of what it did.
//
// A pass tries thousands of candidates on one snapshot.  Most of its work is placing pods, so a
// placement must cost a few memory accesses, and a failed attempt must not cost more than the
// placements that it made.  Each of the five structures of pass_fork.h has its own cheap way back:
//
//   the snapshot     its undo log.  PassFork opens one fork for the whole pass, and each
//                    RemovalAttempt another one inside it.  Commit merges the attempt's fork into
//                    that of the pass; Revert undoes it; the end of the pass fork undoes all that
//                    was committed.
//   amounts, counts  no log.  Most pods stay unplaced (PodScan::StaysUnplaced): Put only takes
//                    their room and counts them.  RevertAttempt gives that back pod by pod.  The
//                    end of the pass fork restores all amounts and counts from the copies free_ and
//                    counts_.
//   the guests       lists that only grow in an attempt.  RevertAttempt takes the pods back, last
//                    first.
//   the scan         a list of what it ruled out in the attempt (PodScan::OnRevert).
//   the moves        the result of an attempt, and the log that RevertAttempt walks.
//
// The ghost.  The node of an attempt stays in the snapshot without pods, because it is still a
// topology domain.  Tables should not count its pods any more.  But taking them all out, and adding
// them again if the attempt fails, would be most of a failed attempt.  So SetGhost leaves them
// counted (GhostPods::kCounted), and ListGhostPods only lists them, in one chain for each family
// (PodShape::family).  Families are the connected components of shapes that share a table; a filter
// for a pod reads no table that another family feeds.  BeginRun(shape) therefore takes the chain of
// the shape's family out of the tables before the scan may read them, and leaves the other chains
// alone.  The number of the attempt in GhostFamily says whether a chain is of this attempt, so that
// starting an attempt need not clear an array of all families.
//
// The invariant.  Whenever no attempt is open, for every node and resource
//   free = allocatable - requests of the pods listed there - requests of unplaced guests there,
// and every table counts those same pods, except that tables by node still count the pods of
// removed nodes: no filter asks for a removed node.  So:
// - An attempt that commits moves each pod's room and counts from one node to another.  RemoveNode
//   then takes the ghost out, after all chains were taken out of the tables.
// - An attempt that reverts must leave every amount and count as it found them.  Debug builds
//   compare both with copies made when the attempt began.
// - A pass fork that ends leaves the snapshot with the StateId that it had before, and the amounts
//   and counts are those of the copies.
//
// The order of RevertAttempt matters.  The changes that the snapshot does not log come first, last
// pod first: Guests requires that order, and ShapeRoom::CountOnGhost requires that the ghost still
// exists.  Then Revert undoes the log, and only then does the scan open the former ghost again.
//
// Cost: a PassFork copies nodes * resources amounts at its beginning and its end; the copy of the
// counts shares pages until they are written.  A RemovalAttempt costs O(pods on the node) to list
// them, and O(requests + tables that count the pod) for each pod placed, and again for each pod
// undone.

namespace ebb {
namespace {

#ifdef NDEBUG
constexpr bool kProves = false;
#else
constexpr bool kProves = true;
#endif

// Whether the free amounts equal `amounts`, which SaveFree filled.
bool HasFree(const ClusterSnapshot& snapshot, const std::vector<int64_t>& amounts) {
  std::vector<int64_t> now;
  snapshot.SaveFree(now);
  return now == amounts;
}

}  // namespace

PassFork::PassFork(ClusterSnapshot& snapshot, PassForkMemory& memory)
    : snapshot_(snapshot),
      memory_(memory),
      scan_(memory.scan_),
      guests_(memory.guests_),
      moves_(memory.moves_),
      depth_(snapshot.depth() + 1),
      state_(snapshot.StateId()),
      is_counted_(!snapshot.catalog().tables().empty()) {
  EBB_CHECK(!std::exchange(memory_.in_use_, true));
  EBB_CHECK(snapshot_.ghost() == kNoNode);
  snapshot_.SaveFree(memory_.free_);
  memory_.counts_ = snapshot_.topology();
  guests_.Reset(snapshot_.catalog().nodes());
  memory_.ghost_families_.resize(snapshot_.catalog().tables().size());
  moves_.clear();
  snapshot_.Fork();
  scan_.BeginPass(snapshot_, snapshot_.alive());
}

PassFork::~PassFork() {
  EBB_CHECK(!in_attempt_ && snapshot_.depth() == depth_);
  scan_.EndPass();  // It computes the pointer's index in the list of the nodes that are left.
  snapshot_.RevertTo(std::move(memory_.counts_));
  snapshot_.RestoreFree(memory_.free_);
  EBB_DCHECK(snapshot_.StateId() == state_ && snapshot_.depth() + 1 == depth_);
  memory_.in_use_ = false;
}

void PassFork::SetDestinations(const NodeSet& destinations) {
  EBB_CHECK(!in_attempt_);
  scan_.SetDestinations(destinations);
}

std::span<const PodId> PassFork::PodsOn(NodeId node) {
  EBB_DCHECK(!in_attempt_);
  const std::span<const PodId> listed = snapshot_.PodsOn(node);
  if (!guests_.HasAny(node)) return listed;
  std::vector<PodId>& came = memory_.came_;
  came.clear();
  guests_.Append(node, came);
  // Guests that are placed in the snapshot are in its list too, after the node's own pods.
  const auto in_snapshot = [this](PodId pod) {
    return !scan_.StaysUnplaced(snapshot_.catalog().shape_id(pod));
  };
  const auto listed_guests = has_placed_ ? std::ranges::count_if(came, in_snapshot) : 0;
  const auto own = listed.first(listed.size() - listed_guests);
  std::vector<PodId>& pods = memory_.pods_;
  pods.assign(own.begin(), own.end());
  pods.insert(pods.end(), came.begin(), came.end());
  return pods;
}

void PassFork::GiveRoom(std::span<const Move> moves) {
  EBB_CHECK(!in_attempt_);
  if (moves.empty()) return;
  for (const Move& move : moves) {
    scan_.BeginRun(snapshot_.catalog().shape_id(move.pod));
    scan_.TakeBack(move.to);
  }
  scan_.OnRoomGiven();
}

void PassFork::ListGhostPods(NodeId node) {
  if (!is_counted_) return;
  std::vector<PassForkMemory::GhostPod>& pods = memory_.ghost_pods_;
  pods.clear();
  // The number has wrapped around: forget the numbers noted in families.
  if (++memory_.attempt_ == 0) {
    std::ranges::fill(memory_.ghost_families_, PassForkMemory::GhostFamily());
    memory_.attempt_ = 1;
  }
  const Catalog& catalog = snapshot_.catalog();
  const auto list = [&](PodShapeId shape) {
    const FamilyId id = scan_.RowOf(shape).family;
    if (id == kNoFamily) return;
    PassForkMemory::GhostFamily& family = memory_.ghost_families_[Index(id)];
    const bool is_first = family.attempt != memory_.attempt_;
    pods.push_back({shape, id, is_first ? PassForkMemory::kNoGhostPod : family.first});
    family = {.attempt = memory_.attempt_,
              .first = static_cast<uint32_t>(pods.size() - 1),
              .is_uncounted = false};
  };
  for (const PodId pod : snapshot_.PodsOn(node)) list(catalog.shape_id(pod));
  guests_.ForEach(node, [&](PodId pod) {
    const PodShapeId shape = catalog.shape_id(pod);
    if (scan_.StaysUnplaced(shape)) list(shape);  // Other guests are listed in the snapshot.
  });
}

void PassFork::CountOnGhost(uint32_t pod, int sign) {
  for (; pod != PassForkMemory::kNoGhostPod; pod = memory_.ghost_pods_[pod].next) {
    const PodShapeId shape = memory_.ghost_pods_[pod].shape;
    ShapeRoom::CountOnGhost(snapshot_, scan_.FeedsOf(shape), snapshot_.ghost(), sign);
  }
}

bool PassFork::AsksOnlyUncounted(PodId pod) const {
  if (!in_attempt_ || !is_counted_) return true;
  const Catalog& catalog = snapshot_.catalog();
  const PodShape& asking = catalog.shape_of(pod);
  std::vector<TableId> asked;
  for (const auto& spread : asking.spread) asked.push_back(spread.table);
  for (const auto& term : asking.affinity) asked.push_back(term.table);
  for (const auto& term : asking.anti_affinity) asked.push_back(term.table);
  for (const auto& term : asking.repelled_by) asked.push_back(term.table);
  for (const auto& [shape, family, next] : memory_.ghost_pods_) {
    if (memory_.ghost_families_[Index(family)].is_uncounted) continue;
    for (const TableId table : catalog.shape(shape).feeds) {
      if (std::ranges::find(asked, table) != asked.end()) return false;
    }
  }
  return true;
}

bool PassFork::MovesAreSound() const {
  std::vector<PodId> pods;
  for (const Move& move : moves_) {
    pods.push_back(move.pod);
    bool is_listed = false;
    guests_.ForEach(move.to, [&](PodId guest) { is_listed |= guest == move.pod; });
    const NodeId placed = snapshot_.NodeOf(move.pod);  // None if the pod stays unplaced.
    if (!is_listed || !snapshot_.Contains(move.to) || (placed != kNoNode && placed != move.to)) {
      return false;
    }
  }
  std::ranges::sort(pods);
  return std::ranges::adjacent_find(pods) == pods.end();
}

void PassFork::BeginAttempt(NodeId node) {
  EBB_CHECK(!in_attempt_ && snapshot_.depth() == depth_);
  if (kProves) {
    snapshot_.SaveFree(memory_.free_before_attempt_);
    memory_.counts_before_attempt_ = snapshot_.topology();
  }
  in_attempt_ = had_attempt_ = true;
  moves_.clear();
  snapshot_.Fork();
  ListGhostPods(node);
  is_ghost_counted_ = is_counted_;
  snapshot_.SetGhost(node, ClusterSnapshot::GhostPods::kCounted);
  scan_.OnGhost(node);
}

void PassFork::CommitAttempt() {
  EBB_CHECK(in_attempt_ && snapshot_.depth() == depth_ + 1);
  const NodeId node = snapshot_.ghost();
  // Pods that stay on the ghost are removed with it.
  if (is_counted_) {
    for (const auto& pod : memory_.ghost_pods_) UncountGhost(pod.family);
  }
  snapshot_.RemoveNode(node);
  snapshot_.Commit();
  guests_.Forget(node);  // The guests have moved on or are removed with the node.
  scan_.OnNodeRemoved(node);
  in_attempt_ = is_ghost_counted_ = false;
  // Verify asserts the same of a finished plan, with SlowCluster and without guests.
  EBB_DCHECK(snapshot_.depth() == depth_ && snapshot_.ghost() == kNoNode);
  EBB_DCHECK(!snapshot_.Contains(node) && snapshot_.PodsOn(node).empty() && !guests_.HasAny(node));
  EBB_DCHECK(MovesAreSound());
}

void PassFork::RevertAttempt() {
  EBB_CHECK(in_attempt_ && snapshot_.depth() == depth_ + 1);
  // First undo what the snapshot does not log, last pod first, as Guests requires.
  for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) {
    scan_.BeginRun(snapshot_.catalog().shape_id(move->pod));
    scan_.TakeBack(move->to);
    guests_.TakeBack(move->to);
  }
  if (is_counted_) {
    for (const auto& pod : memory_.ghost_pods_) {
      PassForkMemory::GhostFamily& family = memory_.ghost_families_[Index(pod.family)];
      if (std::exchange(family.is_uncounted, false)) CountOnGhost(family.first, +1);
    }
  }
  snapshot_.Revert();
  scan_.OnRevert();
  in_attempt_ = is_ghost_counted_ = false;
  // The tests assert the same by CheckInvariants, which recounts all pods.
  EBB_DCHECK(snapshot_.depth() == depth_ && snapshot_.ghost() == kNoNode);
  EBB_DCHECK(HasFree(snapshot_, memory_.free_before_attempt_));
  EBB_DCHECK(snapshot_.topology().CountsAs(memory_.counts_before_attempt_));
}

}  // namespace ebb
