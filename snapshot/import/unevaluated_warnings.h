// Warnings of what is in the input and is not evaluated: kinds (unevaluated_kinds.h), pods of
// groups, pods of controllers that ebb does not know, budgets whose status says SyncFailed.
//
// Each has a stable code, a count and the name of the first (docs/input.md).
// Cost: one look at each node and pod.

#ifndef EBB_SNAPSHOT_IMPORT_UNEVALUATED_WARNINGS_H_
#define EBB_SNAPSHOT_IMPORT_UNEVALUATED_WARNINGS_H_

#include <vector>

#include "snapshot/cluster_snapshot.h"
#include "snapshot/import/input_warning.h"
#include "snapshot/objects/unevaluated_kinds.h"

namespace ebb {

void WarnOfUnevaluated(const UnevaluatedObjects& objects, const ClusterSnapshot& cluster,
                       std::vector<InputWarning>& warnings);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_UNEVALUATED_WARNINGS_H_
