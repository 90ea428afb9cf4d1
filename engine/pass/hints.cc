#include "engine/pass/hints.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace ebb {

void Hints::Attach(std::shared_ptr<const Catalog> catalog) {
  // Catalogs of one lineage share ids, and the later one logs what has changed since the earlier
  // one.
  if (catalog_ != nullptr && catalog->lineage() == catalog_->lineage() &&
      catalog->pod_changes().end() >= known_pods_ &&
      catalog->node_changes().end() >= known_nodes_) {
    catalog_ = std::move(catalog);
    Follow();
    return;
  }
  if (catalog_ != nullptr) Follow();
  Detach();
  catalog_ = std::move(catalog);
  known_pods_ = catalog_->pod_changes().end();
  known_nodes_ = catalog_->node_changes().end();
  hints_.assign(catalog_->pods(), kNone);
  TakeBackAll();
}

// Processes the changes that the attached catalog has logged.
void Hints::Follow() {
  EBB_CHECK(catalog_->nodes() < kOld);
  hints_.resize(catalog_->pods(), kNone);
  NodeNames gone;
  bool came = false;
  const NodeChangeLog& log = catalog_->node_changes();
  for (uint64_t at = std::max(known_nodes_, log.forgotten); at < log.end(); ++at) {
    const NodeChangeLog::Change& change = log.changes[at - log.forgotten];
    if (!change.came) gone.emplace(change.id, change.key);
    came |= change.came;
  }
  const bool went = !gone.empty() || known_nodes_ < log.forgotten;
  known_nodes_ = log.end();
  FollowPods(gone);
  if (went) FollowNodes(gone);
  if (came) TakeBackAll();
}

void Hints::FollowPods(const NodeNames& gone) {
  const PodChangeLog& log = catalog_->pod_changes();
  if (known_pods_ < log.forgotten) {
    // The log no longer reaches back far enough: pods equal to half of all pods have come and gone.
    // Which pod each hint belonged to is unknown.
    hints_.assign(hints_.size(), kNone);
    known_pods_ = log.end();
  }
  for (uint64_t at = std::exchange(known_pods_, log.end()); at < log.end(); ++at) {
    const PodChangeLog::Change& change = log.changes[at - log.forgotten];
    uint32_t& hint = hints_[Index(change.id)];
    if (change.came) {
      if (!elsewhere_.empty()) TakeBack(change.id, change.key);
    } else if (hint != kNone) {
      PutElsewhere(change.id, change.key, gone);
    }
  }
}

// Moves hints to nodes that have gone into elsewhere_.
void Hints::FollowNodes(const NodeNames& gone) {
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    const NodeId node = Get(PodId{p});
    if (node == kNoNode || catalog_->IsThere(node)) continue;
    PutElsewhere(PodId{p}, catalog_->pod(PodId{p}).key, gone);
  }
}

// Moves the pod's hint into elsewhere_, or drops it.  `gone`: the names of the nodes that went
// since the last call.  If a missing node is not in `gone`, it went too long ago for its name to be
// known.
// REQUIRES: the pod has a hint.
void Hints::PutElsewhere(PodId pod, TextId key, const NodeNames& gone) {
  EBB_DCHECK(hints_[Index(pod)] != kNone);
  const uint32_t hint = std::exchange(hints_[Index(pod)], kNone);
  const NodeId node{hint & ~kOld};
  TextId name = catalog_->node(node).name;
  if (const auto it = gone.find(node); it != gone.end()) name = it->second;
  if (name == kNoText) return;
  elsewhere_[key] = {name, (hint & kOld) != 0, HeldText(*catalog_->shared_symbols(), key)};
}

// Takes the hints of pods and nodes back that the catalog lacked before.
void Hints::TakeBackAll() {
  if (elsewhere_.empty()) return;
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    if (hints_[p] == kNone) TakeBack(PodId{p}, catalog_->pod(PodId{p}).key);
  }
}

// Takes back the hint of one pod that the catalog lacked before.
void Hints::TakeBack(PodId pod, TextId key) {
  const auto found = elsewhere_.find(key);
  if (found == elsewhere_.end()) return;
  const NodeId node = catalog_->FindNode(found->second.node);
  if (node == kNoNode) return;
  hints_[Index(pod)] = Index(node) | (found->second.old ? kOld : 0);
  elsewhere_.erase(found);
}

// Moves all hints into elsewhere_, by name.
void Hints::Detach() {
  for (uint32_t p = 0; p < hints_.size(); ++p) {
    if (hints_[p] != kNone) PutElsewhere(PodId{p}, catalog_->pod(PodId{p}).key, {});
  }
  hints_.clear();
}

void Hints::EraseElsewhere(PodId pod) { elsewhere_.erase(catalog_->pod(pod).key); }

bool Hints::DropOld() {
  const bool same = !std::exchange(changed_, false) && elsewhere_.empty();
  // Without branches, so that compilers use vectors.  kNone has the bit kOld too.
  uint32_t dropped = 0;  // Not 0: some hint was dropped.
  for (uint32_t& hint : hints_) {
    const uint32_t all_if_old = 0 - (hint >> 31);
    dropped |= all_if_old & ~hint;
    hint |= kOld | all_if_old;
  }
  absl::erase_if(elsewhere_, [](auto& entry) { return std::exchange(entry.second.old, true); });
  return same && dropped == 0;
}

}  // namespace ebb
