// The four published schools as policies.  Each hands the pool over to its own rules (clusterman.h
// and so on) in their units, and says what they came to in the common ones.
//
// - Clusterman: the pool is one resource group, each node an instance of `node_weight` units that
//   has joined; a signal that is not internal is read from signals cpus, mem, disk and gpus.
// - Escalator: delta is what the program returns; nodes go oldest first.  Its calls are assumed to
//   succeed.
// - Maestro: rooms are the signals rooms_ready, rooms_occupied and rooms_creating that are given.
//   Without any, pods are occupied rooms, also those that wait, and what is left of roomsPerNode
//   is ready.  Its delta of rooms is as many nodes as it takes (up) or as it empties (down).
// - Replicator: pods are allocations, their controllers jobs, those of `scaled_jobs` registered for
//   scaling; disk is ephemeral storage.
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
