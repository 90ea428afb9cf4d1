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
#include "what_if/mild_remedy.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCapacityBuffer = "CapacityBuffer";
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

// What happens to a budget so that nodes go.  Each is tried as if the budget allowed every
// disruption, which takes several rounds.
std::string_view BudgetChange(BudgetOutlook outlook) {
  switch (outlook) {
    case BudgetOutlook::kRecovers:
      return "nothing: it recovers";
    case BudgetOutlook::kWaits:
      return "its pods become healthy";
    case BudgetOutlook::kNeverAllows:
      return "allows disruptions (maxUnavailable: 1)";
    case BudgetOutlook::kNotComputed:
    case BudgetOutlook::kUnknown:
      break;
  }
  return "allows every disruption";
}

Candidate BudgetCandidate(const Catalog& catalog, const PlanReport::Keeper& keeper) {
  Candidate candidate{.blocker = BlockerOf(keeper), .remedy = {}};
  for (uint32_t p = 0; p < catalog.pdbs().size(); ++p) {
    const Pdb& pdb = catalog.pdbs()[p];
    if (catalog.Text(pdb.namespace_name) == keeper.namespace_name &&
        catalog.Text(pdb.name) == keeper.name) {
      candidate.remedy.objects.push_back(BudgetAllows(catalog, PdbId{p}, INT32_MAX));
      const BudgetOutlook outlook = OutlookOf(pdb);
      candidate.blocker.change = BudgetChange(outlook);
      candidate.blocker.detail = OutlookWords(pdb);
      candidate.blocker.outlook = ToString(outlook);
      if (outlook == BudgetOutlook::kNeverAllows) {
        candidate.blocker.command = LineToAllowOne(keeper.namespace_name, keeper.name);
      }
      if (pdb.sync_failed) candidate.blocker.not_tried = kNotComputed;
    }
  }
  return candidate;
}

// For pods that a rule of the autoscaler keeps where they are.
Candidate MovableCandidate(const PlanReport& report, const PlanReport::Keeper& keeper,
                           const std::vector<PodId>& pods, const PatchedCluster& patched) {
  const Catalog& catalog = report.context.catalog();
  Candidate candidate{.blocker = BlockerOf(keeper), .remedy = {}};
  const BlockingPodReason reason = BlockingPodReasonOf(keeper.reason);
  if (std::optional<Remedy> flag = FlagFor(reason)) {
    candidate.blocker.change = flag->what;
    candidate.remedy = *std::move(flag);
    return candidate;
  }
  const AnnotationChanges changes = MildestChanges(report, pods, patched);
  candidate.blocker.change = "pods " + WordsOf(changes);
  candidate.blocker.command = LineToAnnotate(catalog, keeper, pods, changes);
  for (const PodId pod : pods) {
    candidate.remedy.objects.push_back(Annotated(NameOfPod(catalog, pod), changes));
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
    candidate.blocker.command = LineToRemove(keeper, rule.place);
    for (const PodId pod : pods) {
      const ObjectName name = NameOfPod(catalog, pod);
      const std::string* const object = patched.Object(name);
      if (object != nullptr && HasRule(*object, rule)) {
        candidate.remedy.objects.push_back(WithoutRule(name, rule));
      }
    }
    if (!candidate.remedy.objects.empty()) candidates.push_back(std::move(candidate));
  }
  const bool waits_for_vpa = std::ranges::any_of(pods, [&](PodId pod) {
    return FollowsVpa(catalog, pod) && !catalog.shape_of(pod).not_understood.empty();
  });
  // Counted in the candidate for --vpa=ignore.
  if (candidates.empty() && waits_for_vpa) return {};
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
// or the pods are not understood and may need such nodes.  Also one for each CapacityBuffer: the
// pods that stand for it are no objects of the cluster.
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
      const bool counts = IsHeldByPending(keeper) || keeper.kind == kCapacityBuffer;
      if (counts && KeyOfWorkload(keeper) == key) {
        candidate.blocker.keeps += keeper.nodes;
      }
    }
    if (catalog.IsBufferPod(waiting.pods.front())) {
      if (!waiting.held) candidate.blocker.reason = "RoomForCapacityBuffer";
      candidate.blocker.change =
          fmt::format("without the room for its {}", Count(waiting.pods.size(), "pod", "pods"));
      candidate.remedy.objects.push_back(
          BufferIsNotReady(candidate.blocker.namespace_name, candidate.blocker.name));
      continue;
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
  std::map<std::pair<std::string, UnremovableReason>, Candidate> pools;  // By NodePool.
  for (const PlanReport::Kept& kept : report.keep) {
    if (std::optional<NodePoolRemedy> of_pool = RemedyOfNodePool(report, kept.why)) {
      Candidate& candidate = pools[{of_pool->pool, kept.why.reason}];
      candidate.blocker.change = std::move(of_pool->change);
      candidate.blocker.command = std::move(of_pool->command);
      candidate.remedy.objects = {std::move(of_pool->patch)};
      ++candidate.blocker.keeps;
    }
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
    AnnotationChanges changes;
    for (const std::string_view key : annotations[group]) changes[std::string(key)] = std::nullopt;
    std::vector<std::string> nodes;
    for (const ObjectPatch& patch : candidate.remedy.objects) nodes.push_back(patch.of.name);
    candidate.blocker.command = LineToAnnotateNodes(nodes, changes);
    add(group, UnremovableReason::kScaleDownDisabledAnnotation, std::move(candidate));
  }
  for (auto& [pool, candidate] : pools) {
    add(pool.first, pool.second, std::move(candidate));
    candidates.back().blocker.kind = "NodePool";
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

// For nodes whose pods find no room for what VerticalPodAutoscalers will make them ask for.
std::optional<Candidate> VpaCandidate(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  Candidate candidate;
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.reason != UnremovableReason::kNoPlaceToMovePods || kept.why.pod == kNoPod) {
      continue;
    }
    candidate.blocker.keeps += FollowsVpa(catalog, kept.why.pod) ? 1 : 0;
  }
  if (candidate.blocker.keeps == 0) return std::nullopt;
  candidate.remedy = IgnoreVpas(catalog);
  candidate.blocker.kind = "Flag";
  candidate.blocker.name = candidate.remedy.what;
  candidate.blocker.reason = ToString(UnremovableReason::kNoPlaceToMovePods);
  candidate.blocker.change = "pods that move request what they request now";
  return candidate;
}

