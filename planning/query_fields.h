// The table of a question's fields: their names and ranges.
//
//   absl::Status status = CheckQuery(query);
//   if (!status.ok()) return status;  // "search.move_cost: -1 is not from 0 to 1000000"
//
// Messages are read and written by this table (session/wire_query.h), CheckQuery uses it,
// and flags take their ranges from it (cli/flags/query_flags.h).  It names every member of
// PlanQuery, SearchQuery and StableOptions: a new member does not compile until it has its row.
//
// These members have no row: the parts that callers read from files and settings, which messages
// carry in that form (planner, groups, order, prices), and the times, which start with the call
// (now_s, seconds, shares).  Trials have a table of their own, and no message has them.

#ifndef EBB_PLANNING_QUERY_FIELDS_H_
#define EBB_PLANNING_QUERY_FIELDS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "groups/prices.h"
#include "options/option_words.h"
#include "options/round_options.h"
#include "planning/plan_query.h"

namespace ebb {

// The allowed values of a number, both ends included.
template <typename Number>
struct FieldRange {
  Number min;
  Number max;
};

// For a search, in seconds.  The range for a call is smaller, since other calls wait for it.
inline constexpr FieldRange<double> kBudgetRange{0, kOptionSecondsMax};
inline constexpr FieldRange<double> kBudgetOfCallRange{0, 600};
inline constexpr FieldRange<uint64_t> kIterationsRange{0, kOptionCountMax};
inline constexpr FieldRange<uint64_t> kSeedRange{0, std::numeric_limits<uint32_t>::max()};
inline constexpr FieldRange<double> kMoveCostRange{0, kHourlyMax};
inline constexpr FieldRange<uint64_t> kEvictionsRange{0, kOptionCountMax};
inline constexpr FieldRange<uint64_t> kTrialsRange{1, 10'000};
inline constexpr FieldRange<double> kShareRange{0, 1};
inline constexpr FieldRange<int64_t> kParallelismRange{0, kOptionCountMax};
inline constexpr FieldRange<double> kMarginRange{0, 1000};
inline constexpr FieldRange<uint64_t> kEveryRange{0, kOptionCountMax};  // Counts plans.
// A share of workloads is above 0; this is the smallest one that a flag accepts.
inline constexpr double kLeastShareOfFlag = 0.0001;

inline constexpr Word<bool> kObjectiveWords[] = {{"nodes", false}, {"cost", true}};

template <typename T, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Struct>;

// --- The table ------------------------------------------------------------------------
//
// `fields` has a function for each kind of row:
//   Number(name, value, range)   also for an std::optional
//   Share(name, value)           more than 0, at most 1; 1 is no limit
//   OneOf(name, value, words)
//   Names(name, value)           for an std::optional list
//   Switch(name, value)
//   Part(name, value)            for an std::optional of a struct that has a table

template <MaybeConst<SearchQuery> Query, typename Fields>
void VisitFields(Query& search, Fields& fields) {
  auto& [budget_s, iterations, seed, for_cost, move_cost, max_evictions] = search;
  fields.Number("budget_seconds", budget_s, kBudgetRange);
  fields.Number("iterations", iterations, kIterationsRange);
  fields.Number("seed", seed, kSeedRange);
  fields.OneOf("objective", for_cost, kObjectiveWords);
  fields.Number("move_cost", move_cost, kMoveCostRange);
  fields.Number("max_evictions", max_evictions, kEvictionsRange);
}

template <MaybeConst<TrialQuery> Query, typename Fields>
void VisitFields(Query& trials, Fields& fields) {
  auto& [number, seed, nominated_share, robust] = trials;
  fields.Number("trials", number, kTrialsRange);
  fields.Number("seed", seed, kSeedRange);
  fields.Number("nominated_share", nominated_share, kShareRange);
  fields.Number("robust", robust, kShareRange);
}

template <MaybeConst<StableOptions> Query, typename Fields>
void VisitFields(Query& stable, Fields& fields) {
  auto& [margin, greedy_every, verify_every] = stable;
  fields.Number("margin", margin, kMarginRange);
  fields.Number("greedy_every", greedy_every, kEveryRange);
  fields.Number("verify_every", verify_every, kEveryRange);
}

template <MaybeConst<PlanQuery> Query, typename Fields>
void VisitFields(Query& query, Fields& fields) {
  auto& [planner, groups, now_s, order, candidates, new_nodes, max_scale_down_parallelism,
         max_workload_share, prices, search, trials, stable, bound, seconds, shares] = query;
  fields.Names("candidates", candidates);
  fields.Number("max_scale_down_parallelism", max_scale_down_parallelism, kParallelismRange);
  fields.Share("max_workload_share", max_workload_share);
  fields.Part("search", search);
  fields.Switch("bound", bound);
  fields.Part("trials", trials);
  fields.Part("stable", stable);
}

// --- Checks ---------------------------------------------------------------------------

// Errors: InvalidArgument, naming the first field that is out of its range or contradicts another
// field.  `prefix` goes before names of the table: "input.search.objective: COST needs
// input.prices".
absl::Status CheckQuery(const PlanQuery& query, std::string_view prefix = "");

// "input.search.budget_seconds: 601 is not from 0 to 600"
absl::Status CheckRange(std::string_view field, double value, const FieldRange<double>& range);

}  // namespace ebb

#endif  // EBB_PLANNING_QUERY_FIELDS_H_
