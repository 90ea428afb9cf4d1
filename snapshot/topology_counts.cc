#include "snapshot/topology_counts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace ebb {
namespace {

// A table with at most this many domains has an array by domain, where a count is one load.
constexpr size_t kFewDomains = 16;
// A table with more pods is not kept by pod.  A list by pod needs no memory for empty domains, but
// a search of the list for each change.
//
// Both were measured only with other changes of their steps (docs/performance.md: "a table of few
// pods kept as a list of their domains", ColdPass/topology:5000 91 to 34 ms).  Other values were
// not compared.
constexpr uint32_t kPodsMax = 32;
// A block begins at a multiple of its size, or of this number if the block is larger.  So blocks
// of tables by pod never cross pages.
constexpr uint64_t kBlockAlignment = kPodsMax;

uint8_t Log2Ceil(size_t number) {
  return static_cast<uint8_t>(std::countr_zero(std::bit_ceil(number)));
}

}  // namespace

[[gnu::always_inline]] inline void TopologyCounts::CountInTable(const Catalog& catalog,
                                                                Table& table, NodeId node,
                                                                int sign) {
  const DomainId domain = catalog.DomainOf(table.key, node);
  if (domain == kNoDomain) return;
  const bool spread = table.use == Use::kSpread;
  if (spread && !catalog.registries()[Index(table.registry)].eligible.Contains(node)) return;
  if (table.layout == Layout::kInlineByDomain) [[likely]] {
    EBB_DCHECK(sign > 0 || table.cells[Index(domain)] > 0);
    table.cells[Index(domain)] += sign;
    table.total += sign;
    return;
  }
  CountBeyondInline(catalog, table, domain, sign);
}

void TopologyCounts::CountBeyondInline(const Catalog& catalog, Table& table, DomainId domain,
                                       int sign) {
  const uint32_t before = Add(catalog, table, domain, sign);
  table.total += sign;
  if (table.use == Use::kSpread) MoveInHistogram(table, before, before + sign);
}

inline void TopologyCounts::MoveInTable(const Catalog& catalog, Table& table, NodeId from,
                                        NodeId to) {
  const DomainId before = catalog.DomainOf(table.key, from);
  const DomainId after = catalog.DomainOf(table.key, to);
  const bool by_pod = table.layout == Layout::kInlineByPod || table.layout == Layout::kByPod;
  if (by_pod && before != kNoDomain && after != kNoDomain) [[likely]] {
    uint32_t* const keys = KeysOf(table);
    uint32_t* const key = std::find(keys, keys + table.total, KeyOf(before));
    EBB_DCHECK(key != keys + table.total);
    *key = KeyOf(after);
    return;
  }
  CountInTable(catalog, table, from, -1);
  CountInTable(catalog, table, to, +1);
}

void TopologyCounts::Count(const Catalog& catalog, const PodShape& shape, NodeId node, int sign) {
  for (const TableId id : shape.feeds) {
    CountInTable(catalog, tables_.Mutable(Index(id)), node, sign);
  }
}

void TopologyCounts::CountExceptByNode(const Catalog& catalog, std::span<const TableId> feeds,
                                       NodeId node, int sign) {
  for (const TableId id : feeds) {
    if (tables_[Index(id)].use == Use::kByNode) continue;
    CountInTable(catalog, tables_.Mutable(Index(id)), node, sign);
  }
}

void TopologyCounts::CountBeside(const Catalog& catalog, std::span<const TableId> feeds,
                                 NodeId node, NodeId ghost, bool comes) {
  for (const TableId id : feeds) {
    Table& table = tables_.Mutable(Index(id));
    if (ghost != kNoNode && table.use == Use::kByNode) {
      MoveInTable(catalog, table, comes ? ghost : node, comes ? node : ghost);
    } else {
      CountInTable(catalog, table, node, comes ? +1 : -1);
    }
  }
}

