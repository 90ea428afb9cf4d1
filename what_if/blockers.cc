#include "what_if/blockers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/figures.h"
#include "engine/plan/utilization.h"
#include "groups/prices.h"
#include "report/block_words.h"
#include "report/plan_json.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBeyondLimit = "it is beyond --limit";
constexpr std::string_view kOutOfTime = "the time was over";
constexpr std::string_view kNotComputed = "its budget cannot be computed (SyncFailed)";

// A blocker, and the change that removes it.
struct Candidate {
  Blocker blocker;
  Remedy remedy;
};

using WorkloadKey = std::tuple<std::string, std::string_view, std::string_view>;

WorkloadKey KeyOfWorkload(const PlanReport::Keeper& of) {
  return {of.kind, of.namespace_name, of.name};
}

// For each workload that keeps nodes, its pods that run on nodes.
std::map<WorkloadKey, std::vector<PodId>> PodsOfKeepers(const PlanReport& report) {
  std::map<WorkloadKey, std::vector<PodId>> pods;
  for (const PlanReport::Keeper& keeper : report.keepers) pods[KeyOfWorkload(keeper)];
  const ClusterSnapshot& snapshot = report.context.cluster->snapshot;
  const Catalog& catalog = snapshot.catalog();
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    if (!snapshot.Contains(NodeId{n})) continue;
    for (const PodId pod : snapshot.PodsOn(NodeId{n})) {
      const auto found = pods.find(KeyOfWorkload(WorkloadOf(catalog, pod)));
      if (found != pods.end()) found->second.push_back(pod);
    }
  }
  return pods;
}

bool IsShare(const PlanReport::Keeper& keeper) {
  return BlockingPodReasonOf(keeper.reason) == BlockingPodReason::kWorkloadShareReached;
}

Blocker BlockerOf(const PlanReport::Keeper& keeper) {
  Blocker blocker;
  blocker.kind = keeper.kind;
  blocker.namespace_name = keeper.namespace_name;
  blocker.name = keeper.name;
  blocker.reason = keeper.reason;
  blocker.keeps = keeper.nodes;
  return blocker;
}

Candidate BudgetCandidate(const Catalog& catalog, const PlanReport::Keeper& keeper) {
  Candidate candidate{.blocker = BlockerOf(keeper), .remedy = {}};
  candidate.blocker.change = "allows every disruption";
  for (uint32_t p = 0; p < catalog.pdbs().size(); ++p) {
    const Pdb& pdb = catalog.pdbs()[p];
    if (catalog.Text(pdb.namespace_name) == keeper.namespace_name &&
        catalog.Text(pdb.name) == keeper.name) {
      candidate.remedy.objects.push_back(BudgetAllows(catalog, PdbId{p}, INT32_MAX));
      candidate.blocker.detail = OutlookWords(pdb);
      if (pdb.sync_failed) candidate.blocker.not_tried = kNotComputed;
    }
  }
  return candidate;
}

// For pods that a rule of the autoscaler keeps where they are.
Candidate MovableCandidate(const Catalog& catalog, const PlanReport::Keeper& keeper,
                           const std::vector<PodId>& pods) {
  Candidate candidate{.blocker = BlockerOf(keeper), .remedy = {}};
  const BlockingPodReason reason = BlockingPodReasonOf(keeper.reason);
  if (std::optional<Remedy> flag = FlagFor(reason)) {
    candidate.blocker.change = flag->what;
    candidate.remedy = *std::move(flag);
    return candidate;
  }
  candidate.blocker.change = "pods " + MayMoveWords(catalog, pods);
  for (const PodId pod : pods) {
    candidate.remedy.objects.push_back(PodMayMove(NameOfPod(catalog, pod)));
  }
  return candidate;
}

