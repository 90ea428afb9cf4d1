#include "loop/deletion_orders.h"

#include "absl/container/flat_hash_map.h"

namespace ebb {

std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round) {
  absl::flat_hash_map<NodeId, const RemovableNode*> removable;
  for (const RemovableNode& node : round.plan.remove) removable.emplace(node.node, &node);
  std::vector<DeletionOrder> orders;
  const auto add = [&](const DeletionBucket& bucket, bool drain) {
    for (const NodeId node : bucket.nodes) {
      const NodeInfo& info = catalog.node(node);
      DeletionOrder order{.node = std::string(catalog.Text(info.name)),
                          .uid = std::string(catalog.Text(info.uid)),
                          .group = groups.groups[Index(bucket.group)].name,
                          .drain = drain,
                          .batch_size = bucket.batch_size};
      for (const Move& move : removable.at(node)->moves) {
        const PodInfo& pod = catalog.pod(move.pod);
        order.moves.push_back(
            {.namespace_name = std::string(catalog.Text(catalog.shape_of(move.pod).namespace_name)),
             .name = std::string(catalog.Text(pod.name)),
             .uid = std::string(catalog.Text(pod.key)),
             .to = std::string(catalog.NodeName(move.to))});
      }
      orders.push_back(std::move(order));
    }
  };
  for (const DeletionBucket& bucket : round.start.empty) add(bucket, false);
  for (const DeletionBucket& bucket : round.start.drain) add(bucket, true);
  return orders;
}

}  // namespace ebb
