#include "engine/plan/atomic_groups.h"

namespace ebb {

std::vector<int64_t> RegisteredNodes(const ClusterSnapshot& snapshot, const NodeGroups& groups) {
  std::vector<int64_t> registered(groups.groups.size());
  snapshot.alive().ForEach([&](NodeId node) {
    const GroupId group = groups.Of(node);
    if (group != kNoGroup && !snapshot.catalog().node(node).upcoming) ++registered[Index(group)];
  });
  return registered;
}

}  // namespace ebb
