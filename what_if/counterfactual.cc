#include "what_if/counterfactual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/figures.h"
#include "engine/pass/workloads.h"
#include "predicates/filters.h"
#include "report/block_words.h"
#include "report/pass_replay.h"
#include "what_if/mild_remedy.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Changes of one kind, the smallest first.  The first that helps is reported.
using Ladder = std::vector<Remedy>;

// 1, 2, 4, ... and `last`.
std::vector<int64_t> Steps(int64_t last) {
  std::vector<int64_t> steps;
  for (int64_t step = 1; step < last; step *= 2) steps.push_back(step);
  if (last > 0) steps.push_back(last);
  return steps;
}

class RemedyFinder {
 public:
  RemedyFinder(const PlanReport& report, const Explanation& explanation,
               RemedyPlanner& remedy_planner)
      : report_(report), explanation_(explanation), remedy_planner_(remedy_planner) {}

  absl::StatusOr<std::vector<Ladder>> Ladders();

 private:
  // A workload, and its pods in question.
  using OfWorkload = std::pair<PlanReport::Keeper, std::vector<PodId>>;
  // The pods by workload, both in the order of `pods`.
  [[nodiscard]] std::vector<OfWorkload> ByWorkload(std::span<const PodId> pods) const;
  // Finds the objects of the pods.
  absl::Status Find(std::span<const OfWorkload> workloads);

  [[nodiscard]] const Catalog& catalog() const { return report_.context.catalog(); }
  [[nodiscard]] std::string NodeName() const {
    return std::string(catalog().NodeName(explanation_.node));
  }
  [[nodiscard]] const NodeGroup* Group() const {
    return report_.context.groups->Find(explanation_.node);
  }

  [[nodiscard]] Ladder TriedFirst() const;
  [[nodiscard]] Ladder Annotation() const;
  [[nodiscard]] Ladder Threshold() const;
  [[nodiscard]] Ladder Minimum() const;
  [[nodiscard]] Ladder BudgetMore(PdbId pdb) const;
  [[nodiscard]] Ladder LargerShare() const;
  absl::StatusOr<Ladder> Movable(BlockingPodReason reason);
  absl::StatusOr<std::vector<Ladder>> WithoutRules();
  [[nodiscard]] std::vector<Ladder> MoreRoom() const;

  const PlanReport& report_;
  const Explanation& explanation_;
  RemedyPlanner& remedy_planner_;
};

// An empty line means that no one line makes the change.
void AddCommand(std::string line, Remedy& remedy) {
  if (!line.empty()) remedy.commands.push_back(std::move(line));
}

std::vector<RemedyFinder::OfWorkload> RemedyFinder::ByWorkload(std::span<const PodId> pods) const {
  std::vector<OfWorkload> workloads;
  for (const PodId pod : pods) {
    const PlanReport::Keeper of = WorkloadOf(catalog(), pod);
    auto found = std::ranges::find_if(workloads, [&](const OfWorkload& workload) {
      const PlanReport::Keeper& other = workload.first;
      return std::tie(other.kind, other.namespace_name, other.name) ==
             std::tie(of.kind, of.namespace_name, of.name);
    });
    if (found == workloads.end()) found = workloads.insert(found, {of, {}});
    found->second.push_back(pod);
  }
  return workloads;
}

absl::Status RemedyFinder::Find(std::span<const OfWorkload> workloads) {
  std::vector<ObjectName> names;
  for (const auto& [workload, pods] : workloads) {
    for (const PodId pod : pods) names.push_back(NameOfPod(catalog(), pod));
  }
  return remedy_planner_.patched().Find(names);
}

