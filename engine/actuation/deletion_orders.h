// OrdersOf: the deletions that a round starts, by name, as an actuator takes them.
//
// Order:   empty nodes, then those to drain, each as the round has them.
// Cost:    O(plan + moves of the nodes that start).
// Threads: any.

#ifndef EBB_ENGINE_ACTUATION_DELETION_ORDERS_H_
#define EBB_ENGINE_ACTUATION_DELETION_ORDERS_H_

#include <vector>

#include "engine/actuation/actuator.h"
#include "engine/node_groups.h"
#include "engine/round.h"
#include "snapshot/catalog.h"

namespace ebb {

std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round);

}  // namespace ebb

#endif  // EBB_ENGINE_ACTUATION_DELETION_ORDERS_H_
