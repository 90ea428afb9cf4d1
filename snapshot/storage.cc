#include "snapshot/storage.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/label_index.h"
#include "snapshot/objects/csi_migration.h"
#include "snapshot/objects/key_values.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/well_known_names.h"
#include "snapshot/volume_matching.h"

namespace ebb {
namespace {

using objects::Text;

constexpr Text kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr Text kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr Text kBetaStorageClass = "volume.beta.kubernetes.io/storage-class";
constexpr Text kMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";
constexpr Text kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr Text kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/";

constexpr std::pair<Text, Text> kZoneLabels[] = {  // A label and its GA name.
    {kBetaZoneLabel, kZoneLabel},
    {kBetaRegionLabel, kRegionLabel},
    {kZoneLabel, kZoneLabel},
    {kRegionLabel, kRegionLabel}};

// The storage class.  The old annotation has precedence over the field.
Text ClassOf(const objects::ObjectMeta& meta, Text spec) {
  return FindValue(meta.annotations, kBetaStorageClass).value_or(spec);
}

std::vector<TextId> InternAll(const std::vector<Text>& texts, Symbols& symbols) {
  std::vector<TextId> ids;
  for (const Text text : texts) ids.push_back(symbols.Intern(text));
  return ids;
}

TextId ModeOf(Text mode, Symbols& symbols) {
  return symbols.Intern(mode.empty() ? "Filesystem" : mode);
}

AttachableVolume MakeAttachable(Text driver, Text handle, Symbols& symbols) {
  return {.id = symbols.Intern(absl::StrCat(Absl(driver), "/", Absl(handle))),
          .driver = symbols.Intern(driver)};
}

AttachableVolume MakeMigrated(const InTreePlugin& plugin, Text handle, Symbols& symbols) {
  AttachableVolume volume = MakeAttachable(plugin.driver, handle, symbols);
  volume.migrated = true;
  return volume;
}

// Adds volumes to a list, without duplicates.
class VolumesOnce {
 public:
  explicit VolumesOnce(std::vector<AttachableVolume>& volumes) : volumes_(volumes) {
    for (const AttachableVolume& volume : volumes) ids_.insert(volume.id);
  }
  void Add(const AttachableVolume& volume) {
    if (ids_.insert(volume.id).second) volumes_.push_back(volume);
  }

