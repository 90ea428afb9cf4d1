#include "groups/node_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/text.h"
#include "engine/plan/utilization.h"
#include "snapshot/objects/pod_requests.h"

namespace ebb {
namespace {

constexpr std::string_view kGpuReplicasLabels[] = {
    "nvidia.com/gpu.replicas", "cloud.google.com/gke-max-shared-clients-per-gpu"};
constexpr std::string_view kGpuStrategyLabels[] = {"nvidia.com/gpu.sharing-strategy",
                                                   "cloud.google.com/gke-gpu-sharing-strategy"};
// A label with a `meaning` is a flag: "true" stands for `meaning`.  The value of any other label is
// the capacity type.
constexpr struct {
  std::string_view label;
  std::string_view meaning;
} kCapacityLabels[] = {
    {"karpenter.sh/capacity-type", ""},      // spot, on-demand, reserved
    {"eks.amazonaws.com/capacityType", ""},  // SPOT, ON_DEMAND, CAPACITY_BLOCK
    {"cloud.google.com/gke-spot", "spot"},   // true
    {"cloud.google.com/gke-preemptible", "preemptible"},
    {"cloud.google.com/gke-provisioning", ""},      // spot, preemptible, standard
    {"kubernetes.azure.com/scalesetpriority", ""},  // spot, regular
};

// Labels by their ids; labels that no node has are left out.
struct CapacityLabel {
  TextId key;
  std::string_view meaning;
};
struct FactLabels {
  explicit FactLabels(const Symbols& symbols)
      : instance_type(Ids(symbols, kInstanceTypeLabels)),
        zone(Ids(symbols, kZoneLabels)),
        region(Ids(symbols, kRegionLabels)) {
    gpu_count = symbols.Find("nvidia.com/gpu.count");
    gpu_product = symbols.Find("nvidia.com/gpu.product");
    mig_strategy = symbols.Find("nvidia.com/mig.strategy");
    gke_partition = symbols.Find("cloud.google.com/gke-gpu-partition-size");
    gpu_replicas = Ids(symbols, kGpuReplicasLabels);
    gpu_strategy = Ids(symbols, kGpuStrategyLabels);
    for (const auto& [label, meaning] : kCapacityLabels) {
      if (const std::optional<TextId> key = symbols.Find(label)) {
        capacity.push_back({*key, meaning});
      }
    }
  }

  static std::vector<TextId> Ids(const Symbols& symbols, std::span<const std::string_view> labels) {
    std::vector<TextId> ids;
    for (const std::string_view label : labels) {
      if (const std::optional<TextId> key = symbols.Find(label)) ids.push_back(*key);
    }
    return ids;
  }

