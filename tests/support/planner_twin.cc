#include "tests/support/planner_twin.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/plan/eligibility.h"
#include "predicates/filters.h"

namespace ebb::test {
namespace {

std::vector<NodeId> List(const ClusterSnapshot& snapshot) {
  std::vector<NodeId> nodes;
  snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
  return nodes;
}

PodsToMove Sort(const ClusterSnapshot& snapshot, NodeId node, const DrainOptions& options,
                const PdbTracker& pdbs, int64_t now_s, PoolManager manager) {
  const Catalog& catalog = snapshot.catalog();
  PodsToMove pods;
  for (const PodId pod : snapshot.PodsOn(node)) {
    const DrainVerdict verdict = ApplyDrainRules(catalog, pod, options, pdbs, now_s, manager);
    if (verdict.outcome == DrainOutcome::kBlock) {
      pods.blocking_pod = pod;
      pods.reason = verdict.reason;
      pods.pdb = verdict.pdb;
      return pods;
    }
    if (verdict.outcome == DrainOutcome::kSkip) continue;
    if (verdict.outcome == DrainOutcome::kWaitForCompletion) {
      pods.on_completion.push_back(pod);
    } else if (IsDaemonSetPod(catalog, catalog.shape_of(pod))) {
      pods.daemonset.push_back(pod);
    } else {
      pods.move.push_back(pod);
    }
  }
  return pods;
}

// Whether some budget allows fewer disruptions than `pods` need together.
bool IsRisky(const Catalog& catalog, const PdbTracker& pdbs, const std::vector<PodId>& pods) {
  for (uint32_t p = 0; p < catalog.pdbs().size(); ++p) {
    int32_t wanted = 0;
    for (const PodId pod : pods) {
      wanted += static_cast<int32_t>(std::ranges::count(catalog.shape_of(pod).budgets, PdbId{p}));
    }
    if (wanted > 0 && pdbs.remaining(PdbId{p}) < wanted) return true;
  }
  return false;
}

// Whether a pod may move to the node: the node is not being deleted, and it is set up.
bool TakesPart(const Catalog& catalog, const NodeGroups& groups, NodeId node, int64_t now_s) {
  const NodeInfo& info = catalog.node(node);
  if (info.leaving != NodeLeaving::kNo) return false;
  if (catalog.storage().dying_machines().Of(info.name, info.provider_id) != nullptr) return false;
  const int64_t startup_s = groups.max_node_startup_time_s;
  if (startup_s == 0) return true;
  const bool young = now_s - info.creation_time < startup_s;
  const NotReadyReason why =
      groups.not_ready.empty() ? NotReadyReason::kNone : groups.not_ready[Index(node)];
  const bool grows = groups.Find(node) != nullptr && groups.Find(node)->scaling_up;
  const bool waits = why == NotReadyReason::kNoGpus && !groups.has_unready_timers;
  const bool held = waits || (why != NotReadyReason::kNone && grows);
  return info.setup != NodeSetup::kUnregistered && info.setup != NodeSetup::kNotInitialized &&
         !(young && (info.setup == NodeSetup::kUnlabelled || !info.ready || held));
}

}  // namespace

NodeId PlannerTwin::Search(const ClusterSnapshot& snapshot, const PodShape& shape,
                           const NodeSet& destinations) {
  const std::vector<NodeId> nodes = List(snapshot);
  for (size_t step = 1; step <= nodes.size(); ++step) {
    const size_t index = (pointer_ + step) % nodes.size();
    const NodeId node = nodes[index];
    if (snapshot.IsGhost(node) || !destinations.Contains(node)) continue;
    if (snapshot.catalog().node(node).unschedulable) continue;
    if (!Explain(snapshot, shape, node).fits) continue;
    pointer_ = index;
    return node;
  }
  return kNoNode;
}

PlannerTwin::Attempt PlannerTwin::Place(ClusterSnapshot& snapshot, std::span<const PodId> pods,
                                        bool stop_group, const NodeSet& destinations,
                                        HintMap& hints) {
  const Catalog& catalog = snapshot.catalog();
  Attempt attempt;
  const auto put = [&](PodId pod, NodeId node) {
    snapshot.AddPod(pod, node);
    hints[std::string(catalog.Text(catalog.pod(pod).key))] = {std::string(catalog.NodeName(node)),
                                                              pass_};
    attempt.moves.push_back({pod, node});
  };
  std::map<int32_t, std::vector<PodId>, std::greater<>> by_priority;
  for (const PodId pod : pods) by_priority[catalog.shape_of(pod).priority].push_back(pod);
  // Pods that found no place, by controller.  Pods like them are not tried.
  std::map<std::string, std::vector<PodId>> hopeless;
  const auto alike = [&](PodId a, PodId b) {
    const PodShape& one = catalog.shape_of(a);
    const PodShape& two = catalog.shape_of(b);
    if (one.spec_digest == 0) return catalog.shape_id(a) == catalog.shape_id(b);
    return one.spec_digest == two.spec_digest && one.labels == two.labels;
  };
  for (const auto& [priority, group] : by_priority) {
    std::vector<PodId> leftovers;
    for (const PodId pod : group) {
      const auto hint = hints.find(std::string(catalog.Text(catalog.pod(pod).key)));
      NodeId node = kNoNode;
      if (hint != hints.end()) node = catalog.FindNode(hint->second.node).value_or(kNoNode);
      if (node != kNoNode && snapshot.Contains(node) && !snapshot.IsGhost(node) &&
          destinations.Contains(node) && Explain(snapshot, catalog.shape_of(pod), node).fits) {
        put(pod, node);
      } else {
        leftovers.push_back(pod);
      }
    }
    for (const PodId pod : leftovers) {
      const PodShape& shape = catalog.shape_of(pod);
      std::vector<PodId>& failed = hopeless[std::string(catalog.Text(shape.controller.uid))];
      const bool is_like_one =
          shape.has_controller &&
          std::ranges::any_of(failed, [&](PodId other) { return alike(pod, other); });
      NodeId node = kNoNode;
      if (!is_like_one) node = Search(snapshot, shape, destinations);
      if (node != kNoNode) {
        put(pod, node);
        continue;
      }
      if (shape.has_controller && !IsDaemonSetPod(catalog, shape) && !is_like_one &&
          failed.size() < 10) {
        failed.push_back(pod);
      }
      if (attempt.first_failed == kNoPod) attempt.first_failed = pod;
      if (stop_group) break;
    }
  }
  return attempt;
}

Plan PlannerTwin::Pass(const ClusterSnapshot& start, const NodeGroups& groups,
                       const PassInput& input) {
  const Catalog& catalog = start.catalog();
  ++pass_;
  std::erase_if(unremovable_, [&](const auto& entry) {
    const NodeId node = catalog.FindNode(entry.first).value_or(kNoNode);
    return entry.second.until_s <= input.now_s || node == kNoNode || !start.Contains(node);
  });

  Plan plan;
  ClusterSnapshot snapshot = start;
  NodeSet destinations = input.destinations != nullptr ? *input.destinations : start.alive();
  NodeSet for_pending = start.alive();
  for (const NodeId node : List(start)) {
    if (TakesPart(catalog, groups, node, input.now_s)) continue;
    destinations.Erase(node);
    for_pending.Erase(node);
  }
  for (const NodeId node : input.in_deletion) {
    destinations.Erase(node);
    for_pending.Erase(node);
  }
  PdbTracker pdbs(catalog);
  pdbs.RemovePods(input.evicting);
  const auto finish = [&] {
    for (uint32_t p = 0; p < catalog.pdbs().size(); ++p) {
      plan.pdb_remaining.push_back(pdbs.remaining(PdbId{p}));
    }
    DropOld(hints_);
    DropOld(pending_hints_);
    return plan;
  };

  // Nodes that a pending pod may need although something about the pod is not understood, each with
  // that pod.  Decided by the pod's requests and by filters that read only the pod and the node.
  std::map<NodeId, PodId> held;
  for (const PodId pod : input.pending) {
    PodShape understood = catalog.shape_of(pod);
    if (PreFilter(start, understood).filter != Filter::kNotUnderstood) continue;
    understood.not_understood.clear();
    if (!PreFilter(start, understood).fits) continue;
    for (const NodeId node : List(start)) {
      bool fits = StaticFits(start, understood, node);
      for (const FilterVerdict& verdict : ExplainEach(start, understood, node)) {
        if (verdict.filter == Filter::kNodeResourcesFit) fits = fits && verdict.fits;
      }
      if (fits) held.try_emplace(node, pod);
    }
  }

  plan.packed =
      Place(snapshot, input.pending, /*stop_group=*/false, for_pending, pending_hints_).moves;
  for (size_t i = 0; i < std::min(input.must_fit, input.pending.size()); ++i) {
    if (snapshot.NodeOf(input.pending[i]) != kNoNode) continue;
    plan.termination = Termination::kNoRoomForPending;
    return finish();
  }

  std::vector<NodeId> eligible;
  for (const NodeId node : input.candidates) {
    const auto before = unremovable_.find(std::string(catalog.NodeName(node)));
    const bool recently = before != unremovable_.end();
    const Eligibility verdict =
        JudgeEligibility(snapshot, groups, node, options_, recently, false, input.now_s);
    if (verdict.reason == UnremovableReason::kNoReason && held.contains(node)) {
      plan.keep.push_back({.node = node,
                           .reason = UnremovableReason::kBlockedByPod,
                           .pod = held.at(node),
                           .blocking_reason = BlockingPodReason::kPendingPodNotUnderstood,
                           .pdb = {}});
    } else if (verdict.reason == UnremovableReason::kNoReason) {
      eligible.push_back(node);
    } else {
      UnremovableNode& kept = plan.keep.emplace_back();
      kept.node = node;
      kept.reason = verdict.reason;
      if (kept.reason == UnremovableReason::kRecentlyUnremovable) {
        const PlannerMemory::Unremovable& found = before->second;
        const auto text = [&](const std::string& of) { return *catalog.symbols().Find(of); };
        kept.before = {.reason = UnremovableReasonOf(found.reason),
                       .blocking_reason = BlockingPodReasonOf(found.blocking_reason),
                       .pod_namespace = text(found.pod_namespace),
                       .pod_name = text(found.pod_name),
                       .pdb = text(found.pdb)};
      }
    }
  }

  // By namespace and controller: how many pods run, and which of them left their node.
  std::map<std::string, std::pair<int, std::set<PodId>>> workloads;
  const auto workload_of = [&](PodId pod) -> std::pair<int, std::set<PodId>>& {
    const PodShape& shape = catalog.shape_of(pod);
    return workloads[absl::StrCat(Absl(catalog.Text(shape.namespace_name)), "|",
                                  Absl(catalog.Text(shape.controller.kind)), "|",
                                  Absl(catalog.Text(shape.controller.name)), "|",
                                  Absl(catalog.Text(shape.controller.uid)))];
  };
  for (const NodeId node : List(start)) {
    for (const PodId pod : start.PodsOn(node)) ++workload_of(pod).first;
  }
  // The first pod whose eviction exceeds the share that may leave its workload.
  const auto too_many = [&](const std::vector<PodId>& pods) {
    auto before = workloads;
    PodId found = kNoPod;
    for (const PodId pod : pods) {
      if (!catalog.shape_of(pod).has_controller || input.max_workload_share >= 1) continue;
      if (start.NodeOf(pod) == kNoNode) continue;  // It was pending.
      auto& [all, gone] = workload_of(pod);
      gone.insert(pod);
      if (static_cast<double>(gone.size()) - 1 < input.max_workload_share * all - 1e-9) continue;
      found = pod;
      break;
    }
    workloads = std::move(before);
    return found;
  };

  size_t counted = 0;
  for (size_t next = 0; next < eligible.size(); ++next) {
    const NodeId node = eligible[next];
    if (counted >= input.unneeded_limit) {
      plan.termination = Termination::kLimit;
      plan.skipped.assign(eligible.begin() + static_cast<ptrdiff_t>(next), eligible.end());
      break;
    }
    const auto keep = [&](UnremovableNode kept) {
      const std::string name(catalog.NodeName(node));
      PlannerMemory::Unremovable& found = unremovable_[name];
      found = {.node = name,
               .until_s = input.now_s + options_.unremovable_node_recheck_timeout_s,
               .reason = std::string(ToString(kept.reason))};
      if (kept.reason == UnremovableReason::kBlockedByPod) {
        found.blocking_reason = ToString(kept.blocking_reason);
      }
      if (kept.pod != kNoPod) {
        found.pod_namespace = catalog.Text(catalog.shape_of(kept.pod).namespace_name);
        found.pod_name = catalog.Text(catalog.pod(kept.pod).name);
      }
      if (kept.pdb) found.pdb = catalog.Text(catalog.pdbs()[Index(*kept.pdb)].name);
      plan.keep.push_back(kept);
    };
    if (!snapshot.Contains(node)) {  // The candidate was listed twice.
      keep({.node = node, .reason = UnremovableReason::kNoNodeInfo, .pdb = {}});
      continue;
    }
    const PodsToMove pods =
        Sort(snapshot, node, options_.drain, pdbs, input.now_s, groups.ManagerOf(node));
    if (pods.blocked()) {
      keep({.node = node,
            .reason = UnremovableReason::kBlockedByPod,
            .pod = pods.blocking_pod,
            .blocking_reason = pods.reason,
            .pdb = pods.pdb});
      continue;
    }
    if (const PodId pod = too_many(pods.move); pod != kNoPod) {
      keep({.node = node,
            .reason = UnremovableReason::kBlockedByPod,
            .pod = pod,
            .blocking_reason = BlockingPodReason::kWorkloadShareReached,
            .pdb = {}});
      continue;
    }
    ClusterSnapshot branch = snapshot;
    while (!branch.PodsOn(node).empty()) branch.RemovePod(branch.PodsOn(node).front());
    branch.SetGhost(node);
    Attempt attempt = Place(branch, pods.move, /*stop_group=*/true, destinations, hints_);
    if (attempt.moves.size() < pods.move.size()) {
      keep({.node = node,
            .reason = UnremovableReason::kNoPlaceToMovePods,
            .pod = attempt.first_failed,
            .pdb = {}});
      continue;
    }
    branch.ClearGhost();
    branch.RemoveNode(node);
    snapshot = branch;
    const bool risky = IsRisky(catalog, pdbs, pods.move);
    pdbs.RemovePods(pods.move);
    for (const PodId pod : pods.move) {
      if (start.NodeOf(pod) != kNoNode) workload_of(pod).second.insert(pod);
    }
    destinations.Erase(node);
    const NodeGroup* const group = groups.Find(node);
    if (group == nullptr || !group->atomic) ++counted;
    plan.remove.push_back({.node = node,
                           .moves = std::move(attempt.moves),
                           .daemonset = pods.daemonset,
                           .on_completion = pods.on_completion,
                           .risky = risky});
  }
  return finish();
}

void PlannerTwin::DropOld(HintMap& hints) const {
  std::erase_if(hints, [&](const auto& entry) { return entry.second.pass < pass_; });
}

PlannerMemory PlannerTwin::Save() const {
  PlannerMemory memory;
  for (const auto& [pod_key, hint] : hints_) memory.hints.push_back({pod_key, hint.node});
  for (const auto& [pod_key, hint] : pending_hints_) {
    memory.pending_hints.push_back({pod_key, hint.node});
  }
  for (const auto& [node, found] : unremovable_) memory.unremovable.push_back(found);
  memory.scan_pointer = pointer_;
  return memory;
}

std::string PlanText(const ClusterSnapshot& snapshot, const Plan& plan) {
  const Catalog& catalog = snapshot.catalog();
  std::string text;
  const auto pods = [&](const char* what, const std::vector<PodId>& list) {
    for (const PodId pod : list) absl::StrAppend(&text, " ", what, " ", catalog.PodName(pod));
  };
  const auto moves = [&](const std::vector<Move>& list) {
    for (const Move& move : list) {
      absl::StrAppend(&text, " ", catalog.PodName(move.pod), ">", Absl(catalog.NodeName(move.to)));
    }
  };
  for (const RemovableNode& node : plan.remove) {
    absl::StrAppend(&text, "remove ", Absl(catalog.NodeName(node.node)),
                    node.risky ? " risky" : "");
    moves(node.moves);
    pods("daemonset", node.daemonset);
    pods("on completion", node.on_completion);
    text += '\n';
  }
  for (const UnremovableNode& node : plan.keep) {
    absl::StrAppend(&text, "keep ", Absl(catalog.NodeName(node.node)), " ",
                    Absl(ToString(node.reason)), " ",
                    node.pod == kNoPod ? "" : catalog.PodName(node.pod), " ",
                    Absl(ToString(node.blocking_reason)), " ", node.pdb ? Index(*node.pdb) + 1 : 0);
    if (const auto& before = node.before) {
      absl::StrAppend(&text, " before ", Absl(ToString(before->reason)), " ",
                      Absl(ToString(before->blocking_reason)), " ",
                      Absl(catalog.Text(before->pod_namespace)), "/",
                      Absl(catalog.Text(before->pod_name)), " ", Absl(catalog.Text(before->pdb)));
    }
    text += '\n';
  }
  for (const NodeId node : plan.skipped) {
    absl::StrAppend(&text, "skipped ", Absl(catalog.NodeName(node)), "\n");
  }
  text += "packed";
  moves(plan.packed);
  text += "\nbudgets";
  for (const int32_t left : plan.pdb_remaining) absl::StrAppend(&text, " ", left);
  absl::StrAppend(&text, "\n", Absl(ToString(plan.termination)), "\n");
  return text;
}

std::string MemoryText(const PlannerMemory& memory) {
  std::string text = absl::StrCat("pointer ", memory.scan_pointer, "\n");
  for (const auto& [pod, node] : memory.hints)
    absl::StrAppend(&text, "hint ", pod, ">", node, "\n");
  for (const auto& [pod, node] : memory.pending_hints) {
    absl::StrAppend(&text, "pending hint ", pod, ">", node, "\n");
  }
  for (const PlannerMemory::Unremovable& found : memory.unremovable) {
    absl::StrAppend(&text, "unremovable ", found.node, " until ", found.until_s, " ", found.reason,
                    " ", found.blocking_reason, " ", found.pod_namespace, "/", found.pod_name, " ",
                    found.pdb, "\n");
  }
  return text;
}

}  // namespace ebb::test
