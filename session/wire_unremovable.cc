#include "session/wire_unremovable.h"

#include <algorithm>

#include "base/printable.h"

namespace ebb {

void PutUnremovable(const UnremovableNodes& nodes, v1alpha1::UnremovableNodes& wire) {
  wire.set_nodes(nodes.nodes);
  for (const UnremovableNodes::OfReason& each : nodes.reasons) {
    v1alpha1::UnremovableNodes::OfReason& row = *wire.add_reasons();
    row.set_reason(each.reason);
    row.set_nodes(each.nodes);
  }
  wire.set_remembered(nodes.remembered);
  wire.set_first_recheck(nodes.first_recheck_s);
  wire.set_last_recheck(nodes.last_recheck_s);
}

UnremovableNodes ReadUnremovable(const v1alpha1::UnremovableNodes& wire) {
  constexpr int kReasonsMax = 100;  // ebb has about forty reasons.
  constexpr size_t kShownMax = 80;
  UnremovableNodes nodes{.nodes = wire.nodes(),
                         .remembered = wire.remembered(),
                         .first_recheck_s = wire.first_recheck(),
                         .last_recheck_s = wire.last_recheck()};
  for (int i = 0; i < std::min(wire.reasons_size(), kReasonsMax); ++i) {
    const v1alpha1::UnremovableNodes::OfReason& row = wire.reasons(i);
    nodes.reasons.push_back(
        {.reason = Printable(row.reason().substr(0, kShownMax)), .nodes = row.nodes()});
  }
  return nodes;
}

}  // namespace ebb