void TopologyCounts::CountOne(const Catalog& catalog, TableId table, NodeId node) {
  CountInTable(catalog, tables_.Mutable(Index(table)), node, +1);
}

inline uint32_t TopologyCounts::Add(const Catalog& catalog, Table& table, DomainId domain,
                                    int sign) {
  switch (table.layout) {
    case Layout::kInlineByPod:
    case Layout::kByPod:
      return AddByPod(catalog, table, domain, sign);
    case Layout::kHashed:
      return AddHashed(catalog, table, domain, sign);
    case Layout::kInlineByDomain:
    case Layout::kByDomain:
      break;
  }
  uint32_t& count = table.layout == Layout::kByDomain ? cells_.Mutable(table.counts + Index(domain))
                                                      : table.cells[Index(domain)];
  const uint32_t before = count;
  count += sign;
  return before;
}

inline uint32_t TopologyCounts::AddByPod(const Catalog& catalog, Table& table, DomainId domain,
                                         int sign) {
  const uint32_t size = uint32_t{1} << table.counts_log2;
  if (sign > 0 && table.total == size) [[unlikely]] {
    LayOut(catalog, table);
    return Add(catalog, table, domain, sign);
  }
  uint32_t* const keys = KeysOf(table);
  const uint32_t key = KeyOf(domain);
  // For other tables than spread tables no caller uses the previous count.
  const uint32_t before = table.use == Use::kSpread ? CountEqual(keys, size, key) : 0;
  if (sign > 0) {
    keys[table.total] = key;
  } else {
    uint32_t i = 0;
    while (keys[i] != key) {
      ++i;
      EBB_DCHECK(i < table.total);
    }
    keys[i] = keys[table.total - 1];
    keys[table.total - 1] = kFree;
  }
  return before;
}

uint32_t TopologyCounts::AddHashed(const Catalog& catalog, Table& table, DomainId domain,
                                   int sign) {
  const uint32_t slot = SlotOf(table, domain);
  if (cells_[slot] != kFree) {
    uint32_t& count = cells_.Mutable(slot + 1);
    const uint32_t before = count;
    count += sign;
    if (count == 0) {
      --table.used;
      EraseSlot(table, slot);
    }
    return before;
  }
  EBB_DCHECK(sign > 0);
  // At least half of the slots stay free, so that probe sequences are short.
  if (2 * (table.used + 1) > uint32_t{1} << table.counts_log2) {
    LayOut(catalog, table);
    return Add(catalog, table, domain, sign);
  }
  Insert(table, domain, 1);
  return 0;
}

// Moves slots that were probed past the erased slot, so that no probe sequence ends too early.
void TopologyCounts::EraseSlot(const Table& table, uint32_t slot) {
  const uint32_t mask = (uint32_t{1} << table.counts_log2) - 1;
  uint32_t hole = (slot - table.counts) / 2;
  for (uint32_t next = (hole + 1) & mask;; next = (next + 1) & mask) {
    const uint32_t key = cells_[table.counts + 2 * next];
    if (key == kFree) break;
    const uint32_t probes = (next - HomeOf(table, key)) & mask;
    if (probes < ((next - hole) & mask)) continue;
    const uint32_t count = cells_[table.counts + 2 * next + 1];
    cells_.Mutable(table.counts + 2 * hole) = key;
    cells_.Mutable(table.counts + 2 * hole + 1) = count;
    hole = next;
  }
  cells_.Mutable(table.counts + 2 * hole) = kFree;
  cells_.Mutable(table.counts + 2 * hole + 1) = 0;
}

void TopologyCounts::MoveInHistogram(Table& table, uint32_t before, uint32_t now) {
  if (now >> table.histogram_log2 != 0) [[unlikely]]
    EnlargeHistogram(table, now);
  const auto having = [&](uint32_t pods) -> uint32_t& {
    return cells_.Mutable(table.histogram + pods);
  };
  if (before > 0) {
    --having(before);
  } else {
    ++table.domains;
  }
  uint32_t& least = having(0);
  if (now > 0) {
    ++having(now);
    least = std::min(least, now);
  } else {
    --table.domains;
  }
  // While some domain has no pods, the minimum is 0 and `least` is not read.
  if (table.domains < registries_[Index(table.registry)].domains || table.domains == 0) return;
  while (having(least) == 0) ++least;
}

