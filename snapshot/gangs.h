// Gangs: which pods may leave their nodes although they belong to a gang.
//
// A gang is a set of pods that run together or not at all.  Moving one of them stops the others'
// work.  A gang holds its pods where they are, except:
//   - a gang of one running pod, which moves whole;
//   - a group whose policy is not a gang, and whose pods may be disrupted one by one;
//   - the pods beyond the minimum of a group whose pods may be disrupted one by one: as many as run
//     beyond it may move, whatever else happens.  Pods on nodes that are being deleted are lost,
//     and do not count as running beyond it.
// A pod of several gangs moves only if each of them lets it.
//
// The number of pods that must run (GangStates::State::least) is the minimum of the PodGroup, or
// the size that the pods declare in kGangSizeKeys.  Pods that have succeeded count for it as they
// do in the gang's own controller: for Volcano's minimum and Kueue's total.  A JobSet declares a
// number of Jobs; if the input lacks pods of some Job, more pods must run than do.
//
// The pods that may move are chosen by their nodes: first nodes that nothing obvious keeps (an
// annotation, or a pod that the rules do not move by default), then those with the fewest pods of
// the gang, then the least utilized, then by the snapshot's order.  A node is passed over if it has
// more pods of the gang than are left.
// The choice is the same for every plan of a snapshot, so that any subset of a plan keeps the
// minimum at each moment.
//
// Cost:    O(placed pods), and nothing if no pod belongs to a gang.
// Threads: pure functions.

#ifndef EBB_SNAPSHOT_GANGS_H_
#define EBB_SNAPSHOT_GANGS_H_

#include <cstdint>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Counts the running pods of every gang, and says which of them may move.  A running pod is on a
// node, has not ended and is not being deleted.
GangStates CountGangs(const ClusterSnapshot& snapshot);

// Whether the pod runs and belongs to a gang, as far as its shape tells.
bool RunsInGang(const PodShape& shape);

// Whether a plan may move the gang as a whole: all of its running pods, in one plan.  Not if its
// group is not understood or missing, if fewer pods run than its minimum, so that some may be
// unknown, or if some of them are lost already, with nodes that are being deleted.
bool MovesWhole(const Catalog& catalog, uint32_t gang);

// A branch of the snapshot whose catalog has the gangs counted as the snapshot's pods are now, as
// if moved pods ran again.  Cost: a copy of the catalog.
ClusterSnapshot WithGangsCounted(const ClusterSnapshot& snapshot);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_GANGS_H_