  std::vector<TextId> instance_type;
  std::vector<TextId> zone;
  std::vector<TextId> region;
  std::vector<CapacityLabel> capacity;
  std::optional<TextId> gpu_count;
  std::optional<TextId> gpu_product;
  std::optional<TextId> mig_strategy;
  std::optional<TextId> gke_partition;
  std::vector<TextId> gpu_replicas;
  std::vector<TextId> gpu_strategy;
};

std::string_view LabelOf(const Catalog& catalog, NodeId node, TextId key) {
  const std::optional<TextId> value = FindLabel(catalog.node(node).labels, key);
  return value ? catalog.Text(*value) : "";
}

std::string_view FirstLabelOf(const Catalog& catalog, NodeId node,
                              const std::vector<TextId>& labels) {
  for (const TextId label : labels) {
    if (const std::string_view value = LabelOf(catalog, node, label); !value.empty()) return value;
  }
  return "";
}

// "us-east-1" for "us-east-1a", "us-central1" for "us-central1-a", "eastus" for "eastus-1"; "" for
// other zones.
std::string_view RegionOf(std::string_view zone) {
  if (zone.size() < 3) return "";
  const std::string_view end = zone.substr(zone.size() - 2);
  if (end[0] == '-') return zone.substr(0, zone.size() - 2);
  const bool ends_as_aws = end[0] >= '0' && end[0] <= '9' && end[1] >= 'a' && end[1] <= 'z';
  return ends_as_aws ? zone.substr(0, zone.size() - 1) : "";
}

std::string CapacityType(const Catalog& catalog, NodeId node,
                         const std::vector<CapacityLabel>& labels) {
  for (const auto& [label, meaning] : labels) {
    const std::string_view value = LabelOf(catalog, node, label);
    if (value.empty()) continue;
    if (meaning.empty()) return CapacityTypeOf(value);
    if (value == "true") return std::string(meaning);
  }
  return "";
}

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

}  // namespace

void NodeAmounts::Add(const NodeAmounts& other) {
  cpu_milli = Sum(cpu_milli, other.cpu_milli);
  memory_bytes = Sum(memory_bytes, other.memory_bytes);
  gpus = Sum(gpus, other.gpus);
}

namespace {

std::string_view LabelOf(const Catalog& catalog, NodeId node, const std::optional<TextId>& label) {
  return label ? LabelOf(catalog, node, *label) : "";
}

// A whole number above 0.
std::optional<int64_t> NumberOf(std::string_view text) {
  const std::optional<int64_t> number = ParseInt64(text);
  return number && *number > 0 ? number : std::nullopt;
}

// The number before `unit` in "40GB", "1g"; leaves in `text` what follows the unit.
std::optional<int64_t> TakeNumber(std::string_view& text, std::string_view unit) {
  const size_t end = text.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> number = NumberOf(text.substr(0, end));
  text.remove_prefix(end + unit.size());
  return number;
}

// The memory of a whole GPU in GB: 40 for "NVIDIA-A100-SXM4-40GB", 24 for "NVIDIA-A30", which is
// made in one size only.
std::optional<int64_t> GigabytesOf(std::string_view product) {
  constexpr std::pair<std::string_view, int64_t> kOfOneSize[] = {
      {"NVIDIA-A30", 24}, {"NVIDIA-H200", 141}, {"NVIDIA-B200", 180}};
  for (const auto& [name, gigabytes] : kOfOneSize) {
    if (product == name || (product.starts_with(name) && product[name.size()] == '-')) {
      return gigabytes;
    }
  }
  while (!product.empty()) {
    const size_t end = std::min(product.find('-'), product.size());
    std::string_view part = product.substr(0, end);
    if (part.ends_with("GB")) return TakeNumber(part, "GB");
    product.remove_prefix(std::min(end + 1, product.size()));
  }
  return std::nullopt;
}

// How many MIG devices of a profile ("1g.5gb", "1g.5gb.me") one GPU holds: it has 7 compute slices
// and 8 memory slices, and only one device can have its media engines.
std::optional<int64_t> DevicesOfGpu(std::string_view profile, std::string_view product) {
  constexpr int64_t kComputeSlices = 7;
  constexpr int64_t kMemorySlices = 8;
  const std::optional<int64_t> whole = GigabytesOf(product);
  const std::optional<int64_t> compute = TakeNumber(profile, "g.");
  const std::optional<int64_t> gigabytes = TakeNumber(profile, "gb");
  if (!whole || !compute || !gigabytes || *gigabytes > *whole || *compute > kComputeSlices) {
    return std::nullopt;
  }
  if (profile.ends_with("me")) return 1;
  const int64_t memory = std::max<int64_t>(1, (*gigabytes * kMemorySlices + *whole / 2) / *whole);
  return std::min(kComputeSlices / *compute, kMemorySlices / memory);
}

GpuSharing SharingOf(const Catalog& catalog, NodeId node, const FactLabels& labels) {
  GpuSharing sharing;
  sharing.replicas = NumberOf(FirstLabelOf(catalog, node, labels.gpu_replicas)).value_or(1);
  if (sharing.replicas > 1) {
    const std::string_view strategy = FirstLabelOf(catalog, node, labels.gpu_strategy);
    sharing.strategy = strategy == "mps" ? "mps" : "time-slicing";
  }
  const std::string_view mig_strategy = LabelOf(catalog, node, labels.mig_strategy);
  if (mig_strategy != "none") sharing.mig_strategy = mig_strategy;
  sharing.mig_profile = LabelOf(catalog, node, labels.gke_partition);
  if (mig_strategy == "single") {
    constexpr std::string_view kMig = "-MIG-";
    const std::string_view product = LabelOf(catalog, node, labels.gpu_product);
    const size_t mig = product.find(kMig);
    std::string_view profile =
        mig == std::string_view::npos ? "" : product.substr(mig + kMig.size());
    if (profile.ends_with("-SHARED")) profile.remove_suffix(7);
    // On a GPU without MIG enabled, a device is the GPU itself.
    if (!profile.empty()) sharing.mig_profile = profile;
  }
  return sharing;
}

// The device plugin's name for nvidia.com/gpu when it renames shared GPUs (renameByDefault).
constexpr std::string_view kSharedGpus = "nvidia.com/gpu.shared";

int64_t SharedGpusOf(const Catalog& catalog, NodeId node) {
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (amount > 0 && catalog.ResourceName(resource) == kSharedGpus) return amount;
  }
  return 0;
}

// The number of GPUs of the machine itself.
int64_t GpusOfMachine(const Catalog& catalog, NodeId node, const FactLabels& labels,
                      GpuSharing& sharing) {
  const std::optional<ResourceId> gpu = GpuOf(catalog, node);
  int64_t allocatable = gpu ? 0 : SharedGpusOf(catalog, node);
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (gpu && resource == *gpu) allocatable = amount;
  }
  if (gpu && catalog.ResourceName(*gpu) != "nvidia.com/gpu") return allocatable;
  sharing = SharingOf(catalog, node, labels);
  const int64_t count =
      NumberOf(LabelOf(catalog, node, labels.gpu_count)).value_or(allocatable / sharing.replicas);
  if (allocatable == 0 || sharing.mig_profile.empty()) return count;
  const std::optional<int64_t> devices =
      DevicesOfGpu(sharing.mig_profile, LabelOf(catalog, node, labels.gpu_product));
  sharing.devices_are_counted = !devices;
  return devices ? (count + *devices - 1) / *devices : count;
}

