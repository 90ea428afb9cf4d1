#include "loop/leaving_pods.h"

#include "predicates/drainability.h"

namespace ebb {

bool GoesWithItsNode(const Catalog& catalog, const PodShape& shape) {
  return IsDaemonSetPod(catalog, shape) || shape.mirror || shape.static_pod || shape.terminating ||
         HasEnded(shape);
}

}  // namespace ebb
