#include "planning/plan_answer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/plan/limits.h"
#include "planning/plan_search.h"
#include "planning/query_fields.h"
#include "platform/clock.h"
#include "report/plan_time.h"
#include "report/plan_warnings.h"
#include "search/search.h"
#include "simulation/eviction_trials.h"
#include "simulation/robust_plan.h"

namespace ebb {
namespace {

double SecondsBetween(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

std::optional<Deadlines> DeadlinesOf(const PlanQuery& query) {
  if (!query.seconds) return std::nullopt;
  const Clock::time_point now = Clock::now();
  return Deadlines(now + DurationOf(*query.seconds), query.shares, now);
}

// The request to the engine, without deadlines.  Fills `candidates` with the candidates of the
// query; the request borrows them and `pending`.
absl::StatusOr<PlanRequest> RequestOf(const PlanQuery& query, const Catalog& catalog,
                                      std::span<const PodId> pending,
                                      std::vector<NodeId>& candidates) {
  PlanRequest request;
  request.planner = query.planner;
  request.order = query.order;
  request.pass.now_s = query.now_s;
  request.pass.pending = pending;
  if (query.max_scale_down_parallelism) {
    request.pass.unneeded_limit = FirstPassLimit(*query.max_scale_down_parallelism);
  }
  request.pass.max_workload_share = query.max_workload_share;
  if (!query.candidates) return request;
  for (const std::string& name : *query.candidates) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (!node.ok()) {
      return absl::NotFoundError(absl::StrCat("candidates[", candidates.size(), "]: node ",
                                              Printable(name), " is not in the cluster"));
    }
    candidates.push_back(*node);
  }
  request.candidates = &candidates;
  return request;
}

// Also replaces the warnings about prices of an earlier question.
absl::StatusOr<std::optional<NodePrices>> PricesOf(const PlanQuery& query, LoadedCluster& cluster) {
  constexpr const char* kWithoutPrice = "NodesWithoutPrice";
  constexpr const char* kWithoutFactor = "RegionsWithoutFactor";
  std::erase_if(cluster.warnings, [&](const InputWarning& each) {
    return each.code == kWithoutPrice || each.code == kWithoutFactor;
  });
  if (!query.prices) return std::nullopt;
  const Catalog& catalog = cluster.snapshot.catalog();
  std::map<NodeId, double> known;
  for (const NewNode& each : query.new_nodes) {
    if (const auto node = catalog.FindNode(each.name); node.ok()) known[*node] = each.hourly;
  }
  absl::StatusOr<NodePrices> prices = PriceNodes(catalog, *query.prices, known);
  if (!prices.ok()) return prices.status();
  if (!prices->without.empty()) {
    cluster.warnings.push_back(
        {.code = kWithoutPrice,
         .message = absl::StrCat("no price is known for these kinds of nodes, which count as 0: ",
                                 TallyText(prices->without)),
         .command = "",
         .advice = "give them prices in a file: --prices FILE"});
  }
  if (!prices->regions_without_factor.empty()) {
    cluster.warnings.push_back(
        {.code = kWithoutFactor,
         .message = absl::StrCat("the prices have no factor for these regions, which count as 1: ",
                                 TallyText(prices->regions_without_factor)),
         .command = "",
         .advice = "give them factors in a file of prices (regions)"});
  }
  return std::optional(*std::move(prices));
}

PlanTrials::Figures FiguresOf(const std::vector<EvictionTrial>& trials, size_t evicted) {
  std::vector<size_t> pending;
  size_t as_planned = 0;
  for (const EvictionTrial& trial : trials) {
    pending.push_back(trial.pending);
    as_planned += trial.as_planned;
  }
  std::ranges::sort(pending);
  const size_t all = evicted * trials.size();
  return {.pending_median = pending[(pending.size() - 1) / 2],
          .pending_max = pending.back(),
          .as_planned = all == 0 ? 1 : static_cast<double>(as_planned) / static_cast<double>(all)};
}

// The steps of an answer.  Each step adds its result to the answer.
class Answering {
 public:
  Answering(const PlanQuery& query, LoadedCluster& cluster, const PlanHooks& hooks,
            const Parallelism& parallelism, StablePlanner* memory)
      : query_(query),
        cluster_(cluster),
        hooks_(hooks),
        parallelism_(parallelism),
        memory_(memory),
        answer_(std::make_unique<PlanAnswer>()) {}

