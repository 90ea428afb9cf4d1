#include "search/search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "engine/deletions_under_way.h"
#include "engine/plan/check_input.h"
#include "engine/verify/verify.h"
#include "search/bound.h"
#include "search/budget_search.h"
#include "search/packing.h"

namespace ebb {
namespace {

constexpr size_t kLanes = 4;  // Packings that are improved side by side.
constexpr uint64_t kStepsPerIteration = 200;
constexpr uint64_t kPutBackMax = 5;
constexpr uint64_t kOthersTried = 8;  // Beside those that were put back.
// A unit that is to be tried later takes pods only where nothing else does.
constexpr double kLater = 1e6;

// In which order units are removed at first, the lowest key first: by what a removal costs, which
// is the room of the node, whether it is used or not; by its pods; by what they request.  One more
// packing, the first, begins with what the relaxed problem would take (RemovalBound::surplus), and
// the last with what budgets admit (budget_search.h), where they keep anything.
using UnitKey = double (*)(const PackingUnit&);
constexpr std::array<UnitKey, kLanes - 1> kFirstOrders = {
    [](const PackingUnit& unit) { return unit.size; },
    [](const PackingUnit& unit) { return static_cast<double>(unit.pods); },
    [](const PackingUnit& unit) { return unit.load; },
};

std::vector<double> KeysOf(const PackingProblem& problem, UnitKey key) {
  std::vector<double> keys;
  for (const PackingUnit& unit : problem.units) {
    keys.push_back(key(unit) / static_cast<double>(unit.worth));
  }
  return keys;
}

std::vector<double> KeysOf(const PackingProblem& problem, const RemovalBound& bound) {
  std::vector<double> keys;
  for (const PackingUnit& unit : problem.units) {
    double surplus = 0;
    for (const NodeId node : unit.nodes) surplus += bound.surplus[Index(node)];
    keys.push_back(-surplus);
  }
  return keys;
}

// Chosen units in their order, then others by their load.
std::vector<double> KeysOf(const PackingProblem& problem, const std::vector<uint32_t>& chosen) {
  std::vector<double> keys;
  for (const PackingUnit& unit : problem.units) {
    keys.push_back(static_cast<double>(problem.units.size()) + unit.load);
  }
  for (size_t i = 0; i < chosen.size(); ++i) keys[chosen[i]] = static_cast<double>(i);
  return keys;
}

bool Expired(const Deadline* deadline) { return deadline != nullptr && deadline->Expired(); }

// One packing on its way.
class Lane {
 public:
  Lane(const ClusterSnapshot& snapshot, const PackingProblem& problem, uint64_t seed)
      : problem_(&problem), packing_(snapshot, problem), random_(seed) {}

  [[nodiscard]] const Packing& packing() const { return packing_; }
  void Take(const Packing& packing) { packing_ = packing; }

  // Removes what can be, the unit of the lowest key first.
  void Begin(const std::vector<double>& keys, const Deadline* deadline) {
    std::vector<uint32_t> units(problem_->units.size());
    std::iota(units.begin(), units.end(), 0);
    std::ranges::stable_sort(units, {}, [&](uint32_t unit) { return keys[unit]; });
    RemoveEach(units, deadline);
  }

  // Puts some units back and tries others.
  void Step() {
    kept_.clear();
    for (uint32_t unit = 0; unit < problem_->units.size(); ++unit) {
      if (!packing_.IsRemoved(unit)) kept_.push_back(unit);
    }
    if (kept_.empty() || packing_.removed().empty()) return;
    const int64_t before = packing_.worth();
    packing_.Begin();
    put_back_.clear();
    tried_.clear();
    const uint32_t wanted = Draw(kept_);
    packing_.SpentBudgets(wanted, spent_);
    if (spent_.empty()) {
      MakeRoom(wanted);
    } else {
      FreeBudgets(wanted);
    }
    tried_.insert(tried_.end(), put_back_.begin(), put_back_.end());
    RemoveEach(tried_, nullptr);
    if (packing_.worth() >= before) {
      packing_.Commit();
    } else {
      packing_.Revert();
    }
  }

