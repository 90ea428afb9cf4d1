#include "engine/deletions_under_way.h"

#include "engine/displaced.h"
#include "engine/eligibility.h"

namespace ebb {
namespace {

std::vector<NodeId> NodesInDeletion(const ClusterSnapshot& snapshot, int64_t now_s) {
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId node) {
    if (IsBeingDeleted(snapshot.catalog().node(node), now_s)) nodes.push_back(node);
  });
  return nodes;
}

}  // namespace

bool DeletionsUnderWay::AnyOf(const ClusterSnapshot& snapshot, int64_t now_s) {
  return !NodesInDeletion(snapshot, now_s).empty();
}

DeletionsUnderWay::DeletionsUnderWay(ClusterSnapshot& snapshot, std::vector<PodId>& pending,
                                     int64_t now_s) {
  const std::vector<NodeId> nodes = NodesInDeletion(snapshot, now_s);
  if (nodes.empty()) return;
  destinations_ = snapshot.alive();
  for (const NodeId node : nodes) {
    destinations_->Erase(node);
    for (const PodId pod : PodsToReplace(snapshot, node, now_s)) {
      snapshot.RemovePod(pod);
      displaced_.push_back(pod);
    }
  }
  pending.insert(pending.begin(), displaced_.begin(), displaced_.end());
}

void DeletionsUnderWay::Ask(PlanRequest& request) {
  if (!destinations_) return;
  if (request.destinations != nullptr) {
    if (request.destinations->range() != destinations_->range()) return;  // MakePlan refuses it.
    for (size_t w = 0; w < destinations_->words().size(); ++w) {
      destinations_->words()[w] &= request.destinations->words()[w];
    }
  }
  request.destinations = &*destinations_;
  request.evicting = displaced_;
  request.must_fit = displaced_.size();
}

}  // namespace ebb
