#include "simulation/simulated_devices.h"

#include <algorithm>
#include <deque>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/device_allocator.h"
#include "snapshot/devices.h"

namespace ebb {
namespace {

template <typename Kind>
const Kind& StorageOf(const UnpackedObject& object) {
  return std::get<Kind>(*std::get<const objects::StorageObject*>(object.ref()));
}

std::shared_ptr<const UnpackedObject> KeepObject(const objects::StorageObject& object) {
  return std::make_shared<const UnpackedObject>(PackObject(&object));
}

// An amount as a quantity: "2", "0.500000000".
std::string QuantityOf(const DeviceAmount& amount) {
  constexpr int64_t kNanos = 1'000'000'000;
  const auto whole = static_cast<int64_t>(amount.nanos / kNanos);
  const auto rest = static_cast<int64_t>(amount.nanos % kNanos);
  return rest == 0 ? absl::StrCat(whole)
                   : absl::StrCat(whole, ".", absl::Dec(rest, absl::kZeroPad9));
}

}  // namespace

void SimulatedDevices::Read(const objects::StorageObject& object) {
  if (const auto* const claim = std::get_if<objects::ResourceClaim>(&object)) {
    claims_[{std::string(claim->meta.namespace_name), std::string(claim->meta.name)}] =
        KeepObject(object);
  } else if (const auto* const slice = std::get_if<objects::ResourceSlice>(&object)) {
    if (slice->node_name.empty()) return;
    slices_[std::string(slice->node_name)].push_back(KeepObject(object));
    names_of_slices_[std::string(slice->node_name)].emplace_back(slice->meta.name);
  }
}

std::shared_ptr<const UnpackedObject> SimulatedDevices::Find(std::string_view namespace_name,
                                                             std::string_view name) const {
  const auto it = claims_.find({std::string(namespace_name), std::string(name)});
  return it == claims_.end() ? nullptr : it->second;
}

void SimulatedDevices::Set(objects::ResourceClaim claim, Put put) {
  const Name name(claim.meta.namespace_name, claim.meta.name);
  const objects::StorageObject object = std::move(claim);
  put(object, /*gone=*/false);
  claims_[name] = KeepObject(object);
}

void SimulatedDevices::MakeLike(const UnpackedObject& like, const PodName& pod,
                                std::string_view name, int64_t now_s, Put put) {
  const std::string uid = absl::StrCat("uid-of-", Absl(name), "-of-", Absl(pod.uid));
  objects::ResourceClaim claim = StorageOf<objects::ResourceClaim>(like);
  claim.meta.namespace_name = pod.namespace_name;
  claim.meta.name = name;
  claim.meta.uid = uid;
  claim.meta.creation_time = now_s;
  claim.meta.deletion_time.reset();
  claim.meta.owners = {
      {.api_version = "v1", .kind = "Pod", .name = pod.name, .uid = pod.uid, .controller = true}};
  claim.allocated = false;
  claim.devices.clear();
  claim.statuses.clear();
  claim.allocated_on = {};
  claim.reserved_for.clear();
  Set(std::move(claim), put);
}

bool SimulatedDevices::Allocate(const ClusterSnapshot& snapshot, PodId id, NodeId node,
                                const PodName& pod, Put put) {
  const Catalog& catalog = snapshot.catalog();
  const PodShape& shape = catalog.shape_of(id);
  std::vector<std::vector<HeldDevice>> found;
  if (!FindDevices(catalog, snapshot.devices(), shape, node, &found)) return false;
  // The changes of the claims replace the catalog: what they need of it is read before.
  std::vector<objects::ResourceClaim> claims;
  std::vector<Object> objects;    // Own the texts of `claims`, and so do
  std::deque<std::string> texts;  // those of shares.
  for (size_t c = 0; c < shape.device_claims.size(); ++c) {
    const DeviceClaimInfo& info = catalog.devices().claim(shape.device_claims[c]);
    Object object = Find(catalog.Text(info.namespace_name), catalog.Text(info.name));
    if (object == nullptr) return false;
    objects::ResourceClaim& claim = claims.emplace_back(StorageOf<objects::ResourceClaim>(*object));
    objects.push_back(std::move(object));
    const bool is_reserved =
        std::ranges::count(claim.reserved_for, pod.uid, &objects::ResourceClaim::Consumer::uid) > 0;
    if (!is_reserved) claim.reserved_for.push_back({"pods", pod.name, pod.uid});
    if (claim.allocated) continue;
    claim.allocated = true;
    bool is_local = false;
    for (const HeldDevice& held : found[c]) {
      const DeviceInfo& device = catalog.devices().device(held.info);
      const SliceInfo& slice = catalog.devices().slice(device.slice);
      objects::ResourceClaim::Device& result = claim.devices.emplace_back();
      result.driver = catalog.Text(slice.driver);
      result.pool = catalog.Text(slice.pool);
      result.name = catalog.Text(device.name);
      result.admin_access = held.admin_access;
      if (held.shared) {
        result.share_id = texts.emplace_back(
            absl::StrCat("share-", claim.devices.size(), "-of-", Absl(claim.meta.uid)));
      }
      for (const DeviceAmount& amount : held.consumed) {
        result.consumed.push_back(
            {catalog.Text(amount.name), texts.emplace_back(QuantityOf(amount))});
      }
      is_local |= device.binds_to_node;
      is_local |= !(slice.per_device_nodes ? device.reach : slice.reach).everywhere;
    }
    if (!is_local) continue;
    claim.allocated_on.nil = false;
    claim.allocated_on.terms.push_back(
        {.match_expressions = {},
         .match_fields = {{"metadata.name", "In", {catalog.NodeName(node)}}}});
  }
  for (objects::ResourceClaim& claim : claims) Set(std::move(claim), put);
  return true;
}

void SimulatedDevices::Leave(std::string_view name, const PodName& pod, Put put) {
  const Object object = Find(pod.namespace_name, name);
  if (object == nullptr) return;
  objects::ResourceClaim claim = StorageOf<objects::ResourceClaim>(*object);
  std::erase_if(claim.reserved_for, [&](const auto& each) { return each.uid == pod.uid; });
  if (claim.reserved_for.empty()) {
    claim.allocated = false;
    claim.devices.clear();
    claim.statuses.clear();
    claim.allocated_on = {};
  }
  Set(std::move(claim), put);
}

void SimulatedDevices::Remove(std::string_view namespace_name, std::string_view name, Put put) {
  const auto it = claims_.find({std::string(namespace_name), std::string(name)});
  if (it == claims_.end()) return;
  put(*std::get<const objects::StorageObject*>(it->second->ref()), /*gone=*/true);
  claims_.erase(it);
}

int64_t SimulatedDevices::Requested(std::string_view namespace_name, std::string_view name) const {
  const Object object = Find(namespace_name, name);
  if (object == nullptr) return 0;
  const auto& claim = StorageOf<objects::ResourceClaim>(*object);
  if (claim.allocated) return 0;
  int64_t devices = 0;
  for (const objects::DeviceRequest& request : claim.requests) {
    devices += request.asks.empty() ? 1 : std::max<int64_t>(1, request.asks[0].count);
  }
  return devices;
}

void SimulatedDevices::CopySlices(std::string_view pattern, std::string_view node, Put put) {
  const auto it = slices_.find(pattern);
  if (it == slices_.end()) return;
  for (const Object& object : it->second) {
    objects::ResourceSlice slice = StorageOf<objects::ResourceSlice>(*object);
    const std::string name = absl::StrCat(Absl(node), "-", Absl(slice.meta.name));
    const std::string uid = absl::StrCat("uid-of-", name);
    const std::string pool =
        slice.pool == pattern ? std::string(node) : absl::StrCat(Absl(slice.pool), "-", Absl(node));
    slice.meta.name = name;
    slice.meta.uid = uid;
    slice.pool = pool;
    slice.node_name = node;
    put(std::move(slice), /*gone=*/false);
    names_of_slices_[std::string(node)].push_back(name);
  }
}

void SimulatedDevices::RemoveSlices(std::string_view node, Put put) {
  const auto it = names_of_slices_.find(node);
  if (it == names_of_slices_.end()) return;
  for (const std::string& name : it->second) {
    objects::ResourceSlice slice;
    slice.meta.name = name;
    put(std::move(slice), /*gone=*/true);
  }
  names_of_slices_.erase(it);
}

int64_t SimulatedDevices::DevicesOf(std::string_view node) const {
  const auto it = slices_.find(node);
  if (it == slices_.end()) return 0;
  int64_t devices = 0;
  for (const Object& object : it->second) {
    devices += std::ssize(StorageOf<objects::ResourceSlice>(*object).devices);
  }
  return devices;
}

}  // namespace ebb