 private:
  void RemoveEach(const std::vector<uint32_t>& units, const Deadline* deadline) {
    for (const uint32_t unit : units) packing_.SetBias(unit, kLater);
    for (const uint32_t unit : units) {
      packing_.SetBias(unit, 0);
      if (!Expired(deadline)) packing_.Remove(unit);
    }
  }

  void PutBack(uint32_t unit) {
    packing_.PutBack(unit);
    put_back_.push_back(unit);
  }

  // Some units come back, and others may have their room.
  void MakeRoom(uint32_t wanted) {
    gone_.assign(packing_.removed().begin(), packing_.removed().end());
    if (random_.Below(2) == 0) StayInGroupOf(wanted);
    const uint64_t back = 1 + random_.Below(kPutBackMax);
    for (uint64_t i = 0; i < back && !gone_.empty(); ++i) {
      PutBack(DrawLarger(gone_));
      gone_.erase(std::ranges::find(gone_, put_back_.back()));
    }
    for (uint64_t i = 0; i < back + kOthersTried; ++i) tried_.push_back(DrawSmaller(kept_));
    ShuffleTried();
  }

  // Nodes of a group take much the same pods: what one leaves another can use.
  void StayInGroupOf(uint32_t wanted) {
    const auto is_other = [&](uint32_t unit) {
      return problem_->units[unit].group != problem_->units[wanted].group;
    };
    if (std::ranges::all_of(gone_, is_other)) return;
    std::erase_if(gone_, is_other);
    std::erase_if(kept_, is_other);
  }

  // For each budget that keeps the unit one that spends of it comes back.  The unit is tried, and
  // others that wait for what that one spent.
  void FreeBudgets(uint32_t wanted) {
    for (const uint32_t budget : spent_) {
      gone_.clear();
      for (const uint32_t unit : problem_->budget_users[budget]) {
        if (packing_.IsRemoved(unit)) gone_.push_back(unit);
      }
      if (!gone_.empty()) PutBack(Draw(gone_));
    }
    for (const uint32_t unit : put_back_) {
      for (const PackingSpend& spend : problem_->units[unit].spends)
        TryUsersOf(spend.budget, wanted);
    }
    ShuffleTried();
    if (tried_.size() > kOthersTried) tried_.resize(kOthersTried);
    tried_.insert(tried_.begin(), wanted);
  }

  // Units that stay, and that no budget keeps now.
  void TryUsersOf(uint32_t budget, uint32_t wanted) {
    const std::vector<uint32_t>& users = problem_->budget_users[budget];
    const size_t start = random_.Below(users.size());
    for (size_t i = 0; i < std::min(users.size(), kBudgetUsersLookedAt); ++i) {
      const uint32_t unit = users[(start + i) % users.size()];
      if (unit == wanted || packing_.IsRemoved(unit)) continue;
      if (std::ranges::count(put_back_, unit) > 0) continue;
      packing_.SpentBudgets(unit, spent_now_);
      if (spent_now_.empty()) tried_.push_back(unit);
    }
  }

  void ShuffleTried() {
    std::ranges::sort(tried_);
    tried_.erase(std::ranges::unique(tried_).begin(), tried_.end());
    random_.Shuffle(tried_);
  }

  uint32_t Draw(const std::vector<uint32_t>& units) { return units[random_.Below(units.size())]; }
  [[nodiscard]] double SizeOf(uint32_t unit) const { return problem_->units[unit].size; }
  // Of two drawn units.
  uint32_t DrawLarger(const std::vector<uint32_t>& units) {
    const uint32_t one = Draw(units);
    const uint32_t other = Draw(units);
    return SizeOf(other) > SizeOf(one) ? other : one;
  }
  uint32_t DrawSmaller(const std::vector<uint32_t>& units) {
    const uint32_t one = Draw(units);
    const uint32_t other = Draw(units);
    return SizeOf(other) < SizeOf(one) ? other : one;
  }

