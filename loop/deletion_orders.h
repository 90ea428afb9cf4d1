// OrdersOf: the deletions that a round starts, by name, in the form that an actuator takes.
//
// Order:   empty nodes, then nodes to drain, each in the order of the round.
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

// The deletion of a node of a plan; it is drained if pods move.
DeletionOrder OrderOf(const Catalog& catalog, const NodeGroups& groups, const RemovableNode& node);

std::vector<DeletionOrder> OrdersOf(const Catalog& catalog, const NodeGroups& groups,
                                    const RoundResult& round);

}  // namespace ebb

#endif  // EBB_LOOP_DELETION_ORDERS_H_
