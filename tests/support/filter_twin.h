// The slow twin of predicates/filters.h: judges straight from the objects, walks
// every pod for every question, keeps nothing.  Shares no code with the filters,
// the snapshot's tables or its selectors.
//
// Cost:    O(pods x terms) a filter.
// Threads: pure.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, default profile; the
//          volume filters are in volume_twin.h.

#ifndef EBB_TESTS_SUPPORT_FILTER_TWIN_H_
#define EBB_TESTS_SUPPORT_FILTER_TWIN_H_

#include <cstddef>
#include <optional>
#include <string_view>

#include "predicates/filters.h"
#include "tests/support/random_cluster.h"

namespace ebb::test {

struct TwinVerdict {
  FilterVerdict verdict;      // A refusal without reasons: the plugin fails with a text of its own.
  bool by_prefilter = false;  // It was refused before any node was asked.
};

// May pods[pod], taken off its node, run on nodes[node]?
TwinVerdict TwinExplain(const RawCluster& cluster, size_t pod, size_t node);

// What the pods on nodes[node] request of the resource, over what the node has, as
// utilization counts it; nullopt: the node has none.  No pod is left out.
std::optional<double> TwinUtilization(const RawCluster& cluster, size_t node,
                                      std::string_view resource);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_FILTER_TWIN_H_
