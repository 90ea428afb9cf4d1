// SlowCluster: where every pod is, as plain lists, and the scheduler's filters
// evaluated by walking them.
//
// The verifier's eyes.  It reads definitions (names, labels, requests, selectors)
// from the Catalog and where pods are from the snapshot that it is made from, and
// nothing else: no column, no counter, no bit set, no filter of predicates/, so that
// a mistake in those cannot hide here.  Storage is the exception: claims are judged
// by the storage filters of predicates/.
//
// Cost:      WhyNot is O(pods of the node x requests), and O(domains + pods that
//            match) per topology term; memory O(nodes + pods).
// Threads:   none: WhyNot keeps what it found out about selectors and nodes.
// Ownership: borrows the catalog, which must outlive it.
// Source:    kubernetes 1.36 pkg/scheduler/framework/plugins.

#ifndef EBB_ENGINE_SLOW_CLUSTER_H_
#define EBB_ENGINE_SLOW_CLUSTER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

class SlowCluster {
 public:
  // REQUIRES: no fork of `snapshot` is open.
  SlowCluster(const ClusterSnapshot& snapshot, int64_t now_s);

  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  [[nodiscard]] bool Contains(NodeId node) const { return alive_[Index(node)]; }
  [[nodiscard]] const std::vector<PodId>& PodsOn(NodeId node) const {
    return pods_on_[Index(node)];
  }
  // kNoNode: not placed.
  [[nodiscard]] NodeId NodeOf(PodId pod) const { return node_of_[Index(pod)]; }

  // REQUIRES: the pod is not placed.
  void Add(PodId pod, NodeId node);
  // REQUIRES: the pod is placed.
  void Remove(PodId pod);
  // Takes all pods off `node` and taints it as being deleted.
  void BeginRemoval(NodeId node);
  // Takes the node of BeginRemoval out.
  void EndRemoval();

  // Why `pod`, which is not placed, may not run on `node`: "NodeResourcesFit:
  // Insufficient cpu".  Empty: it may.
  [[nodiscard]] std::string WhyNot(PodId pod, NodeId node);

 private:
  // Nodes by the value that they have for one topology key.
  struct Domains {
    std::vector<uint32_t> of;  // By NodeId; kNone: the node lacks the key.
    size_t count = 0;
  };
  static constexpr uint32_t kNone = 0xffffffff;

  // The nodes that a registry takes into account.
  struct Eligible {
    std::vector<bool> nodes;        // By NodeId, gone or not.
    std::vector<uint32_t> present;  // By domain: how many of them are there.
  };

  [[nodiscard]] std::string_view Text(TextId id) const { return catalog_.Text(id); }

  [[nodiscard]] bool Tolerates(const Constraints& constraints, std::string_view key,
                               std::string_view value, std::string_view effect) const;
  [[nodiscard]] bool ToleratesTaintsOf(const Constraints& constraints, NodeId node) const;
  [[nodiscard]] bool IsAffine(const Constraints& constraints, const NodeInfo& info) const;
  [[nodiscard]] bool Holds(const LabelRequirement& requirement, const LabelSet& labels) const;
  [[nodiscard]] bool IsMatch(const PodMatcher& matcher, const PodShape& shape) const;
  [[nodiscard]] bool IsMatch(const CounterTable& table, const PodShape& shape) const;

  [[nodiscard]] std::string_view WhyNotStatically(const PodShape& shape, NodeId node) const;
  [[nodiscard]] std::string WhyNotForLoad(const PodShape& shape, NodeId node) const;
  [[nodiscard]] std::string_view WhyNotForSpread(const PodShape& shape, NodeId node);
  [[nodiscard]] std::string_view WhyNotForNeighbours(const PodShape& shape, PodShapeId id,
                                                     NodeId node);
  [[nodiscard]] std::string WhyNotForStorage(const PodShape& shape, NodeId node) const;

  const Domains& DomainsOf(TopologyKeyId key);
  const Eligible& EligibleFor(RegistryId registry);
  [[nodiscard]] bool Includes(RegistryId registry, const Eligible& eligible, NodeId node) const;
  // Shapes that the table counts, or, of kExistingAnti, whose pods have the term.
  const std::vector<PodShapeId>& ShapesOf(TableId table);
  const std::vector<TableId>& RepelledBy(PodShapeId shape);
  // Pods of the table's shapes in `domain`, and in any domain.
  std::pair<size_t, size_t> CountPods(TableId table, TopologyKeyId key, uint32_t domain);

  const Catalog& catalog_;
  const int64_t now_s_;
  std::vector<bool> alive_;                   // By NodeId.
  std::vector<std::vector<PodId>> pods_on_;   // By NodeId.
  std::vector<NodeId> node_of_;               // By PodId.
  std::vector<std::vector<PodId>> of_shape_;  // By PodShapeId, placed or not.
  NodeId removing_ = kNoNode;
  std::optional<ClusterSnapshot> storage_;  // Where pods use claims: for their filters.

  // Found out on first use.
  std::vector<std::optional<Domains>> domains_;                   // By TopologyKeyId.
  std::vector<std::optional<Eligible>> eligible_;                 // By RegistryId.
  std::vector<std::optional<std::vector<PodShapeId>>> shapes_;    // By TableId.
  std::vector<std::optional<std::vector<TableId>>> repelled_by_;  // By PodShapeId.
};

}  // namespace ebb

#endif  // EBB_ENGINE_SLOW_CLUSTER_H_
