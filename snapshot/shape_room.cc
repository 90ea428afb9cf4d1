#include "snapshot/shape_room.h"

#include <algorithm>

namespace ebb {

void ShapeRoom::Add(ResourceId resource, int64_t need, int64_t charge) {
  const Use use{.need = need, .charge = charge, .free = nullptr, .resource = resource};
  if (uses_ < first_.size()) {
    first_[uses_] = use;
  } else {
    more_.push_back(use);
  }
  ++uses_;
}

void ShapeRoom::Begin(ClusterSnapshot& snapshot, const PodShape& shape) {
  snapshot_ = &snapshot;
  shape_ = &shape;
  is_counted_ = !shape.feeds.empty();
  word_ = ~size_t{0};
  uses_ = 0;
  more_.clear();
  Add(kPods, /*need=*/1, /*charge=*/1);
  auto fit = shape.fit_requests.begin();
  auto charge = shape.charge_requests.begin();
  // Both lists are sorted, and neither holds kPods.
  while (fit != shape.fit_requests.end() || charge != shape.charge_requests.end()) {
    if (charge == shape.charge_requests.end() ||
        (fit != shape.fit_requests.end() && fit->resource < charge->resource)) {
      Add(fit->resource, fit->amount, 0);
      ++fit;
    } else if (fit == shape.fit_requests.end() || charge->resource < fit->resource) {
      Add(charge->resource, Use::kNothing, charge->amount);
      ++charge;
    } else {
      Add(fit->resource, fit->amount, charge->amount);
      ++fit;
      ++charge;
    }
  }
  for (size_t u = uses_; u < first_.size(); ++u) {
    first_[u] = Use();
    first_[u].free = nobody_.data();
  }
}

void ShapeRoom::SetWord(size_t word) {
  word_ = word;
  const auto point = [&](Use& use) {
    use.free = &snapshot_->free_[Index(use.resource)].Mutable(word * kNodesPerWord);
  };
  for (size_t u = 0; u < std::min(uses_, first_.size()); ++u) point(first_[u]);
  for (Use& use : more_) point(use);
}

bool ShapeRoom::PointsIntoSnapshot() const {
  const auto points = [&](const Use& use) {
    return use.free == snapshot_->FreeOfWord(use.resource, word_);
  };
  return std::ranges::all_of(first_.begin(), first_.begin() + std::min(uses_, first_.size()),
                             points) &&
         std::ranges::all_of(more_, points);
}

}  // namespace ebb
