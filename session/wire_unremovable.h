// Messages of how many nodes a round kept, and why (engine/scale_down/unremovable_nodes.h).
//
// Threads: pure functions.

#ifndef EBB_SESSION_WIRE_UNREMOVABLE_H_
#define EBB_SESSION_WIRE_UNREMOVABLE_H_

#include "engine/scale_down/unremovable_nodes.h"
#include "wire/planner.pb.h"

namespace ebb {

void PutUnremovable(const UnremovableNodes& nodes, v1alpha1::UnremovableNodes& wire);
// Makes reasons printable and short, and keeps only the first hundred of them.
UnremovableNodes ReadUnremovable(const v1alpha1::UnremovableNodes& wire);

}  // namespace ebb

#endif  // EBB_SESSION_WIRE_UNREMOVABLE_H_
