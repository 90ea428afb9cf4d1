#include "tests/search/random_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/pass/workloads.h"
#include "engine/plan/atomic_groups.h"
#include "engine/plan/group_quotas.h"
#include "engine/plan/limits.h"
#include "engine/verify/verify.h"
#include "search/bound.h"
#include "search/search.h"
#include "tests/support/planner_twin.h"
#include "tests/support/random_apps.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::test {
namespace {

// A random cluster, and what is asked of it.
struct Asked {
  Asked(uint64_t seed, uint64_t iterations) : dice(seed) {
    const int nodes = dice.Percent(70) ? 2 + dice.Below(20) : 40 + dice.Below(60);
    Cluster cluster;
    for (int n = 0; n < nodes; ++n) cluster.Add(RandomNode(n, dice));
    std::vector<App> apps;
    for (int a = 0; a < 2 + dice.Below(8); ++a) apps.emplace_back(a, dice);
    const int pods = dice.Below(nodes * 5 + 1);
    for (int p = 0; p < pods; ++p) {
      Pod pod = dice.Of(apps).Make(p, dice);
      if (!dice.Percent(4)) pod.On(Name("n", dice.Below(nodes)));
      cluster.Add(pod);
    }
    for (const App& app : apps) {
      if (!dice.Percent(25)) continue;
      cluster.Add(
          Budget(app.name).In(app.namespace_name).Matching("app", app.name).Allows(dice.Below(12)));
    }
    snapshot.emplace(cluster.Build());
    MakeGroups();
    for (uint32_t p = 0; p < snapshot->catalog().pods(); ++p) {
      if (snapshot->NodeOf(PodId{p}) == kNoNode) pending.push_back(PodId{p});
    }
    request.pass.now_s = kAppsNow;
    request.pass.pending = pending;
    request.planner.scale_down_utilization_threshold = dice.Percent(50) ? 0.5 : 2;
    request.planner.drain.skip_nodes_with_system_pods = dice.Percent(50);
    request.order =
        dice.Of<CandidateOrder>({CandidateOrder::kAutoscaler, CandidateOrder::kInput,
                                 CandidateOrder::kFewestPods, CandidateOrder::kLeastUtilized});
    if (dice.Percent(10)) request.pass.unneeded_limit = FirstPassLimit(1 + dice.Below(6));
    destinations = snapshot->alive();
    for (uint32_t n = 0; n < snapshot->catalog().nodes(); ++n) {
      if (dice.Percent(20)) destinations.Erase(NodeId{n});
    }
    if (dice.Percent(20)) request.pass.destinations = &destinations;
    if (dice.Percent(20)) request.pass.max_workload_share = 0.01 * (1 + dice.Below(70));
    options.seed = seed;
    options.iterations = iterations;
    options.iterations_without_gain = iterations;
    if (dice.Percent(30)) {
      for (uint32_t n = 0; n < snapshot->catalog().nodes(); ++n) worth.push_back(dice.Below(5));
      options.worth = worth;
    }
  }

  void MakeGroups() {
    groups.groups.resize(3);
    groups.groups[0].name = "one";
    groups.groups[1].name = "whole";
    groups.groups[1].atomic = true;
    groups.groups[2].name = "small";
    for (uint32_t n = 0; n < snapshot->catalog().nodes(); ++n) {
      const GroupId group{n % 7 == 3 ? 1u : n % 2 == 0 ? 0u : 2u};
      groups.group_of.push_back(n % 11 == 7 ? kNoGroup : group);
      if (n % 11 != 7) ++groups.groups[Index(group)].target_size;
    }
    groups.groups[2].min_size = dice.Below(static_cast<int>(groups.groups[2].target_size) + 1);
  }

