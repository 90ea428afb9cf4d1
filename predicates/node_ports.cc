#include "predicates/node_ports.h"

#include <optional>

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

}  // namespace

bool FitsNodePorts(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  if (shape.host_ports.empty()) return true;
  const Catalog& catalog = snapshot.catalog();
  const std::optional<TextId> all_addresses = catalog.symbols().Find("0.0.0.0");
  for (const PodId pod : snapshot.PodsOn(node)) {
    if (AnyConflict(shape, catalog.shape_of(pod), all_addresses)) return false;
  }
  return true;
}

}  // namespace ebb
