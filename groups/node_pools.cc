#include "groups/node_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "engine/plan/karpenter.h"
#include "groups/node_facts.h"

namespace ebb {
namespace {

using Pool = KarpenterObjects::Pool;
using Requirement = KarpenterObjects::Requirement;

constexpr std::string_view kNodes = "nodes";  // The number of nodes, as a resource of limits.
constexpr std::string_view kMachinePrefixes[] = {
    "karpenter.sh/",        "karpenter.k8s.aws/",
    "karpenter.azure.com/", "karpenter.k8s.gcp/",
    "eks.amazonaws.com/",   "kubernetes.azure.com/",
    "cloud.google.com/",    "nvidia.com/",
    "kubernetes.io/",       "node.kubernetes.io/",
    "beta.kubernetes.io/",  "topology.kubernetes.io/",
    "topology.k8s.aws/",    "failure-domain.beta.kubernetes.io/"};

std::optional<int64_t> NumberOf(const std::string& text) {
  const bool is_number =
      !text.empty() && text.size() <= 15 &&
      std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? std::optional<int64_t>(std::stoll(text)) : std::nullopt;
}

bool IsComparison(std::string_view op) {
  return op == "Gt" || op == "Lt" || op == "Gte" || op == "Lte";
}

// Reads letters, or digits, from `at` on.
std::string Run(const std::string& text, size_t& at, int (*is)(int)) {
  const size_t begin = at;
  while (at < text.size() && is(static_cast<unsigned char>(text[at])) != 0) ++at;
  return text.substr(begin, at - begin);
}

// "c" and "7" of c7g.large; "u" and "1" of u-6tb1.metal.
void PutAwsName(const std::string& name, TextMap& labels) {
  const std::string prefix = "karpenter.k8s.aws/instance-";
  const size_t dot = name.find('.');
  labels[prefix + "family"] = name.substr(0, dot);
  labels[prefix + "size"] = name.substr(dot + 1);
  size_t at = 0;
  labels[prefix + "category"] = Run(name, at, std::isalpha);
  if (const size_t end = name.find("tb", at); name[at] == '-' && end < dot) at = end + 2;
  const std::string generation = Run(name, at, std::isdigit);
  if (!generation.empty()) labels[prefix + "generation"] = generation;
}

// "D" and "5" of Standard_D4s_v5.
void PutAzureName(const std::string& name, TextMap& labels) {
  const std::string prefix = "karpenter.azure.com/sku-";
  size_t at = name.find('_') + 1;
  labels[prefix + "name"] = name;
  labels[prefix + "family"] = Run(name, at, std::isalpha);
  const size_t version = name.rfind("_v");
  labels[prefix + "version"] = version == std::string::npos ? "1" : name.substr(version + 2);
}

}  // namespace

bool IsOfMachine(std::string_view key) {
  return std::ranges::any_of(kMachinePrefixes,
                             [&](std::string_view prefix) { return key.starts_with(prefix); });
}

std::string_view ArchOfName(std::string_view instance_type) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kArmFamilies[] = {"t2a", "c4a", "n4a", "a4x"};  // Of Google.
  constexpr std::string_view kAzure = "Standard_";
  const auto has = [](std::string_view text, char letter) {
    return text.find(letter) != std::string_view::npos;
  };
  const auto arch = [](bool is_arm) { return is_arm ? "arm64" : "amd64"; };
  const bool is_azure = instance_type.starts_with(kAzure);
  if (is_azure) instance_type.remove_prefix(kAzure.size());
  const size_t number = instance_type.find_first_of(kDigits);
  if (number == 0 || number == std::string_view::npos) return "";
  const std::string_view rest = instance_type.substr(number);
  const size_t additions = std::min(rest.find_first_not_of(kDigits), rest.size());
  if (is_azure) return arch(has(rest.substr(additions, rest.find('_') - additions), 'p'));
  if (const size_t dot = rest.find('.'); dot != std::string_view::npos && dot >= additions) {
    return arch(has(rest.substr(additions, dot - additions), 'g'));
  }
  const size_t dash = instance_type.find('-');
  if (dash == std::string_view::npos || dash < number || additions == rest.size()) return "";
  return arch(std::ranges::find(kArmFamilies, instance_type.substr(0, dash)) !=
              std::end(kArmFamilies));
}

