#include "report/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/plan/eligibility.h"
#include "engine/plan/node_standing.h"
#include "groups/groups.h"
#include "report/block_words.h"
#include "report/karpenter_words.h"
#include "report/plan_time.h"
#include "snapshot/import/completeness.h"
#include "snapshot/objects/well_known_names.h"
#include "snapshot/workload_names.h"

namespace ebb {
namespace {

std::vector<PlanReport::Removal> Removals(const Plan& plan, const ClusterSnapshot& snapshot) {
  // Position of a pod in the list of removals.
  constexpr uint32_t kNowhere = ~uint32_t{0};
  struct Place {
    uint32_t removal = kNowhere;
    uint32_t pod = 0;
  };
  std::vector<PlanReport::Removal> removals;
  removals.reserve(plan.remove.size());
  std::vector<Place> moved(snapshot.catalog().pods());  // By PodId.
  for (const RemovableNode& node : plan.remove) {
    PlanReport::Removal& removal = removals.emplace_back();
    removal.node = node.node;
    removal.pods.reserve(node.moves.size());
    for (const Move& move : node.moves) {
      Place& place = moved[Index(move.pod)];
      if (place.removal != kNowhere) {
        PlanReport::PodMove& before = removals[place.removal].pods[place.pod];
        before.via.push_back(before.to);
        before.to = move.to;
        continue;
      }
      // A pod that was placed here before the pass does not run here yet.
      if (snapshot.NodeOf(move.pod) != node.node) continue;
      place = {static_cast<uint32_t>(removals.size() - 1),
               static_cast<uint32_t>(removal.pods.size())};
      removal.pods.push_back({.pod = move.pod, .to = move.to, .via = {}});
    }
  }
  return removals;
}

// What each budget has left before the first removal: what the pass left of it, plus what the pass
// spent.
std::vector<int64_t> BudgetsBefore(const Plan& plan, const Catalog& catalog) {
  std::vector<int64_t> left(plan.pdb_remaining.begin(), plan.pdb_remaining.end());
  left.resize(catalog.pdbs().size());
  for (const RemovableNode& node : plan.remove) {
    for (const Move& move : node.moves) {
      for (const PdbId pdb : catalog.ChargedBudgets(move.pod)) ++left[Index(pdb)];
    }
  }
  return left;
}

// Marks risky removals, for the plan as it is carried out: each pod is evicted once, from the node
// that it runs on now.
void FindRisks(const Plan& plan, const Catalog& catalog,
               std::vector<PlanReport::Removal>& removals) {
  std::vector<int64_t> left = BudgetsBefore(plan, catalog);
  for (PlanReport::Removal& removal : removals) {
    for (const PlanReport::PodMove& move : removal.pods) {
      for (const PdbId pdb : catalog.ChargedBudgets(move.pod)) {
        removal.risky |= --left[Index(pdb)] < 0;
      }
    }
  }
}

// If pods of nodes in deletion find no room, the pass judges no candidate and its plan lists none.
void AddNotJudged(const PlanContext& context, std::vector<PlanReport::Kept>& kept) {
  const Catalog& catalog = context.catalog();
  NodeSet listed(catalog.nodes());
  for (const PlanReport::Kept& each : kept) listed.Insert(each.why.node);
  for (const NodeId node : context.made->candidates) {
    if (listed.Contains(node)) continue;
    UnremovableNode why;
    why.node = node;
    if (IsBeingDeleted(catalog.node(node), context.request->pass.now_s) ||
        IsLeaving(catalog, node)) {
      why.reason = UnremovableReason::kCurrentlyBeingDeleted;
      kept.push_back({why, ToString(why.reason)});
    } else {
      kept.push_back({why, kNotJudged});
    }
  }
}

std::vector<PlanReport::Kept> KeptNodes(const PlanContext& context) {
  const PlanResult& made = *context.made;
  std::vector<PlanReport::Kept> kept;
  for (const auto* list : {&made.excluded, &made.plan.keep}) {
    for (const UnremovableNode& node : *list) kept.push_back({node, ToString(node.reason)});
  }
  for (const NodeId node : made.plan.skipped) {
    UnremovableNode skipped;
    skipped.node = node;
    kept.push_back({skipped, kNotJudged});
  }
  if (made.plan.termination == Termination::kNoRoomForPending) AddNotJudged(context, kept);
  std::erase_if(kept, [&](const PlanReport::Kept& each) { return context.Buys(each.why.node); });
  std::sort(kept.begin(), kept.end(),
            [](const auto& a, const auto& b) { return a.why.node < b.why.node; });
  return kept;
}

// Sums up the nodes by the name that `name_of` returns for them.
template <typename NameOf>
std::vector<PlanReport::Share> Shares(const PlanReport& report, NameOf name_of) {
  std::map<std::string_view, PlanReport::Share> shares;
  report.context.cluster->snapshot.alive().ForEach([&](NodeId node) {
    if (report.context.Buys(node)) return;
    if (const std::string_view name = name_of(node); !name.empty()) ++shares[name].nodes;
  });
  for (const PlanReport::Removal& removal : report.remove) {
    const std::string_view name = name_of(removal.node);
    if (name.empty()) continue;
    PlanReport::Share& share = shares[name];
    ++share.removed;
    share.freed.Add(report.facts[Index(removal.node)].allocatable);
    if (const NodePrices* const prices = report.context.prices) {
      share.saved_per_hour += prices->hourly[Index(removal.node)];
    }
  }
  std::vector<PlanReport::Share> sorted;
  for (auto& [name, share] : shares) {
    share.name = name;
    sorted.push_back(share);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.removed > b.removed; });
  return sorted;
}

std::vector<PlanReport::Keeper> Keepers(const PlanReport& report) {
  std::map<std::tuple<std::string, std::string_view, std::string_view, std::string_view>,
           PlanReport::Keeper>
      keepers;
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.pod == kNoPod) continue;
    PlanReport::Keeper keeper = KeeperOf(report.context.catalog(), kept.why);
    const std::tuple key(keeper.kind, keeper.namespace_name, keeper.name, keeper.reason);
    ++keepers.try_emplace(key, std::move(keeper)).first->second.nodes;
  }
  std::vector<PlanReport::Keeper> sorted;
  for (auto& [key, keeper] : keepers) sorted.push_back(std::move(keeper));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return sorted;
}

