// The clusters that benchmarks run over, by name:
//
//   KIND:N      N nodes of a kind that `ebb gen` makes (snapshot/samples/generate.h): uniform,
//               mixed, company, topology, repelling, diverse.
//   uniform:NxP the same with P pods on each.
//   KIND:P      P pods of terms, excluding, budgets or claims, on P/10 nodes.
//   openb       the openb trace (snapshot/samples/openb.h), half of its pods ended; needs its
//               files.
//   else        a file or folder that snapshot/formats/read_input.h can read.
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
#include "engine/plan/node_groups.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/objects/object_sink.h"

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
