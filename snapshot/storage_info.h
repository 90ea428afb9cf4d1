// The fields of volumes, claims, classes, drivers and pods that the storage filters read, with
// texts as ids.  storage.h holds them and resolves their names.
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
// scheduler, never compared: a term that has only matchFields matches every node.
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
  bool migrated = false;  // An in-tree volume: the driver serves it only if there is a CSINode.
};

// The requirement that one zone or region label of a volume puts on nodes.
struct VolumeZoneLabel {
  TextId key;
  TextId ga_key;  // Used if the node lacks `key`; equal to `key` for GA labels.
  std::vector<TextId> values;
};

struct VolumeInfo {
  struct ClaimReference {
    TextId namespace_name;
    TextId name;
    TextId uid;  // kNoText matches any UID.
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

  // For in-tree volumes with a CSI equivalent: what applies on nodes that report the plugin as
  // migrated.  in_tree_plugin is kNoText for all other volumes.
  TextId in_tree_plugin = kNoText;
  VolumeAffinity csi_affinity;
  std::string translation_error;  // Not empty if this volume has no CSI equivalent.

  std::optional<AttachableVolume> attachable;
  TextId csi_handle = kNoText;
  bool is_csi = false;
  std::vector<VolumeZoneLabel> zones;
};

struct StorageClassInfo {
  TextId name;
  TextId provisioner;
  bool has_binding_mode = true;
  bool delayed = false;    // WaitForFirstConsumer.
  bool provisions = true;  // Has a provisioner other than kubernetes.io/no-provisioner.
  std::vector<std::vector<LabelRequirement>> allowed_topologies;  // ORed.
  bool allows_every_node = true;
  bool tracks_capacity = false;  // Its driver reports CSIStorageCapacities.
};

struct ClaimInfo {
  TextId namespace_name;
  TextId name;
  TextId uid;
  std::optional<TextId> controller_uid;  // The UID of the owner with controller: true.
  TextId storage_class;                  // kNoText if the claim names none.
  TextId mode;
  TextId attributes_class;
  TextId volume_name;  // kNoText if the claim is not bound.
  std::vector<TextId> access_modes;
  bool read_write_once_pod = false;
  bool lost = false;
  bool deleting = false;
  bool bind_completed = false;          // pv.kubernetes.io/bind-completed
  std::optional<TextId> selected_node;  // volume.kubernetes.io/selected-node
  std::optional<int64_t> request_bytes;
  std::optional<Selector> selector;
  std::string selector_error;

  // Set by Connect; null if no object has the name.
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
  std::vector<Limit> limits;             // Drivers without a limit are left out.
  std::vector<TextId> drivers;           // All installed drivers, sorted.
  std::vector<TextId> migrated_plugins;  // storage.alpha.kubernetes.io/migrated-plugins
};

// A disk that the pod itself names and that only one pod on a node can use.
struct InlineDisk {
  enum class Kind : uint8_t { kGcePersistentDisk, kAwsElasticBlockStore, kIscsi, kRbd };
  Kind kind;
  bool read_only = false;
  TextId id;
  TextId pool = kNoText;         // kRbd.
  std::vector<TextId> monitors;  // kRbd.
};

// The fields of a pod's volumes that storage filters read, in the pod's order.
struct PodVolumes {
  struct ClaimUse {
    TextId name;
    bool ephemeral = false;            // Made for this pod, which must own it.
    bool owned = true;                 // Set by Connect.
    const ClaimInfo* claim = nullptr;  // Set by Connect; null if the claim does not exist.
  };
  TextId namespace_name;
  TextId pod_name;  // The first pod with these volumes.  If one is ephemeral, the only such pod.
  TextId pod_uid;
  std::vector<ClaimUse> claims;
  std::vector<InlineDisk> disks;

  // Volumes that count against limits, without duplicates.  Connect adds the volumes of claims.
  std::vector<AttachableVolume> attachables;
  std::string attach_error;  // Not empty if the scheduler fails to count the volumes.
};

// One entry of a pod's spec.resourceClaims; see objects::PodResourceClaim.
struct PodResourceClaimInfo {
  TextId name;
  TextId claim_name;
  TextId template_name;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_STORAGE_INFO_H_
