#include "predicates/taint_toleration.h"

namespace ebb {

bool FitsTaintToleration(const Constraints& constraints, const NodeInfo& node) {
  return ToleratesAll(constraints, node.taints);
}

}  // namespace ebb
