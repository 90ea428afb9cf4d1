#include "service/node_facts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "engine/utilization.h"
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

NodeFacts FactsOf(const Catalog& catalog, NodeId node, const FactLabels& labels) {
  NodeFacts facts;
  facts.instance_type = FirstLabelOf(catalog, node, labels.instance_type);
  facts.zone = FirstLabelOf(catalog, node, labels.zone);
  facts.capacity_type = CapacityType(catalog, node, labels.capacity);
  const std::optional<ResourceId> gpu = GpuOf(catalog, node);
  for (const auto& [resource, amount] : catalog.node(node).allocatable) {
    if (resource == kCpu) facts.allocatable.cpu_milli = amount;
    if (resource == kMemory) facts.allocatable.memory_bytes = amount;
    if (gpu && resource == *gpu) facts.allocatable.gpus = amount;
  }
  return facts;
}

}  // namespace

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