void TopologyCounts::MakeHistogram(Table& table) {
  table.histogram_log2 = 1;
  table.histogram = Allocate(table.histogram_log2);
  table.domains = 0;
  cells_.Mutable(table.histogram) = 1;
  if (table.total == 0) return;
  const size_t domains = registries_[Index(table.registry)].nodes.size();
  for (uint32_t d = 0; d < domains; ++d) {
    const uint32_t count = CountOf(table, DomainId{d});
    if (count > 0) MoveInHistogram(table, 0, count);
  }
}

void TopologyCounts::EnlargeHistogram(Table& table, uint32_t count) {
  const uint8_t log2 = Log2Ceil(size_t{count} + 1);
  const uint32_t block = Allocate(log2);
  for (uint32_t i = 0; i < uint32_t{1} << table.histogram_log2; ++i) {
    cells_.Mutable(block + i) = cells_[table.histogram + i];
  }
  table.histogram = block;
  table.histogram_log2 = log2;
}

void TopologyCounts::CountNode(const Catalog& catalog, NodeId node, int sign, bool as_ghost) {
  const std::vector<DomainRegistry>& definitions = catalog.registries();
  for (size_t r = 0; r < definitions.size(); ++r) {
    const DomainRegistry& definition = definitions[r];
    if (as_ghost && !definition.ghost_excluded) continue;
    if (!definition.eligible.Contains(node)) continue;
    const DomainId domain = catalog.DomainOf(definition.key, node);
    Registry& registry = registries_.Mutable(r);
    uint32_t& nodes = registry.nodes.Mutable(Index(domain));
    nodes += sign;
    const bool comes = sign > 0 && nodes == 1;
    const bool goes = sign < 0 && nodes == 0;
    if (!comes && !goes) continue;
    registry.domains += sign;
    if (Index(domain) < kInlineCells) registry.absent[Index(domain)] = comes ? 0 : kAbsent;
  }
}

TopologyCounts::Use TopologyCounts::UseOf(const Catalog& catalog, const CounterTable& definition) {
  if (definition.kind == TableKind::kSpread) return Use::kSpread;
  const bool one_node_each = catalog.topology_key(definition.key).shared_domains == 0;
  return one_node_each && !definition.for_affinity ? Use::kByNode : Use::kAffinity;
}

void TopologyCounts::Grow(const Catalog& catalog, const NodeSet& alive) {
  const size_t known_registries = registries_.size();
  registries_.Resize(catalog.registries().size());
  for (size_t r = 0; r < catalog.registries().size(); ++r) {
    const DomainRegistry& definition = catalog.registries()[r];
    Registry& registry = registries_.Mutable(r);
    registry.nodes.Resize(catalog.topology_key(definition.key).values.size());
    if (r < known_registries) continue;
    alive.ForEach([&](NodeId node) {
      if (!definition.eligible.Contains(node)) return;
      const DomainId domain = catalog.DomainOf(definition.key, node);
      uint32_t& nodes = registry.nodes.Mutable(Index(domain));
      if (nodes++ > 0) return;
      ++registry.domains;
      if (Index(domain) < kInlineCells) registry.absent[Index(domain)] = 0;
    });
  }
  if (catalog.tables().empty()) return;
  const size_t known = tables_.size();
  tables_.Resize(catalog.tables().size());
  for (size_t t = 0; t < catalog.tables().size(); ++t) {
    const CounterTable& definition = catalog.tables()[t];
    const size_t domains = catalog.topology_key(definition.key).values.size();
    const Use use = UseOf(catalog, definition);
    if (t < known) {
      if (tables_[t].use != use) tables_.Mutable(t).use = use;
      if (domains > DomainsMax(tables_[t])) {
        Table& table = tables_.Mutable(t);
        const bool had_histogram = HasHistogram(table);
        LayOut(catalog, table);
        if (!had_histogram && HasHistogram(table)) MakeHistogram(table);
      }
      continue;
    }
    Table& table = tables_.Mutable(t);
    table.key = definition.key;
    table.use = use;
    table.registry = definition.registry;
    LayOut(catalog, table);
    if (HasHistogram(table)) MakeHistogram(table);
  }
}

