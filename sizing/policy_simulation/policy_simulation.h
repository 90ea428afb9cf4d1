// SimulatePolicy: runs a pool under its policy, over a load, on a simulated cluster of identical
// nodes.
//
//   absl::StatusOr<PolicySimulationResult> result = SimulatePolicy(pool, curve, options);
//
// The cluster has one group, whose nodes carry the pool's labels, and one ReplicaSet, whose pods
// select these nodes.  Only the policy changes the number of nodes: the loop (loop.h) runs with a
// PoolSizer, and the planner says which nodes can go.  Machines take one to three minutes to come;
// pods take seconds to start and to end.
//
// Deterministic: the same arguments give the same result.
// Cost:    a turn every `scan_s` of virtual time, and the events of the simulated cluster.
// Threads: none; several simulations may run concurrently.
// Errors:  Internal, if the cluster fails its soundness check at the end.

#ifndef EBB_SIZING_POLICY_SIMULATION_POLICY_SIMULATION_H_
#define EBB_SIZING_POLICY_SIMULATION_POLICY_SIMULATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sizing/policy_file.h"
#include "sizing/policy_simulation/load_curve.h"
#include "sizing/signal_series.h"

namespace ebb {

struct PolicySimulationOptions {
  uint64_t seed = 1;
  int64_t start_s = 1'767'340'800;  // Unix time of the load's time 0: eight in the morning.
  int64_t duration_s = 86400;
  int64_t scan_s = 30;
  int64_t sample_every_s = 300;
  // The size of each node and the requests of each pod.
  int64_t node_cpu_milli = 4000;
  int64_t node_memory_bytes = int64_t{16} << 30;
  int64_t pod_cpu_milli = 400;
  int64_t pod_memory_bytes = int64_t{1} << 30;
  // Signals besides the load, with times from start_s on.
  std::vector<SignalPoint> signals = {};
  // An action in the opposite direction of the one before, within this time, is a flap.
  int64_t flap_s = 1800;
};

struct PolicySimulationSample {
  int64_t time_s = 0;  // Since the beginning of the load.
  int64_t wanted = 0;  // Pods.
  size_t pending = 0;  // Pods without a node.
  size_t nodes = 0;
};

struct PolicySimulationResult {
  std::string pool;
  std::string policy;
  size_t nodes_at_first = 0;
  size_t nodes_at_last = 0;
  size_t nodes_most = 0;
  double node_hours = 0;
  // Unmet demand: pods without a node, times how long.
  double unmet_pod_hours = 0;
  size_t pending_most = 0;
  uint64_t grew = 0;    // Actions.
  uint64_t shrank = 0;  // Actions.
  uint64_t flaps = 0;
  uint64_t nodes_added = 0;
  uint64_t nodes_removed = 0;
  uint64_t evictions = 0;
  bool failsafe = false;  // At the end.
  std::vector<PolicySimulationSample> samples{};
  std::vector<std::string> log{};  // The first hundred lines of the loop's log.
};

absl::StatusOr<PolicySimulationResult> SimulatePolicy(const SizedPool& pool, const LoadCurve& load,
                                                      const PolicySimulationOptions& options);

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_SIMULATION_POLICY_SIMULATION_H_