 private:
  std::vector<AttachableVolume>& volumes_;
  absl::flat_hash_set<TextId> ids_;
};

// Whether the fields parse as a field selector.  If not, the scheduler ignores the term.
bool FieldsParse(const std::vector<objects::Requirement>& fields) {
  return std::all_of(fields.begin(), fields.end(), [](const objects::Requirement& field) {
    return (field.op == "In" || field.op == "NotIn") && field.values.size() == 1;
  });
}

VolumeAffinity CompileAffinity(const objects::NodeSelector& selector, Symbols& symbols) {
  VolumeAffinity affinity;
  if (selector.nil) return affinity;
  objects::Pod pod;
  pod.required_node_affinity.nil = false;
  for (const objects::NodeSelectorTerm& term : selector.terms) {
    if (!FieldsParse(term.match_fields)) continue;
    if (!term.match_expressions.empty()) {
      pod.required_node_affinity.terms.push_back({term.match_expressions, {}});
    } else if (!term.match_fields.empty()) {
      return affinity;
    }
  }
  affinity.everywhere = false;
  affinity.terms = CompileConstraints(pod, symbols);
  return affinity;
}

// The zones that a label like "z1__z2" lists; none if one of them is empty.
std::vector<TextId> ZonesOf(Text label, Symbols& symbols) {
  constexpr Text kBlanks = " \t\n\v\f\r";
  std::vector<TextId> zones;
  while (true) {
    const size_t at = label.find("__");
    Text zone = label.substr(0, at);
    zone.remove_prefix(std::min(zone.find_first_not_of(kBlanks), zone.size()));
    zone = zone.substr(0, zone.find_last_not_of(kBlanks) + 1);
    if (zone.empty()) return {};
    zones.push_back(symbols.Intern(zone));
    if (at == Text::npos) return zones;
    label.remove_prefix(at + 2);
  }
}

std::vector<VolumeZoneLabel> ZoneLabelsOf(const objects::ObjectMeta& meta, Symbols& symbols) {
  std::vector<VolumeZoneLabel> labels;
  for (const auto& [key, ga_key] : kZoneLabels) {
    const std::optional<Text> value = FindValue(meta.labels, key);
    if (!value) continue;
    std::vector<TextId> zones = ZonesOf(*value, symbols);
    if (zones.empty()) continue;
    labels.push_back({symbols.Intern(key), symbols.Intern(ga_key), std::move(zones)});
  }
  return labels;
}

// Sets the driver and handle under which the volume counts, and the results of CSI migration.
void SetSource(const objects::PersistentVolume& from, VolumeInfo& to, Symbols& symbols) {
  if (from.source == "csi") {
    to.is_csi = true;
    to.csi_handle = symbols.Intern(from.id);
    if (!from.driver.empty() && !from.id.empty()) {
      to.attachable = MakeAttachable(from.driver, from.id, symbols);
    }
    return;
  }
  const InTreePlugin* plugin = InTreePluginOfSource(from.source);
  if (plugin == nullptr) return;
  to.in_tree_plugin = symbols.Intern(plugin->name);
  const absl::StatusOr<std::string> handle = CsiHandle(from);
  if (!handle.ok()) {
    to.translation_error = absl::StrCat("could not translate pv: ", handle.status().message());
    return;
  }
  to.csi_affinity = CompileAffinity(CsiNodeAffinity(from, *plugin), symbols);
  if (!handle->empty()) to.attachable = MakeMigrated(*plugin, *handle, symbols);
}

std::optional<InlineDisk::Kind> DiskKind(Text source) {
  using enum InlineDisk::Kind;
  if (source == "gcePersistentDisk") return kGcePersistentDisk;
  if (source == "awsElasticBlockStore") return kAwsElasticBlockStore;
  if (source == "iscsi") return kIscsi;
  if (source == "rbd") return kRbd;
  return std::nullopt;
}

void AddDisk(const objects::Volume& from, PodVolumes& to, Symbols& symbols) {
  const std::optional<InlineDisk::Kind> kind = DiskKind(from.source);
  if (!kind) return;
  to.disks.push_back({.kind = *kind,
                      .read_only = from.read_only,
                      .id = symbols.Intern(from.id),
                      .pool = symbols.Intern(from.pool),
                      .monitors = InternAll(from.monitors, symbols)});
}

void AddMigratedDisk(const objects::Volume& from, VolumesOnce& attachables, PodVolumes& to,
                     Symbols& symbols) {
  const InTreePlugin* plugin = InTreePluginOfSource(from.source);
  if (plugin == nullptr) return;
  const absl::StatusOr<std::string> handle = CsiHandle(from);
  if (handle.ok()) {
    attachables.Add(MakeMigrated(*plugin, *handle, symbols));
  } else {
    to.attach_error = absl::StrCat("converting volume(", Absl(from.name),
                                   ") from inline to csi: ", handle.status().message());
  }
}

// Sorts as VolumesOfClass documents.
void SortVolumes(std::vector<const VolumeInfo*>& volumes) {
  const auto reserved = std::ranges::stable_partition(
      volumes, [](const VolumeInfo* volume) { return !volume->claim.has_value(); });
  std::ranges::stable_sort(volumes.begin(), reserved.begin(), {}, &VolumeInfo::capacity_bytes);
  std::ranges::stable_sort(reserved, {}, [](const VolumeInfo* volume) {
    return std::pair(volume->claim->namespace_name, volume->claim->name);
  });
}

// Whether some unreserved volume of a class may be bound to a claim, regardless of nodes.
// Results are cached for claims with equal requirements.
class FreeVolumes {
 public:
  // `volumes` are sorted as VolumesOfClass documents.
  explicit FreeVolumes(std::span<const VolumeInfo* const> volumes)
      : volumes_(volumes.begin(), std::ranges::partition_point(volumes, [](const VolumeInfo* v) {
                   return !v->claim.has_value();
                 })) {}

  bool HasAnyFor(const ClaimInfo& claim) {
    if (claim.selector) return FindSelected(claim);
    std::vector<TextId> modes = claim.access_modes;
    std::ranges::sort(modes);
    const auto [it, is_new] = known_.try_emplace(
        {claim.mode, claim.attributes_class, RequestOf(claim), std::move(modes)});
    if (!is_new) return it->second;
    const auto enough =
        std::ranges::lower_bound(volumes_, RequestOf(claim), {}, &VolumeInfo::capacity_bytes);
    it->second = std::any_of(enough, volumes_.end(),
                             [&](const VolumeInfo* volume) { return MayBind(*volume, claim); });
    return it->second;
  }

