// ScoreCache: what filters and scores read repeatedly while a scheduler places many pods in one
// cluster.  Without it, SimulatedScheduler finds the same out again for every pod, from all nodes
// and often from all pods.
//
//   const ScoreFacts facts(snapshot.catalog());          // Shared by all branches.
//   const PlacedShapes placed(snapshot);                 // The same.
//   ClusterSnapshot branch = snapshot;
//   ScoreCache cache(branch, facts, placed);
//   SimulatedScheduler scheduler(seed, &cache);
//   branch.AddPod(pod, node);
//   cache.OnAdd(pod, node);                              // After every change.
//
// How it works: sums over the pods of a node are kept up to date by each change.  Sums over the
// pods of a domain exist for shapes that were asked for.  Such a sum begins with the pods that ran
// at first, and a log of changes says what came after; an answer first applies what the log has
// gained since the last one.
//
// Cost:      O(nodes) to build, plus the pods on them; OnAdd and OnRemove O(1).  Static filters:
//            once for each set of constraints.  Sums by domain: once O(pods that count) for each
//            shape, then one look-up for each change since.
// Threads:   facts and placed shapes may be shared; each cache is for one thread.
// Ownership: borrows its arguments.  The catalog and the set of nodes must not change.

#ifndef EBB_SIMULATION_SCORE_CACHE_H_
#define EBB_SIMULATION_SCORE_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "simulation/pod_terms.h"
#include "simulation/scores.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

// In place of the value of a label that a node does not have.  A label may have the empty value,
// so kNoText is a value.
inline constexpr TextId kNoLabel{std::numeric_limits<uint32_t>::max()};

// CPU and memory, the two resources that the default profile scores.
using ScoredAmounts = std::array<int64_t, 2>;

// What scores read of a catalog.
//
// Cost: O(nodes and shapes of pods) to build.
struct ScoreFacts {
  explicit ScoreFacts(const Catalog& catalog);

  // By PodShapeId: what counts for requests that the pod does not state.
  std::vector<ScoredAmounts> defaults;
  Attracting attracting;
  std::vector<uint32_t> zones;             // By NodeId: the node's zone, a place in zone_names.
  std::vector<TextId> zone_names;          // kNoText: the zone of the nodes without the label.
  std::vector<ScoredAmounts> allocatable;  // By NodeId.
  NodeSet with_hostname;                   // Nodes with the label kubernetes.io/hostname.
  NodeSet soft_tainted;                    // Nodes with a taint PreferNoSchedule.
  bool has_images = false;                 // Some node reports images.
};

// Where the pods of each shape are placed.
//
// Cost: O(pods) to build.
struct PlacedShapes {
  explicit PlacedShapes(const ClusterSnapshot& snapshot);

  std::vector<std::vector<NodeId>> nodes;  // By PodShapeId, one entry for each pod.
  // Shapes with placed pods, by namespace.
  absl::flat_hash_map<TextId, std::vector<PodShapeId>> of_namespace;
};

// What resource scores read of a node.
struct NodeLoad {
  ScoredAmounts allocatable;
  ScoredAmounts requested;
  ScoredAmounts defaults;  // The sum over pods of what counts for requests that they do not state.
  int64_t balance;         // BalanceOf(requested, allocatable).
};
NodeLoad LoadOf(const ClusterSnapshot& snapshot, NodeId node);

// The image on the node; null: the node does not have it.
const NodeImage* FindImage(const NodeInfo& node, TextId name);

// Sums by topology key and the value that a node's label has.
using SumsOfKeys = absl::flat_hash_map<TextId, absl::flat_hash_map<TextId, int64_t>>;

class ScoreCache {
 public:
  // `placed`: of `snapshot` as it is now.
  // REQUIRES: no fork is open and there is no ghost.
  ScoreCache(const ClusterSnapshot& snapshot, const ScoreFacts& facts, const PlacedShapes& placed);

  // Must be called after each change of the snapshot.
  void OnAdd(PodId pod, NodeId node);
  void OnRemove(PodId pod, NodeId node);

  [[nodiscard]] const ScoreFacts& facts() const { return facts_; }
  [[nodiscard]] const NodeLoad& Load(NodeId node) const { return loads_[Index(node)]; }

  // The nodes that pass the static filters for pods of the shape.
  const NodeSet& Statics(PodShapeId shape);
  // The nodes that match the node selector and required node affinity of the constraints.
  const NodeSet& Affine(ConstraintsId constraints);
  // The nodes whose taints the constraints tolerate, as ToleratesAll.
  const NodeSet& Tolerated(ConstraintsId constraints);
  // By NodeId: the node's value of the label; kNoLabel: it has no such label.
  const std::vector<TextId>& ValuesOf(TextId key);

  // The number of nodes that have the image, and its size on the first of them.
  const ImageOnNode& Image(TextId name);

  // What the placed pods add for a pod of the shape (AffinityWeights).  Null: no placed pod counts.
  const SumsOfKeys* AffinityOf(PodShapeId shape);

  // The pods that a ScheduleAnyway constraint counts.
  struct SpreadSums {
    bool by_hostname = false;
    absl::flat_hash_map<TextId, int64_t> of_value;  // Unless by_hostname.
    std::vector<int64_t> on_node;                   // By NodeId; if by_hostname.
  };
  // For the constraints of the shape, in their order.
  // REQUIRES: the shape has ScheduleAnyway constraints.
  const std::vector<SpreadSums>& SpreadOf(PodShapeId shape);

 private:
  struct Change {
    PodShapeId shape;
    NodeId node;
    int64_t sign;
  };
  struct AffinityTable {
    AffinityWeights weights;
    SumsOfKeys sums;
    size_t applied = 0;  // Changes of the log that are in the sums.
  };
  struct SpreadTable {
    std::vector<SpreadSums> sums;  // By constraint.
    std::vector<NodeSet> counted;  // By constraint: nodes whose pods count.
    // Constraints that count pods of a shape; shapes that none counts are absent.
    absl::flat_hash_map<PodShapeId, std::vector<uint32_t>> counts;
    size_t applied = 0;
  };

  void Renew(NodeId node);
  void Apply(const Change& change, AffinityTable& table);
  void Apply(const Change& change, const PodShape& of, SpreadTable& table);
  void AddPlaced(AffinityTable& table);
  void FindCounted(const PodShape& shape, SpreadTable& table);
  void AddPlaced(const PodShape& shape, SpreadTable& table);

  const ClusterSnapshot& snapshot_;
  const ScoreFacts& facts_;
  const PlacedShapes& placed_;
  std::vector<NodeLoad> loads_;                   // By NodeId.
  absl::node_hash_map<size_t, NodeSet> statics_;  // By StaticClassOf.
  absl::node_hash_map<ConstraintsId, NodeSet> affine_;
  absl::node_hash_map<ConstraintsId, NodeSet> tolerated_;
  absl::node_hash_map<TextId, std::vector<TextId>> values_;  // By key.
  absl::node_hash_map<TextId, ImageOnNode> images_;
  absl::node_hash_map<PodShapeId, AffinityTable> affinity_;
  absl::node_hash_map<PodShapeId, SpreadTable> spread_;
  std::vector<Change> log_;
};

}  // namespace ebb

#endif  // EBB_SIMULATION_SCORE_CACHE_H_
