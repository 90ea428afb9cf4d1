// FindFrontier: for each number of pods evicted, the plan that is worth most.
//
//   absl::StatusOr<Frontier> frontier = FindFrontier(snapshot, groups, request, hourly,
//                                                    options);
//
// Plans are searched for (search.h) at several prices of a pod that is moved: at none, and from an
// eighth of what nodes are worth a pod to four times that.  The nodes of such a plan, and of the
// plan that the request asks for, are put in the order of what they are worth for each pod, and
// every first part of it is a plan too.  The frontier is those that no other is better than: worth
// more for as many evictions or fewer.  It is what was found, not what is possible; bound.h tells
// that.
//
// Units:   worth in what `hourly` is in; pods count once, where they run before the plan.
// Cost:    kFrontierSearches searches, each of at most `options.iterations`.
// Threads: those of `parallelism`.
// Errors:  those of OptimizePlan.

#ifndef EBB_SEARCH_FRONTIER_H_
#define EBB_SEARCH_FRONTIER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "search/search.h"

namespace ebb {

struct FrontierPoint {
  size_t evicted = 0;
  size_t nodes = 0;  // That go.
  double worth = 0;
  size_t plan = 0;  // Index in Frontier::plans; of it the first `nodes` removals.
};

struct Frontier {
  std::vector<PlanResult> plans;      // Verified, if the request says so; the first as asked for.
  std::vector<FrontierPoint> points;  // More evictions and more worth from one to the next.
  uint64_t iterations = 0;            // Of all searches.
};

// How many searches there are.
inline constexpr size_t kFrontierSearches = 7;

// `hourly`: what nodes are worth, by NodeId (worth.h); 1 each, if nodes are counted.
// Of `options` everything but `worth` and `on_better`.  `ends`: of each search, instead of the
// deadline of `options`; empty: that one is of all.
// Errors: also InvalidArgument, unless `hourly` has one entry a node as WorthOfNodes asks, and
// `ends` none or kFrontierSearches.
absl::StatusOr<Frontier> FindFrontier(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, std::span<const double> hourly,
                                      const SearchOptions& options,
                                      const Parallelism& parallelism = Parallelism::One(),
                                      std::span<const Deadline* const> ends = {});

// The point that is worth most among those with at most so many evictions; null: there is none.
const FrontierPoint* BestWithin(const Frontier& frontier, size_t evictions);

// Leaves the first removals of a plan that evict at most so many pods together (CutPlan).
void CutToEvictions(const ClusterSnapshot& snapshot, const NodeGroups& groups, int64_t now_s,
                    size_t evictions, PlanResult& made);

}  // namespace ebb

#endif  // EBB_SEARCH_FRONTIER_H_
