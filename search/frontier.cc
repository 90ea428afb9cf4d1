#include "search/frontier.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/deletions_under_way.h"
#include "engine/plan/check_input.h"
#include "search/removable.h"
#include "search/worth.h"

namespace ebb {
namespace {

// Prices of a move, relative to the average worth of nodes per pod.  0 is the plan with the most
// worth; at 4 only nodes whose pods are worth four times the average pay.  Not tuned: other prices
// were not compared.
constexpr std::array<double, kFrontierSearches> kMovePrices = {0.0, 0.125, 0.25, 0.5,
                                                               1.0, 2.0,   4.0};

// Stands for the hourly cost of nodes that cost nothing, so that no price divides by 0.
constexpr double kLeastHourly = 1e-9;
// Two sums of worth that differ by less than this differ by rounding alone.
constexpr double kWorthRounding = 1e-9;

// The worth of all nodes that may be removed, divided by the number of pods that would move.
double WorthAPod(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                 const PlanRequest& request, std::span<const double> hourly) {
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
  double worth = 0;
  size_t pods = 0;
  for (const RemovableCandidate& each :
       FindRemovable(snapshot, groups, request.planner, nodes, request.pass.now_s)) {
    worth += hourly[Index(each.node)];
    pods += each.move.size();
  }
  return pods == 0 ? 0 : worth / static_cast<double>(pods);
}

// Whether a prefix of a plan's removals has removed atomic groups in part: as many nodes as the
// plan removes, or none, count as whole.
class AtomicParts {
 public:
  AtomicParts(const NodeGroups& groups, const Plan& plan) : groups_(groups) {
    for (const RemovableNode& each : plan.remove) {
      if (IsAtomic(each.node)) ++left_[Index(groups.Of(each.node))];
    }
    all_ = left_;
  }
  void Remove(NodeId node) {
    if (IsAtomic(node)) --left_[Index(groups_.Of(node))];
  }
  [[nodiscard]] bool AreWhole() const {
    return std::ranges::all_of(left_, [&](const auto& each) {
      return each.second == 0 || each.second == all_.at(each.first);
    });
  }

 private:
  [[nodiscard]] bool IsAtomic(NodeId node) const {
    const NodeGroup* const group = groups_.Find(node);
    return group != nullptr && group->atomic;
  }
  const NodeGroups& groups_;
  std::map<size_t, size_t> left_;
  std::map<size_t, size_t> all_;
};

// The number of pods of the node that move and that ran there before the plan.
size_t EvictedFrom(const ClusterSnapshot& snapshot, const RemovableNode& node) {
  return static_cast<size_t>(std::ranges::count_if(
      node.moves, [&](const Move& move) { return snapshot.NodeOf(move.pod) == node.node; }));
}

// The plan's nodes in another order: those with the largest worth per pod first, so that prefixes
// of the plan are worth most.  Each pod is suggested the node where the plan puts it, as these
// nodes have room for all.
absl::StatusOr<PlanResult> WorthiestFirst(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                          const PlanRequest& request,
                                          std::span<const double> hourly, const Plan& plan) {
  std::vector<std::pair<double, NodeId>> by_price;
  std::map<uint32_t, NodeId> ends;  // By PodId.
  for (const RemovableNode& each : plan.remove) {
    const auto evicted = static_cast<double>(EvictedFrom(snapshot, each));
    by_price.emplace_back(evicted / std::max(hourly[Index(each.node)], kLeastHourly), each.node);
    for (const Move& move : each.moves) ends[static_cast<uint32_t>(move.pod)] = move.to;
  }
  std::ranges::stable_sort(by_price, {}, &std::pair<double, NodeId>::first);
  std::vector<NodeId> order;
  for (const auto& [price, node] : by_price) order.push_back(node);
  std::vector<Move> places;
  for (const auto& [pod, node] : ends) places.push_back({.pod = PodId{pod}, .to = node});
  PlanRequest again = request;
  again.order = CandidateOrder::kInput;
  again.candidates = &order;
  again.suggestions = places;
  return MakePlan(snapshot, groups, again);
}

// Adds a point for each prefix of the plan that keeps atomic groups whole.
void AddPoints(const ClusterSnapshot& snapshot, const NodeGroups& groups,
               std::span<const double> hourly, const Plan& plan, size_t number,
               std::vector<FrontierPoint>& points) {
  AtomicParts atomic(groups, plan);
  FrontierPoint point{.plan = number};
  for (const RemovableNode& each : plan.remove) {
    ++point.nodes;
    point.worth += hourly[Index(each.node)];
    point.evicted += EvictedFrom(snapshot, each);
    atomic.Remove(each.node);
    if (atomic.AreWhole()) points.push_back(point);
  }
}

// The points that no other dominates, sorted by evictions.
std::vector<FrontierPoint> Best(std::vector<FrontierPoint> points) {
  std::ranges::stable_sort(points, [](const FrontierPoint& a, const FrontierPoint& b) {
    return a.evicted != b.evicted ? a.evicted < b.evicted : a.worth > b.worth;
  });
  std::vector<FrontierPoint> best;
  for (const FrontierPoint& point : points) {
    if (best.empty() || point.worth > best.back().worth + kWorthRounding) best.push_back(point);
  }
  return best;
}

absl::Status CheckHourly(const Catalog& catalog, std::span<const double> hourly) {
  if (hourly.size() != catalog.nodes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("hourly: has ", hourly.size(), " entries for ", catalog.nodes(), " nodes"));
  }
  for (size_t n = 0; n < hourly.size(); ++n) {
    if (hourly[n] >= 0 && hourly[n] <= kHourlyMax) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("hourly[", n, "]: ", hourly[n], " is not from 0 to ", kHourlyMax));
  }
  return absl::OkStatus();
}

