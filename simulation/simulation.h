// Simulate: runs a loop over a simulated cluster for hours of virtual time, and reports the result.
//
//   absl::StatusOr<SimulationResult> with = Simulate(read, groups_of, options);
//   options.scale_down_enabled = false;
//   absl::StatusOr<SimulationResult> without = Simulate(read, groups_of, options);
//
// The savings are the difference between the two results, because both clusters get the same load.
//
// Cost:    one round for each scan interval, and the cost of the cluster.
// Errors:  those of reading the cluster; Internal, if the cluster's checks fail at the end.
// Threads: not thread-safe.

#ifndef EBB_SIMULATION_SIMULATION_H_
#define EBB_SIMULATION_SIMULATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/scale_down/round.h"
#include "loop/buyer.h"
#include "loop/loop.h"
#include "loop/own_rounds.h"
#include "simulation/simulated_cluster.h"

namespace ebb {

struct SimulationSample {
  int64_t time_s = 0;
  size_t nodes = 0;
  size_t unneeded = 0;
  size_t in_deletion = 0;
  size_t pending = 0;
  uint64_t evictions = 0;    // Since the start.
  double cpu_requested = 0;  // The share of what all nodes offer, 0 to 1.
};

struct SimulationOptions {
  SimulatedClusterOptions cluster;
  ScaleDownOptions scale_down;
  LoopOptions loop;
  OwnRoundsOptions rounds;
  // Makes the market of a buyer over the cluster; null: no nodes are bought.
  std::function<std::unique_ptr<Market>(SimulatedCluster&)> market = nullptr;
  BuyerOptions buying;
  int64_t duration_s = 86400;
  int64_t sample_every_s = 300;
  bool scale_down_enabled = true;
  // Called with each sample, every `sample_every_s` of simulated time.  May be null.
  std::function<void(const SimulationSample& now)> on_sample;
};

struct SimulationResult {
  size_t nodes_at_first = 0;
  size_t nodes_at_last = 0;
  double node_hours = 0;
  uint64_t turns = 0;
  uint64_t rounds = 0;                 // Turns that made a round.
  std::array<uint64_t, 9> statuses{};  // Number of rounds, by ScaleDownStatus.
  uint64_t timers_lost = 0;            // The sum of RoundResult::timers_lost.
  SimulationCounts counts;
  UnremovableNodes kept_at_last;  // Nodes that the last round judged and kept.
  std::vector<SimulationSample> samples;
};

absl::StatusOr<SimulationResult> Simulate(const SimulatedCluster::Read& read,
                                          const SimulatedCluster::GroupsOf& groups_of,
                                          const SimulationOptions& options);

}  // namespace ebb

#endif  // EBB_SIMULATION_SIMULATION_H_
