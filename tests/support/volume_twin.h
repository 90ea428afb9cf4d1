// The slow twin of the storage filters VolumeRestrictions, NodeVolumeLimits, VolumeBinding and
// VolumeZone.  It decides from the objects alone, and shares no code with predicates/,
// snapshot/storage.h or snapshot/objects/csi_migration.h.
//
// A refusal without reasons means that the scheduler's plugin fails with a text of its own.
//
// Cost:    O(pods x volumes x objects) for each question.
// Threads: pure.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, default profile;
//          k8s.io/component-helpers storage/volume; k8s.io/csi-translation-lib.

#ifndef EBB_TESTS_SUPPORT_VOLUME_TWIN_H_
#define EBB_TESTS_SUPPORT_VOLUME_TWIN_H_

#include <vector>

#include "predicates/filters.h"
#include "tests/support/random_cluster.h"

namespace ebb::test::twin {

// The PreFilter verdict of the four plugins for the pod, the same for all nodes.
FilterVerdict PreFilterVolumes(const RawCluster& cluster, const objects::Pod& pod);

// The Filter verdict of the four plugins.  `neighbours` run on the node, `others` anywhere in the
// cluster including the node; neither contains `pod`.
// REQUIRES: PreFilterVolumes accepts the pod.
FilterVerdict FilterVolumes(const RawCluster& cluster, const objects::Pod& pod,
                            const objects::Node& node,
                            const std::vector<const objects::Pod*>& neighbours,
                            const std::vector<const objects::Pod*>& others);

}  // namespace ebb::test::twin

#endif  // EBB_TESTS_SUPPORT_VOLUME_TWIN_H_
