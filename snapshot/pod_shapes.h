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
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/text.h"
#include "snapshot/catalog.h"
#include "snapshot/objects.h"

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

// A pod's requests, interned: the fields of PodShape.
struct PodRequests {
  Requests fit;
  Requests charge;
  bool counts_otherwise = false;
  Requests counted;
  CpuAndMemory scored_incoming;
  CpuAndMemory scored_default;
};

class PodShapes {
 public:
  PodShapeId Intern(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests);

  // The shape of one that was remembered of late and says all the same: its amounts need not be
  // summed.
  std::optional<PodShapeId> FindAlike(const objects::Pod& pod);
  // Remembers the pod of the last FindAlike(), which found none.
  void RememberAlike(PodShapeId shape);

  [[nodiscard]] const std::vector<PendingTopology>& pending() const { return pending_; }

 private:
  PodShape Compile(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                   PendingTopology& topology);
  static void CompileClaims(Catalog& catalog, const objects::Pod& pod, PodShape& shape);
  ConstraintsId InternConstraints(Catalog& catalog, const objects::Pod& pod);
  FitClassId InternFitClass(Catalog& catalog, ConstraintsId constraints,
                            const Requests& fit_requests);

  template <typename Id>
  using Map = absl::flat_hash_map<std::string, Id, TextHash, std::equal_to<>>;

  Map<PodShapeId> shapes_;
  Map<PodShapeId> alike_;  // By all that the pod says, its name, times and node apart.
  Map<ConstraintsId> constraints_;
  Map<FitClassId> fit_classes_;
  std::vector<PendingTopology> pending_;
  std::string key_;  // Reused.
  std::string alike_key_;
  size_t alike_size_ = 0;  // Of what alike_key_ holds of the last one.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_POD_SHAPES_H_
