#include "engine/plan/gang_parts.h"

#include "snapshot/gangs.h"

namespace ebb {
namespace {

// Whether the pod may not move without the others of the gang.
bool MayNotMoveAlone(const Catalog& catalog, uint32_t gang, PodId pod) {
  return catalog.Holds(gang, pod) && RunsInGang(catalog.shape_of(pod)) &&
         catalog.shape_of(pod).safe_to_evict != SafeToEvict::kTrue;
}

}  // namespace

GangParts::GangParts(const ClusterSnapshot& snapshot, const PlannerOptions& options)
    : snapshot_(snapshot),
      counts_(options.drain.gangs == Gangs::kMove ? snapshot.catalog().gangs().size() : 0) {}

bool GangParts::IsInParts(uint32_t gang) const {
  const Count& count = counts_[gang];
  if (count.held == 0) return false;
  return count.late || count.moved < snapshot_.catalog().gang_states().gangs[gang].running;
}

void GangParts::Remove(const RemovableNode& removal) {
  if (counts_.empty()) return;
  const Catalog& catalog = snapshot_.catalog();
  for (const Move& move : removal.moves) {
    if (snapshot_.NodeOf(move.pod) != removal.node) continue;  // It moves again, or did not run.
    const PodShape& shape = catalog.shape_of(move.pod);
    if (!RunsInGang(shape)) continue;
    for (const uint32_t gang : shape.gangs) {
      in_parts_ -= IsInParts(gang) ? 1 : 0;
      ++counts_[gang].moved;
      counts_[gang].late |= removal.risky;
      counts_[gang].held += MayNotMoveAlone(catalog, gang, move.pod) ? 1 : 0;
      in_parts_ += IsInParts(gang) ? 1 : 0;
    }
  }
}

std::optional<PodId> GangParts::PodInParts(NodeId node) const {
  if (AreWhole()) return std::nullopt;
  const Catalog& catalog = snapshot_.catalog();
  for (const PodId pod : snapshot_.PodsOn(node)) {
    for (const uint32_t gang : catalog.shape_of(pod).gangs) {
      if (IsInParts(gang) && MayNotMoveAlone(catalog, gang, pod)) return pod;
    }
  }
  return std::nullopt;
}

}  // namespace ebb
