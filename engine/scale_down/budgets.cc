#include "engine/scale_down/budgets.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "engine/plan/atomic_groups.h"

namespace ebb {
namespace {

int64_t Size(const DeletionBucket& bucket) { return static_cast<int64_t>(bucket.nodes.size()); }

struct Buckets {
  std::vector<DeletionBucket> individual;
  std::vector<DeletionBucket> atomic;

  DeletionBucket* FindAtomic(GroupId group) {
    for (DeletionBucket& bucket : atomic) {
      if (bucket.group == group) return &bucket;
    }
    return nullptr;
  }
};

Buckets GroupNodes(std::span<const NodeId> nodes, const NodeGroups& groups) {
  Buckets buckets;
  absl::flat_hash_map<GroupId, size_t> place;  // Index in the list of its kind.
  for (const NodeId node : nodes) {
    const GroupId group = groups.Of(node);
    if (group == kNoGroup) continue;
    auto& list = groups.groups[Index(group)].atomic ? buckets.atomic : buckets.individual;
    const auto [it, first] = place.try_emplace(group, list.size());
    if (first) list.push_back({.group = group, .nodes = {}, .batch_size = 0});
    list[it->second].nodes.push_back(node);
  }
  return buckets;
}

// The remaining budgets, and the nodes for which they were spent.
class Cropper {
 public:
  Cropper(const NodeGroups& groups, std::span<const int64_t> registered,
          const InProgress& in_progress, const DeletionBudgets& budgets)
      : groups_(groups),
        registered_(registered),
        parallelism_(budgets.max_scale_down_parallelism - in_progress.empty - in_progress.drain),
        drain_(budgets.max_drain_parallelism - in_progress.drain) {}

  // Takes atomic groups that have empty nodes, each together with its nodes that must be drained.
  void TakeAtomicEmpty(Buckets& empty, Buckets& drain) {
    for (DeletionBucket& bucket : empty.atomic) {
      DeletionBucket* const rest = drain.FindAtomic(bucket.group);
      const int64_t to_drain = rest == nullptr ? 0 : Size(*rest);
      const int64_t all = Size(bucket) + to_drain;
      if (parallelism_ < all || drain_ < to_drain) {
        if (parallelism_ == 0 || (to_drain > 0 && drain_ == 0) || !may_overflow_) break;
      }
      if (!IsWhole(bucket.group, all)) continue;
      bucket.batch_size = BatchSize(bucket);
      if (rest != nullptr) {
        rest->batch_size = bucket.batch_size;
        result_.drain.push_back(std::move(*rest));
      }
      result_.empty.push_back(std::move(bucket));
      Spend(all, to_drain);
    }
  }

  // Takes atomic groups all of whose nodes must be drained.
  void TakeAtomicDrain(const std::vector<GroupId>& with_empty_nodes, Buckets& drain) {
    drain_ = std::min(parallelism_, drain_);
    for (DeletionBucket& bucket : drain.atomic) {
      if (std::find(with_empty_nodes.begin(), with_empty_nodes.end(), bucket.group) !=
          with_empty_nodes.end()) {
        continue;
      }
      const int64_t to_drain = Size(bucket);
      if (drain_ < to_drain && (drain_ == 0 || !may_overflow_)) break;
      if (!IsWhole(bucket.group, to_drain)) continue;
      bucket.batch_size = BatchSize(bucket);
      result_.drain.push_back(std::move(bucket));
      Spend(to_drain, to_drain);
    }
  }

  void TakeIndividual(Buckets& empty, Buckets& drain) {
    parallelism_ -= Take(empty, parallelism_, result_.empty);
    drain_ = std::min(parallelism_, drain_);
    drain_ -= Take(drain, drain_, result_.drain);
  }

  CroppedNodes Result() && { return std::move(result_); }

 private:
  int64_t TargetSize(GroupId group) const { return groups_.groups[Index(group)].target_size; }

  bool IsWhole(GroupId group, int64_t nodes) const {
    return ebb::IsWhole(groups_.groups[Index(group)], nodes, registered_[Index(group)]);
  }

  int64_t BatchSize(const DeletionBucket& bucket) const {
    const int64_t registered = registered_[Index(bucket.group)];
    return Size(bucket) == registered ? registered : TargetSize(bucket.group);
  }

  void Spend(int64_t nodes, int64_t to_drain) {
    parallelism_ -= nodes;
    drain_ -= to_drain;
    may_overflow_ = false;
  }

  // Returns the number of nodes taken.
  static int64_t Take(Buckets& buckets, int64_t budget, std::vector<DeletionBucket>& taken) {
    const int64_t before = budget;
    for (DeletionBucket& bucket : buckets.individual) {
      if (budget < 1) break;
      if (budget < Size(bucket)) bucket.nodes.resize(static_cast<size_t>(budget));
      budget -= Size(bucket);
      taken.push_back(std::move(bucket));
    }
    return before - budget;
  }

  const NodeGroups& groups_;
  std::span<const int64_t> registered_;
  int64_t parallelism_;  // Nodes whose deletion may still start; may be negative.
  int64_t drain_;        // Nodes with pods to move whose deletion may still start.
  bool may_overflow_ = true;
  CroppedNodes result_;
};

}  // namespace

CroppedNodes CropNodes(std::span<const NodeId> empty, std::span<const NodeId> drain,
                       const NodeGroups& groups, std::span<const int64_t> registered,
                       const InProgress& in_progress, const DeletionBudgets& budgets) {
  Buckets empty_buckets = GroupNodes(empty, groups);
  Buckets drain_buckets = GroupNodes(drain, groups);
  std::vector<GroupId> with_empty_nodes;
  with_empty_nodes.reserve(empty_buckets.atomic.size());
  for (const DeletionBucket& bucket : empty_buckets.atomic) {
    with_empty_nodes.push_back(bucket.group);
  }
  Cropper cropper(groups, registered, in_progress, budgets);
  cropper.TakeAtomicEmpty(empty_buckets, drain_buckets);
  cropper.TakeAtomicDrain(with_empty_nodes, drain_buckets);
  cropper.TakeIndividual(empty_buckets, drain_buckets);
  return std::move(cropper).Result();
}

size_t CountNodes(std::span<const DeletionBucket> buckets) {
  size_t count = 0;
  for (const DeletionBucket& bucket : buckets) count += bucket.nodes.size();
  return count;
}

}  // namespace ebb
