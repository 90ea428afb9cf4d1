// Tables of a cluster: its figures, its nodes and its pods, as columns.
//
//   const NodeGroups groups = AssignGroups(cluster.snapshot.catalog(), rules);
//   absl::StatusOr<ColumnTable> nodes = ClusterTableOf("nodes", cluster, groups);
//
// Pods that a plan leaves out (pods that have ended, and expendable pods) are not among the pods.
// The table of the cluster counts them.
//
// Cost:    O(nodes + pods).
// Threads: pure.
// Errors:  InvalidArgument: there is no such table.

#ifndef EBB_TABLES_CLUSTER_TABLES_H_
#define EBB_TABLES_CLUSTER_TABLES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "engine/plan/node_groups.h"
#include "snapshot/import/load_cluster.h"
#include "tables/column_table.h"

namespace ebb {

// `name`: "clusters" (one row), "nodes" or "pods".
absl::StatusOr<ColumnTable> ClusterTableOf(std::string_view name, const LoadedCluster& cluster,
                                           const NodeGroups& groups);

}  // namespace ebb

#endif  // EBB_TABLES_CLUSTER_TABLES_H_
