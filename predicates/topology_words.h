// TopologyWords: which nodes spread and affinity rule out, for the 64 nodes of a word at once.
//
//   words.Begin(snapshot, shape);
//   candidates &= words.Admitted(word);  // TopologyFits says no of those that go.
//
// The filters say the same of all nodes of a topology domain.  So what they say of a node
// follows from a look at each domain; and where there are many, from a look at those that have
// any of the pods in question.  That is worth it for a search that has met several nodes in a
// row which they refuse: a pod that fits nowhere asks about every node.
//
// Cost:      Begin: of each term of the shape the domains of its key, where these are many the
//            pods that its table counts, and nodes / 64; the first time that a key is met also
//            O(nodes).  Admitted: a word for each domain that has a say.
// Threads:   none.
// Ownership: Begin borrows the snapshot; what Admitted says holds until its counts change.
//            Between calls of Reset all snapshots are of one catalog, and it stays as it is.

#ifndef EBB_PREDICATES_TOPOLOGY_WORDS_H_
#define EBB_PREDICATES_TOPOLOGY_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

class TopologyWords {
 public:
  // The snapshots that come next are of another catalog, or it has changed.
  void Reset(const Catalog& catalog);

  void Begin(const ClusterSnapshot& snapshot, const PodShape& shape);

  // The nodes of the word that TopologyFits says yes of, and perhaps more.
  [[nodiscard]] uint64_t Admitted(size_t word) const {
    uint64_t admitted = ~uint64_t{0};
    const uint64_t* const* set = sets_.data();
    for (const Rule& rule : rules_) {
      uint64_t nodes = 0;
      for (uint32_t i = 0; i < rule.sets; ++i) nodes |= (*set++)[word];
      admitted &= rule.admits ? nodes : ~nodes;
    }
    return admitted;
  }

 private:
  // Nodes in one of the next `sets` of sets_ are admitted, and no others; or they are not.
  struct Rule {
    uint32_t sets;
    bool admits;
  };
  // The nodes of the domains of one key.
  struct Key {
    bool is_known = false;
    std::vector<NodeSet> few;      // By DomainId, where these are few; else:
    std::vector<uint32_t> begins;  // By DomainId, where in `nodes` its nodes begin;
    std::vector<NodeId> nodes;     // by domain.
  };

  Key& KeyOf(const Catalog& catalog, TopologyKeyId id);
  // A rule of the domains of the key that `has_say` says yes of.  Where there are many it is asked
  // of those alone in which the table counts a pod.
  template <typename HasSay>
  void AddRule(const ClusterSnapshot& snapshot, TopologyKeyId key, TableId table, bool admits,
               HasSay&& has_say);
  void AddSpread(const ClusterSnapshot& snapshot, const SpreadConstraint& constraint);

  std::vector<Key> keys_;  // By TopologyKeyId.
  std::vector<Rule> rules_;
  std::vector<const uint64_t*> sets_;  // Words of nodes.
  std::deque<NodeSet> unions_;         // What sets_ points to of keys with many domains.
  size_t unions_used_ = 0;
};

}  // namespace ebb

#endif  // EBB_PREDICATES_TOPOLOGY_WORDS_H_
