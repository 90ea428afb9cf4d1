// The slow twin of predicates/filters.h.  It decides from the objects alone, walks over every pod
// for each question, and caches nothing.  It shares no code with the filters, the snapshot's tables
// or its selectors.
//
// Cost:    O(pods x terms) for each filter.
// Threads: pure.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, default profile; the volume filters are
//          in volume_twin.h.
#ifndef EBB_TESTS_SUPPORT_FILTER_TWIN_H_
#define EBB_TESTS_SUPPORT_FILTER_TWIN_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "predicates/filters.h"
#include "tests/support/random_cluster.h"

namespace ebb::test {

struct TwinVerdict {
  FilterVerdict verdict;      // Without reasons: the plugin failed with a text of its own.
  bool by_prefilter = false;  // PreFilter rejected the pod for all nodes.
};

// Whether pods[pod], taken off its node, may run on nodes[node].
TwinVerdict TwinExplain(const RawCluster& cluster, size_t pod, size_t node);

// The share of the node's resource that its pods request, as utilization counts it.  No pod is left
// out.  nullopt: the node has none of the resource.
std::optional<double> TwinUtilization(const RawCluster& cluster, size_t node,
                                      std::string_view resource);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_FILTER_TWIN_H_
