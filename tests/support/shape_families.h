// Checks PodShape::family against the tables of the shapes.

#ifndef EBB_TESTS_SUPPORT_SHAPE_FAMILIES_H_
#define EBB_TESTS_SUPPORT_SHAPE_FAMILIES_H_

#include <map>
#include <set>
#include <string>

#include "snapshot/catalog.h"

namespace ebb::test {

// The tables that count pods of the shape, or that the filters read for them.
inline std::set<TableId> TablesOf(const PodShape& shape) {
  std::set<TableId> tables(shape.feeds.begin(), shape.feeds.end());
  for (const SpreadConstraint& spread : shape.spread) tables.insert(spread.table);
  for (const AffinityTerm& term : shape.affinity) tables.insert(term.table);
  for (const AntiAffinityTerm& term : shape.anti_affinity) tables.insert(term.table);
  for (const AffinityTerm& term : shape.repelled_by) tables.insert(term.table);
  return tables;
}

// Returns the first error, or "".  Shapes that share a table must have the same family, and a shape
// without tables must have none.
inline std::string WrongFamily(const Catalog& catalog) {
  std::map<TableId, FamilyId> family_of;
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    const PodShape& shape = catalog.shape(PodShapeId{s});
    const std::set<TableId> tables = TablesOf(shape);
    const std::string name = "shape " + std::to_string(s);
    if ((shape.family == kNoFamily) != tables.empty()) return name + ": a family or none?";
    for (const TableId table : tables) {
      if (Index(shape.family) >= catalog.tables().size()) return name + ": no such family";
      const FamilyId family = family_of.try_emplace(table, shape.family).first->second;
      if (family != shape.family) {
        return name + ": table " + std::to_string(Index(table)) + " is of another family";
      }
    }
  }
  return "";
}

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_SHAPE_FAMILIES_H_
