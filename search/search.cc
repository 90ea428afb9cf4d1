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

// How the search works.
//
// search.h gives the idea: packings (packing.h) are improved, and the planner turns good ones into
// plans.  This file has two parts.  A Lane improves one packing.  Search runs the lanes, and offers
// what the planner makes of their packings.
//
//   start    kLanes packings, each filled in another order: by the relaxed bound, by the sizes of
//            nodes, by their pods, by what the budgets admit
//   repeat   every lane whose packing is worth less than the best takes a copy of the best, unless
//            it has begun again shortly before;
//            every lane makes kStepsPerIteration steps, in parallel;
//            Realize the best packing if it is worth more than any before;
//            after kPatience iterations without a gain, Diversify: steps put back more units, and
//            two lanes put back a part of all units and begin again
//   until    a plan reaches the bound, time or iterations run out, or iterations bring no gain
//
// A step draws a unit that stays, `wanted`, and finds out what keeps it.  If budgets do,
// FreeBudgets puts back one removed unit for each of these budgets, and tries `wanted` and others
// that use what was freed.  Otherwise room is missing, and MakeRoom puts back some units, large
// ones by preference, and tries some small ones instead.  The units that were put back are tried
// last.  A step that leaves the packing worth less is reverted.  A step that leaves it worth the
// same is kept, because many packings remove equally many nodes and only some of them lead further.
//
// If budgets keep units, the last lane also searches for a better choice of units without regard to
// room (budget_search.h), some hundred times faster than by steps.  When it has one, it tries to
// change its packing to that choice.  It then bans units for which room is missing.
//
// Why the result is right: no part of a packing is trusted.  Realize passes the planner only an
// order of candidates and suggested nodes, and the planner decides by its own filters, budgets and
// limits.  Offer keeps a plan only if it is worth more than the best so far, and the greedy plan is
// offered first, so the result is never worse than that.  The best plan is verified at the end.
//
// Why it is deterministic: lanes share only the problem, which is constant.  Each has a random
// generator of its own.  They exchange packings between iterations, in one thread, and ties go to
// the first lane.  So the number of threads cannot change a packing; only a deadline can.
//
// Realize asks the planner twice at most.  First with the units that move least at the front,
// because a plan that is cut later then saves most.  If that plan is worth less than the packing, a
// topology filter has probably refused a pod in that order, so the packing's own order is tried as
// well.
//
// Cost: a packing is a branch of the snapshot and shares its pages.  Step removes some ten units at
// most, and each removal may look at all nodes for each of its pods.