absl::StatusOr<std::vector<Ladder>> RemedyFinder::Ladders() {
  using enum UnremovableReason;
  std::vector<Ladder> ladders;
  switch (explanation_.kept->why.reason) {
    case kScaleDownDisabledAnnotation:
      ladders.push_back(Annotation());
      break;
    case kNotUnderutilized:
      ladders.push_back(Threshold());
      break;
    case kConsolidationDisabled:
    case kNodeNotEmpty:
    case kConsolidationPolicyNotEvaluated:
    case kEmptyBudgetReached:
    case kUnderutilizedBudgetReached:
      if (auto pool = RemedyOfNodePool(report_, explanation_.kept->why)) {
        Remedy remedy{.what = pool->patch.of.Text() + " has " + pool->change,
                      .objects = {std::move(pool->patch)}};
        if (!pool->command.empty()) remedy.commands.push_back(std::move(pool->command));
        ladders.push_back({std::move(remedy)});
      }
      break;
    case kNodeGroupMinSizeReached:
      ladders.push_back(Minimum());
      break;
    case kBlockedByPod: {
      const UnremovableNode& why = explanation_.kept->why;
      const bool is_share = why.blocking_reason == BlockingPodReason::kWorkloadShareReached;
      if (why.blocking_reason == BlockingPodReason::kPendingPodNotUnderstood) {
        const Catalog& objects = report_.context.catalog();
        if (objects.IsBufferPod(why.pod)) {
          const PodShape& shape = objects.shape_of(why.pod);
          const ObjectPatch patch = BufferIsNotReady(objects.Text(shape.namespace_name),
                                                     objects.Text(shape.controller.name));
          ladders.push_back({{.what = patch.of.Text() + " keeps no room", .objects = {patch}}});
          break;
        }
        const ObjectName pod = NameOfPod(objects, why.pod);
        ladders.push_back({{.what = "pending " + pod.Text() + " does not wait for a node",
                            .objects = {PodIsGated(pod)}}});
        break;
      }
      if (why.pdb || is_share) {
        ladders.push_back(TriedFirst());
        ladders.push_back(why.pdb ? BudgetMore(*why.pdb) : LargerShare());
        break;
      }
      absl::StatusOr<Ladder> movable = Movable(why.blocking_reason);
      if (!movable.ok()) return movable.status();
      ladders.push_back(*std::move(movable));
      break;
    }
    case kNoPlaceToMovePods: {
      ladders.push_back(TriedFirst());
      absl::StatusOr<std::vector<Ladder>> without = WithoutRules();
      if (!without.ok()) return without;
      std::ranges::move(*without, std::back_inserter(ladders));
      const bool follows_vpa = std::ranges::any_of(explanation_.places, [&](const auto& place) {
        return place.to == kNoNode && FollowsVpa(catalog(), place.pod);
      });
      if (follows_vpa) ladders.push_back({IgnoreVpas(catalog())});
      std::ranges::move(MoreRoom(), std::back_inserter(ladders));
      break;
    }
    default:
      break;
  }
  return ladders;
}

// Finds out whether other nodes took the room that this node's pods needed.
Ladder RemedyFinder::TriedFirst() const {
  std::vector<std::string> order = {NodeName()};
  for (const NodeId node : report_.context.made->order) {
    if (node != explanation_.node) order.emplace_back(catalog().NodeName(node));
  }
  return {{.what = "it is tried before all other nodes",
           .objects = {},
           .adjust = [order = std::move(order)](PlanQuery& query, NodeGroups&) {
             query.candidates = order;
             query.order = CandidateOrder::kInput;
           }}};
}

Ladder RemedyFinder::Annotation() const {
  const std::vector<std::string_view> annotations =
      AnnotationsThatKeep(report_.context, explanation_.node);
  AnnotationChanges changes;
  for (const std::string_view key : annotations) changes[std::string(key)] = std::nullopt;
  Ladder ladder = {
      {.what = fmt::format("it is no longer annotated {}", fmt::join(annotations, " and ")),
       .objects = {NodeMayGo(NodeName())}}};
  AddCommand(LineToAnnotateNodes(std::vector<std::string>{NodeName()}, changes), ladder[0]);
  return ladder;
}

