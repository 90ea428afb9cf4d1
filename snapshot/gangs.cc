#include "snapshot/gangs.h"

#include <algorithm>
#include <utility>

namespace ebb {
namespace {

bool Runs(const PodShape& shape) {
  return !shape.terminating && shape.phase != PodPhase::kSucceeded &&
         shape.phase != PodPhase::kFailed;
}

}  // namespace

GangStates CountGangs(const ClusterSnapshot& snapshot) {
  const Catalog& catalog = snapshot.catalog();
  const std::vector<Gang>& gangs = catalog.gangs();
  GangStates states;
  if (gangs.empty()) return states;
  states.gangs.resize(gangs.size());
  // By gang: the pods of each node, in the order of nodes.
  std::vector<std::vector<std::vector<PodId>>> on_nodes(gangs.size());
  std::vector<NodeId> last(gangs.size(), kNoNode);
  snapshot.alive().ForEach([&](NodeId node) {
    for (const PodId pod : snapshot.PodsOn(node)) {
      const PodShape& shape = catalog.shape_of(pod);
      if (shape.gang == kNoGang || !Runs(shape)) continue;
      ++states.gangs[shape.gang].running;
      if (std::exchange(last[shape.gang], node) != node) on_nodes[shape.gang].emplace_back();
      on_nodes[shape.gang].back().push_back(pod);
    }
  });
  for (size_t g = 0; g < gangs.size(); ++g) {
    GangStates::State& state = states.gangs[g];
    state.nodes = static_cast<int64_t>(on_nodes[g].size());
    const int64_t least = gangs[g].min_count.value_or(0);
    if (state.running == 0 || (state.running == 1 && least <= 1)) continue;
    if (gangs[g].one_by_one && !gangs[g].min_count) continue;
    state.held = true;
    if (!gangs[g].one_by_one) continue;
    int64_t left = state.running - least;
    std::ranges::stable_sort(on_nodes[g], {}, &std::vector<PodId>::size);
    for (const std::vector<PodId>& pods : on_nodes[g]) {
      if (std::ssize(pods) > left) break;
      left -= std::ssize(pods);
      states.may_move.insert(pods.begin(), pods.end());
    }
  }
  return states;
}

}  // namespace ebb
