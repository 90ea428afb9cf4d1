// FindFrontier: for each number of evicted pods, the best plan that was found.
//
//   absl::StatusOr<Frontier> frontier = FindFrontier(snapshot, groups, request, hourly,
//                                                    options);
//
// Plans are searched for (search.h) at several prices for moving a pod: 0, and from 1/8 to 4 times
// the average worth of nodes per pod.  The nodes of each plan found, and of the plan of the request
// itself, are sorted by their worth per pod.  Every prefix of that order is also a plan.  The
// frontier consists of the plans that no other plan dominates, that is, no other plan is worth as
// much with as few evictions.  It contains what was found, not what is possible; bound.h gives
// limits for that.
//
// Units:   worth in the unit of `hourly`; a pod counts once, where it runs before the plan.
// Cost:    kFrontierSearches searches, each of at most `options.iterations`.
// Threads: those of `parallelism`.
// Errors:  those of OptimizePlan.

#ifndef EBB_SEARCH_FRONTIER_H_
#define EBB_SEARCH_FRONTIER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "search/search.h"

namespace ebb {

struct FrontierPoint {
  size_t evicted = 0;
  size_t nodes = 0;  // Nodes removed.
  double worth = 0;
  // Index in Frontier::plans; the point is the first `nodes` removals of that plan.
  size_t plan = 0;
};

struct Frontier {
  // Verified if the request says so; the first is that of the request.
  std::vector<PlanResult> plans;
  // Sorted by evictions; each is worth more than the one before.
  std::vector<FrontierPoint> points;
  uint64_t iterations = 0;  // The sum over all searches.
  // The end of that search whose end comes last in SearchEnd: kBoundReached if every search that
  // had something to do reached its bound.
  SearchEnd end = SearchEnd::kNothingToSearch;
};

// The number of searches, one for each price of a move (kMovePrices in frontier.cc).  More searches
// find more points; they share the time that the caller gives.  Not tuned.
inline constexpr size_t kFrontierSearches = 7;

// Receives the points of the frontier found so far, sorted as in Frontier::points.
using OnFrontierPoints = std::function<void(std::span<const FrontierPoint> so_far)>;

// `hourly`: the worth of each node, by NodeId (worth.h); 1 each to count nodes.  Ignores `worth`
// and `on_better` of `options`.  `ends`: the deadline of each search, which replaces that of
// `options`; empty: the deadline of `options` is for all searches together.
// `on_points`: called by the caller's thread for the plan of the request, long before the last
// search ends, and after each of the kFrontierSearches searches: each time the frontier is at least
// as good as before, and the last one is that of the result.
// Errors: also InvalidArgument, if `hourly` does not have one entry for each node as WorthOfNodes
// requires, or `ends` has neither 0 nor kFrontierSearches entries.
absl::StatusOr<Frontier> FindFrontier(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, std::span<const double> hourly,
                                      const SearchOptions& options,
                                      const Parallelism& parallelism = Parallelism::One(),
                                      std::span<const Deadline* const> ends = {},
                                      const OnFrontierPoints& on_points = nullptr);

// The point with the largest worth among those with at most `evictions` evictions; null: no such
// point.
const FrontierPoint* BestWithin(const Frontier& frontier, size_t evictions);

// Cuts the plan to the largest number of removals that evict at most `evictions` pods together
// (CutPlan).
void CutToEvictions(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlanRequest& request, size_t evictions, PlanResult& made);

}  // namespace ebb

#endif  // EBB_SEARCH_FRONTIER_H_
