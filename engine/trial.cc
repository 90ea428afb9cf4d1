#include "engine/trial.h"

#include <algorithm>
#include <utility>

namespace ebb {
namespace {

#ifdef NDEBUG
constexpr bool kProves = false;
#else
constexpr bool kProves = true;
#endif

// Whether the free amounts are `amounts`, which SaveFree filled.
bool HasFree(const ClusterSnapshot& snapshot, const std::vector<int64_t>& amounts) {
  std::vector<int64_t> now;
  snapshot.SaveFree(now);
  return now == amounts;
}

}  // namespace

Simulation::Simulation(ClusterSnapshot& snapshot, SimulationMemory& memory)
    : snapshot_(snapshot),
      memory_(memory),
      scan_(memory.scan_),
      guests_(memory.guests_),
      moves_(memory.moves_),
      depth_(snapshot.depth() + 1),
      state_(snapshot.StateId()) {
  EBB_CHECK(!std::exchange(memory_.in_use_, true));
  EBB_CHECK(snapshot_.ghost() == kNoNode);
  snapshot_.SaveFree(memory_.free_);
  memory_.counts_ = snapshot_.topology();
  guests_.Reset(snapshot_.catalog().nodes());
  moves_.clear();
  snapshot_.Fork();
  scan_.BeginPass(snapshot_, snapshot_.alive());
}

Simulation::~Simulation() {
  EBB_CHECK(!in_trial_ && snapshot_.depth() == depth_);
  scan_.EndPass();  // It counts the pointer's index among the nodes that are left.
  snapshot_.RevertTo(std::move(memory_.counts_));
  snapshot_.RestoreFree(memory_.free_);
  EBB_DCHECK(snapshot_.StateId() == state_);
  memory_.in_use_ = false;
}

void Simulation::SetDestinations(const NodeSet& destinations) {
  EBB_CHECK(!in_trial_);
  scan_.SetDestinations(destinations);
}

std::span<const PodId> Simulation::PodsOn(NodeId node) {
  EBB_DCHECK(!in_trial_);
  const std::span<const PodId> listed = snapshot_.PodsOn(node);
  if (!guests_.HasAny(node)) return listed;
  std::vector<PodId>& came = memory_.came_;
  came.clear();
  guests_.Append(node, came);
  // Guests that are placed in the snapshot are listed there too, after the own pods.
  const auto in_snapshot = [this](PodId pod) {
    return !scan_.StaysUnplaced(snapshot_.catalog().shape_id(pod));
  };
  const auto own = listed.first(listed.size() - std::ranges::count_if(came, in_snapshot));
  std::vector<PodId>& pods = memory_.pods_;
  pods.assign(own.begin(), own.end());
  pods.insert(pods.end(), came.begin(), came.end());
  return pods;
}

void Simulation::CountGuests(NodeId node, int sign) {
  const Catalog& catalog = snapshot_.catalog();
  if (catalog.tables().empty()) return;
  guests_.ForEach(node, [&](PodId pod) {
    const PodShapeId shape = catalog.shape_id(pod);
    if (scan_.StaysUnplaced(shape)) {
      ShapeRoom::CountOnGhost(snapshot_, catalog.shape(shape), node, sign);
    }
  });
}

void Simulation::BeginTrial(NodeId node) {
  EBB_CHECK(!in_trial_ && snapshot_.depth() == depth_);
  if (kProves) {
    snapshot_.SaveFree(memory_.free_before_trial_);
    memory_.counts_before_trial_ = snapshot_.topology();
  }
  in_trial_ = had_trial_ = true;
  moves_.clear();
  snapshot_.Fork();
  CountGuests(node, -1);
  // A ghost takes no pods, and nodes that went do not come back before the end of the
  // simulation, which restores all counts.  So nobody asks what is counted there.
  snapshot_.SetGhost(node, ClusterSnapshot::GhostPods::kCountedByNode);
  scan_.OnGhost(node);
}

void Simulation::CommitTrial() {
  EBB_CHECK(in_trial_ && snapshot_.depth() == depth_ + 1);
  const NodeId node = snapshot_.ghost();
  snapshot_.RemoveNode(node);
  snapshot_.Commit();
  guests_.Forget(node);  // They went on to other nodes, or with it.
  scan_.OnNodeRemoved(node);
  in_trial_ = false;
}

void Simulation::RevertTrial() {
  EBB_CHECK(in_trial_ && snapshot_.depth() == depth_ + 1);
  // First the room and counts that the snapshot's log does not know of, last pod first, as
  // Guests asks for.
  for (auto move = moves_.rbegin(); move != moves_.rend(); ++move) {
    scan_.BeginRun(snapshot_.catalog().shape_id(move->pod));
    scan_.TakeBack(move->to);
    guests_.TakeBack(move->to);
  }
  const NodeId node = snapshot_.ghost();
  snapshot_.Revert();
  CountGuests(node, +1);
  scan_.OnRevert();
  in_trial_ = false;
  EBB_DCHECK(HasFree(snapshot_, memory_.free_before_trial_));
  EBB_DCHECK(snapshot_.topology().CountsAs(memory_.counts_before_trial_));
}

}  // namespace ebb
