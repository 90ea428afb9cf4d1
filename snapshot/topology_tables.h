// TopologyTables turns the topology terms of pod shapes into counter tables: one table for each
// distinct (pods to count, eligible nodes, topology key), shared by all shapes that need it.
//
// Afterwards each shape lists the tables that it reads (spread, affinity,
// anti_affinity, repelled_by) and the tables that count it (feeds).
//
// Cost:      O(shapes + tables + matches).  A selector is compared only with shapes and namespaces
//            that have a label that it requires (shape_matches.h).
// Limits:    if selectors match nearly every pod, or only require that a label is absent, there may
//            be tables x shapes matches.  Keys that nodes have take up to keys x nodes entries; all
//            labels that no node has share one key.  Both numbers are limited.  Beyond a limit, the
//            broadest tables or the tables of the last keys are left out.  A table that is left out
//            counts no pods, and every shape that reads it, or may be repelled through it, is not
//            understood.
// Threads:   not thread-safe.
// Ownership: borrows the catalog, which MoveTo may replace.

#ifndef EBB_SNAPSHOT_TOPOLOGY_TABLES_H_
#define EBB_SNAPSHOT_TOPOLOGY_TABLES_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "snapshot/catalog.h"
#include "snapshot/pod_shapes.h"
#include "snapshot/selector_index.h"
#include "snapshot/shape_matches.h"

namespace ebb {

class TopologyTables {
 public:
  explicit TopologyTables(Catalog& catalog) : catalog_(&catalog) {}

  // Connects all shapes of the catalog.  `pending`: by PodShapeId, the topology terms of each shape
  // (pod_shapes.h).  `others`: the matchers that TakeMatches() will be asked about.
  void Connect(const std::vector<PendingTopology>& pending, std::span<const PodMatcher> others);
  // The index of shapes that Connect made.  REQUIRES: called once, after Connect.
  [[nodiscard]] ShapeMatches TakeMatches();

  // Connects the catalog's last shape, which was added after Connect.  New tables that it needs get
  // the next ids, and older shapes feed them from now on, so the caller must count the pods of
  // those shapes in the new tables, and in TakeParted() (ClusterSnapshot::CountInNewTables).
  // Returns false if the catalog must be rebuilt, and no further shape may be connected in it: a
  // limit is exceeded, or namespaces are not known. REQUIRES: IndexShapes was called, and the shape
  // is in that index. Cost: O(tables + tables that may count it); for each new table O(shapes that
  // it may count + nodes); O(shapes) if it joins two families or parts a table.
  [[nodiscard]] bool ConnectLast(const PendingTopology& pending);
  // Tables that count pods only since ConnectLast, ascending: until then another table replaced
  // each of them (CounterTable), and now the counts of the two differ.
  [[nodiscard]] std::vector<TableId> TakeParted() { return std::exchange(parted_, {}); }
  // `shapes` must contain all shapes that Connect saw, and must outlive the tables.
  void IndexShapes(const ShapeIndex& shapes);

  // Adding and removing nodes after Connect.  Cost: O(keys + registries) for each call.
  //
  // Whether a node with these labels may be added.  It may not if it has a label that some pod asks
  // for and that no node had, or lacks a label that all nodes had.  Connect left out what depends
  // on such labels, so the catalog must then be rebuilt.
  [[nodiscard]] bool Allows(const NodeInfo& node) const;
  // `id` is in the catalog already.  REQUIRES: Allows(the node).
  void AddNode(NodeId id);
  // `id` is still in the catalog, unchanged since AddNode.
  void RemoveNode(NodeId id);

  // Continues with a copy of the catalog.
  void MoveTo(Catalog& copy) { catalog_ = &copy; }

  // Gives a namespace, which may be new, these labels.  Returns false if the catalog must be
  // rebuilt: a term now selects a namespace that it did not select, or the reverse, and the
  // namespace has a shape, or a limit is exceeded. REQUIRES: asks_for_namespaces(). Cost: O(tables
  // that select namespaces by labels).
  [[nodiscard]] bool PutNamespace(TextId name, const LabelSet& labels);

  // Whether some term selects namespaces by their labels.
  [[nodiscard]] bool asks_for_namespaces() const { return asks_for_namespaces_; }
  // Whether some term's namespaceSelector matches a namespace without labels.  Kubernetes
  // versions treat such a term differently.
  [[nodiscard]] bool asks_of_no_labels() const { return asks_of_no_labels_; }

 private:
  // The namespaces that a namespaceSelector is evaluated on.
  enum class NamespacesOf {
    kListed,    // For an incoming pod's term: the namespaces that exist.
    kIncoming,  // For an existing pod's term: the namespaces of all shapes, one of which is the
                // incoming pod's.  A namespace that does not exist has no labels.
  };

  // The terms that read one kExistingAnti table.
  struct Repelling {
    TableId matching{};        // The kMatching table of the first such term.
    uint32_t shapes = 0;       // The number of shapes that have such a term.
    PodShapeId last{};         // The last of these shapes.
    bool alike = true;         // Each shape has one such term, with `matching`, which counts it.
    bool is_matching = false;  // `matching` replaces the table (CounterTable).
  };

  // The labels that all spread constraints of a pod together require of a node.
  struct RequiredKeys {
    uint32_t id;  // Equal for equal `keys`.
    // Sorted.  Only the keys that are needed to determine `nodes`; the others are in spared_keys_.
    std::vector<TopologyKeyId> keys;
    NodeSet nodes;  // The nodes that have all of the keys.
  };

