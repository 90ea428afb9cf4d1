// What filters say of a pod (service/filter_report.h), as tables.

#ifndef EBB_TOOLS_FILTER_PRINT_H_
#define EBB_TOOLS_FILTER_PRINT_H_

#include <iosfwd>
#include <optional>

#include "snapshot/cluster_snapshot.h"
#include "snapshot/ids.h"

namespace ebb {

// A row a node; with `only` a row a filter, on that node.
void PrintFilterTable(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                      std::ostream& out);

}  // namespace ebb

#endif  // EBB_TOOLS_FILTER_PRINT_H_
