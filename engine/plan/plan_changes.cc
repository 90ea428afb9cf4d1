#include "engine/plan/plan_changes.h"

#include <utility>

namespace ebb {

PlanChange KeptReasons::Came(const Catalog& catalog, NodeId node) const {
  const TextId name = catalog.node(node).name;
  PlanChange change{.name = std::string(catalog.Text(name)), .node = node, .removes = true};
  if (const auto found = reasons_.find(name); found != reasons_.end()) {
    change.reason = found->second.reason;
    change.blocking_reason = found->second.blocking_reason;
  }
  return change;
}

PlanChange KeptReasons::Left(const Symbols& symbols, TextId name, NodeId node) const {
  PlanChange change{.name = std::string(symbols.Text(name)), .node = node};
  if (const auto found = reasons_.find(name); found != reasons_.end()) {
    change.reason = found->second.reason;
    change.blocking_reason = found->second.blocking_reason;
    change.pod = found->second.pod;
  }
  return change;
}

void KeptReasons::Add(const Catalog& catalog, std::span<const UnremovableNode> kept) {
  for (const UnremovableNode& node : kept) {
    reasons_.emplace(catalog.node(node.node).name,
                     Reason{node.reason, node.blocking_reason, node.pod});
  }
}

void KeptReasons::Follow(const Symbols& from, Symbols& to) {
  absl::flat_hash_map<TextId, Reason> reasons;
  for (const auto& [node, reason] : reasons_) reasons.emplace(to.Intern(from.Text(node)), reason);
  reasons_ = std::move(reasons);
}

}  // namespace ebb
