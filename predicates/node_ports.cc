#include "predicates/node_ports.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace ebb {
namespace {

bool Conflict(const HostPort& a, const HostPort& b, std::optional<TextId> all_addresses) {
  if (a.port != b.port || a.protocol != b.protocol) return false;
  return a.ip == b.ip || a.ip == all_addresses || b.ip == all_addresses;
}

bool AnyConflict(const PodShape& a, const PodShape& b, std::optional<TextId> all_addresses) {
  for (const HostPort& wanted : a.host_ports) {
    for (const HostPort& held : b.host_ports) {
      if (Conflict(wanted, held, all_addresses)) return true;
    }
  }
  return false;
}

// The ports that a pod wants in hash tables, for pods that want many.
class WantedPorts {
 public:
  WantedPorts(const PodShape& shape, std::optional<TextId> all_addresses)
      : all_addresses_(all_addresses) {
    for (const HostPort& port : shape.host_ports) {
      any_.insert({port.port, port.protocol});
      if (port.ip == all_addresses) everywhere_.insert({port.port, port.protocol});
      exact_.insert({port.port, port.protocol, port.ip});
    }
  }

  [[nodiscard]] bool Conflict(const HostPort& held) const {
    const std::pair<int32_t, TextId> number{held.port, held.protocol};
    if (held.ip == all_addresses_) return any_.contains(number);
    return everywhere_.contains(number) || exact_.contains({held.port, held.protocol, held.ip});
  }

 private:
  const std::optional<TextId> all_addresses_;
  absl::flat_hash_set<std::pair<int32_t, TextId>> any_;
  absl::flat_hash_set<std::pair<int32_t, TextId>> everywhere_;
  absl::flat_hash_set<std::tuple<int32_t, TextId, TextId>> exact_;
};

// A pod with at most this many ports is compared port by port with the pods of a node.  For more,
// hash sets are filled once a node, so that many ports do not cost the square of their number.  Not
// tuned: other values were not compared.
constexpr size_t kComparedMax = 16;

bool FitsManyPorts(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node,
                   std::optional<TextId> all_addresses) {
  const WantedPorts wanted(shape, all_addresses);
  const Catalog& catalog = snapshot.catalog();
  return std::ranges::none_of(snapshot.PodsOn(node), [&](PodId pod) {
    return std::ranges::any_of(catalog.shape_of(pod).host_ports,
                               [&](const HostPort& held) { return wanted.Conflict(held); });
  });
}

}  // namespace

bool FitsNodePorts(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  if (shape.host_ports.empty()) return true;
  const Catalog& catalog = snapshot.catalog();
  const std::optional<TextId> all_addresses = catalog.symbols().Find("0.0.0.0");
  if (shape.host_ports.size() > kComparedMax) {
    return FitsManyPorts(snapshot, shape, node, all_addresses);
  }
  for (const PodId pod : snapshot.PodsOn(node)) {
    if (AnyConflict(shape, catalog.shape_of(pod), all_addresses)) return false;
  }
  return true;
}

}  // namespace ebb
