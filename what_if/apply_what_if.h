// ApplyWhatIf makes the changes of a what-if file in a cluster.
//
// Cost:    three passes over all objects of the cluster.
// Threads: one at a time.
// Errors:  those of PatchesOf and PatchedCluster, preceded by the file's name.

#ifndef EBB_WHAT_IF_APPLY_WHAT_IF_H_
#define EBB_WHAT_IF_APPLY_WHAT_IF_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot/cluster_snapshot.h"
#include "what_if/patched_cluster.h"
#include "what_if/what_if_file.h"

namespace ebb {

// `before`: the cluster without the changes.  Returns a line for each patch without an effect, such
// as "FILE: PodDisruptionBudget shop/db: no decision reads spec.maxUnavailable".  A misspelt field
// has no effect, just as a field that no decision reads.  The pods of one workload share a line.
absl::StatusOr<std::vector<std::string>> ApplyWhatIf(const WhatIf& what_if,
                                                     const ClusterSnapshot& before,
                                                     PatchedCluster& patched);

}  // namespace ebb

#endif  // EBB_WHAT_IF_APPLY_WHAT_IF_H_