Ladder RemedyFinder::Threshold() const {
  const auto& utilization = report_.context.made->plan.utilization[Index(explanation_.node)];
  if (!utilization || !(utilization->utilization <= 1)) return {};
  const double threshold = std::ceil(utilization->utilization * 100) / 100;
  const bool gpu = !CountsCpuAndMemory(catalog(), *utilization);
  const NodeGroup* const group = Group();
  const std::string name = group == nullptr ? "" : group->name;
  return {{.what = fmt::format("the utilization threshold of group {} is {}", name, threshold),
           .objects = {},
           .adjust = [=](PlanQuery&, NodeGroups& groups) {
             for (NodeGroup& each : groups.groups) {
               if (each.name != name) continue;
               (gpu ? each.scale_down_gpu_utilization_threshold
                    : each.scale_down_utilization_threshold) = threshold;
             }
           }}};
}

Ladder RemedyFinder::Minimum() const {
  Ladder ladder;
  const NodeGroup* const group = Group();
  if (group == nullptr) return ladder;
  for (const int64_t less : Steps(group->min_size)) {
    const int64_t min_size = group->min_size - less;
    ladder.push_back({.what = fmt::format("the minimum of group {} is {} instead of {}",
                                          group->name, min_size, group->min_size),
                      .objects = {},
                      .adjust = [name = group->name, min_size](PlanQuery&, NodeGroups& groups) {
                        for (NodeGroup& each : groups.groups) {
                          if (each.name == name) each.min_size = min_size;
                        }
                      }});
  }
  return ladder;
}

Ladder RemedyFinder::BudgetMore(PdbId pdb) const {
  int64_t pods = 0;
  for (const Explanation::Pod& pod : explanation_.pods) {
    const std::span<const PdbId> budgets = catalog().ChargedBudgets(pod.pod);
    if (NeedsEviction(pod.outcome) && std::ranges::find(budgets, pdb) != budgets.end()) ++pods;
  }
  const Pdb& budget = catalog().pdbs()[Index(pdb)];
  // The budget's allowance cannot be computed, so any number would be a guess.
  if (budget.sync_failed) return {};
  const int64_t allowed = std::max(budget.disruptions_allowed, 0);
  Ladder ladder;
  for (const int64_t more : Steps(std::max<int64_t>(pods, 1))) {
    const ObjectPatch patch = BudgetAllows(catalog(), pdb, allowed + more);
    Remedy& remedy = ladder.emplace_back();
    remedy.what = fmt::format("{} allows {} more", patch.of.Text(),
                              Count(static_cast<uint64_t>(more), "disruption", "disruptions"));
    remedy.objects = {patch};
    // Another budget allows more by itself when its pods are ready.
    if (more == 1 && OutlookOf(budget) == BudgetOutlook::kNeverAllows) {
      AddCommand(LineToAllowOne(patch.of.namespace_name, patch.of.name), remedy);
    }
  }
  return ladder;
}

// Shares at which the blocking pod's workload could lose these pods in addition to the pods that
// the plan evicted earlier; the last one is no limit.
Ladder RemedyFinder::LargerShare() const {
  const ClusterSnapshot& start = report_.context.cluster->snapshot;
  const Workloads workloads(start);
  const uint32_t workload = workloads.of[Index(explanation_.kept->why.pod)];
  const std::vector<PodId>& all = workloads.pods[workload];
  std::set<PodId> evicted;
  for (const Explanation::Pod& pod : explanation_.pods) {
    if (!NeedsEviction(pod.outcome)) continue;
    if (workloads.of[Index(pod.pod)] == workload) evicted.insert(pod.pod);
  }
  PassReplay replay(report_.context);
  replay.GoTo(explanation_.node);
  for (const PodId pod : all) {
    if (replay.snapshot().NodeOf(pod) != start.NodeOf(pod)) evicted.insert(pod);
  }
  constexpr double kParts = 10'000;  // The flag accepts multiples of 1/kParts.
  const double needed =
      static_cast<double>(evicted.size()) / static_cast<double>(all.size()) * kParts;
  std::vector<double> shares = {1};
  // A share is rounded up, so the next smaller one may be enough.
  if (needed < kParts) shares.insert(shares.begin(), std::ceil(needed) / kParts);
  Ladder ladder;
  for (const double share : shares) {
    ladder.push_back(
        {.what = fmt::format("--max-workload-share is {} instead of {}", share,
                             report_.context.request->pass.max_workload_share),
         .objects = {},
         .adjust = [share](PlanQuery& query, NodeGroups&) { query.max_workload_share = share; }});
  }
  return ladder;
}

