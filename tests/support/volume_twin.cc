#include "tests/support/volume_twin.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "snapshot/objects/quantity.h"
#include "tests/support/twin_labels.h"

namespace ebb::test::twin {
namespace {

using objects::CsiNode;
using objects::KeyValues;
using objects::Node;
using objects::PersistentVolume;
using objects::PersistentVolumeClaim;
using objects::Pod;
using objects::StorageClass;
using objects::Text;
using objects::Volume;

constexpr Text kZone = "topology.kubernetes.io/zone";
constexpr Text kRegion = "topology.kubernetes.io/region";
constexpr Text kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr Text kBetaRegion = "failure-domain.beta.kubernetes.io/region";

FilterVerdict No(Filter filter, std::string reason) {
  return {.fits = false, .filter = filter, .reasons = {std::move(reason)}};
}
FilterVerdict Fails(Filter filter) { return {.fits = false, .filter = filter, .reasons = {}}; }

std::string Quoted(Text text) { return "\"" + std::string(text) + "\""; }

std::vector<std::string> SplitAt(const std::string& text, const std::string& delimiter) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, delimiter.size(), delimiter) == 0) {
      parts.emplace_back();
      i += delimiter.size();
    } else {
      parts.back() += text[i++];
    }
  }
  return parts;
}

