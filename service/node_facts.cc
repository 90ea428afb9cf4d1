#include "service/node_facts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "base/text.h"
#include "engine/utilization.h"
#include "snapshot/pod_requests.h"
#include "snapshot/well_known_names.h"

namespace ebb {
namespace {

constexpr std::string_view kInstanceTypeLabels[] = {"node.kubernetes.io/instance-type",
                                                    "beta.kubernetes.io/instance-type"};
constexpr std::string_view kZoneLabels[] = {kZoneLabel, kBetaZoneLabel};
// Of a flag, "true" means `meaning`; else the value is the capacity type.
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

// Labels by their ids; those that no node carries are left out.
struct CapacityLabel {
  TextId key;
  std::string_view meaning;
};
struct FactLabels {
  explicit FactLabels(const Symbols& symbols)
      : instance_type(Ids(symbols, kInstanceTypeLabels)), zone(Ids(symbols, kZoneLabels)) {
    gpu_count = symbols.Find("nvidia.com/gpu.count");
    gpu_replicas = symbols.Find("nvidia.com/gpu.replicas");
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
  std::vector<CapacityLabel> capacity;
  std::optional<TextId> gpu_count;
  std::optional<TextId> gpu_replicas;
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

std::string OneSpelling(std::string_view value) {
  std::string text(value);
  for (char& c : text) c = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  // What GKE and AKS call a machine at the full price.
  return text == "standard" || text == "regular" ? "on-demand" : text;
}

std::string CapacityType(const Catalog& catalog, NodeId node,
                         const std::vector<CapacityLabel>& labels) {
  for (const auto& [label, meaning] : labels) {
    const std::string_view value = LabelOf(catalog, node, label);
    if (value.empty()) continue;
    if (meaning.empty()) return OneSpelling(value);
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

// A label of a whole number above 0.
std::optional<int64_t> NumberOf(const Catalog& catalog, NodeId node,
                                const std::optional<TextId>& label) {
  if (!label) return std::nullopt;
  const std::optional<int64_t> number = ParseInt64(LabelOf(catalog, node, *label));
  return number && *number > 0 ? number : std::nullopt;
}

// The machine's own, of those that have some to give.
int64_t GpusOfMachine(const Catalog& catalog, NodeId node, const FactLabels& labels) {
  if (!HasGpus(catalog, node)) return 0;
  const std::optional<ResourceId> gpu = GpuOf(catalog, node);
  int64_t allocatable = 0;
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (gpu && resource == *gpu) allocatable = amount;
  }
  if (gpu && catalog.ResourceName(*gpu) != "nvidia.com/gpu") return allocatable;
  if (const auto count = NumberOf(catalog, node, labels.gpu_count)) return *count;
  return allocatable / NumberOf(catalog, node, labels.gpu_replicas).value_or(1);
}

NodeFacts FactsOf(const Catalog& catalog, NodeId node, const FactLabels& labels) {
  NodeFacts facts;
  facts.instance_type = FirstLabelOf(catalog, node, labels.instance_type);
  facts.zone = FirstLabelOf(catalog, node, labels.zone);
  facts.capacity_type = CapacityType(catalog, node, labels.capacity);
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (resource == kCpu) facts.allocatable.cpu_milli = amount;
    if (resource == kMemory) facts.allocatable.memory_bytes = amount;
  }
  facts.allocatable.gpus = GpusOfMachine(catalog, node, labels);
  return facts;
}

}  // namespace

std::vector<GpuSlices> GpuSlicesOf(const ClusterSnapshot& snapshot, NodeId node) {
  std::vector<GpuSlices> slices;
  const Catalog& catalog = snapshot.catalog();
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    const std::string_view name = catalog.ResourceName(resource);
    if (amount == 0 || !name.starts_with(kMigResourcePrefix)) continue;
    slices.push_back({name, amount - snapshot.Free(resource, node), amount});
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

}  // namespace ebb
