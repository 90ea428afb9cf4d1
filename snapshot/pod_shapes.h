// PodShapes interns pods: pods that no filter and no rule can distinguish share one
// PodShape.  It compiles a shape when its first pod is added.
//
// Topology terms are compiled only in part, because their counter tables depend on
// namespaces and pods that are added later.  TopologyTables finishes them.
//
// Cost:    for a known shape: one pass over the pod's fields and one hash.
// Threads: not thread-safe.

#ifndef EBB_SNAPSHOT_POD_SHAPES_H_
#define EBB_SNAPSHOT_POD_SHAPES_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
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
  Selector selector;  // Includes the pod's values for matchLabelKeys.
  TextId topology_key;
  int32_t max_skew;
  int32_t min_domains;
  bool honor_affinity;
  bool honor_taints;
};

// The topology terms of one shape, stored by PodShapeId.
struct PendingTopology {
  std::vector<PendingAffinityTerm> affinity;
  std::vector<PendingAffinityTerm> anti_affinity;
  std::vector<PendingSpread> spread;

  [[nodiscard]] bool empty() const {
    return affinity.empty() && anti_affinity.empty() && spread.empty();
  }
};

// The resources that a pod on a node holds, with interned names, as PodShape has them.
struct HeldRequests {
  Requests charge;
  bool counts_otherwise = false;
  Requests counted;  // Empty unless counts_otherwise.
  CpuAndMemory scored_default;
  friend bool operator==(const HeldRequests&, const HeldRequests&) = default;
};

// A pod's requests, with interned names, as PodShape has them.
struct PodRequests {
  Requests fit;
  CpuAndMemory scored_incoming;
  HeldRequests held;  // By the rules of Kubernetes 1.36.
  // By the rules of 1.37, if that differs.
  std::optional<HeldRequests> held_137;
};

// What the containers of a pod on a node ask for.
struct ContainerAsks {
  std::vector<std::pair<TextId, CpuAndMemory>> containers;  // By name; without init containers.
  // How much more an init container asks for than all containers that run after it; negative: they
  // ask for more.
  CpuAndMemory init;
};

class PodShapes {
 public:
  // `node_os` is the operating system of the node where the pod runs; kNoText if it is unknown, or
  // if all nodes have the same system.
  PodShapeId Intern(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                    TextId node_os = kNoText);
  // The shape of the same pod on a node with operating system `node_os`.  Intern() does not find
  // shapes that were made here.
  PodShapeId OnNodeWith(TextId node_os, PodShapeId shape, Catalog& catalog);

  // From now on, shapes hold what their pods hold by the rules of 1.37, including new shapes.
  void HoldBy137(Catalog& catalog);
  // Whether the rules of 1.37 change any shape.
  [[nodiscard]] bool any_held_137() const { return !held_137_.empty(); }

  // Gives the shapes from `first_shape` on what the profile of their scheduler says: default spread
  // constraints, added node affinity, filters that are off.  To be called before their terms are
  // connected.  `all_known`: a Service or controller that the catalog lacks does not exist; else a
  // shape whose default constraints depend on it is not understood.
  void ApplyProfiles(Catalog& catalog, size_t first_shape, bool all_known);

  // Lets the shapes from `first_shape` on ask for what VerticalPodAutoscalers will give them
  // (PodShape::vpa), and notes the targets of these that have pods (Catalog::HasPodsOf).
  void FollowVpas(Catalog& catalog, size_t first_shape);
  // Tells gangs what their PodGroups say.
  static void FindGroups(Catalog& catalog);
  // Whether the pod belongs to a gang.
  static bool NamesGang(const objects::Pod& pod);
  // Counts a pod that is not in the catalog, because it has ended or is expendable, for its gangs.
  // `pods`: -1 takes it back.
  static void CountLeftOut(Catalog& catalog, const objects::Pod& pod, int64_t pods);

  // The shape of a recently remembered pod with exactly the same fields, whose amounts then need
  // not be summed; nullopt if none exists.
  std::optional<PodShapeId> FindAlike(const objects::Pod& pod, TextId node_os = kNoText);
  // Remembers the pod of the last FindAlike(), which returned nullopt.
  void RememberAlike(PodShapeId shape);

  [[nodiscard]] const std::vector<PendingTopology>& pending() const { return pending_; }

 private:
  PodShape Compile(Catalog& catalog, const objects::Pod& pod, const PodRequests& requests,
                   TextId node_os, PendingTopology& topology);
  void ApplyProfile(Catalog& catalog, PodShapeId id, bool all_known);
  void SpreadByDefault(Catalog& catalog, const SchedulerProfile& profile, PodShapeId id,
                       bool all_known);
  void FollowVpa(Catalog& catalog, const RoomObjects::Vpa& vpa, const ContainerAsks& asks,
                 PodShape& shape);
  static ContainerAsks AskOf(const objects::Pod& pod, const Requests& fit, Symbols& symbols);
  void InternGangs(Catalog& catalog, const objects::Pod& pod, PodShape& shape);
  static void CompileClaims(Catalog& catalog, const objects::Pod& pod, PodShape& shape);
  ConstraintsId InternConstraints(Catalog& catalog, const objects::Pod& pod, TextId node_os);
  FitClassId InternFitClass(Catalog& catalog, ConstraintsId constraints,
                            const Requests& fit_requests);

  template <typename Id>
  using Map = absl::flat_hash_map<std::string, Id, TextHash, std::equal_to<>>;

  Map<PodShapeId> shapes_;
  Map<PodShapeId> alike_;  // By all fields of the pod but its name, times and node.
  Map<ConstraintsId> constraints_;
  Map<FitClassId> fit_classes_;
  std::vector<PendingTopology> pending_;
  std::vector<ContainerAsks> asks_;  // By PodShapeId.
  absl::flat_hash_map<std::tuple<GangKind, TextId, TextId>, uint32_t> gangs_;
  bool holds_by_137_ = false;
  absl::flat_hash_map<PodShapeId, HeldRequests> held_137_;
  // The results of OnNodeWith.
  absl::flat_hash_map<std::pair<PodShapeId, TextId>, PodShapeId> shapes_on_os_;
  absl::flat_hash_map<std::pair<ConstraintsId, TextId>, ConstraintsId> constraints_on_os_;
  // Constraints with what a profile changes.
  absl::flat_hash_map<std::pair<ConstraintsId, uint32_t>, ConstraintsId> constraints_of_profile_;
  std::string key_;  // Reused.
  std::string alike_key_;
  size_t alike_size_ = 0;  // The length of the last key in alike_key_.
};

// Whether Services and controllers decide which pods spread constraints of the shape count.
bool SpreadDependsOn(const Catalog& catalog, const PodShape& shape);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_POD_SHAPES_H_
