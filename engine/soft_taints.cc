#include "engine/soft_taints.h"

#include <string_view>

namespace ebb {
namespace {

constexpr std::string_view kSoft = "DeletionCandidateOfClusterAutoscaler";
constexpr std::string_view kHard = "ToBeDeletedByClusterAutoscaler";

bool HasTaint(const Catalog& catalog, NodeId node, std::string_view key) {
  for (const Taint& taint : catalog.node(node).taints) {
    if (catalog.Text(taint.key) == key) return true;
  }
  return false;
}

}  // namespace

SoftTaints ChooseSoftTaints(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                            const NodeSet& unneeded, int64_t max_changes) {
  SoftTaints result;
  if (max_changes <= 0) return result;
  const Catalog& catalog = snapshot.catalog();
  std::vector<NodeId> taint;
  std::vector<NodeId> untaint;
  snapshot.alive().ForEach([&](NodeId node) {
    if (groups.Of(node) == kNoGroup || HasTaint(catalog, node, kHard)) return;
    const bool marked = HasTaint(catalog, node, kSoft);
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