// All candidates; candidates that keep the most nodes come first.
absl::StatusOr<std::vector<Candidate>> Candidates(const PlanReport& report,
                                                  const BlockersOptions& options,
                                                  PatchedCluster& patched) {
  const Catalog& catalog = report.context.catalog();
  const auto pods = PodsOfKeepers(report);
  std::vector<ObjectName> read;  // Pods whose objects decide what is tried.
  for (size_t k = 0; k < std::min(options.limit, report.keepers.size()); ++k) {
    const PlanReport::Keeper& keeper = report.keepers[k];
    if (keeper.kind == "PodDisruptionBudget" || keeper.kind == kCapacityBuffer ||
        IsHeldByPending(keeper) || IsShare(keeper)) {
      continue;
    }
    for (const PodId pod : pods.at(KeyOfWorkload(keeper))) {
      read.push_back(NameOfPod(catalog, pod));
    }
  }
  if (absl::Status s = patched.Find(read); !s.ok()) return s;

  std::vector<Candidate> candidates = NodeCandidates(report);
  if (std::optional<Candidate> share = ShareCandidate(report)) {
    candidates.push_back(*std::move(share));
  }
  if (std::optional<Candidate> vpa = VpaCandidate(report)) candidates.push_back(*std::move(vpa));
  std::ranges::move(PendingCandidates(report), std::back_inserter(candidates));
  for (size_t k = 0; k < report.keepers.size(); ++k) {
    const PlanReport::Keeper& keeper = report.keepers[k];
    if (IsHeldByPending(keeper) || keeper.kind == kCapacityBuffer) continue;
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
      candidates.push_back(MovableCandidate(report, keeper, its_pods, patched));
    }
  }
  std::ranges::stable_sort(candidates, std::ranges::greater(),
                           [](const Candidate& each) { return each.blocker.keeps; });
  return candidates;
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

// Tries changes, and compares each plan with the one without any change.
class Trials {
 public:
  Trials(const PlanReport& report, RemedyPlanner& planner, const BlockersOptions& options)
      : catalog_(report.context.catalog()), planner_(planner), options_(options) {}

