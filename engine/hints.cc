#include "engine/hints.h"

#include <utility>

#include "base/check.h"

namespace ebb {

void Hints::Attach(std::shared_ptr<const Catalog> catalog) {
  if (catalog_ != nullptr) Follow();
  if (catalog == catalog_ && catalog->nodes() == known_nodes_) return;
  Detach();
  catalog_ = std::move(catalog);
  known_nodes_ = catalog_->nodes();
  known_changes_ = catalog_->pod_changes().end();
  EBB_CHECK(catalog_->nodes() < kOld);
  hints_.assign(catalog_->pods(), kNone);
  if (elsewhere_.empty()) return;
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    TakeBack(PodId{p}, catalog_->pod(PodId{p}).key);
  }
}

// Takes in the pods that came to the attached catalog and went.
void Hints::Follow() {
  hints_.resize(catalog_->pods(), kNone);
  const PodChangeLog& log = catalog_->pod_changes();
  if (known_changes_ < log.forgotten) {
    // As many pods as there are have come and gone: whose hints these were is not known.
    hints_.assign(hints_.size(), kNone);
    known_changes_ = log.end();
  }
  for (uint64_t at = std::exchange(known_changes_, log.end()); at < log.end(); ++at) {
    const PodChangeLog::Change& change = log.changes[at - log.forgotten];
    uint32_t& hint = hints_[Index(change.pod)];
    if (change.came) {
      if (!elsewhere_.empty()) TakeBack(change.pod, change.key);
    } else if (hint != kNone) {
      elsewhere_[change.key] = {catalog_->node(Get(change.pod)).name, (hint & kOld) != 0};
      hint = kNone;
    }
  }
}

// The hint of a pod that the catalog lacked.
void Hints::TakeBack(PodId pod, TextId key) {
  const auto found = elsewhere_.find(key);
  if (found == elsewhere_.end()) return;
  const NodeId node = catalog_->FindNode(found->second.node);
  if (node == kNoNode) return;
  hints_[Index(pod)] = Index(node) | (found->second.old ? kOld : 0);
  elsewhere_.erase(found);
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