namespace ebb {
namespace {

// Numbers of the search.  Not tuned, except where figures stand: other values were not compared.
// What they find is in docs/better-plans.md.

// Packings that are improved side by side.  More lanes start from more orders and can use more
// threads, but each costs a packing and its share of the time.
constexpr size_t kLanes = 4;
// Steps between two exchanges of packings.  Fewer steps spread a better packing, and turn it into a
// plan, sooner; more steps copy packings and wait for the slowest lane less often.
constexpr uint64_t kStepsPerIteration = 200;
// The most units that a step of MakeRoom puts back.  More units change more at once, but a step
// costs more and its result is more often worth less.  Diversify doubles the number, up to kWidest.
constexpr uint64_t kPutBackMax = 5;
constexpr uint64_t kWidest = 40;
// Steps of the search within budgets: at the start for each unit, and in each iteration.  Each is
// some hundred times cheaper than a step of a packing.  With costs of the relaxed bound, more steps
// at the start find no more on company 5,000, and on mixed 5,000 one node more for 40 steps.
constexpr uint64_t kBudgetStepsPerUnit = 10;
constexpr uint64_t kBudgetSteps = 4000;
// Iterations without a gain before lanes diversify, and iterations that a lane which has begun
// again is left alone.  A lane that has not become the best by then takes a copy of the best.
constexpr uint64_t kPatience = 20;
// The parts of the removed units that are put back when a lane begins again, in turns.
constexpr std::array<double, 4> kSharesPutBack = {0.1, 0.2, 0.4, 0.7};
// Units that a step tries in addition to the units that it put back.  More find a replacement more
// often, and each costs a removal.
constexpr uint64_t kOthersTried = 8;
// The bias of a unit that is to be tried later: it takes a pod only if no other node does.
// Its exact size does not matter: it must exceed the free room of every node (packing.h).
constexpr double kLater = 1e6;

// The keys by which units are removed at first, the lowest first: the size of the nodes, since
// removing a node costs its room whether used or not; their pods; what these request.  Each is
// divided by the unit's worth.  The first lane uses the solution of the relaxed problem instead
// (RemovalBound::surplus).  The last lane uses what budgets admit (budget_search.h), if they keep
// any unit.
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

// What a unit's removal uses up at the prices of the bound, divided by the unit's worth; 0 to about
// 1 for units of the relaxed solution.  Units that cost the same differ by what they use of
// budgets.
std::vector<double> CostsOf(const PackingProblem& problem, const RemovalBound& bound) {
  constexpr double kOfBudgets = 1e-4;
  std::vector<double> costs;
  for (const PackingUnit& unit : problem.units) {
    double surplus = 0;
    for (const NodeId node : unit.nodes) surplus += bound.surplus[Index(node)];
    double used = 0;
    for (const PackingSpend& spend : unit.spends) {
      used += spend.pods / std::max(1.0, static_cast<double>(problem.budgets[spend.budget]));
    }
    const auto worth = static_cast<double>(unit.worth);
    costs.push_back((worth - surplus + kOfBudgets * worth * used) / worth);
  }
  return costs;
}

// The relaxed solution's units first, then cheap ones.
std::vector<double> KeysOf(const PackingProblem& problem, const RemovalBound& bound,
                           const std::vector<double>& costs) {
  // Small beside a unit of the solution.
  constexpr double kOfCosts = 0.01;
  std::vector<double> keys;
  for (size_t u = 0; u < problem.units.size(); ++u) {
    double part = 0;
    for (const NodeId node : problem.units[u].nodes) part += bound.solution[Index(node)];
    part /= static_cast<double>(problem.units[u].nodes.size());
    keys.push_back(kOfCosts * costs[u] - part);
  }
  return keys;
}

// Chosen units in their order, then the others by their load.
std::vector<double> KeysOf(const PackingProblem& problem, const std::vector<uint32_t>& chosen) {
  std::vector<double> keys;
  for (const PackingUnit& unit : problem.units) {
    keys.push_back(static_cast<double>(problem.units.size()) + unit.load);
  }
  for (size_t i = 0; i < chosen.size(); ++i) keys[chosen[i]] = static_cast<double>(i);
  return keys;
}

std::vector<uint32_t> SortedBy(const std::vector<double>& keys) {
  std::vector<uint32_t> units(keys.size());
  std::iota(units.begin(), units.end(), 0);
  std::ranges::stable_sort(units, {}, [&](uint32_t unit) { return keys[unit]; });
  return units;
}

bool Expired(const Deadline* deadline) { return deadline != nullptr && deadline->Expired(); }

// One packing that is being improved.
class Lane {
 public:
  Lane(const ClusterSnapshot& snapshot, const PackingProblem& problem, uint64_t seed)
      : problem_(&problem), packing_(snapshot, problem), random_(seed) {}

  [[nodiscard]] const Packing& packing() const { return packing_; }
  void Take(const Packing& packing) { packing_ = packing; }

  // Removes as many units as possible, trying those with the lowest keys first.
  void Begin(const std::vector<double>& keys, const Deadline* deadline) {
    RemoveEach(SortedBy(keys), deadline);
  }

  // From here on the lane also searches within budgets, from what `search` has chosen.
  void SearchWithin(BudgetSearch search) { budgets_ = std::move(search); }

