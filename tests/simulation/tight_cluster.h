// A cluster whose plan is tight: it can be carried out only if pods land where the plan has them.

#ifndef EBB_TESTS_SIMULATION_TIGHT_CLUSTER_H_
#define EBB_TESTS_SIMULATION_TIGHT_CLUSTER_H_

#include "tests/testing/cluster_builder.h"

namespace ebb::test {

// Two nodes to fill, x and y, each with room for a large pod or two small ones.  The plan packs the
// small ones onto one of them; the scheduler spreads them.
inline Cluster TightCluster() {
  Cluster cluster;
  cluster.Add(Node("one").Cpu(4000))
      .Add(Node("two").Cpu(4000))
      .Add(Node("x").Cpu(1000))
      .Add(Node("y").Cpu(1000))
      .Add(Pod("small-1").On("one").Cpu(500))
      .Add(Pod("small-2").On("one").Cpu(500))
      .Add(Pod("large").On("two").Cpu(1000));
  return cluster;
}

}  // namespace ebb::test

#endif  // EBB_TESTS_SIMULATION_TIGHT_CLUSTER_H_
