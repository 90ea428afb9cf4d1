#include "planning/plan_search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "platform/clock.h"
#include "search/bound.h"
#include "search/frontier.h"
#include "search/search.h"
#include "search/worth.h"

namespace ebb {
namespace {

constexpr double kMillionths = 1e6;  // Worth is counted in millionths.

std::vector<int64_t> WorthOf(const LoadedCluster& cluster, const PlanTask& task,
                             const SearchQuery& query) {
  if (!query.for_cost) return {};
  EBB_CHECK(task.prices != nullptr);  // REQUIRED by SearchPlan.
  return WorthOfNodes(cluster.snapshot, task.groups, task.request, task.prices->hourly,
                      query.move_cost);
}

// Without a number of iterations the search uses up its budget.
SearchOptions IterationsOf(const SearchQuery& query) {
  SearchOptions search;
  search.seed = query.seed;
  search.iterations = query.iterations.value_or(std::numeric_limits<uint64_t>::max());
  search.iterations_without_gain = search.iterations;
  return search;
}

// `cancelled`: what may have ended the search before its budget; null: nothing.
SearchStop StopOf(SearchEnd end, const Deadline* cancelled) {
  switch (end) {
    case SearchEnd::kNothingToSearch:
      return SearchStop::kNothingToSearch;
    case SearchEnd::kBoundReached:
      return SearchStop::kBoundReached;
    case SearchEnd::kNoGain:
    case SearchEnd::kIterations:
      return SearchStop::kIterationsUsed;
    case SearchEnd::kDeadline:
      break;
  }
  const bool is_cancelled = cancelled != nullptr && cancelled->Expired();
  return is_cancelled ? SearchStop::kInterrupted : SearchStop::kBudgetUsed;
}

// The best plan found with at most `evictions` evictions.
absl::StatusOr<FoundPlan> SearchWithin(size_t evictions, LoadedCluster& cluster,
                                       const PlanTask& task, const SearchQuery& query,
                                       const PlanHooks& hooks, const Parallelism& parallelism) {
  EBB_CHECK(!query.for_cost || task.prices != nullptr);
  const std::vector<double> ones(cluster.snapshot.catalog().nodes(), 1);
  const std::span<const double> hourly = query.for_cost ? task.prices->hourly : ones;
  const SearchOptions search = IterationsOf(query);
  const ClockDeadlines budget(Clock::now(), DurationOf(query.budget_s), kFrontierSearches);
  std::vector<FirstDeadline> firsts;
  std::vector<const Deadline*> ends;
  for (const Deadline* const each : budget.Each()) {
    firsts.emplace_back(query.iterations ? nullptr : each, hooks.cancelled);
  }
  for (const FirstDeadline& each : firsts) ends.push_back(&each);
  absl::StatusOr<Frontier> frontier =
      FindFrontier(cluster.snapshot, task.groups, task.request, hourly, search, parallelism, ends);
  if (!frontier.ok()) return frontier.status();
  const auto worth_of = [&](const Plan& plan) {
    double worth = 0;
    for (const RemovableNode& each : plan.remove) worth += hourly[Index(each.node)];
    return worth;
  };
  PlanResult greedy = frontier->plans.front();
  CutToEvictions(cluster.snapshot, task.groups, task.request, evictions, greedy);
  const FrontierPoint* const point = BestWithin(*frontier, evictions);
  PlanResult best = greedy;
  if (point != nullptr) {
    best = std::move(frontier->plans[point->plan]);
    CutPlan(cluster.snapshot, task.groups, task.request, point->nodes, Termination::kEvictionLimit,
            best);
    // This plan may have ended normally, although other plans have more evictions.
    const bool is_last = point == &frontier->points.back();
    if (!is_last && best.plan.termination == Termination::kComplete) {
      best.plan.termination = Termination::kEvictionLimit;
    }
  }
  PlanSearch found{.greedy_nodes = greedy.plan.remove.size(),
                   .iterations = frontier->iterations,
                   .seed = query.seed,
                   .ended = StopOf(frontier->end, hooks.cancelled),
                   .max_evictions = evictions,
                   .savings = {}};
  if (query.for_cost) {
    found.savings = {.move_cost = 0, .greedy = worth_of(greedy.plan), .found = worth_of(best.plan)};
  }
  return FoundPlan{.made = std::move(best), .search = found, .bound = {}};
}

absl::StatusOr<FoundPlan> SearchWhole(LoadedCluster& cluster, const PlanTask& task,
                                      const SearchQuery& query, const PlanHooks& hooks,
                                      const Parallelism& parallelism) {
  const std::vector<int64_t> worth = WorthOf(cluster, task, query);
  const ClockDeadline budget(Clock::now() + DurationOf(query.budget_s));
  const FirstDeadline ends(query.iterations ? nullptr : &budget, hooks.cancelled);
  SearchOptions search = IterationsOf(query);
  search.worth = worth;
  search.deadline = &ends;
  if (hooks.on_better) {
    search.on_better = [&](const PlanResult& plan, int64_t) { hooks.on_better(plan); };
  }
  absl::StatusOr<SearchResult> found =
      OptimizePlan(cluster.snapshot, task.groups, task.request, search, parallelism);
  if (!found.ok()) return found.status();
  PlanSearch told{.greedy_nodes = found->greedy_nodes,
                  .iterations = found->iterations,
                  .seed = query.seed,
                  .ended = StopOf(found->end, hooks.cancelled),
                  .max_evictions = {},
                  .savings = {}};
  std::optional<PlanBound> bound;
  if (query.for_cost) {
    told.savings = {.move_cost = query.move_cost,
                    .greedy = static_cast<double>(found->greedy_worth) / kMillionths,
                    .found = static_cast<double>(found->worth) / kMillionths};
  } else if (found->bound) {
    bound = PlanBound{.nodes = static_cast<size_t>(*found->bound), .savings = {}};
  }
  return FoundPlan{.made = std::move(found->best), .search = told, .bound = bound};
}

}  // namespace

absl::StatusOr<FoundPlan> SearchPlan(LoadedCluster& cluster, const PlanTask& task,
                                     const SearchQuery& query, const PlanHooks& hooks,
                                     const Parallelism& parallelism) {
  if (query.max_evictions) {
    return SearchWithin(*query.max_evictions, cluster, task, query, hooks, parallelism);
  }
  return SearchWhole(cluster, task, query, hooks, parallelism);
}

PlanBound BoundPlan(const LoadedCluster& cluster, const PlanTask& task, const SearchQuery& query,
                    const Deadline* ends) {
  const auto bound_of = [&](std::span<const int64_t> worth) {
    return BoundRemovals(cluster.snapshot, task.groups, task.request, worth, ends).worth;
  };
  PlanBound bound{.nodes = static_cast<size_t>(bound_of({})), .savings = {}};
  if (query.for_cost) {
    bound.savings = static_cast<double>(bound_of(WorthOf(cluster, task, query))) / kMillionths;
  }
  return bound;
}

}  // namespace ebb
