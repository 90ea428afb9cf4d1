// Storage is the part of a Catalog that the storage filters read: volumes, claims,
// classes, drivers and attachments, with names resolved, and the volumes that each pod
// shape mounts.
//
// SnapshotBuilder fills it, with kinds in any order, and connects it once.  After that only a
// LiveSnapshot changes it, in place or by filling another Storage for the same pods (Effect).  A
// plan does not bind volumes: an unbound claim stays unbound while a plan moves pods, as in the
// autoscaler.
//
// Cost:      Add: some hash look-ups; Connect: nearly linear in the objects and the volumes of pod
//            shapes.
// Threads:   const methods may run concurrently; the others need exclusive access.
// Ownership: pointers in a Storage point into the same Storage.
// Source:    kubernetes pkg/scheduler/framework/plugins/{volumerestrictions,
//            nodevolumelimits,volumebinding,volumezone}, component-helpers
//            storage/volume and storage/ephemeral.

#ifndef EBB_SNAPSHOT_STORAGE_H_
#define EBB_SNAPSHOT_STORAGE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "base/check.h"
#include "snapshot/dying_machines.h"
#include "snapshot/ids.h"
#include "snapshot/karpenter_objects.h"
#include "snapshot/matching.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/room_objects.h"
#include "snapshot/services.h"
#include "snapshot/storage_info.h"
#include "snapshot/symbols.h"

namespace ebb {

class Storage {
 public:
  // (driver, pool) -> the number of ResourceSlices of the pool.
  using DevicePools = std::map<std::pair<std::string, std::string>, size_t>;

  // Errors: InvalidArgument, naming the object, if it has no name or was added before.
  absl::Status Add(const objects::StorageObject& object, Symbols& symbols);

  // Stores the fields of the pod's volumes that filters read.  Returns their index for volumes(); 0
  // if filters read none.
  uint32_t AddVolumesOf(const objects::Pod& pod, Symbols& symbols);

  // Resolves names.  Must be called once, after everything was added.
  void Connect(Symbols& symbols);

  // Connect for the last pod of AddVolumesOf, after Connect.
  void ConnectLastVolumes();

  // How an object that changes after Connect can be applied.
  enum class Effect : uint8_t {
    kInPlace,  // By Replace() and Remove().
    kAnew,     // By filling another Storage, made with WithoutObjects().
    kShapes,   // By rebuilding the catalog, because shapes of pods depend on it.
  };
  static Effect EffectOf(const objects::StorageObject& object);
  // For kInPlace.  `old` is the stored object of the same name; null if none exists.
  void Replace(const objects::StorageObject* old, const objects::StorageObject& object,
               Symbols& symbols);
  void Remove(const objects::StorageObject& object, Symbols& symbols);
  // Returns a Storage with the volumes of this one's pods but without its objects, to be filled and
  // connected.
  [[nodiscard]] Storage WithoutObjects() const;

  // REQUIRES: index > 0.
  [[nodiscard]] const PodVolumes& volumes(uint32_t index) const {
    EBB_DCHECK(index > 0 && index <= pod_volumes_.size());
    return pod_volumes_[index - 1];
  }

  // Null if there is no such CSINode.
  [[nodiscard]] const CsiNodeInfo* FindCsiNode(TextId node) const;
  // Whether the CSIDriver of this name, or any CSIDriver, sets preventPodSchedulingIfMissing.
  [[nodiscard]] bool PreventsScheduling(TextId driver) const {
    return preventing_drivers_.contains(driver);
  }
  [[nodiscard]] bool SomePreventScheduling() const { return !preventing_drivers_.empty(); }
  // Volumes that some VolumeAttachment attaches to the node, without duplicates.
  [[nodiscard]] std::span<const AttachableVolume> AttachedTo(TextId node) const;
  // Unreserved volumes by capacity, then reserved volumes by claim; equal ones in input order.
  [[nodiscard]] std::span<const VolumeInfo* const> VolumesOfClass(TextId storage_class) const;
  // The pools of devices that exist on this node only, sorted by driver and pool.
  // Null if there are none.
  [[nodiscard]] const DevicePools* PoolsOf(TextId node) const;
  [[nodiscard]] bool HasPools() const { return !pools_of_.empty(); }
  [[nodiscard]] const DyingMachines& dying_machines() const { return dying_machines_; }
  [[nodiscard]] const RoomObjects& room() const { return room_; }
  [[nodiscard]] const KarpenterObjects& karpenter() const { return karpenter_; }
  [[nodiscard]] const Services& services() const { return services_; }
  [[nodiscard]] const std::vector<StorageCapacity>& capacities() const { return capacities_; }

  // The zone and region labels, beta and GA.  A node without any of them is in every zone.
  [[nodiscard]] const std::array<TextId, 4>& zone_labels() const { return zone_labels_; }

