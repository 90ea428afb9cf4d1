// NewNodeObjects: the Kubernetes objects of nodes that do not exist yet: a copy of a node of the
// cluster, its sibling, and of the pods of DaemonSets and static pods there.
//
//   absl::StatusOr<NewNodeObjects> objects = NewNodeObjects::Read(cluster, {"general-1"});
//   absl::Status status = objects->Put(type, "new-m7i.large-1", batch);
//   status = cluster.Take(batch.changes());
//
// A new node has the sibling's labels without MachineType::left_out, and its taints and those of
// its group without those of a node that starts or goes.  The labels for its name and its instance
// type are its own.
//
// Cost:    Read: one pass over all objects.  Put: parsing the node and its pods.
// Threads: const methods may run concurrently.
// Errors:  FailedPrecondition if an object of a sibling has a field that ebb does not know.

#ifndef EBB_PLANNING_NEW_NODES_H_
#define EBB_PLANNING_NEW_NODES_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "groups/machine_types.h"
#include "planning/live_cluster.h"
#include "snapshot/live/change_batch.h"

namespace ebb {

class NewNodeObjects {
 public:
  static absl::StatusOr<NewNodeObjects> Read(LiveCluster& cluster,
                                             const std::set<std::string>& siblings);

  // Adds the node and its pods to `batch`.  REQUIRES: type.sibling was read.
  absl::Status Put(const MachineType& type, const std::string& name, ChangeBatch& batch) const;
  // Adds their deletion.
  absl::Status Delete(const MachineType& type, const std::string& name, ChangeBatch& batch) const;
  // The number of pods on a new node.
  [[nodiscard]] size_t Pods(const MachineType& type) const;
  // (namespace, name) of each pod on the new node of this name.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> PodNames(
      const MachineType& type, std::string_view node) const;

 private:
  struct Pod {
    std::string namespace_name;
    std::string name;
    std::string json;
  };
  struct Sibling {
    std::string node;  // As JSON.
    std::vector<Pod> pods;
  };
  class Sink;

  std::map<std::string, Sibling, std::less<>> siblings_;
};

}  // namespace ebb

#endif  // EBB_PLANNING_NEW_NODES_H_