std::string PodText(std::string pod, BlockingPodReason reason, std::string_view pdb) {
  if (reason == BlockingPodReason::kNoReason) return pod;
  return fmt::format("{}: {}{}{}", pod, ToString(reason), pdb.empty() ? "" : " ", pdb);
}

// Looks once at each kind, which means a look at all pods.
void FindMissingControllers(PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.blocking_reason != BlockingPodReason::kControllerNotFound) continue;
    const Owner& owner = catalog.shape_of(kept.why.pod).controller;
    const auto [place, is_new] =
        report.missing_controllers.try_emplace({owner.kind, owner.api_version});
    if (is_new) place->second = MissingControllerDetail(catalog, kept.why.pod);
  }
}

}  // namespace

std::string_view ToString(SearchStop stop) {
  static constexpr std::string_view kNames[] = {"nothingToSearch", "boundReached", "budgetUsed",
                                                "iterationsUsed",  "timeLimit",    "interrupted"};
  return kNames[static_cast<size_t>(stop)];
}

PlanReport::Keeper WorkloadOf(const Catalog& catalog, PodId pod) {
  const PodShape& shape = catalog.shape_of(pod);
  PlanReport::Keeper workload{.kind = "Pod",
                              .namespace_name = catalog.Text(shape.namespace_name),
                              .name = catalog.Text(catalog.pod(pod).name),
                              .reason = {}};
  if (!shape.has_controller) return workload;
  const auto [kind, name] = WorkloadNameOf(catalog, shape);
  workload.kind = kind;
  workload.name = name;
  return workload;
}

PlanReport::Keeper KeeperOf(const Catalog& catalog, const UnremovableNode& why) {
  PlanReport::Keeper keeper = WorkloadOf(catalog, why.pod);
  keeper.reason = why.reason == UnremovableReason::kBlockedByPod ? ToString(why.blocking_reason)
                                                                 : ToString(why.reason);
  if (why.pdb) {
    keeper.kind = "PodDisruptionBudget";
    keeper.name = catalog.Text(catalog.pdbs()[Index(*why.pdb)].name);
  }
  return keeper;
}

std::string ReasonText(const PlanReport::Kept& kept) {
  if (!kept.why.before || kept.why.before->reason == UnremovableReason::kNoReason) {
    return std::string(kept.reason);
  }
  return fmt::format("{} ({})", kept.reason, ToString(kept.why.before->reason));
}

