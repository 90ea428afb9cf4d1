// TopologyCounts: for each counter table of the catalog, how many pods it counts
// in each topology domain, kept as pods come and go.
//
// A spread constraint asks for the count of one domain and for the minimum over
// all domains; affinity terms ask whether a count is zero and whether all are.
// All answers are look-ups: the minimum is kept with a histogram of the counts
// (when its last domain leaves the minimum by one pod, the next minimum is one
// higher) and searched only when a domain itself disappears.
//
// Cost:    a pod that comes or goes: one increment per table that its shape feeds.
//          A node that leaves or becomes a ghost: one step per registry, and per
//          table of a registry that loses a domain.
// Threads: as ClusterSnapshot.

#ifndef EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_
#define EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_

#include <cstdint>
#include <vector>

#include "snapshot/catalog.h"
#include "snapshot/cow_vector.h"
#include "snapshot/ids.h"
#include "snapshot/node_set.h"

namespace ebb {

class TopologyCounts {
 public:
  // Pods that `table` counts in `domain`.
  [[nodiscard]] uint32_t Count(TableId table, DomainId domain) const {
    return tables_[Index(table)].counts[Index(domain)];
  }
  // Pods that `table` counts anywhere.
  [[nodiscard]] uint32_t Total(TableId table) const { return tables_[Index(table)].total; }

  // Spread tables: the domains that exist, and the smallest count among them (0
  // if there is none).
  [[nodiscard]] uint32_t Domains(const Catalog& catalog, TableId table) const {
    return registries_[Index(catalog.tables()[Index(table)].registry)].domains;
  }
  [[nodiscard]] uint32_t MinCount(TableId table) const { return tables_[Index(table)].min; }

 private:
  friend class ClusterSnapshot;

  struct Table {
    CowVector<uint32_t, 64> counts;  // By DomainId.
    uint32_t total = 0;
    uint32_t min = 0;                 // kSpread.
    std::vector<uint32_t> histogram;  // kSpread: existing domains by count.
  };
  struct Registry {
    CowVector<uint32_t, 256> nodes;  // Eligible nodes by DomainId.
    uint32_t domains = 0;            // Domains with an eligible node.
  };

  // A pod of `shape` comes to (+1) or goes from (-1) `node`.
  void Count(const Catalog& catalog, const PodShape& shape, NodeId node, int sign);
  void CountInTable(const Catalog& catalog, TableId id, NodeId node, int sign);

  // `node`, which runs no pods, starts (+1) or stops (-1) being eligible.
  // `as_ghost`: only for registries that do not look at nodes being deleted.
  void CountNode(const Catalog& catalog, NodeId node, int sign, bool as_ghost);
  void DomainComesOrGoes(const Catalog& catalog, RegistryId registry, DomainId domain, int sign);

  // Makes room for tables, registries and domains that the catalog gained.  New registries
  // know the nodes that are alive, of which none is a ghost; new tables have counted no pod.
  void Grow(const Catalog& catalog, const NodeSet& alive);

  CowVector<Table, 8> tables_;
  CowVector<Registry, 8> registries_;
  std::vector<std::vector<TableId>> tables_of_;  // By RegistryId.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_
