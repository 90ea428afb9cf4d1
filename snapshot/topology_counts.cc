#include "snapshot/topology_counts.h"

namespace ebb {

void TopologyCounts::Count(const Catalog& catalog, const PodShape& shape, NodeId node, int sign) {
  for (const TableId table : shape.feeds) CountInTable(catalog, table, node, sign);
}

void TopologyCounts::CountInTable(const Catalog& catalog, TableId id, NodeId node, int sign) {
  const CounterTable& definition = catalog.tables()[Index(id)];
  const DomainId domain = catalog.DomainOf(definition.key, node);
  if (domain == kNoDomain) return;
  const bool spread = definition.kind == TableKind::kSpread;
  if (spread && !catalog.registries()[Index(definition.registry)].eligible.Contains(node)) return;

  Table& table = tables_.Mutable(Index(id));
  uint32_t& count = table.counts.Mutable(Index(domain));
  const uint32_t before = count;
  count += sign;
  table.total += sign;
  if (!spread) return;

  if (table.histogram.size() <= count) table.histogram.resize(count + 1);
  --table.histogram[before];
  ++table.histogram[count];
  if (count < table.min) {
    table.min = count;
  } else if (before == table.min && table.histogram[before] == 0) {
    table.min = count;  // One higher: the domain that left was the last one there.
  }
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
    if (comes || goes)
      DomainComesOrGoes(catalog, RegistryId{static_cast<uint32_t>(r)}, domain, sign);
  }
}

void TopologyCounts::DomainComesOrGoes(const Catalog&, RegistryId id, DomainId domain, int sign) {
  Registry& registry = registries_.Mutable(Index(id));
  registry.domains += sign;
  for (const TableId table_id : tables_of_[Index(id)]) {
    Table& table = tables_.Mutable(Index(table_id));
    const uint32_t count = table.counts[Index(domain)];
    if (table.histogram.size() <= count) table.histogram.resize(count + 1);
    table.histogram[count] += sign;
    if (sign > 0) {
      if (registry.domains == 1 || count < table.min) table.min = count;
      continue;
    }
    if (registry.domains == 0) {
      table.min = 0;
      continue;
    }
    while (table.histogram[table.min] == 0) ++table.min;
  }
}

void TopologyCounts::Grow(const Catalog& catalog, const NodeSet& alive) {
  const size_t known_registries = registries_.size();
  registries_.Resize(catalog.registries().size());
  tables_of_.resize(catalog.registries().size());
  for (size_t r = 0; r < catalog.registries().size(); ++r) {
    const DomainRegistry& definition = catalog.registries()[r];
    Registry& registry = registries_.Mutable(r);
    registry.nodes.Resize(catalog.topology_key(definition.key).values.size());
    if (r < known_registries) continue;
    alive.ForEach([&](NodeId node) {
      if (!definition.eligible.Contains(node)) return;
      uint32_t& nodes = registry.nodes.Mutable(Index(catalog.DomainOf(definition.key, node)));
      if (nodes++ == 0) ++registry.domains;
    });
  }
  const size_t known = tables_.size();
  tables_.Resize(catalog.tables().size());
  for (size_t t = 0; t < catalog.tables().size(); ++t) {
    const CounterTable& definition = catalog.tables()[t];
    Table& table = tables_.Mutable(t);
    table.counts.Resize(catalog.topology_key(definition.key).values.size());
    if (t < known || definition.kind != TableKind::kSpread) continue;
    tables_of_[Index(definition.registry)].push_back(TableId{static_cast<uint32_t>(t)});
    table.histogram.assign(1, registries_[Index(definition.registry)].domains);
  }
}

}  // namespace ebb
