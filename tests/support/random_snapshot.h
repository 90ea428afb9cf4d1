// RandomObjects makes small clusters with everything that the snapshot counts: zones and hosts,
// taints, spread constraints with every policy, affinity and anti-affinity over namespaces, and
// claims that several pods share.
//
// Change makes the same random operation on a snapshot and on its twin.

#ifndef EBB_TESTS_SUPPORT_RANDOM_SNAPSHOT_H_
#define EBB_TESTS_SUPPORT_RANDOM_SNAPSHOT_H_

#include <memory>

#include "snapshot/cluster_snapshot.h"
#include "tests/support/cluster_snapshot_twin.h"
#include "tests/support/random_seed.h"

namespace ebb::test {

struct RandomClusterSize {
  int nodes = 10;
  int pods = 40;
};

std::shared_ptr<const TwinObjects> RandomObjects(Dice& dice, RandomClusterSize size);

// Ends the process if the builder rejects the objects.
ClusterSnapshot BuildSnapshot(const TwinObjects& objects);

inline constexpr size_t kDepthMax = 10;

// Makes one operation: on a pod, a node or the ghost, or opening or closing a fork.  Never closes
// the first `keep_open` forks.
void Change(ClusterSnapshot& snapshot, SnapshotTwin& twin, const TwinObjects& objects, Dice& dice,
            size_t keep_open = 0);

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_RANDOM_SNAPSHOT_H_
