// PlaceTally counts what the scheduler's filters say about a pod on every node: "0/12 nodes are
// available: 7 Insufficient cpu (NodeResourcesFit), ...".
//
// PlaceTallies answers for many pods while a plan is replayed.  It caches, per fit class of pods,
// the verdicts of the filters up to NodeResourcesFit on each node, and evaluates them again only on
// nodes that changed.  The later filters (topology, volumes) are evaluated each time, on the nodes
// that are left.  Pods with host ports do not use the cache.
//
// Cost:    TallyPlaces: every filter on every node, texts included, up to 1 us a node.
//          PlaceTallies::Of: the first call for a fit class costs about 20 ns a node, a later one
//          as much for each change since; in addition 1 us for each node that is left, until the
//          limit is used up.  The cache takes 2 bytes per node and fit class, at most kBytesMax.
// Threads: none.

#ifndef EBB_REPORT_PLACE_TALLY_H_
#define EBB_REPORT_PLACE_TALLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "predicates/filters.h"
#include "snapshot/cluster_snapshot.h"

namespace ebb {

struct PlaceTally {
  struct No {
    Filter filter;
    std::string reason;
    size_t nodes;  // One node may give several reasons of one filter.
  };
  // What the reasons do not say: which devices of the node do not serve the pod, and why.
  struct Detail {
    NodeId node;
    Filter filter;
    std::string text;
  };
  static constexpr size_t kDetailsMax = 3;
  size_t nodes = 0;  // Nodes that were tried: all but the ghost.
  size_t fits = 0;
  NodeId first_fit = kNoNode;        // In the order of the nodes.
  std::vector<No> noes;              // The most frequent first.
  std::vector<Detail> details = {};  // Of the first kDetailsMax nodes that have one.
  size_t details_left_out = 0;

  [[nodiscard]] std::string Text() const;
};

// REQUIRES: the pod is not placed, or on the ghost.
PlaceTally TallyPlaces(const ClusterSnapshot& snapshot, PodId pod);

class PlaceTallies {
 public:
  static constexpr size_t kBytesMax = size_t{64} << 20;
  // How many evaluations of a single node all pods together may cost: a few tenths of a second.
  static constexpr size_t kAsksMax = 500'000;

  explicit PlaceTallies(size_t asks_max = kAsksMax) : asks_max_(asks_max) {}

  // As TallyPlaces(snapshot, pod); nullopt if the limit is used up.  `changed` lists the nodes that
  // changed since the first call, in order, except for the ghost's removal.  From call to call
  // `changed` only grows and the snapshot stays the same object.
  // REQUIRES: there is a ghost, and the pod is on it.
  std::optional<PlaceTally> Of(const ClusterSnapshot& snapshot, const std::vector<NodeId>& changed,
                               PodId pod);

 private:
  using Verdict = uint16_t;  // Index into the class's verdicts.
  static constexpr Verdict kPasses = 0;
  static constexpr Verdict kGone = 1;
  static constexpr Verdict kUnknown = 0xffff;

  struct Class {
    std::vector<FilterVerdict> verdicts;  // By Verdict.
    std::map<std::vector<std::string>, Verdict> by_reasons;
    // By a bit set of the requests that lack room.
    std::unordered_map<uint64_t, Verdict> by_shortage;
    std::vector<Verdict> of_shape;  // By NodeShapeId.
    std::vector<Verdict> of_node;   // By NodeId.
    std::vector<size_t> nodes;      // By Verdict.
    // How much of `changed` is taken into account.
    size_t seen = 0;
    NodeId ghost = kNoNode;  // At the last call.
  };

  static Verdict Number(Class& of, FilterVerdict verdict);
  static Verdict RunFilters(Class& of, const ClusterSnapshot& snapshot, const PodShape& shape,
                            NodeId node);
  // The class of `shape`, brought up to date.
  Class& ClassOf(const ClusterSnapshot& snapshot, const std::vector<NodeId>& changed,
                 const PodShape& shape);
  bool MayAsk(size_t nodes);

  size_t asks_max_;
  size_t asked_ = 0;
  std::map<uint32_t, Class> classes_;  // By FitClassId.
};

}  // namespace ebb

#endif  // EBB_REPORT_PLACE_TALLY_H_
