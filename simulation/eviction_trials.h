// EvictionTrials: how a plan works out with a scheduler that does not know it.
//
//   const EvictionTrials trials = RunEvictionTrials(snapshot, plan, options, parallelism);
//   Show(trials.evicted, trials.random_order, trials.plan_order);
//
// The destinations of a plan prove that there is room.  But the scheduler does not know them: it
// spreads pods where a plan packs them, so the last pods may find no node.  A trial closes all
// nodes of the plan to the scheduler, as their taints do, and evicts their pods node by node.  Each
// replacement pod goes to the node that the simulated scheduler (scheduler.h) scores highest, or
// stays pending if no node takes it.  Pods that are pending at the end are tried once more.
//
// Not part of a trial: PodDisruptionBudgets, which decide when a pod is evicted and not where it
// lands; nodes that an autoscaler would add; pods that were pending before.
//
// Equal input gives equal results at any number of threads, unless the deadline ends the trials.
//
// Cost:    a trial evaluates O(evicted pods * nodes) filters and scores.
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
  // This many in random order, and as many in the plan's order.  More find rarer failures and take
  // longer in proportion.  Not tuned.
  size_t trials = 20;
  uint64_t seed = 1;  // For the orders and for the scheduler's draws.
  // The share of pods that are nominated to the node of the plan (status.nominatedNodeName).  The
  // scheduler tries that node first.
  double nominated_share = 0;
  // Trials that have not ended by then are left out.  Null: no time limit.
  const Deadline* deadline = nullptr;
};

struct EvictionTrial {
  size_t pending = 0;       // Pods that no node took at the end.
  std::vector<PodId> left;  // These pods.
  size_t as_planned = 0;    // Pods that landed on the node of the plan.
};

struct EvictionTrials {
  size_t evicted = 0;  // Pods evicted in each trial.
  std::vector<EvictionTrial> random_order;
  std::vector<EvictionTrial> plan_order;
  bool cut = false;  // The deadline has ended trials; both lists keep equal numbers.
};

// REQUIRES: the plan was made for this state of the snapshot; no fork is open.
EvictionTrials RunEvictionTrials(const ClusterSnapshot& snapshot, const Plan& plan,
                                 const EvictionTrialOptions& options,
                                 const Parallelism& parallelism = Parallelism::One());

// Whether pods are pending in at most `share` of all trials, of both orders together.  False if the
// deadline has ended trials.
bool IsRobust(const EvictionTrials& trials, double share);

// Runs a few trials first, and the others only if the plan may still be robust.  The result may
// have only some of the trials, but IsRobust gives the same answer for it as for all trials.
EvictionTrials RunUntilRobust(const ClusterSnapshot& snapshot, const Plan& plan, double share,
                              const EvictionTrialOptions& options,
                              const Parallelism& parallelism = Parallelism::One());

// The largest number of removals, from the first, after which pods are pending in at most `share`
// of the trials, of both orders together.  Found by bisection, which assumes that fewer removals
// leave more room.  If that does not hold for some plan, or if a deadline ends the trials, the
// result still keeps the share, but a larger number might too.
// Cost: about log2(removals) times that of RunUntilRobust.
size_t RobustRemovals(const ClusterSnapshot& snapshot, const Plan& plan, double share,
                      const EvictionTrialOptions& options,
                      const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SIMULATION_EVICTION_TRIALS_H_