NodeFacts FactsOf(const Catalog& catalog, NodeId node, const FactLabels& labels) {
  NodeFacts facts;
  facts.instance_type = FirstLabelOf(catalog, node, labels.instance_type);
  facts.zone = FirstLabelOf(catalog, node, labels.zone);
  facts.region = FirstLabelOf(catalog, node, labels.region);
  if (facts.region.empty()) facts.region = RegionOf(facts.zone);
  facts.capacity_type = CapacityType(catalog, node, labels.capacity);
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (resource == kCpu) facts.allocatable.cpu_milli = amount;
    if (resource == kMemory) facts.allocatable.memory_bytes = amount;
  }
  if (HasGpus(catalog, node) || SharedGpusOf(catalog, node) > 0) {
    facts.allocatable.gpus = GpusOfMachine(catalog, node, labels, facts.gpu_sharing);
  }
  return facts;
}

}  // namespace

std::string ToText(const GpuSharing& sharing) {
  std::string text;
  if (!sharing.mig_profile.empty()) text = fmt::format("MIG devices {}", sharing.mig_profile);
  if (sharing.replicas > 1) {
    text += fmt::format("{}each {} offered {} times ({})", text.empty() ? "" : ", ",
                        text.empty() ? "GPU" : "device", sharing.replicas, sharing.strategy);
  }
  return text;
}

std::vector<GpuSlices> GpuSlicesOf(const ClusterSnapshot& snapshot, NodeId node) {
  std::vector<GpuSlices> slices;
  const Catalog& catalog = snapshot.catalog();
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    const std::string_view name = catalog.ResourceName(resource);
    if (amount == 0 || !name.starts_with(kMigResourcePrefix)) continue;
    slices.push_back({.resource = name,
                      .profile = name.substr(kMigResourcePrefix.size()),
                      .requested = amount - snapshot.Free(resource, node),
                      .allocatable = amount});
  }
  return slices;
}

std::vector<NodeFacts> FactsOfNodes(const Catalog& catalog) {
  const FactLabels labels(catalog.symbols());
  std::vector<NodeFacts> facts;
  facts.reserve(catalog.nodes());
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    facts.push_back(FactsOf(catalog, NodeId{n}, labels));
  }
  return facts;
}

std::string CapacityTypeOf(std::string_view value) {
  std::string text(value);
  for (char& c : text) c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  // The words of GKE and AKS for a machine at the full price.
  const bool is_full_price = text == "standard" || text == "regular" || text == "ondemand";
  return is_full_price ? "on-demand" : text;
}

bool IsCapacityTypeLabel(std::string_view key) {
  return std::ranges::any_of(kCapacityLabels, [&](const auto& each) { return each.label == key; });
}

}  // namespace ebb