std::string_view MissingController(const PlanReport& report, PodId pod) {
  const Owner& owner = report.context.catalog().shape_of(pod).controller;
  const auto found = report.missing_controllers.find({owner.kind, owner.api_version});
  return found == report.missing_controllers.end() ? std::string_view() : found->second;
}

std::string PodDetail(const PlanReport& report, const UnremovableNode& why) {
  if (why.pod == kNoPod || why.before) return "";
  if (why.reason == UnremovableReason::kNoPlaceToMovePods) {
    return PlaceWords(report.context.catalog(), why.pod);
  }
  if (why.blocking_reason == BlockingPodReason::kControllerNotFound) {
    return std::string(MissingController(report, why.pod));
  }
  return BlockWords(report.context.catalog(), why.pod, why.blocking_reason, why.pdb);
}

std::string KeptDetail(const PlanReport& report, const UnremovableNode& why) {
  const Catalog& catalog = report.context.catalog();
  UnremovableReason reason = why.reason;
  std::string text;
  if (why.before) {
    const PastVerdict& before = *why.before;
    if (before.pod_name == kNoText) return "";
    reason = before.reason;
    text = PodText(
        fmt::format("{}/{}", catalog.Text(before.pod_namespace), catalog.Text(before.pod_name)),
        before.blocking_reason, catalog.Text(before.pdb));
  } else {
    if (why.pod == kNoPod) return "";
    text = PodText(catalog.PodName(why.pod), why.blocking_reason,
                   why.pdb ? catalog.Text(catalog.pdbs()[Index(*why.pdb)].name) : "");
  }
  if (reason == UnremovableReason::kNoPlaceToMovePods) {
    const std::string unread = why.before ? "" : NotUnderstoodWords(catalog, why.pod);
    absl::StrAppend(&text, " ", unread.empty() ? "fits nowhere else" : unread);
  }
  const std::string detail = PodDetail(report, why);
  return detail.empty() ? text : fmt::format("{}; {}", text, detail);
}

std::vector<std::string_view> AnnotationsThatKeep(const PlanContext& context, NodeId node) {
  const NodeInfo& info = context.catalog().node(node);
  std::vector<std::string_view> annotations;
  if (info.scale_down_disabled) {
    annotations.emplace_back("cluster-autoscaler.kubernetes.io/scale-down-disabled");
  }
  if (info.do_not_disrupt && context.groups->ManagerOf(node) != PoolManager::kClusterAutoscaler) {
    annotations.emplace_back(info.do_not_consolidate ? "karpenter.sh/do-not-consolidate"
                                                     : "karpenter.sh/do-not-disrupt");
  }
  return annotations;
}

std::string NotReadyWords(const NodeGroups& groups, NodeId node) {
  const std::string why = WhyNotReady(groups, node);
  return why.empty() ? "" : absl::StrCat("counts as not ready: ", why);
}

std::string UnreadyWords(const PlanContext& context, NodeId node) {
  const NodeInfo& info = context.catalog().node(node);
  std::string words = NotReadyWords(*context.groups, node);
  if (words.empty() && !info.ready) words = "is not ready";
  const int64_t age_s = context.request->pass.now_s - info.creation_time;
  if (words.empty() || info.creation_time == 0 || age_s < 60) return words;
  absl::StrAppend(&words, ", ", DurationText(age_s), " after it was made");
  return words;
}

std::string DetailOf(const PlanContext& context, const UnremovableNode& why) {
  if (std::string words =
          KarpenterWords(context.catalog(), *context.groups, why, context.request->pass.now_s);
      !words.empty()) {
    return words;
  }
  if (why.reason == UnremovableReason::kNotAutoscaled) {
    return std::string(ToText(context.groups->WhyNoGroup(why.node)));
  }
  if (why.reason == UnremovableReason::kCurrentlyBeingDeleted) {
    const std::string leaving = WhyLeaving(context.catalog(), why.node);
    return leaving.empty() ? absl::StrCat("tainted ", Absl(kHardTaint)) : leaving;
  }
  if (why.reason == UnremovableReason::kNotStarted) {
    std::string starting =
        WhyStarting(context.catalog(), *context.groups, why.node, context.request->pass.now_s);
    // A round knew about a scale-up of the node's group; `groups` here does not contain it.
    return starting.empty() ? NotReadyWords(*context.groups, why.node) : starting;
  }
  std::string text = NotReadyWords(*context.groups, why.node);
  if (why.reason == UnremovableReason::kNotUnneededOtherReason) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", "its group is in cooldown");
  }
  const std::vector<std::string_view> annotations = AnnotationsThatKeep(context, why.node);
  if (annotations.empty()) return text;
  if (why.reason != UnremovableReason::kScaleDownDisabledAnnotation) {
    text += text.empty() ? "also " : "; also ";
  }
  return text + fmt::format("annotated {}", fmt::join(annotations, " and "));
}

