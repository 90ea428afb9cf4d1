// VolumeBinding: the volumes of the pod's claims can be used from the node.
//
// A bound claim: the node passes its volume's node affinity.  An unbound claim of
// a class that waits for its first consumer: some free volume of the class fits on
// that node, each for one claim of the pod, small claims first; else the class can
// provision one there, and where its driver tracks capacity there is enough left.
// Any other unbound claim keeps the pod off every node.
//
// Depends on nothing but claims and node, so a verdict never changes in a plan.
// Of volumes of equal size the scheduler takes any; ebb takes the first of the input.
//
// Cost:    O(claims); for unbound ones O(volumes of the class + capacities).
// Threads: pure.
// Source:  kubernetes pkg/scheduler/framework/plugins/volumebinding, and
//          component-helpers storage/volume FindMatchingVolume.

#ifndef EBB_PREDICATES_VOLUME_BINDING_H_
#define EBB_PREDICATES_VOLUME_BINDING_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/catalog.h"

namespace ebb {

// All that is wrong, as the scheduler reports it.
struct VolumeBindingVerdict {
  bool node_conflict = false;  // A bound volume's node affinity.
  bool bind_conflict = false;  // No volume for an unbound claim, and none can be made.
  bool not_enough_space = false;
  bool volume_missing = false;  // A claim is bound to a volume that does not exist.
  // The scheduler fails: its text is free.  Null: it does not.
  const std::string* error = nullptr;

  [[nodiscard]] bool Fits() const {
    return error == nullptr && !node_conflict && !bind_conflict && !not_enough_space &&
           !volume_missing;
  }
  void AppendReasons(std::vector<std::string>& reasons) const;
};

// REQUIRES: PreFilterVolumeBinding passed.
VolumeBindingVerdict JudgeVolumeBinding(const Catalog& catalog, const PodShape& shape,
                                        const NodeInfo& node);

// PreFilter: why the pod fits nowhere, if so.
std::optional<std::string> PreFilterVolumeBinding(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_PREDICATES_VOLUME_BINDING_H_
