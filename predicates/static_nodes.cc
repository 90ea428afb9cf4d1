#include "predicates/static_nodes.h"

#include <cstdint>
#include <vector>

#include "predicates/filters.h"

namespace ebb {
namespace {

ShortCuts CutsOf(const Catalog& catalog, const PodShape& shape) {
  return ShortCutsOf(PartsOf(catalog, shape));
}

}  // namespace

NodeSet StaticNodes(const ClusterSnapshot& snapshot, const PodShape& shape, const NodeSet& nodes) {
  const Catalog& catalog = snapshot.catalog();
  enum class Verdict : uint8_t { kUnknown, kNo, kYes };
  std::vector<Verdict> of_shape(catalog.node_shapes());
  const ShortCuts cuts = CutsOf(catalog, shape);
  const bool once_a_shape = cuts.statics_of_node_shape;
  NodeSet passed(catalog.nodes());
  // The static filters of volumes may be evaluated only after PreFilter has passed.
  if (!cuts.statics_of_fit_class && !PreFilter(snapshot, shape).fits) return passed;
  nodes.ForEach([&](NodeId node) {
    Verdict& verdict = of_shape[Index(catalog.node(node).shape)];
    if (verdict == Verdict::kUnknown || !once_a_shape) {
      verdict = StaticFits(snapshot, shape, node) ? Verdict::kYes : Verdict::kNo;
    }
    if (verdict == Verdict::kYes) passed.Insert(node);
  });
  return passed;
}

// Sets of constraints come first, then shapes whose static filters read more than that.
size_t StaticClassOf(const Catalog& catalog, PodShapeId id) {
  const PodShape& shape = catalog.shape(id);
  return CutsOf(catalog, shape).statics_of_fit_class ? Index(shape.constraints)
                                                     : catalog.constraint_sets() + Index(id);
}

size_t StaticClasses(const Catalog& catalog) {
  return catalog.constraint_sets() + catalog.pod_shapes();
}

}  // namespace ebb