  // The `round`-th call since a gain; 0: there was a gain.  Steps put back more units with each
  // call.  With `again` the next iteration begins the packing again, and the lane is left alone for
  // some iterations.
  void Diversify(uint64_t round, bool again) {
    put_back_max_ = std::min(kPutBackMax << std::min<uint64_t>(round, 8), kWidest);
    if (!again) return;
    share_put_back_ = kSharesPutBack[(round - 1) % kSharesPutBack.size()];
    alone_ = kPatience;
  }
  // Whether the lane may take the best packing.
  bool MayTake() {
    if (alone_ == 0) return true;
    --alone_;
    return false;
  }

  void Iterate(const Deadline* deadline) {
    if (share_put_back_ > 0) BeginAgain(std::exchange(share_put_back_, 0), deadline);
    if (budgets_) ImproveWithinBudgets(deadline);
    for (uint64_t i = 0; i < kStepsPerIteration && !Expired(deadline); ++i) Step();
  }

 private:
  void FindKept() {
    kept_.clear();
    for (uint32_t unit = 0; unit < problem_->units.size(); ++unit) {
      if (!packing_.IsRemoved(unit)) kept_.push_back(unit);
    }
  }

  // Puts some units back and tries to remove others.
  void Step() {
    FindKept();
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

  // Puts back a part of the removed units, of one group or of all, and removes units in a random
  // order.
  void BeginAgain(double share, const Deadline* deadline) {
    put_back_.clear();
    gone_.assign(packing_.removed().begin(), packing_.removed().end());
    if (gone_.empty()) return;
    random_.Shuffle(gone_);
    if (random_.Below(2) == 0) {
      const GroupId group = problem_->units[gone_.front()].group;
      std::ranges::stable_partition(
          gone_, [&](uint32_t unit) { return problem_->units[unit].group == group; });
    }
    const double count = share * static_cast<double>(gone_.size());
    gone_.resize(std::min(gone_.size(), static_cast<size_t>(count) + 1));
    packing_.Begin();
    for (const uint32_t unit : gone_) PutBack(unit);
    packing_.Commit();
    FindKept();
    tried_ = kept_;
    random_.Shuffle(tried_);
    RemoveEach(tried_, deadline);
  }

  // Searches for a choice of units within budgets that is worth more than the packing, and tries to
  // change the packing to that.
  void ImproveWithinBudgets(const Deadline* deadline) {
    if (packing_.worth() > budgets_->worth()) budgets_->Begin(packing_.removed());
    budgets_->Run(kBudgetSteps, deadline);
    if (budgets_->worth() <= packing_.worth()) return;
    tried_ = budgets_->Chosen();
    std::vector<bool> is_chosen(problem_->units.size());
    for (const uint32_t unit : tried_) is_chosen[unit] = true;
    gone_.assign(packing_.removed().begin(), packing_.removed().end());
    std::erase_if(gone_, [&](uint32_t unit) { return is_chosen[unit]; });
    std::erase_if(tried_, [&](uint32_t unit) { return packing_.IsRemoved(unit); });
    const int64_t before = packing_.worth();
    packing_.Begin();
    put_back_.clear();
    for (const uint32_t unit : gone_) PutBack(unit);
    RemoveEach(tried_, deadline);
    for (const uint32_t unit : tried_) {
      if (!packing_.IsRemoved(unit)) budgets_->Ban(unit);
    }
    RemoveEach(put_back_, deadline);
    if (packing_.worth() >= before) {
      packing_.Commit();
    } else {
      packing_.Revert();
    }
  }

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

  // Puts some units back, so that others may use the room.
  void MakeRoom(uint32_t wanted) {
    gone_.assign(packing_.removed().begin(), packing_.removed().end());
    // Half of the steps may exchange units between groups.  Not tuned.
    if (random_.Below(2) == 0) StayInGroupOf(wanted);
    const uint64_t back = 1 + random_.Below(put_back_max_);
    for (uint64_t i = 0; i < back && !gone_.empty(); ++i) {
      PutBack(DrawLarger(gone_));
      gone_.erase(std::ranges::find(gone_, put_back_.back()));
    }
    for (uint64_t i = 0; i < back + kOthersTried; ++i) tried_.push_back(DrawSmaller(kept_));
    ShuffleTried();
  }

  // Nodes of one group take much the same pods, so what one leaves another can use.
  void StayInGroupOf(uint32_t wanted) {
    const auto is_other = [&](uint32_t unit) {
      return problem_->units[unit].group != problem_->units[wanted].group;
    };
    if (std::ranges::all_of(gone_, is_other)) return;
    std::erase_if(gone_, is_other);
    std::erase_if(kept_, is_other);
  }

  // For each budget that keeps `wanted`, puts back a unit that uses it.  Then tries `wanted`, and
  // others that can use what those units used.
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

  // Adds to tried_ units that stay and that no budget keeps now.
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
  // The larger of two drawn units.
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
  std::optional<BudgetSearch> budgets_;
  uint64_t put_back_max_ = kPutBackMax;
  double share_put_back_ = 0;  // Above 0: the next iteration begins again.
  uint64_t alone_ = 0;         // Iterations for which the lane does not take the best packing.
  // Reused.
  std::vector<uint32_t> kept_;
  std::vector<uint32_t> gone_;
  std::vector<uint32_t> spent_;
  std::vector<uint32_t> spent_now_;
  std::vector<uint32_t> put_back_;
  std::vector<uint32_t> tried_;
};

// The lane with the best packing; the first of equals.
size_t BestLane(const std::vector<Lane>& lanes) {
  const auto worth = [](const Lane& lane) { return lane.packing().worth(); };
  return static_cast<size_t>(std::ranges::max_element(lanes, {}, worth) - lanes.begin());
}

// The whole search: the variables that its steps share.
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
    // With a deadline, the verification may cut the plan, so it is done at once.
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
    // A plan that a limit has ended is as long as it may be.
    const Termination first_ended = result_.best.plan.termination;
    if (first_ended == Termination::kComplete) Improve();
    if (first_ended == Termination::kDeadline) result_.end = SearchEnd::kDeadline;
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