  Dice dice;
  std::optional<ClusterSnapshot> snapshot;
  NodeGroups groups;
  NodeSet destinations;
  std::vector<PodId> pending;
  std::vector<int64_t> worth;
  PlanRequest request;
  SearchOptions options;
};

// What groups allow, counted again.
std::string BrokenLimit(const Asked& asked, const PlanResult& made) {
  std::vector<int64_t> quotas =
      GroupQuotas(*asked.snapshot, asked.groups, asked.request.pass.now_s);
  const std::vector<int64_t> registered = RegisteredNodes(*asked.snapshot, asked.groups);
  std::vector<int64_t> removed(quotas.size());
  for (const RemovableNode& node : made.plan.remove) {
    const GroupId group = asked.groups.Of(node.node);
    if (group == kNoGroup) return "a node of no group goes";
    ++removed[Index(group)];
  }
  for (size_t g = 0; g < quotas.size(); ++g) {
    const NodeGroup& group = asked.groups.groups[g];
    if (removed[g] > quotas[g]) return absl::StrCat("group ", group.name, " is below its minimum");
    if (group.atomic && removed[g] > 0 && !IsWhole(group, removed[g], registered[g])) {
      return absl::StrCat("group ", group.name, " goes in parts");
    }
  }
  return "";
}

// What may be evicted of each workload, counted again.
std::string BrokenShare(const Asked& asked, const Plan& plan) {
  const double share = asked.request.pass.max_workload_share;
  const Workloads workloads(*asked.snapshot);
  std::set<PodId> evicted;
  for (const RemovableNode& node : plan.remove) {
    for (const Move& move : node.moves) evicted.insert(move.pod);
  }
  for (const std::vector<PodId>& pods : workloads.pods) {
    const auto gone = std::ranges::count_if(pods, [&](PodId pod) { return evicted.contains(pod); });
    if (static_cast<double>(gone) >= share * static_cast<double>(pods.size()) + 1) {
      return absl::StrCat("of ", pods.size(), " pods of a workload ", gone, " are evicted");
    }
  }
  return "";
}

int64_t WorthOf(const Asked& asked, const Plan& plan) {
  int64_t worth = 0;
  for (const RemovableNode& node : plan.remove) {
    worth += asked.worth.empty() ? 1 : asked.worth[Index(node.node)];
  }
  return worth;
}

}  // namespace

RandomSearchResult RunRandomSearch(uint64_t seed, uint64_t iterations) {
  Asked asked(seed, iterations);
  ClusterSnapshot& snapshot = *asked.snapshot;
  RandomSearchResult result;
  result.nodes = snapshot.nodes();
  const auto wrong = [&](std::string what) {
    result.wrong = std::move(what);
    return result;
  };
  const std::string before = snapshot.Fingerprint();
  absl::StatusOr<PlanResult> greedy = MakePlan(snapshot, asked.groups, asked.request);
  if (!greedy.ok()) return wrong(std::string(greedy.status().message()));
  absl::StatusOr<SearchResult> found =
      OptimizePlan(snapshot, asked.groups, asked.request, asked.options);
  if (!found.ok()) return wrong(std::string(found.status().message()));
  if (snapshot.Fingerprint() != before) return wrong("the search changed the snapshot");
  const Parallelism three(3);
  absl::StatusOr<SearchResult> again =
      OptimizePlan(snapshot, asked.groups, asked.request, asked.options, three);
  if (!again.ok()) return wrong(std::string(again.status().message()));
  if (PlanText(snapshot, again->best.plan) != PlanText(snapshot, found->best.plan)) {
    return wrong("three threads find another plan than one");
  }
  result.greedy = WorthOf(asked, greedy->plan);
  result.best = WorthOf(asked, found->best.plan);
  result.plan = absl::StrCat(PlanText(snapshot, found->best.plan), found->iterations);
  if (found->greedy_worth != result.greedy) return wrong("the greedy plan is another");
  if (found->worth != result.best) return wrong("the worth is not that of the plan");
  if (result.best < result.greedy) return wrong("the search lost nodes");
  result.bound = BoundRemovals(snapshot, asked.groups, asked.request, asked.worth).worth;
  if (result.best > result.bound) return wrong("the plan is above the bound");
  const absl::Status verified = Verify(snapshot, asked.groups, asked.request.planner,
                                       LastPassInput(asked.request, found->best), found->best.plan);
  if (!verified.ok()) return wrong(std::string(verified.message()));
  if (std::string broken = BrokenShare(asked, found->best.plan); !broken.empty()) {
    return wrong(std::move(broken));
  }
  return wrong(BrokenLimit(asked, found->best));
}

}  // namespace ebb::test