std::string Stripped(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(text.begin());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// --- Looking up

template <typename T>
const T* ByName(const std::vector<T>& list, Text name) {
  for (const T& each : list) {
    if (each.meta.name == name) return &each;
  }
  return nullptr;
}

// A volume of a pod that refers to a claim.
struct ClaimUse {
  std::string name;
  bool ephemeral;
};

std::optional<ClaimUse> UseOf(const Pod& pod, const Volume& volume) {
  if (volume.source == "persistentVolumeClaim") {
    return ClaimUse{std::string(volume.claim_name), false};
  }
  if (volume.source == "ephemeral") {
    return ClaimUse{std::string(pod.meta.name) + "-" + std::string(volume.name), true};
  }
  return std::nullopt;
}

const PersistentVolumeClaim* FindClaim(const RawCluster& cluster, const Pod& pod, Text name) {
  for (const PersistentVolumeClaim& claim : cluster.claims) {
    if (claim.meta.namespace_name == pod.meta.namespace_name && claim.meta.name == name) {
      return &claim;
    }
  }
  return nullptr;
}

bool IsControlledBy(const PersistentVolumeClaim& claim, const Pod& pod) {
  for (const objects::OwnerReference& owner : claim.meta.owners) {
    if (owner.controller) return owner.uid == pod.meta.uid;
  }
  return false;
}

Text ClassName(const objects::ObjectMeta& meta, Text spec) {
  return Find(meta.annotations, "volume.beta.kubernetes.io/storage-class").value_or(spec);
}
Text ClassName(const PersistentVolumeClaim& claim) {
  return ClassName(claim.meta, claim.storage_class_name);
}
Text ClassName(const PersistentVolume& volume) {
  return ClassName(volume.meta, volume.storage_class_name);
}

bool IsFullyBound(const PersistentVolumeClaim& claim) {
  return !claim.volume_name.empty() &&
         Find(claim.meta.annotations, "pv.kubernetes.io/bind-completed").has_value();
}

// --- Where a volume can be reached

bool FieldsParse(const objects::NodeSelectorTerm& term) {
  for (const objects::Requirement& field : term.match_fields) {
    if (field.op != "In" && field.op != "NotIn") return false;
    if (field.values.size() != 1) return false;
  }
  return true;
}

// matchFields must be valid, but they are not compared: the node is identified by its labels alone.
bool IsReachable(const objects::NodeSelector& required, const KeyValues& node_labels) {
  if (required.nil) return true;
  for (const objects::NodeSelectorTerm& term : required.terms) {
    if (term.match_expressions.empty() && term.match_fields.empty()) continue;
    bool matches = FieldsParse(term);
    for (const objects::Requirement& r : term.match_expressions) {
      matches = matches && Matches(r, node_labels, true).value_or(false);
    }
    if (matches) return true;
  }
  return false;
}

// --- In-tree volumes as their CSI drivers see them

struct Plugin {
  Text source, name, driver, zone_key;
};

const Plugin* FindPlugin(Text source_or_name) {
  static constexpr Plugin kPlugins[] = {
      {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com",
       "topology.ebs.csi.aws.com/zone"},
      {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io",
       "topology.gke.io/zone"},
      {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com", ""},
  };
  for (const Plugin& plugin : kPlugins) {
    if (plugin.source == source_or_name || plugin.name == source_or_name) return &plugin;
  }
  return nullptr;
}

// nullopt: the volume has no CSI equivalent.  Knows only ids that RandomCluster makes.
std::optional<std::string> AwsHandle(Text id) {
  static const std::map<Text, std::optional<std::string>> kKnown = {
      {"vol-1", "vol-1"},        {"vol-2", "vol-2"},         {"aws://z1/vol-1", "vol-1"},
      {"aws:///vol-2", "vol-2"}, {"aws://z1/no-volume", {}}, {"aws://z1/vol-1/more", {}},
      {"bare", "bare"},
  };
  return kKnown.at(id);
}

std::optional<std::string> GceHandle(const PersistentVolume& volume) {
  std::string label(Find(volume.meta.labels, kBetaZone).value_or(""));
  if (label.empty()) label = Find(volume.meta.labels, kZone).value_or("");
  const std::string disk = "/disks/" + std::string(volume.id);
  if (label.empty()) return "projects/UNSPECIFIED/zones/UNSPECIFIED" + disk;
  const std::vector<std::string> zones = SplitAt(label, "__");
  if (zones.size() == 1) return "projects/UNSPECIFIED/zones/" + label + disk;
  std::set<std::string> regions;
  for (const std::string& zone : zones) {
    const std::vector<std::string> parts = SplitAt(zone, "-");
    if (parts.size() != 3) return std::nullopt;
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() != 1) return std::nullopt;
  return "projects/UNSPECIFIED/regions/" + *regions.begin() + disk;
}

std::optional<std::string> HandleOf(const PersistentVolume& volume) {
  if (volume.source == "awsElasticBlockStore") return AwsHandle(volume.id);
  if (volume.source == "gcePersistentDisk") return GceHandle(volume);
  const bool managed =
      volume.disk_kind.empty() || volume.disk_kind == "Managed" || volume.disk_kind == "managed";
  return managed ? std::optional<std::string>(volume.id) : std::nullopt;
}

std::optional<std::string> HandleOf(const Volume& inline_volume) {
  if (inline_volume.source == "awsElasticBlockStore") return AwsHandle(inline_volume.id);
  if (inline_volume.source == "gcePersistentDisk") {
    return "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/" + std::string(inline_volume.id);
  }
  return std::string(inline_volume.id);
}

std::set<Text> ValuesOf(const objects::NodeSelector& selector, Text key) {
  std::set<Text> values;
  for (const objects::NodeSelectorTerm& term : selector.terms) {
    for (const objects::Requirement& r : term.match_expressions) {
      if (r.key == key) values.insert(r.values.begin(), r.values.end());
    }
  }
  return values;
}

bool Mentions(const objects::NodeSelector& selector, Text key) {
  for (const objects::NodeSelectorTerm& term : selector.terms) {
    for (const objects::Requirement& r : term.match_expressions) {
      if (r.key == key) return true;
    }
  }
  return false;
}

void Rename(objects::NodeSelector& selector, Text from, Text to) {
  for (objects::NodeSelectorTerm& term : selector.terms) {
    for (objects::Requirement& r : term.match_expressions) {
      if (r.key == from) r.key = to;
    }
  }
}

// Whether the driver of the in-tree volume can reach it from the node.
bool IsReachableByDriver(const PersistentVolume& volume, const Plugin& plugin, const Node& node) {
  objects::NodeSelector required = volume.required_node_affinity;
  std::vector<std::string> zones;  // Owns the texts that `required` refers to.
  if (!plugin.zone_key.empty()) {
    bool beta = false;
    if (!Mentions(required, kZone)) {
      beta = Mentions(required, kBetaZone) ||
             (!Find(volume.meta.labels, kZone) && Find(volume.meta.labels, kBetaZone));
    }
    const Text zone_key = beta ? kBetaZone : kZone;
    if (!ValuesOf(required, zone_key).empty()) {
      Rename(required, zone_key, plugin.zone_key);
    } else if (const std::optional<Text> label = Find(volume.meta.labels, zone_key)) {
      for (const std::string& zone : SplitAt(std::string(*label), "__")) {
        if (!Stripped(zone).empty()) zones.push_back(Stripped(zone));
      }
      if (!zones.empty()) {
        required.nil = false;
        if (required.terms.empty()) required.terms.emplace_back();
        for (objects::NodeSelectorTerm& term : required.terms) {
          term.match_expressions.push_back(
              {plugin.zone_key, "In", std::vector<Text>(zones.begin(), zones.end())});
        }
      }
    }
    if (beta && !ValuesOf(required, kBetaRegion).empty()) Rename(required, kBetaRegion, kRegion);
  }
  return IsReachable(required, node.meta.labels);
}

bool IsMigratedOn(const CsiNode* csi_node, Text plugin) {
  if (csi_node == nullptr) return false;
  const std::string plugins(
      Find(csi_node->meta.annotations, "storage.alpha.kubernetes.io/migrated-plugins")
          .value_or(""));
  const std::vector<std::string> names = SplitAt(plugins, ",");
  return std::find(names.begin(), names.end(), std::string(plugin)) != names.end();
}

// --- VolumeRestrictions

bool Conflict(const Volume& a, const Volume& b) {
  if (a.source != b.source) return false;
  const bool both_read = a.read_only && b.read_only;
  if (a.source == "awsElasticBlockStore") return a.id == b.id;
  if (a.source == "gcePersistentDisk" || a.source == "iscsi") return a.id == b.id && !both_read;
  if (a.source != "rbd") return false;
  bool overlap = false;
  for (const Text monitor : a.monitors) overlap = overlap || Has(b.monitors, monitor);
  return overlap && a.pool == b.pool && a.id == b.id && !both_read;
}

bool AnyConflict(const Pod& pod, const std::vector<const Pod*>& neighbours) {
  for (const Pod* neighbour : neighbours) {
    for (const Volume& mine : pod.volumes) {
      for (const Volume& theirs : neighbour->volumes) {
        if (Conflict(mine, theirs)) return true;
      }
    }
  }
  return false;
}

bool Mounts(const Pod& pod, Text namespace_name, Text claim) {
  if (pod.meta.namespace_name != namespace_name) return false;
  for (const Volume& volume : pod.volumes) {
    if (volume.source == "persistentVolumeClaim" && volume.claim_name == claim) return true;
  }
  return false;
}

bool WantsAClaimInUse(const RawCluster& cluster, const Pod& pod,
                      const std::vector<const Pod*>& others) {
  for (const Volume& volume : pod.volumes) {
    if (volume.source != "persistentVolumeClaim") continue;
    const PersistentVolumeClaim* claim = FindClaim(cluster, pod, volume.claim_name);
    if (claim == nullptr || !Has(claim->access_modes, "ReadWriteOncePod")) continue;
    for (const Pod* other : others) {
      if (Mounts(*other, pod.meta.namespace_name, claim->meta.name)) return true;
    }
  }
  return false;
}

// --- NodeVolumeLimits

using Counted = std::map<std::string, std::string>;  // "driver/handle" -> driver.

void Count(const std::string& driver, const std::string& handle, Counted& counted) {
  if (!driver.empty() && !handle.empty()) counted[driver + "/" + handle] = driver;
}

void CountByClass(const RawCluster& cluster, const PersistentVolumeClaim& claim, Counted& counted) {
  const StorageClass* storage_class = ByName(cluster.classes, ClassName(claim));
  if (ClassName(claim).empty() || storage_class == nullptr) return;
  const std::string handle =
      "to-be-made-" + std::string(claim.meta.namespace_name) + "/" + std::string(claim.meta.name);
  const Plugin* plugin = FindPlugin(storage_class->provisioner);
  Count(std::string(plugin == nullptr ? storage_class->provisioner : plugin->driver), handle,
        counted);
}

void CountClaim(const RawCluster& cluster, const PersistentVolumeClaim& claim, Counted& counted) {
  const PersistentVolume* volume = ByName(cluster.volumes, claim.volume_name);
  if (claim.volume_name.empty() || volume == nullptr) {
    CountByClass(cluster, claim, counted);
  } else if (volume->source == "csi") {
    Count(std::string(volume->driver), std::string(volume->id), counted);
  } else if (const Plugin* plugin = FindPlugin(volume->source)) {
    Count(std::string(plugin->driver), HandleOf(*volume).value_or(""), counted);
  }
}

// False: one of the volumes makes the plugin fail.
bool CountVolumes(const RawCluster& cluster, const Pod& pod, Counted& counted) {
  for (const Volume& volume : pod.volumes) {
    if (const std::optional<ClaimUse> use = UseOf(pod, volume)) {
      const PersistentVolumeClaim* claim = FindClaim(cluster, pod, use->name);
      if (claim == nullptr) continue;
      if (use->ephemeral && !IsControlledBy(*claim, pod)) return false;
      CountClaim(cluster, *claim, counted);
    } else if (const Plugin* plugin = FindPlugin(volume.source)) {
      const std::optional<std::string> handle = HandleOf(volume);
      if (!handle) return false;
      counted[std::string(plugin->driver) + "/" + *handle] = plugin->driver;
    }
  }
  return true;
}

Counted AttachedTo(const RawCluster& cluster, const Node& node) {
  Counted counted;
  for (const objects::VolumeAttachment& attachment : cluster.attachments) {
    if (attachment.node_name != node.meta.name || attachment.attacher.empty()) continue;
    if (!attachment.volume_name) continue;
    const PersistentVolume* volume = ByName(cluster.volumes, *attachment.volume_name);
    if (volume == nullptr || volume->source != "csi") continue;
    counted[std::string(attachment.attacher) + "/" + std::string(volume->id)] = attachment.attacher;
  }
  return counted;
}

bool MustBeThere(const RawCluster& cluster, std::string_view driver) {
  const objects::CsiDriver* const there = ByName(cluster.drivers, driver);
  return cluster.version == KubernetesVersion::k137 && there != nullptr &&
         there->prevents_scheduling;
}

// If several drivers lack, the scheduler names any of them.
FilterVerdict Lacks(std::string_view /*driver*/) {
  return {.fits = false, .filter = Filter::kNodeVolumeLimits, .reasons = {}};
}

// Without a CSINode in-tree volumes are not migrated, so only the drivers of CSI volumes can lack.
FilterVerdict FilterWithoutCsiNode(const RawCluster& cluster, const Pod& pod) {
  for (const Volume& volume : pod.volumes) {
    const std::optional<ClaimUse> use = UseOf(pod, volume);
    const PersistentVolumeClaim* claim = use ? FindClaim(cluster, pod, use->name) : nullptr;
    if (claim == nullptr || (use->ephemeral && !IsControlledBy(*claim, pod))) continue;
    const PersistentVolume* bound = ByName(cluster.volumes, claim->volume_name);
    if (!claim->volume_name.empty() && bound != nullptr) {
      if (bound->source == "csi" && !bound->driver.empty() && !bound->id.empty() &&
          MustBeThere(cluster, bound->driver)) {
        return Lacks(bound->driver);
      }
      continue;
    }
    const StorageClass* by = ByName(cluster.classes, ClassName(*claim));
    if (by != nullptr && FindPlugin(by->provisioner) == nullptr &&
        MustBeThere(cluster, by->provisioner)) {
      return Lacks(by->provisioner);
    }
  }
  return {};
}

FilterVerdict FilterLimits(const RawCluster& cluster, const Pod& pod, const Node& node,
                           const std::vector<const Pod*>& neighbours) {
  const CsiNode* csi_node = ByName(cluster.csi_nodes, node.meta.name);
  if (csi_node == nullptr) return FilterWithoutCsiNode(cluster, pod);
  Counted wanted;
  if (!CountVolumes(cluster, pod, wanted)) return Fails(Filter::kNodeVolumeLimits);
  for (const auto& [id, driver] : wanted) {
    const auto is_driver = [&](const CsiNode::Driver& each) { return each.name == driver; };
    if (MustBeThere(cluster, driver) && std::ranges::none_of(csi_node->drivers, is_driver)) {
      return Lacks(driver);
    }
  }
  std::map<std::string, int64_t> limits;
  for (const CsiNode::Driver& driver : csi_node->drivers) {
    if (driver.volumes_max) limits[std::string(driver.name)] = *driver.volumes_max;
  }
  if (wanted.empty() || limits.empty()) return {};

  Counted attached;
  for (const Pod* neighbour : neighbours) {
    if (!CountVolumes(cluster, *neighbour, attached)) return Fails(Filter::kNodeVolumeLimits);
  }
  for (const auto& [id, driver] : attached) wanted.erase(id);
  const Counted held = AttachedTo(cluster, node);
  attached.insert(held.begin(), held.end());
  for (const auto& [driver, limit] : limits) {
    const auto is_its = [&](const auto& entry) { return entry.second == driver; };
    const int64_t added = std::count_if(wanted.begin(), wanted.end(), is_its);
    if (added == 0) continue;
    if (std::count_if(attached.begin(), attached.end(), is_its) + added > limit) {
      return No(Filter::kNodeVolumeLimits, "node(s) exceed max volume count");
    }
  }
  return {};
}

// --- VolumeBinding

std::vector<const PersistentVolumeClaim*> ClaimsOf(const RawCluster& cluster, const Pod& pod,
                                                   bool bound) {
  std::vector<const PersistentVolumeClaim*> claims;
  for (const Volume& volume : pod.volumes) {
    const std::optional<ClaimUse> use = UseOf(pod, volume);
    if (!use) continue;
    const PersistentVolumeClaim* claim = FindClaim(cluster, pod, use->name);
    if (IsFullyBound(*claim) == bound) claims.push_back(claim);
  }
  return claims;
}

FilterVerdict PreFilterBinding(const RawCluster& cluster, const Pod& pod) {
  constexpr Filter kFilter = Filter::kVolumeBinding;
  for (const Volume& volume : pod.volumes) {
    const std::optional<ClaimUse> use = UseOf(pod, volume);
    if (!use) continue;
    const std::string name = "persistentvolumeclaim " + Quoted(use->name);
    const PersistentVolumeClaim* claim = FindClaim(cluster, pod, use->name);
    if (claim == nullptr) {
      return No(kFilter, use->ephemeral
                             ? "waiting for ephemeral volume controller to create the " + name
                             : name + " not found");
    }
    if (claim->phase == "Lost") {
      return No(kFilter,
                name + " bound to non-existent persistentvolume " + Quoted(claim->volume_name));
    }
    if (claim->meta.deletion_time) return No(kFilter, name + " is being deleted");
    if (use->ephemeral && !IsControlledBy(*claim, pod)) {
      const std::string ns = std::string(pod.meta.namespace_name) + "/";
      return No(kFilter, "PVC " + ns + use->name + " was not created for pod " + ns +
                             std::string(pod.meta.name) + " (pod is not owner)");
    }
  }
  bool immediate = false;
  for (const PersistentVolumeClaim* claim : ClaimsOf(cluster, pod, /*bound=*/false)) {
    const StorageClass* storage_class =
        ClassName(*claim).empty() ? nullptr : ByName(cluster.classes, ClassName(*claim));
    if (storage_class != nullptr && storage_class->volume_binding_mode.empty()) {
      return No(kFilter,
                "VolumeBindingMode not set for StorageClass " + Quoted(storage_class->meta.name));
    }
    const bool delayed =
        storage_class != nullptr && storage_class->volume_binding_mode == "WaitForFirstConsumer";
    immediate = immediate || !delayed || !claim->volume_name.empty();
  }
  if (immediate) return No(kFilter, "pod has unbound immediate PersistentVolumeClaims");
  return {};
}

struct Binding {
  bool fails = false;
  bool reachable = true, found = true, roomy = true, exists = true;
};

void CheckBound(const RawCluster& cluster, const Pod& pod, const Node& node, Binding& binding) {
  const CsiNode* csi_node = ByName(cluster.csi_nodes, node.meta.name);
  for (const PersistentVolumeClaim* claim : ClaimsOf(cluster, pod, /*bound=*/true)) {
    const PersistentVolume* volume = ByName(cluster.volumes, claim->volume_name);
    if (volume == nullptr) {
      binding.exists = false;
      return;
    }
    const Plugin* plugin = FindPlugin(volume->source);
    bool reachable;
    if (plugin != nullptr && IsMigratedOn(csi_node, plugin->name)) {
      if (!HandleOf(*volume)) {
        binding.fails = true;
        return;
      }
      reachable = IsReachableByDriver(*volume, *plugin, node);
    } else {
      reachable = IsReachable(volume->required_node_affinity, node.meta.labels);
    }
    if (!reachable) {
      binding.reachable = false;
      return;
    }
  }
}

bool IsReservedFor(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.claim && volume.claim->name == claim.meta.name &&
         volume.claim->namespace_name == claim.meta.namespace_name &&
         (volume.claim->uid.empty() || volume.claim->uid == claim.meta.uid);
}

Text ModeOf(Text mode) { return mode.empty() ? "Filesystem" : mode; }

const PersistentVolume* FindVolume(const RawCluster& cluster, const PersistentVolumeClaim& claim,
                                   const Node& node,
                                   const std::vector<const PersistentVolume*>& chosen) {
  const PersistentVolume* smallest = nullptr;
  for (const PersistentVolume& volume : cluster.volumes) {
    if (ClassName(volume) != ClassName(claim)) continue;
    if (std::find(chosen.begin(), chosen.end(), &volume) != chosen.end()) continue;
    const bool reserved = IsReservedFor(volume, claim);
    if (volume.claim && !reserved) continue;
    if (claim.request_bytes == kUncountable) continue;
    if (volume.capacity_bytes < claim.request_bytes.value_or(0)) continue;
    if (ModeOf(volume.volume_mode) != ModeOf(claim.volume_mode)) continue;
    if (volume.volume_attributes_class_name != claim.volume_attributes_class_name) continue;
    if (volume.meta.deletion_time) continue;
    const bool reachable = IsReachable(volume.required_node_affinity, node.meta.labels);
    if (reserved) return reachable ? &volume : nullptr;
    if (volume.phase != "Available" || !reachable) continue;
    if (!claim.selector.nil && !*Matches(claim.selector, volume.meta.labels)) continue;
    bool has_modes = true;
    for (const Text mode : claim.access_modes) {
      has_modes = has_modes && Has(volume.access_modes, mode);
    }
    if (!has_modes) continue;
    if (smallest == nullptr || volume.capacity_bytes < smallest->capacity_bytes) {
      smallest = &volume;
    }
  }
  return smallest;
}

bool AllowsTopology(const StorageClass& storage_class, const Node& node) {
  if (storage_class.allowed_topologies.empty()) return true;
  for (const objects::TopologyTerm& term : storage_class.allowed_topologies) {
    bool matches = !term.empty();
    for (const auto& [key, values] : term) {
      matches = matches && Matches({key, "In", values}, node.meta.labels, false).value_or(false);
    }
    if (matches) return true;
  }
  return false;
}

bool HasRoom(const RawCluster& cluster, const PersistentVolumeClaim& claim,
             const StorageClass& storage_class, const Node& node) {
  const objects::CsiDriver* driver = ByName(cluster.drivers, storage_class.provisioner);
  if (!claim.request_bytes || driver == nullptr || !driver->storage_capacity) return true;
  for (const objects::CsiStorageCapacity& capacity : cluster.capacities) {
    if (capacity.storage_class_name != storage_class.meta.name || capacity.node_topology.nil)
      continue;
    const std::optional<int64_t> limit = capacity.maximum_volume_size_bytes
                                             ? capacity.maximum_volume_size_bytes
                                             : capacity.capacity_bytes;
    if (!limit || *limit < *claim.request_bytes || *claim.request_bytes == kUncountable) continue;
    if (Matches(capacity.node_topology, node.meta.labels).value_or(false)) return true;
  }
  return false;
}

void CheckProvisioning(const RawCluster& cluster, const Node& node,
                       const std::vector<const PersistentVolumeClaim*>& claims, Binding& binding) {
  for (const PersistentVolumeClaim* claim : claims) {
    const StorageClass& storage_class = *ByName(cluster.classes, ClassName(*claim));
    const bool provisions = !storage_class.provisioner.empty() &&
                            storage_class.provisioner != "kubernetes.io/no-provisioner";
    if (!provisions || !AllowsTopology(storage_class, node)) {
      binding.found = false;
      return;
    }
    if (!HasRoom(cluster, *claim, storage_class, node)) {
      binding.roomy = false;
      return;
    }
  }
}

void CheckUnbound(const RawCluster& cluster, const Pod& pod, const Node& node, Binding& binding) {
  std::vector<const PersistentVolumeClaim*> to_match;
  std::vector<const PersistentVolumeClaim*> to_provision;
  for (const PersistentVolumeClaim* claim : ClaimsOf(cluster, pod, /*bound=*/false)) {
    const auto selected = Find(claim->meta.annotations, "volume.kubernetes.io/selected-node");
    if (selected && *selected != node.meta.name) {
      binding.found = false;
      return;
    }
    (selected ? to_provision : to_match).push_back(claim);
  }
  std::stable_sort(to_match.begin(), to_match.end(), [](const auto* a, const auto* b) {
    return a->request_bytes.value_or(0) < b->request_bytes.value_or(0);
  });
  std::vector<const PersistentVolume*> chosen;
  for (const PersistentVolumeClaim* claim : to_match) {
    if (!Matches(claim->selector, {})) {
      binding.fails = true;
      return;
    }
    if (const PersistentVolume* volume = FindVolume(cluster, *claim, node, chosen)) {
      chosen.push_back(volume);
    } else {
      to_provision.push_back(claim);
    }
  }
  CheckProvisioning(cluster, node, to_provision, binding);
}

FilterVerdict FilterBinding(const RawCluster& cluster, const Pod& pod, const Node& node) {
  Binding binding;
  CheckBound(cluster, pod, node, binding);
  if (!binding.fails) CheckUnbound(cluster, pod, node, binding);
  if (binding.fails) return Fails(Filter::kVolumeBinding);
  FilterVerdict verdict{.fits = true, .filter = Filter::kVolumeBinding, .reasons = {}};
  const auto say = [&](bool good, const char* reason) {
    if (!good) verdict.reasons.emplace_back(reason);
    verdict.fits = verdict.fits && good;
  };
  say(binding.reachable, "node(s) didn't match PersistentVolume's node affinity");
  say(binding.found, "node(s) didn't find available persistent volumes to bind");
  say(binding.roomy, "node(s) did not have enough free storage");
  say(binding.exists, "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  return verdict;
}

// --- VolumeZone

FilterVerdict PreFilterZone(const RawCluster& cluster, const Pod& pod) {
  for (const Volume& volume : pod.volumes) {
    if (volume.source != "persistentVolumeClaim") continue;
    const PersistentVolumeClaim* claim = FindClaim(cluster, pod, volume.claim_name);
    // It waits for its consumer, or VolumeBinding rejected the pod.
    if (claim->volume_name.empty()) continue;
    if (ByName(cluster.volumes, claim->volume_name) == nullptr) {
      return No(Filter::kVolumeZone,
                "persistentvolume " + Quoted(claim->volume_name) + " not found");
    }
  }
  return {};
}

// nullopt: the label is not valid.
std::optional<std::set<std::string>> Zones(Text label) {
  std::set<std::string> zones;
  for (const std::string& zone : SplitAt(std::string(label), "__")) {
    if (Stripped(zone).empty()) return std::nullopt;
    zones.insert(Stripped(zone));
  }
  return zones;
}

bool IsInZone(const PersistentVolume& volume, const Node& node) {
  for (const auto& [key, ga_key] : {std::pair(kBetaZone, kZone), std::pair(kBetaRegion, kRegion),
                                    std::pair(kZone, kZone), std::pair(kRegion, kRegion)}) {
    const std::optional<Text> label = Find(volume.meta.labels, key);
    if (!label || !Zones(*label)) continue;
    std::optional<Text> value = Find(node.meta.labels, key);
    if (!value) value = Find(node.meta.labels, ga_key);
    if (!value || !Zones(*label)->contains(std::string(*value))) return false;
  }
  return true;
}

FilterVerdict FilterZone(const RawCluster& cluster, const Pod& pod, const Node& node) {
  bool labelled = false;
  for (const Text key : {kZone, kRegion, kBetaZone, kBetaRegion}) {
    labelled = labelled || Find(node.meta.labels, key).has_value();
  }
  if (!labelled) return {};
  for (const Volume& volume : pod.volumes) {
    if (volume.source != "persistentVolumeClaim") continue;
    const PersistentVolumeClaim* claim = FindClaim(cluster, pod, volume.claim_name);
    if (claim->volume_name.empty()) continue;
    if (!IsInZone(*ByName(cluster.volumes, claim->volume_name), node)) {
      return No(Filter::kVolumeZone, "node(s) had no available volume zone");
    }
  }
  return {};
}

}  // namespace

FilterVerdict PreFilterVolumes(const RawCluster& cluster, const Pod& pod) {
  for (const Volume& volume : pod.volumes) {
    if (volume.source != "persistentVolumeClaim") continue;
    if (FindClaim(cluster, pod, volume.claim_name) == nullptr) {
      return No(Filter::kVolumeRestrictions,
                "persistentvolumeclaim " + Quoted(volume.claim_name) + " not found");
    }
  }
  FilterVerdict verdict = PreFilterBinding(cluster, pod);
  return verdict.fits ? PreFilterZone(cluster, pod) : verdict;
}

FilterVerdict FilterVolumes(const RawCluster& cluster, const Pod& pod, const Node& node,
                            const std::vector<const Pod*>& neighbours,
                            const std::vector<const Pod*>& others) {
  if (AnyConflict(pod, neighbours)) {
    return No(Filter::kVolumeRestrictions, "node(s) had no available disk");
  }
  if (WantsAClaimInUse(cluster, pod, others)) {
    return No(Filter::kVolumeRestrictions,
              "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
              "already in-use by another pod");
  }
  FilterVerdict verdict = FilterLimits(cluster, pod, node, neighbours);
  if (verdict.fits) verdict = FilterBinding(cluster, pod, node);
  if (verdict.fits) verdict = FilterZone(cluster, pod, node);
  return verdict;
}

}  // namespace ebb::test::twin
