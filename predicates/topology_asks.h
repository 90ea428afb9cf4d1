// TopologyAsks: what PodTopologySpread and InterPodAffinity ask of a node for pods of one shape,
// in half a cache line.
//
//   TopologyAsks asks;
//   if (asks.Learn(shape)) fits = asks.Fit(snapshot, node);  // As TopologyFits.
//
// PodShape holds the same in three lists, and TopologyFits goes through them for every node that a
// search tests.  A cluster with thousands of applications has thousands of shapes, which do not
// stay in the cache.  Most shapes ask at most two things: a spread constraint, and that no pod of
// their own application is there.
//
// Cost:    Fit: two cache lines for each ask (topology_counts.h).
// Threads: none.
// Source:  as pod_topology_spread.h and inter_pod_affinity.h, whose verdict Fit repeats.

#ifndef EBB_PREDICATES_TOPOLOGY_ASKS_H_
#define EBB_PREDICATES_TOPOLOGY_ASKS_H_

#include <array>
#include <cstdint>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class TopologyAsks {
 public:
  // Returns false if the shape asks more than fits here, or has affinity terms.
  [[nodiscard]] bool Learn(const PodShape& shape);

  // The verdict of TopologyFits for the shape.  REQUIRES: Learn returned true.
  [[nodiscard]] bool Fit(const ClusterSnapshot& snapshot, NodeId node) const {
    for (uint32_t i = 0; i < asks_; ++i) {
      if (!Fits(snapshot, ask_[i], node)) return false;
    }
    return true;
  }

 private:
  struct Ask {
    TableId table;
    int32_t max_skew;     // kNoPods: the node's domain may not have a pod of the table.
    int32_t min_domains;  // The rest as in SpreadConstraint.
    uint32_t key : 31;
    uint32_t self_match : 1;
  };
  static constexpr int32_t kNoPods = -1;

  static bool Fits(const ClusterSnapshot& snapshot, const Ask& ask, NodeId node) {
    const TopologyCounts& topology = snapshot.topology();
    const Catalog& catalog = snapshot.catalog();
    const DomainId domain = catalog.DomainOf(TopologyKeyId{ask.key}, node);
    if (ask.max_skew == kNoPods) {
      return domain == kNoDomain || topology.Count(ask.table, domain) == 0;
    }
    if (domain == kNoDomain) return false;
    const int64_t domains = topology.Domains(catalog, ask.table);
    const int64_t min = domains < ask.min_domains ? 0 : topology.MinCount(ask.table);
    const int64_t count = topology.Count(ask.table, domain);
    return count + ask.self_match - min <= ask.max_skew;
  }

  std::array<Ask, 2> ask_{};
  uint32_t asks_ = 0;
};

}  // namespace ebb

#endif  // EBB_PREDICATES_TOPOLOGY_ASKS_H_
