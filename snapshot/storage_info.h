// What the storage filters read of volumes, claims, classes, drivers and pods, with texts as
// ids (storage.h holds them and resolves their names).
//
// Source: kubernetes pkg/scheduler/framework/plugins/{volumerestrictions,
//         nodevolumelimits,volumebinding,volumezone}.

#ifndef EBB_SNAPSHOT_STORAGE_INFO_H_
#define EBB_SNAPSHOT_STORAGE_INFO_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snapshot/ids.h"
#include "snapshot/matching.h"
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
  bool migrated = false;  // An in-tree volume, which is the driver's only where there is a CSINode.
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
  const StorageClassInfo* class_info = nullptr;
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
  std::vector<TextId> drivers;           // All that are installed, sorted.
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

}  // namespace ebb

#endif  // EBB_SNAPSHOT_STORAGE_INFO_H_
