// TopologyCounts: for each counter table of the catalog, how many pods it counts
// in each topology domain, kept as pods come and go.
//
// A spread constraint asks for the count of one domain and for the minimum over
// all domains; affinity terms ask whether a count is zero and whether all are.
// All answers are look-ups: the minimum is kept with a histogram of the counts
// (when its last domain leaves the minimum by one pod, the next minimum is one
// higher) and searched only when a domain itself disappears.
//
// Tables are many, and most count few pods: those of one application.  What a table
// counts lies in a block of an arena that all tables share, in one of three layouts:
//   by domain  an array by DomainId, where there are few domains or most have pods;
//   by pod     the domain of every pod, in no order, while there are at most 32 pods;
//   hashed     (domain, pods), of the domains that have any.
// So a pod that comes or goes touches few cache lines, and a copy of all counts is a
// copy of pages.
//
// A table *by node* is one of a topology key of which no two nodes have the same value, as
// of kubernetes.io/hostname, from which anti-affinity alone reads: whether it counts a pod on
// one node.  Nobody asks for its total.  While a node's pods are moved elsewhere nobody asks
// for its count on that node either, so a pod is counted there until it is moved:
// PodMoves is then one change of such a table in place of two.
//
// Cost:    a pod that comes or goes: one increment per table that its shape feeds.
//          A node that leaves or becomes a ghost: one step per registry, and per
//          table of a registry that loses a domain.
//          Memory: 32 bytes a table, 64 for its first pods, then up to 32 for each
//          domain that has any.
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
    const Table& t = tables_[Index(table)];
    if (t.layout == Layout::kByDomain) return cells_[t.counts + Index(domain)];
    if (t.layout == Layout::kByPod) {
      return CountEqual(cells_.Run(t.counts), uint32_t{1} << t.counts_log2, KeyOf(domain));
    }
    const uint32_t slot = SlotOf(t, domain);
    return cells_[slot] == kFree ? 0 : cells_[slot + 1];
  }
  // Pods that `table` counts anywhere.
  [[nodiscard]] uint32_t Total(TableId table) const { return tables_[Index(table)].total; }

  // Spread tables: the domains that exist, and the smallest count among them (0
  // if there is none).
  [[nodiscard]] uint32_t Domains(const Catalog&, TableId table) const {
    return registries_[Index(tables_[Index(table)].registry)].domains;
  }
  [[nodiscard]] uint32_t MinCount(TableId table) const { return tables_[Index(table)].min; }

  // Starts loading what says where the counts of `table` are; and, once that is there, the
  // counts themselves.
  void Prefetch(TableId table) const { __builtin_prefetch(&tables_[Index(table)], 1); }
  void PrefetchCounts(TableId table) const {
    const Table& t = tables_[Index(table)];
    __builtin_prefetch(cells_.Run(t.counts), 1);
    if (t.use == Use::kSpread) __builtin_prefetch(cells_.Run(t.histogram), 1);
  }

  // Whether all counts are the same, for assertions.  Cost: domains that have a count.
  [[nodiscard]] bool CountsAs(const TopologyCounts& other) const;

 private:
  friend class ClusterSnapshot;
  friend class ShapeRoom;

  enum class Layout : uint8_t { kByDomain, kByPod, kHashed };
  enum class Use : uint8_t { kSpread, kAffinity, kByNode };
  struct Table {
    uint32_t total = 0;
    uint32_t min = 0;        // kSpread.
    uint32_t counts = 0;     // Where its block of cells_ begins; 0: one cell that stays 0.
    uint32_t histogram = 0;  // kSpread: the same of another block, existing domains by count.
    uint32_t used = 0;       // kHashed: slots in use.
    TopologyKeyId key{};
    RegistryId registry{};       // kSpread.
    uint8_t counts_log2 = 0;     // Cells of the block; kHashed: slots, of two cells.
    uint8_t histogram_log2 = 0;  // Cells.
    Use use = Use::kAffinity;
    Layout layout = Layout::kByDomain;
  };
  static_assert(sizeof(Table) == 32);
  struct Registry {
    CowVector<uint32_t, 256> nodes;  // Eligible nodes by DomainId.
    uint32_t domains = 0;            // Domains with an eligible node.
  };

  // How a cell names a domain, where 0 is a cell that is free.
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t KeyOf(DomainId domain) { return static_cast<uint32_t>(domain) + 1; }

  // kByPod: the keys of `total` domains, then free cells.  `size` is a multiple of 8.
  static uint32_t CountEqual(const uint32_t* keys, uint32_t size, uint32_t key) {
    uint32_t equal = 0;
    for (; size > 0; size -= 8, keys += 8) {
      for (uint32_t i = 0; i < 8; ++i) equal += static_cast<uint32_t>(keys[i] == key);
    }
    return equal;
  }

  // kHashed: a slot is a domain's key and its count.  Slots are probed in a row.
  static uint32_t HomeOf(const Table& table, uint32_t key) {
    return (key * 0x9E3779B9u) >> (32 - table.counts_log2);
  }
  // The cell where the slot of `domain` begins, or of the free slot that ends its probing.
  [[nodiscard]] uint32_t SlotOf(const Table& table, DomainId domain) const {
    const uint32_t mask = (uint32_t{1} << table.counts_log2) - 1;
    uint32_t slot = HomeOf(table, KeyOf(domain));
    while (true) {
      const uint32_t at = table.counts + 2 * slot;
      if (cells_[at] == KeyOf(domain) || cells_[at] == kFree) return at;
      slot = (slot + 1) & mask;
    }
  }

  // Calls `visit` with domains and pods in them; of kByPod with each pod.
  template <typename Visit>
  void ForEachCount(const Table& table, Visit&& visit) const;

  // A pod of `shape` comes to (+1) or goes from (-1) `node`.
  void Count(const Catalog& catalog, const PodShape& shape, NodeId node, int sign);
  // The same, but in tables by node, which go on counting it as they did.
  void CountButByNode(const Catalog& catalog, const PodShape& shape, NodeId node, int sign);
  // A pod of `shape`, which tables by node count on `from` and others do not count, comes to
  // `to`; and back again.
  void PodMoves(const Catalog& catalog, const PodShape& shape, NodeId from, NodeId to);
  void PodMovesBack(const Catalog& catalog, const PodShape& shape, NodeId from, NodeId to);
  // The same of one table.
  void CountInTable(const Catalog& catalog, Table& table, NodeId node, int sign);
  void MoveInTable(const Catalog& catalog, Table& table, NodeId from, NodeId to);
  // A pod on `node` is counted by a table that is new.
  void CountOne(const Catalog& catalog, TableId table, NodeId node);
  // Changes the count by one, and returns what it was.
  uint32_t Add(const Catalog& catalog, Table& table, DomainId domain, int sign);
  uint32_t AddByPod(const Catalog& catalog, Table& table, DomainId domain, int sign);
  uint32_t AddHashed(const Catalog& catalog, Table& table, DomainId domain, int sign);
  void EraseSlot(const Table& table, uint32_t slot);
  // A domain has `now` pods, one more or one less than `before`.
  void MoveMinimum(Table& table, uint32_t before, uint32_t now);
  void EnlargeHistogram(Table& table, uint32_t count);

  // `node`, which runs no pods, starts (+1) or stops (-1) being eligible.
  // `as_ghost`: only for registries that do not look at nodes being deleted.
  void CountNode(const Catalog& catalog, NodeId node, int sign, bool as_ghost);
  void DomainComesOrGoes(const Catalog& catalog, RegistryId registry, DomainId domain, int sign);

  static Use UseOf(const Catalog& catalog, const CounterTable& definition);
  // Makes room for tables, registries and domains that the catalog gained.  New registries
  // know the nodes that are alive, of which none is a ghost; new tables have counted no pod.
  void Grow(const Catalog& catalog, const NodeSet& alive);
  // Gives the table the block that is right for its counts and one more pod.
  void LayOut(const Catalog& catalog, Table& table);
  // Counts `pods` more in a block that has room for them.
  void Insert(Table& table, DomainId domain, uint32_t pods);
  // A block of 2^log2 cells, all 0.  What a table leaves is not used again: it leaves a
  // block for one of twice the size, or when there are twice as many domains.
  uint32_t Allocate(uint32_t log2);

  CowVector<Table, 64> tables_;
  CowVector<uint32_t, 1024> cells_;
  uint32_t cells_end_ = 0;  // Of the last block.
  CowVector<Registry, 8> registries_;
  std::vector<std::vector<TableId>> tables_of_;  // By RegistryId.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_
