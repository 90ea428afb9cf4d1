// What the scheduler's filters say of a pod on each node, as data and as JSON.
//
// The pod is taken off its node while it is judged.
//
// Cost:    nodes x filters.
// Threads: as ClusterSnapshot's changes.

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

// The same in a cluster that was loaded; the error tells what was left out of it.
absl::StatusOr<PodId> FindListedPod(const LoadedCluster& cluster, std::string_view name);

struct NodeVerdict {
  NodeId node;
  FilterVerdict verdict;  // The first filter that refuses.
};
// For every node that is there, in order, or for `only` one.
std::vector<NodeVerdict> JudgeAll(ClusterSnapshot& snapshot, PodId pod,
                                  std::optional<NodeId> only = std::nullopt);
// What each filter says.
std::vector<FilterVerdict> JudgeEach(ClusterSnapshot& snapshot, PodId pod, NodeId node);

enum class FilterDetail : uint8_t { kFirstNo, kEveryFilter };
// {"pod": "NAMESPACE/NAME", "nodes": [{"node": ..., "fits": ...}]}
nlohmann::ordered_json FilterJson(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                                  FilterDetail detail);

}  // namespace ebb

#endif  // EBB_REPORT_FILTER_REPORT_H_