absl::StatusOr<Frontier> SearchFrontier(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                        const PlanRequest& request, std::span<const double> hourly,
                                        const SearchOptions& options,
                                        const Parallelism& parallelism,
                                        std::span<const Deadline* const> ends,
                                        const OnFrontierPoints& on_points) {
  const double unit = WorthAPod(snapshot, groups, request, hourly);
  Frontier frontier;
  std::vector<FrontierPoint> points;
  const auto add = [&](PlanResult plan) {
    absl::StatusOr<PlanResult> sorted =
        WorthiestFirst(snapshot, groups, request, hourly, plan.plan);
    if (!sorted.ok()) return sorted.status();
    for (PlanResult* const made : {&plan, &*sorted}) {
      AddPoints(snapshot, groups, hourly, made->plan, frontier.plans.size(), points);
      frontier.plans.push_back(std::move(*made));
    }
    if (on_points) on_points(Best(points));
    return absl::OkStatus();
  };
  absl::StatusOr<PlanResult> asked_for = MakePlan(snapshot, groups, request);
  if (!asked_for.ok()) return asked_for.status();
  if (absl::Status s = add(*std::move(asked_for)); !s.ok()) return s;
  for (size_t search = 0; search < kFrontierSearches; ++search) {
    const std::vector<int64_t> worth =
        WorthOfNodes(snapshot, groups, request, hourly, kMovePrices[search] * unit);
    SearchOptions run = options;
    run.worth = worth;
    run.on_better = nullptr;
    if (!ends.empty()) run.deadline = ends[search];
    absl::StatusOr<SearchResult> found = OptimizePlan(snapshot, groups, request, run, parallelism);
    if (!found.ok()) return found.status();
    frontier.iterations += found->iterations;
    frontier.end = std::max(frontier.end, found->end);
    if (absl::Status s = add(std::move(found->best)); !s.ok()) return s;
  }
  frontier.points = Best(std::move(points));
  return frontier;
}

}  // namespace

absl::StatusOr<Frontier> FindFrontier(ClusterSnapshot& snapshot, const NodeGroups& groups,
                                      const PlanRequest& request, std::span<const double> hourly,
                                      const SearchOptions& options, const Parallelism& parallelism,
                                      std::span<const Deadline* const> ends,
                                      const OnFrontierPoints& on_points) {
  if (absl::Status s = CheckHourly(snapshot.catalog(), hourly); !s.ok()) return s;
  if (!ends.empty() && ends.size() != kFrontierSearches) {
    return absl::InvalidArgumentError(
        absl::StrCat("ends: has ", ends.size(), " entries, not none or ", kFrontierSearches));
  }
  if (absl::Status s = CheckNoFork(snapshot); !s.ok()) return s;
  return BesideDeletions(snapshot, request, [&](ClusterSnapshot& beside, const PlanRequest& asked) {
    return SearchFrontier(beside, groups, asked, hourly, options, parallelism, ends, on_points);
  });
}

const FrontierPoint* BestWithin(const Frontier& frontier, size_t evictions) {
  const auto beyond =
      std::ranges::upper_bound(frontier.points, evictions, {}, &FrontierPoint::evicted);
  return beyond == frontier.points.begin() ? nullptr : &*(beyond - 1);
}

void CutToEvictions(const ClusterSnapshot& snapshot, const NodeGroups& groups,
                    const PlanRequest& request, size_t evictions, PlanResult& made) {
  size_t removals = 0;
  for (size_t evicted = 0; removals < made.plan.remove.size(); ++removals) {
    evicted += EvictedFrom(snapshot, made.plan.remove[removals]);
    if (evicted > evictions) break;
  }
  CutPlan(snapshot, groups, request, removals, Termination::kEvictionLimit, made);
}

}  // namespace ebb
