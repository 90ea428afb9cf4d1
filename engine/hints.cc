#include "engine/hints.h"

#include <utility>

#include "base/check.h"

namespace ebb {

void Hints::Attach(std::shared_ptr<const Catalog> catalog) {
  if (catalog == catalog_ && catalog->pods() == hints_.size() && catalog->nodes() == known_nodes_) {
    return;
  }
  Detach();
  catalog_ = std::move(catalog);
  known_nodes_ = catalog_->nodes();
  EBB_CHECK(catalog_->nodes() < kOld);
  hints_.assign(catalog_->pods(), kNone);
  if (elsewhere_.empty()) return;
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    const auto found = elsewhere_.find(catalog_->pod(PodId{p}).key);
    if (found == elsewhere_.end()) continue;
    const NodeId node = catalog_->FindNode(found->second.node);
    if (node == kNoNode) continue;
    hints_[p] = Index(node) | (found->second.old ? kOld : 0);
    elsewhere_.erase(found);
  }
}

// All hints, by name.
void Hints::Detach() {
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    const NodeId node = Get(PodId{p});
    if (node == kNoNode) continue;
    elsewhere_[catalog_->pod(PodId{p}).key] = {catalog_->node(node).name, (hints_[p] & kOld) != 0};
  }
  hints_.clear();
}

void Hints::EraseElsewhere(PodId pod) { elsewhere_.erase(catalog_->pod(pod).key); }

bool Hints::DropOld() {
  const bool same = !std::exchange(changed_, false) && elsewhere_.empty();
  bool dropped = false;
  for (uint32_t& hint : hints_) {
    dropped |= (hint & kOld) != 0 && hint != kNone;
    hint = (hint & kOld) != 0 ? kNone : hint | kOld;
  }
  absl::erase_if(elsewhere_, [](auto& entry) { return std::exchange(entry.second.old, true); });
  return same && !dropped;
}

}  // namespace ebb
