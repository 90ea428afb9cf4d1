// FindFrontier: for each number of pods evicted, the plan that is worth most.
//
//   absl::StatusOr<Frontier> frontier = FindFrontier(snapshot, groups, pending, request, hourly,
//                                                    options);
//
// Plans are searched for (search.h) at several prices of a pod that is moved: at none, and from an
// eighth of what nodes are worth a pod to four times that.  The nodes of such a plan are put in the
// order of what they are worth for each pod, and every first part of it is a plan too.  The
// frontier is those that no other is better than: worth more for as many evictions or fewer.  It is
// what was found, not what is possible; bound.h tells that.
//
// Units:   worth in what `hourly` is in; pods count once, where they run before the plan.
// Cost:    seven searches, each of at most `options.iterations`.
// Threads: those of `parallelism`.
// Errors:  those of OptimizePlan.

#ifndef EBB_ENGINE_SEARCH_FRONTIER_H_
#define EBB_ENGINE_SEARCH_FRONTIER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/search/search.h"

namespace ebb {

struct FrontierPoint {
  size_t evicted = 0;
  size_t nodes = 0;  // That go.
  double worth = 0;
  size_t plan = 0;  // Index in Frontier::plans; of it the first `nodes` removals.
};

struct Frontier {
  std::vector<PlanResult> plans;      // Verified, if the request says so.
  std::vector<FrontierPoint> points;  // More evictions and more worth from one to the next.
};

// `hourly`: what nodes are worth, by NodeId (worth.h); 1 each, if nodes are counted.
// Of `options` everything but `worth` and `on_better`.
absl::StatusOr<Frontier> FindFrontier(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      std::span<const PodId> pending, const PlanRequest& request,
                                      std::span<const double> hourly, const SearchOptions& options,
                                      const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_ENGINE_SEARCH_FRONTIER_H_