  absl::StatusOr<std::unique_ptr<PlanAnswer>> Run() {
    deadlines_ = DeadlinesOf(query_);
    if (absl::Status s = CheckQuery(query_); !s.ok()) return s;
    if (absl::Status s = Begin(); !s.ok()) return s;
    if (absl::Status s = Find(); !s.ok()) return s;
    if (absl::Status s = TryOut(); !s.ok()) return s;
    Bound();
    PlanRequest& request = answer_->request;
    // Reports ask where the plan could have placed pods.  The bound is one of all plans.
    if (answer_->stable && answer_->stable->destinations) {
      request.pass.destinations = &*answer_->stable->destinations;
    }
    request.pass.deadline = nullptr;  // The answer outlives the deadlines and the callback.
    request.verification_ends = nullptr;
    request.on_passes_done = nullptr;
    WarnOfPlan(cluster_.snapshot, answer_->groups, request, answer_->made, cluster_.warnings);
    return std::move(answer_);
  }

 private:
  absl::Status Begin() {
    const Catalog& catalog = cluster_.snapshot.catalog();
    answer_->cluster = &cluster_;
    answer_->groups = AssignGroups(catalog, query_.groups);
    HideNewNodes(catalog, query_, answer_->groups);
    absl::StatusOr<std::optional<NodePrices>> prices = PricesOf(query_, cluster_);
    if (!prices.ok()) return prices.status();
    answer_->prices = *std::move(prices);
    absl::StatusOr<PlanRequest> request =
        RequestOf(query_, catalog, cluster_.pending, answer_->candidates);
    if (!request.ok()) return request.status();
    answer_->request = *std::move(request);
    answer_->deletions.emplace(cluster_.snapshot, cluster_.pending, answer_->request);
    return absl::OkStatus();
  }

  [[nodiscard]] PlanTask Task() const {
    return {.groups = answer_->groups,
            .request = answer_->request,
            .prices = answer_->prices ? &*answer_->prices : nullptr};
  }

  absl::Status Find() {
    PlanRequest& request = answer_->request;
    if (deadlines_) {
      request.pass.deadline = &deadlines_->passes_end;
      request.verification_ends = &deadlines_->verification_ends;
    }
    const Clock::time_point start = Clock::now();
    Clock::time_point passes_end = start;
    request.on_passes_done = [&] { passes_end = Clock::now(); };
    absl::Status found = query_.search   ? Search(*query_.search)
                         : query_.stable ? Keep(*query_.stable)
                                         : MakeGreedy();
    answer_->pass_s = SecondsBetween(start, passes_end);
    answer_->verify_s = SecondsSince(passes_end);
    return found;
  }

  absl::Status MakeGreedy() {
    absl::StatusOr<PlanResult> made =
        MakePlan(cluster_.snapshot, answer_->groups, answer_->request);
    if (!made.ok()) return made.status();
    answer_->made = *std::move(made);
    return absl::OkStatus();
  }

  // Repairs the last plan.
  absl::Status Keep(const StableOptions& stable) {
    StablePlanner fresh;
    StablePlanner& planner = memory_ != nullptr ? *memory_ : fresh;
    planner.SetOptions(stable);
    PlanRequest request = answer_->request;
    request.verify = false;  // The planner verifies as often as its options say.
    absl::StatusOr<StablePlan> plan = planner.Make(cluster_.snapshot, answer_->groups, request);
    if (!plan.ok()) return plan.status();
    answer_->made = *plan->made;
    answer_->stable = *std::move(plan);
    return absl::OkStatus();
  }

  absl::Status Search(const SearchQuery& search) {
    const FirstDeadline ends(answer_->request.pass.deadline, hooks_.cancelled);
    absl::StatusOr<FoundPlan> found =
        SearchPlan(cluster_, Task(), search, {.cancelled = &ends, .on_better = hooks_.on_better},
                   parallelism_);
    if (!found.ok()) return found.status();
    answer_->made = std::move(found->made);
    answer_->search = found->search;
    const bool is_cancelled = hooks_.cancelled != nullptr && hooks_.cancelled->Expired();
    if (found->search.ended == SearchStop::kInterrupted && !is_cancelled) {
      answer_->search->ended = SearchStop::kTimeLimit;
    }
    answer_->bound = found->bound;
    return absl::OkStatus();
  }

