// VolumeBinding: the volumes of the pod's claims can be used from the node.
//
// A bound claim: the node satisfies the node affinity of its volume.
// An unbound claim whose class waits for the first consumer: either some free volume of the class
// fits on the node, or the class can provision one there and, if its driver tracks capacity,
// enough is left.  Each free volume serves one claim of the pod; small claims choose first.
// Any other unbound claim keeps the pod off every node.
//
// The verdict depends only on claims and the node, so it never changes within a plan.
// Among volumes of equal size the scheduler takes any; ebb takes the first of the input.
//
// Cost:    O(claims); for unbound claims O(volumes of the class + capacities).
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

// All obstacles, as the scheduler reports them.
struct VolumeBindingVerdict {
  bool node_conflict = false;  // A bound volume's node affinity.
  bool bind_conflict = false;  // No volume for an unbound claim, and none can be provisioned.
  bool not_enough_space = false;
  bool volume_missing = false;  // A claim is bound to a volume that does not exist.
  // The scheduler reports an error, in words of its own.  Null: there is no error.
  const std::string* error = nullptr;

  [[nodiscard]] bool Fits() const {
    return error == nullptr && !node_conflict && !bind_conflict && !not_enough_space &&
           !volume_missing;
  }
  void AppendReasons(std::vector<std::string>& reasons) const;
};

// REQUIRES: PreFilterVolumeBinding returned nullopt.
VolumeBindingVerdict FilterVolumeBinding(const Catalog& catalog, const PodShape& shape,
                                         const NodeInfo& node);

// PreFilter: the reason why the pod fits nowhere, or nullopt.
std::optional<std::string> PreFilterVolumeBinding(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_PREDICATES_VOLUME_BINDING_H_
