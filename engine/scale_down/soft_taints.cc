#include "engine/scale_down/soft_taints.h"

#include <optional>

#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

// `key`: nullopt if no node has such a taint.
bool HasTaint(const NodeInfo& node, std::optional<TextId> key) {
  if (!key) return false;
  for (const Taint& taint : node.taints) {
    if (taint.key == *key) return true;
  }
  return false;
}

}  // namespace

SoftTaints ChooseSoftTaints(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                            const NodeSet& unneeded, int64_t max_changes) {
  SoftTaints result;
  if (max_changes <= 0) return result;
  const Catalog& catalog = snapshot.catalog();
  const std::optional<TextId> soft = catalog.symbols().Find(kSoftTaint);
  const std::optional<TextId> hard = catalog.symbols().Find(kHardTaint);
  std::vector<NodeId> taint;
  std::vector<NodeId> untaint;
  snapshot.alive().ForEach([&](NodeId node) {
    const NodeInfo& info = catalog.node(node);
    if (groups.Of(node) == kNoGroup || HasTaint(info, hard)) return;
    const bool marked = HasTaint(info, soft);
    if (marked && !unneeded.Contains(node)) untaint.push_back(node);
    if (!marked && unneeded.Contains(node)) taint.push_back(node);
  });
  const auto spend = [&](const std::vector<NodeId>& wanted, std::vector<NodeId>& granted) {
    for (const NodeId node : wanted) {
      if (max_changes <= 0) {
        ++result.waiting;
        continue;
      }
      granted.push_back(node);
      --max_changes;
    }
  };
  spend(untaint, result.untaint);
  spend(taint, result.taint);
  return result;
}

}  // namespace ebb
