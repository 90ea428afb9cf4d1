// CSI migration: which CSI driver serves a volume of an in-tree plugin, under
// which handle, and the volume's node affinity in that driver's own labels.
//
// Threads: pure.
// Source:  k8s.io/csi-translation-lib; which plugins count as migrated is from
//          the scheduler's nodevolumelimits/utils.go and volumebinding/binder.go.

#ifndef EBB_SNAPSHOT_OBJECTS_CSI_MIGRATION_H_
#define EBB_SNAPSHOT_OBJECTS_CSI_MIGRATION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb {

struct InTreePlugin {
  std::string_view source;        // Key in a volume ("awsElasticBlockStore").
  std::string_view name;          // "kubernetes.io/aws-ebs".
  std::string_view driver;        // "ebs.csi.aws.com".
  std::string_view topology_key;  // The driver's zone label; empty if the affinity is kept.
};

// Null if volumes of that source are not migrated.
const InTreePlugin* InTreePluginOfSource(std::string_view source);
const InTreePlugin* InTreePluginNamed(std::string_view name);

// Whether the scheduler does not count this provisioner's volumes under a CSI driver, although
// the provisioner has one.
bool IsUncountedPlugin(std::string_view provisioner);

// REQUIRES: InTreePluginOfSource(source) is not null.
// Errors: InvalidArgument if the volume has no CSI equivalent (an AWS volume ID or
//         GCE zones that do not parse, an Azure disk that is not managed).
absl::StatusOr<std::string> CsiHandle(const objects::Volume& volume);
absl::StatusOr<std::string> CsiHandle(const objects::PersistentVolume& volume);

// spec.nodeAffinity.required after migration: its zone label is replaced by the driver's.  If it
// has no zone label, the zones of the volume's own label are added.  The result borrows from
// `volume`.
objects::NodeSelector CsiNodeAffinity(const objects::PersistentVolume& volume,
                                      const InTreePlugin& plugin);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_CSI_MIGRATION_H_
