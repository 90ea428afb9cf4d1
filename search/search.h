// OptimizePlan: a plan that is at least as good as the greedy one, and better if there is time.
//
//   absl::StatusOr<SearchResult> found = OptimizePlan(snapshot, groups, request, options);
//   Use(found->best.plan);
//
// A greedy plan tries candidates in a given order and puts each pod on the next node that fits.
// The search looks for other sets of nodes.  It starts with packings (packing.h) for several orders
// of candidates, in which pods go to the fullest nodes.  Then it improves some packings side by
// side, by repeating: put a few nodes back, try to remove others, keep the result if it is not
// worse (large neighbourhood search).  It ends when a plan is as good as any plan can be (bound.h).
// Every better packing is passed to the planner, which makes a plan of it with its own filters,
// rules, budgets and limits of groups.  The best of these plans and the greedy one is verified and
// returned.  So a mistake of the search can make the result less good, but not wrong.
//
// Time: the deadline of `options` ends the search; the deadlines of the request apply to the greedy
// plan as in MakePlan.  A cancelled search returns the best plan so far, verified.
//
// Equal input, seed and iterations give the same plan at any number of threads, unless a deadline
// ends the search.
//
// Cost:    uses the time that it is given.  Memory: some copies of the snapshot, which share pages.
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
  // Iterations of the neighbourhood search, each of some hundred steps on every packing; 0: only
  // the initial packings are tried.  Not tuned: usually the bound, the deadline or
  // `iterations_without_gain` ends the search first.
  uint64_t iterations = 1000;
  // Stop after this many consecutive iterations without improvement.  A higher number may find
  // better plans on large clusters, and takes longer where there is no better plan: after each 20
  // such iterations the search changes more units at once, and begins two packings again.  Not
  // tuned.
  uint64_t iterations_without_gain = 20;
  // Null: no time limit.
  const Deadline* deadline = nullptr;
  // The worth of removing each node, by NodeId (worth.h).  A node whose worth is not above 0 is not
  // removed, unless the plan of the request itself removes it and is the best plan.  Empty: each
  // node is worth 1.
  std::span<const int64_t> worth = {};
  // Only the greedy plan and one packing, whose order is that of the relaxed bound: for comparing
  // many similar clusters.  The other fields but `worth` have no effect, and the result no bound.
  bool quick = false;
  // Called for every plan that is better than all before; the greedy plan is the first.
  std::function<void(const PlanResult& plan, int64_t worth)> on_better;
};

// Why a search ended.
enum class SearchEnd : uint8_t {
  kNothingToSearch,  // No node may be removed, or a limit ended the greedy plan.
  kBoundReached,     // No plan is worth more.
  kNoGain,           // SearchOptions::iterations_without_gain in a row found nothing better.
  kIterations,       // SearchOptions::iterations were made.
  kDeadline,         // That of the search, or that of the greedy plan.
};

struct SearchResult {
  PlanResult best;
  int64_t worth = 0;         // Of `best`.
  int64_t greedy_worth = 0;  // Of the plan without the search.
  size_t greedy_nodes = 0;   // Nodes that it removes.
  uint64_t iterations = 0;
  SearchEnd end = SearchEnd::kNothingToSearch;
  // An upper bound of the worth of every plan (bound.h).  nullopt: there was no time to compute it,
  // or nothing was searched because a limit or deadline ended the greedy plan or no node may be
  // removed.
  std::optional<int64_t> bound;
};

// `request` as for MakePlan.  The snapshot is unchanged when this returns; it must have no open
// fork.
absl::StatusOr<SearchResult> OptimizePlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                          const PlanRequest& request, const SearchOptions& options,
                                          const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SEARCH_SEARCH_H_
