// ApplyWhatIf makes the changes of a what-if file in a cluster.
//
// Cost:    three passes over all objects of the cluster.
// Threads: one at a time.
// Errors:  those of PatchesOf and PatchedCluster, with the file's name in front.

#ifndef EBB_WHAT_IF_APPLY_WHAT_IF_H_
#define EBB_WHAT_IF_APPLY_WHAT_IF_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot/cluster_snapshot.h"
#include "what_if/patched_cluster.h"
#include "what_if/what_if_file.h"

namespace ebb {

// `before`: the cluster as it is without the changes.  Returns a line for each patch that has no
// effect, "FILE: PodDisruptionBudget shop/db: no decision reads spec.maxUnavailable": a field that
// is misspelt changes nothing, as one that no decision reads.  Pods of one workload have one line.
absl::StatusOr<std::vector<std::string>> ApplyWhatIf(const WhatIf& what_if,
                                                     const ClusterSnapshot& before,
                                                     PatchedCluster& patched);

}  // namespace ebb

#endif  // EBB_WHAT_IF_APPLY_WHAT_IF_H_
