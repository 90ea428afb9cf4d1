#include "tools/search_flags.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <limits>

#include "base/duration.h"
#include "service/prices.h"
#include "tools/flag_values.h"

namespace ebb {
namespace {

constexpr const char* kSearchGroup = "Search";

void AddSearchFlags(SearchFlags& flags, CLI::App& app) {
  auto* const flag =
      app.add_flag("--optimize", flags.optimize,
                   "Look for a plan with more nodes than the first one has; it never "
                   "has fewer (docs/better-plans.md)")
          ->check(values::Switch())
          ->group(kSearchGroup);
  app.add_option("--budget", flags.budget, "How long to look, the first plan included")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(kSearchGroup)
      ->needs(flag);
  app.add_option("--iterations", flags.iterations,
                 "Look for so many iterations instead, however long they take: the same plan "
                 "each time")
      ->check(values::WholeNumber(0, 1'000'000'000))
      ->type_name("N")
      ->group(kSearchGroup)
      ->needs(flag);
  auto* const goal =
      app.add_option(
             "--objective", flags.objective,
             "What the plan is to have most of: nodes, or cost: what its nodes cost an hour")
          ->check(values::Choice({"nodes", "cost"}))
          ->type_name("OBJECTIVE")
          ->capture_default_str()
          ->group(kSearchGroup)
          ->needs(flag);
  app.add_option("--move-cost", flags.move_cost,
                 "With --objective cost: what moving a pod costs, to be saved in an hour")
      ->check(values::Number(0, kHourlyMax))
      ->type_name("PRICE")
      ->capture_default_str()
      ->group(kSearchGroup)
      ->needs(goal);
  app.add_option("--max-evictions", flags.max_evictions,
                 "Look for the best plan that evicts at most so many pods")
      ->check(values::WholeNumber(0, 1'000'000'000))
      ->type_name("N")
      ->group(kSearchGroup)
      ->needs(flag);
  app.add_flag("--bound", flags.bound,
               "Tell how many nodes any plan removes at most, and how far this one is from that")
      ->check(values::Switch())
      ->group(kSearchGroup);
}

void AddTrialFlags(SearchFlags& flags, CLI::App& app) {
  app.add_option("--trials", flags.trials,
                 "Try the plan out so often in random orders, and as often in its own, with a "
                 "scheduler that does not know it: how many pods stay pending")
      ->check(values::WholeNumber(0, 10'000))
      ->type_name("N")
      ->group(kSearchGroup);
  app.add_option("--robust", flags.robust,
                 "Leave out nodes of the plan until pods stay pending in at most this share of "
                 "trials (20 of each kind, unless --trials says)")
      ->check(values::Number(0, 1))
      ->type_name("SHARE")
      ->group(kSearchGroup);
  app.add_option(
         "--nominated-share", flags.nominated_share,
         "In trials so many of the pods are nominated to their place in the plan before the "
         "scheduler looks at them")
      ->check(values::Number(0, 1))
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kSearchGroup);
}

}  // namespace

std::optional<SearchQuery> SearchFlags::Search() const {
  if (!optimize) return std::nullopt;
  return SearchQuery{.budget_s = std::chrono::duration<double>(*ParseDuration(budget)).count(),
                     .iterations = iterations,
                     .seed = seed,
                     .for_cost = ForCost(),
                     .move_cost = move_cost,
                     .max_evictions = max_evictions};
}

std::optional<TrialQuery> SearchFlags::TrialsAsked() const {
  if (Trials() == 0) return std::nullopt;
  return TrialQuery{
      .trials = Trials(), .seed = seed, .nominated_share = nominated_share, .robust = robust};
}

void SearchFlags::AddTo(CLI::App& app) {
  AddSearchFlags(*this, app);
  AddTrialFlags(*this, app);
  app.add_option("--seed", seed, "Of the search and of trials; another may find another plan")
      ->check(values::WholeNumber(0, std::numeric_limits<uint32_t>::max()))
      ->type_name("S")
      ->capture_default_str()
      ->group(kSearchGroup);
}

}  // namespace ebb