 private:
  bool FindSelected(const ClaimInfo& claim) {
    if (!labels_) {
      labels_.emplace();
      for (const VolumeInfo* volume : volumes_) labels_->Add(volume->labels);
      labels_->Finish();
    }
    LabelIndex::Candidates candidates(*labels_);
    candidates.Narrow(*claim.selector);
    const auto matches = [&](uint32_t v) { return MayBind(*volumes_[v], claim); };
    return candidates.First(matches).has_value();
  }

  std::span<const VolumeInfo* const> volumes_;
  absl::flat_hash_map<std::tuple<TextId, TextId, int64_t, std::vector<TextId>>, bool> known_;
  std::optional<LabelIndex> labels_;  // One set for each of volumes_.
};

}  // namespace

absl::Status Storage::Add(const objects::StorageObject& object, Symbols& symbols) {
  if (absl::Status s = CheckNamed(&object); !s.ok()) return s;
  const objects::ObjectMeta& meta = objects::MetaOf(&object);
  const Text kind = objects::KindOf(object);
  const auto* const pod_group = std::get_if<objects::PodGroup>(&object);
  const TextId api_group = pod_group == nullptr ? kNoText : symbols.Intern(pod_group->group);
  const auto [_, is_new] = seen_.emplace(
      object.index(), api_group, symbols.Intern(meta.namespace_name), symbols.Intern(meta.name));
  if (!is_new) {
    return absl::InvalidArgumentError(absl::StrCat(Absl(kind), " ", Absl(meta.namespace_name),
                                                   meta.namespace_name.empty() ? "" : "/",
                                                   Absl(meta.name), ": occurs twice"));
  }
  std::visit([&](const auto& o) { Put(o, symbols); }, object);
  return absl::OkStatus();
}

void Storage::Put(const objects::PersistentVolume& from, Symbols& symbols) {
  VolumeInfo& to = volumes_.emplace_back();
  to.name = symbols.Intern(from.meta.name);
  to.storage_class = symbols.Intern(ClassOf(from.meta, from.storage_class_name));
  to.capacity_bytes = from.capacity_bytes;
  to.labels = InternLabels(from.meta.labels, symbols);
  to.access_modes = InternAll(from.access_modes, symbols);
  to.mode = ModeOf(from.volume_mode, symbols);
  to.attributes_class = symbols.Intern(from.volume_attributes_class_name);
  if (from.claim) {
    to.claim = {symbols.Intern(from.claim->namespace_name), symbols.Intern(from.claim->name),
                symbols.Intern(from.claim->uid)};
  }
  to.available = from.phase == "Available";
  to.deleting = from.meta.deletion_time.has_value();
  to.affinity = CompileAffinity(from.required_node_affinity, symbols);
  SetSource(from, to, symbols);
  to.zones = ZoneLabelsOf(from.meta, symbols);
  volumes_by_name_.emplace(to.name, &to);
  volumes_by_class_[to.storage_class].push_back(&to);
}

void Storage::Put(const objects::PersistentVolumeClaim& from, Symbols& symbols) {
  ClaimInfo& to = claims_.emplace_back();
  to.namespace_name = symbols.Intern(from.meta.namespace_name);
  to.name = symbols.Intern(from.meta.name);
  to.uid = symbols.Intern(from.meta.uid);
  for (const objects::OwnerReference& owner : from.meta.owners) {
    if (owner.controller && !to.controller_uid) to.controller_uid = symbols.Intern(owner.uid);
  }
  to.storage_class = symbols.Intern(ClassOf(from.meta, from.storage_class_name));
  to.mode = ModeOf(from.volume_mode, symbols);
  to.attributes_class = symbols.Intern(from.volume_attributes_class_name);
  to.volume_name = symbols.Intern(from.volume_name);
  to.access_modes = InternAll(from.access_modes, symbols);
  to.read_write_once_pod = std::find(from.access_modes.begin(), from.access_modes.end(),
                                     "ReadWriteOncePod") != from.access_modes.end();
  to.lost = from.phase == "Lost";
  to.deleting = from.meta.deletion_time.has_value();
  to.bind_completed = FindValue(from.meta.annotations, kBindCompleted).has_value();
  if (const std::optional<Text> node = FindValue(from.meta.annotations, kSelectedNode)) {
    to.selected_node = symbols.Intern(*node);
  }
  to.request_bytes = from.request_bytes;
  if (!from.selector.nil) {
    absl::StatusOr<Selector> selector = CompileSelector(from.selector, symbols);
    if (selector.ok()) {
      to.selector = *std::move(selector);
    } else {
      to.selector_error = absl::StrCat(
          "error creating internal label selector for claim: ", Absl(from.meta.namespace_name), "/",
          Absl(from.meta.name), ": ", selector.status().message());
    }
  }
  claims_by_name_.emplace(NamespacedName{to.namespace_name, to.name}, &to);
}

void Storage::Put(const objects::StorageClass& from, Symbols& symbols) {
  StorageClassInfo& to = classes_.emplace_back();
  to.name = symbols.Intern(from.meta.name);
  to.provisioner = symbols.Intern(from.provisioner);
  to.has_binding_mode = !from.volume_binding_mode.empty();
  to.delayed = from.volume_binding_mode == "WaitForFirstConsumer";
  to.provisions = !from.provisioner.empty() && from.provisioner != kNoProvisioner;
  to.allows_every_node = from.allowed_topologies.empty();
  for (const objects::TopologyTerm& term : from.allowed_topologies) {
    std::vector<LabelRequirement> requirements;
    for (const auto& [key, values] : term) {
      if (values.empty()) {  // The term does not parse, so it matches nothing.
        requirements.clear();
        break;
      }
      requirements.push_back(
          {.key = symbols.Intern(key), .op = Operator::kIn, .values = InternAll(values, symbols)});
    }
    if (!requirements.empty()) to.allowed_topologies.push_back(std::move(requirements));
  }
  classes_by_name_.emplace(to.name, &to);
}

void Storage::Put(const objects::CsiDriver& driver, Symbols& symbols) {
  if (driver.storage_capacity) drivers_with_capacity_.insert(symbols.Intern(driver.meta.name));
  if (driver.prevents_scheduling) preventing_drivers_.insert(symbols.Intern(driver.meta.name));
}

void Storage::Put(const objects::CsiNode& from, Symbols& symbols) {
  CsiNodeInfo& to = csi_nodes_[symbols.Intern(from.meta.name)];
  for (const auto& [driver, volumes_max] : from.drivers) {
    to.drivers.push_back(symbols.Intern(driver));
    if (volumes_max) to.limits.push_back({symbols.Intern(driver), *volumes_max});
  }
  std::ranges::sort(to.drivers);
  Text plugins = FindValue(from.meta.annotations, kMigratedPlugins).value_or("");
  while (!plugins.empty()) {
    const size_t comma = plugins.find(',');
    to.migrated_plugins.push_back(symbols.Intern(plugins.substr(0, comma)));
    if (comma == Text::npos) break;
    plugins.remove_prefix(comma + 1);
  }
}

void Storage::Put(const objects::VolumeAttachment& attachment, Symbols& symbols) {
  if (attachment.attacher.empty() || !attachment.volume_name) return;
  attachments_[symbols.Intern(attachment.node_name)].push_back(
      {symbols.Intern(attachment.attacher), symbols.Intern(*attachment.volume_name)});
}

// Ignores a capacity that no node can use, or that has no size.
void Storage::Put(const objects::CsiStorageCapacity& from, Symbols& symbols) {
  const std::optional<int64_t> size =
      from.maximum_volume_size_bytes ? from.maximum_volume_size_bytes : from.capacity_bytes;
  if (from.node_topology.nil || !size) return;
  absl::StatusOr<Selector> topology = CompileSelector(from.node_topology, symbols);
  if (!topology.ok()) return;
  capacities_.push_back({symbols.Intern(from.storage_class_name), *size, *std::move(topology)});
}

void Storage::Put(const objects::DeviceClass& from, Symbols& symbols) {
  const TextId name = symbols.Intern(from.meta.name);
  device_classes_.emplace(
      symbols.Intern(absl::StrCat(Absl(kDeviceClassPrefix), Absl(from.meta.name))), name);
  if (!from.extended_resource_name.empty()) {
    device_classes_.emplace(symbols.Intern(from.extended_resource_name), name);
  }
}

void Storage::Put(const objects::ResourceClaim& from, Symbols& symbols) {
  std::string state = from.allocated ? "is allocated" : "is not allocated";
  for (const objects::ResourceClaim::Device& device : from.devices) {
    absl::StrAppend(&state, &device == &from.devices.front() ? " (" : ", ", Absl(device.driver),
                    "/", Absl(device.pool), "/", Absl(device.name));
  }
  if (!from.devices.empty()) state += ')';
  if (from.meta.deletion_time) state += " and is being deleted";
  resource_claims_.emplace(
      NamespacedName{symbols.Intern(from.meta.namespace_name), symbols.Intern(from.meta.name)},
      std::move(state));
}

void Storage::Put(const objects::ResourceClaimTemplate& from, Symbols& symbols) {
  resource_claim_templates_.emplace(symbols.Intern(from.meta.namespace_name),
                                    symbols.Intern(from.meta.name));
}

uint32_t Storage::AddVolumesOf(const objects::Pod& pod, Symbols& symbols) {
  PodVolumes volumes;
  VolumesOnce attachables(volumes.attachables);
  for (const objects::Volume& volume : pod.volumes) {
    if (volume.source == "persistentVolumeClaim") {
      volumes.claims.push_back({.name = symbols.Intern(volume.claim_name)});
    } else if (volume.source == "ephemeral") {
      volumes.claims.push_back(
          {.name = symbols.Intern(absl::StrCat(Absl(pod.meta.name), "-", Absl(volume.name))),
           .ephemeral = true});
    } else {
      AddDisk(volume, volumes, symbols);
      AddMigratedDisk(volume, attachables, volumes, symbols);
    }
  }
  if (volumes.claims.empty() && volumes.disks.empty() && volumes.attachables.empty() &&
      volumes.attach_error.empty()) {
    return 0;
  }
  volumes.namespace_name = symbols.Intern(pod.meta.namespace_name);
  volumes.pod_name = symbols.Intern(pod.meta.name);
  volumes.pod_uid = symbols.Intern(pod.meta.uid);
  asked_volumes_.push_back(std::move(volumes));
  return static_cast<uint32_t>(asked_volumes_.size());
}

// A claim without a volume counts as the volume that its class will provision.
void Storage::ConnectClaim(ClaimInfo& claim, Symbols& symbols) const {
  if (const auto it = volumes_by_name_.find(claim.volume_name); it != volumes_by_name_.end()) {
    claim.volume = it->second;
  }
  if (const auto it = classes_by_name_.find(claim.storage_class); it != classes_by_name_.end()) {
    claim.class_info = it->second;
  }
  if (claim.volume != nullptr) {
    claim.attachable = claim.volume->attachable;
    return;
  }
  if (claim.class_info == nullptr) return;
  const Text provisioner = symbols.Text(claim.class_info->provisioner);
  if (provisioner.empty() || IsUncountedPlugin(provisioner)) return;
  const InTreePlugin* plugin = InTreePluginNamed(provisioner);
  // No driver's handle starts like this.
  const std::string handle = absl::StrCat("(unbound)", Absl(symbols.Text(claim.namespace_name)),
                                          "/", Absl(symbols.Text(claim.name)));
  claim.attachable = plugin == nullptr ? MakeAttachable(provisioner, handle, symbols)
                                       : MakeMigrated(*plugin, handle, symbols);
}

void Storage::ConnectPod(const PodVolumes& asked) {
  PodVolumes& pod = pod_volumes_.emplace_back(asked);
  VolumesOnce attachables(pod.attachables);
  for (PodVolumes::ClaimUse& use : pod.claims) {
    const auto it = claims_by_name_.find({pod.namespace_name, use.name});
    if (it == claims_by_name_.end()) continue;
    use.claim = it->second;
    use.owned = !use.ephemeral || use.claim->controller_uid == pod.pod_uid;
    if (!use.owned) {
      pod.attach_error = "ephemeral volume: the PersistentVolumeClaim is not owned by the pod";
    } else if (use.claim->attachable) {
      attachables.Add(*use.claim->attachable);
    }
  }
}

void Storage::ConnectAttachments(TextId node, Symbols& symbols) {
  std::vector<AttachableVolume> volumes;
  VolumesOnce once(volumes);
  for (const auto& [attacher, volume] : attachments_.at(node)) {
    const auto it = volumes_by_name_.find(volume);
    if (it == volumes_by_name_.end() || !it->second->is_csi) continue;
    once.Add(MakeAttachable(symbols.Text(attacher), symbols.Text(it->second->csi_handle), symbols));
  }
  attached_to_[node] = std::move(volumes);
}

void Storage::Connect(Symbols& symbols) {
  for (size_t i = 0; i < zone_labels_.size(); ++i) {
    zone_labels_[i] = symbols.Intern(kZoneLabels[i].first);
  }
  for (StorageClassInfo& info : classes_) {
    info.tracks_capacity = drivers_with_capacity_.contains(info.provisioner);
  }
  for (auto& [storage_class, volumes] : volumes_by_class_) SortVolumes(volumes);
  absl::flat_hash_map<TextId, FreeVolumes> free_volumes;
  for (ClaimInfo& claim : claims_) {
    ConnectClaim(claim, symbols);
    if (claim.FullyBound()) continue;
    const auto [it, is_new] =
        free_volumes.try_emplace(claim.storage_class, VolumesOfClass(claim.storage_class));
    if (it->second.HasAnyFor(claim)) continue;
    // No volume suits the claim anywhere, so nodes need not be tested for it.
    if (!claim.selector) claim.selector.emplace();
    claim.selector->nothing = true;
  }
  pod_volumes_.reserve(asked_volumes_.size());
  for (const PodVolumes& pod : asked_volumes_) ConnectPod(pod);
  for (const auto& [node, attachments] : attachments_) ConnectAttachments(node, symbols);
}

void Storage::ConnectLastVolumes() { ConnectPod(asked_volumes_.back()); }

Storage::Effect Storage::EffectOf(const objects::StorageObject& object) {
  struct {
    Effect operator()(const objects::Machine&) const { return Effect::kInPlace; }
    Effect operator()(const objects::NodeClaim&) const { return Effect::kInPlace; }
    Effect operator()(const objects::NodePool&) const { return Effect::kInPlace; }
    Effect operator()(const objects::CsiNode&) const { return Effect::kInPlace; }
    Effect operator()(const objects::VolumeAttachment&) const { return Effect::kInPlace; }
    Effect operator()(const objects::PersistentVolume&) const { return Effect::kAnew; }
    Effect operator()(const objects::PersistentVolumeClaim&) const { return Effect::kAnew; }
    Effect operator()(const objects::StorageClass&) const { return Effect::kAnew; }
    Effect operator()(const objects::CsiDriver&) const { return Effect::kAnew; }
    Effect operator()(const objects::CsiStorageCapacity&) const { return Effect::kAnew; }
    Effect operator()(const objects::DeviceClass&) const { return Effect::kShapes; }
    Effect operator()(const objects::PodGroup&) const { return Effect::kShapes; }
    Effect operator()(const objects::EvictionRequest&) const { return Effect::kShapes; }
    Effect operator()(const objects::PodTemplate&) const { return Effect::kShapes; }
    Effect operator()(const objects::CapacityBuffer&) const { return Effect::kShapes; }
    Effect operator()(const objects::VerticalPodAutoscaler&) const { return Effect::kShapes; }
    // The caller asks first whether shapes of pods depend on it (SpreadDependsOn).
    Effect operator()(const objects::Service&) const { return Effect::kInPlace; }
    // The caller connects shapes of pods with them.
    Effect operator()(const objects::ResourceSlice&) const { return Effect::kInPlace; }
    Effect operator()(const objects::DeviceTaintRule&) const { return Effect::kShapes; }
    Effect operator()(const objects::ResourceClaim&) const { return Effect::kInPlace; }
    Effect operator()(const objects::ResourceClaimTemplate&) const { return Effect::kInPlace; }
  } effect;
  return std::visit(effect, object);
}

void Storage::Replace(const objects::StorageObject* old, const objects::StorageObject& object,
                      Symbols& symbols) {
  if (old != nullptr) Remove(*old, symbols);
  std::visit([&](const auto& o) { Put(o, symbols); }, object);
  if (const auto* attachment = std::get_if<objects::VolumeAttachment>(&object)) {
    const TextId node = symbols.Intern(attachment->node_name);
    if (attachments_.contains(node)) ConnectAttachments(node, symbols);
  }
}

void Storage::Remove(const objects::StorageObject& object, Symbols& symbols) {
  if (const auto* csi_node = std::get_if<objects::CsiNode>(&object)) {
    csi_nodes_.erase(symbols.Intern(csi_node->meta.name));
    return;
  }
  if (const auto* machine = std::get_if<objects::Machine>(&object)) {
    return dying_machines_.Remove(*machine, symbols);
  }
  if (const auto* claim = std::get_if<objects::NodeClaim>(&object)) {
    karpenter_.Remove(*claim, symbols);
    return dying_machines_.Remove(*claim, symbols);
  }
  if (const auto* pool = std::get_if<objects::NodePool>(&object)) {
    return karpenter_.Remove(*pool, symbols);
  }
  if (const auto* service = std::get_if<objects::Service>(&object)) {
    return services_.Remove(*service, symbols);
  }
  const auto name_of = [&](const objects::ObjectMeta& meta) {
    return NamespacedName{symbols.Intern(meta.namespace_name), symbols.Intern(meta.name)};
  };
  if (const auto* claim = std::get_if<objects::ResourceClaim>(&object)) {
    resource_claims_.erase(name_of(claim->meta));
    return;
  }
  if (const auto* made_from = std::get_if<objects::ResourceClaimTemplate>(&object)) {
    resource_claim_templates_.erase(name_of(made_from->meta));
    return;
  }
  if (const auto* slice = std::get_if<objects::ResourceSlice>(&object)) {
    if (slice->node_name.empty()) return;
    const auto of_node = pools_of_.find(symbols.Intern(slice->node_name));
    const auto pool = of_node->second.find({std::string(slice->driver), std::string(slice->pool)});
    if (--pool->second == 0) of_node->second.erase(pool);
    if (of_node->second.empty()) pools_of_.erase(of_node);
    return;
  }
  const auto& from = std::get<objects::VolumeAttachment>(object);
  if (from.attacher.empty() || !from.volume_name) return;
  const TextId node = symbols.Intern(from.node_name);
  std::vector<Attachment>& list = attachments_[node];
  const auto it = std::ranges::find(
      list, Attachment{symbols.Intern(from.attacher), symbols.Intern(*from.volume_name)});
  EBB_CHECK(it != list.end());
  list.erase(it);
  if (list.empty()) {
    attachments_.erase(node);
    attached_to_.erase(node);
  } else {
    ConnectAttachments(node, symbols);
  }
}

void Storage::Put(const objects::ResourceSlice& slice, Symbols& symbols) {
  if (slice.node_name.empty()) return;
  ++pools_of_[symbols.Intern(slice.node_name)]
             [{std::string(slice.driver), std::string(slice.pool)}];
}

const Storage::DevicePools* Storage::PoolsOf(TextId node) const {
  const auto it = pools_of_.find(node);
  return it == pools_of_.end() ? nullptr : &it->second;
}

Storage Storage::WithoutObjects() const {
  Storage storage;
  storage.asked_volumes_ = asked_volumes_;
  return storage;
}

const CsiNodeInfo* Storage::FindCsiNode(TextId node) const {
  const auto it = csi_nodes_.find(node);
  return it == csi_nodes_.end() ? nullptr : &it->second;
}

std::span<const AttachableVolume> Storage::AttachedTo(TextId node) const {
  const auto it = attached_to_.find(node);
  if (it == attached_to_.end()) return {};
  return it->second;
}

std::span<const VolumeInfo* const> Storage::VolumesOfClass(TextId storage_class) const {
  const auto it = volumes_by_class_.find(storage_class);
  if (it == volumes_by_class_.end()) return {};
  return it->second;
}

std::string Storage::Describe(TextId namespace_name, const PodResourceClaimInfo& claim,
                              const Symbols& symbols) const {
  const auto full_name = [&](TextId name) {
    return absl::StrCat(Absl(symbols.Text(namespace_name)), "/", Absl(symbols.Text(name)));
  };
  if (claim.claim_name != kNoText) {
    const auto it = resource_claims_.find({namespace_name, claim.claim_name});
    return absl::StrCat("ResourceClaim ", full_name(claim.claim_name), " ",
                        it == resource_claims_.end() ? "is not in the input" : it->second);
  }
  if (claim.template_name == kNoText) return "no ResourceClaim is named";
  const bool known = resource_claim_templates_.contains({namespace_name, claim.template_name});
  return absl::StrCat("no ResourceClaim was made yet from ResourceClaimTemplate ",
                      full_name(claim.template_name), known ? "" : ", which is not in the input");
}

TextId Storage::DeviceClassOf(TextId resource) const {
  const auto it = device_classes_.find(resource);
  return it == device_classes_.end() ? kNoText : it->second;
}

}  // namespace ebb
