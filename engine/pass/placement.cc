#include "engine/pass/placement.h"

#include <algorithm>
#include <functional>

#include "predicates/drainability.h"

namespace ebb {
namespace {

// The number of filter evaluations between two checks of the deadline: tens of microseconds.  Fewer
// end a pass more punctually; each check reads the clock.  Not tuned: other values were not
// compared.
constexpr uint64_t kEvaluationsPerCheck = 4096;
// How many nodes after the one that was found are loaded ahead.  Too few arrive late; too many are
// loaded for searches that end earlier.  Not tuned: other values were not compared.
constexpr size_t kNodesAhead = 8;

}  // namespace

void Placement::CutIntoGroups(std::span<const PodId> pods) {
  groups_.clear();
  int32_t priority = 0;
  for (size_t i = 0; i < pods.size();) {
    const PodShapeId shape = catalog_.shape_id(pods[i]);
    const int32_t of_shape = scan_.RowOf(shape).priority;
    if (i > 0 && of_shape != priority) groups_.push_back(i);
    priority = of_shape;
    do ++i;
    while (i < pods.size() && catalog_.shape_id(pods[i]) == shape);
  }
  if (!pods.empty()) groups_.push_back(pods.size());
}

std::span<const PodId> Placement::GroupByPriority(std::span<const PodId> pods) {
  CutIntoGroups(pods);
  const auto priority_of = [&](PodId pod) { return scan_.RowOf(catalog_.shape_id(pod)).priority; };
  bool sorted = true;
  for (size_t g = 1; g < groups_.size() && sorted; ++g) {
    const size_t begin = groups_[g - 1];
    sorted = priority_of(pods[begin - 1]) > priority_of(pods[begin]);
  }
  if (sorted) return pods;
  order_.assign(pods.begin(), pods.end());
  std::ranges::stable_sort(order_, std::greater(), priority_of);
  CutIntoGroups(order_);
  return order_;
}

[[gnu::always_inline]] inline void Placement::Put(PodId pod, NodeId node) {
  fork_.Put(pod, node);
  hints_.Set(pod, node);
}

inline bool Placement::PlaceByHint(PodId pod) {
  const NodeId node = hints_.Get(pod);
  if (node == kNoNode || !scan_.IsOpen(node)) return false;
  fork_.BeginRun(catalog_.shape_id(pod));
  if (!scan_.Fits(node)) return false;
  Put(pod, node);
  return true;
}

bool Placement::AreAlike(PodShapeId a, PodShapeId b) const {
  if (a == b) return true;
  const PodShape& one = catalog_.shape(a);
  const PodShape& other = catalog_.shape(b);
  return one.spec_digest != 0 && one.spec_digest == other.spec_digest && one.labels == other.labels;
}

bool Placement::IsHopeless(PodShapeId shape) const {
  if (hopeless_.empty() || !scan_.RowOf(shape).has_controller) return false;
  const auto found = hopeless_.find(catalog_.shape(shape).controller.uid);
  return found != hopeless_.end() &&
         std::ranges::any_of(found->second, [&](PodShapeId s) { return AreAlike(s, shape); });
}

void Placement::NoteHopeless(PodShapeId shape) {
  // The autoscaler's maxPodsPerOwnerRef (simulator/scheduling/similar_pods.go).
  constexpr size_t kKindsMax = 10;
  if (!goes_on_ || !scan_.RowOf(shape).has_controller) return;
  const PodShape& info = catalog_.shape(shape);
  if (IsDaemonSetPod(catalog_, info)) return;
  std::vector<PodShapeId>& kinds = hopeless_[info.controller.uid];
  if (kinds.size() < kKindsMax) kinds.push_back(shape);
}

inline bool Placement::PlaceByScan(PodId pod) {
  const PodShapeId shape = catalog_.shape_id(pod);
  fork_.BeginRun(shape);
  if (IsHopeless(shape)) return false;
  const NodeId node = scan_.FindNode();
  if (node == kNoNode) {
    NoteHopeless(shape);
    return false;
  }
  // The next searches will look at the following nodes.
  fork_.PrefetchPut(NodeId{static_cast<uint32_t>(Index(node) + kNodesAhead)});
  Put(pod, node);
  return true;
}

// Places pods after the one that PlaceByScan has just placed, as PlaceByScan would.  Returns how
// many.  `deadline`: see TryPlace.
inline size_t Placement::PlaceNext(std::span<const PodId> pods, PodShapeId shape,
                                   const Deadline* deadline) {
  if (!scan_.MayPlaceNext()) return 0;
  size_t most = std::min(pods.size(), kNodesPerWord);
  if (deadline != nullptr) {
    // Each of these pods takes one evaluation, and the deadline is checked in time.
    most = std::min<size_t>(most, next_check_ - std::min(next_check_, scan_.evaluations()));
  }
  size_t alike = 0;
  while (alike < most && catalog_.shape_id(pods[alike]) == shape) ++alike;
  const size_t put = fork_.PutNext(pods.first(alike));
  for (const auto& [pod, node] : std::span(fork_.moves()).last(put)) hints_.Set(pod, node);
  return put;
}

bool Placement::OutOfTime(const Deadline& deadline) {
  if (scan_.evaluations() < next_check_) return false;
  next_check_ = scan_.evaluations() + kEvaluationsPerCheck;
  return deadline.Expired();
}

Placement::Result Placement::TryPlace(std::span<const PodId> pods, OnFailure on_failure,
                                      const Deadline* deadline) {
  hopeless_.clear();
  goes_on_ = on_failure == OnFailure::kGoOn;
  return pod_order_ == PodOrder::kAsListed ? PlaceAsListed(pods, on_failure, deadline)
                                           : PlaceByPriority(pods, on_failure, deadline);
}

Placement::Result Placement::PlaceByPriority(std::span<const PodId> pods, OnFailure on_failure,
                                             const Deadline* deadline) {
  Result result;
  leftovers_.resize(pods.size());
  const std::span<const PodId> order = GroupByPriority(pods);
  size_t begin = 0;
  for (const size_t end : groups_) {
    size_t leftovers = 0;
    for (const PodId pod : order.subspan(begin, end - begin)) {
      if (!PlaceByHint(pod)) leftovers_[leftovers++] = pod;
    }
    begin = end;
    for (std::span<const PodId> rest = std::span(leftovers_).first(leftovers); !rest.empty();) {
      if (deadline != nullptr && OutOfTime(*deadline)) {
        result.gave_up = true;
        return result;
      }
      const PodId pod = rest.front();
      rest = rest.subspan(1);
      if (PlaceByScan(pod)) {
        rest = rest.subspan(PlaceNext(rest, catalog_.shape_id(pod), deadline));
        continue;
      }
      if (result.first_failed == kNoPod) result.first_failed = pod;
      if (on_failure == OnFailure::kStopGroup) break;
    }
  }
  return result;
}

Placement::Result Placement::PlaceAsListed(std::span<const PodId> pods, OnFailure on_failure,
                                           const Deadline* deadline) {
  Result result;
  for (const PodId pod : pods) {
    if (PlaceByHint(pod)) continue;
    if (deadline != nullptr && OutOfTime(*deadline)) {
      result.gave_up = true;
      return result;
    }
    if (PlaceByScan(pod)) continue;
    if (result.first_failed == kNoPod) result.first_failed = pod;
    if (on_failure == OnFailure::kStopGroup) break;
  }
  return result;
}

}  // namespace ebb
