// PatchedCluster changes objects in a live cluster, and undoes the changes.
//
//   PatchedCluster patched(cluster);
//   if (absl::Status s = patched.Apply(patches); !s.ok()) return s;
//   absl::StatusOr<PlanResult> made =
//       TryPlan(query, groups, cluster.Snapshot(), cluster.Pending());
//   patched.Undo();
//
// Objects are changed as JSON in the form of the Kubernetes API.  This JSON has only the fields
// that decisions read: a patch of other fields is accepted and changes no plan (WithoutEffect).  A
// pod whose spec.nodeName is removed waits for a node.
//
// Cost:    that of the named objects: Find(), Unchanged() and WithoutEffect() write each once, and
//          Apply() and Undo() parse each patched object and take its change (docs/live.md).
// Memory:  the JSON of each object that was found.
// Threads: one at a time.
// Errors:  NotFound, naming every object that the cluster lacks; InvalidArgument, naming object and
//          field, if a patched object is invalid or has another UID or API group, or if an object
//          is deleted twice, or deleted and patched; FailedPrecondition, if the object has a
//          constraint that ebb does not know and so cannot write.  After an error the cluster is
//          unchanged.

#ifndef EBB_WHAT_IF_PATCHED_CLUSTER_H_
#define EBB_WHAT_IF_PATCHED_CLUSTER_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planning/live_cluster.h"
#include "snapshot/live/change_batch.h"
#include "what_if/object_patch.h"

namespace ebb {

class PatchedCluster {
 public:
  // Changes `cluster`.  No other code may change it while this object lives.
  explicit PatchedCluster(LiveCluster& cluster);
  ~PatchedCluster();
  PatchedCluster(const PatchedCluster&) = delete;
  PatchedCluster& operator=(const PatchedCluster&) = delete;

  // Finds objects, so that Object() has them.  Apply() finds the objects of its patches.
  absl::Status Find(std::span<const ObjectName> names);
  // The object as JSON, before any patch; null: the object cannot be written.
  // REQUIRES: Find() found it.
  [[nodiscard]] const std::string* Object(const ObjectName& name) const;

  // Applies all patches in order, or none.  REQUIRES: no patches are applied.
  absl::Status Apply(std::span<const ObjectPatch> patches);
  // The patched objects that did not change, sorted: their patch sets the values that they had, or
  // only fields that no decision reads.
  [[nodiscard]] absl::StatusOr<std::vector<ObjectName>> Unchanged();
  // A field of a patch that no decision reads, and whose parts have no effect either.
  struct FieldWithoutEffect {
    ObjectName of;
    std::string field;  // "spec.maxUnavailable"
  };
  // In the order of the patches.  Errors: InvalidArgument: a patch set a field of a pod's spec that
  // ebb does not know, so that the pod could not move.
  [[nodiscard]] absl::StatusOr<std::vector<FieldWithoutEffect>> WithoutEffect(
      std::span<const ObjectPatch> patches);
  // Restores the patched objects.  A node that was deleted returns as the last node.
  void Undo();

 private:
  LiveCluster& cluster_;
  // The objects found, or why they cannot be written.
  std::map<ObjectName, absl::StatusOr<std::string>> objects_;
  std::vector<ObjectName> patched_;
  ChangeBatch batch_;
};

}  // namespace ebb

#endif  // EBB_WHAT_IF_PATCHED_CLUSTER_H_
