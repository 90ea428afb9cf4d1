#include "loop/run/round_advisor.h"

#include <utility>

#include "engine/make_plan.h"
#include "planning/plan_answer.h"
#include "planning/plan_query.h"

namespace ebb {
namespace {

// The worth of a node that is unneeded now, and of any other.  A plan that removes eleven other
// nodes instead of ten unneeded ones gains nothing.
constexpr int64_t kWorthUnneeded = 11;
constexpr int64_t kWorth = 10;

}  // namespace

std::optional<RoundAdvice> RoundAdvisor::Advise(const Observation& observed, int64_t now_s,
                                                const std::vector<std::string>& unneeded) {
  const bool is_due = order_.empty() || now_s >= searched_s_ + options_.interval_s;
  return is_due ? Search(observed, now_s, unneeded) : AsBefore(observed);
}

std::optional<RoundAdvice> RoundAdvisor::Search(const Observation& observed, int64_t now_s,
                                                const std::vector<std::string>& unneeded) {
  ClusterSnapshot& snapshot = *observed.snapshot;
  const Catalog& catalog = snapshot.catalog();
  std::vector<int64_t> worth(catalog.nodes(), kWorth);
  for (const std::string& name : unneeded) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (node.ok()) worth[Index(*node)] = kWorthUnneeded;
  }
  const PlanQuery query{
      .planner = planner_,
      .now_s = now_s,
      .search = SearchQuery{.iterations = options_.iterations, .seed = options_.seed},
      .seconds = options_.budget_s};
  const absl::StatusOr<PlanResult> best =
      TrySearch(query, observed.groups, snapshot, observed.pending, worth, parallelism_);
  // The round is made from the same input and reports what is wrong with it.
  if (!best.ok()) return std::nullopt;
  ++searches_;
  searched_s_ = now_s;
  RoundAdvice advice;
  std::vector<bool> is_listed(catalog.nodes());
  const auto list = [&](NodeId node) {
    if (!is_listed[Index(node)]) advice.candidates.push_back(node);
    is_listed[Index(node)] = true;
  };
  std::vector<NodeId> ends(catalog.pods(), kNoNode);  // A pod may move again with its new host.
  std::vector<PodId> moved;
  for (const RemovableNode& removal : best->plan.remove) {
    list(removal.node);
    for (const Move& move : removal.moves) {
      if (ends[Index(move.pod)] == kNoNode) moved.push_back(move.pod);
      ends[Index(move.pod)] = move.to;
    }
  }
  for (const NodeId node : best->order) list(node);
  for (const PodId pod : moved) advice.suggestions.push_back({.pod = pod, .to = ends[Index(pod)]});
  order_.clear();
  for (const NodeId node : advice.candidates) order_.emplace_back(catalog.NodeName(node));
  return advice;
}

std::optional<RoundAdvice> RoundAdvisor::AsBefore(const Observation& observed) const {
  const ClusterSnapshot& snapshot = *observed.snapshot;
  const Catalog& catalog = snapshot.catalog();
  RoundAdvice advice;
  std::vector<bool> is_listed(catalog.nodes());
  const auto list = [&](NodeId node) {
    const NodeGroup* const group = observed.groups.Find(node);
    if (is_listed[Index(node)] || !snapshot.Contains(node)) return;
    if (group == nullptr || !MayShrink(*group)) return;
    advice.candidates.push_back(node);
    is_listed[Index(node)] = true;
  };
  for (const std::string& name : order_) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (node.ok()) list(*node);
  }
  snapshot.alive().ForEach(list);
  return advice;
}

}  // namespace ebb
