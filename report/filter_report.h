// What the scheduler's filters say about a pod on each node, as data and as JSON.
//
// The pod is taken off its node while the filters run.
//
// Cost:    nodes x filters.
// Threads: like any call that changes the ClusterSnapshot: exclusive access.

#ifndef EBB_REPORT_FILTER_REPORT_H_
#define EBB_REPORT_FILTER_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "predicates/filters.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

// Errors: InvalidArgument where `name` is not NAMESPACE/NAME; NotFound.
absl::StatusOr<PodId> FindPodNamed(const Catalog& catalog, std::string_view name);

// FindPodNamed in a loaded cluster; if the pod was left out of the snapshot, the error says so.
absl::StatusOr<PodId> FindListedPod(const LoadedCluster& cluster, std::string_view name);

struct NodeVerdict {
  NodeId node;
  FilterVerdict verdict;  // Of the first filter that rejects.
};
// For every node in the snapshot, in order, or for `only` one.
std::vector<NodeVerdict> FilterNodes(ClusterSnapshot& snapshot, PodId pod,
                                     std::optional<NodeId> only = std::nullopt);
// What each filter says.
std::vector<FilterVerdict> RunEveryFilter(ClusterSnapshot& snapshot, PodId pod, NodeId node);

enum class FilterDetail : uint8_t { kFirstNo, kEveryFilter };
// {"pod": "NAMESPACE/NAME", "nodes": [{"node": ..., "fits": ...}]}
nlohmann::ordered_json FilterJson(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                                  FilterDetail detail);

}  // namespace ebb

#endif  // EBB_REPORT_FILTER_REPORT_H_