// For pods that found no place: one candidate for each of their rules.
std::vector<Candidate> PlaceCandidates(const Catalog& catalog, const PlanReport::Keeper& keeper,
                                       const std::vector<PodId>& pods, PatchedCluster& patched) {
  std::vector<Candidate> candidates;
  for (const PlaceRule& rule : PlaceRules()) {
    Candidate candidate{.blocker = BlockerOf(keeper), .remedy = {}};
    candidate.blocker.change = fmt::format("pods without {}", rule.name);
    for (const PodId pod : pods) {
      const ObjectName name = NameOfPod(catalog, pod);
      const std::string* const object = patched.Object(name);
      if (object != nullptr && HasRule(*object, rule)) {
        candidate.remedy.objects.push_back(WithoutRule(name, rule));
      }
    }
    if (!candidate.remedy.objects.empty()) candidates.push_back(std::move(candidate));
  }
  if (candidates.empty()) {
    Candidate& lone = candidates.emplace_back();
    lone.blocker = BlockerOf(keeper);
    lone.blocker.not_tried =
        "its pods find no room, and no scheduling rule of theirs could be left out";
    for (const PodId pod : pods) {
      if (catalog.shape_of(pod).not_understood.empty()) continue;
      lone.blocker.detail =
          fmt::format("{} {}", catalog.PodName(pod), NotUnderstoodWords(catalog, pod));
      lone.blocker.not_tried = "ebb does not evaluate a constraint of its pods";
      break;
    }
  }
  return candidates;
}

bool IsHeldByPending(const PlanReport::Keeper& keeper) {
  return BlockingPodReasonOf(keeper.reason) == BlockingPodReason::kPendingPodNotUnderstood;
}

// One candidate for each workload with pending pods: room is kept for the pods on nodes that stay,
// or the pods are not understood and may need such nodes.
std::vector<Candidate> PendingCandidates(const PlanReport& report) {
  const LoadedCluster& cluster = *report.context.cluster;
  const Catalog& catalog = report.context.catalog();
  std::vector<bool> is_kept(catalog.nodes());
  for (const PlanReport::Kept& kept : report.keep) is_kept[Index(kept.why.node)] = true;
  std::vector<bool> keeps(catalog.pods());
  for (const Move& move : report.context.made->plan.packed) {
    keeps[Index(move.pod)] = is_kept[Index(move.to)];
  }
  struct Waiting {
    std::vector<PodId> pods;
    std::set<NodeId> nodes;
    bool held = false;  // Its pods are not understood.
  };
  std::map<WorkloadKey, Waiting> workloads;
  // The first pending pods are displaced pods, which run.
  const size_t displaced = std::min(report.context.request->pass.must_fit, cluster.pending.size());
  for (const PodId pod : std::span(cluster.pending).subspan(displaced)) {
    const bool held = !catalog.shape_of(pod).not_understood.empty();
    if (!keeps[Index(pod)] && !held) continue;
    Waiting& waiting = workloads[KeyOfWorkload(WorkloadOf(catalog, pod))];
    waiting.pods.push_back(pod);
    waiting.held |= held;
  }
  for (const Move& move : report.context.made->plan.packed) {
    const auto found = workloads.find(KeyOfWorkload(WorkloadOf(catalog, move.pod)));
    if (found != workloads.end() && keeps[Index(move.pod)]) found->second.nodes.insert(move.to);
  }
  std::vector<Candidate> candidates;
  for (const auto& [key, waiting] : workloads) {
    Candidate& candidate = candidates.emplace_back();
    candidate.blocker.kind = std::get<0>(key);
    candidate.blocker.namespace_name = std::get<1>(key);
    candidate.blocker.name = std::get<2>(key);
    candidate.blocker.reason =
        waiting.held ? ToString(BlockingPodReason::kPendingPodNotUnderstood) : "RoomForPendingPods";
    candidate.blocker.keeps = waiting.nodes.size();
    for (const PlanReport::Keeper& keeper : report.keepers) {
      if (IsHeldByPending(keeper) && KeyOfWorkload(keeper) == key) {
        candidate.blocker.keeps += keeper.nodes;
      }
    }
    candidate.blocker.change =
        fmt::format("without its {}", Count(waiting.pods.size(), "pending pod", "pending pods"));
    for (const PodId pod : waiting.pods) {
      candidate.remedy.objects.push_back(PodIsGated(NameOfPod(catalog, pod)));
    }
  }
  return candidates;
}

