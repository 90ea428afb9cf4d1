// Warnings about parts of the input that ebb does not evaluate: kinds (unevaluated_kinds.h), pods
// of groups, pods of controllers that ebb does not know, budgets whose status says SyncFailed.
//
// Each warning has a stable code, a count and the name of one object (docs/input.md).
// Cost: one pass over the pod shapes and budgets; one over the pods if a shape is concerned.

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
