// The slow twin of the storage filters: VolumeRestrictions, NodeVolumeLimits,
// VolumeBinding and VolumeZone, judged straight from the objects.  Shares no code
// with predicates/, snapshot/storage.h or snapshot/objects/csi_migration.h.
//
// A refusal without reasons says that the scheduler's plugin fails with a text of
// its own.
//
// Cost:    O(pods x volumes x objects) a question.
// Threads: pure.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, default profile;
//          k8s.io/component-helpers storage/volume; k8s.io/csi-translation-lib.

#ifndef EBB_TESTS_SUPPORT_VOLUME_TWIN_H_
#define EBB_TESTS_SUPPORT_VOLUME_TWIN_H_

#include <vector>

#include "predicates/filters.h"
#include "tests/support/random_cluster.h"

namespace ebb::test::twin {

// What PreFilter of the four says of the pod, wherever it goes.
FilterVerdict PreFilterVolumes(const RawCluster& cluster, const objects::Pod& pod);

// What Filter of the four says.  `neighbours` run on the node, `others` anywhere in
// the cluster, there included; `pod` is among neither.
// REQUIRES: PreFilterVolumes lets the pod pass.
FilterVerdict FilterVolumes(const RawCluster& cluster, const objects::Pod& pod,
                            const objects::Node& node,
                            const std::vector<const objects::Pod*>& neighbours,
                            const std::vector<const objects::Pod*>& others);

}  // namespace ebb::test::twin

#endif  // EBB_TESTS_SUPPORT_VOLUME_TWIN_H_
