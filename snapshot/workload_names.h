// The workloads behind a pod's controller, whose names follow from the names that they give.
//
// Threads: pure.

#ifndef EBB_SNAPSHOT_WORKLOAD_NAMES_H_
#define EBB_SNAPSHOT_WORKLOAD_NAMES_H_

#include <string_view>

#include "snapshot/catalog.h"

namespace ebb {

// "web" for the pods of the ReplicaSet "web-5d4f8" that have the label pod-template-hash: "5d4f8",
// which a Deployment gives them.  Empty if no Deployment made the pod's controller.
std::string_view DeploymentOf(const Catalog& catalog, const PodShape& shape);

struct WorkloadName {
  std::string_view kind;
  std::string_view name;
};
// The Deployment, or else the pod's controller.  The texts are the catalog's.
// REQUIRES: shape.has_controller.
WorkloadName WorkloadNameOf(const Catalog& catalog, const PodShape& shape);

// "backup" for the pods of the Job "backup-29384".  Empty if the controller is no Job, or if the
// Job's name has no such end.  A Job that was made by hand may look the same.
std::string_view CronJobOf(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_WORKLOAD_NAMES_H_