absl::StatusOr<Ladder> RemedyFinder::Movable(BlockingPodReason reason) {
  if (std::optional<Remedy> flag = FlagFor(reason)) return Ladder{*std::move(flag)};
  std::vector<PodId> blocking;
  for (const Explanation::Pod& pod : explanation_.pods) {
    if (pod.outcome == Explanation::Outcome::kBlocks && !pod.pdb) blocking.push_back(pod.pod);
  }
  const std::vector<OfWorkload> workloads = ByWorkload(blocking);
  if (absl::Status s = Find(workloads); !s.ok()) return s;
  Remedy remedy;
  std::vector<std::pair<std::string, std::vector<ObjectName>>> changed;  // By words of the change.
  for (const auto& [workload, pods] : workloads) {
    const AnnotationChanges changes = MildestChanges(report_, pods, remedy_planner_.patched());
    const std::string words = WordsOf(changes);
    auto alike = std::ranges::find(changed, words, [](const auto& each) { return each.first; });
    if (alike == changed.end()) alike = changed.insert(alike, {words, {}});
    for (const PodId pod : pods) {
      alike->second.push_back(NameOfPod(catalog(), pod));
      remedy.objects.push_back(Annotated(alike->second.back(), changes));
    }
    AddCommand(LineToAnnotate(catalog(), workload, pods, changes), remedy);
  }
  if (workloads.empty()) return Ladder();
  for (const auto& [words, pods] : changed) {
    remedy.what +=
        fmt::format("{}{}{} {} {}", remedy.what.empty() ? "" : ", and ", pods[0].Text(),
                    pods.size() == 1 ? "" : " and " + Count(pods.size() - 1, "other", "others"),
                    pods.size() == 1 ? "is" : "are", words);
  }
  return Ladder{std::move(remedy)};
}

// For the pods that find no place: removes one of their rules.
absl::StatusOr<std::vector<Ladder>> RemedyFinder::WithoutRules() {
  std::vector<PodId> without_place;
  for (const Explanation::Place& place : explanation_.places) {
    if (place.to == kNoNode) without_place.push_back(place.pod);
  }
  const std::vector<OfWorkload> workloads = ByWorkload(without_place);
  if (absl::Status s = Find(workloads); !s.ok()) return s;
  std::vector<Ladder> ladders;
  for (const PlaceRule& rule : PlaceRules()) {
    Remedy remedy;
    for (const auto& [workload, pods] : workloads) {
      const size_t before = remedy.objects.size();
      for (const PodId pod : pods) {
        const ObjectName name = NameOfPod(catalog(), pod);
        const std::string* const object = remedy_planner_.patched().Object(name);
        if (object == nullptr || !HasRule(*object, rule)) continue;
        remedy.objects.push_back(WithoutRule(name, rule));
      }
      if (remedy.objects.size() > before) AddCommand(LineToRemove(workload, rule.place), remedy);
    }
    if (remedy.objects.empty()) continue;
    remedy.what = remedy.objects.size() == 1
                      ? fmt::format("{} has no {}", remedy.objects[0].of.Text(), rule.name)
                      : fmt::format("{} of its pods have no {}", remedy.objects.size(), rule.name);
    ladders.push_back({std::move(remedy)});
  }
  return ladders;
}

