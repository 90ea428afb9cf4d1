#include "engine/plan/group_quotas.h"

#include "engine/plan/eligibility.h"
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
  return quotas;
}

}  // namespace ebb
