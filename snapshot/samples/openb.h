// Makes a cluster from the openb trace: nodes and pods of a production GPU cluster, published as
// CSV files with hkust-adsl/kubernetes-scheduler-simulator.
//
// The trace does not say on which node a pod ran, so arrivals are replayed: the pods come in random
// order.  Each pod goes to the node that would be least allocated with it (cpu share plus memory
// share, the first of equals) among the nodes where it fits:
//   - the node has room for its cpu, memory and whole GPUs, and fewer than 105 pods;
//   - the node has a GPU model that the pod's gpu_spec allows, if it has one;
//   - a pod without GPUs does not use the last 30% of a GPU node's cpu.
// A pod that fits nowhere is left out.  Then a random share of the placed pods has ended.  Every
// pod is the only one of its ReplicaSet.
//
// Input:  nodes: sn, cpu_milli, memory_mib, gpu, model.  Pods: name, cpu_milli,
//         memory_mib, num_gpu, gpu_spec (allowed models, separated by "|").  Columns are found by
//         name, in any order; other columns are ignored.
// Errors: one line with file, line and column; errors of the sink with file and line.
// Deterministic: the same files, share and seed give the same objects on every platform.

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
  // The share of the placed pods that have ended, 0 to 1.  A larger share leaves more nodes that
  // can be removed.
  double ended_share = 0.5;
  uint64_t seed = 1;
};

struct OpenbStats {
  uint64_t nodes = 0;
  uint64_t pods = 0;    // In the trace.
  uint64_t placed = 0;  // Pods that fit somewhere.
  uint64_t ended = 0;   // Placed pods that have ended.
};

// Hands over every node, then each running pod with its ReplicaSet.
absl::Status ImportOpenb(const OpenbOptions& options, ObjectSink& sink, OpenbStats& stats);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SAMPLES_OPENB_H_
