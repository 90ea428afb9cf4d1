#include "engine/verify/slow_node_pools.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/text.h"

namespace ebb {
namespace {

constexpr int64_t kMany = std::numeric_limits<int64_t>::max();

std::optional<int64_t> NumberIn(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> WordsOf(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words = SplitAtAny(text, separators);
  std::erase(words, "");
  return words;
}

// --- Cron, by asking for a minute at a time

struct CronRange {
  int64_t min;
  int64_t max;
  std::vector<std::string_view> names;
};

// The number that the text stands for; nullopt: none.
std::optional<int64_t> CronValue(std::string_view text, const CronRange& range) {
  for (size_t n = 0; n < range.names.size(); ++n) {
    const bool same = std::ranges::equal(text, range.names[n], [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
    if (same) return range.min + static_cast<int64_t>(n);
  }
  const std::optional<int64_t> number = NumberIn(text);
  return number && *number >= 0 ? number : std::nullopt;
}

struct CronMatch {
  bool understood = true;
  bool matches = false;
  bool star = false;
};

CronMatch MatchField(std::string_view text, const CronRange& range, int64_t value) {
  CronMatch match;
  for (const std::string_view part : WordsOf(text, ",")) {
    const std::vector<std::string_view> halves = SplitAtAny(part, "/");
    const std::vector<std::string_view> ends = SplitAtAny(halves[0], "-");
    const bool any = ends[0] == "*" || ends[0] == "?";
    const std::optional<int64_t> from = any ? range.min : CronValue(ends[0], range);
    std::optional<int64_t> to = any ? range.max : from;
    if (!any && ends.size() == 2) to = CronValue(ends[1], range);
    if (ends.size() == 1 && halves.size() == 2) to = range.max;
    const std::optional<int64_t> step =
        halves.size() == 2 ? CronValue(halves[1], {0, 0, {}}) : std::optional<int64_t>(1);
    if (halves.size() > 2 || (!any && ends.size() > 2) || !from || !to || !step || *step < 1 ||
        *from < range.min || *to > range.max || *from > *to) {
      return {.understood = false};
    }
    match.star |= any && *step == 1;
    match.matches |= value >= *from && value <= *to && (value - *from) % *step == 0;
  }
  return match;
}

struct Due {
  bool on_day = false;
  bool at_minute = false;  // On the day as well.
};

// Whether the five fields name the minute that begins at `at_s`; nullopt: they are not understood.
std::optional<Due> DueAt(const std::vector<std::string_view>& fields, int64_t at_s) {
  using std::chrono::floor;
  const std::chrono::sys_seconds time{std::chrono::seconds(at_s)};
  const std::chrono::sys_days day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  static const CronRange kMonths = {
      1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}};
  static const CronRange kWeekdays = {0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}};
  const CronMatch minute = MatchField(fields[0], {0, 59, {}}, clock.minutes().count());
  const CronMatch hour = MatchField(fields[1], {0, 23, {}}, clock.hours().count());
  const CronMatch in_month = MatchField(fields[2], {1, 31, {}}, static_cast<unsigned>(date.day()));
  const CronMatch month = MatchField(fields[3], kMonths, static_cast<unsigned>(date.month()));
  const CronMatch in_week =
      MatchField(fields[4], kWeekdays, std::chrono::weekday(day).c_encoding());
  for (const CronMatch& match : {minute, hour, in_month, month, in_week}) {
    if (!match.understood) return std::nullopt;
  }
  const bool both = in_month.star || in_week.star;
  const bool on_day =
      both ? in_month.matches && in_week.matches : in_month.matches || in_week.matches;
  return Due{.on_day = month.matches && on_day,
             .at_minute = minute.matches && hour.matches && month.matches && on_day};
}

// The last year in which Karpenter looks for a due time after `from_s`.
int LastYearFrom(int64_t from_s) {
  const std::chrono::sys_seconds from{std::chrono::seconds(from_s)};
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(from));
  return static_cast<int>(date.year()) + 5;
}

// Whether something is due after `after_s` and until the end of the year.
bool IsDueWithin(const std::vector<std::string_view>& fields, int64_t after_s, int last_year) {
  using std::chrono::days;
  using std::chrono::sys_days;
  sys_days day = std::chrono::floor<days>(std::chrono::sys_seconds(std::chrono::seconds(after_s)));
  const auto start_s = [&] { return int64_t{day.time_since_epoch().count()} * 86400; };
  for (int64_t at_s = start_s(); at_s < start_s() + 86400; at_s += 60) {
    if (at_s > after_s && DueAt(fields, at_s)->at_minute) return true;
  }
  // Each minute field names some minute, so a due day has a due minute.
  for (day += days(1); static_cast<int>(std::chrono::year_month_day(day).year()) <= last_year;
       day += days(1)) {
    if (DueAt(fields, start_s())->on_day) return true;
  }
  return false;
}

// Whether the budget is open; nullopt: it is not understood.  A schedule that is never due is
// always open: Karpenter gets the zero time, which lies before now.
std::optional<bool> IsOpenAt(const KarpenterObjects::Budget& budget, int64_t now_s) {
  if (!budget.schedule && !budget.duration) return true;
  const auto duration = ParseDuration(budget.duration.value_or("0s"));
  if (!duration) return std::nullopt;
  const int64_t open_s = std::chrono::ceil<std::chrono::seconds>(*duration).count();
  std::string schedule = budget.schedule.value_or("");
  static constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
      {"@weekly", "0 0 * * 0"},  {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"}};
  std::vector<std::string_view> fields = WordsOf(schedule, " \t\n\r\f\v");
  if (fields.size() == 2 && fields[0] == "@every") {
    const auto every = ParseDuration(fields[1]);
    if (!every) return std::nullopt;
    const int64_t every_s = std::chrono::floor<std::chrono::seconds>(*every).count();
    return std::max<int64_t>(every_s, 1) <= open_s;
  }
  for (const auto& [word, meaning] : kShort) {
    if (fields.size() == 1 && fields[0] == word) fields = WordsOf(meaning, " ");
  }
  if (fields.size() != 5) return std::nullopt;
  // The expression is judged as a whole, also if no minute of the window is asked for.
  if (!DueAt(fields, 0)) return std::nullopt;
  const auto behind = [](int64_t at_s, int64_t unit_s) {
    return ((at_s % unit_s) + unit_s) % unit_s;
  };
  constexpr int64_t kDayS = 86400;
  constexpr int64_t kLongestS = 8 * (366 * kDayS);
  // Whatever is ever due is due within eight years: a 29 February, between two years that have
  // none.
  const int64_t first_s = now_s - std::min(open_s, kLongestS);
  int64_t at_s = now_s - behind(now_s, 60);
  while (at_s > first_s) {
    const Due due = *DueAt(fields, at_s);
    if (due.at_minute) return true;
    // If nothing is due on the day, go to the last minute of the day before.
    at_s -= due.on_day ? 60 : behind(at_s, kDayS) + 60;
  }
  return !IsDueWithin(fields, now_s, LastYearFrom(now_s - open_s));
}

}  // namespace

SlowNodePools::SlowNodePools(const Catalog& catalog, const NodeGroups& groups,
                             std::span<const NodeId> in_deletion, int64_t now_s)
    : catalog_(&catalog), now_s_(now_s), ebb_consolidates_(groups.ebb_consolidates) {
  if (!groups.SomeFollowKarpenter()) return;
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (!catalog.IsThere(node) || PoolOf(node) == nullptr || !IsSetUp(node)) continue;
    const KarpenterObjects::Claim* const claim = ClaimOf(node);
    if (claim == nullptr && catalog.storage().karpenter().HasClaims()) continue;
    if (claim != nullptr && claim->terminating) continue;
    const std::string pool(LabelOf(node));
    ++nodes_[pool];
    const NodeInfo& info = catalog.node(node);
    constexpr int64_t kTaintS = 300;
    const bool is_going =
        !info.kubelet_ready || info.leaving != NodeLeaving::kNo ||
        (info.to_be_deleted && now_s - *info.to_be_deleted < kTaintS) ||
        catalog.storage().dying_machines().Of(info.name, info.provider_id) != nullptr ||
        std::ranges::find(in_deletion, node) != in_deletion.end();
    if (is_going) ++going_[pool];
  }
}

std::string_view SlowNodePools::LabelOf(NodeId node) const {
  std::string_view pool;
  for (const auto& [key, value] : catalog_->node(node).labels) {
    if (catalog_->Text(key) == "karpenter.sh/nodepool") pool = catalog_->Text(value);
  }
  return pool;
}

const KarpenterObjects::Pool* SlowNodePools::PoolOf(NodeId node) const {
  return catalog_->storage().karpenter().FindPool(LabelOf(node));
}

const KarpenterObjects::Claim* SlowNodePools::ClaimOf(NodeId node) const {
  const NodeInfo& info = catalog_->node(node);
  return catalog_->storage().karpenter().FindClaim(info.name, info.provider_id);
}

bool SlowNodePools::IsSetUp(NodeId node) const {
  const NodeSetup setup = catalog_->node(node).setup;
  if (setup == NodeSetup::kNotKarpenters) return true;
  if (setup != NodeSetup::kUnlabelled) return setup == NodeSetup::kInitialized;
  const KarpenterObjects::Claim* const claim = ClaimOf(node);
  return claim == nullptr || !claim->has_conditions;
}

std::string SlowNodePools::WhyNotDisrupted(NodeId node) const {
  const KarpenterObjects& objects = catalog_->storage().karpenter();
  const KarpenterObjects::Claim* const claim = ClaimOf(node);
  if (LabelOf(node).empty() || (claim == nullptr && objects.HasClaims())) {
    return "is not managed by Karpenter";
  }
  const NodeInfo& info = catalog_->node(node);
  if (objects.HasSeveralClaims(info.name, info.provider_id)) return "has several NodeClaims";
  if (!IsSetUp(node)) return "is not initialized";
  if (catalog_->node(node).do_not_disrupt) return "is annotated to stay";
  if (objects.HasPools() && PoolOf(node) == nullptr) return "has no NodePool";
  return "";
}

bool SlowNodePools::IsClosed(NodeId node) const {
  return !IsSetUp(node) || (!ebb_consolidates_ && IsUnderConsolidateAfter(node));
}

bool SlowNodePools::IsUnderConsolidateAfter(NodeId node) const {
  const KarpenterObjects::Pool* const pool = PoolOf(node);
  const KarpenterObjects::Claim* const claim = ClaimOf(node);
  if (pool == nullptr || claim == nullptr || !claim->last_pod_event) return false;
  const auto after =
      ParseDuration(pool->consolidate_after.empty() ? "0s" : pool->consolidate_after);
  // In seconds, as a time far away has too many nanoseconds.
  return after &&
         now_s_ - *claim->last_pod_event < std::chrono::ceil<std::chrono::seconds>(*after).count();
}

int64_t SlowNodePools::Allowed(const KarpenterObjects::Pool& pool, std::string_view reason) const {
  const auto [it, is_new] = allowed_.try_emplace({pool.name, std::string(reason)}, 0);
  if (is_new) it->second = CountAllowed(pool, reason);
  return it->second;
}

int64_t SlowNodePools::CountAllowed(const KarpenterObjects::Pool& pool,
                                    std::string_view reason) const {
  const auto nodes = nodes_.find(pool.name);
  const int64_t all = nodes == nodes_.end() ? 0 : nodes->second;
  int64_t least = kMany;
  for (const KarpenterObjects::Budget& budget : pool.budgets) {
    const std::optional<bool> open = IsOpenAt(budget, now_s_);
    if (!open) return 0;
    if (!*open) continue;
    std::string_view text = budget.nodes;
    const bool percent = text.ends_with('%');
    if (percent) text.remove_suffix(1);
    const std::optional<int64_t> number = NumberIn(text);
    if (!number) return 0;
    const __int128 product = static_cast<__int128>(*number) * all;
    const __int128 share = product <= 0 ? product / 100 : (product + 99) / 100;
    const __int128 most = percent ? share : static_cast<int32_t>(*number);
    if (!budget.reasons || std::ranges::find(*budget.reasons, reason) != budget.reasons->end()) {
      least = static_cast<int64_t>(std::min<__int128>(least, most));
    }
  }
  return least;
}

std::string SlowNodePools::WhyKept(NodeId node, bool is_empty) const {
  const KarpenterObjects::Claim* const claim = ClaimOf(node);
  if (!ebb_consolidates_) {
    if (claim != nullptr && claim->has_conditions && !claim->consolidatable) {
      return "is not consolidatable";
    }
    if (IsUnderConsolidateAfter(node)) return "is under consolidateAfter";
  }
  const KarpenterObjects::Pool* const pool = PoolOf(node);
  if (pool == nullptr) return "";
  if (!pool->not_understood.empty()) return "is of a NodePool that is not understood";
  if (pool->is_static) return "is of a static NodePool";
  if (ebb_consolidates_) {
    if (pool->policy != "WhenEmpty" && pool->consolidate_after != "Never") {
      return "is consolidated by Karpenter";
    }
  } else if (!pool->consolidate_after.empty() && !ParseDuration(pool->consolidate_after)) {
    return "is never consolidated";
  }
  const bool by_default = pool->policy.empty() || pool->policy == "WhenEmptyOrUnderutilized";
  if (!ebb_consolidates_ && !is_empty && !by_default) return "is not empty";
  const auto count = [&](const auto& counts) {
    const auto it = counts.find(pool->name);
    return it == counts.end() ? int64_t{0} : it->second;
  };
  const int64_t used = count(going_) + count(removed_);
  if (used >= Allowed(*pool, is_empty ? "Empty" : "Underutilized")) {
    return "goes beyond the budgets of its NodePool";
  }
  return "";
}

}  // namespace ebb
