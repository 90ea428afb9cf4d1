#include "loop/deletion_orders.h"

#include "absl/container/flat_hash_map.h"

namespace ebb {

DeletionOrder OrderOf(const Catalog& catalog, const NodeGroups& groups, const RemovableNode& node) {
  const NodeInfo& info = catalog.node(node.node);
  DeletionOrder order{.node = std::string(catalog.Text(info.name)),
                      .uid = std::string(catalog.Text(info.uid)),
                      .drain = !node.moves.empty()};
  if (const NodeGroup* const group = groups.Find(node.node)) order.group = group->name;
  for (const Move& move : node.moves) {
    const PodInfo& pod = catalog.pod(move.pod);
    order.moves.push_back(
        {.namespace_name = std::string(catalog.Text(catalog.shape_of(move.pod).namespace_name)),
         .name = std::string(catalog.Text(pod.name)),
         .uid = std::string(catalog.Text(pod.key)),
         .to = std::string(catalog.NodeName(move.to))});
  }
  return order;
}

std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round) {
  absl::flat_hash_map<NodeId, const RemovableNode*> removable;
  for (const RemovableNode& node : round.plan.remove) removable.emplace(node.node, &node);
  std::vector<DeletionOrder> orders;
  const auto add = [&](const DeletionBucket& bucket, bool drain) {
    for (const NodeId node : bucket.nodes) {
      DeletionOrder& order = orders.emplace_back(OrderOf(catalog, groups, *removable.at(node)));
      order.group = groups.groups[Index(bucket.group)].name;
      order.drain = drain;
      order.batch_size = bucket.batch_size;
    }
  };
  for (const DeletionBucket& bucket : round.start.empty) add(bucket, false);
  for (const DeletionBucket& bucket : round.start.drain) add(bucket, true);
  return orders;
}

}  // namespace ebb
