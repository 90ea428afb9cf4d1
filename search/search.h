// OptimizePlan: a plan that is at least as good as the greedy one, and better where time allows.
//
//   absl::StatusOr<SearchResult> found = OptimizePlan(snapshot, groups, request, options);
//   Use(found->best.plan);
//
// A greedy plan takes candidates in a given order, and each pod the next node that fits.  The
// search looks for other sets of nodes.  It begins with packings (packing.h) of several orders of
// candidates, in which pods go where it is fullest.  Then it repeats, on some packings side by
// side: put a few nodes back, try to remove others, and keep what is not worse (large neighbourhood
// search).  It ends when a plan is as good as any can be (bound.h).  Every better packing is handed
// to the planner, which makes a plan of it by its own filters, rules, budgets and limits of groups.
// The best of these plans and the greedy one is verified and handed out, so a mistake of the search
// costs a better plan and nothing else.
//
// Time: the deadline of `options` ends the search; what MakePlan says of the request's own holds
// for the greedy plan.  A cancelled search returns the best plan so far, verified.
//
// The same input, seed and iterations give the same plan at any number of threads, where no
// deadline ends the search.
//
// Cost:    as long as it is given.  Memory: some copies of the snapshot, which share pages.
// Threads: those of `parallelism`; `on_better` is called by the caller's thread.
// Errors:  those of MakePlan.
// Source:  D. Pisinger, S. Ropke, Large neighborhood search, Handbook of Metaheuristics, 2010.

#ifndef EBB_SEARCH_SEARCH_H_
#define EBB_SEARCH_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/make_plan.h"

namespace ebb {

struct SearchOptions {
  uint64_t seed = 1;
  // Of the neighbourhood search, each some hundred steps on every packing; 0: the packings of the
  // beginning alone.
  uint64_t iterations = 1000;
  // So many in a row that find nothing better end the search.
  uint64_t iterations_without_gain = 20;
  // Null: there is time for all.
  const Deadline* deadline = nullptr;
  // What removing a node is worth, by NodeId (worth.h); above 0, or it stays, unless the plan that
  // the request asks for removes it and is the best.  Empty: each node counts 1.
  std::span<const int64_t> worth = {};
  // Told of every plan that is better than those before, the greedy one first.
  std::function<void(const PlanResult& plan, int64_t worth)> on_better;
};

struct SearchResult {
  PlanResult best;
  int64_t worth = 0;         // Of it.
  int64_t greedy_worth = 0;  // Of the plan that the request asks for.
  size_t greedy_nodes = 0;   // That it removes.
  uint64_t iterations = 0;
  // No plan is worth more (bound.h).  Absent: there was no time to find it, or nothing was
  // searched: a limit or deadline ended the greedy plan, or no node may go.
  std::optional<int64_t> bound;
};

// `request` as for MakePlan.  The snapshot is afterwards as it was; no fork of it may be open.
absl::StatusOr<SearchResult> OptimizePlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                          const PlanRequest& request, const SearchOptions& options,
                                          const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SEARCH_SEARCH_H_
