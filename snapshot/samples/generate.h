// Makes clusters: for trying ebb out, for tests and for measuring.
//
// uniform: nodes of 10 CPU and 10,000 MiB, each with 40 pods of 1% of both, safe to
//          evict, one node group: the shape of Cluster Autoscaler's own scale-down
//          benchmark.
// mixed:   what a company's cluster has.  Pools general, batch, spot, db (tainted)
//          and gpu (tainted) of several machine shapes in three zones; control-plane
//          nodes; DaemonSets and other kube-system pods; teams' Deployments, StatefulSets,
//          Jobs and a few bare pods, with budgets, (anti-)affinity, zone spread,
//          node selectors, local storage, host ports, priorities and annotations;
//          some pods that have ended, are expendable or are pending.  About 40% of
//          the cpu is requested.  Every placed pod is where a scheduler may have
//          put it.
//
// Deterministic: the same options give the same objects on every platform.

#ifndef EBB_SNAPSHOT_SAMPLES_GENERATE_H_
#define EBB_SNAPSHOT_SAMPLES_GENERATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "snapshot/object_sink.h"

namespace ebb {

struct GenerateOptions {
  uint32_t nodes = 1000;  // Control-plane nodes come on top, in mixed.
  uint64_t seed = 1;
};

absl::Status GenerateUniform(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateMixed(const GenerateOptions& options, ObjectSink& sink);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SAMPLES_GENERATE_H_
