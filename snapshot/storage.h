// Storage is the part of a Catalog that the storage filters read: volumes, claims,
// classes, drivers and attachments, with names resolved, and what each pod shape
// mounts of them.
//
// Filled by SnapshotBuilder in any order of kinds, then connected once; from then
// on it does not change.  A plan does not bind volumes: a claim that is unbound
// stays unbound while pods are moved in a simulation, as in the autoscaler.
//
// Cost:      Add: some hash look-ups; Connect: linear.
// Threads:   const methods may run concurrently.
// Ownership: pointers in here point into the same Storage.
// Source:    kubernetes pkg/scheduler/framework/plugins/{volumerestrictions,
//            nodevolumelimits,volumebinding,volumezone}, component-helpers
//            storage/volume and storage/ephemeral.

#ifndef EBB_SNAPSHOT_STORAGE_H_
#define EBB_SNAPSHOT_STORAGE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "snapshot/ids.h"
#include "snapshot/matching.h"
#include "snapshot/objects.h"
#include "snapshot/storage_objects.h"
#include "snapshot/symbols.h"

namespace ebb {

// spec.nodeAffinity.required of a volume.  matchFields are parsed but, as in the
// scheduler, never compared: a term with nothing else matches every node.
struct VolumeAffinity {
  bool everywhere = true;
  Constraints terms;

  [[nodiscard]] bool Matches(std::span<const Label> node_labels, const Symbols& symbols) const {
    return everywhere || MatchesNodeAffinity(terms, kNoText, node_labels, symbols);
  }
};

// A volume that counts against a CSI driver's limit per node.
struct AttachableVolume {
  TextId id;  // "driver/handle".
  TextId driver;
};

// What one zone or region label of a volume asks of a node.
struct VolumeZoneLabel {
  TextId key;
  TextId ga_key;  // Looked at where the node lacks `key`; equal to it for GA labels.
  std::vector<TextId> values;
};

struct VolumeInfo {
  struct ClaimReference {
    TextId namespace_name;
    TextId name;
    TextId uid;  // kNoText: any.
  };
  TextId name;
  TextId storage_class;
  int64_t capacity_bytes = 0;
  LabelSet labels;
  std::vector<TextId> access_modes;
  TextId mode;
  TextId attributes_class;
  std::optional<ClaimReference> claim;
  bool available = false;  // status.phase is Available.
  bool deleting = false;
  VolumeAffinity affinity;

  // In-tree volumes with a CSI equivalent: what holds on nodes that say they are
  // migrated.  kNoText: no such volume.
  TextId in_tree_plugin = kNoText;
  VolumeAffinity csi_affinity;
  std::string translation_error;  // Not empty: there is none for this one.

  std::optional<AttachableVolume> attachable;
  TextId csi_handle = kNoText;
  bool is_csi = false;
  std::vector<VolumeZoneLabel> zones;
};

struct StorageClassInfo {
  TextId name;
  TextId provisioner;
  bool has_binding_mode = true;
  bool delayed = false;                                           // WaitForFirstConsumer.
  bool provisions = true;                                         // Has a provisioner that is one.
  std::vector<std::vector<LabelRequirement>> allowed_topologies;  // ORed.
  bool allows_every_node = true;
  bool tracks_capacity = false;  // Its driver reports CSIStorageCapacities.
};

struct ClaimInfo {
  TextId namespace_name;
  TextId name;
  TextId uid;
  std::optional<TextId> controller_uid;  // Of the owner with controller: true.
  TextId storage_class;                  // kNoText: none.
  TextId mode;
  TextId attributes_class;
  TextId volume_name;  // kNoText: not bound.
  std::vector<TextId> access_modes;
  bool read_write_once_pod = false;
  bool lost = false;
  bool deleting = false;
  bool bind_completed = false;          // pv.kubernetes.io/bind-completed
  std::optional<TextId> selected_node;  // volume.kubernetes.io/selected-node
  std::optional<int64_t> request_bytes;
  std::optional<Selector> selector;
  std::string selector_error;

  // Set by Connect; null where there is none of that name.
  const VolumeInfo* volume = nullptr;
  const StorageClassInfo* klass = nullptr;
  std::optional<AttachableVolume> attachable;

  [[nodiscard]] bool FullyBound() const { return volume_name != kNoText && bind_completed; }
};

struct StorageCapacity {
  TextId storage_class;
  int64_t volume_size_max = 0;
  Selector topology;
};

struct CsiNodeInfo {
  struct Limit {
    TextId driver;
    int64_t volumes_max;
  };
  std::vector<Limit> limits;             // Drivers without one are left out.
  std::vector<TextId> migrated_plugins;  // storage.alpha.kubernetes.io/migrated-plugins
};

// A disk named in the pod itself of which a node can serve one user.
struct InlineDisk {
  enum class Kind : uint8_t { kGcePersistentDisk, kAwsElasticBlockStore, kIscsi, kRbd };
  Kind kind;
  bool read_only = false;
  TextId id;
  TextId pool = kNoText;         // kRbd.
  std::vector<TextId> monitors;  // kRbd.
};

// What storage filters read of a pod's volumes, in the pod's order.
struct PodVolumes {
  struct ClaimUse {
    TextId name;
    bool ephemeral = false;            // Made for this pod; must be owned by it.
    bool owned = true;                 // Set by Connect.
    const ClaimInfo* claim = nullptr;  // Set by Connect; null: there is none.
  };
  TextId namespace_name;
  TextId pod_name;  // Of the first pod with these volumes; its own where one is ephemeral.
  TextId pod_uid;
  std::vector<ClaimUse> claims;
  std::vector<InlineDisk> disks;

