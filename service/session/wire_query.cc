#include "service/session/wire_query.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/time_range.h"
#include "service/prices.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

absl::StatusOr<SearchQuery> SearchOf(const wire::Search& search, bool has_prices) {
  constexpr double kBudgetMaxS = 600;
  SearchQuery query;
  if (search.has_budget_seconds()) query.budget_s = search.budget_seconds();
  if (!(query.budget_s >= 0 && query.budget_s <= kBudgetMaxS)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input.search.budget_seconds: is not from 0 to ", kBudgetMaxS));
  }
  if (search.has_iterations()) query.iterations = search.iterations();
  if (search.has_seed()) query.seed = search.seed();
  if (!wire::Search::Objective_IsValid(search.objective())) {
    return absl::InvalidArgumentError(
        absl::StrCat("input.search.objective: there is no ", static_cast<int>(search.objective())));
  }
  query.for_cost = search.objective() == wire::Search::COST;
  query.move_cost = search.move_cost();
  if (!(query.move_cost >= 0 && query.move_cost <= kHourlyMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input.search.move_cost: is not from 0 to ", kHourlyMax));
  }
  if (query.move_cost > 0 && !query.for_cost) {
    return absl::InvalidArgumentError("input.search.move_cost: is for the objective COST");
  }
  if (query.for_cost && !has_prices) {
    return absl::InvalidArgumentError("input.search.objective: COST needs input.prices");
  }
  if (search.has_max_evictions()) query.max_evictions = search.max_evictions();
  return query;
}

absl::StatusOr<TrialQuery> TrialsOf(const wire::Trials& trials) {
  constexpr uint32_t kTrialsMax = 10'000;
  const auto is_share = [](double share) { return share >= 0 && share <= 1; };
  if (trials.trials() < 1 || trials.trials() > kTrialsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("input.trials.trials: is not from 1 to ", kTrialsMax));
  }
  if (!is_share(trials.nominated_share())) {
    return absl::InvalidArgumentError("input.trials.nominated_share: is not from 0 to 1");
  }
  TrialQuery query{.trials = trials.trials(),
                   .seed = trials.seed(),
                   .nominated_share = trials.nominated_share()};
  if (!trials.has_robust()) return query;
  if (!is_share(trials.robust())) {
    return absl::InvalidArgumentError("input.trials.robust: is not from 0 to 1");
  }
  query.robust = trials.robust();
  return query;
}

absl::Status ReadLimits(const wire::PlanInput& input, PlanQuery& query) {
  if (input.has_max_scale_down_parallelism()) {
    if (input.max_scale_down_parallelism() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input.max_scale_down_parallelism: ", input.max_scale_down_parallelism(),
                       " is less than 0"));
    }
    query.max_scale_down_parallelism = input.max_scale_down_parallelism();
  }
  if (input.has_max_workload_share()) {
    const double share = input.max_workload_share();
    if (!(share > 0 && share <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input.max_workload_share: ", share, " is not above 0 and at most 1"));
    }
    query.max_workload_share = share;
  }
  return absl::OkStatus();
}

absl::Status ReadPrices(const wire::PlanInput& input, PlanQuery& query) {
  if (input.prices().empty()) return absl::OkStatus();
  absl::StatusOr<PriceList> list = ParsePrices(
      input.prices_name().empty() ? "input.prices" : input.prices_name(), input.prices());
  if (!list.ok()) return list.status();
  query.prices = *std::move(list);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlanQuery> ReadQuery(const wire::PlanInput& input, const RoundOptions& options,
                                    const GroupRules& groups,
                                    std::optional<Clock::time_point> end) {
  PlanQuery query{.planner = options.scale_down.planner,
                  .groups = groups,
                  .order = options.candidate_order,
                  .shares = kTimeOfCall};
  if (absl::Status s = ReadLimits(input, query); !s.ok()) return s;
  if (absl::Status s = ReadPrices(input, query); !s.ok()) return s;
  if (absl::Status s = CheckNow(input); !s.ok()) return s;
  const absl::StatusOr<std::optional<Clock::time_point>> ends = EndOf(input, end);
  if (!ends.ok()) return ends.status();
  if (*ends) query.seconds = std::chrono::duration<double>(**ends - Clock::now()).count();
  query.bound = input.bound();
  if (input.has_trials()) {
    const absl::StatusOr<TrialQuery> trials = TrialsOf(input.trials());
    if (!trials.ok()) return trials.status();
    query.trials = *trials;
  }
  if (!input.has_search()) return query;
  const absl::StatusOr<SearchQuery> search = SearchOf(input.search(), query.prices.has_value());
  if (!search.ok()) return search.status();
  query.search = *search;
  query.bound |= input.search().bound();
  return query;
}

void PutQuery(const PlanQuery& query, wire::PlanInput& input) {
  if (query.max_scale_down_parallelism) {
    input.set_max_scale_down_parallelism(*query.max_scale_down_parallelism);
  }
  if (query.max_workload_share < 1) input.set_max_workload_share(query.max_workload_share);
  input.set_bound(query.bound);
  if (query.seconds) {
    // What is over has to be some time, as none would be no limit.
    input.set_time_limit_seconds(std::max(*query.seconds, 1e-9));
  }
  if (query.trials) {
    wire::Trials& trials = *input.mutable_trials();
    trials.set_trials(query.trials->trials);
    trials.set_seed(static_cast<uint32_t>(query.trials->seed));
    trials.set_nominated_share(query.trials->nominated_share);
    if (query.trials->robust) trials.set_robust(*query.trials->robust);
  }
  if (!query.search) return;
  wire::Search& search = *input.mutable_search();
  search.set_budget_seconds(query.search->budget_s);
  if (query.search->iterations) search.set_iterations(*query.search->iterations);
  search.set_seed(static_cast<uint32_t>(query.search->seed));
  search.set_objective(query.search->for_cost ? wire::Search::COST : wire::Search::NODES);
  search.set_move_cost(query.search->move_cost);
  if (query.search->max_evictions) search.set_max_evictions(*query.search->max_evictions);
  search.set_bound(query.bound);
}

absl::Status CheckNow(const wire::PlanInput& input) {
  if (!input.has_now() || IsTime(input.now())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input.now: ", input.now(), " is not a time of the years 1 to 9999"));
}

absl::StatusOr<std::optional<Clock::time_point>> EndOf(const wire::PlanInput& input,
                                                       std::optional<Clock::time_point> end) {
  if (!input.has_time_limit_seconds()) return end;
  const double limit = input.time_limit_seconds();
  if (!(limit > 0 && limit <= kOptionSecondsMax)) {
    return absl::InvalidArgumentError("input.time_limit_seconds: must be a time in the future");
  }
  const auto own = Clock::now() + DurationOf(limit);
  return end ? std::min(*end, own) : own;
}

absl::Status RefuseSearch(const wire::PlanInput& input, std::string_view call) {
  const auto refuse = [&](std::string_view field) {
    return absl::InvalidArgumentError(
        absl::StrCat("input.", Absl(field), ": ", Absl(call), " takes none"));
  };
  if (input.has_search()) return refuse("search");
  if (input.bound()) return refuse("bound");
  if (input.has_trials()) return refuse("trials");
  if (input.has_max_workload_share()) return refuse("max_workload_share");
  if (!input.prices().empty()) return refuse("prices");
  return absl::OkStatus();
}

}  // namespace ebb