// Whether the node's utilization would be below the threshold if requests of DaemonSet pods did not
// count.
bool StaysForDaemonSets(const PlanReport& report, NodeId node) {
  const PlanContext& context = report.context;
  const auto& counted = context.made->plan.utilization[Index(node)];
  if (!counted || !CountsCpuAndMemory(context.catalog(), *counted)) return false;
  const NodeGroup* const group = context.groups->Find(node);
  const PlannerOptions& options = context.request->planner;
  const bool ignores = options.ignore_daemonsets_utilization;
  if (group == nullptr || group->ignore_daemonsets_utilization.value_or(ignores)) return false;
  const auto without = CalculateUtilization(
      context.cluster->snapshot, node,
      {.ignore_daemonsets = true, .ignore_mirror_pods = options.ignore_mirror_pods_utilization},
      context.request->pass.now_s);
  return without && without->utilization <= ThresholdOf(context, node);
}

// For nodes that stay because of the requests of their DaemonSet pods.
Candidate DaemonSetCandidate(size_t keeps) {
  Candidate candidate;
  candidate.blocker.kind = "Flag";
  candidate.blocker.name = "--ignore-daemonsets-utilization";
  candidate.blocker.reason = ToString(UnremovableReason::kNotUnderutilized);
  candidate.blocker.change = "set in every group";
  candidate.blocker.keeps = keeps;
  candidate.remedy.adjust = [](PlanQuery& query, NodeGroups& groups) {
    query.planner.ignore_daemonsets_utilization = true;
    for (NodeGroup& each : groups.groups) each.ignore_daemonsets_utilization.reset();
  };
  return candidate;
}

// Obstacles of nodes that are not pods.
std::vector<Candidate> NodeCandidates(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::map<std::string, Candidate> annotated;                     // By group.
  std::map<std::string, std::set<std::string_view>> annotations;  // By group.
  std::map<std::string, Candidate> minimums;
  Candidate threshold;
  size_t for_daemonsets = 0;
  for (const PlanReport::Kept& kept : report.keep) {
    const NodeGroup* const group = report.context.groups->Find(kept.why.node);
    const std::string name = group == nullptr ? "" : group->name;
    if (kept.why.reason == UnremovableReason::kScaleDownDisabledAnnotation) {
      Candidate& of_group = annotated[name];
      const auto names = AnnotationsThatKeep(report.context, kept.why.node);
      annotations[name].insert(names.begin(), names.end());
      of_group.remedy.objects.push_back(NodeMayGo(std::string(catalog.NodeName(kept.why.node))));
      ++of_group.blocker.keeps;
    } else if (kept.why.reason == UnremovableReason::kNodeGroupMinSizeReached) {
      Candidate& of_group = minimums[name];
      of_group.blocker.change = "minSize: 0";
      of_group.remedy.adjust = [name](PlanQuery&, NodeGroups& groups) {
        for (NodeGroup& each : groups.groups) {
          if (each.name == name) each.min_size = 0;
        }
      };
      ++of_group.blocker.keeps;
    } else if (kept.why.reason == UnremovableReason::kNotUnderutilized) {
      ++threshold.blocker.keeps;
      if (StaysForDaemonSets(report, kept.why.node)) ++for_daemonsets;
    }
  }
  std::vector<Candidate> candidates;
  const auto add = [&](const std::string& name, UnremovableReason reason, Candidate candidate) {
    candidate.blocker.kind = "NodeGroup";
    candidate.blocker.name = name;
    candidate.blocker.reason = ToString(reason);
    candidates.push_back(std::move(candidate));
  };
  for (auto& [group, candidate] : annotated) {
    candidate.blocker.change =
        fmt::format("nodes without {}", fmt::join(annotations[group], " and "));
    add(group, UnremovableReason::kScaleDownDisabledAnnotation, std::move(candidate));
  }
  for (auto& [group, candidate] : minimums) {
    add(group, UnremovableReason::kNodeGroupMinSizeReached, std::move(candidate));
  }
  if (threshold.blocker.keeps > 0) {
    threshold.blocker.kind = "Flag";
    threshold.blocker.name = "--scale-down-utilization-threshold";
    threshold.blocker.reason = ToString(UnremovableReason::kNotUnderutilized);
    threshold.blocker.change = "1 for all nodes, GPU nodes included";
    threshold.remedy.adjust = [](PlanQuery& query, NodeGroups& groups) {
      query.planner.scale_down_utilization_threshold = 1;
      query.planner.scale_down_gpu_utilization_threshold = 1;
      for (NodeGroup& each : groups.groups) {
        each.scale_down_utilization_threshold.reset();
        each.scale_down_gpu_utilization_threshold.reset();
      }
    };
    candidates.push_back(std::move(threshold));
  }
  if (for_daemonsets > 0) candidates.push_back(DaemonSetCandidate(for_daemonsets));
  return candidates;
}