// How much of each resource a node lacks for a pod.
using Shortage = std::map<ResourceId, int64_t>;

Shortage ShortageOn(const ClusterSnapshot& snapshot, const PodShape& shape, NodeId node) {
  Shortage missing;
  for (const auto& [resource, amount] : shape.fit_requests) {
    if (resource == kPods) continue;
    const int64_t free = snapshot.Free(resource, node);
    if (amount > free) missing[resource] = amount - free;
  }
  return missing;
}

std::string AmountText(const Catalog& catalog, ResourceId resource, int64_t amount) {
  const std::string_view name = catalog.ResourceName(resource);
  if (name == "cpu") return fmt::format("{}m cpu", amount);
  if (name == "memory" || name == "ephemeral-storage") {
    return fmt::format("{} {}", Bytes(amount), name);
  }
  return fmt::format("{} {}", amount, name);
}

// In each group, the node that lacks the least for the first pod without a place, and lacks only
// one resource.
std::vector<Ladder> RemedyFinder::MoreRoom() const {
  constexpr size_t kGroupsMax = 4;
  const auto unplaced = std::ranges::find(explanation_.places, kNoNode, &Explanation::Place::to);
  if (unplaced == explanation_.places.end()) return {};
  const PodShape& shape = catalog().shape_of(unplaced->pod);
  PassReplay replay(report_.context);
  // A pod that PreFilter rejects runs on no node, however much room there is.
  if (!PreFilter(replay.snapshot(), shape).fits) return {};
  replay.GoTo(explanation_.node);
  ClusterSnapshot& snapshot = replay.snapshot();
  snapshot.Fork();
  snapshot.SetGhost(explanation_.node);

  struct Best {
    NodeId node;
    ResourceId resource;
    int64_t missing;
    double share;  // `missing` as a share of what the node offers.
  };
  std::map<uint32_t, Best> best;  // By GroupId.
  for (uint32_t n = 0; n < catalog().nodes(); ++n) {
    const NodeId node{n};
    if (!snapshot.Contains(node) || node == explanation_.node) continue;
    if (!StaticFits(snapshot, shape, node) || !TopologyFits(snapshot, shape, node)) continue;
    const Shortage missing = ShortageOn(snapshot, shape, node);
    if (missing.size() != 1) continue;
    const auto& [resource, amount] = *missing.begin();
    const int64_t offers = snapshot.Allocatable(resource, node);
    const double share =
        offers == 0 ? INFINITY : static_cast<double>(amount) / static_cast<double>(offers);
    const Best here{.node = node, .resource = resource, .missing = amount, .share = share};
    const auto [place, is_new] = best.try_emplace(Index(report_.context.groups->Of(node)), here);
    if (!is_new && share < place->second.share) place->second = here;
  }
  std::vector<Best> sorted;
  for (const auto& [group, each] : best) sorted.push_back(each);
  std::ranges::stable_sort(sorted, {}, &Best::share);
  if (sorted.size() > kGroupsMax) sorted.resize(kGroupsMax);

  std::vector<Ladder> ladders;
  for (const Best& each : sorted) {
    const std::string node(catalog().NodeName(each.node));
    const std::string resource(catalog().ResourceName(each.resource));
    const int64_t offers = snapshot.Allocatable(each.resource, each.node) + each.missing;
    const ObjectPatch patch =
        NodeOffers(node, resource, fmt::format("{}{}", offers, each.resource == kCpu ? "m" : ""));
    const NodeGroup* const group = report_.context.groups->Find(each.node);
    ladders.push_back(
        {{.what = fmt::format("{} more on node {}{}",
                              AmountText(catalog(), each.resource, each.missing), node,
                              group == nullptr ? "" : " of group " + group->name),
          .objects = {patch},
          .adjust = nullptr}});
  }
  return ladders;
}

}  // namespace