std::string KeptBy(const PlanReport& report, const UnremovableNode& why) {
  const std::string pod = KeptDetail(report, why);
  const std::string detail = DetailOf(report.context, why);
  return fmt::format("{}{}{}", pod, pod.empty() || detail.empty() ? "" : "; ", detail);
}

size_t NodesThatMayGoLater(const PlanReport& report) {
  const std::vector<Pdb>& budgets = report.context.catalog().pdbs();
  return static_cast<size_t>(std::ranges::count_if(report.keep, [&](const PlanReport::Kept& kept) {
    return kept.why.reason == UnremovableReason::kBlockedByPod && kept.why.pdb &&
           OutlookOf(budgets[Index(*kept.why.pdb)]) == BudgetOutlook::kRecovers;
  }));
}

double ThresholdOf(const PlanContext& context, NodeId node) {
  const PlannerOptions& options = context.request->planner;
  const NodeGroup none;
  const NodeGroup* const found = context.groups->Find(node);
  const NodeGroup& group = found != nullptr ? *found : none;
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (utilization && !CountsCpuAndMemory(context.catalog(), *utilization)) {
    return group.scale_down_gpu_utilization_threshold.value_or(
        options.scale_down_gpu_utilization_threshold);
  }
  return group.scale_down_utilization_threshold.value_or(options.scale_down_utilization_threshold);
}

bool CountsCpuAndMemory(const Catalog& catalog, const Utilization& utilization) {
  return CountsCpuAndMemory(catalog.Text(utilization.resource));
}

bool CountsCpuAndMemory(std::string_view resource) {
  return resource == "cpu" || resource == "memory";
}

namespace {

bool HasSeveralArchitectures(const ClusterSnapshot& snapshot) {
  TextId one = kNoText;
  bool several = false;
  snapshot.alive().ForEach([&](NodeId node) {
    const TextId architecture = snapshot.catalog().node(node).architecture;
    if (architecture == kNoText) return;
    several |= one != kNoText && architecture != one;
    one = architecture;
  });
  return several;
}

}  // namespace

bool ChangesArchitecture(const Catalog& catalog, PodId pod, NodeId from, NodeId to) {
  const TextId before = catalog.node(from).architecture;
  const TextId after = catalog.node(to).architecture;
  return before != kNoText && after != kNoText && before != after &&
         !catalog.constraints(catalog.shape_of(pod).constraints).names_architecture;
}

std::optional<InputWarning> WarningOfArchitectures(const ClusterSnapshot& snapshot,
                                                   const Plan& plan) {
  const Catalog& catalog = snapshot.catalog();
  if (!HasSeveralArchitectures(snapshot)) return std::nullopt;  // The usual case.
  size_t pods = 0;
  std::string first;
  for (const PlanReport::Removal& removal : Removals(plan, snapshot)) {
    for (const PlanReport::PodMove& move : removal.pods) {
      const NodeId from = snapshot.NodeOf(move.pod);
      if (!ChangesArchitecture(catalog, move.pod, from, move.to) || pods++ > 0) continue;
      first = absl::StrCat(catalog.PodName(move.pod), " from ",
                           Absl(catalog.Text(catalog.node(from).architecture)), " to ",
                           Absl(catalog.Text(catalog.node(move.to).architecture)));
    }
  }
  if (pods == 0) return std::nullopt;
  return InputWarning{
      std::string(kMovesToOtherArchitecture),
      absl::StrCat(
          Count(pods, "pod moves", "pods move"),
          " to a node of another architecture and no selector names theirs: ", Printable(first),
          pods > 1 ? ", ..." : "", "; their images must be made for both"),
      ""};
}

