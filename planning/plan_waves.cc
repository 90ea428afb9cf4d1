#include "planning/plan_waves.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "report/block_words.h"
#include "snapshot/gangs.h"

namespace ebb {
namespace {

std::string_view WaveReasonOf(const UnremovableNode& kept) {
  return kept.reason == UnremovableReason::kBlockedByPod ? ToString(kept.blocking_reason)
                                                         : ToString(kept.reason);
}

WaveReasons CountWaveReasons(const PlanResult& made) {
  std::map<std::string_view, size_t> counts;
  for (const auto* const list : {&made.excluded, &made.plan.keep}) {
    for (const UnremovableNode& kept : *list) ++counts[WaveReasonOf(kept)];
  }
  const size_t not_judged = made.plan.termination == Termination::kNoRoomForPending
                                ? made.candidates.size()
                                : made.plan.skipped.size();
  if (not_judged > 0) counts[kNotJudged] += not_judged;
  WaveReasons sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &WaveReasons::value_type::second);
  return sorted;
}

// The cluster while waves are carried out.
class WaveCluster {
 public:
  explicit WaveCluster(const PlanAnswer& answer)
      : answer_(answer),
        snapshot_(answer.cluster->snapshot),
        groups_(answer.groups),
        request_(answer.request),
        pending_(answer.request.pass.pending.begin(), answer.request.pass.pending.end()),
        candidates_(answer.candidates),
        in_deletion_(answer.request.pass.in_deletion.begin(),
                     answer.request.pass.in_deletion.end()),
        facts_(FactsOfNodes(catalog())) {
    // Those of the answer's deletions are over after the first wave.
    request_.pass.in_deletion = {};
    request_.pass.destinations = nullptr;
    request_.pass.evicting = {};
    request_.pass.must_fit = 0;
    request_.evicted_from = {};
    request_.suggestions = {};
    request_.verify = true;
    if (answer.prices) saved_per_hour_ = 0;
  }

  // Carries the plan out.
  PlanWave CarryOut(const PlanResult& made, const WaveModel& model, int64_t at_s) {
    PlanWave wave{.at_s = at_s, .kept = CountWaveReasons(made)};
    const std::vector<Pdb>& pdbs = catalog().pdbs();
    std::vector<int64_t> evicted(pdbs.size());
    const auto charge = [&](PodId pod) {
      for (const PdbId pdb : catalog().ChargedBudgets(pod)) ++evicted[Index(pdb)];
    };
    if (waves_++ == 0) std::ranges::for_each(answer_.request.pass.evicting, charge);
    PlacePending(made.plan.packed);
    absl::flat_hash_set<PodId> moved;
    for (const Move& move : made.plan.packed) moved.insert(move.pod);  // They do not run yet.
    for (const RemovableNode& removal : made.plan.remove) {
      for (const Move& move : removal.moves) {
        snapshot_.MovePod(move.pod, move.to);
        if (!moved.insert(move.pod).second) continue;  // It passes through this node.
        charge(move.pod);
        ++wave.moved;
        wave.moved_again += moved_before_.insert(move.pod).second ? 0 : 1;
      }
      Remove(removal.node);
      wave.remove.push_back(removal.node);
      freed_.Add(facts_[Index(removal.node)].allocatable);
      if (saved_per_hour_) *saved_per_hour_ += answer_.prices->hourly[Index(removal.node)];
    }
    for (const NodeId node : std::exchange(in_deletion_, {})) Remove(node);
    int64_t turns = wave.moved > 0 ? 1 : 0;
    for (size_t i = 0; wave.moved > 0 && i < pdbs.size(); ++i) {
      const int64_t at_once = std::max<int64_t>(1, pdbs[i].disruptions_allowed);
      turns = std::max(turns, (evicted[i] + at_once - 1) / at_once);
    }
    wave.takes_s = turns * model.pod_startup_s;
    wave.nodes = snapshot_.nodes();
    wave.freed = freed_;
    wave.saved_per_hour = saved_per_hour_;
    wave.may_go_later =
        static_cast<size_t>(std::ranges::count_if(made.plan.keep, [&](const UnremovableNode& kept) {
          return kept.reason == UnremovableReason::kBlockedByPod && kept.pdb &&
                 OutlookOf(pdbs[Index(*kept.pdb)]) == BudgetOutlook::kRecovers;
        }));
    return wave;
  }

