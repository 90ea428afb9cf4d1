// TopologyCounts: for each counter table of the catalog, how many pods it counts
// in each topology domain, kept as pods come and go.
//
// A spread constraint asks for the count of one domain and for the minimum over
// all domains; affinity terms ask whether a count is zero and whether all are.
// All answers are look-ups.  Of 8 domains at most the minimum is that of 8 numbers.  Of more
// it is 0 as long as fewer domains have pods than there are; else a histogram of the counts
// tells it.  So no table is touched when a domain, which then has no pods, comes or goes.
//
// Tables are many, and most count few pods: those of one application.  What a table
// counts lies in one of three layouts:
//   by domain  an array by DomainId, where there are few domains or most have pods;
//   by pod     the domain of every pod, in no order, while there are at most 32 pods;
//   hashed     (domain, pods), of the domains that have any.
// Of 8 domains or 8 pods it lies in the table itself, which is one cache line; else in a
// block of an arena that all tables share.  So a pod that comes or goes touches few cache
// lines, and a copy of all counts is a copy of pages.
//
// A table *by node* is one of a topology key of which no two nodes have the same value, as
// of kubernetes.io/hostname, from which anti-affinity alone reads: whether it counts a pod on
// one node.  Nobody asks for its total.  While a node's pods are moved elsewhere nobody asks
// for its count on that node either, so a pod is counted there until it is moved:
// PodMoves is then one change of such a table in place of two.
//
// Cost:    a pod that comes or goes: one increment per table that its shape feeds.
//          A node that leaves or becomes a ghost: one step per registry.
//          Memory: 64 bytes a table, beyond 8 domains and 8 pods up to 32 for each
//          domain that has any.
// Threads: as ClusterSnapshot.

#ifndef EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_
#define EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_