size_t CountBufferPods(const Catalog& catalog, std::span<const PodId> pods) {
  return static_cast<size_t>(
      std::ranges::count_if(pods, [&](PodId pod) { return catalog.IsBufferPod(pod); }));
}
size_t CountBufferPods(const Catalog& catalog, std::span<const Move> moves) {
  return static_cast<size_t>(std::ranges::count_if(
      moves, [&](const Move& move) { return catalog.IsBufferPod(move.pod); }));
}

PodsWithRoom CountRoom(const PlanContext& context) {
  const std::span<const PodId> evicting = context.request->pass.evicting;
  const absl::flat_hash_set<PodId> displaced(evicting.begin(), evicting.end());
  const std::vector<Move>& packed = context.made->plan.packed;
  const auto placed = static_cast<size_t>(std::ranges::count_if(
      packed, [&](const Move& move) { return displaced.contains(move.pod); }));
  const auto pending = static_cast<size_t>(std::ranges::count_if(
      context.cluster->pending, [&](PodId pod) { return !displaced.contains(pod); }));
  // Pods of CapacityBuffers do not count.
  const Catalog& catalog = context.catalog();
  const size_t of_buffers = CountBufferPods(catalog, context.cluster->pending);
  return {.pending = pending - of_buffers,
          .pending_placed = packed.size() - placed - CountBufferPods(catalog, packed),
          .displaced = displaced.size(),
          .displaced_placed = placed};
}

size_t RunningPods(const PlanContext& context) {
  const ClusterSnapshot& snapshot = context.cluster->snapshot;
  size_t pods = snapshot.placed_pods() + context.request->pass.evicting.size();
  for (const NodeId node : context.new_nodes) pods -= snapshot.PodsOn(node).size();
  return pods;
}

bool PlanContext::Buys(NodeId node) const {
  return std::ranges::find(new_nodes, node) != new_nodes.end();
}

PlanReport MakeReport(const PlanContext& context) {
  const Plan& plan = context.made->plan;
  PlanReport report{.context = context,
                    .remove = Removals(plan, context.cluster->snapshot),
                    .keep = KeptNodes(context),
                    .kept_by_reason = {},
                    .pods = RunningPods(context),
                    .facts = {},
                    .freed = {},
                    .saved_per_hour = {},
                    .by_group = {},
                    .by_instance_type = {},
                    .by_capacity_type = {},
                    .keepers = {},
                    .missing_controllers = {}};
  FindRisks(plan, context.catalog(), report.remove);
  for (const PlanReport::Removal& removal : report.remove) report.moved += removal.pods.size();
  std::map<std::string_view, size_t> counts;
  for (const PlanReport::Kept& kept : report.keep) ++counts[kept.reason];
  report.kept_by_reason.assign(counts.begin(), counts.end());
  std::stable_sort(report.kept_by_reason.begin(), report.kept_by_reason.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  report.facts = FactsOfNodes(context.catalog());
  for (const PlanReport::Removal& removal : report.remove) {
    report.freed.Add(report.facts[Index(removal.node)].allocatable);
  }
  if (context.prices != nullptr) {
    double& saved = report.saved_per_hour.emplace(0);
    for (const PlanReport::Removal& removal : report.remove) {
      saved += context.prices->hourly[Index(removal.node)];
    }
  }
  report.by_group = Shares(report, [&](NodeId node) -> std::string_view {
    const NodeGroup* const group = context.groups->Find(node);
    return group == nullptr ? std::string_view() : group->name;
  });
  report.by_instance_type =
      Shares(report, [&](NodeId node) { return report.facts[Index(node)].instance_type; });
  report.by_capacity_type = Shares(report, [&](NodeId node) -> std::string_view {
    return report.facts[Index(node)].capacity_type;
  });
  report.keepers = Keepers(report);
  FindMissingControllers(report);
  return report;
}

std::string RemovedNames(const PlanContext& context) {
  std::string names;
  for (const RemovableNode& node : context.made->plan.remove) {
    absl::StrAppend(&names, "node/", Printable(context.catalog().NodeName(node.node)), "\n");
  }
  return names;
}

nlohmann::ordered_json AmountsJson(const NodeAmounts& amounts) {
  // Quicker than an initializer list, which makes an array for each member.
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json.get_ref<nlohmann::ordered_json::object_t&>().reserve(3);
  json["cpuMilli"] = amounts.cpu_milli;
  json["memoryBytes"] = amounts.memory_bytes;
  json["gpus"] = amounts.gpus;
  return json;
}

}  // namespace ebb
