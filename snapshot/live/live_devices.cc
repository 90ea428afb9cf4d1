// LiveSnapshot: changes of ResourceClaims and ResourceSlices, and of the pods that use them.
//
// A change of an object, of a pod or of a node is only noted.  UpdateDevices() then reads the
// objects that changed, and does again what SnapshotBuilder::ConnectDevices() did, for the shapes
// and claims that are connected with the changes: a pod's verdict may depend on every pod that
// names one of its claims.  Until then, pods take and give back devices by the old claims, so that
// each shape and the state of its claims agree.

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "snapshot/devices.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/live_snapshot.h"

namespace ebb {

// --- Noting ---------------------------------------------------------------------------------

void LiveSnapshot::NoteDevices(const objects::StorageObject& object, bool is_gone) {
  const auto note_claim = [&](const objects::ObjectMeta& meta) {
    device_changes_.claims.emplace(symbols_->Intern(meta.namespace_name),
                                   symbols_->Intern(meta.name));
  };
  if (const auto* const claim = std::get_if<objects::ResourceClaim>(&object)) {
    note_claim(claim->meta);
  } else if (const auto* const made_from = std::get_if<objects::ResourceClaimTemplate>(&object)) {
    note_claim(made_from->meta);
  } else if (const auto* const slice = std::get_if<objects::ResourceSlice>(&object)) {
    const TextId name = symbols_->Intern(slice->meta.name);
    device_changes_.slices.insert(name);
    if (is_gone) device_changes_.slices_gone.insert(name);
  } else {
    return;
  }
  if (rebuilds_for_devices_) BecomeStale(RebuildCause::kStorage);
}

void LiveSnapshot::NoteDeviceUse(PodShapeId shape) {
  if (catalog_->shape(shape).resource_claims.empty()) return;
  device_changes_.shapes.insert(shape);
  if (rebuilds_for_devices_) BecomeStale(RebuildCause::kStorage);
}

void LiveSnapshot::NoteDeviceUses(std::span<const PodId> pods) {
  if (device_users_.empty()) return;
  for (const PodId pod : pods) NoteDeviceUse(catalog_->shape_ids_[Index(pod)]);
}

// REQUIRES: the pods of the node are on it.
void LiveSnapshot::NoteDeviceNode(NodeId node) {
  NoteDeviceUses(snapshot_.PodsOn(node));
  if (catalog_->devices().HasSlices()) device_changes_.nodes.insert(node);
}

std::vector<LiveSnapshot::DeviceClaimName> LiveSnapshot::DeviceClaimsOf(PodShapeId shape) const {
  const PodShape& of = catalog_->shape(shape);
  std::vector<DeviceClaimName> names;
  for (const PodResourceClaimInfo& claim : of.resource_claims) {
    names.emplace_back(of.namespace_name,
                       claim.claim_name != kNoText ? claim.claim_name : claim.template_name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void LiveSnapshot::AddDeviceUser(uint32_t place) {
  const HeldPod& held = pods_[place];
  if (catalog_->shape(held.shape).resource_claims.empty()) return;
  const auto [it, is_new] = device_users_.try_emplace(held.shape);
  it->second.push_back(place);
  if (is_new) {
    for (const DeviceClaimName& name : DeviceClaimsOf(held.shape)) {
      shapes_of_claim_[name].push_back(held.shape);
    }
  }
  nominated_device_users_ += held.named.is_nominated ? 1 : 0;
  NoteDeviceUse(held.shape);
}

void LiveSnapshot::RemoveDeviceUser(uint32_t place) {
  const HeldPod& held = pods_[place];
  if (catalog_->shape(held.shape).resource_claims.empty()) return;
  std::erase(device_users_.at(held.shape), place);
  nominated_device_users_ -= held.named.is_nominated ? 1 : 0;
  unknown_device_users_.erase(place);
  NoteDeviceUse(held.shape);
}

// After a rebuild.
void LiveSnapshot::FindDeviceUsers() {
  device_changes_ = {};
  device_users_.clear();
  shapes_of_claim_.clear();
  nominated_device_users_ = 0;
  unknown_device_users_.clear();
  shares_devices_ = false;
  rebuilds_for_devices_ = false;  // While the users are added.
  for (uint32_t p = 0; p < held_of_.size(); ++p) {
    if (catalog_->shape_of(PodId{p}).resource_claims.empty()) continue;
    if (catalog_->IsBufferPod(PodId{p})) continue;
    AddDeviceUser(held_of_[p]);
    NoteUnknownDevices({.pod = PodId{p},
                        .node = snapshot_.NodeOf(PodId{p}),
                        .is_nominated = pods_[held_of_[p]].named.is_nominated});
  }
  pools_closed_ = !unknown_device_users_.empty();
  rebuilds_for_devices_ = builder_->renumbered_resources_ ||
                          std::ranges::any_of(catalog_->BufferPods(), [&](PodId pod) {
                            return !catalog_->shape_of(pod).resource_claims.empty();
                          });
  device_changes_ = {};
}

void LiveSnapshot::NoteUnknownDevices(const SnapshotBuilder::DeviceUser& user) {
  const uint32_t place = held_of_[Index(user.pod)];
  if (builder_->UsesUnknownDevices(user)) {
    unknown_device_users_.insert(place);
  } else {
    unknown_device_users_.erase(place);
  }
}

// --- Applying -------------------------------------------------------------------------------

std::vector<DeviceClaimId> LiveSnapshot::ReadDeviceObjects() {
  Devices& devices = *catalog_->devices_;
  std::vector<DeviceClaimId> gone;
  objects::StorageObject named;
  const objects::StorageObject* const ref = &named;
  for (const auto& [namespace_name, name] : device_changes_.claims) {
    objects::ResourceClaim& claim = named.emplace<objects::ResourceClaim>();
    claim.meta.namespace_name = symbols_->Text(namespace_name);
    claim.meta.name = symbols_->Text(name);
    if (const HeldObject* const held = objects_.Find(ref)) {
      const UnpackedObject object(held->packed);
      devices.Replace(
          std::get<objects::ResourceClaim>(*std::get<const objects::StorageObject*>(object.ref())),
          *symbols_);
    } else if (const auto id = devices.FindClaim(namespace_name, name)) {
      devices.RemoveClaim(*id);
      gone.push_back(*id);
    }
  }
  for (const TextId name : device_changes_.slices_gone) devices.RemoveSlice(name);
  std::vector<const HeldObject*> slices;
  for (const TextId name : device_changes_.slices) {
    named.emplace<objects::ResourceSlice>().meta.name = symbols_->Text(name);
    if (const HeldObject* const held = objects_.Find(ref)) slices.push_back(held);
  }
  std::ranges::sort(slices, {}, &HeldObject::order);
  for (const HeldObject* const held : slices) {
    const UnpackedObject object(held->packed);
    devices.Replace(
        std::get<objects::ResourceSlice>(*std::get<const objects::StorageObject*>(object.ref())),
        *symbols_);
  }
  const auto node_at = [&](NodeId id) {
    return DeviceNode{catalog_->node(id).name, catalog_->node(id).labels};
  };
  const auto find_node = [&](TextId name) { return catalog_->FindNode(name); };
  const std::vector<NodeId> nodes(device_changes_.nodes.begin(), device_changes_.nodes.end());
  devices.Reconnect({catalog_->nodes(), node_at, find_node}, nodes, *symbols_);
  return gone;
}

void LiveSnapshot::GatherDeviceUses(absl::btree_set<PodShapeId>& shapes,
                                    absl::btree_set<DeviceClaimName>& claims) const {
  std::vector<DeviceClaimName> open(claims.begin(), claims.end());
  const auto add_claims = [&](PodShapeId shape) {
    for (const DeviceClaimName& name : DeviceClaimsOf(shape)) {
      if (claims.insert(name).second) open.push_back(name);
    }
  };
  for (const PodShapeId shape : shapes) add_claims(shape);
  while (!open.empty()) {
    const auto it = shapes_of_claim_.find(open.back());
    open.pop_back();
    if (it == shapes_of_claim_.end()) continue;
    for (const PodShapeId shape : it->second) {
      if (shapes.insert(shape).second) add_claims(shape);
    }
  }
}

void LiveSnapshot::UpdateDevices() {
  EBB_DCHECK(snapshot_.depth() == 0);
  if (std::exchange(shares_devices_, false)) catalog_->devices_ = catalog_->devices_->Copy();
  const std::vector<DeviceClaimId> gone = ReadDeviceObjects();
  absl::btree_set<PodShapeId> shapes = std::move(device_changes_.shapes);
  absl::btree_set<DeviceClaimName> names = std::move(device_changes_.claims);
  device_changes_ = {};
  GatherDeviceUses(shapes, names);

  std::vector<PodShapeId> used;
  std::vector<SnapshotBuilder::DeviceUser> users;
  for (const PodShapeId shape : shapes) {
    builder_->DisconnectDeviceClaims(shape);
    const auto it = device_users_.find(shape);
    if (it == device_users_.end()) continue;
    if (it->second.empty()) {
      for (const DeviceClaimName& name : DeviceClaimsOf(shape)) {
        const auto of_claim = shapes_of_claim_.find(name);
        std::erase(of_claim->second, shape);
        if (of_claim->second.empty()) shapes_of_claim_.erase(of_claim);
      }
      device_users_.erase(it);
      continue;
    }
    used.push_back(shape);
    for (const uint32_t place : it->second) {
      const HeldPod& held = pods_[place];
      users.push_back({.pod = held.id,
                       .node = snapshot_.NodeOf(held.id),
                       .is_nominated = held.named.is_nominated});
    }
  }
  // As a rebuild would register them.
  std::ranges::sort(users, {}, [&](const SnapshotBuilder::DeviceUser& user) {
    return std::pair(user.node, pods_[held_of_[Index(user.pod)]].order);
  });

  Devices& devices = *catalog_->devices_;
  std::vector<DeviceClaimId> claims = gone;  // Of these, some ids may be of other claims now.
  for (const DeviceClaimName& name : names) {
    const std::optional<DeviceClaimId> id = devices.FindClaim(name.first, name.second);
    if (!id) continue;
    devices.ForgetUsers(*id);
    claims.push_back(*id);
  }
  builder_->ConnectDeviceClaims(used, users);
  for (const SnapshotBuilder::DeviceUser& user : users) NoteUnknownDevices(user);
  if (!unknown_device_users_.empty() || pools_closed_) {
    absl::flat_hash_set<NodeId> nodes;
    for (const uint32_t place : unknown_device_users_) {
      nodes.insert(snapshot_.NodeOf(pods_[place].id));
    }
    builder_->CloseUnknownPools(nodes);
    pools_closed_ = !nodes.empty();
  }
  TakeDevicesAgain(claims, users);
  Changed();
}

// A pod that is nominated may have claims that are not allocated.  It gets devices in the turn of
// all pods, so then all of them take theirs again.
void LiveSnapshot::TakeDevicesAgain(std::span<const DeviceClaimId> claims,
                                    std::span<const SnapshotBuilder::DeviceUser> users) {
  const Devices& devices = catalog_->devices();
  snapshot_.has_device_claims_ = devices.claims() > 0;
  DeviceState& state = snapshot_.devices_;
  if (nominated_device_users_ > 0) {
    state.Reset(devices);
    snapshot_.alive().ForEach([&](NodeId node) {
      for (const PodId pod : snapshot_.PodsOn(node)) snapshot_.TakeDevices(pod, node);
    });
    return;
  }
  state.Grow(devices);
  for (const DeviceClaimId id : claims) state.Read(devices, id);
  for (const SnapshotBuilder::DeviceUser& user : users) {
    if (user.node != kNoNode) snapshot_.TakeDevices(user.pod, user.node);
  }
}

}  // namespace ebb
