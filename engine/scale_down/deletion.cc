#include "engine/scale_down/deletion.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/plan/atomic_groups.h"
#include "engine/plan/node_standing.h"
#include "engine/plan/utilization.h"
#include "snapshot/matching.h"

namespace ebb {
namespace {

// The capacity that is removed with a node.
struct NodeSize {
  int64_t cores = 0;
  int64_t memory_bytes = 0;
};

NodeSize SizeOf(const NodeInfo& node) {
  NodeSize size;
  for (const auto& [resource, amount] : node.capacity) {
    if (resource == kCpu) size.cores = amount / 1000 + (amount % 1000 != 0 ? 1 : 0);
    if (resource == kMemory) size.memory_bytes = amount;
  }
  return size;
}

// Nodes that do not count as capacity of the cluster.
class VirtualKubelets {
 public:
  explicit VirtualKubelets(const Catalog& catalog)
      : catalog_(catalog),
        type_(catalog.symbols().Find("type")),
        virtual_kubelet_(catalog.symbols().Find("virtual-kubelet")) {}

  [[nodiscard]] bool Contains(NodeId node) const {
    if (!type_ || !virtual_kubelet_) return false;
    return FindLabel(catalog_.node(node).labels, *type_) == virtual_kubelet_;
  }

 private:
  const Catalog& catalog_;
  std::optional<TextId> type_;  // nullopt: no node has this label.
  std::optional<TextId> virtual_kubelet_;
};

// Whether the node has a GPU label but offers no GPU of any vendor.
bool LacksItsGpus(const Catalog& catalog, const NodeGroups& groups, NodeId node) {
  return groups.HasGpuLabel(node) && !HasGpus(catalog, node);
}

// The first node whose GPUs cannot be counted, or kNoNode.  Of each group only the first node is
// checked.
NodeId FindUncountedGpus(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                         const DeletionOptions& options) {
  NodeId found = kNoNode;
  if (std::ranges::find(groups.gpu_label, true) == groups.gpu_label.end()) return found;
  const VirtualKubelets virtual_kubelets(snapshot.catalog());
  std::vector<bool> seen(groups.groups.size());
  snapshot.alive().ForEach([&](NodeId node) {
    if (found != kNoNode || virtual_kubelets.Contains(node)) return;
    if (const GroupId group = groups.Of(node); group != kNoGroup) {
      if (options.groups_have_templates || seen[Index(group)]) return;
      seen[Index(group)] = true;
    }
    if (LacksItsGpus(snapshot.catalog(), groups, node)) found = node;
  });
  return found;
}

// The capacity that may be removed without going below the cluster's minimums.
class MinimumQuota {
 public:
  MinimumQuota(const ClusterSnapshot& snapshot, const NodeGroups& groups,
               const ClusterMinimums& minimums)
      : catalog_(snapshot.catalog()), groups_(groups), group_size_(groups.groups.size()) {
    const VirtualKubelets virtual_kubelets(catalog_);
    __int128 cores = 0;  // A sum over nodes may exceed int64_t.
    __int128 memory_bytes = 0;
    int64_t nodes = 0;
    snapshot.alive().ForEach([&](NodeId node) {
      if (virtual_kubelets.Contains(node)) return;
      const NodeSize size = Size(node);
      cores += size.cores;
      memory_bytes += size.memory_bytes;
      ++nodes;
    });
    cores_ = std::max<__int128>(cores - minimums.cores, 0);
    memory_bytes_ = std::max<__int128>(memory_bytes - minimums.memory_bytes, 0);
    nodes_ = std::max<int64_t>(nodes - minimums.nodes, 0);
  }

  // Subtracts the node's size if all of it may be removed; otherwise changes nothing.
  bool Consume(NodeId node) {
    const NodeSize size = Size(node);
    if (cores_ < size.cores || memory_bytes_ < size.memory_bytes || nodes_ < 1) return false;
    cores_ -= size.cores;
    memory_bytes_ -= size.memory_bytes;
    --nodes_;
    return true;
  }

 private:
  NodeSize Size(NodeId node) {
    const GroupId group = groups_.Of(node);
    if (group == kNoGroup) return SizeOf(catalog_.node(node));
    std::optional<NodeSize>& size = group_size_[Index(group)];
    if (!size) size = SizeOf(catalog_.node(node));
    return *size;
  }

  const Catalog& catalog_;
  const NodeGroups& groups_;
  std::vector<std::optional<NodeSize>> group_size_;
  __int128 cores_ = 0;
  __int128 memory_bytes_ = 0;
  int64_t nodes_ = 0;
};

struct Candidate {
  const RemovableNode* removable;
  int64_t since_s;
};

class Chooser {
 public:
  Chooser(const ClusterSnapshot& snapshot, const NodeGroups& groups, const UnneededTimers& timers,
          std::span<const int64_t> in_deletion, const DeletionOptions& options, int64_t now_s)
      : snapshot_(snapshot),
        catalog_(snapshot.catalog()),
        groups_(groups),
        timers_(timers),
        in_deletion_(in_deletion),
        options_(options),
        now_s_(now_s) {
    for (const NodeGroup& group : groups.groups) sizes_.push_back(group.target_size);
  }

