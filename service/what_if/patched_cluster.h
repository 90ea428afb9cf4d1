// PatchedCluster makes changes of objects in a live cluster, and takes them back.
//
//   PatchedCluster patched(cluster);
//   if (absl::Status s = patched.Apply(patches); !s.ok()) return s;
//   absl::StatusOr<PlanResult> made = TryPlan(query, groups, cluster.Snapshot(),
//   cluster.Pending()); patched.Undo();
//
// Objects are changed as JSON, in the form of the Kubernetes API, with the fields that a decision
// reads: a patch of other fields is accepted and changes no plan (WithoutEffect).  A pod whose
// spec.nodeName is taken away waits for a node.
//
// Cost:    Find(): one pass over all objects of the cluster, for names that it does not know yet.
//          Apply() and Undo(): a reading of each object that is patched; docs/live.md.
// Memory:  the JSON of each object that was found.
// Threads: one at a time.
// Errors:  NotFound, naming every object that is not there; InvalidArgument, naming object and
//          field, where what comes of a patch is no such object, or is of another UID or API group,
//          or where an object is deleted twice, or deleted and patched; FailedPrecondition, where
//          the object has a constraint that ebb does not know and so cannot write.  The cluster is
//          as before then.

#ifndef EBB_SERVICE_WHAT_IF_PATCHED_CLUSTER_H_
#define EBB_SERVICE_WHAT_IF_PATCHED_CLUSTER_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "service/live_cluster.h"
#include "service/what_if/object_patch.h"
#include "snapshot/live/change_batch.h"

namespace ebb {

class PatchedCluster {
 public:
  // Changes `cluster`, which nobody else may change meanwhile.
  explicit PatchedCluster(LiveCluster& cluster);
  ~PatchedCluster();
  PatchedCluster(const PatchedCluster&) = delete;
  PatchedCluster& operator=(const PatchedCluster&) = delete;

  // Finds many objects in one pass, so that Apply need not look for them.
  absl::Status Find(std::span<const ObjectName> names);
  // The object as JSON, without the patches; null: it cannot be written.
  // REQUIRES: Find() found it.
  [[nodiscard]] const std::string* Object(const ObjectName& name) const;

  // All patches, one after the other, or none.  REQUIRES: nothing is applied.
  absl::Status Apply(std::span<const ObjectPatch> patches);
  // Of the objects that are patched those that are as they were: the patch sets what was there, or
  // fields that no decision reads; sorted.  One pass over all objects.
  [[nodiscard]] absl::StatusOr<std::vector<ObjectName>> Unchanged();
  // Fields of patches that no decision reads, and of which no part has an effect.
  struct FieldWithoutEffect {
    ObjectName of;
    std::string field;  // "spec.maxUnavailable"
  };
  // In the order of the patches.  One pass over all objects.  Errors: InvalidArgument: a patch set
  // a field of a pod's spec that ebb does not know, so that the pod could not move.
  [[nodiscard]] absl::StatusOr<std::vector<FieldWithoutEffect>> WithoutEffect(
      std::span<const ObjectPatch> patches);
  // Puts back what was patched.  A node that was gone comes back as the last of the nodes.
  void Undo();

 private:
  LiveCluster& cluster_;
  // That were found, and why they cannot be written.
  std::map<ObjectName, absl::StatusOr<std::string>> objects_;
  std::vector<ObjectName> patched_;
  ChangeBatch batch_;
};

}  // namespace ebb

#endif  // EBB_SERVICE_WHAT_IF_PATCHED_CLUSTER_H_
