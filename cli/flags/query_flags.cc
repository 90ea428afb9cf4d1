#include "cli/flags/query_flags.h"

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/check.h"
#include "base/duration.h"
#include "cli/flags/flag_values.h"

namespace ebb {
namespace {

constexpr const char* kQuestionGroup = "Search";

CLI::Validator NumberIn(const FieldRange<double>& range) {
  return values::Number(range.min, range.max);
}

void AddSearchFlags(QueryFlags& flags, CLI::App& app) {
  app.add_flag("--optimize", flags.optimize,
               "Look for a plan with more nodes than the first one has; it never "
               "has fewer (docs/better-plans.md)")
      ->check(values::Switch())
      ->group(kQuestionGroup);
  app.add_option("--budget", flags.budget, "How long to look, the first plan included")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(kQuestionGroup);
  app.add_option("--iterations", flags.search.iterations,
                 "Look for so many iterations instead, however long they take: the same plan "
                 "each time")
      ->check(WholeNumberIn(kIterationsRange))
      ->type_name("N")
      ->group(kQuestionGroup);
  app.add_option(
         "--objective", flags.objective,
         "What the search maximises: nodes (how many go) or cost (what these nodes cost an hour)")
      ->check(values::Choice(TextsOf(kObjectiveWords)))
      ->type_name("OBJECTIVE")
      ->capture_default_str()
      ->group(kQuestionGroup);
  app.add_option(
         "--move-cost", flags.search.move_cost,
         "With --objective cost or --replace: what moving a pod costs, to be saved in an hour")
      ->check(NumberIn(kMoveCostRange))
      ->type_name("PRICE")
      ->capture_default_str()
      ->group(kQuestionGroup);
  app.add_option("--max-evictions", flags.search.max_evictions,
                 "Look for the best plan that evicts at most so many pods")
      ->check(WholeNumberIn(kEvictionsRange))
      ->type_name("N")
      ->group(kQuestionGroup);
  app.add_flag("--bound", flags.query.bound,
               "Print an upper bound on the nodes that any plan removes, and this plan's distance "
               "from it")
      ->check(values::Switch())
      ->group(kQuestionGroup);
}

void AddTrialFlags(QueryFlags& flags, CLI::App& app) {
  app.add_option(
         "--trials", flags.trials,
         "Run this many trials of the plan in random orders, and as many in its own order, with a "
         "scheduler that does not know the plan, and count the pods that stay pending")
      ->check(values::WholeNumber(0, static_cast<int64_t>(kTrialsRange.max)))
      ->type_name("N")
      ->group(kQuestionGroup);
  app.add_option("--robust", flags.trial.robust,
                 "Leave out nodes of the plan until pods stay pending in at most this share of "
                 "trials (20 of each kind, unless --trials says)")
      ->check(NumberIn(kShareRange))
      ->type_name("SHARE")
      ->group(kQuestionGroup);
  app.add_option("--nominated-share", flags.trial.nominated_share,
                 "In trials this share of the pods is nominated to its node in the plan before the "
                 "scheduler places them")
      ->check(NumberIn(kShareRange))
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(kQuestionGroup);
}

void AddStableFlags(QueryFlags& flags, CLI::App& app) {
  const char* const group = "Stable plans";
  app.add_flag("--stable", flags.keeps,
               "Keep the last plan, and change only what no longer holds; for --watch-file and "
               "--server (docs/live.md)")
      ->check(values::Switch())
      ->group(group);
  app.add_option("--stable-margin", flags.stable.margin,
                 "Replace the kept plan if the plan in the autoscaler's order removes more than "
                 "this share more nodes")
      ->check(NumberIn(kMarginRange))
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(group);
  app.add_option("--stable-greedy-every", flags.stable.greedy_every,
                 "Make the plan in the autoscaler's order too, each so many plans; 0: never")
      ->check(WholeNumberIn(kEveryRange))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--stable-verify-every", flags.stable.verify_every,
                 "Verify the plan whole, each so many plans; 0: never. With -o name each plan is "
                 "verified")
      ->check(WholeNumberIn(kEveryRange))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

std::optional<SearchQuery> QueryFlags::Search() const {
  if (!optimize) return std::nullopt;
  EBB_DCHECK(ParseDuration(budget).has_value());
  SearchQuery asked = search;
  asked.budget_s = std::chrono::duration<double>(*ParseDuration(budget)).count();
  asked.for_cost = ForCost();
  return asked;
}

std::optional<TrialQuery> QueryFlags::Trials() const {
  if (trials == 0 && !trial.robust) return std::nullopt;
  TrialQuery asked = trial;
  if (trials > 0) asked.trials = trials;
  asked.seed = search.seed;
  return asked;
}

PlanQuery QueryFlags::Query() const {
  PlanQuery asked = query;
  asked.search = Search();
  asked.trials = Trials();
  if (keeps) asked.stable = stable;
  return asked;
}

void QueryFlags::AddTo(CLI::App& app) {
  AddSearchFlags(*this, app);
  AddTrialFlags(*this, app);
  AddStableFlags(*this, app);
  AddSeedFlag(search.seed, "Seed of the search and of trials; another seed may find another plan",
              app);
}

void QueryFlags::AddLimitsTo(CLI::App& app) {
  app.add_option(
         "--max-workload-share", query.max_workload_share,
         "Evict at most this share of the pods of a workload, rounded up (default: no limit)")
      ->check(values::Number(kLeastShareOfFlag, kShareRange.max))
      ->type_name("SHARE")
      ->group("Pass");
}

void AddPriceFlags(std::vector<std::string>& prices, std::vector<std::string>& rules,
                   const std::string& group, CLI::App& app) {
  app.add_option(
         "--prices", prices,
         "What nodes cost an hour: a file of YAML or CSV, or builtin for the approximate list "
         "prices that ebb knows; give it twice for a file over these (docs/prices.md)")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--price-rule", rules,
                 "spot=0.35: spot nodes cost this part of the price on demand; discount=0.2: other "
                 "nodes cost this part less. Over the file's rules; may be given often")
      ->check(values::PriceRule())
      ->type_name("RULE")
      ->allow_extra_args(false)
      ->group(group);
}

PriceRules ParsePriceRules(const std::vector<std::string>& rules) {
  PriceRules parsed;
  for (const std::string& rule : rules) ReadPriceRule(rule, parsed);
  return parsed;
}

CLI::Validator WholeNumberIn(const FieldRange<uint64_t>& range) {
  return values::WholeNumber(static_cast<int64_t>(range.min), static_cast<int64_t>(range.max));
}

void AddSeedFlag(uint64_t& seed, const char* help, CLI::App& app) {
  app.add_option("--seed", seed, help)
      ->check(WholeNumberIn(kSeedRange))
      ->type_name("S")
      ->capture_default_str()
      ->group(kQuestionGroup);
}

}  // namespace ebb
