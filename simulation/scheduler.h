// SimulatedScheduler chooses the node of a pod as kube-scheduler does: the filters of predicates/
// decide which nodes take the pod, and the scores of scores.h decide which of these is best.
//
// Like the scheduler, it looks at only a part of a large cluster: it continues from the node where
// the last search ended, until enough nodes fit (all of them below 100 nodes).  Among the best
// nodes it draws one, with a seeded generator.
//
// A pod without spread constraints is spread by the scheduler's defaults over nodes and zones,
// among the pods of its controller, because a snapshot has no Services.
//
// go/oracle compares the scores with those of the real scheduler; README.md lists what is left out.
//
// Cost:    O(nodes) filters and scores for each pod, and O(pods) for some; with a ScoreCache
//          O(nodes that are looked at).
// Threads: not thread-safe.
// Source:  kubernetes 1.36 pkg/scheduler/schedule_one.go: findNodesThatPassFilters,
//          numFeasibleNodesToFind, selectHost.  The scheduler orders nodes by zones; here they are
//          in the order of the snapshot.

#ifndef EBB_SIMULATION_SCHEDULER_H_
#define EBB_SIMULATION_SCHEDULER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "simulation/score_cache.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// In the order of the scheduler's default profile.
enum class ScorePlugin : uint8_t {
  kTaintToleration,
  kNodeAffinity,
  kNodeResourcesFit,
  kPodTopologySpread,
  kInterPodAffinity,
  kBalancedAllocation,
  kImageLocality,
  kDynamicResources,
};
inline constexpr size_t kScorePlugins = 8;
// The scheduler's name of the plugin: "NodeResourcesBalancedAllocation".
std::string_view ScorePluginName(ScorePlugin plugin);

// The scores of a node.
struct NodeScore {
  // By ScorePlugin; 0 if the plugin is not evaluated.
  std::array<int64_t, kScorePlugins> weighted{};
  int64_t total = 0;
};

// The nodes of the other pods of the pod's controller that are not terminating, one entry for each
// pod.
// Cost: O(pods).
std::vector<NodeId> PeersOf(const ClusterSnapshot& snapshot, PodId pod);

// numFeasibleNodesToFind with the adaptive default percentage.
size_t NodesToFind(size_t nodes);

class SimulatedScheduler {
 public:
  // `cache`: of the snapshot that will be used; null: everything is computed when needed.  A cache
  // saves time, and changes no result.
  explicit SimulatedScheduler(uint64_t seed, ScoreCache* cache = nullptr)
      : random_(seed), cache_(cache) {}

  // Returns the node for the pod; kNoNode: no node takes it.  `peers`: the nodes of the other pods
  // of its controller, one entry for each pod.  `closed`: further nodes that take no pods, besides
  // tainted ones; null: none.
  // REQUIRES: the pod is on no node of `snapshot`.
  NodeId Choose(const ClusterSnapshot& snapshot, PodId pod, std::span<const NodeId> peers,
                const NodeSet* closed = nullptr);

  // The scores of the nodes for the pod.  `nodes`: all nodes that passed the filters.  `facts`: of
  // the snapshot's catalog; they save time, and change no result.
  static std::vector<NodeScore> Score(const ClusterSnapshot& snapshot, PodId pod,
                                      std::span<const NodeId> nodes, std::span<const NodeId> peers,
                                      const ScoreFacts* facts = nullptr);

 private:
  std::vector<NodeId> Feasible(const ClusterSnapshot& snapshot, PodShapeId id,
                               const NodeSet* closed);

  Random random_;
  ScoreCache* cache_;
  size_t next_start_ = 0;
};

}  // namespace ebb

#endif  // EBB_SIMULATION_SCHEDULER_H_