  // Runs the trials.  With `robust` it shortens the plan first.
  absl::Status TryOut() {
    if (!query_.trials) return absl::OkStatus();
    Say(PlanStep::kTrials);
    const FirstDeadline ends(answer_->request.verification_ends, hooks_.cancelled);
    const EvictionTrialOptions options{.trials = query_.trials->trials,
                                       .seed = query_.trials->seed,
                                       .nominated_share = query_.trials->nominated_share,
                                       .deadline = &ends};
    ClusterSnapshot& snapshot = cluster_.snapshot;
    if (query_.trials->robust) {
      absl::StatusOr<PlanResult> robust =
          MakeRobust(snapshot, answer_->groups, answer_->request, answer_->made,
                     *query_.trials->robust, options, parallelism_);
      if (!robust.ok()) return robust.status();
      answer_->made = *std::move(robust);
    }
    const EvictionTrials trials =
        RunEvictionTrials(snapshot, answer_->made.plan, options, parallelism_);
    if (trials.random_order.empty()) return absl::OkStatus();  // There was no time for one.
    answer_->trials = PlanTrials{.trials = trials.random_order.size(),
                                 .evicted = trials.evicted,
                                 .random_order = FiguresOf(trials.random_order, trials.evicted),
                                 .plan_order = FiguresOf(trials.plan_order, trials.evicted)};
    return absl::OkStatus();
  }

  void Bound() {
    if (!query_.bound) return;
    Say(PlanStep::kBound);
    const FirstDeadline ends(deadlines_ ? &deadlines_->bound_ends : nullptr, hooks_.cancelled);
    answer_->bound = BoundPlan(cluster_, Task(), query_.search.value_or(SearchQuery()), &ends);
  }

  void Say(PlanStep step) const {
    if (hooks_.on_step) hooks_.on_step(step);
  }

