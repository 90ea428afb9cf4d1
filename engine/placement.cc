#include "engine/placement.h"

#include <algorithm>

namespace ebb {

void Placement::SortByPriority(std::span<const PodId> pods) {
  const Catalog& catalog = snapshot_.catalog();
  order_.resize(pods.size());
  for (uint32_t i = 0; i < pods.size(); ++i) order_[i] = i;
  const auto higher = [&](uint32_t a, uint32_t b) {
    return catalog.shape_of(pods[a]).priority > catalog.shape_of(pods[b]).priority;
  };
  if (!std::is_sorted(order_.begin(), order_.end(), higher)) {
    std::stable_sort(order_.begin(), order_.end(), higher);
  }
}

void Placement::Put(PodId pod, NodeId node, std::vector<Move>& moves) {
  snapshot_.AddPod(pod, node);
  const Catalog& catalog = snapshot_.catalog();
  hints_.Set(catalog.pod(pod).key, catalog.node(node).name);
  moves.push_back({pod, node});
}

bool Placement::PlaceByHint(PodId pod, std::vector<Move>& moves) {
  const Catalog& catalog = snapshot_.catalog();
  const std::optional<TextId> name = hints_.Get(catalog.pod(pod).key);
  if (!name) return false;
  const NodeId node = catalog.FindNode(*name);
  if (node == kNoNode || !scan_.Fits(pod, node)) return false;
  Put(pod, node, moves);
  return true;
}

// Pods of one controller that cannot be told apart fail alike within one attempt.
bool Placement::PlaceByScan(PodId pod, std::vector<Move>& moves) {
  const PodShapeId shape_id = snapshot_.catalog().pod(pod).shape;
  const PodShape& shape = snapshot_.catalog().shape(shape_id);
  const std::pair similar(shape.controller.uid, shape_id);
  if (shape.has_controller && hopeless_.contains(similar)) return false;
  const NodeId node = scan_.FindNode(pod);
  if (node == kNoNode) {
    if (shape.has_controller) hopeless_.insert(similar);
    return false;
  }
  Put(pod, node, moves);
  return true;
}

Placement::Result Placement::TryPlace(std::span<const PodId> pods, OnFailure on_failure,
                                      absl::FunctionRef<bool()> out_of_time,
                                      std::vector<Move>& moves) {
  Result result;
  moves.clear();
  hopeless_.clear();
  SortByPriority(pods);

  const Catalog& catalog = snapshot_.catalog();
  for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    const int32_t priority = catalog.shape_of(pods[order_[begin]]).priority;
    while (end < order_.size() && catalog.shape_of(pods[order_[end]]).priority == priority) ++end;

    leftovers_.clear();
    for (size_t i = begin; i < end; ++i) {
      if (!PlaceByHint(pods[order_[i]], moves)) leftovers_.push_back(order_[i]);
    }
    for (const uint32_t i : leftovers_) {
      if (out_of_time()) {
        result.gave_up = true;
        return result;
      }
      if (PlaceByScan(pods[i], moves)) continue;
      if (result.first_failed == kNoPod) result.first_failed = pods[i];
      if (on_failure == OnFailure::kStopGroup) break;
    }
  }
  return result;
}

}  // namespace ebb