  // The DeviceClass through which an extended resource is allocated; kNoText if none exists.
  [[nodiscard]] TextId DeviceClassOf(TextId resource) const;

  // The state of a claim that a pod of the namespace names: "ResourceClaim ns/gpu is
  // not allocated".
  [[nodiscard]] std::string Describe(TextId namespace_name, const PodResourceClaimInfo& claim,
                                     const Symbols& symbols) const;

 private:
  using NamespacedName = std::pair<TextId, TextId>;
  struct Attachment {
    TextId attacher;
    TextId volume;
    friend bool operator==(const Attachment&, const Attachment&) = default;
  };

  void Put(const objects::PersistentVolume& volume, Symbols& symbols);
  void Put(const objects::PersistentVolumeClaim& claim, Symbols& symbols);
  void Put(const objects::StorageClass& storage_class, Symbols& symbols);
  void Put(const objects::CsiDriver& driver, Symbols& symbols);
  void Put(const objects::CsiNode& node, Symbols& symbols);
  void Put(const objects::VolumeAttachment& attachment, Symbols& symbols);
  void Put(const objects::CsiStorageCapacity& capacity, Symbols& symbols);
  void Put(const objects::DeviceClass& device_class, Symbols& symbols);
  void Put(const objects::ResourceClaim& claim, Symbols& symbols);
  void Put(const objects::ResourceClaimTemplate& from, Symbols& symbols);
  void Put(const objects::ResourceSlice& slice, Symbols& symbols);
  void Put(const objects::DeviceTaintRule& /*rule*/, Symbols& /*symbols*/) {}
  void Put(const objects::Machine& machine, Symbols& symbols) {
    dying_machines_.Put(machine, symbols);
  }
  void Put(const objects::NodeClaim& claim, Symbols& symbols) {
    dying_machines_.Put(claim, symbols);
    karpenter_.Put(claim, symbols);
  }
  void Put(const objects::NodePool& pool, Symbols& symbols) { karpenter_.Put(pool, symbols); }
  void Put(const objects::PodGroup& group, Symbols& symbols) { room_.Put(group, symbols); }
  void Put(const objects::EvictionRequest& request, Symbols& symbols) {
    room_.Put(request, symbols);
  }
  void Put(const objects::PodTemplate& from, Symbols& symbols) { room_.Put(from, symbols); }
  void Put(const objects::CapacityBuffer& buffer, Symbols& symbols) { room_.Put(buffer, symbols); }
  void Put(const objects::VerticalPodAutoscaler& vpa, Symbols& symbols) { room_.Put(vpa, symbols); }
  void Put(const objects::Service& service, Symbols& symbols) { services_.Put(service, symbols); }

  void ConnectClaim(ClaimInfo& claim, Symbols& symbols) const;
  void ConnectPod(const PodVolumes& asked);
  void ConnectAttachments(TextId node, Symbols& symbols);

  // Kind, API group (only of PodGroups, which several groups have), namespace, name.
  absl::flat_hash_set<std::tuple<size_t, TextId, TextId, TextId>> seen_;

  std::deque<VolumeInfo> volumes_;
  std::deque<ClaimInfo> claims_;
  std::deque<StorageClassInfo> classes_;
  std::vector<StorageCapacity> capacities_;
  absl::flat_hash_map<TextId, std::vector<Attachment>> attachments_;  // By node.
  std::vector<PodVolumes> asked_volumes_;  // As in the pods, not connected.
  std::vector<PodVolumes> pod_volumes_;

  absl::flat_hash_map<TextId, const VolumeInfo*> volumes_by_name_;
  absl::flat_hash_map<NamespacedName, const ClaimInfo*> claims_by_name_;
  absl::flat_hash_map<TextId, const StorageClassInfo*> classes_by_name_;
  absl::flat_hash_map<TextId, CsiNodeInfo> csi_nodes_;
  absl::flat_hash_set<TextId> drivers_with_capacity_;
  absl::flat_hash_set<TextId> preventing_drivers_;
  absl::flat_hash_map<TextId, TextId> device_classes_;                // By resource.
  absl::flat_hash_map<NamespacedName, std::string> resource_claims_;  // "is not allocated".
  absl::flat_hash_set<NamespacedName> resource_claim_templates_;
  DyingMachines dying_machines_;
  RoomObjects room_;
  KarpenterObjects karpenter_;
  Services services_;
  absl::flat_hash_map<TextId, DevicePools> pools_of_;  // By node.

  absl::flat_hash_map<TextId, std::vector<const VolumeInfo*>> volumes_by_class_;
  absl::flat_hash_map<TextId, std::vector<AttachableVolume>> attached_to_;
  std::array<TextId, 4> zone_labels_{};
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_STORAGE_H_