  absl::StatusOr<PlanResult> PlanAgain(int64_t at_s) {
    PlanRequest request = request_;
    request.pass.now_s += at_s;
    request.pass.pending = pending_;
    if (request.candidates != nullptr) {
      std::erase_if(candidates_, [&](NodeId node) { return !snapshot_.Contains(node); });
      request.candidates = &candidates_;
    }
    if (catalog().gangs().empty()) return MakePlan(snapshot_, groups_, request);
    // Moved pods run again: their gangs may lose as many pods as before.
    ClusterSnapshot counted = WithGangsCounted(snapshot_);
    return MakePlan(counted, groups_, request);
  }

 private:
  [[nodiscard]] const Catalog& catalog() const { return answer_.cluster->snapshot.catalog(); }

  void PlacePending(const std::vector<Move>& packed) {
    absl::flat_hash_set<PodId> placed;
    for (const Move& move : packed) {
      snapshot_.AddPod(move.pod, move.to);
      placed.insert(move.pod);
    }
    std::erase_if(pending_, [&](PodId pod) { return placed.contains(pod); });
  }

  void Remove(NodeId node) {
    snapshot_.RemoveNode(node);
    const GroupId group = groups_.Of(node);
    if (group == kNoGroup) return;
    int64_t& target = groups_.groups[Index(group)].target_size;
    target = std::max<int64_t>(0, target - 1);
  }

  const PlanAnswer& answer_;
  ClusterSnapshot snapshot_;
  NodeGroups groups_;
  PlanRequest request_;  // Of later waves.
  std::vector<PodId> pending_;
  std::vector<NodeId> candidates_;
  std::vector<NodeId> in_deletion_;
  const std::vector<NodeFacts> facts_;
  size_t waves_ = 0;
  absl::flat_hash_set<PodId> moved_before_;
  NodeAmounts freed_;
  std::optional<double> saved_per_hour_;
};

}  // namespace

absl::StatusOr<PlanWaves> FollowWaves(const PlanAnswer& answer, const WaveModel& model,
                                      const Deadline* deadline) {
  PlanWaves waves{.model = model,
                  .nodes_at_first = answer.cluster->snapshot.nodes(),
                  .nodes = answer.cluster->snapshot.nodes(),
                  .kept = CountWaveReasons(answer.made),
                  .in_deletion = answer.request.pass.in_deletion.size(),
                  .pending_placed = answer.made.plan.packed.size(),
                  .searched = answer.search.has_value(),
                  .gangs = !answer.cluster->snapshot.catalog().gangs().empty() &&
                           answer.request.planner.drain.gangs != Gangs::kIgnore,
                  .karpenter = answer.groups.SomeFollowKarpenter()};
  WaveCluster cluster(answer);
  const PlanResult* made = &answer.made;
  PlanResult next;
  int64_t at_s = model.unneeded_s;
  while (!made->plan.remove.empty()) {
    waves.waves.push_back(cluster.CarryOut(*made, model, at_s));
    waves.nodes = waves.waves.back().nodes;
    if (deadline != nullptr && deadline->Expired()) {
      waves.ended = WavesEnd::kTimeLimit;
      break;
    }
    at_s = waves.takes_s() + std::max(model.unneeded_s, model.delay_after_delete_s);
    absl::StatusOr<PlanResult> planned = cluster.PlanAgain(at_s);
    if (!planned.ok()) return planned.status();
    next = *std::move(planned);
    made = &next;
    waves.kept = CountWaveReasons(next);
  }
  return waves;
}

}  // namespace ebb
