// Hints: for each pod the node that a simulation last placed it on, tried first
// next time.
//
// Two generations: a hint that is not set again lives for one more pass.
//
// A pass reads and sets hints by the ids of one catalog, which is attached.  Between
// catalogs hints are known by pod key (PodInfo::key) and node name, so that they
// outlive the snapshot they were made on, and a pod or node that is away for a pass.
//
// Cost:    Get and Set are array accesses, 4 bytes a pod.  Attach: of the catalog of the
//          pass before O(pods that came and went), a look at each pod's hint where a node went,
//          and O(pods) where a node came while hints of absent objects are kept; else O(pods).
// Threads: none.
// Source:  cluster-autoscaler simulator/scheduling/hints.go.

#ifndef EBB_ENGINE_PASS_HINTS_H_
#define EBB_ENGINE_PASS_HINTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/catalog.h"
#include "snapshot/ids.h"

namespace ebb {

class Hints {
 public:
  // The catalog whose ids are used from here on.  All must share one Symbols.
  void Attach(std::shared_ptr<const Catalog> catalog);

  // Takes in which pods and nodes came to the attached catalog and went, where it changes in place.
  // Attach() does so too.
  void CatchUp() {
    if (catalog_ != nullptr) Follow();
  }

  // kNoNode: there is none.  REQUIRES: the pod is of the catalog that is attached.
  [[nodiscard]] NodeId Get(PodId pod) const {
    const uint32_t hint = hints_[Index(pod)];
    return hint == kNone ? kNoNode : NodeId{hint & ~kOld};
  }
  [[nodiscard]] size_t size() const { return hints_.size(); }
  void Prefetch(PodId pod) const { __builtin_prefetch(&hints_[Index(pod)], 1); }
  void Set(PodId pod, NodeId node) {
    uint32_t& hint = hints_[Index(pod)];
    changed_ |= (hint | kOld) != (Index(node) | kOld);
    hint = Index(node);
    if (!elsewhere_.empty()) [[unlikely]]
      EraseElsewhere(pod);
  }

  // By pod key and node name.  REQUIRES: nothing is attached yet.
  // Both texts are kept for good.
  void Set(TextId pod_key, TextId node) { elsewhere_[pod_key] = {node, false, {}}; }

  // Visits (pod key, node name) of every hint, in unspecified order.
  // REQUIRES: the catalog has not changed since Attach() or CatchUp(): an id that came free may be
  // another pod's.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (uint32_t p = 0; p < hints_.size(); ++p) {
      const NodeId node = Get(PodId{p});
      if (node != kNoNode) visit(catalog_->pod(PodId{p}).key, catalog_->node(node).name);
    }
    for (const auto& [pod_key, hint] : elsewhere_) {
      visit(pod_key, hint.node);
    }
  }

  // Ends a pass: hints older than it go.  Returns whether all were set again in it, to
  // what they were before, and no others.
  bool DropOld();

 private:
  // A hint in one word: the node, and whether the pass before set it.
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
  uint64_t known_pods_ = 0;      // PodChangeLog::end() of catalog_ when it was attached.
  uint64_t known_nodes_ = 0;     // NodeChangeLog::end() then.
  std::vector<uint32_t> hints_;  // By PodId of catalog_.
  absl::flat_hash_map<TextId, NamedHint>
      elsewhere_;         // Hints of pods or nodes that the attached catalog lacks.
  bool changed_ = false;  // By Set, in this pass.
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_HINTS_H_
