// The clusters that benchmarks run over, by name:
//
//   uniform:N   N nodes of 10 CPU and 10,000 MiB, 40 pods of 1% of both on each, safe to
//               evict: the shape of Cluster Autoscaler's own scale-down benchmark.
//   uniform:NxP the same with P pods on each.
//   mixed:N     six machine shapes in three zones and three pools, one of them tainted;
//               DaemonSets, and applications of Pareto sizes up to a third of the cpu, with
//               node selectors, affinity, zone spread, budgets and local storage.
//   topology:N  N nodes of 8 CPU in three zones; applications of 3 to 30 pods, every pod
//               with a hostname anti-affinity and a zone spread constraint to its own.
//   repelling:N N nodes of 8 CPU with 10 pods each; applications of 5, every pod with a
//               hostname anti-affinity to its own.
//   terms:P     P pods on P/10 nodes, each with a hostname anti-affinity term of its own
//               that begins with a label which all pods have: many terms, each of one pod.
//   excluding:P P pods on P/10 nodes, each of which suffers only itself on its node: P terms,
//               each of all pods but one.
//   budgets:P   as many pods, and P budgets, each for all of them.
//   claims:P    as many pods, each with a claim that waits for its first consumer, and P free
//               volumes, each reachable from one node.
//   openb       the openb trace (snapshot/samples/openb.h), half of its pods ended; needs its
//   files. else        a file or folder that snapshot/formats/read_input.h can read.
//
// The seeds are fixed: a name means the same cluster everywhere.  Clusters are made
// once and kept; whoever changes one must change it back.

#ifndef EBB_BENCH_WORKLOADS_H_
#define EBB_BENCH_WORKLOADS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/node_groups.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/object_sink.h"

namespace ebb::bench {

struct Workload {
  std::string name;
  ClusterSnapshot snapshot;
  NodeGroups groups;               // One, of all nodes.
  std::vector<NodeId> candidates;  // All nodes, in the order of the input.
  std::vector<PodId> pending;
  int64_t now_s = 0;  // A month after the newest object.
};

// Where the openb files are: openb_node_list_all_node.csv, openb_pod_list_default.csv.
void SetOpenbFolder(std::string folder);

// Errors: NotFound where openb's files are missing; what the readers say.
absl::StatusOr<Workload*> GetWorkload(std::string_view name);

// Moves every 100th pod to the next node that has room, from the pod `round` % 100.
// Undone by Revert.
void ChurnPods(ClusterSnapshot& snapshot, uint32_t round);

// The objects of a workload, generated or read anew.
absl::Status WriteWorkload(std::string_view name, ObjectSink& sink);

}  // namespace ebb::bench

#endif  // EBB_BENCH_WORKLOADS_H_
