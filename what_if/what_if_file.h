// What-if files: changes to plan with, as YAML (`ebb plan --what-if FILE`).
//
//   objects:                          # strategic merge patches (strategic_merge.h) of objects
//   - kind: PodDisruptionBudget
//     metadata: {namespace: shop, name: db}
//     status: {disruptionsAllowed: 3}
//   - kind: Node
//     metadata: {name: worker-7}
//     $patch: delete                  # delete it
//   workloads:                        # patches of every pod of a workload
//   - kind: Deployment
//     namespace: shop
//     name: web
//     requests: {cpu: 500m, memory: 1Gi}  # of its only container; with several, by name:
//                                         # {web: {cpu: 500m}, proxy: {cpu: 100m}}
//     patch: {metadata: {annotations: {cluster-autoscaler.kubernetes.io/safe-to-evict: "true"}}}
//   options:                          # flags of `ebb plan`
//     scale-down-utilization-threshold: 0.6
//
// Errors: InvalidArgument, naming file and field; a file that changes nothing is an error.

#ifndef EBB_WHAT_IF_WHAT_IF_FILE_H_
#define EBB_WHAT_IF_WHAT_IF_FILE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot/cluster_snapshot.h"
#include "what_if/object_patch.h"
#include "what_if/patched_cluster.h"

namespace ebb {

struct WorkloadPatch {
  ObjectName of;                                        // "Deployment", a controller or "Pod".
  std::string merge = "{}";                             // For each of its pods.
  using Requests = std::map<std::string, std::string>;  // Quantities by resource.
  Requests requests;                                    // For its only container.
  std::map<std::string, Requests> of_containers;        // By the container's name.
};

struct WhatIf {
  std::string file;
  std::vector<ObjectPatch> objects;
  std::vector<WorkloadPatch> workloads;
  std::vector<std::pair<std::string, std::string>> options;  // Flags without dashes, and values.
};

absl::StatusOr<WhatIf> ReadWhatIfFile(const std::string& path);
// `name` names the file in errors.
absl::StatusOr<WhatIf> ParseWhatIf(const std::string& name, const std::string& yaml);

// The pods of a workload that run in `snapshot`.
std::vector<ObjectName> PodsOf(const ObjectName& workload, const ClusterSnapshot& snapshot);

// All patches of objects, including a patch for each pod of a workload that runs in `snapshot` and
// that no patch deletes.
// Errors: NotFound: a workload without pods; InvalidArgument: requests for several containers
// without their names, or for a container that the pods do not have.
absl::StatusOr<std::vector<ObjectPatch>> PatchesOf(const WhatIf& what_if,
                                                   const ClusterSnapshot& snapshot,
                                                   PatchedCluster& patched);

}  // namespace ebb

#endif  // EBB_WHAT_IF_WHAT_IF_FILE_H_