  NodesToDelete Choose(const Plan& plan) && {
    result_.uncounted_gpus = FindUncountedGpus(snapshot_, groups_, options_);
    if (result_.uncounted_gpus != kNoNode) return std::move(result_);
    std::vector<Candidate> empty;
    std::vector<Candidate> drain;
    for (const Candidate& candidate : InOrder(plan)) {
      (candidate.removable->moves.empty() ? empty : drain).push_back(candidate);
    }
    std::vector<const RemovableNode*> chosen;
    for (const Candidate& candidate : empty) Accept(candidate, chosen);
    const auto first_drain = static_cast<std::ptrdiff_t>(chosen.size());
    for (const Candidate& candidate : drain) Accept(candidate, chosen);
    std::stable_partition(chosen.begin() + first_drain, chosen.end(),
                          [](const RemovableNode* r) { return !r->risky; });
    for (const RemovableNode* removable : KeepWholeGroups(chosen)) Release(*removable);
    return std::move(result_);
  }

 private:
  std::vector<Candidate> InOrder(const Plan& plan) const {
    std::vector<Candidate> candidates;
    for (const RemovableNode& removable : plan.remove) {
      const auto since = timers_.Since(catalog_.node(removable.node).name);
      if (since) candidates.push_back({&removable, *since});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.since_s < b.since_s; });
    return candidates;
  }

  void Accept(const Candidate& candidate, std::vector<const RemovableNode*>& accepted) {
    const UnremovableReason reason = Judge(candidate);
    if (reason == UnremovableReason::kNoReason) {
      accepted.push_back(candidate.removable);
    } else {
      Keep(*candidate.removable, reason);
    }
  }

  // Returns why the node is kept.  For kNoReason, also subtracts the node from its group and from
  // the cluster's quota.
  UnremovableReason Judge(const Candidate& candidate) {
    const NodeId node = candidate.removable->node;
    const NodeInfo& info = catalog_.node(node);
    const NodeGroup* const group = groups_.Find(node);
    if (info.scale_down_disabled && (group == nullptr || !group->FollowsKarpenter())) {
      return UnremovableReason::kScaleDownDisabledAnnotation;
    }
    if (group == nullptr) return UnremovableReason::kNotAutoscaled;
    if (!WaitedLongEnough(node, *group, candidate.since_s)) {
      return IsReady(catalog_, groups_, node) ? UnremovableReason::kNotUnneededLongEnough
                                              : UnremovableReason::kNotUnreadyLongEnough;
    }
    const size_t g = Index(groups_.Of(node));
    if (sizes_[g] - in_deletion_[g] <= group->min_size) {
      return UnremovableReason::kNodeGroupMinSizeReached;
    }
    if (!quota_) quota_.emplace(snapshot_, groups_, options_.minimums);
    if (!quota_->Consume(node)) return UnremovableReason::kMinimalResourceLimitExceeded;
    --sizes_[g];
    return UnremovableReason::kNoReason;
  }

  bool WaitedLongEnough(NodeId node, const NodeGroup& group, int64_t since_s) const {
    // consolidateAfter is over.
    if (group.FollowsKarpenter() && !groups_.ebb_consolidates) return true;
    const int64_t threshold_s =
        IsReady(catalog_, groups_, node)
            ? group.scale_down_unneeded_time_s.value_or(options_.scale_down_unneeded_time_s)
            : group.scale_down_unready_time_s.value_or(options_.scale_down_unready_time_s);
    if (threshold_s <= 0) return true;
    return since_s < now_s_ - threshold_s;
  }

  // Returns the nodes of groups that are not atomic, then those of atomic groups that are whole.
  std::vector<const RemovableNode*> KeepWholeGroups(
      const std::vector<const RemovableNode*>& chosen) {
    std::vector<const RemovableNode*> kept;
    std::vector<std::vector<const RemovableNode*>> atomic(groups_.groups.size());
    std::vector<size_t> order;  // Atomic groups in the order of their first node.
    for (const RemovableNode* removable : chosen) {
      const size_t g = Index(groups_.Of(removable->node));
      if (!groups_.groups[g].atomic) {
        kept.push_back(removable);
        continue;
      }
      if (atomic[g].empty()) order.push_back(g);
      atomic[g].push_back(removable);
    }
    if (order.empty()) return kept;
    const std::vector<int64_t> registered = RegisteredNodes(snapshot_, groups_);
    for (const size_t g : order) {
      const auto count = static_cast<int64_t>(atomic[g].size());
      if (IsWhole(groups_.groups[g], count, registered[g])) {
        kept.insert(kept.end(), atomic[g].begin(), atomic[g].end());
        continue;
      }
      for (const RemovableNode* removable : atomic[g]) {
        Keep(*removable, UnremovableReason::kAtomicScaleDownFailed);
      }
    }
    return kept;
  }

  void Release(const RemovableNode& removable) {
    if (!removable.on_completion.empty()) {
      Keep(removable, UnremovableReason::kBlockedByOnCompletionPod);
    } else {
      (removable.moves.empty() ? result_.empty : result_.drain).push_back(removable.node);
    }
  }

  void Keep(const RemovableNode& removable, UnremovableReason reason) {
    result_.not_yet.push_back({removable.node, reason});
  }

  const ClusterSnapshot& snapshot_;
  const Catalog& catalog_;
  const NodeGroups& groups_;
  const UnneededTimers& timers_;
  std::span<const int64_t> in_deletion_;
  const DeletionOptions& options_;
  int64_t now_s_;
  std::optional<MinimumQuota>
      quota_;                   // Made when the first node needs it, because it visits all nodes.
  std::vector<int64_t> sizes_;  // Target size of each group less what was accepted.
  NodesToDelete result_;
};

}  // namespace

NodesToDelete ChooseNodesToDelete(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                  const Plan& plan, const UnneededTimers& timers,
                                  std::span<const int64_t> in_deletion,
                                  const DeletionOptions& options, int64_t now_s) {
  return Chooser(snapshot, groups, timers, in_deletion, options, now_s).Choose(plan);
}

}  // namespace ebb
