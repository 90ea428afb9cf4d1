// Scores: how well a node suits a pod, plugin by plugin, with the arguments of kube-scheduler's
// default profile unless stated otherwise.  Higher is better.  Scores are from 0 to 100 unless
// stated otherwise.
//
// A plugin that compares nodes first scores each node alone; then all scores are normalized
// together, in place.
//
// Integer division truncates toward zero, as in Go.
//
// Cost:    O(size of the arguments).
// Threads: pure functions.
// Source:  kubernetes 1.36 pkg/scheduler/framework/plugins, in the package named at each function;
//          weights from pkg/scheduler/apis/config/v1/default_plugins.go.

#ifndef EBB_SIMULATION_SCORES_H_
#define EBB_SIMULATION_SCORES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "snapshot/matching.h"
#include "snapshot/scheduler_config.h"

namespace ebb {

// kube-scheduler's MaxNodeScore.
inline constexpr int64_t kMaxNodeScore = 100;

// noderesources, LeastAllocated: the mean of the free percentages of all resources after the pod
// was placed.  `requested` includes the pod; both lists have the same length.
int64_t LeastAllocatedScore(std::span<const int64_t> requested,
                            std::span<const int64_t> allocatable);
// The same with the strategy and weights of a profile, over CPU and memory.
int64_t ScoreOfFit(const FitScore& how, std::span<const int64_t, 2> requested,
                   std::span<const int64_t, 2> allocatable);

// noderesources, BalancedAllocation: how evenly a node's resources are used: 100 minus the standard
// deviation of the used fractions, in percent.  Resources that the node does not have do not count.
int64_t BalanceOf(std::span<const int64_t> requested, std::span<const int64_t> allocatable);
// The change of that balance by the pod: from 50 to 100, 75 if the balance does not change.
// Not used for a pod without requests.
int64_t BalancedAllocationScore(int64_t balance, int64_t balance_before);
// The same for a node whose balance is not known.  `requested` includes the pod, `before` does not.
int64_t BalancedAllocationScore(std::span<const int64_t> requested, std::span<const int64_t> before,
                                std::span<const int64_t> allocatable);

// tainttoleration: the number of PreferNoSchedule taints that the pod does not tolerate.
// `prefer_no_schedule`: the id of that text.  To be normalized in reverse.
int64_t IntolerableTaints(const Constraints& constraints, std::span<const Taint> taints,
                          TextId prefer_no_schedule);

// nodeaffinity: the weights of the preferred terms that match the node.
struct PreferredTerm {
  int64_t weight;
  bool matches;
};
int64_t PreferredTermsScore(std::span<const PreferredTerm> terms);

// podtopologyspread: what one constraint adds to a node's score, before rounding.  `domains`: the
// number of domains of its key among the nodes that passed the filters.  `pods`: the matching pods
// in the node's domain.  `weight`: SpreadWeight(domains).
double SpreadWeight(size_t domains);
double SpreadScore(int64_t pods, int32_t max_skew, double weight);

// imagelocality: an image of the pod that is on the node.
struct ImageOnNode {
  int64_t size_bytes;
  int64_t nodes;  // The number of nodes that have it.
};
// `containers`: the number of the pod's containers, including init containers.
int64_t ImageLocalityScore(std::span<const ImageOnNode> images, int64_t all_nodes,
                           int64_t containers);

// helper.DefaultNormalizeScore: the highest score becomes 100, or 0 if `reverse`.
void NormalizeByMax(std::span<int64_t> scores, bool reverse);

// podtopologyspread NormalizeScore: the node with the fewest pods is the best.  A negative score
// marks a node that lacks a key, and becomes 0.
void NormalizeSpread(std::span<int64_t> scores);

// interpodaffinity NormalizeScore: the lowest score becomes 0, the highest 100; all become 0 if
// they are equal.
void NormalizeAffinity(std::span<int64_t> scores);

}  // namespace ebb

#endif  // EBB_SIMULATION_SCORES_H_
