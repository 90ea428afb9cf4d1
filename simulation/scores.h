// Scores: how much the scheduler likes a node for a pod, plugin by plugin, with the arguments and
// weights of the default profile.  Higher is better; 0 to 100 where nothing else is said.
//
// A plugin that compares nodes scores each by itself first, and then all of them are normalized
// together, in place.
//
// Integers are divided as Go divides them: toward zero.
//
// Cost:    O(what is given).
// Threads: pure functions.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, of each function the package named at
//          it; weights of pkg/scheduler/apis/config/v1/default_plugins.go.

#ifndef EBB_SIMULATION_SCORES_H_
#define EBB_SIMULATION_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "snapshot/matching.h"

namespace ebb {

inline constexpr int64_t kMaxNodeScore = 100;

// What the sum of scores counts each plugin by.
struct ScoreWeights {
  int64_t taint_toleration = 3;
  int64_t node_affinity = 2;
  int64_t pod_topology_spread = 2;
  int64_t inter_pod_affinity = 2;
  int64_t node_resources_fit = 1;
  int64_t balanced_allocation = 1;
  int64_t image_locality = 1;
};

// noderesources, LeastAllocated: the mean of what each resource would have free, in percent.
// `requested` with the pod that is to be placed; equally many of both.
int64_t LeastAllocatedScore(std::span<const int64_t> requested,
                            std::span<const int64_t> allocatable);

// noderesources, BalancedAllocation: how evenly a node's resources are used, 100 less the standard
// deviation of the used fractions.  A resource that the node has not does not count.
int64_t BalanceOf(std::span<const int64_t> requested, std::span<const int64_t> allocatable);
// What the pod does to that: 75 where it changes nothing, from 50 to 100.  `requested` with the
// pod, `before` without.  Not asked of a pod that requests nothing.
int64_t BalancedAllocationScore(std::span<const int64_t> requested, std::span<const int64_t> before,
                                std::span<const int64_t> allocatable);

// tainttoleration: PreferNoSchedule taints that the pod does not tolerate.
// `prefer_no_schedule`: that text.  Normalized in reverse.
int64_t IntolerableTaints(const Constraints& constraints, std::span<const Taint> taints,
                          TextId prefer_no_schedule);

// nodeaffinity: the weights of the preferred terms that match the node.
struct PreferredTerm {
  int64_t weight;
  bool matches;
};
int64_t PreferredTermsScore(std::span<const PreferredTerm> terms);

// podtopologyspread: what one constraint adds to a node's score, before it is rounded.
// `domains`: of its key among the nodes that passed the filters; `pods`: that match, in the
// node's domain.
double SpreadScore(int64_t pods, int32_t max_skew, size_t domains);

// imagelocality: an image of the pod that the node has.
struct ImageOnNode {
  int64_t size_bytes;
  int64_t nodes;  // That have it.
};
// `containers`: of the pod, init containers among them.
int64_t ImageLocalityScore(std::span<const ImageOnNode> images, int64_t all_nodes,
                           int64_t containers);

// helper.DefaultNormalizeScore: the highest becomes 100; reversed, 0.
void NormalizeByMax(std::span<int64_t> scores, bool reverse);

// podtopologyspread NormalizeScore: the fewest pods are best.  A score below 0 is that of a node
// that lacks a key, and becomes 0.
void NormalizeSpread(std::span<int64_t> scores);

// interpodaffinity NormalizeScore: from the lowest, 0, to the highest, 100; all 0 where they are
// equal.
void NormalizeAffinity(std::span<int64_t> scores);

}  // namespace ebb

#endif  // EBB_SIMULATION_SCORES_H_
