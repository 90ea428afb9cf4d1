// EvictionTrials: how a plan fares with a scheduler that does not know it.
//
//   const EvictionTrials trials = RunEvictionTrials(snapshot, plan, options, parallelism);
//   Show(trials.evicted, trials.random_order, trials.plan_order);
//
// The destinations of a plan prove that there is room.  The scheduler is not told of them: it
// spreads pods where a plan packs them, and so the last ones may find none.  A trial takes all
// nodes of the plan off the scheduler's list, as their taints do, and evicts their pods node by
// node.  A pod that is made anew goes where the simulated scheduler (scheduler.h) likes it best,
// and stays pending where nothing takes it; what is pending at the end is tried once more.
//
// Not part of a trial: disruption budgets, which decide when a pod is evicted and not where it
// lands; nodes that an autoscaler would add; pods that are pending before.
//
// The same input gives the same result at any number of threads, where no deadline ends the trials.
//
// Cost:    a trial O(evicted pods * nodes) filters and scores.
// Memory:  for each thread a copy of the snapshot, which shares its pages.
// Threads: those of `parallelism`.

#ifndef EBB_SIMULATION_EVICTION_TRIALS_H_
#define EBB_SIMULATION_EVICTION_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/parallel.h"
#include "engine/plan/plan.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct EvictionTrialOptions {
  size_t trials = 20;  // In random order, and as many in the plan's.
  uint64_t seed = 1;   // Of orders, and of the scheduler's draws.
  // So many of the pods are nominated to the node that the plan has for them before the scheduler
  // looks at them (status.nominatedNodeName): it tries that node first.
  double nominated_share = 0;
  // Trials that are not over then are left out.  Null: there is time for all.
  const Deadline* deadline = nullptr;
};

struct EvictionTrial {
  size_t pending = 0;       // Pods that no node took.
  std::vector<PodId> left;  // Those.
  size_t as_planned = 0;    // Pods that came to be where the plan has them.
};

struct EvictionTrials {
  size_t evicted = 0;  // In each trial.
  std::vector<EvictionTrial> random_order;
  std::vector<EvictionTrial> plan_order;
  bool cut = false;  // The deadline left some out; as many are left of both orders.
};

// REQUIRES: the plan is one of the snapshot as it is; no fork is open.
EvictionTrials RunEvictionTrials(const ClusterSnapshot& snapshot, const Plan& plan,
                                 const EvictionTrialOptions& options,
                                 const Parallelism& parallelism = Parallelism::One());

// Whether pods are pending in at most a `share` of trials, of both orders together.  False where a
// deadline cut the trials.
bool IsRobust(const EvictionTrials& trials, double share);

// Runs the first trials, and the others only where those leave it open whether the plan is robust.
// IsRobust of what it returns, which may be some of the trials, is that of all.
EvictionTrials RunUntilRobust(const ClusterSnapshot& snapshot, const Plan& plan, double share,
                              const EvictionTrialOptions& options,
                              const Parallelism& parallelism = Parallelism::One());

// The most removals of the plan, from the first, after which pods are pending in at most a `share`
// of trials, of both orders together.  Found by bisection, as fewer removals leave more room: where
// that does not hold for each, the number found keeps the share, and a larger one might too.  So
// might it where a deadline ends the trials.
// Cost: about log2(removals) times that of RunUntilRobust.
size_t RobustRemovals(const ClusterSnapshot& snapshot, const Plan& plan, double share,
                      const EvictionTrialOptions& options,
                      const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SIMULATION_EVICTION_TRIALS_H_