  const PackingProblem* problem_;
  Packing packing_;
  Random random_;
  // Reused.
  std::vector<uint32_t> kept_;
  std::vector<uint32_t> gone_;
  std::vector<uint32_t> spent_;
  std::vector<uint32_t> spent_now_;
  std::vector<uint32_t> put_back_;
  std::vector<uint32_t> tried_;
};

// The lane of the best packing; of equals the first.
size_t BestLane(const std::vector<Lane>& lanes) {
  const auto worth = [](const Lane& lane) { return lane.packing().worth(); };
  return static_cast<size_t>(std::ranges::max_element(lanes, {}, worth) - lanes.begin());
}

// The whole of a search: what its steps share.
class Search {
 public:
  Search(ClusterSnapshot& snapshot, const NodeGroups& groups, const PlanRequest& request,
         const SearchOptions& options, const Parallelism& parallelism)
      : snapshot_(snapshot),
        groups_(groups),
        asked_(request),
        request_(request),
        options_(options),
        parallelism_(parallelism) {
    request_.verify = false;
    request_.on_passes_done = nullptr;
    request_.pass.deadline = nullptr;
    request_.verification_ends = nullptr;
  }

  absl::StatusOr<SearchResult> Run() {
    // With deadlines it may be cut when it is verified, and so that is done at once.
    PlanRequest first = asked_;
    first.verify = asked_.verify && asked_.verification_ends != nullptr;
    first.on_passes_done = nullptr;
    absl::StatusOr<PlanResult> greedy = MakePlan(snapshot_, groups_, first);
    if (!greedy.ok()) return greedy.status();
    candidates_ = greedy->order;
    result_.greedy_worth = WorthOf(*greedy);
    result_.greedy_nodes = greedy->plan.remove.size();
    result_.worth = INT64_MIN;
    Offer(*std::move(greedy));
    // What a limit ended is as long as it may be.
    if (result_.best.plan.termination == Termination::kComplete) Improve();
    if (asked_.on_passes_done != nullptr) asked_.on_passes_done();
    const bool is_verified = first.verify && result_.worth == result_.greedy_worth;
    if (asked_.verify && !is_verified) {
      if (absl::Status s = VerifyBest(); !s.ok()) return s;
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] int64_t WorthOf(const PlanResult& made) const {
    if (options_.worth.empty()) return static_cast<int64_t>(made.plan.remove.size());
    int64_t worth = 0;
    for (const RemovableNode& node : made.plan.remove) worth += options_.worth[Index(node.node)];
    return worth;
  }

  void Offer(PlanResult made) {
    const int64_t worth = WorthOf(made);
    if (worth <= result_.worth) return;
    result_.worth = worth;
    result_.best = std::move(made);
    if (options_.on_better != nullptr) options_.on_better(result_.best, worth);
  }

  [[nodiscard]] absl::Status VerifyBest() const {
    return Verify(snapshot_, groups_, asked_.planner, LastPassInput(asked_, result_.best),
                  result_.best.plan);
  }

  // What the planner makes of a packing.  Topology may say no in one order and not in another.
  void Realize(const Packing& packing, const PackingProblem& problem) {
    const std::vector<Move> places = packing.Places();
    std::vector<uint32_t> units = packing.removed();
    // Those that are least to move go first: whoever leaves the last ones out saves most.
    std::ranges::stable_sort(units, {}, [&](uint32_t unit) { return problem.units[unit].load; });
    Realize(units, places, problem);
    if (result_.worth < packing.worth()) Realize(packing.removed(), places, problem);
  }

  void Realize(const std::vector<uint32_t>& units, std::span<const Move> places,
               const PackingProblem& problem) {
    std::vector<NodeId> order;
    std::vector<bool> listed(snapshot_.catalog().nodes());
    const auto list = [&](NodeId node) {
      if (!options_.worth.empty() && options_.worth[Index(node)] <= 0) return;
      if (!listed[Index(node)]) order.push_back(node);
      listed[Index(node)] = true;
    };
    for (const uint32_t unit : units) std::ranges::for_each(problem.units[unit].nodes, list);
    std::ranges::for_each(candidates_, list);
    if (request_.candidates != nullptr) {
      std::ranges::for_each(*request_.candidates, list);
    } else {
      snapshot_.alive().ForEach(list);
    }
    PlanRequest request = request_;
    request.order = CandidateOrder::kInput;
    request.candidates = &order;
    request.suggestions = places;
    absl::StatusOr<PlanResult> made = MakePlan(snapshot_, groups_, request);
    if (made.ok()) Offer(*std::move(made));
  }

  void Improve() {
    ClusterSnapshot packed = snapshot_;
    for (const Move& move : result_.best.plan.packed) packed.AddPod(move.pod, move.to);
    const PackingProblem problem(packed, snapshot_, groups_, request_, candidates_, options_.worth);
    // Without the nodes that are worth nothing.
    if (!options_.worth.empty()) Realize({}, {}, problem);
    if (problem.units.empty()) return;
    std::vector<Lane> lanes;
    lanes.reserve(kLanes);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes.emplace_back(packed, problem, options_.seed * kLanes + lane);
    }
    parallelism_.For(kLanes, [&](size_t lane, size_t) {
      if (lane == kLanes - 1) {
        const std::vector<uint32_t> chosen =
            ChooseWithinBudgets(problem, options_.seed, options_.deadline);
        if (chosen.size() < problem.units.size()) {
          lanes[lane].Begin(KeysOf(problem, chosen), options_.deadline);
          return;
        }
      }
      if (lane > 0) {
        lanes[lane].Begin(KeysOf(problem, kFirstOrders[lane - 1]), options_.deadline);
        return;
      }
      const RemovalBound bound =
          BoundRemovals(snapshot_, groups_, request_, options_.worth, options_.deadline);
      if (!Expired(options_.deadline)) result_.bound = bound.worth;
      lanes[lane].Begin(KeysOf(problem, bound), options_.deadline);
    });
    // Behind a packing's nodes the planner goes on with the others, so equals are worth a pass.
    for (const Lane& lane : lanes) {
      if (lane.packing().worth() >= result_.worth) Realize(lane.packing(), problem);
    }
    int64_t packed_worth = lanes[BestLane(lanes)].packing().worth();
    uint64_t without_gain = 0;
    while (!IsOver(without_gain)) {
      ++result_.iterations;
      const Packing best = lanes[BestLane(lanes)].packing();
      for (Lane& lane : lanes) {
        if (lane.packing().worth() < best.worth()) lane.Take(best);
      }
      parallelism_.For(kLanes, [&](size_t lane, size_t) {
        for (uint64_t i = 0; i < kStepsPerIteration && !Expired(options_.deadline); ++i) {
          lanes[lane].Step();
        }
      });
      const Packing& now = lanes[BestLane(lanes)].packing();
      ++without_gain;
      if (now.worth() <= packed_worth) continue;
      packed_worth = now.worth();
      without_gain = 0;
      Realize(now, problem);
    }
  }