  // Makes the plan without any change.
  absl::Status Begin() {
    absl::StatusOr<RemedyPlanner::Outcome> now = planner_.Try(Remedy());
    if (!now.ok()) return now.status();
    now_ = static_cast<int64_t>(now->goes.size());
    most_ = now->goes.size();
    if (options_.price) cost_now_ = PriceOf(catalog_, now->goes, options_);
    return absl::OkStatus();
  }

  struct Gain {
    int64_t nodes = 0;
    std::optional<double> saved_per_hour;
  };
  absl::StatusOr<Gain> Try(const Remedy& remedy) {
    const absl::StatusOr<RemedyPlanner::Outcome> then = planner_.TryForMoreThan(most_, remedy);
    if (!then.ok()) return then.status();
    most_ = std::max(most_, then->goes.size());
    Gain gain{.nodes = static_cast<int64_t>(then->goes.size()) - now_, .saved_per_hour = {}};
    if (options_.price) gain.saved_per_hour = PriceOf(catalog_, then->goes, options_) - cost_now_;
    return gain;
  }

  [[nodiscard]] bool IsOver() const {
    return options_.deadline != nullptr && options_.deadline->Expired();
  }

 private:
  const Catalog& catalog_;
  RemedyPlanner& planner_;
  const BlockersOptions& options_;
  int64_t now_ = 0;  // Nodes that go without any change.
  size_t most_ = 0;  // Of the plans that were verified.
  double cost_now_ = 0;
};

bool Recovers(const Blocker& blocker) {
  return blocker.outlook == ToString(BudgetOutlook::kRecovers);
}

// Whether the change may be one of a set: a person makes it, of an object or a group.
bool MayBeInSet(const Candidate& candidate) {
  const Blocker& blocker = candidate.blocker;
  const bool pending =
      blocker.reason == "RoomForPendingPods" || blocker.kind == kCapacityBuffer ||
      BlockingPodReasonOf(blocker.reason) == BlockingPodReason::kPendingPodNotUnderstood;
  return blocker.gained && blocker.kind != "Flag" && !pending && !Recovers(blocker) &&
         FlagFor(BlockingPodReasonOf(blocker.reason)) == std::nullopt;
}

Remedy Together(const std::vector<Candidate>& candidates, const std::vector<size_t>& members) {
  Remedy all;
  std::vector<std::function<void(PlanQuery&, NodeGroups&)>> adjust;
  for (const size_t member : members) {
    const Remedy& remedy = candidates[member].remedy;
    all.objects.insert(all.objects.end(), remedy.objects.begin(), remedy.objects.end());
    if (remedy.adjust) adjust.push_back(remedy.adjust);
  }
  all.adjust = [adjust](PlanQuery& query, NodeGroups& groups) {
    for (const auto& each : adjust) each(query, groups);
  };
  return all;
}

