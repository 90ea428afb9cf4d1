// The clusters that benchmarks use, by name:
//
//   KIND:N      N nodes of a kind that `ebb gen` makes (snapshot/samples/generate.h): uniform,
//               mixed, company, topology, repelling, diverse.
//   uniform:NxP N nodes of uniform, with P pods each.
//   KIND:P      P pods of terms, excluding, budgets or claims, on P/10 nodes.
//   devices:N   N nodes with eight devices each; pods use two fifths of them (device_workload.h).
//   openb       the openb trace (snapshot/samples/openb.h), half of whose pods have ended; needs
//               the trace's files.
//   other       a file or folder that snapshot/formats/read_input.h can read.
//
// The seeds are fixed: a name means the same cluster everywhere.  A cluster is made once and kept;
// a row that changes it must undo the change.

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
  NodeGroups groups;               // One group with all nodes.
  std::vector<NodeId> candidates;  // All nodes, in the order of the input.
  std::vector<PodId> pending;
  int64_t now_s = 0;  // A month after the creation of the newest object.
};

// Sets the folder with openb_node_list_all_node.csv and openb_pod_list_default.csv.
void SetOpenbFolder(std::string folder);

// Errors: NotFound if openb's files are missing; errors of the readers.
absl::StatusOr<Workload*> GetWorkload(std::string_view name);

// Moves every 100th pod, starting with pod `round` % 100, to the next node that has room.  The
// caller undoes this with Revert().
void ChurnPods(ClusterSnapshot& snapshot, uint32_t round);

// Generates or reads the objects of a workload again, and writes them to `sink`.
absl::Status WriteWorkload(std::string_view name, ObjectSink& sink);

}  // namespace ebb::bench

#endif  // EBB_BENCH_WORKLOADS_H_