  // Makes a plan of a packing.  Topology filters may refuse one order of units and pass another.
  void Realize(const Packing& packing, const PackingProblem& problem) {
    const std::vector<Move> places = packing.Places();
    const auto goes_late = [&](uint32_t unit) { return problem.units[unit].goes_late; };
    std::vector<uint32_t> units = packing.removed();
    std::ranges::stable_sort(units, {}, goes_late);
    const std::vector<uint32_t> as_packed = units;
    // Units that move the least come first: cutting the last removals then saves the most.
    std::ranges::stable_sort(units, {}, [&](uint32_t unit) {
      return std::pair(goes_late(unit), problem.units[unit].load);
    });
    Realize(units, places, problem);
    if (result_.worth < packing.worth()) Realize(as_packed, places, problem);
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
    if (options_.quick) return TryOne(packed, problem);
    // Without the nodes that have no worth.
    if (!options_.worth.empty()) Realize({}, {}, problem);
    if (problem.units.empty()) return;
    std::vector<Lane> lanes;
    lanes.reserve(kLanes);
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes.emplace_back(packed, problem, options_.seed * kLanes + lane);
    }
    BeginLanes(lanes, problem);
    // After the nodes of a packing the planner tries the other candidates too, so a packing that is
    // worth only as much as the best plan deserves a pass.
    for (const Lane& lane : lanes) {
      if (lane.packing().worth() >= result_.worth) Realize(lane.packing(), problem);
    }
    int64_t packed_worth = lanes[BestLane(lanes)].packing().worth();
    uint64_t without_gain = 0;
    while (!IsOver(without_gain)) {
      ++result_.iterations;
      ShareBest(lanes);
      if (without_gain > 0 && without_gain % kPatience == 0) {
        Diversify(lanes, without_gain / kPatience);
      }
      parallelism_.For(kLanes,
                       [&](size_t lane, size_t) { lanes[lane].Iterate(options_.deadline); });
      const Packing& now = lanes[BestLane(lanes)].packing();
      ++without_gain;
      if (now.worth() <= packed_worth) continue;
      packed_worth = now.worth();
      without_gain = 0;
      for (Lane& lane : lanes) lane.Diversify(0, /*again=*/false);
      Realize(now, problem);
    }
  }

