// TopologyTables turns the topology terms of pod shapes into counter tables: one
// per distinct (whom to count, where, by which key), shared by all shapes that ask for it.
//
// Afterwards each shape knows the tables that it reads (spread, affinity,
// anti_affinity, repelled_by) and the tables that count it (feeds).
//
// Cost:    O(shapes + tables + matches): a selector is compared only with shapes and
//          namespaces that have a label that it asks for (shape_matches.h).  Matches may
//          be tables x shapes where selectors ask for what all pods have, or lack; up to
//          limits.  Beyond them the broadest tables are left out: they count nobody, and
//          whoever asks for one or may be repelled through it is not understood.
//          Labels that no node has are one key, whatever their number.  Of those that nodes
//          have there may be keys x nodes entries, up to a limit; tables of keys beyond it are
//          left out in the same way.
// Threads: none.

#ifndef EBB_SNAPSHOT_TOPOLOGY_TABLES_H_
#define EBB_SNAPSHOT_TOPOLOGY_TABLES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

  // `pending` by PodShapeId, for every shape of the catalog.
  void Connect(const std::vector<PendingTopology>& pending);

  // The same for the catalog's last shape, which came after Connect.  Tables that it is the
  // first to ask for have the last ids, and other shapes feed them from now on: whoever counts
  // pods must count theirs (TopologyCounts).  False: limits are in the way, or namespaces, or
  // one table stands for two (CounterTable) that would count different pods from now on; the
  // catalog must be built anew, and no more may be connected in this one.
  // REQUIRES: IndexShapes, and the shape is in that index.
  // Cost: O(tables + those that may count it), and for each that is new O(shapes that it may count
  // + nodes); O(shapes) where it joins two families.
  [[nodiscard]] bool ConnectLast(const PendingTopology& pending);
  // `shapes` holds all shapes that Connect saw, and must outlive the tables.
  void IndexShapes(const ShapeIndex& shapes);

  // Nodes that come and go after Connect.  Cost: O(keys + registries) each.
  //
  // Whether a node with these labels may come.  No if it has a label that no node had and some
  // pod asks for, or lacks one that all nodes had: what was left out for that must be
  // connected anew.
  [[nodiscard]] bool Allows(const NodeInfo& node) const;
  // The node is in the catalog.  REQUIRES: Allows(it).
  void AddNode(NodeId id);
  // It is still in the catalog, as it was when it was added.
  void RemoveNode(NodeId id);

  // Goes on with a copy of the catalog.
  void MoveTo(Catalog& copy) { catalog_ = &copy; }

  // Whether some term asks for namespaces by their labels.
  [[nodiscard]] bool asks_for_namespaces() const { return asks_for_namespaces_; }
  // Whether some term asks for them by labels that a namespace without labels has, of which
  // versions of Kubernetes make different things.
  [[nodiscard]] bool asks_of_no_labels() const { return asks_of_no_labels_; }

 private:
  // Whose namespaces a namespaceSelector ranges over.
  enum class NamespacesOf {
    kListed,    // An incoming pod's term: namespaces that exist.
    kIncoming,  // An existing pod's term: whatever the incoming pod's is; unlisted ones have no
                // labels.
  };

  // The terms that ask for a kExistingAnti table.
  struct Repelling {
    TableId matching{};        // The kMatching table of the first such term.
    uint32_t shapes = 0;       // That have such a term.
    PodShapeId last{};         // Of these.
    bool alike = true;         // Each has one, whose table is `matching`, and is counted there.
    bool is_matching = false;  // `matching` stands for the table (CounterTable).
  };

  // What all spread constraints of a pod together ask of a node's labels.
  struct RequiredKeys {
    uint32_t id;  // Equal where the keys are.
    // Sorted; only as many as `nodes` takes.  Those that were left out are in spared_keys_.
    std::vector<TopologyKeyId> keys;
    NodeSet nodes;  // Those that have all of them.
  };

  void FindNodeLabels();
  void AskFor(PodShape& shape, const PendingTopology& pending);
  void AddAffinity(PodShape& shape, const std::vector<PendingAffinityTerm>& terms);
  void IndexNamespaces();
  PodMatcher Matcher(const PodShape& owner, const PendingAffinityTerm& term, NamespacesOf which);
  // Whether TablesTooBroad may find some.
  [[nodiscard]] bool FindsTooMany() const;
  [[nodiscard]] std::vector<bool> TablesTooBroad(ShapeMatches& matches) const;
  void LeaveOut(const std::vector<bool>& tables, std::string_view why, ShapeMatches& matches);
  [[nodiscard]] bool IsOnNodes(TextId label) const;
  TopologyKeyId InternKey(TextId label);
  TopologyKeyId AddKey(TextId label, std::span<const NodeInfo> nodes);
  void SetDomain(TopologyKeyId key, NodeId node);
  RequiredKeys KeysOf(const std::vector<PendingSpread>& spread);
  RegistryId InternRegistry(const PodShape& shape, const RequiredKeys& required,
                            const PendingSpread& spread);
  TableId InternTable(CounterTable table);
  void ConnectMatch(TableId id, PodShapeId shape);
  void NoteRepelling(PodShapeId shape);
  // Whether `matching` counts the pods that have the term of a kExistingAnti table, each once,
  // and no others.
  [[nodiscard]] bool CountsTheSame(TableId existing) const;
  void FeedRepelling(PodShape& shape);
  // PodShape::family, from the tables of the shapes.  True if a family of a table before
  // `first_new` has another name now.
  bool UniteTablesOf(const PodShape& shape, TableId first_new);
  TableId FamilyOf(TableId table);
  void NameFamily(PodShape& shape);
  void NameFamilies();
  void AddSpread(PodShape& shape, const RequiredKeys& required, const PendingSpread& spread);
  [[nodiscard]] bool PassesPolicies(const DomainRegistry& registry, NodeId node) const;

  Catalog* catalog_;
  absl::flat_hash_map<std::string, TableId> tables_;
  absl::flat_hash_map<std::string, RegistryId> registries_;
  absl::flat_hash_map<std::string, RegistryId> registry_of_nodes_;  // The first, of any key.
  absl::flat_hash_map<std::string, uint32_t> required_keys_;        // RequiredKeys::id.

  absl::flat_hash_map<TextId, TopologyKeyId> keys_;
  std::vector<bool> on_nodes_;   // By TextId: whether a node has such a label.
  std::vector<NodeSet> having_;  // By TopologyKeyId.
  absl::flat_hash_set<TopologyKeyId> spared_keys_;
  std::optional<TopologyKeyId> absent_keys_;  // Labels that no node has.
  std::optional<TopologyKeyId> beyond_keys_;  // Labels that are too many.
  std::vector<Repelling> repelling_;          // By TableId; of kExistingAnti.
  std::vector<uint32_t> shapes_counted_;      // By TableId; of the others.
  // By TableId, and counted by TableKind; from IndexShapes on.
  std::optional<SelectorIndex> table_index_;
  std::vector<TableId> family_;  // By TableId: another of its family, or itself (FamilyOf).
  uint64_t domain_entries_ = 0;
  uint64_t affinity_matchers_ = 0;

  // Namespaces that exist, and those of all shapes; with their labels.
  struct Namespaces {
    std::vector<TextId> names;
    LabelIndex labels;
  };
  [[nodiscard]] std::vector<TextId> Matching(const Selector& selector,
                                             const Namespaces& among) const;
  Namespaces listed_;
  Namespaces of_pods_;
  uint64_t names_ = 0;  // Of namespaces, listed in matchers.
  bool asks_for_namespaces_ = false;
  bool asks_of_no_labels_ = false;
  bool left_out_ = false;  // Some tables.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_TOPOLOGY_TABLES_H_
