// SimulatedInput: a real cluster, from a dump, as a SimulatedCluster can play it.
//
//   SimulatedInput input(snapshot, groups, start_s, read);
//   auto cluster = SimulatedCluster::Make(input.AsRead(), groups_of, options);
//   for (const SimulatedGap& gap : input.gaps()) Print(gap);
//
// Left out: nodes that are being deleted at the start (their pods wait for another node, unless
// they belong to the node); pods on unknown nodes; pods without a node that have scheduling gates
// or are being deleted.
//
// gaps() lists what is left out, and what a simulation plays more simply than a cluster does.  Each
// read counts these objects while it sends the others.
//
// Errors:    those of the reader and of the sink.
// Ownership: borrows the cluster.  Copies the reader.
// Threads:   several threads may read at the same time if the reader allows it.

#ifndef EBB_SIMULATION_SIMULATED_INPUT_H_
#define EBB_SIMULATION_SIMULATED_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/plan/node_groups.h"
#include "simulation/simulated_cluster.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Objects that a simulation leaves out or simplifies.
struct SimulatedGap {
  size_t objects = 0;
  std::string what;   // "pods of StatefulSets: their number stays the same"
  std::string first;  // The name of the first object.
};

class SimulatedInput {
 public:
  // `snapshot`: the cluster that `read` sends.
  SimulatedInput(const ClusterSnapshot& snapshot, const NodeGroups& groups, int64_t start_s,
                 SimulatedCluster::Read read)
      : snapshot_(snapshot), groups_(groups), start_s_(start_s), read_(std::move(read)) {}

  // Sends what can be simulated.  Borrows this.
  [[nodiscard]] SimulatedCluster::Read AsRead();
  // In a fixed order.  Empty until a read has ended without an error.
  [[nodiscard]] std::vector<SimulatedGap> gaps() const;

 private:
  // Whether the node is being deleted at the start.
  [[nodiscard]] bool Leaves(NodeId node) const;
  absl::Status ReadInto(ObjectSink& sink);

  const ClusterSnapshot& snapshot_;
  const NodeGroups& groups_;
  const int64_t start_s_;
  const SimulatedCluster::Read read_;
  mutable std::mutex mutex_;        // Guards `gaps_`.
  std::vector<SimulatedGap> gaps_;  // Of the last read that has ended.
};

}  // namespace ebb

#endif  // EBB_SIMULATION_SIMULATED_INPUT_H_
