#include "engine/plan/utilization.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_set.h"
#include "predicates/drainability.h"
#include "snapshot/devices.h"
#include "snapshot/objects/pod_requests.h"

namespace ebb {
namespace {

// The autoscaler divides milli-units as floating-point numbers. cpu is in milli-units already.
double Ratio(double requested, double allocatable, ResourceId resource) {
  const double scale = resource == kCpu ? 1 : 1000;
  return requested * scale / (allocatable * scale);
}

int64_t CountOf(const PodShape& shape, ResourceId resource) {
  for (const auto& [id, amount] : shape.Counted()) {
    if (id == resource) return amount;
  }
  return 0;
}

double Used(const ClusterSnapshot& snapshot, NodeId node, ResourceId resource,
            const UtilizationOptions& options, int64_t now_s) {
  const Catalog& catalog = snapshot.catalog();
  const int64_t allocatable = snapshot.Allocatable(resource, node);
  if (options.all_as_charged && !options.ignore_daemonsets && !options.ignore_mirror_pods) {
    return Ratio(static_cast<double>(allocatable - snapshot.Free(resource, node)),
                 static_cast<double>(allocatable), resource);
  }
  // The sum of counted amounts, unlike that of charged ones, has no bound.
  __int128 requested = 0;
  // Amounts of ignored pods, which are subtracted from the allocatable amount.
  __int128 excluded = 0;
  for (const PodId pod : snapshot.PodsOn(node)) {
    const PodShape& shape = catalog.shape_of(pod);
    const int64_t count = CountOf(shape, resource);
    if (count == 0) continue;
    if ((options.ignore_daemonsets && IsDaemonSetPod(catalog, shape)) ||
        (options.ignore_mirror_pods && shape.mirror)) {
      excluded += count;
    } else if (!IsLongTerminating(catalog, pod, now_s)) {
      requested += count;
    }
  }
  return Ratio(static_cast<double>(requested), static_cast<double>(allocatable - excluded),
               resource);
}

// The pool of devices that is used most, on a node with devices of its own.
std::optional<Utilization> UseOfDevices(const ClusterSnapshot& snapshot, NodeId node) {
  const Catalog& catalog = snapshot.catalog();
  absl::flat_hash_set<DeviceId> used;
  for (const PodId pod : snapshot.PodsOn(node)) {
    const PodShape& shape = catalog.shape_of(pod);
    for (const PodResourceClaimInfo& claim : shape.resource_claims) {
      const std::optional<DeviceClaimId> id =
          catalog.devices().FindClaim(shape.namespace_name, claim.claim_name);
      if (!id) continue;
      for (const HeldDevice& device : snapshot.devices().claim(*id).devices) {
        if (!device.admin_access) used.insert(device.id);
      }
    }
  }
  const std::optional<Devices::PoolUse> use =
      catalog.devices().HighestUse(node, used, catalog.symbols());
  if (!use) return std::nullopt;
  return Utilization{.resource = use->driver, .pool = use->pool, .utilization = use->utilization};
}

}  // namespace

std::optional<ResourceId> GpuOf(const Catalog& catalog, NodeId node) {
  const auto& allocatable = catalog.node(node).allocatable;
  if (allocatable.empty() || Index(allocatable.back().resource) < kFixedResources) {
    return std::nullopt;  // The usual case, without a look-up by name.
  }
  std::optional<ResourceId> gpu;
  size_t rank = std::size(kGpuResources);  // The index of `gpu` in the list, whose order decides.
  for (const auto& [resource, amount] : allocatable) {
    if (Index(resource) < kFixedResources || amount == 0) continue;
    const std::string_view name = catalog.ResourceName(resource);
    for (size_t r = 0; r < rank; ++r) {
      if (name != kGpuResources[r]) continue;
      gpu = resource;
      rank = r;
    }
  }
  return gpu;
}

bool HasGpus(const Catalog& catalog, NodeId node) {
  if (GpuOf(catalog, node)) return true;
  return std::ranges::any_of(catalog.node(node).allocatable, [&](const ResourceQuantity& q) {
    return q.amount > 0 && catalog.ResourceName(q.resource).starts_with(kMigResourcePrefix);
  });
}

std::optional<Utilization> CalculateUtilization(const ClusterSnapshot& snapshot, NodeId node,
                                                const UtilizationOptions& options, int64_t now_s) {
  const Catalog& catalog = snapshot.catalog();
  Utilization result;
  if (const std::optional<ResourceId> gpu = GpuOf(catalog, node)) {
    result.gpu = Used(snapshot, node, *gpu, options, now_s);
    result.resource = catalog.resource_name(*gpu);
    result.utilization = result.gpu;
    return result;
  }
  if (options.gpu_label) {
    result.resource = catalog.symbols().Find(kDefaultGpuResource).value();  // Every catalog has it.
    return result;
  }
  if (catalog.devices().HasOwnSlices(node)) return UseOfDevices(snapshot, node);
  for (const ResourceId resource : {kCpu, kMemory}) {
    if (snapshot.Allocatable(resource, node) == 0) return std::nullopt;
  }
  result.cpu = Used(snapshot, node, kCpu, options, now_s);
  result.memory = Used(snapshot, node, kMemory, options, now_s);
  const bool cpu_counts = result.cpu > result.memory;
  result.resource = catalog.resource_name(cpu_counts ? kCpu : kMemory);
  result.utilization = cpu_counts ? result.cpu : result.memory;
  return result;
}

}  // namespace ebb
