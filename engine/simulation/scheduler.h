// SimulatedScheduler says where a pod lands: the filters of predicates/ say which nodes take it,
// scores.h which of them the scheduler likes best.
//
// As the scheduler does, it looks at a part of a large cluster only: it goes on from the node where
// the last search ended, until enough nodes fit (all of them below 100 nodes).  Of the best it
// takes one by its own seeded draw.
//
// A pod without spread constraints is spread by the scheduler's defaults, over nodes and zones,
// among the pods of its controller: a snapshot has no Services.
//
// The scores are held to the real scheduler's by go/oracle, and README.md says what is left out.
//
// Cost:    O(nodes) filters and scores a pod; cheaper with ScoreFacts.
// Threads: not thread-safe.
// Source:  kubernetes 1.36 pkg/scheduler/schedule_one.go: findNodesThatPassFilters,
//          numFeasibleNodesToFind, selectHost.  Its nodes are in order of zones; here they are as
//          they came.

#ifndef EBB_ENGINE_SIMULATION_SCHEDULER_H_
#define EBB_ENGINE_SIMULATION_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "engine/simulation/scores.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// In the order of the default profile.
enum class ScorePlugin : uint8_t {
  kTaintToleration,
  kNodeAffinity,
  kNodeResourcesFit,
  kPodTopologySpread,
  kInterPodAffinity,
  kBalancedAllocation,
  kImageLocality,
};
inline constexpr size_t kScorePlugins = 7;
// As the scheduler calls it: "NodeResourcesBalancedAllocation".
std::string_view ScorePluginName(ScorePlugin plugin);

// What the plugins say of a node.
struct NodeScore {
  std::array<int64_t, kScorePlugins> weighted{};  // By ScorePlugin; 0 where it is not asked.
  int64_t total = 0;
};

// CPU and memory, the two resources that the default profile scores.
using ScoredAmounts = std::array<int64_t, 2>;

// What scores ask of a catalog again and again, looked up once.  Whoever places many pods while the
// catalog stays the same has them; nothing but time depends on it.
//
// Cost: O(nodes and shapes of pods) to build.
struct ScoreFacts {
  explicit ScoreFacts(const Catalog& catalog);

  std::vector<ScoredAmounts> defaults;       // By PodShapeId: for what such a pod does not ask.
  std::vector<std::optional<TextId>> zones;  // By NodeId.
  std::vector<PodShapeId> attracting;        // Shapes with terms that speak of other pods.
};

// The nodes of the other pods of its controller, one entry a pod: those that are not terminating.
// Cost: O(pods).
std::vector<NodeId> PeersOf(const ClusterSnapshot& snapshot, PodId pod);

// numFeasibleNodesToFind with the default percentage, which adapts.
size_t NodesToFind(size_t nodes);

class SimulatedScheduler {
 public:
  // `facts`: of the catalog of every snapshot that it is asked about; null: there are none.
  explicit SimulatedScheduler(uint64_t seed, const ScoreFacts* facts = nullptr)
      : random_(seed), facts_(facts) {}

  // kNoNode: no node takes it.  `peers`: the nodes of the other pods of its controller, one entry
  // a pod.  `closed`: nodes that take no pods, besides those that their taints say; null: none.
  // REQUIRES: the pod is on no node of `snapshot`.
  NodeId Choose(const ClusterSnapshot& snapshot, PodId pod, std::span<const NodeId> peers,
                const NodeSet* closed = nullptr);

  // The scores of the nodes for the pod.  `nodes`: those that passed the filters, all of them.
  static std::vector<NodeScore> Score(const ClusterSnapshot& snapshot, PodId pod,
                                      std::span<const NodeId> nodes, std::span<const NodeId> peers,
                                      const ScoreFacts* facts = nullptr);

 private:
  std::vector<NodeId> Feasible(const ClusterSnapshot& snapshot, const PodShape& shape,
                               const NodeSet* closed);

  Random random_;
  const ScoreFacts* facts_;
  size_t next_start_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SIMULATION_SCHEDULER_H_
