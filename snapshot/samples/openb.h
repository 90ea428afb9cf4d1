// Makes a cluster from the openb trace: nodes and pods of a production GPU cluster,
// published as CSV files with hkust-adsl/kubernetes-scheduler-simulator.
//
// The trace does not say where a pod ran, so arrivals are replayed: the pods come
// in random order, and each goes to the node that is least allocated with it (cpu
// share plus memory share, the first of equals) among those where it fits:
//   - room for its cpu, memory and whole GPUs, and fewer than 105 pods;
//   - a GPU model that its gpu_spec allows, where it has one;
//   - a pod without GPUs leaves the last 30% of a GPU node's cpu alone.
// A pod that fits nowhere is left out.  Then a share of the placed ones, chosen at
// random, has ended.  Every pod is the only one of a ReplicaSet of its own.
//
// Input:  nodes: sn, cpu_milli, memory_mib, gpu, model.  Pods: name, cpu_milli,
//         memory_mib, num_gpu, gpu_spec (allowed models, "|" between).  Columns are
//         found by name, in any order, with others among them.
// Errors: one line with file, line and column; the sink's with file and line.
// Deterministic: the same files, share and seed give the same objects everywhere.

#ifndef EBB_SNAPSHOT_SAMPLES_OPENB_H_
#define EBB_SNAPSHOT_SAMPLES_OPENB_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

struct OpenbOptions {
  std::string nodes_path;
  std::string pods_path;
  // Of the placed pods, this share has ended since; 0 to 1.  More of them leaves
  // more nodes to be removed.
  double ended_share = 0.5;
  uint64_t seed = 1;
};

struct OpenbStats {
  uint64_t nodes = 0;
  uint64_t pods = 0;    // In the trace.
  uint64_t placed = 0;  // Of them; the rest fitted nowhere.
  uint64_t ended = 0;   // Of those placed.
};

// Hands over every node, then each running pod with its ReplicaSet.
absl::Status ImportOpenb(const OpenbOptions& options, ObjectSink& sink, OpenbStats& stats);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SAMPLES_OPENB_H_
