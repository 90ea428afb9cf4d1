#include "service/plan_search.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "engine/search/bound.h"
#include "engine/search/frontier.h"
#include "engine/search/search.h"
#include "engine/search/worth.h"
#include "service/clock.h"

namespace ebb {
namespace {

constexpr double kMillionths = 1e6;  // Of what worth is counted in.

Clock::duration BudgetOf(const PlanSearchOptions& options) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options.budget_s));
}

std::vector<int64_t> WorthOf(const LoadedCluster& cluster, const NodeGroups& groups,
                             const PlanRequest& request, const NodePrices* prices,
                             const PlanSearchOptions& options) {
  if (!options.for_cost) return {};
  return WorthOfNodes(cluster.snapshot, groups, request, prices->hourly, options.move_cost);
}

SearchOptions IterationsOf(const PlanSearchOptions& options) {
  SearchOptions search;
  search.seed = options.seed;
  if (options.iterations) {
    search.iterations = *options.iterations;
    search.iterations_without_gain = *options.iterations;
  }
  return search;
}

// The best plan that was found with no more evictions than the options say.
absl::StatusOr<FoundPlan> SearchWithin(size_t evictions, LoadedCluster& cluster,
                                       const NodeGroups& groups, const PlanRequest& request,
                                       const NodePrices* prices, const PlanSearchOptions& options,
                                       const Parallelism& parallelism) {
  const std::vector<double> ones(cluster.snapshot.catalog().nodes(), 1);
  const std::span<const double> hourly = options.for_cost ? prices->hourly : ones;
  const SearchOptions search = IterationsOf(options);
  const ClockDeadlines budget(Clock::now(), BudgetOf(options), kFrontierSearches);
  std::vector<FirstDeadline> firsts;
  std::vector<const Deadline*> ends;
  for (const Deadline* const each : budget.Each()) {
    firsts.emplace_back(options.iterations ? nullptr : each, options.cancelled);
  }
  for (const FirstDeadline& each : firsts) ends.push_back(&each);
  absl::StatusOr<Frontier> frontier = FindFrontier(cluster.snapshot, groups, cluster.pending,
                                                   request, hourly, search, parallelism, ends);
  if (!frontier.ok()) return frontier.status();
  const auto worth_of = [&](const Plan& plan) {
    double worth = 0;
    for (const RemovableNode& each : plan.remove) worth += hourly[Index(each.node)];
    return worth;
  };
  PlanResult greedy = frontier->plans.front();
  CutToEvictions(cluster.snapshot, groups, request.now_s, evictions, greedy);
  const FrontierPoint* const point = BestWithin(*frontier, evictions);
  PlanResult best = greedy;
  if (point != nullptr) {
    best = std::move(frontier->plans[point->plan]);
    CutPlan(cluster.snapshot, groups, request.now_s, point->nodes, Termination::kEvictionLimit,
            best);
    // It may also be a whole plan, of which others have more.
    const bool is_last = point == &frontier->points.back();
    if (!is_last && best.plan.termination == Termination::kComplete) {
      best.plan.termination = Termination::kEvictionLimit;
    }
  }
  PlanSearch found{.greedy_nodes = greedy.plan.remove.size(),
                   .iterations = frontier->iterations,
                   .seed = options.seed,
                   .max_evictions = evictions,
                   .savings = {}};
  if (options.for_cost) {
    found.savings = {.move_cost = 0, .greedy = worth_of(greedy.plan), .found = worth_of(best.plan)};
  }
  return FoundPlan{.made = std::move(best), .search = found, .bound = {}};
}

absl::StatusOr<FoundPlan> SearchWhole(LoadedCluster& cluster, const NodeGroups& groups,
                                      const PlanRequest& request, const NodePrices* prices,
                                      const PlanSearchOptions& options,
                                      const Parallelism& parallelism) {
  const std::vector<int64_t> worth = WorthOf(cluster, groups, request, prices, options);
  const ClockDeadline budget(Clock::now() + BudgetOf(options));
  const FirstDeadline ends(options.iterations ? nullptr : &budget, options.cancelled);
  SearchOptions search = IterationsOf(options);
  search.worth = worth;
  search.deadline = &ends;
  if (options.on_better) {
    search.on_better = [&](const PlanResult& plan, int64_t) { options.on_better(plan); };
  }
  absl::StatusOr<SearchResult> found =
      OptimizePlan(cluster.snapshot, groups, cluster.pending, request, search, parallelism);
  if (!found.ok()) return found.status();
  PlanSearch told{.greedy_nodes = found->greedy_nodes,
                  .iterations = found->iterations,
                  .seed = options.seed,
                  .max_evictions = {},
                  .savings = {}};
  std::optional<PlanBound> bound;
  if (options.for_cost) {
    told.savings = {.move_cost = options.move_cost,
                    .greedy = static_cast<double>(found->greedy_worth) / kMillionths,
                    .found = static_cast<double>(found->worth) / kMillionths};
  } else if (found->bound) {
    bound = PlanBound{.nodes = static_cast<size_t>(*found->bound), .savings = {}};
  }
  return FoundPlan{.made = std::move(found->best), .search = told, .bound = bound};
}

}  // namespace

absl::StatusOr<FoundPlan> SearchPlan(LoadedCluster& cluster, const NodeGroups& groups,
                                     const PlanRequest& request, const NodePrices* prices,
                                     const PlanSearchOptions& options,
                                     const Parallelism& parallelism) {
  if (options.for_cost && prices == nullptr) {
    return absl::InvalidArgumentError("search.objective: COST needs prices");
  }
  if (options.max_evictions && options.move_cost > 0) {
    return absl::InvalidArgumentError("search.max_evictions: takes no search.move_cost");
  }
  absl::StatusOr<FoundPlan> found =
      options.max_evictions ? SearchWithin(*options.max_evictions, cluster, groups, request, prices,
                                           options, parallelism)
                            : SearchWhole(cluster, groups, request, prices, options, parallelism);
  if (found.ok() && options.bound) {
    found->bound = BoundPlan(cluster, groups, request, prices, options);
  }
  return found;
}

PlanBound BoundPlan(LoadedCluster& cluster, const NodeGroups& groups, const PlanRequest& request,
                    const NodePrices* prices, const PlanSearchOptions& options) {
  const RemovalBound of_nodes =
      BoundRemovals(cluster.snapshot, groups, request, {}, options.cancelled);
  PlanBound bound{.nodes = static_cast<size_t>(of_nodes.worth), .savings = {}};
  if (options.for_cost) {
    const std::vector<int64_t> worth = WorthOf(cluster, groups, request, prices, options);
    const RemovalBound savings =
        BoundRemovals(cluster.snapshot, groups, request, worth, options.cancelled);
    bound.savings = static_cast<double>(savings.worth) / kMillionths;
  }
  return bound;
}

}  // namespace ebb
