#include "engine/hints.h"

#include <utility>

namespace ebb {

void Hints::Attach(std::shared_ptr<const Catalog> catalog) {
  if (catalog == catalog_ && catalog->pods() == hints_.size() &&
      catalog->nodes() == known_nodes_) {
    return;
  }
  Detach();
  catalog_ = std::move(catalog);
  known_nodes_ = catalog_->nodes();
  hints_.assign(catalog_->pods(), Hint());
  if (elsewhere_.empty()) return;
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    const auto found = elsewhere_.find(catalog_->pod(PodId{p}).key);
    if (found == elsewhere_.end()) continue;
    const NodeId node = catalog_->FindNode(found->second.node);
    if (node == kNoNode) continue;
    hints_[p] = {node, found->second.generation};
    elsewhere_.erase(found);
  }
}

// All that is known, by name.
void Hints::Detach() {
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    const auto& [node, generation] = hints_[p];
    if (!IsLive(generation)) continue;
    elsewhere_[catalog_->pod(PodId{p}).key] = {catalog_->node(node).name, generation};
  }
  hints_.clear();
}

void Hints::DropOld() {
  ++generation_;
  absl::erase_if(elsewhere_, [this](const auto& entry) { return !IsLive(entry.second.generation); });
}

}  // namespace ebb
