// OrdersOf: the deletions that a round starts, by name, in the form that an actuator takes.
//
// Order:   empty nodes, then nodes to drain, each in the order of the round.
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
