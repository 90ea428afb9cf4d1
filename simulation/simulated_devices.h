// SimulatedDevices: the ResourceClaims and ResourceSlices of a cluster in memory (docs/dra.md).
//
// It keeps the objects and changes them as the scheduler, the controller of claims and the drivers
// of devices do; SimulatedObjects says when.  `put` is called with each object that changes.
//
// Cost:    a look-up and the object's size for each change.
// Threads: not thread-safe.

#ifndef EBB_SIMULATION_SIMULATED_DEVICES_H_
#define EBB_SIMULATION_SIMULATED_DEVICES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb {

class SimulatedDevices {
 public:
  // `gone`: the object is deleted.
  using Put = absl::FunctionRef<void(const objects::StorageObject& object, bool gone)>;
  struct PodName {
    std::string_view namespace_name;
    std::string_view name;
    std::string_view uid;
  };

  // An object of the input.
  void Read(const objects::StorageObject& object);

  // --- Claims
  // The claim, from which claims of other pods may be made; null: there is none.
  [[nodiscard]] std::shared_ptr<const UnpackedObject> Find(std::string_view namespace_name,
                                                           std::string_view name) const;
  // Makes a claim of the pod that requests what `like` requests, and that is not allocated.
  void MakeLike(const UnpackedObject& like, const PodName& pod, std::string_view name,
                int64_t now_s, Put put);
  // Allocates the pod's claims that are not allocated, on a node of the snapshot, and reserves all
  // of them for the pod.  Returns false, and changes nothing, if the node has no devices for them.
  // REQUIRES: the pod is on no node of the snapshot.
  [[nodiscard]] bool Allocate(const ClusterSnapshot& snapshot, PodId id, NodeId node,
                              const PodName& pod, Put put);
  // The pod no longer uses the claim.  Nothing happens if there is no such claim; a claim without
  // users is deallocated.
  void Leave(std::string_view name, const PodName& pod, Put put);
  void Remove(std::string_view namespace_name, std::string_view name, Put put);
  // How many devices the claim requests that are not allocated; a request for all counts as one.
  [[nodiscard]] int64_t Requested(std::string_view namespace_name, std::string_view name) const;

  // --- Slices
  // Gives a new node slices like those of the node `pattern`, also if that has gone.
  void CopySlices(std::string_view pattern, std::string_view node, Put put);
  void RemoveSlices(std::string_view node, Put put);
  // How many devices are on nodes like this node alone.
  [[nodiscard]] int64_t DevicesOf(std::string_view node) const;

 private:
  using Name = std::pair<std::string, std::string>;
  using Object = std::shared_ptr<const UnpackedObject>;
  // Sets the claim to `claim`.
  void Set(objects::ResourceClaim claim, Put put);

  std::map<Name, Object> claims_;
  std::map<std::string, std::vector<Object>, std::less<>> slices_;  // Of the input, by node.
  std::map<std::string, std::vector<std::string>, std::less<>> names_of_slices_;  // By node.
};

}  // namespace ebb

#endif  // EBB_SIMULATION_SIMULATED_DEVICES_H_
