#include "report/pass_replay.h"

#include "base/check.h"

namespace ebb {

PassReplay::PassReplay(const PlanContext& context)
    : context_(context),
      turn_(context.catalog().nodes(), kNever),
      snapshot_(context.cluster->snapshot),
      pdbs_at_start_(context.catalog()),
      pdbs_(context.catalog()),
      has_guests_(context.catalog().nodes()) {
  const std::vector<NodeId>& order = context.made->order;
  for (size_t turn = 0; turn < order.size(); ++turn) turn_[Index(order[turn])] = turn;
  for (const Move& packed : context.made->plan.packed) snapshot_.AddPod(packed.pod, packed.to);
  pdbs_at_start_.RemovePods(context.request->pass.evicting);
  pdbs_ = pdbs_at_start_;
}

bool PassReplay::HadTurn(const UnremovableNode& why) const {
  using enum UnremovableReason;
  return IsCandidate(why.node) &&
         (why.reason == kNoPlaceToMovePods || why.reason == kBlockedByPod ||
          why.reason == kBlockedByOnCompletionPod || why.reason == kAtomicScaleDownFailed);
}

void PassReplay::GoTo(NodeId node) {
  const std::vector<RemovableNode>& remove = context_.made->plan.remove;
  EBB_DCHECK(IsCandidate(node));
  EBB_DCHECK(next_ == 0 || TurnOf(remove[next_ - 1].node) < TurnOf(node));
  while (next_ < remove.size() && TurnOf(remove[next_].node) < TurnOf(node)) {
    CarryOut(remove[next_++]);
  }
}

void PassReplay::CarryOut(const RemovableNode& removal) {
  std::vector<PodId> pods;
  for (const Move& move : removal.moves) {
    snapshot_.MovePod(move.pod, move.to);
    pods.push_back(move.pod);
    has_guests_.Insert(move.to);
    changed_.push_back(move.to);
    if (context_.cluster->snapshot.NodeOf(move.pod) != removal.node) continue;
    for (const PdbId pdb : context_.catalog().ChargedBudgets(move.pod)) {
      std::vector<Spent>& spent = spent_[static_cast<uint32_t>(pdb)];
      if (spent.empty() || spent.back().node != removal.node) spent.push_back({removal.node, 0});
      ++spent.back().disruptions;
    }
  }
  snapshot_.RemoveNode(removal.node);
  changed_.push_back(removal.node);
  pdbs_.RemovePods(pods);
}

NodeId PassReplay::CameFrom(PodId pod) const {
  const NodeId before = context_.cluster->snapshot.NodeOf(pod);
  return before != kNoNode && before != snapshot_.NodeOf(pod) ? before : kNoNode;
}

std::span<const PassReplay::Spent> PassReplay::SpentOf(PdbId pdb) const {
  const auto it = spent_.find(static_cast<uint32_t>(pdb));
  return it == spent_.end() ? std::span<const Spent>() : it->second;
}

std::optional<Utilization> PassReplay::UtilizationOf(NodeId node) const {
  const NodeGroup* const group = context_.groups->Find(node);
  const PlannerOptions& options = context_.request->planner;
  bool ignore_daemonsets = options.ignore_daemonsets_utilization;
  if (group != nullptr && group->ignore_daemonsets_utilization) {
    ignore_daemonsets = *group->ignore_daemonsets_utilization;
  }
  return CalculateUtilization(snapshot_, node,
                              {.ignore_daemonsets = ignore_daemonsets,
                               .ignore_mirror_pods = options.ignore_mirror_pods_utilization,
                               .gpu_label = context_.groups->HasGpuLabel(node)},
                              context_.request->pass.now_s);
}

}  // namespace ebb