  [[nodiscard]] bool IsOver(uint64_t without_gain) const {
    return result_.iterations >= options_.iterations ||
           without_gain >= options_.iterations_without_gain ||
           (result_.bound && result_.worth >= *result_.bound) || Expired(options_.deadline);
  }

  ClusterSnapshot& snapshot_;
  const NodeGroups& groups_;
  const PlanRequest& asked_;
  PlanRequest request_;  // The same without verification and without deadlines.
  const SearchOptions& options_;
  const Parallelism& parallelism_;
  std::vector<NodeId> candidates_;
  SearchResult result_;
};

}  // namespace

absl::StatusOr<SearchResult> OptimizePlan(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                          const PlanRequest& request, const SearchOptions& options,
                                          const Parallelism& parallelism) {
  const size_t nodes = snapshot.catalog().nodes();
  if (!options.worth.empty() && options.worth.size() != nodes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worth: has ", options.worth.size(), " entries, and the catalog has ", nodes, " nodes"));
  }
  absl::int128 sum = 0;
  for (const int64_t worth : options.worth) sum += worth < 0 ? -absl::int128(worth) : worth;
  if (sum > std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError("worth: its sums may have more than 64 bits");
  }
  if (absl::Status s = CheckNoFork(snapshot); !s.ok()) return s;
  return BesideDeletions(snapshot, request, [&](ClusterSnapshot& beside, const PlanRequest& asked) {
    return Search(beside, groups, asked, options, parallelism).Run();
  });
}

}  // namespace ebb
