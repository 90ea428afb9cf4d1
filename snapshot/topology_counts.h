// TopologyCounts: for each counter table of the catalog, how many pods it counts
// in each topology domain, updated as pods come and go.
//
// A spread constraint reads the count of one domain and the minimum over all
// domains.  Affinity terms read whether one count, or every count, is zero.
// Each answer is a look-up.  With at most 8 domains the minimum is taken over 8 numbers.  With
// more domains it is 0 while fewer domains have pods than exist; otherwise a histogram of the
// counts yields it.  So no table changes when a domain is added or removed, because the domain
// has no pods at that time.
//
// There are many tables, and most count few pods: the pods of one application.  The counts of a
// table have one of three layouts:
//   by domain  an array by DomainId, if there are few domains or most of them have pods;
//   by pod     the domain of every pod, unordered, while there are at most 32 pods;
//   hashed     (domain, pods), for the domains that have pods.
// With at most 8 domains or 8 pods, the counts are in the table itself, which is one cache line;
// otherwise in a block of an arena that all tables share.  So a pod that comes or goes touches
// few cache lines, and copying all counts means copying pages.
//
// A table *by node* belongs to a topology key for which no two nodes have the same value, such
// as kubernetes.io/hostname, and is read by anti-affinity only: does it count a pod on one node?
// Its total is never read.  While the pods of a node are moved elsewhere, its count on that
// node is not read either, so a pod stays counted there until it is moved.  ShapeRoom then makes
// one change to such a table instead of two.
//
// Cost:    a pod that comes or goes: one increment per table that its shape feeds.
//          A node that leaves or becomes a ghost: one step per registry.
//          Memory: 64 bytes per table; beyond 8 domains and 8 pods, up to 32 more for each
//          domain that has pods.
// Threads: as ClusterSnapshot.

