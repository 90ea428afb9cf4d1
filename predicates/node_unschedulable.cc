#include "predicates/node_unschedulable.h"

#include <limits>

namespace ebb {
namespace {

// The id of `text`; if it was never interned, an id that no text has.
TextId FindOrNone(const Symbols& symbols, std::string_view text) {
  return symbols.Find(text).value_or(TextId{std::numeric_limits<uint32_t>::max()});
}

}  // namespace

bool FitsNodeUnschedulable(const Catalog& catalog, const Constraints& constraints,
                           const NodeInfo& node) {
  if (!node.unschedulable) return true;
  const Taint as_if{.key = FindOrNone(catalog.symbols(), "node.kubernetes.io/unschedulable"),
                    .value = kNoText,
                    .effect_text = FindOrNone(catalog.symbols(), "NoSchedule"),
                    .effect = TaintEffect::kNoSchedule};
  return Tolerates(constraints, as_if);
}

}  // namespace ebb
