// PodShapes interns pods: pods that no filter and no rule can tell apart share one
// PodShape.  Compiles a shape when it is new.
//
// Topology terms are compiled only half way, since which tables they become
// depends on namespaces and pods still to come: TopologyTables finishes them.
//
// Cost:    known shape: one pass over the pod's fields and one hash.
// Threads: none.

#ifndef EBB_SNAPSHOT_POD_SHAPES_H_
#define EBB_SNAPSHOT_POD_SHAPES_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/text.h"
#include "snapshot/catalog.h"
#include "snapshot/objects/objects.h"

namespace ebb {

// A required pod affinity or anti-affinity term.
struct PendingAffinityTerm {
  Selector selector;
  std::vector<TextId> namespaces;
  bool has_namespace_selector = false;
  Selector namespace_selector;
  TextId topology_key;
};

struct PendingSpread {
  Selector selector;  // With the pod's values for matchLabelKeys.
  TextId topology_key;
  int32_t max_skew;
  int32_t min_domains;
  bool honor_affinity;
  bool honor_taints;
};

// By PodShapeId, beside the shape.
struct PendingTopology {
  std::vector<PendingAffinityTerm> affinity;
  std::vector<PendingAffinityTerm> anti_affinity;
  std::vector<PendingSpread> spread;

  [[nodiscard]] bool empty() const {
    return affinity.empty() && anti_affinity.empty() && spread.empty();
  }
};

// What a pod on a node holds, interned: the fields of PodShape.
struct HeldRequests {
  Requests charge;
  bool counts_otherwise = false;
  Requests counted;  // Empty unless counts_otherwise.
  CpuAndMemory scored_default;
  friend bool operator==(const HeldRequests&, const HeldRequests&) = default;
};

// A pod's requests, interned: the fields of PodShape.
struct PodRequests {
  Requests fit;
  CpuAndMemory scored_incoming;
  HeldRequests held;  // By Kubernetes 1.36.
  // By 1.37, where that is not the same.
  std::optional<HeldRequests> held_137;
};

class PodShapes {
 public:
  // `node_os` is the operating system of the node where the pod runs; kNoText: it is not known, or
  // all nodes have the same.
  PodShapeId Intern(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                    TextId node_os = kNoText);
  // The same pod's shape where it is found to run on a node with `node_os`.  Intern() does not
  // find what was made here.
  PodShapeId OnNodeWith(TextId node_os, PodShapeId shape, Catalog& catalog);

  // Shapes hold what their pods hold by 1.37, those that come too.
  void HoldBy137(Catalog& catalog);
  // Whether that changes some shape.
  [[nodiscard]] bool any_held_137() const { return !held_137_.empty(); }

  // The shape of one that was remembered of late and says all the same: its amounts need not be
  // summed.
  std::optional<PodShapeId> FindAlike(const objects::Pod& pod, TextId node_os = kNoText);
  // Remembers the pod of the last FindAlike(), which found none.
  void RememberAlike(PodShapeId shape);

  [[nodiscard]] const std::vector<PendingTopology>& pending() const { return pending_; }

 private:
  PodShape Compile(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                   TextId node_os, PendingTopology& topology);
  static void CompileClaims(Catalog& catalog, const objects::Pod& pod, PodShape& shape);
  ConstraintsId InternConstraints(Catalog& catalog, const objects::Pod& pod, TextId node_os);
  FitClassId InternFitClass(Catalog& catalog, ConstraintsId constraints,
                            const Requests& fit_requests);

  template <typename Id>
  using Map = absl::flat_hash_map<std::string, Id, TextHash, std::equal_to<>>;

  Map<PodShapeId> shapes_;
  Map<PodShapeId> alike_;  // By all that the pod says, its name, times and node apart.
  Map<ConstraintsId> constraints_;
  Map<FitClassId> fit_classes_;
  std::vector<PendingTopology> pending_;
  bool holds_by_137_ = false;
  absl::flat_hash_map<PodShapeId, HeldRequests> held_137_;
  // OnNodeWith's.
  absl::flat_hash_map<std::pair<PodShapeId, TextId>, PodShapeId> shapes_on_os_;
  absl::flat_hash_map<std::pair<ConstraintsId, TextId>, ConstraintsId> constraints_on_os_;
  std::string key_;  // Reused.
  std::string alike_key_;
  size_t alike_size_ = 0;  // Of what alike_key_ holds of the last one.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_POD_SHAPES_H_
