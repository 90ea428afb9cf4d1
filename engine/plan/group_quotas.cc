#include "engine/plan/group_quotas.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/plan/karpenter.h"
#include "engine/plan/node_standing.h"

namespace ebb {

std::vector<int64_t> GroupQuotas(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                                 int64_t now_s) {
  std::vector<int64_t> quotas;
  quotas.reserve(groups.groups.size());
  for (const NodeGroup& group : groups.groups) quotas.push_back(group.target_size - group.min_size);
  for (uint32_t n = 0; n < groups.group_of.size(); ++n) {
    const NodeId node{n};
    if (groups.Of(node) == kNoGroup || !snapshot.Contains(node)) continue;
    const Catalog& catalog = snapshot.catalog();
    if (IsBeingDeleted(catalog.node(node), now_s) || IsLeaving(catalog, node))
      --quotas[Index(groups.Of(node))];
  }
  const NodePoolBudgets budgets(snapshot, groups, /*in_deletion=*/{}, now_s);
  if (budgets.allowances().empty()) return quotas;
  // A group may have nodes of several NodePools.
  std::vector<std::set<std::string_view>> pools(groups.groups.size());
  for (uint32_t n = 0; n < groups.group_of.size(); ++n) {
    if (!groups.FollowsKarpenter(NodeId{n}) || !snapshot.Contains(NodeId{n})) continue;
    pools[Index(groups.Of(NodeId{n}))].insert(NodePoolOf(snapshot.catalog(), NodeId{n}));
  }
  for (size_t g = 0; g < pools.size(); ++g) {
    if (!groups.groups[g].FollowsKarpenter()) continue;
    int64_t left = 0;
    for (const std::string_view pool : pools[g]) {
      const auto it = budgets.allowances().find(pool);
      if (it == budgets.allowances().end()) continue;  // Its nodes stay.
      left += std::max(it->second.Left(DisruptionReason::kEmpty),
                       it->second.Left(DisruptionReason::kUnderutilized));
    }
    quotas[g] = std::min(quotas[g], left);
  }
  return quotas;
}

}  // namespace ebb
