// The four published schools as policies.  Each converts an observation to the units of its own
// rules (clusterman.h and so on), and the result to a PolicyDecision.
//
// - Clusterman: the pool is one resource group, and each node is an instance of `node_weight` units
//   that has joined the cluster.  A signal that is not internal is read from the signals cpus, mem,
//   disk and gpus.
// - Escalator: delta is the program's, after its bounds; nodes go oldest first.  The policy assumes
//   that the program's calls succeed.
// - Maestro: rooms are the signals rooms_ready, rooms_occupied and rooms_creating.  If none of them
//   is given, each pod is an occupied room, also a pending pod, and the rest of roomsPerNode is
//   ready.  A delta of rooms becomes the nodes that hold the new rooms (up), or the nodes that it
//   empties (down).
// - Replicator: pods are allocations and their controllers are jobs; the jobs of `scaled_jobs` are
//   registered for scaling; disk is ephemeral storage.
//
// Threads: pure.

#ifndef EBB_SIZING_POLICY_POLICY_SCHOOLS_H_
#define EBB_SIZING_POLICY_POLICY_SCHOOLS_H_

#include "sizing/policy/policy_school.h"

namespace ebb {

PolicySchool ClustermanSchool();
PolicySchool EscalatorSchool();
PolicySchool MaestroSchool();
PolicySchool ReplicatorSchool();

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_POLICY_SCHOOLS_H_
