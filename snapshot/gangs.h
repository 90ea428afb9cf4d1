// Gangs: which pods may leave their nodes although they belong to a gang.
//
// A gang is a set of pods that run together or not at all.  Moving one of them stops the others'
// work.  A gang holds its pods where they are, except:
//   - a gang of one running pod, which moves whole;
//   - a group whose policy is not a gang, and whose pods may be disrupted one by one;
//   - the pods beyond the minimum of a group whose pods may be disrupted one by one: as many as run
//     beyond it may move, whatever else happens.  Chosen are the pods of the nodes with the fewest
//     pods of the gang; a node whose pods of the gang exceed what is left is passed over.
// The choice is the same for every plan of a snapshot, so that any subset of a plan keeps the
// minimum at each moment.
//
// Cost:    O(placed pods), and nothing if no pod belongs to a gang.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_GANGS_H_
#define EBB_SNAPSHOT_GANGS_H_

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Counts the running pods of every gang, and says which of them may move.  A running pod is on a
// node, has not ended and is not being deleted.
GangStates CountGangs(const ClusterSnapshot& snapshot);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_GANGS_H_