// The share of a workload's pods that may be evicted is one flag for all workloads.
std::optional<Candidate> ShareCandidate(const PlanReport& report) {
  Candidate candidate;
  candidate.blocker.kind = "Flag";
  candidate.blocker.name = "--max-workload-share";
  candidate.blocker.reason = ToString(BlockingPodReason::kWorkloadShareReached);
  candidate.blocker.change = "no limit";
  candidate.remedy.adjust = [](PlanQuery& query, NodeGroups&) { query.max_workload_share = 1; };
  for (const PlanReport::Keeper& keeper : report.keepers) {
    if (IsShare(keeper)) candidate.blocker.keeps += keeper.nodes;
  }
  if (candidate.blocker.keeps == 0) return std::nullopt;
  return candidate;
}

// All candidates; candidates that keep the most nodes come first.
absl::StatusOr<std::vector<Candidate>> Candidates(const PlanReport& report,
                                                  const BlockersOptions& options,
                                                  PatchedCluster& patched) {
  const Catalog& catalog = report.context.catalog();
  const auto pods = PodsOfKeepers(report);
  std::vector<ObjectName> unplaced;
  for (size_t k = 0; k < std::min(options.limit, report.keepers.size()); ++k) {
    const PlanReport::Keeper& keeper = report.keepers[k];
    if (UnremovableReasonOf(keeper.reason) != UnremovableReason::kNoPlaceToMovePods) continue;
    for (const PodId pod : pods.at(KeyOfWorkload(keeper))) {
      unplaced.push_back(NameOfPod(catalog, pod));
    }
  }
  if (absl::Status s = patched.Find(unplaced); !s.ok()) return s;

  std::vector<Candidate> candidates = NodeCandidates(report);
  if (std::optional<Candidate> share = ShareCandidate(report)) {
    candidates.push_back(*std::move(share));
  }
  std::ranges::move(PendingCandidates(report), std::back_inserter(candidates));
  for (size_t k = 0; k < report.keepers.size(); ++k) {
    const PlanReport::Keeper& keeper = report.keepers[k];
    if (IsHeldByPending(keeper)) continue;
    const std::vector<PodId>& its_pods = pods.at(KeyOfWorkload(keeper));
    if (IsShare(keeper)) {
      // Counted in the candidate for the flag.
    } else if (k >= options.limit) {
      Candidate& beyond = candidates.emplace_back();
      beyond.blocker = BlockerOf(keeper);
      beyond.blocker.not_tried = kBeyondLimit;
    } else if (keeper.kind == "PodDisruptionBudget") {
      candidates.push_back(BudgetCandidate(catalog, keeper));
    } else if (UnremovableReasonOf(keeper.reason) == UnremovableReason::kNoPlaceToMovePods) {
      std::ranges::move(PlaceCandidates(catalog, keeper, its_pods, patched),
                        std::back_inserter(candidates));
    } else {
      candidates.push_back(MovableCandidate(catalog, keeper, its_pods));
    }
  }
  std::ranges::stable_sort(candidates, std::ranges::greater(),
                           [](const Candidate& each) { return each.blocker.keeps; });
  return candidates;
}

// The nodes that the plan removes, in its order, followed by the other nodes.
std::vector<std::string> PlanFirst(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::vector<std::string> names;
  for (const PlanReport::Removal& each : report.remove) {
    names.emplace_back(catalog.NodeName(each.node));
  }
  for (const PlanReport::Kept& each : report.keep) {
    names.emplace_back(catalog.NodeName(each.why.node));
  }
  return names;
}