#include <algorithm>
#include <array>
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
    return CountOf(tables_[Index(table)], domain);
  }
  // Pods that `table` counts anywhere.
  [[nodiscard]] uint32_t Total(TableId table) const { return tables_[Index(table)].total; }

  // Spread tables: the domains that exist, and the smallest count among them (0
  // if there is none).
  [[nodiscard]] uint32_t Domains(const Catalog&, TableId table) const {
    return registries_[Index(tables_[Index(table)].registry)].domains;
  }
  [[nodiscard]] uint32_t MinCount(TableId table) const {
    const Table& t = tables_[Index(table)];
    return t.layout == Layout::kInlineByDomain ? MinInline(t) : MinOfHistogram(t);
  }

  // Starts loading what says where the counts of `table` are; and, once that is there, the
  // counts themselves.
  void Prefetch(TableId table) const { __builtin_prefetch(&tables_[Index(table)], 1); }
  void PrefetchCounts(TableId table) const {
    const Table& t = tables_[Index(table)];
    if (!IsInline(t)) __builtin_prefetch(cells_.Run(t.counts), 1);
    if (HasHistogram(t)) __builtin_prefetch(cells_.Run(t.histogram), 1);
  }

  // Calls `visit` with each domain in which `table` counts pods, and how many; where there are
  // few of them perhaps with 1 for each pod.  Cost: domains, or pods.
  template <typename Visit>
  void ForEachCount(TableId table, Visit&& visit) const {
    ForEachCountOf(tables_[Index(table)], visit);
  }

  // Whether all counts are the same, for assertions.  Cost: domains that have a count.
  [[nodiscard]] bool CountsAs(const TopologyCounts& other) const;

 private:
  friend class ClusterSnapshot;
  friend class ShapeRoom;

  // Cells of a table itself: of so many domains or pods it needs no block.
  static constexpr uint32_t kInlineCells = 8;
  enum class Layout : uint8_t { kInlineByDomain, kInlineByPod, kByDomain, kByPod, kHashed };
  enum class Use : uint8_t { kSpread, kAffinity, kByNode };
  struct alignas(64) Table {
    uint32_t total = 0;
    uint32_t domains = 0;    // HasHistogram: domains that have any pod.
    uint32_t counts = 0;     // Where its block of cells_ begins, if it has one.
    uint32_t histogram = 0;  // HasHistogram: where that begins.
    uint32_t used = 0;       // kHashed: slots in use.
    TopologyKeyId key{};
    RegistryId registry{};       // kSpread.
    uint8_t counts_log2 = 0;     // Cells of the block; kHashed: slots, of two cells.
    uint8_t histogram_log2 = 0;  // Cells.
    Use use = Use::kAffinity;
    Layout layout = Layout::kInlineByDomain;
    std::array<uint32_t, kInlineCells> cells{};  // IsInline: the counts.
  };
  static_assert(sizeof(Table) == 64);
  struct Registry {
    CowVector<uint32_t, 256> nodes;  // Eligible nodes by DomainId.
    uint32_t domains = 0;            // Domains with an eligible node.
    // Of the first domains: all bits, if there is no eligible node; else none.
    std::array<uint32_t, kInlineCells> absent = {kAbsent, kAbsent, kAbsent, kAbsent,
                                                 kAbsent, kAbsent, kAbsent, kAbsent};
  };
  static constexpr uint32_t kAbsent = ~uint32_t{0};

  static bool IsInline(const Table& table) { return table.layout <= Layout::kInlineByPod; }
  // Whether the minimum is asked of a histogram, not of the counts.  It is a block of cells_:
  // how many domains have 1 pod, 2 pods, and so on.  In place of those that have none, of which
  // some exist and some do not, is a count below which no domain is that has any.
  static bool HasHistogram(const Table& table) {
    return table.use == Use::kSpread && table.layout != Layout::kInlineByDomain;
  }
  // How many domains the key may have, as the table is laid out.
  static size_t DomainsMax(const Table& table) {
    if (table.layout == Layout::kInlineByDomain) return kInlineCells;
    if (table.layout == Layout::kByDomain) return size_t{1} << table.counts_log2;
    return ~size_t{0};
  }
  // kInlineByDomain: the smallest count of an existing domain; 0 if there is none.
  [[nodiscard]] uint32_t MinInline(const Table& table) const {
    const Registry& registry = registries_[Index(table.registry)];
    uint32_t min = kAbsent;
    for (uint32_t d = 0; d < kInlineCells; ++d) {
      min = std::min(min, table.cells[d] | registry.absent[d]);
    }
    return min == kAbsent ? 0 : min;
  }
  [[nodiscard]] uint32_t CountOf(const Table& t, DomainId domain) const {
    if (t.layout == Layout::kInlineByDomain) return t.cells[Index(domain)];
    if (t.layout == Layout::kInlineByPod) {
      return CountEqual(t.cells.data(), kInlineCells, KeyOf(domain));
    }
    return CountInBlock(t, domain);
  }
  // A domain that does not exist has no pods, but for those of a ghost, which are taken off before
  // anybody asks.
  [[nodiscard]] uint32_t MinOfHistogram(const Table& table) const {
    const uint32_t domains = registries_[Index(table.registry)].domains;
    if (domains == 0 || domains > table.domains) return 0;
    uint32_t min = cells_[table.histogram];
    while (cells_[table.histogram + min] == 0) ++min;
    return min;
  }
  // Of the other layouts than the inline ones.
  [[nodiscard]] uint32_t CountInBlock(const Table& t, DomainId domain) const {
    if (t.layout == Layout::kByDomain) return cells_[t.counts + Index(domain)];
    if (t.layout == Layout::kByPod) {
      return CountEqual(cells_.Run(t.counts), uint32_t{1} << t.counts_log2, KeyOf(domain));
    }
    const uint32_t slot = SlotOf(t, domain);
    return cells_[slot] == kFree ? 0 : cells_[slot + 1];
  }

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

  template <typename Visit>
  void ForEachCountOf(const Table& table, Visit&& visit) const;

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
  void CountBeyondInline(const Catalog& catalog, Table& table, DomainId domain, int sign);
  void MoveInTable(const Catalog& catalog, Table& table, NodeId from, NodeId to);
  // A pod on `node` is counted by a table that is new.
  void CountOne(const Catalog& catalog, TableId table, NodeId node);
  // The keys of a table by pod.
  uint32_t* KeysOf(Table& table) {
    return table.layout == Layout::kInlineByPod ? table.cells.data()
                                                : &cells_.Mutable(table.counts);
  }
  // Changes the count by one, and returns what it was.
  uint32_t Add(const Catalog& catalog, Table& table, DomainId domain, int sign);
  uint32_t AddByPod(const Catalog& catalog, Table& table, DomainId domain, int sign);
  uint32_t AddHashed(const Catalog& catalog, Table& table, DomainId domain, int sign);
  void EraseSlot(const Table& table, uint32_t slot);
  // A domain has `now` pods, one more or one less than `before`.
  void MoveInHistogram(Table& table, uint32_t before, uint32_t now);
  void MakeHistogram(Table& table);
  void EnlargeHistogram(Table& table, uint32_t count);

  // `node`, which runs no pods or is a ghost, starts (+1) or stops (-1) being eligible.
  // `as_ghost`: only for registries that do not look at nodes being deleted.
  void CountNode(const Catalog& catalog, NodeId node, int sign, bool as_ghost);
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
};

template <typename Visit>
void TopologyCounts::ForEachCountOf(const Table& table, Visit&& visit) const {
  const uint32_t entries = IsInline(table) ? kInlineCells : uint32_t{1} << table.counts_log2;
  for (uint32_t i = 0; i < entries; ++i) {
    if (table.layout == Layout::kHashed) {
      const uint32_t slot = table.counts + 2 * i;
      if (cells_[slot] != kFree) visit(DomainId{cells_[slot] - 1}, cells_[slot + 1]);
      continue;
    }
    const uint32_t cell = IsInline(table) ? table.cells[i] : cells_[table.counts + i];
    if (cell == 0) continue;
    if (table.layout == Layout::kByPod || table.layout == Layout::kInlineByPod) {
      visit(DomainId{cell - 1}, 1);
    } else {
      visit(DomainId{i}, cell);
    }
  }
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_