#ifndef EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_
#define EBB_SNAPSHOT_TOPOLOGY_COUNTS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
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

  // For spread tables: the number of domains that exist, and the smallest count among them (0
  // if there are none).
  [[nodiscard]] uint32_t Domains(const Catalog&, TableId table) const {
    return registries_[Index(tables_[Index(table)].registry)].domains;
  }
  [[nodiscard]] uint32_t MinCount(TableId table) const {
    const Table& t = tables_[Index(table)];
    return t.layout == Layout::kInlineByDomain ? MinInline(t) : MinOfHistogram(t);
  }

  // Prefetch loads the header of `table`; once loaded, PrefetchCounts loads its counts.
  void Prefetch(TableId table) const { __builtin_prefetch(&tables_[Index(table)], 1); }
  void PrefetchCounts(TableId table) const {
    const Table& t = tables_[Index(table)];
    if (!IsInline(t)) __builtin_prefetch(cells_.Run(t.counts), 1);
    if (HasHistogram(t)) __builtin_prefetch(cells_.Run(t.histogram), 1);
  }

  // Calls `visit`(domain, pods) for each domain in which `table` counts pods.  If there are few
  // pods it may call `visit`(domain, 1) once for each pod.  Cost: domains, or pods.
  template <typename Visit>
  void ForEachCount(TableId table, Visit&& visit) const {
    ForEachCountOf(tables_[Index(table)], visit);
  }

  // Whether all counts are equal.  For assertions.  Cost: domains that have a count.
  [[nodiscard]] bool CountsAs(const TopologyCounts& other) const;

 private:
  friend class ClusterSnapshot;
  friend class ShapeRoom;

  // Cells in the table itself: up to this many domains or pods need no block.  As many as fit into
  // one cache line with the rest of the table.
  static constexpr uint32_t kInlineCells = 8;
  enum class Layout : uint8_t { kInlineByDomain, kInlineByPod, kByDomain, kByPod, kHashed };
  enum class Use : uint8_t { kSpread, kAffinity, kByNode };
  struct alignas(64) Table {
    uint32_t total = 0;
    uint32_t domains = 0;    // If HasHistogram: the number of domains that have pods.
    uint32_t counts = 0;     // The start of the table's block in cells_, if it has one.
    uint32_t histogram = 0;  // If HasHistogram: the start of the histogram in cells_.
    uint32_t used = 0;       // kHashed: slots in use.
    TopologyKeyId key{};
    RegistryId registry{};       // kSpread.
    uint8_t counts_log2 = 0;     // Cells of the block; for kHashed: slots of two cells.
    uint8_t histogram_log2 = 0;  // Cells of the histogram.
    Use use = Use::kAffinity;
    Layout layout = Layout::kInlineByDomain;
    std::array<uint32_t, kInlineCells> cells{};  // The counts, if IsInline.
  };
  static_assert(sizeof(Table) == 64);
  struct Registry {
    CowVector<uint32_t, 256> nodes;  // Eligible nodes by DomainId.
    uint32_t domains = 0;            // Domains with an eligible node.
    // For the first domains: all bits set if the domain has no eligible node, else 0.
    std::array<uint32_t, kInlineCells> absent = {kAbsent, kAbsent, kAbsent, kAbsent,
                                                 kAbsent, kAbsent, kAbsent, kAbsent};
  };
  static constexpr uint32_t kAbsent = ~uint32_t{0};

  static bool IsInline(const Table& table) { return table.layout <= Layout::kInlineByPod; }
  // Whether the minimum comes from a histogram and not from the counts.  The histogram is a block
  // of cells_: element n > 0 is the number of domains with n pods.  Element 0 is not needed for
  // domains without pods; it holds a lower bound of the smallest count above 0.
  static bool HasHistogram(const Table& table) {
    return table.use == Use::kSpread && table.layout != Layout::kInlineByDomain;
  }
  // The largest number of domains that the table's layout can count.
  static size_t DomainsMax(const Table& table) {
    if (table.layout == Layout::kInlineByDomain) return kInlineCells;
    if (table.layout == Layout::kByDomain) return size_t{1} << table.counts_log2;
    return ~size_t{0};
  }
  // kInlineByDomain: the smallest count of an existing domain; 0 if none exists.
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
  // A domain that does not exist has no pods.  The exception is the domain of a ghost, whose pods
  // are taken off the counts before the minimum is read.
  [[nodiscard]] uint32_t MinOfHistogram(const Table& table) const {
    const uint32_t domains = registries_[Index(table.registry)].domains;
    if (domains == 0 || domains > table.domains) return 0;
    uint32_t min = cells_[table.histogram];
    while (cells_[table.histogram + min] == 0) ++min;
    return min;
  }
  // For the layouts that are not inline.
  [[nodiscard]] uint32_t CountInBlock(const Table& t, DomainId domain) const {
    if (t.layout == Layout::kByDomain) return cells_[t.counts + Index(domain)];
    if (t.layout == Layout::kByPod) {
      return CountEqual(cells_.Run(t.counts), uint32_t{1} << t.counts_log2, KeyOf(domain));
    }
    const uint32_t slot = SlotOf(t, domain);
    return cells_[slot] == kFree ? 0 : cells_[slot + 1];
  }

  // How a cell names a domain; 0 marks a free cell.
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t KeyOf(DomainId domain) { return static_cast<uint32_t>(domain) + 1; }

  // kByPod: `keys` names `total` domains, followed by free cells.  `size` is a multiple of 8.
  static uint32_t CountEqual(const uint32_t* keys, uint32_t size, uint32_t key) {
    uint32_t equal = 0;
    for (; size > 0; size -= 8, keys += 8) {
      for (uint32_t i = 0; i < 8; ++i) equal += static_cast<uint32_t>(keys[i] == key);
    }
    return equal;
  }

  // kHashed: a slot is a domain's key and its count.  Probing is linear.
  static uint32_t HomeOf(const Table& table, uint32_t key) {
    return (key * 0x9E3779B9u) >> (32 - table.counts_log2);
  }
  // The cell where the slot of `domain` begins, or of the free slot where probing for it ends.
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

  // A pod of `shape` is added to (+1) or removed from (-1) `node`.
  void Count(const Catalog& catalog, const PodShape& shape, NodeId node, int sign);
  // The same for the tables of `feeds` that do not count by node.
  void CountExceptByNode(const Catalog& catalog, std::span<const TableId> feeds, NodeId node,
                         int sign);
  // A pod that feeds these tables comes to `node`, or leaves it (`comes` is false).  Tables by node
  // count it on `ghost` before it comes and after it leaves, unless `ghost` is kNoNode.
  void CountBeside(const Catalog& catalog, std::span<const TableId> feeds, NodeId node,
                   NodeId ghost, bool comes);
  // As Count, for one table.
  void CountInTable(const Catalog& catalog, Table& table, NodeId node, int sign);
  void CountBeyondInline(const Catalog& catalog, Table& table, DomainId domain, int sign);
  void MoveInTable(const Catalog& catalog, Table& table, NodeId from, NodeId to);
  // Counts one pod on `node` in a table that is new.
  void CountOne(const Catalog& catalog, TableId table, NodeId node);
  // The keys of a table by pod.
  uint32_t* KeysOf(Table& table) {
    return table.layout == Layout::kInlineByPod ? table.cells.data()
                                                : &cells_.Mutable(table.counts);
  }
  // Changes the count of a domain by one.  Returns the previous count; the layouts by pod return
  // it for spread tables only.
  uint32_t Add(const Catalog& catalog, Table& table, DomainId domain, int sign);
  uint32_t AddByPod(const Catalog& catalog, Table& table, DomainId domain, int sign);
  uint32_t AddHashed(const Catalog& catalog, Table& table, DomainId domain, int sign);
  void EraseSlot(const Table& table, uint32_t slot);
  // Updates the histogram for a domain whose count changes from `before` to `now`, by one.
  void MoveInHistogram(Table& table, uint32_t before, uint32_t now);
  void MakeHistogram(Table& table);
  void EnlargeHistogram(Table& table, uint32_t count);

  // `node` starts (+1) or stops (-1) being eligible.  It runs no pods, or is a ghost.
  // `as_ghost`: only registries that exclude nodes which are being deleted change.
  void CountNode(const Catalog& catalog, NodeId node, int sign, bool as_ghost);
  static Use UseOf(const Catalog& catalog, const CounterTable& definition);
  // Makes room for tables, registries and domains that the catalog gained.  New registries
  // count the alive nodes, none of which is a ghost; new tables count no pods yet.
  void Grow(const Catalog& catalog, const NodeSet& alive);
  // Moves the table's counts to the layout and block that suit them and one more pod.
  void LayOut(const Catalog& catalog, Table& table);
  // Adds `pods` to the count of a domain, in a block that has room for them.
  void Insert(Table& table, DomainId domain, uint32_t pods);
  // Allocates a block of 2^log2 cells, all 0.  Old blocks are not reused: a table changes its
  // block only for one of twice the size, or when the number of domains has doubled.
  uint32_t Allocate(uint32_t log2);

  // Pages of 4 KiB.  Not tuned: other sizes were not compared.
  CowVector<Table, 64> tables_;
  CowVector<uint32_t, 1024> cells_;
  uint32_t cells_end_ = 0;  // The end of the last block.
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