// The hourly price of all these nodes.
double PriceOf(const Catalog& catalog, const std::vector<std::string>& nodes,
               const BlockersOptions& options) {
  double sum = 0;
  for (const std::string& name : nodes) {
    const absl::StatusOr<NodeId> node = catalog.FindNode(name);
    if (node.ok()) sum += options.price(*node);
  }
  return sum;
}

}  // namespace

absl::StatusOr<Blockers> FindBlockers(const PlanReport& report, const PlanQuery& query,
                                      LiveCluster& cluster, const BlockersOptions& options) {
  const Catalog& catalog = report.context.catalog();
  RemedyPlanner remedy_planner(cluster, query);
  absl::StatusOr<std::vector<Candidate>> candidates =
      Candidates(report, options, remedy_planner.patched());
  if (!candidates.ok()) return candidates.status();
  std::vector<Remedy> remedies;
  for (const auto& [blocker, remedy] : *candidates) {
    if (remedies.size() == options.limit) break;
    if (blocker.not_tried.empty()) remedies.push_back(remedy);
  }
  if (absl::Status s = remedy_planner.Find(remedies); !s.ok()) return s;

  remedy_planner.TryInOrder(PlanFirst(report));
  const absl::StatusOr<RemedyPlanner::Outcome> now = remedy_planner.Try(Remedy());
  if (!now.ok()) return now.status();
  Blockers found{.removed = report.remove.size(), .kept = report.keep.size(), .blockers = {}};
  size_t tried = 0;
  size_t most = now->goes.size();  // Of the plans that were verified.
  for (auto& [blocker, remedy] : *candidates) {
    if (!blocker.not_tried.empty()) {
      // `not_tried` already says why.
    } else if (tried == remedies.size()) {
      blocker.not_tried = kBeyondLimit;
    } else if (options.deadline != nullptr && options.deadline->Expired()) {
      blocker.not_tried = kOutOfTime;
    } else {
      if (options.on_progress) options.on_progress(tried, remedies.size());
      ++tried;
      const absl::StatusOr<RemedyPlanner::Outcome> then =
          remedy_planner.TryForMoreThan(most, remedy);
      if (then.status().code() == absl::StatusCode::kFailedPrecondition) {
        blocker.not_tried = std::string(then.status().message());
        found.blockers.push_back(std::move(blocker));
        continue;
      }
      if (!then.ok()) return then.status();
      most = std::max(most, then->goes.size());
      blocker.gained =
          static_cast<int64_t>(then->goes.size()) - static_cast<int64_t>(now->goes.size());
      if (options.price) {
        blocker.saved_per_hour =
            PriceOf(catalog, then->goes, options) - PriceOf(catalog, now->goes, options);
      }
    }
    found.blockers.push_back(std::move(blocker));
  }
  std::ranges::stable_sort(found.blockers, [](const Blocker& a, const Blocker& b) {
    return a.gained.value_or(INT64_MIN) > b.gained.value_or(INT64_MIN);
  });
  return found;
}

Json BlockersJson(const Blockers& blockers) {
  Json list = Json::array();
  for (const Blocker& each : blockers.blockers) {
    Json json = {{"kind", each.kind}};
    if (!each.namespace_name.empty()) json["namespace"] = each.namespace_name;
    json["name"] = each.name;
    json["reason"] = each.reason;
    json["nodes"] = each.keeps;
    if (!each.change.empty()) json["change"] = each.change;
    if (!each.detail.empty()) json["detail"] = each.detail;
    if (each.gained) json["nodesGained"] = *each.gained;
    if (each.saved_per_hour) json["savedPerHourGained"] = RoundedAmount(*each.saved_per_hour);
    if (!each.not_tried.empty()) json["notTried"] = each.not_tried;
    list.push_back(std::move(json));
  }
  return {{"apiVersion", kPlanApiVersion},
          {"kind", "Blockers"},
          {"removed", blockers.removed},
          {"kept", blockers.kept},
          {"blockers", std::move(list)}};
}

}  // namespace ebb
