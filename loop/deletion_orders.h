// OrdersOf: the deletions that a round starts, by name, as an actuator takes them.
//
// Order:   empty nodes, then those to drain, each as the round has them.
// Cost:    O(plan + moves of the nodes that start).
// Threads: any.

#ifndef EBB_LOOP_DELETION_ORDERS_H_
#define EBB_LOOP_DELETION_ORDERS_H_

#include <vector>

#include "engine/plan/node_groups.h"
#include "engine/scale_down/round.h"
#include "loop/actuator.h"
#include "snapshot/catalog.h"

namespace ebb {

std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round);

}  // namespace ebb

#endif  // EBB_LOOP_DELETION_ORDERS_H_