  const PlanQuery& query_;
  LoadedCluster& cluster_;
  const PlanHooks& hooks_;
  const Parallelism& parallelism_;
  StablePlanner* const memory_;  // Null: there is no last plan.
  std::unique_ptr<PlanAnswer> answer_;
  std::optional<Deadlines> deadlines_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PlanAnswer>> AnswerPlan(const PlanQuery& query,
                                                       LoadedCluster& cluster,
                                                       const PlanHooks& hooks,
                                                       const Parallelism& parallelism,
                                                       StablePlanner* memory) {
  return Answering(query, cluster, hooks, parallelism, memory).Run();
}

namespace {

absl::StatusOr<PlanResult> Try(const PlanQuery& query, const NodeGroups& groups,
                               ClusterSnapshot& snapshot, std::span<const PodId> pending,
                               bool verify) {
  std::vector<NodeId> candidates;
  absl::StatusOr<PlanRequest> request = RequestOf(query, snapshot.catalog(), pending, candidates);
  if (!request.ok()) return request.status();
  request->verify = verify;
  return MakePlan(snapshot, groups, *request);
}

}  // namespace

absl::StatusOr<PlanResult> TryPlan(const PlanQuery& query, const NodeGroups& groups,
                                   ClusterSnapshot& snapshot, std::span<const PodId> pending) {
  return Try(query, groups, snapshot, pending, /*verify=*/true);
}

absl::StatusOr<PlanResult> TryPlanUnverified(const PlanQuery& query, const NodeGroups& groups,
                                             ClusterSnapshot& snapshot,
                                             std::span<const PodId> pending) {
  return Try(query, groups, snapshot, pending, /*verify=*/false);
}

absl::StatusOr<PlanResult> TrySearch(const PlanQuery& query, const NodeGroups& groups,
                                     ClusterSnapshot& snapshot, std::span<const PodId> pending,
                                     std::span<const int64_t> worth, const Parallelism& parallelism,
                                     DeletionsInSnapshot deletions, SearchEffort effort) {
  std::vector<NodeId> candidates;
  absl::StatusOr<PlanRequest> request = RequestOf(query, snapshot.catalog(), pending, candidates);
  if (!request.ok()) return request.status();
  request->deletions = deletions;
  request->verify = false;
  const SearchQuery search = query.search.value_or(SearchQuery());
  SearchOptions options{.seed = search.seed,
                        .worth = worth,
                        .quick = effort == SearchEffort::kQuick,
                        .on_better = nullptr};
  if (search.iterations) options.iterations = *search.iterations;
  std::optional<ClockDeadline> limit;
  if (query.seconds) {
    options.deadline = &limit.emplace(Clock::now() + DurationOf(*query.seconds));
  }
  absl::StatusOr<SearchResult> found =
      OptimizePlan(snapshot, groups, *request, options, parallelism);
  if (!found.ok()) return found.status();
  return std::move(found->best);
}

absl::StatusOr<RemovalBound> TryBound(const PlanQuery& query, const NodeGroups& groups,
                                      const ClusterSnapshot& snapshot,
                                      std::span<const PodId> pending,
                                      std::span<const int64_t> worth,
                                      std::span<const BoundOffer> offers) {
  std::vector<NodeId> candidates;
  absl::StatusOr<PlanRequest> request = RequestOf(query, snapshot.catalog(), pending, candidates);
  if (!request.ok()) return request.status();
  request->deletions = DeletionsInSnapshot::kPlanBeside;
  return BoundRemovals(snapshot, groups, *request, worth, nullptr, offers);
}

absl::StatusOr<FrontierAnswer> AnswerFrontier(const PlanQuery& query, LoadedCluster& cluster,
                                              const PlanHooks& hooks,
                                              const Parallelism& parallelism,
                                              const OnFrontierPoints& on_points) {
  if (!query.planner.headroom.empty()) {
    return absl::InvalidArgumentError("headroom: a frontier does not keep any");
  }
  if (query.planner.drain.gangs == Gangs::kMove) {
    return absl::InvalidArgumentError("gangs: move: a frontier does not move gangs whole");
  }
  const Catalog& catalog = cluster.snapshot.catalog();
  const NodeGroups groups = AssignGroups(catalog, query.groups);
  absl::StatusOr<std::optional<NodePrices>> prices = PricesOf(query, cluster);
  if (!prices.ok()) return prices.status();
  const std::vector<double> hourly =
      *prices ? (*prices)->hourly : std::vector<double>(catalog.nodes(), 1);
  std::vector<NodeId> candidates;
  absl::StatusOr<PlanRequest> request = RequestOf(query, catalog, cluster.pending, candidates);
  if (!request.ok()) return request.status();
  const DeletionsUnderWay deletions(cluster.snapshot, cluster.pending, *request);

  const SearchQuery search = query.search.value_or(SearchQuery());
  SearchOptions options;
  options.seed = search.seed;
  if (search.iterations) options.iterations = *search.iterations;
  const ClockDeadlines budget(Clock::now(), DurationOf(search.budget_s), kFrontierSearches);
  std::optional<ClockDeadline> limit;
  if (query.seconds) limit.emplace(Clock::now() + DurationOf(*query.seconds));
  const FirstDeadline ends(limit ? &*limit : nullptr, hooks.cancelled);
  std::vector<FirstDeadline> firsts;
  std::vector<const Deadline*> each_end;
  for (const Deadline* const each : budget.Each()) firsts.emplace_back(each, &ends);
  for (const FirstDeadline& each : firsts) each_end.push_back(&each);
  absl::StatusOr<Frontier> frontier = FindFrontier(cluster.snapshot, groups, *request, hourly,
                                                   options, parallelism, each_end, on_points);
  if (!frontier.ok()) return frontier.status();
  return FrontierAnswer{.frontier = *std::move(frontier), .prices = *std::move(prices)};
}

void HideNewNodes(const Catalog& catalog, const PlanQuery& query, NodeGroups& groups) {
  for (const NewNode& each : query.new_nodes) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(each.name);
    if (!node.ok() || groups.Of(*node) == kNoGroup) continue;
    NodeGroup& group = groups.groups[static_cast<size_t>(groups.Of(*node))];
    const GroupRule* const rule = FindRule(query.groups, group.name);
    if (rule == nullptr || !rule->has_target_size) --group.target_size;
    groups.group_of[Index(*node)] = kNoGroup;
    groups.no_group_reason.resize(groups.group_of.size(), NoGroupReason::kUnknown);
    groups.no_group_reason[Index(*node)] = NoGroupReason::kExcluded;
  }
}

absl::StatusOr<int64_t> CheckBeforePlan(const GroupRules& rules,
                                        std::span<const InputWarning> others,
                                        std::optional<int64_t> now_s, int64_t clock_s,
                                        LoadedCluster& cluster) {
  const Catalog& catalog = cluster.snapshot.catalog();
  if (absl::Status s = CheckMinimums(catalog, rules); !s.ok()) return s;
  AddGroupWarnings(catalog, rules, cluster.warnings);
  cluster.warnings.insert(cluster.warnings.end(), others.begin(), others.end());
  const PlanTime time =
      now_s ? PlanTime{.now_s = *now_s} : TimeToPlanFor(clock_s, cluster.newest_time);
  if (time.warning) cluster.warnings.push_back(*time.warning);
  if (auto warning = WarningOfAge(time.now_s, cluster)) cluster.warnings.push_back(*warning);
  return time.now_s;
}

}  // namespace ebb