void TopologyCounts::LayOut(const Catalog& catalog, Table& table) {
  const size_t domains = catalog.topology_key(table.key).values.size();
  const Table before = table;
  uint32_t counted = 0;
  ForEachCountOf(before, [&](DomainId, uint32_t) { ++counted; });
  const uint32_t slots = std::bit_ceil(2 * (counted + 1));
  if (domains <= kInlineCells) {
    table.layout = Layout::kInlineByDomain;
  } else if (domains <= kFewDomains) {
    table.layout = Layout::kByDomain;
  } else if (table.total < kInlineCells) {
    table.layout = Layout::kInlineByPod;
  } else if (table.total < kPodsMax) {
    table.layout = Layout::kByPod;
  } else {
    table.layout = domains > 2 * size_t{slots} ? Layout::kHashed : Layout::kByDomain;
  }
  table.cells = {};
  if (IsInline(table)) {
    table.counts_log2 = Log2Ceil(kInlineCells);
  } else {
    const bool hashed = table.layout == Layout::kHashed;
    const size_t entries = table.layout == Layout::kByDomain ? domains
                           : hashed                          ? slots
                                                             : table.total + 1;
    table.counts_log2 = Log2Ceil(entries);
    table.counts = Allocate(table.counts_log2 + (hashed ? 1 : 0));
  }
  table.used = 0;
  table.total = 0;
  ForEachCountOf(before, [&](DomainId domain, uint32_t pods) {
    Insert(table, domain, pods);
    table.total += pods;
  });
}

void TopologyCounts::Insert(Table& table, DomainId domain, uint32_t pods) {
  if (table.layout == Layout::kInlineByDomain) {
    table.cells[Index(domain)] += pods;
  } else if (table.layout == Layout::kByDomain) {
    cells_.Mutable(table.counts + Index(domain)) += pods;
  } else if (table.layout != Layout::kHashed) {
    std::fill_n(KeysOf(table) + table.total, pods, KeyOf(domain));
  } else {
    const uint32_t slot = SlotOf(table, domain);
    if (cells_[slot] == kFree) ++table.used;
    cells_.Mutable(slot) = KeyOf(domain);
    cells_.Mutable(slot + 1) += pods;
  }
}

uint32_t TopologyCounts::Allocate(uint32_t log2) {
  const uint64_t size = uint64_t{1} << log2;
  const uint64_t align = std::min(size, kBlockAlignment);
  const uint64_t block = (cells_end_ + align - 1) / align * align;
  EBB_CHECK(block + size <= ~uint32_t{0});
  cells_end_ = static_cast<uint32_t>(block + size);
  cells_.Resize(cells_end_);
  return static_cast<uint32_t>(block);
}

bool TopologyCounts::CountsAs(const TopologyCounts& other) const {
  if (tables_.size() != other.tables_.size()) return false;
  for (uint32_t t = 0; t < tables_.size(); ++t) {
    const TableId table{t};
    if (Total(table) != other.Total(table)) return false;
    // Other tables have no minimum.
    if (tables_[t].use == Use::kSpread && MinCount(table) != other.MinCount(table)) return false;
    bool same = true;
    ForEachCountOf(tables_[t], [&](DomainId domain, uint32_t) {
      same &= Count(table, domain) == other.Count(table, domain);
    });
    if (!same) return false;
  }
  return true;
}

}  // namespace ebb
