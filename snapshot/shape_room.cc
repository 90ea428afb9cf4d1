#include "snapshot/shape_room.h"

#include <algorithm>

namespace ebb {

[[gnu::always_inline]] inline void ShapeRoom::Add(ResourceId resource, int64_t need,
                                                  int64_t charge) {
  const Use use{.need = need, .charge = charge, .free = nullptr, .resource = resource};
  if (uses_ < first_.size()) [[likely]] {
    first_[uses_] = use;
  } else {
    more_.push_back(use);
  }
  ++uses_;
}

void ShapeRoom::Begin(ClusterSnapshot& snapshot, const PodShape& shape,
                      std::span<const TableId> feeds) {
  snapshot_ = &snapshot;
  shape_ = &shape;
  GoOn(shape, feeds);
  word_ = ~size_t{0};
  uses_ = 0;
  more_.clear();
  Add(kPods, /*need=*/1, /*charge=*/1);
  const ResourceQuantity* fit = shape.fit_requests.data();
  const ResourceQuantity* const fit_end = fit + shape.fit_requests.size();
  const ResourceQuantity* charge = shape.charge_requests.data();
  const ResourceQuantity* const charge_end = charge + shape.charge_requests.size();
  // Both lists are sorted, and neither holds kPods.
  while (fit != fit_end || charge != charge_end) {
    // A resource that is not in a list counts as coming after all others.
    constexpr ResourceId kLast{~uint32_t{0}};
    const ResourceId needed = fit != fit_end ? fit->resource : kLast;
    const ResourceId charged = charge != charge_end ? charge->resource : kLast;
    Add(std::min(needed, charged), needed <= charged ? fit->amount : Use::kNothing,
        charged <= needed ? charge->amount : 0);
    fit += needed <= charged ? 1 : 0;
    charge += charged <= needed ? 1 : 0;
  }
  for (size_t u = uses_; u < first_.size(); ++u) {
    first_[u] = Use();
    first_[u].free = unused_.data();
  }
}

void ShapeRoom::CountOnGhost(ClusterSnapshot& snapshot, std::span<const TableId> feeds, NodeId node,
                             int sign) {
  snapshot.topology_.CountExceptByNode(*snapshot.catalog_, feeds, node, sign);
}

// A pod that comes from a ghost with kCounted is still counted there by tables by node, and by no
// other table.
void ShapeRoom::Count(NodeId node, bool comes) {
  const bool moves = snapshot_->ghost_counts_ == ClusterSnapshot::GhostPods::kCounted;
  snapshot_->topology_.CountBeside(*snapshot_->catalog_, feeds_, node,
                                   moves ? snapshot_->ghost_ : kNoNode, comes);
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
