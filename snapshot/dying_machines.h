// DyingMachines: which nodes are about to lose the machine that they run on.
//
// A Machine (Cluster API, OpenShift) or a NodeClaim (Karpenter) that is being deleted takes its
// node with it.  It names its node; if it names none, its node is the one with its provider ID.
// Machines that are not being deleted are ignored.  A NodeClaim with the condition
// InstanceTerminating counts as being deleted.
//
// Cost:    one or two hash look-ups per call; none if no machine is being deleted.
// Threads: const methods may run concurrently.
// Source:  cluster-api api/core/v1beta1 Machine; openshift/api machine/v1beta1 Machine;
//          karpenter pkg/apis/v1 NodeClaim.

#ifndef EBB_SNAPSHOT_DYING_MACHINES_H_
#define EBB_SNAPSHOT_DYING_MACHINES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/ids.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/symbols.h"

namespace ebb {

class DyingMachines {
 public:
  void Put(const objects::Machine& machine, Symbols& symbols);
  void Put(const objects::NodeClaim& claim, Symbols& symbols);
  // REQUIRES: the same object was put.
  void Remove(const objects::Machine& machine, Symbols& symbols);
  void Remove(const objects::NodeClaim& claim, Symbols& symbols);

  [[nodiscard]] bool empty() const { return by_node_.empty() && by_provider_id_.empty(); }
  // The machine of the node with this name and spec.providerID: "Machine ns/m", "NodeClaim c".
  // If there are several, the first by name.  Null if no machine of the node is being deleted.
  [[nodiscard]] const std::string* Of(TextId node_name, TextId provider_id) const;

 private:
  using Names = absl::flat_hash_map<TextId, std::vector<std::string>>;  // Names are sorted.

  template <typename Kind>
  void Add(const Kind& machine, Symbols& symbols);
  template <typename Kind>
  void Drop(const Kind& machine, Symbols& symbols);

  Names by_node_;
  Names by_provider_id_;  // Machines that name no node.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_DYING_MACHINES_H_
