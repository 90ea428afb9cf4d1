#include "simulation/eviction_trials.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "base/random.h"
#include "engine/pass/workloads.h"
#include "engine/plan/check_input.h"
#include "predicates/filters.h"
#include "simulation/scheduler.h"
#include "simulation/score_cache.h"

namespace ebb {
namespace {

// What all trials of a plan share.
class Evictions {
 public:
  Evictions(const ClusterSnapshot& snapshot, const Plan& plan)
      : snapshot_(snapshot),
        closed_(snapshot.catalog().nodes()),
        workloads_(snapshot),
        facts_(snapshot.catalog()),
        placed_(snapshot) {
    absl::flat_hash_map<PodId, NodeId> last;  // A pod may move again with its new node.
    for (const RemovableNode& removal : plan.remove) {
      closed_.Insert(removal.node);
      for (const Move& move : removal.moves) last[move.pod] = move.to;
    }
    for (const RemovableNode& removal : plan.remove) {
      std::vector<Move>& moves = nodes_.emplace_back();
      for (const PodId pod : snapshot.PodsOn(removal.node)) {
        const auto it = last.find(pod);
        if (it != last.end()) moves.push_back({pod, it->second});
      }
      evicted_ += moves.size();
    }
  }

  [[nodiscard]] size_t evicted() const { return evicted_; }

  // nullopt: the deadline came first.
  [[nodiscard]] std::optional<EvictionTrial> Run(uint64_t seed, bool shuffled,
                                                 const EvictionTrialOptions& options) const {
    const double nominated_share = options.nominated_share;
    const auto is_over = [&] { return options.deadline != nullptr && options.deadline->Expired(); };
    if (is_over()) return std::nullopt;
    ClusterSnapshot cluster = snapshot_;
    Random random(seed);
    ScoreCache cache(cluster, facts_, placed_);
    SimulatedScheduler scheduler(random.Next(), &cache);
    std::vector<size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    if (shuffled) random.Shuffle(order);
    EvictionTrial trial;
    std::vector<Move> pending;
    const auto place = [&](const Move& move) {
      NodeId to = nominated_share > 0 && IsNominated(random, nominated_share) && Fits(cluster, move)
                      ? move.to
                      : kNoNode;
      if (to == kNoNode) {
        to = scheduler.Choose(cluster, move.pod, Peers(cluster, move.pod), &closed_);
      }
      if (to == kNoNode) return false;
      cluster.AddPod(move.pod, to);
      cache.OnAdd(move.pod, to);
      trial.as_planned += to == move.to ? 1 : 0;
      return true;
    };
    for (const size_t node : order) {
      if (is_over()) return std::nullopt;
      for (const Move& move : nodes_[node]) {
        const NodeId from = cluster.NodeOf(move.pod);
        cluster.RemovePod(move.pod);
        cache.OnRemove(move.pod, from);
        if (!place(move)) pending.push_back(move);
      }
    }
    for (const Move& move : pending) {
      if (!place(move)) trial.left.push_back(move.pod);
    }
    trial.pending = trial.left.size();
    return trial;
  }

 private:
  static bool IsNominated(Random& random, double share) {
    constexpr uint64_t kParts = 1'000'000;  // A share is exact to a millionth.
    return static_cast<double>(random.Below(kParts)) < share * static_cast<double>(kParts);
  }

  [[nodiscard]] bool Fits(const ClusterSnapshot& cluster, const Move& move) const {
    return !closed_.Contains(move.to) &&
           Explain(cluster, cluster.catalog().shape_of(move.pod), move.to).fits;
  }

  // PeersOf, without searching for the peers each time.
  [[nodiscard]] std::vector<NodeId> Peers(const ClusterSnapshot& cluster, PodId pod) const {
    std::vector<NodeId> peers;
    const uint32_t workload = workloads_.of[Index(pod)];
    if (workload == Workloads::kNone) return peers;
    for (const PodId peer : workloads_.pods[workload]) {
      const NodeId node = cluster.NodeOf(peer);
      const bool leaves = cluster.catalog().shape_of(peer).terminating;
      if (peer != pod && node != kNoNode && !leaves) peers.push_back(node);
    }
    return peers;
  }

