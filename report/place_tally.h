// PlaceTally counts what the scheduler's filters say of a pod on every node:
// "0/12 nodes are available: 7 Insufficient cpu (NodeResourcesFit), ...".
//
// PlaceTallies answers for many pods while a plan is replayed.  It remembers what the
// filters up to NodeResourcesFit say of each node, by the pod's fit class, and asks again
// only nodes that changed since.  What comes after them (topology, volumes) is asked each
// time of the nodes that are left; pods with host ports ask all.
//
// Cost:    TallyPlaces: every filter on every node, texts included, up to 1 us a node.
//          PlaceTallies::Of: a first look at a fit class costs some 20 ns a node, later
//          ones as much for each change since; and 1 us for each node that is left, until
//          the limit is used up.  2 bytes a node and fit class are kept, at most kBytesMax.
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
    size_t nodes;  // A node may give several reasons of one filter.
  };
  size_t nodes = 0;  // That were asked: all but the ghost.
  size_t fits = 0;
  NodeId first_fit = kNoNode;  // In the order of the nodes.
  std::vector<No> noes;        // The most frequent first.

  [[nodiscard]] std::string Text() const;
};

// REQUIRES: the pod is not placed, or on the ghost.
PlaceTally TallyPlaces(const ClusterSnapshot& snapshot, PodId pod);

class PlaceTallies {
 public:
  static constexpr size_t kBytesMax = size_t{64} << 20;
  // How many nodes are asked one by one for all pods together: some tenths of a second.
  static constexpr size_t kAsksMax = 500'000;

  explicit PlaceTallies(size_t asks_max = kAsksMax) : asks_max_(asks_max) {}

  // As TallyPlaces(snapshot, pod); nullopt where the limit is used up.  `changed` names
  // the nodes that changed since the first call, in order, the ghost's leaving apart; it
  // only grows from call to call, and the snapshot is the same one.
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
    std::unordered_map<uint64_t, Verdict> by_shortage;  // Bits: requests that lack room.
    std::vector<Verdict> of_shape;                      // By NodeShapeId.
    std::vector<Verdict> of_node;                       // By NodeId.
    std::vector<size_t> nodes;                          // By Verdict.
    size_t seen = 0;                                    // Of `changed`.
    NodeId ghost = kNoNode;                             // When it was last asked about.
  };

  static Verdict Number(Class& of, FilterVerdict verdict);
  static Verdict Judge(Class& of, const ClusterSnapshot& snapshot, const PodShape& shape,
                       NodeId node);
  // Brought up to date.
  Class& ClassOf(const ClusterSnapshot& snapshot, const std::vector<NodeId>& changed,
                 const PodShape& shape);
  bool MayAsk(size_t nodes);

  size_t asks_max_;
  size_t asked_ = 0;
  std::map<uint32_t, Class> classes_;  // By FitClassId.
};

}  // namespace ebb

#endif  // EBB_REPORT_PLACE_TALLY_H_
