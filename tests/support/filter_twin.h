// The slow twin of predicates/filters.h: judges straight from the objects, walks
// every pod for every question, keeps nothing.  Shares no code with the filters,
// the snapshot's tables or its selectors.
//
// Cost:    O(pods x terms) a filter.
// Threads: pure.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, default profile,
//          without the volume filters.

#ifndef EBB_TESTS_SUPPORT_FILTER_TWIN_H_
#define EBB_TESTS_SUPPORT_FILTER_TWIN_H_

#include <cstddef>

#include "predicates/filters.h"
#include "tests/support/random_cluster.h"

namespace ebb::test {

// May pods[pod], taken off its node, run on nodes[node]?  A refusal without reasons
// says that the scheduler's plugin fails with a text of its own.
FilterVerdict TwinExplain(const RawCluster& cluster, size_t pod, size_t node);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_FILTER_TWIN_H_