  const ClusterSnapshot& snapshot_;
  NodeSet closed_;                        // The nodes of the plan.
  std::vector<std::vector<Move>> nodes_;  // The evictions of each node, in the plan's order.
  size_t evicted_ = 0;
  Workloads workloads_;
  ScoreFacts facts_;
  PlacedShapes placed_;
};

}  // namespace

EvictionTrials RunEvictionTrials(const ClusterSnapshot& snapshot, const Plan& plan,
                                 const EvictionTrialOptions& options,
                                 const Parallelism& parallelism) {
  EBB_DCHECK(snapshot.depth() == 0 && CheckPlan(snapshot.catalog(), plan).ok());
  EBB_DCHECK(std::ranges::all_of(
      plan.remove, [&](const RemovableNode& each) { return snapshot.Contains(each.node); }));
  const Evictions evictions(snapshot, plan);
  EvictionTrials trials;
  trials.evicted = evictions.evicted();
  std::vector<std::optional<EvictionTrial>> all(2 * options.trials);
  parallelism.For(all.size(), [&](size_t index, size_t) {
    const bool shuffled = index % 2 == 0;
    all[index] = evictions.Run(options.seed + index / 2, shuffled, options);
  });
  for (size_t index = 0; index < all.size(); index += 2) {
    if (!all[index] || !all[index + 1]) {
      trials.cut = true;
      continue;
    }
    trials.random_order.push_back(*std::move(all[index]));
    trials.plan_order.push_back(*std::move(all[index + 1]));
  }
  return trials;
}

namespace {

size_t Failed(const EvictionTrials& trials) {
  const auto leaves_some = [](const EvictionTrial& trial) { return trial.pending > 0; };
  return static_cast<size_t>(std::ranges::count_if(trials.random_order, leaves_some) +
                             std::ranges::count_if(trials.plan_order, leaves_some));
}

}  // namespace

bool IsRobust(const EvictionTrials& trials, double share) {
  if (trials.cut) return false;
  const size_t all = trials.random_order.size() + trials.plan_order.size();
  return static_cast<double>(Failed(trials)) <= share * static_cast<double>(all);
}

EvictionTrials RunUntilRobust(const ClusterSnapshot& snapshot, const Plan& plan, double share,
                              const EvictionTrialOptions& options, const Parallelism& parallelism) {
  // A plan that is far from robust usually fails these.  More waste time on such plans; fewer let
  // more of them go on to all trials.  Not tuned: other values were not compared.
  constexpr size_t kFirst = 2;
  EvictionTrialOptions few = options;
  few.trials = std::min(kFirst, options.trials);
  EvictionTrials first = RunEvictionTrials(snapshot, plan, few, parallelism);
  const auto most = share * static_cast<double>(2 * options.trials);
  if (first.cut || static_cast<double>(Failed(first)) > most) return first;
  return RunEvictionTrials(snapshot, plan, options, parallelism);
}

size_t RobustRemovals(const ClusterSnapshot& snapshot, const Plan& plan, double share,
                      const EvictionTrialOptions& options, const Parallelism& parallelism) {
  const auto is_robust = [&](size_t removals) {
    Plan first;
    first.remove.assign(plan.remove.begin(),
                        plan.remove.begin() + static_cast<std::ptrdiff_t>(removals));
    return IsRobust(RunUntilRobust(snapshot, first, share, options, parallelism), share);
  };
  if (is_robust(plan.remove.size())) return plan.remove.size();
  size_t robust = 0;
  size_t too_many = plan.remove.size();
  while (too_many - robust > 1) {
    const size_t middle = robust + (too_many - robust) / 2;
    (is_robust(middle) ? robust : too_many) = middle;
  }
  return robust;
}

}  // namespace ebb