  // Volumes that count against limits, each once; those of claims join in Connect.
  std::vector<AttachableVolume> attachables;
  std::string attach_error;  // Not empty: the scheduler fails to count them.
};

// One entry of a pod's spec.resourceClaims, as objects::PodResourceClaim.
struct PodResourceClaimInfo {
  TextId name;
  TextId claim_name;
  TextId template_name;
};

class Storage {
 public:
  // Errors: InvalidArgument naming the object: it has no name or occurs twice.
  absl::Status Add(const objects::StorageObject& object, Symbols& symbols);

  // Keeps what filters read of the pod's volumes.  0: nothing.
  uint32_t AddVolumesOf(const objects::Pod& pod, Symbols& symbols);

  // Resolves names.  Call once, when all is added.
  void Connect(Symbols& symbols);

  // REQUIRES: index > 0.
  [[nodiscard]] const PodVolumes& volumes(uint32_t index) const { return pod_volumes_[index - 1]; }

  // Null: there is none.
  [[nodiscard]] const CsiNodeInfo* FindCsiNode(TextId node) const;
  // Volumes that some VolumeAttachment holds on the node, each once.
  [[nodiscard]] std::span<const AttachableVolume> AttachedTo(TextId node) const;
  // Those that are reserved for nobody by capacity, then the others by claim; else as in the input.
  [[nodiscard]] std::span<const VolumeInfo* const> VolumesOfClass(TextId storage_class) const;
  [[nodiscard]] const std::vector<StorageCapacity>& capacities() const { return capacities_; }

  // Zone and region labels, beta and GA: a node with none of them is in every zone.
  [[nodiscard]] const std::array<TextId, 4>& zone_labels() const { return zone_labels_; }

  // The DeviceClass through which an extended resource is allocated; kNoText: none.
  [[nodiscard]] TextId DeviceClassOf(TextId resource) const;

  // What is known of a claim that a pod of the namespace names: "ResourceClaim ns/gpu is
  // not allocated".
  [[nodiscard]] std::string Describe(TextId namespace_name, const PodResourceClaimInfo& claim,
                                     const Symbols& symbols) const;

 private:
  using NamespacedName = std::pair<TextId, TextId>;
  struct Attachment {
    TextId node;
    TextId attacher;
    TextId volume;
  };

  void Put(const objects::PersistentVolume& volume, Symbols& symbols);
  void Put(const objects::PersistentVolumeClaim& claim, Symbols& symbols);
  void Put(const objects::StorageClass& klass, Symbols& symbols);
  void Put(const objects::CsiDriver& driver, Symbols& symbols);
  void Put(const objects::CsiNode& node, Symbols& symbols);
  void Put(const objects::VolumeAttachment& attachment, Symbols& symbols);
  void Put(const objects::CsiStorageCapacity& capacity, Symbols& symbols);
  void Put(const objects::DeviceClass& klass, Symbols& symbols);
  void Put(const objects::ResourceClaim& claim, Symbols& symbols);
  void Put(const objects::ResourceClaimTemplate& from, Symbols& symbols);
  void Put(const objects::ResourceSlice&, Symbols&) {}  // No decision reads them.

  void ConnectClaim(ClaimInfo& claim, Symbols& symbols) const;
  void ConnectPod(PodVolumes& pod) const;
  void ConnectAttachments(Symbols& symbols);

  absl::flat_hash_set<std::tuple<size_t, TextId, TextId>> seen_;  // Kind, namespace, name.

  std::deque<VolumeInfo> volumes_;
  std::deque<ClaimInfo> claims_;
  std::deque<StorageClassInfo> classes_;
  std::vector<StorageCapacity> capacities_;
  std::vector<Attachment> attachments_;
  std::vector<PodVolumes> pod_volumes_;

  absl::flat_hash_map<TextId, const VolumeInfo*> volumes_by_name_;
  absl::flat_hash_map<NamespacedName, const ClaimInfo*> claims_by_name_;
  absl::flat_hash_map<TextId, const StorageClassInfo*> classes_by_name_;
  absl::flat_hash_map<TextId, CsiNodeInfo> csi_nodes_;
  absl::flat_hash_set<TextId> drivers_with_capacity_;
  absl::flat_hash_map<TextId, TextId> device_classes_;                // By resource.
  absl::flat_hash_map<NamespacedName, std::string> resource_claims_;  // "is not allocated".
  absl::flat_hash_set<NamespacedName> resource_claim_templates_;

  absl::flat_hash_map<TextId, std::vector<const VolumeInfo*>> volumes_by_class_;
  absl::flat_hash_map<TextId, std::vector<AttachableVolume>> attached_to_;
  std::array<TextId, 4> zone_labels_{};
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_STORAGE_H_
