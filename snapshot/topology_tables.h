// TopologyTables turns the topology terms of pod shapes into counter tables: one
// per distinct (whom to count, where, by which key), whoever asks.
//
// Afterwards each shape knows the tables that it reads (spread, affinity,
// anti_affinity, repelled_by) and the tables that count it (feeds).
//
// Cost:    O(shapes + tables + matches): a table whose selector asks for one label
//          exactly is compared only with shapes that carry it.
// Threads: none.

#ifndef EBB_SNAPSHOT_TOPOLOGY_TABLES_H_
#define EBB_SNAPSHOT_TOPOLOGY_TABLES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/catalog.h"
#include "snapshot/pod_shapes.h"

namespace ebb {

class TopologyTables {
 public:
  explicit TopologyTables(Catalog& catalog) : catalog_(catalog) {}

  // `pending` by PodShapeId, for every shape of the catalog.
  void Connect(const std::vector<PendingTopology>& pending);

 private:
  // Whose namespaces a namespaceSelector ranges over.
  enum class NamespacesOf {
    kListed,    // An incoming pod's term: namespaces that exist.
    kIncoming,  // An existing pod's term: whatever the incoming pod's is; unlisted ones have no
                // labels.
  };

  void AskFor(PodShape& shape, const PendingTopology& pending);
  void Connect(PodShape& shape);
  PodMatcher Matcher(const PodShape& owner, const PendingAffinityTerm& term,
                     NamespacesOf which) const;
  TopologyKeyId InternKey(TextId label);
  RegistryId InternRegistry(const PodShape& shape, const PendingTopology& pending,
                            const PendingSpread& spread);
  TableId InternTable(CounterTable table);
  void AddSpread(PodShape& shape, const PendingTopology& pending, const PendingSpread& spread);
  [[nodiscard]] bool IsEligible(const DomainRegistry& registry, NodeId node) const;

  Catalog& catalog_;
  absl::flat_hash_map<std::string, TableId> tables_;
  absl::flat_hash_map<std::string, RegistryId> registries_;
  absl::flat_hash_map<TextId, TopologyKeyId> keys_;
  std::vector<TextId> pod_namespaces_;  // Of all shapes.
  // Tables by the label that a pod must carry to match; the rest apart.
  absl::flat_hash_map<std::pair<TextId, TextId>, std::vector<TableId>> anchored_;
  std::vector<TableId> unanchored_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TOPOLOGY_TABLES_H_
