// TopologyWords: which nodes spread and affinity reject, for the 64 nodes of a word at once.
//
//   words.Begin(snapshot, shape);
//   candidates &= words.Admitted(word);  // Drops only nodes that TopologyFits rejects.
//
// These filters give the same verdict for all nodes of a topology domain.  So it is enough to
// evaluate each domain once, or, for a key with many domains, only the domains that hold pods
// of the term's table.  This pays off for a search in which the filters have rejected several
// nodes in a row: for a pod that fits nowhere, the search must test every node.
//
// Cost:      Begin: for each term of the shape, the domains of its key; for a key with many
//            domains, the pods that the term's table counts, and nodes / 64.  The first use of
//            a key also costs O(nodes).  Admitted: one word for each domain in a rule.
// Threads:   none.
// Ownership: Begin borrows the snapshot.  Results of Admitted hold until its counts change.
//            Between calls of Reset, all snapshots must have one catalog, which must not change.

#ifndef EBB_PREDICATES_TOPOLOGY_WORDS_H_
#define EBB_PREDICATES_TOPOLOGY_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/check.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

class TopologyWords {
 public:
  // Must be called when the next snapshots have another catalog, or the catalog has changed.
  void Reset(const Catalog& catalog);

  void Begin(const ClusterSnapshot& snapshot, const PodShape& shape);

  // All nodes of the word that TopologyFits accepts, and perhaps others.
  [[nodiscard]] uint64_t Admitted(size_t word) const {
    uint64_t admitted = ~uint64_t{0};
    const uint64_t* const* set = sets_.data();
    for (const Rule& rule : rules_) {
      uint64_t nodes = 0;
      for (uint32_t i = 0; i < rule.sets; ++i) nodes |= (*set++)[word];
      admitted &= rule.admits ? nodes : ~nodes;
    }
    EBB_DCHECK(set == sets_.data() + sets_.size());  // Each set belongs to one rule.
    return admitted;
  }

 private:
  // The next `sets` of sets_ hold the only admitted nodes if `admits`, else the rejected nodes.
  struct Rule {
    uint32_t sets;
    bool admits;
  };
  // The nodes of each domain of a key, in one of two forms.
  struct Key {
    bool is_known = false;
    std::vector<NodeSet> few;      // By DomainId, if the key has few domains.  Otherwise:
    std::vector<uint32_t> begins;  // By DomainId: where in `nodes` the domain's nodes begin.
    std::vector<NodeId> nodes;     // Sorted by domain.
  };

  Key& KeyOf(const Catalog& catalog, TopologyKeyId id);
  // Adds a rule for the key's domains for which `has_say` returns true.  If the key has many
  // domains, `has_say` is called only for domains in which the table counts a pod.
  template <typename HasSay>
  void AddRule(const ClusterSnapshot& snapshot, TopologyKeyId key, TableId table, bool admits,
               HasSay&& has_say);
  void AddSpread(const ClusterSnapshot& snapshot, const SpreadConstraint& constraint);

  std::vector<Key> keys_;  // By TopologyKeyId.
  std::vector<Rule> rules_;
  std::vector<const uint64_t*> sets_;  // Words of nodes.
  std::deque<NodeSet> unions_;         // Nodes of rules whose key has many domains; see sets_.
  size_t unions_used_ = 0;
};

}  // namespace ebb

#endif  // EBB_PREDICATES_TOPOLOGY_WORDS_H_
