#include "engine/placement.h"

#include <algorithm>

namespace ebb {

void Placement::SortByPriority(std::span<const PodId> pods) {
  const Catalog& catalog = snapshot_.catalog();
  order_.assign(pods.begin(), pods.end());
  const auto higher = [&](PodId a, PodId b) {
    return catalog.shape_of(a).priority > catalog.shape_of(b).priority;
  };
  bool sorted = true;
  for (size_t i = 1; i < order_.size() && sorted; ++i) {
    const bool same_shape = catalog.shape_id(order_[i]) == catalog.shape_id(order_[i - 1]);
    sorted = same_shape || !higher(order_[i], order_[i - 1]);
  }
  if (!sorted) std::ranges::stable_sort(order_, higher);
}

inline void Placement::Put(PodId pod, NodeId node, std::vector<Move>& moves) {
  snapshot_.AddPod(pod, node);
  hints_.Set(pod, node);
  moves.push_back({pod, node});
}

inline bool Placement::PlaceByHint(PodId pod, std::vector<Move>& moves) {
  const NodeId node = hints_.Get(pod);
  if (node == kNoNode || !scan_.IsOpen(node) || !scan_.Fits(pod, node)) return false;
  Put(pod, node, moves);
  return true;
}

// Pods of one controller that cannot be told apart fail alike within one attempt.
inline bool Placement::PlaceByScan(PodId pod, std::vector<Move>& moves) {
  const PodShapeId shape = snapshot_.catalog().shape_id(pod);
  if (hopeless_[Index(shape)] == attempt_) return false;
  const NodeId node = scan_.FindNode(pod);
  if (node == kNoNode) {
    if (snapshot_.catalog().shape(shape).has_controller) hopeless_[Index(shape)] = attempt_;
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
  moves.reserve(pods.size());
  leftovers_.reserve(pods.size());
  hopeless_.resize(snapshot_.catalog().pod_shapes());
  ++attempt_;
  SortByPriority(pods);

  const Catalog& catalog = snapshot_.catalog();
  for (size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
    const int32_t priority = catalog.shape_of(order_[begin]).priority;
    while (end < order_.size() && catalog.shape_of(order_[end]).priority == priority) ++end;

    leftovers_.clear();
    for (size_t i = begin; i < end; ++i) {
      if (!PlaceByHint(order_[i], moves)) leftovers_.push_back(order_[i]);
    }
    for (const PodId pod : leftovers_) {
      if (out_of_time()) {
        result.gave_up = true;
        return result;
      }
      if (PlaceByScan(pod, moves)) continue;
      if (result.first_failed == kNoPod) result.first_failed = pod;
      if (on_failure == OnFailure::kStopGroup) break;
    }
  }
  return result;
}

}  // namespace ebb
