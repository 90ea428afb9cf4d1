#include "predicates/node_affinity.h"

#include <algorithm>

namespace ebb {

bool FitsNodeAffinity(const Catalog& catalog, const Constraints& constraints,
                      const NodeInfo& node) {
  return MatchesNodeAffinity(constraints, node.name, node.labels, catalog.symbols()) &&
         MatchesAddedAffinity(constraints, node.name, node.labels, catalog.symbols());
}

bool NodeNamesConflict(const Constraints& constraints) {
  return constraints.only_named_nodes && constraints.node_names.empty();
}

bool IsOutsideNodeNames(const Constraints& constraints, const NodeInfo& node) {
  return constraints.only_named_nodes &&
         !std::binary_search(constraints.node_names.begin(), constraints.node_names.end(),
                             node.name);
}

}  // namespace ebb
