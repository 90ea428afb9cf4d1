#include "planning/check_purchases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Pool = KarpenterObjects::Pool;

std::optional<std::string_view> LabelOn(const Catalog& catalog, NodeId node, std::string_view key) {
  for (const auto& label : catalog.node(node).labels) {
    if (catalog.Text(label.key) == key) return catalog.Text(label.value);
  }
  return std::nullopt;
}

// Whether a value is allowed.  An absent label is left to Karpenter, which sets it.
bool Allows(const KarpenterObjects::Requirement& asked, std::string_view value) {
  const bool listed = std::ranges::count(asked.values, value) > 0;
  if (asked.op == "In" || asked.op == "NotIn") return listed == (asked.op == "In");
  if (asked.op == "Exists" || asked.op == "DoesNotExist") return asked.op == "Exists";
  int64_t number = 0;
  int64_t bound = 0;
  if (asked.values.empty() || !absl::SimpleAtoi(asked.values.front(), &bound) ||
      !absl::SimpleAtoi(absl::string_view(value.data(), value.size()), &number)) {
    return false;
  }
  const bool is_equal = number == bound && asked.op.size() == 3;  // Gte, Lte.
  return is_equal || (asked.op[0] == 'G' ? number > bound : number < bound);
}

int64_t AmountOn(const Catalog& catalog, NodeId node, std::string_view resource) {
  if (resource == "nodes") return 1;
  const NodeInfo& info = catalog.node(node);
  for (const auto& [id, amount] : info.capacity.empty() ? info.allocatable : info.capacity) {
    if (catalog.ResourceName(id) == resource) return amount;
  }
  return 0;
}

absl::Status CheckLimits(const ClusterSnapshot& snapshot, const Pool& pool,
                         std::span<const NodeId> bought) {
  const Catalog& catalog = snapshot.catalog();
  for (const auto& [resource, limit] : pool.limits) {
    int64_t of_old = 0;
    int64_t of_new = 0;
    snapshot.alive().ForEach([&](NodeId node) {
      if (LabelOn(catalog, node, kNodePoolLabel).value_or("") != pool.name) return;
      const bool is_new = std::ranges::count(bought, node) > 0;
      (is_new ? of_new : of_old) += AmountOn(catalog, node, resource);
    });
    if (pool.resources.contains(resource)) of_old = pool.resources.at(resource);
    if (of_new == 0 || of_old + of_new <= limit) continue;
    return absl::InternalError(fmt::format("purchases: NodePool {} would have {} of {}, above {}",
                                           pool.name, of_old + of_new, resource, limit));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPurchases(const ClusterSnapshot& snapshot, std::span<const NodeId> bought) {
  const Catalog& catalog = snapshot.catalog();
  std::map<std::string_view, const Pool*> pools;
  for (const NodeId node : bought) {
    const std::string_view name = LabelOn(catalog, node, kNodePoolLabel).value_or("");
    const Pool* const pool = catalog.storage().karpenter().FindPool(name);
    if (pool == nullptr) continue;
    pools[name] = pool;
    for (const KarpenterObjects::Requirement& each : pool->requirements) {
      const std::optional<std::string_view> value = LabelOn(catalog, node, each.key);
      if (!value || Allows(each, *value)) continue;
      return absl::InternalError(
          fmt::format("purchases: {} breaks the requirement {} of NodePool {}",
                      catalog.NodeName(node), each.key, name));
    }
  }
  for (const auto& [name, pool] : pools) {
    if (absl::Status s = CheckLimits(snapshot, *pool, bought); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace ebb