TextMap MachineLabels(const std::string& instance_type, const AmountMap& capacity) {
  TextMap labels;
  std::string prefix;
  if (instance_type.starts_with("Standard_")) {
    prefix = "karpenter.azure.com/sku-";
    PutAzureName(instance_type, labels);
  } else if (const size_t dot = instance_type.find('.'); dot != std::string::npos && dot > 0) {
    prefix = "karpenter.k8s.aws/instance-";
    PutAwsName(instance_type, labels);
  } else if (const size_t dash = instance_type.find('-'); dash != std::string::npos) {
    prefix = "karpenter.k8s.gcp/instance-";
    labels[prefix + "family"] = instance_type.substr(0, dash);
  } else {
    return labels;
  }
  const auto put = [&](const char* key, const char* resource, int64_t unit) {
    const auto amount = capacity.find(resource);
    if (amount != capacity.end() && amount->second > 0) {
      labels[prefix + key] = std::to_string(amount->second / unit);
    }
  };
  put("cpu", "cpu", 1000);
  put("memory", "memory", int64_t{1} << 20);
  put("gpu-count", "nvidia.com/gpu", 1);
  return labels;
}

std::string UnreadRequirement(const Pool& pool) {
  if (!pool.not_bought.empty()) return pool.not_bought;
  if (pool.not_understood.starts_with("apiVersion")) return pool.not_understood;
  for (size_t i = 0; i < pool.requirements.size(); ++i) {
    const Requirement& each = pool.requirements[i];
    const std::string place = fmt::format("requirements[{}]", i);
    if (each.key.empty()) return place + ".key";
    const bool is_list = each.op == "In" || each.op == "NotIn";
    if (!is_list && !IsComparison(each.op) && each.op != "Exists" && each.op != "DoesNotExist") {
      return place + ".operator";
    }
    if (is_list && each.values.empty()) return place + ".values";
    if (IsComparison(each.op) && (each.values.size() != 1 || !NumberOf(each.values[0]))) {
      return place + ".values";
    }
  }
  return "";
}

bool Meets(const Requirement& requirement, const std::optional<std::string>& value) {
  const std::string& op = requirement.op;
  const bool is_listed =
      value && std::ranges::find(requirement.values, *value) != requirement.values.end();
  if (op == "In") return is_listed;
  if (op == "NotIn") return !is_listed;
  if (op == "Exists") return value.has_value();
  if (op == "DoesNotExist") return !value;
  const std::optional<int64_t> number = value ? NumberOf(*value) : std::nullopt;
  const std::optional<int64_t> asked =
      requirement.values.size() == 1 ? NumberOf(requirement.values[0]) : std::nullopt;
  if (!number || !asked) return false;
  if (op == "Gt") return *number > *asked;
  if (op == "Lt") return *number < *asked;
  if (op == "Gte") return *number >= *asked;
  return op == "Lte" && *number <= *asked;
}

std::string UnmetRequirement(const Pool& pool, const TextMap& labels,
                             const std::function<bool(std::string_view)>& is_unknown) {
  for (const Requirement& each : pool.requirements) {
    if (!IsOfMachine(each.key)) continue;
    const auto label = labels.find(each.key);
    if (label == labels.end() && is_unknown(each.key))
      return each.key + ", whose value is not known";
    const auto value =
        label == labels.end() ? std::nullopt : std::optional<std::string>(label->second);
    if (!Meets(each, value)) return each.key;
  }
  return "";
}

AmountMap UsedOfLimits(const ClusterSnapshot& snapshot, const Pool& pool) {
  const Catalog& catalog = snapshot.catalog();
  AmountMap used;
  AmountMap counted;
  for (const auto& [resource, limit] : pool.limits) used[resource] = counted[resource] = 0;
  snapshot.alive().ForEach([&](NodeId node) {
    if (NodePoolOf(catalog, node) == pool.name) CountNode(CapacityOf(catalog, node), counted);
  });
  for (auto& [resource, amount] : used) {
    const auto known = pool.resources.find(resource);
    amount = known != pool.resources.end() ? known->second : counted[resource];
  }
  return used;
}

void CountNode(const AmountMap& capacity, AmountMap& used) {
  for (auto& [resource, amount] : used) {
    const auto of_node = capacity.find(resource);
    if (resource == kNodes) {
      ++amount;
    } else if (of_node != capacity.end()) {
      amount += of_node->second;
    }
  }
}

std::string ExceededLimit(const Pool& pool, const AmountMap& used) {
  for (const auto& [resource, amount] : used) {
    const auto limit = pool.limits.find(resource);
    if (limit != pool.limits.end() && amount > limit->second) return resource;
  }
  return "";
}

AmountMap CapacityOf(const Catalog& catalog, NodeId node) {
  AmountMap amounts;
  const NodeInfo& info = catalog.node(node);
  for (const auto& [resource, amount] : info.capacity.empty() ? info.allocatable : info.capacity) {
    amounts[std::string(catalog.ResourceName(resource))] = amount;
  }
  return amounts;
}

}  // namespace ebb