// Adds sets of changes to `found`.  `candidates` are ranked as the blockers of `found`.
absl::Status TrySets(const std::vector<Candidate>& candidates, const BlockersOptions& options,
                     Trials& trials, Blockers& found) {
  std::vector<size_t> pool;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (MayBeInSet(candidates[i])) pool.push_back(i);
  }
  if (pool.size() < 2 || *candidates[pool[0]].blocker.gained <= 0) return absl::OkStatus();
  BlockerSet best{.blockers = {pool[0]},
                  .gained = *candidates[pool[0]].blocker.gained,
                  .saved_per_hour = candidates[pool[0]].blocker.saved_per_hour};
  const auto may_try = [&] { return found.sets_tried < options.sets && !trials.IsOver(); };
  // Returns whether these changes together gain as many nodes as `enough`.
  const auto take = [&](std::vector<size_t> members, int64_t enough) -> absl::StatusOr<bool> {
    ++found.sets_tried;
    const absl::StatusOr<Trials::Gain> gain = trials.Try(Together(candidates, members));
    if (!gain.ok()) return gain.status();
    if (gain->nodes < enough) return false;
    best = {.blockers = std::move(members),
            .gained = gain->nodes,
            .saved_per_hour = gain->saved_per_hour};
    return true;
  };
  for (size_t i = 1; i < pool.size() && may_try(); ++i) {
    std::vector<size_t> members = best.blockers;
    members.push_back(pool[i]);
    const absl::StatusOr<bool> taken = take(std::move(members), best.gained + 1);
    if (!taken.ok()) return taken.status();
    if (*taken) found.sets.push_back(best);
  }
  // The last member was necessary when it came.
  for (size_t i = 0; best.blockers.size() > 2 && i + 1 < best.blockers.size() && may_try();) {
    std::vector<size_t> members = best.blockers;
    members.erase(members.begin() + static_cast<ptrdiff_t>(i));
    const absl::StatusOr<bool> taken = take(std::move(members), best.gained);
    if (!taken.ok()) return taken.status();
    if (*taken) {
      std::erase_if(found.sets, [&](const BlockerSet& each) {
        return each.blockers.size() >= best.blockers.size();
      });
      found.sets.push_back(best);
    } else {
      ++i;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Blockers> FindBlockers(const PlanReport& report, const PlanQuery& query,
                                      LiveCluster& cluster, const BlockersOptions& options) {
  RemedyPlanner remedy_planner(cluster, query);
  absl::StatusOr<std::vector<Candidate>> candidates =
      Candidates(report, options, remedy_planner.patched());
  if (!candidates.ok()) return candidates.status();
  const auto may_be_tried = std::ranges::count_if(
      *candidates, [](const Candidate& each) { return each.blocker.not_tried.empty(); });
  const size_t to_try = std::min(options.limit, static_cast<size_t>(may_be_tried));

  remedy_planner.TryInOrder(NodesOfPlanFirst(report));
  Trials trials(report, remedy_planner, options);
  if (absl::Status s = trials.Begin(); !s.ok()) return s;
  size_t tried = 0;
  for (auto& [blocker, remedy] : *candidates) {
    if (!blocker.not_tried.empty()) continue;  // It already says why.
    if (tried == to_try) {
      blocker.not_tried = kBeyondLimit;
    } else if (trials.IsOver()) {
      blocker.not_tried = kOutOfTime;
    } else {
      if (options.on_progress) options.on_progress(tried, to_try);
      ++tried;
      const absl::StatusOr<Trials::Gain> gain = trials.Try(remedy);
      if (gain.status().code() == absl::StatusCode::kFailedPrecondition) {
        blocker.not_tried = std::string(gain.status().message());
        continue;
      }
      if (!gain.ok()) return gain.status();
      blocker.gained = gain->nodes;
      blocker.saved_per_hour = gain->saved_per_hour;
    }
  }
  std::ranges::stable_sort(*candidates, std::ranges::greater(), [](const Candidate& each) {
    const Blocker& blocker = each.blocker;
    return std::tuple(blocker.gained.has_value(), !Recovers(blocker), blocker.gained.value_or(0));
  });
  Blockers found;
  found.removed = report.remove.size();
  found.kept = report.keep.size();
  if (absl::Status s = TrySets(*candidates, options, trials, found); !s.ok()) return s;
  for (Candidate& each : *candidates) found.blockers.push_back(std::move(each.blocker));
  return found;
}

namespace {

// What names a change of a set.
Json ChangeJson(const Blocker& blocker) {
  Json json = {{"kind", blocker.kind}};
  if (!blocker.namespace_name.empty()) json["namespace"] = blocker.namespace_name;
  json["name"] = blocker.name;
  json["change"] = blocker.change;
  return json;
}

Json SetsJson(const Blockers& blockers) {
  Json sets = Json::array();
  for (const BlockerSet& set : blockers.sets) {
    Json json = {{"changes", Json::array()}, {"nodesGained", set.gained}};
    for (const size_t member : set.blockers) {
      json["changes"].push_back(ChangeJson(blockers.blockers[member]));
    }
    if (set.saved_per_hour) json["savedPerHourGained"] = RoundedAmount(*set.saved_per_hour);
    sets.push_back(std::move(json));
  }
  return sets;
}

}  // namespace

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
    if (!each.outlook.empty()) json["outlook"] = each.outlook;
    if (!each.command.empty()) json["command"] = each.command;
    if (each.gained) json["nodesGained"] = *each.gained;
    if (each.saved_per_hour) json["savedPerHourGained"] = RoundedAmount(*each.saved_per_hour);
    if (!each.not_tried.empty()) json["notTried"] = each.not_tried;
    list.push_back(std::move(json));
  }
  return {{"apiVersion", kPlanApiVersion}, {"kind", "Blockers"},
          {"removed", blockers.removed},   {"kept", blockers.kept},
          {"blockers", std::move(list)},   {"setsTried", blockers.sets_tried},
          {"sets", SetsJson(blockers)}};
}

}  // namespace ebb