  void FindNodeLabels();
  void AskFor(PodShape& shape, const PendingTopology& pending);
  void AddAffinity(PodShape& shape, const std::vector<PendingAffinityTerm>& terms);
  void IndexNamespaces();
  [[nodiscard]] bool EnterNamespace(TextId name);
  void AddToTable(TableId table, PodMatcher& matcher, TextId name_of_namespace);
  PodMatcher Matcher(const PodShape& owner, const PendingAffinityTerm& term, NamespacesOf which);
  // Whether TablesTooBroad might leave out a table.
  [[nodiscard]] bool FindsTooMany() const;
  [[nodiscard]] std::vector<bool> TablesTooBroad(ShapeMatches& matches) const;
  void LeaveOut(const std::vector<bool>& tables, std::string_view why, ShapeMatches& matches);
  [[nodiscard]] bool IsOnNodes(TextId label) const;
  TopologyKeyId InternKey(TextId label);
  TopologyKeyId AddKey(TextId label, std::span<const NodeInfo> nodes);
  void SetDomain(TopologyKeyId key, NodeId node);
  RequiredKeys KeysOf(const std::vector<PendingSpread>& spread);
  [[nodiscard]] NodeSet NodesThere() const;
  RegistryId InternRegistry(const PodShape& shape, const RequiredKeys& required,
                            const PendingSpread& spread);
  TableId InternTable(CounterTable table);
  void ConnectMatch(TableId id, PodShapeId shape);
  void NoteRepelling(PodShapeId shape);
  // Whether the `matching` table of a kExistingAnti table counts exactly the pods that have the
  // term, each once.
  [[nodiscard]] bool CountsTheSame(TableId existing) const;
  void FeedRepelling(PodShape& shape);
  // Moves the tables that the shape reads as anti_affinity to the front of repelled_by.
  static void PartitionRepelledBy(PodShape& shape);
  // From now on a kExistingAnti table is not replaced by its `matching` table any more.  `newest`:
  // a shape that is not connected to it yet.  Returns the older shapes that are.
  std::vector<PodShapeId> Part(TableId existing, PodShapeId newest, TableId first_new);
  // Compute PodShape::family from the tables of the shapes.  UniteTablesOf returns true if it
  // renames the family of a table before `first_new`.
  bool UniteTablesOf(const PodShape& shape, TableId first_new);
  TableId FamilyOf(TableId table);
  void NameFamily(PodShape& shape);
  void NameFamilies();
  void AddSpread(PodShape& shape, const RequiredKeys& required, const PendingSpread& spread);
  [[nodiscard]] bool PassesPolicies(const DomainRegistry& registry, NodeId node) const;

  Catalog* catalog_;
  std::optional<ShapeMatches> matches_;  // From Connect to TakeMatches.
  absl::flat_hash_map<std::string, TableId> tables_;
  absl::flat_hash_map<std::string, RegistryId> registries_;
  absl::flat_hash_map<std::string, RegistryId> registry_of_nodes_;  // The first one, for any key.
  absl::flat_hash_map<std::string, uint32_t> required_keys_;        // RequiredKeys::id.
  std::optional<NodeSet> there_;  // Set while Connect() asks for all shapes: NodesThere().

  absl::flat_hash_map<TextId, TopologyKeyId> keys_;
  std::vector<bool> on_nodes_;   // By TextId: whether some node has such a label.
  std::vector<NodeSet> having_;  // By TopologyKeyId: the nodes that have the label.
  absl::flat_hash_set<TopologyKeyId> spared_keys_;
  std::optional<TopologyKeyId> absent_keys_;  // Stands for all labels that no node has.
  std::optional<TopologyKeyId> beyond_keys_;  // Stands for all labels beyond the limit.
  std::vector<Repelling> repelling_;          // By TableId; used for kExistingAnti.
  std::vector<TableId> parted_;               // TakeParted() has not returned them yet.
  std::vector<uint32_t> shapes_counted_;      // By TableId; used for the other kinds.
  // Selectors are numbered by TableId, and their kind is the TableKind.  Set by IndexShapes.
  std::optional<SelectorIndex> table_index_;
  std::vector<TableId> family_;  // Union-find by TableId: the parent, or the table itself.
  uint64_t domain_entries_ = 0;
  uint64_t affinity_matchers_ = 0;

  // Names, sorted, and an index of their labels.
  struct Namespaces {
    std::vector<TextId> names;
    LabelIndex labels;
    // Came, or changed their labels, since the index was made.
    absl::flat_hash_set<TextId> later;

    [[nodiscard]] bool Has(TextId name) const {
      return std::ranges::binary_search(names, name) || later.contains(name);
    }
  };
  [[nodiscard]] std::vector<TextId> Matching(const Selector& selector,
                                             const Namespaces& among) const;
  Namespaces listed_;
  Namespaces of_pods_;
  // The labels of each namespace.  A deleted namespace keeps its labels.
  absl::flat_hash_map<TextId, LabelSet> namespace_labels_;
  std::vector<TableId> by_namespace_labels_;  // Tables with a PodMatcher::namespace_selector.
  uint64_t names_ = 0;                        // The number of namespaces listed in matchers.
  bool asks_for_namespaces_ = false;
  bool asks_of_no_labels_ = false;
  bool left_out_ = false;  // Some tables were left out.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TOPOLOGY_TABLES_H_
