// Hints: for each pod, the node on which a pass last placed it.  The next pass tries that
// node first.
//
// A hint that a pass does not set again is kept for one more pass and then dropped.
//
// A pass reads and sets hints by the ids of the attached catalog.  Hints of pods or nodes that this
// catalog does not contain are kept by pod key (PodInfo::key) and node name.  So hints survive a
// snapshot that is built again, and a pod or node that is absent for one pass.
//
// Cost:    Get and Set are array accesses of 4 bytes.  Attach to the same or a later state of the
//          attached catalog: O(pods that came or went); also O(pods) if a node went, or if a node
//          came while hints of absent objects are kept.  Attach to another catalog: O(pods).
// Threads: not thread-safe.
// Source:  cluster-autoscaler simulator/scheduling/hints.go.

#ifndef EBB_ENGINE_PASS_HINTS_H_
#define EBB_ENGINE_PASS_HINTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

class Hints {
 public:
  // From now on ids are those of `catalog`.  All catalogs must share one Symbols.
  void Attach(std::shared_ptr<const Catalog> catalog);

  // Processes the pods and nodes that have come or gone since the last call.  Needed where the
  // attached catalog changes in place; Attach() does this too.
  void CatchUp() {
    if (catalog_ != nullptr) Follow();
  }

  // kNoNode: no hint.  REQUIRES: the pod belongs to the attached catalog.
  [[nodiscard]] NodeId Get(PodId pod) const {
    EBB_DCHECK(Index(pod) < hints_.size());
    const uint32_t hint = hints_[Index(pod)];
    return hint == kNone ? kNoNode : NodeId{hint & ~kOld};
  }
  [[nodiscard]] size_t size() const { return hints_.size(); }
  void Prefetch(PodId pod) const { __builtin_prefetch(&hints_[Index(pod)], 1); }
  void Set(PodId pod, NodeId node) {
    EBB_DCHECK(Index(pod) < hints_.size() && Index(node) < catalog_->nodes());
    uint32_t& hint = hints_[Index(pod)];
    changed_ |= (hint | kOld) != (Index(node) | kOld);
    // A pod with a hint has none elsewhere.
    if (hint == kNone && !elsewhere_.empty()) [[unlikely]]
      EraseElsewhere(pod);
    hint = Index(node);
  }

  // Sets a hint by pod key and node name.  Both texts are never released.
  // REQUIRES: no catalog is attached yet.
  void Set(TextId pod_key, TextId node) {
    EBB_DCHECK(catalog_ == nullptr);
    elsewhere_[pod_key] = {node, false, {}};
  }

  // Visits (pod key, node name) of every hint, in unspecified order.
  // REQUIRES: the catalog has not changed since Attach() or CatchUp().  Otherwise the id of a pod
  // that went may already belong to another pod.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    EBB_DCHECK(catalog_ == nullptr || (known_pods_ == catalog_->pod_changes().end() &&
                                       known_nodes_ == catalog_->node_changes().end()));
    for (uint32_t p = 0; p < hints_.size(); ++p) {
      const NodeId node = Get(PodId{p});
      if (node != kNoNode) visit(catalog_->pod(PodId{p}).key, catalog_->node(node).name);
    }
    for (const auto& [pod_key, hint] : elsewhere_) {
      visit(pod_key, hint.node);
    }
  }

  // Ends a pass: drops the hints that this pass has not set.  Returns true if nothing changed: this
  // pass set every hint again to the same node, and set no new hint.
  bool DropOld();

 private:
  // A hint in 32 bits: the node, and kOld if the current pass has not set it yet.
  static constexpr uint32_t kOld = uint32_t{1} << 31;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct NamedHint {
    TextId node;
    bool old;
    HeldText pod_key;
  };
  using NodeNames = absl::flat_hash_map<NodeId, TextId>;

  void Follow();
  void FollowPods(const NodeNames& gone);
  void FollowNodes(const NodeNames& gone);
  void Detach();
  void PutElsewhere(PodId pod, TextId key, const NodeNames& gone);
  void TakeBack(PodId pod, TextId key);
  void TakeBackAll();
  void EraseElsewhere(PodId pod);

  std::shared_ptr<const Catalog> catalog_;
  uint64_t known_pods_ = 0;      // PodChangeLog::end() of catalog_ when it was last processed.
  uint64_t known_nodes_ = 0;     // NodeChangeLog::end() of catalog_ at that time.
  std::vector<uint32_t> hints_;  // By PodId of catalog_.
  absl::flat_hash_map<TextId, NamedHint>
      elsewhere_;         // Hints of pods or nodes that the attached catalog lacks, by pod key.
  bool changed_ = false;  // Whether Set has changed a hint in this pass.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_HINTS_H_
