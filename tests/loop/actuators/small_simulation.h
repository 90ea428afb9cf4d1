// A small simulated cluster with all nodes in one group.

#ifndef EBB_TESTS_LOOP_ACTUATORS_SMALL_SIMULATION_H_
#define EBB_TESTS_LOOP_ACTUATORS_SMALL_SIMULATION_H_

#include <cstdint>
#include <memory>

#include "simulation/simulated_cluster.h"
#include "snapshot/samples/generate.h"

namespace ebb::test {

inline constexpr int64_t kSimulationStartS = 1'767'225'600;

inline absl::StatusOr<std::unique_ptr<SimulatedCluster>> MakeSimulatedCluster(
    uint64_t seed, uint32_t nodes, const SimulatedFaults& faults) {
  SimulatedClusterOptions options;
  options.seed = seed;
  options.start_s = kSimulationStartS;
  options.daily_load = true;
  options.faults = faults;
  return SimulatedCluster::Make(
      [&](ObjectSink& sink) {
        return samples::GenerateDump(samples::Kinds()[0], {.nodes = nodes, .seed = seed}, sink);
      },
      [](const Catalog& catalog) {
        NodeGroups groups;
        groups.groups.emplace_back().name = "all";
        groups.groups[0].target_size = static_cast<int64_t>(catalog.nodes());
        groups.group_of.assign(catalog.nodes(), GroupId{0});
        return groups;
      },
      options);
}

}  // namespace ebb::test

#endif  // EBB_TESTS_LOOP_ACTUATORS_SMALL_SIMULATION_H_