absl::StatusOr<Counterfactual> FindRemedies(const PlanReport& report,
                                            const Explanation& explanation, const PlanQuery& query,
                                            LiveCluster& cluster, const Deadline* stops) {
  Counterfactual found;
  found.removed = report.remove.size();
  if (explanation.kept == nullptr) return found;
  const std::string node(report.context.catalog().NodeName(explanation.node));
  RemedyPlanner remedy_planner(cluster, query);
  const absl::StatusOr<std::vector<Ladder>> ladders =
      RemedyFinder(report, explanation, remedy_planner).Ladders();
  if (!ladders.ok()) return ladders.status();
  for (const Ladder& ladder : *ladders) {
    for (const Remedy& remedy : ladder) {
      if (stops != nullptr && stops->Expired()) {
        found.in_vain.push_back(
            {.what = remedy.what, .still_kept_by = "not tried, the time was over"});
        break;
      }
      absl::StatusOr<RemedyPlanner::Outcome> then = remedy_planner.Try(remedy, node);
      if (then.status().code() == absl::StatusCode::kFailedPrecondition) {
        found.in_vain.push_back(
            {.what = remedy.what,
             .still_kept_by = "not tried, " + std::string(then.status().message())});
        break;
      }
      if (!then.ok()) return then.status();
      if (std::ranges::find(then->goes, node) != then->goes.end()) {
        found.helps.push_back({.what = remedy.what,
                               .objects = remedy.objects,
                               .commands = remedy.commands,
                               .removed = then->goes.size()});
        break;
      }
      if (&remedy == &ladder.back()) {
        found.in_vain.push_back(
            {.what = remedy.what, .still_kept_by = std::move(then->still_kept_by)});
      }
    }
  }
  return found;
}

absl::StatusOr<std::vector<Counterfactual>> FindAllRemedies(const PlanReport& report,
                                                            std::span<const NodeId> nodes,
                                                            const PlanQuery& query,
                                                            LiveCluster& cluster,
                                                            const Deadline* stops) {
  std::vector<Counterfactual> all;
  for (const NodeId node : nodes) {
    absl::StatusOr<Counterfactual> found =
        FindRemedies(report, Explain(report, node), query, cluster, stops);
    if (!found.ok()) return found.status();
    all.push_back(*std::move(found));
  }
  return all;
}

void PutRemedies(std::span<const Counterfactual> found, Json& explanation) {
  for (size_t n = 0; n < found.size(); ++n) {
    explanation["nodes"][n]["remedies"] = CounterfactualJson(found[n]);
  }
}

Json CounterfactualJson(const Counterfactual& found) {
  Json helps = Json::array();
  for (const Counterfactual::Help& help : found.helps) {
    Json objects = Json::array();
    for (const ObjectPatch& patch : help.objects) {
      Json object = {{"kind", patch.of.kind}, {"metadata", Json::object()}};
      if (!patch.of.namespace_name.empty()) {
        object["metadata"]["namespace"] = patch.of.namespace_name;
      }
      object["metadata"]["name"] = patch.of.name;
      // merge_patch() would drop nulls, but they remove fields when the object is patched.
      object.update(Json::parse(patch.merge), /*merge_objects=*/true);
      objects.push_back(std::move(object));
    }
    Json json = {
        {"change", help.what},
        {"removed", help.removed},
        {"nodesGained", static_cast<int64_t>(help.removed) - static_cast<int64_t>(found.removed)}};
    if (!objects.empty()) json["objects"] = std::move(objects);
    if (!help.commands.empty()) json["commands"] = help.commands;
    helps.push_back(std::move(json));
  }
  Json in_vain = Json::array();
  for (const Counterfactual::InVain& each : found.in_vain) {
    in_vain.push_back({{"change", each.what}, {"stillKeptBy", each.still_kept_by}});
  }
  return {{"helps", std::move(helps)}, {"inVain", std::move(in_vain)}};
}

}  // namespace ebb
