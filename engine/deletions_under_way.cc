#include "engine/deletions_under_way.h"

#include "engine/displaced.h"
#include "engine/plan/eligibility.h"
#include "engine/plan/node_standing.h"

namespace ebb {
namespace {

std::vector<NodeId> NodesInDeletion(const ClusterSnapshot& snapshot, int64_t now_s) {
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId node) {
    const Catalog& catalog = snapshot.catalog();
    if (IsBeingDeleted(catalog.node(node), now_s) || IsLeaving(catalog, node)) {
      nodes.push_back(node);
    }
  });
  return nodes;
}

}  // namespace

bool DeletionsUnderWay::AreDue(const ClusterSnapshot& snapshot, const PlanRequest& request) {
  return request.deletions == DeletionsInSnapshot::kPlanBeside &&
         !NodesInDeletion(snapshot, request.pass.now_s).empty();
}

DeletionsUnderWay::DeletionsUnderWay(ClusterSnapshot& snapshot, std::vector<PodId>& pending,
                                     PlanRequest& request) {
  request.deletions = DeletionsInSnapshot::kLeftToCaller;
  request.pass.pending = pending;
  nodes_ = NodesInDeletion(snapshot, request.pass.now_s);
  if (nodes_.empty()) return;
  destinations_ =
      request.pass.destinations != nullptr ? *request.pass.destinations : snapshot.alive();
  for (const NodeId node : nodes_) {
    // MakePlan rejects destinations of another size.
    if (Index(node) < destinations_->range()) destinations_->Erase(node);
  }
  for (const NodeId node : nodes_) {
    const std::vector<PodId> pods = DisplacePods({&node, 1}, request.pass.now_s, snapshot);
    displaced_.insert(displaced_.end(), pods.begin(), pods.end());
    displaced_from_.resize(displaced_.size(), node);
  }
  request.pass.in_deletion = nodes_;
  pending.insert(pending.begin(), displaced_.begin(), displaced_.end());
  request.pass.pending = pending;
  request.pass.destinations = &*destinations_;
  request.pass.evicting = displaced_;
  request.evicted_from = displaced_from_;
  request.pass.must_fit = displaced_.size();
}

}  // namespace ebb