  void TryOne(const ClusterSnapshot& packed, const PackingProblem& problem) {
    if (problem.units.empty()) return;
    Lane lane(packed, problem, options_.seed);
    const RemovalBound bound = BoundRemovals(snapshot_, groups_, request_, options_.worth);
    lane.Begin(KeysOf(problem, bound, CostsOf(problem, bound)), nullptr);
    if (lane.packing().worth() >= result_.worth) Realize(lane.packing(), problem);
  }

  // Finds the bound and fills the packing of each lane.
  void BeginLanes(std::vector<Lane>& lanes, const PackingProblem& problem) {
    const Deadline* const deadline = options_.deadline;
    const auto begin_by_bound = [&] {
      const RemovalBound bound =
          BoundRemovals(snapshot_, groups_, request_, options_.worth, deadline);
      if (!Expired(deadline)) result_.bound = bound.worth;
      const std::vector<double> costs = CostsOf(problem, bound);
      const std::vector<double> keys = KeysOf(problem, bound, costs);
      lanes[0].Begin(keys, deadline);
      BudgetSearch within(problem, costs, options_.seed);
      within.Begin(SortedBy(keys));
      within.Run(kBudgetStepsPerUnit * problem.units.size(), deadline);
      const std::vector<uint32_t> chosen = within.Chosen();
      if (chosen.size() < problem.units.size()) {
        lanes.back().Begin(KeysOf(problem, chosen), deadline);
        lanes.back().SearchWithin(std::move(within));
      } else {
        lanes.back().Begin(KeysOf(problem, kFirstOrders.back()), deadline);
      }
    };
    parallelism_.For(kLanes - 1, [&](size_t lane, size_t) {
      if (lane == 0) {
        begin_by_bound();
      } else {
        lanes[lane].Begin(KeysOf(problem, kFirstOrders[lane - 1]), deadline);
      }
    });
  }

  static void ShareBest(std::vector<Lane>& lanes) {
    const Packing best = lanes[BestLane(lanes)].packing();
    for (Lane& lane : lanes) {
      if (lane.MayTake() && lane.packing().worth() < best.worth()) lane.Take(best);
    }
  }

  // Widens the steps of all lanes, and lets those in the middle begin again.
  static void Diversify(std::vector<Lane>& lanes, uint64_t round) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane].Diversify(round, /*again=*/lane > 0 && lane + 1 < lanes.size());
    }
  }

  // Whether the search ends, and why.
  bool IsOver(uint64_t without_gain) {
    if (result_.bound && result_.worth >= *result_.bound) {
      result_.end = SearchEnd::kBoundReached;
    } else if (Expired(options_.deadline)) {
      result_.end = SearchEnd::kDeadline;
    } else if (result_.iterations >= options_.iterations) {
      result_.end = SearchEnd::kIterations;
    } else if (without_gain >= options_.iterations_without_gain) {
      result_.end = SearchEnd::kNoGain;
    } else {
      return false;
    }
    return true;
  }

  ClusterSnapshot& snapshot_;
  const NodeGroups& groups_;
  const PlanRequest& asked_;
  PlanRequest request_;  // asked_ without verification and deadlines.
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
