// PodScan finds nodes for pods, one pod after the other.  For each pod it returns the first node
// that passes every filter, going through the list of nodes in a circle from where the last search
// ended.
//
// What makes it fast:
// - Pods of one fit class (equal constraints and requests) share a bit set of the nodes that may
//   still take them.  It is filled from the second search of a pass on, 64 nodes at a time.  The
//   first search tests nodes without it, because many classes are searched for only once.  The next
//   node to test is the next set bit.
// - While pods are placed, free room only shrinks, so the bit of a full node stays clear for the
//   rest of the pass.  Only an attempt that is undone gives room back; then the bits that were
//   cleared during that attempt are set again.
// - The bit of every node that fits is set, and every node whose bit is set is tested before it is
//   returned.  So the bit set cannot change an answer.  pod_scan.cc gives the proof.
// - Words without a set bit are skipped, 64 words at a time.
// - Static verdicts (taints, affinity) are kept for each set of constraints until the catalog
//   changes.  Nodes that differ only in their names share them.
//
// The pointer is an index into the list of nodes, as in the autoscaler.  When a node is removed the
// index stays and so refers to another node.  The pointer starts at 0, so the first search starts
// at index 1.
//
// Cost:      a search visits nodes/64 words at worst, and tests the nodes whose bit is set.  The
//            first search for a fit class in a pass tests the room of all nodes in these words; the
//            second one fills the words that it visits.
// Threads:   not thread-safe.
// Ownership: borrows the snapshot from BeginPass to EndPass; shares its catalog.
// Source:    cluster-autoscaler simulator/clustersnapshot/predicate/plugin_runner.go,
//            RunFiltersUntilPassingNode with parallelism 1.

#ifndef EBB_ENGINE_PASS_POD_SCAN_H_
#define EBB_ENGINE_PASS_POD_SCAN_H_

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "predicates/topology_asks.h"
#include "predicates/topology_words.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/shape_room.h"

namespace ebb {

class PodScan {
 public:
  // Whether the node is in the cluster, may take pods and is not the ghost.
  [[nodiscard]] bool IsOpen(NodeId node) const { return open_.Contains(node); }

  // The fields of a shape that a pass reads for every pod that moves, in one cache line.
  struct alignas(64) ShapeRow {
    static constexpr uint8_t kManyFeeds = 255;
    uint8_t traits = 0;               // Bits of Trait; 0: not filled yet.
    bool has_controller = false;      // This and the fields below: as in PodShape.
    bool is_charged_as_fits = false;  // charge_requests equals fit_requests.
    uint8_t feed_count = 0;           // kManyFeeds: more than `feeds` has room for.
    int32_t priority = 0;
    FitClassId fit_class{};
    FamilyId family = kNoFamily;
    std::array<TableId, 2> feeds{};
    TopologyAsks asks{};  // kCompactAsks: what TopologyFits tests.
  };
  static_assert(sizeof(ShapeRow) == 64);
  [[nodiscard]] const ShapeRow& RowOf(PodShapeId shape) {
    const ShapeRow& row = rows_[Index(shape)];
    if (row.traits == 0) [[unlikely]]
      LearnRow(shape);
    return row;
  }

  // Whether RowOf need not read the PodShape.
  [[nodiscard]] bool HasRow(PodShapeId shape) const { return rows_[Index(shape)].traits != 0; }
  // Starts loading what RowOf reads.
  void Prefetch(PodShapeId shape) const {
    const ShapeRow* const row = &rows_[Index(shape)];
    __builtin_prefetch(row);
  }

  // PodShape::feeds.  Valid during the pass.
  [[nodiscard]] std::span<const TableId> FeedsOf(PodShapeId shape) {
    const ShapeRow& row = RowOf(shape);
    if (row.feed_count == ShapeRow::kManyFeeds) [[unlikely]]
      return catalog_->shape(shape).feeds;
    return std::span(row.feeds).first(row.feed_count);
  }

  // From now on FindNode, Fits and Place are about pods of `shape` that are not placed.
  void BeginRun(PodShapeId shape) {
    if (shape != run_.id) SetRun(shape);
  }

  // Returns the next node, from the pointer on, that takes a pod of the run's shape, and moves the
  // pointer there.  kNoNode: no node takes it, and the pointer stays.  The ghost and nodes with
  // spec.unschedulable are skipped.
  NodeId FindNode() {
    // Most pods fit on a node of the same word as the pod before.
    EBB_DCHECK(RestIsSound());
    if (run_.rest != 0 && (run_.traits & (kMoreThanRequests | kPreFilter)) == 0) {
      const NodeId node = NodeOfBit(run_.word, run_.rest);
      if (run_.room.IsOn(node)) {
        ++evaluations_;
        run_.rest &= run_.rest - 1;
        return last_node_ = node;
      }
    }
    return Search();
  }

  // Whether PassFork::PutNext may place pods.
  [[nodiscard]] bool MayPlaceNext() const {
    return run_.rest != 0 &&
           (run_.traits & (kMoreThanRequests | kPreFilter | kUnplaced)) == kUnplaced;
  }

  // Evaluates every filter for one node, such as the node of a hint.  Does not move the pointer.
  // REQUIRES: IsOpen(node).
  [[nodiscard]] bool Fits(NodeId node);

  // Whether pods of the shape affect other pods only through the room that they take and the tables
  // that count them, so that no filter looks for the pods themselves on their node
  // (ShortCuts::only_room_and_counts).  Such pods are not placed in the snapshot.
  [[nodiscard]] bool StaysUnplaced(PodShapeId shape) { return (TraitsOf(shape) & kUnplaced) != 0; }

  // Whether pods of the shape affect nothing but the room on their node, and may run wherever the
  // room is and the static filters of their fit class pass.
  [[nodiscard]] bool NeedsOnlyRoom(PodShapeId shape) {
    const ShapeRow& row = RowOf(shape);
    return (row.traits & (kUnplaced | kMoreThanRequests | kPreFilter)) == kUnplaced &&
           row.feed_count == 0;
  }
  // Whether no open node but `node` takes a pod of the run's shape.  Does not move the pointer.
  // REQUIRES: NeedsOnlyRoom(the shape); there is no ghost.
  [[nodiscard]] bool HasNoPlaceBut(NodeId node);

  // Whether the filters, evaluated one by one, let the pod run on the node.  For assertions.
  // REQUIRES: a pass is in progress.
  [[nodiscard]] bool JustFitted(PodId pod, NodeId node) const;

  // The pointer, between passes: the only memory of a scan that can change an answer.  It is the
  // value at the last EndPass or SetPointer.
  [[nodiscard]] uint64_t pointer() const { return last_index_; }
  void SetPointer(uint64_t pointer) {
    last_index_ = pointer;
    last_node_ = kNoNode;
  }

  // The number of filter evaluations so far.  Deadlines are checked after a number of these.
  [[nodiscard]] uint64_t evaluations() const { return evaluations_; }

 private:
  friend class PassFork;  // Only PassFork may call the following, in step with the snapshot.

  // Begins a pass over `snapshot`, which must live until EndPass.  Call EndPass before removed
  // nodes are put back: it stores the pointer as an index into the nodes that are left.
  // `destinations`: the nodes that may take pods.
  void BeginPass(ClusterSnapshot& snapshot, const NodeSet& destinations);
  void EndPass();

  // Replaces the nodes that may take pods.  REQUIRES: there is no ghost.
  void SetDestinations(const NodeSet& destinations);

  // Places a pod of the run on a node that FindNode or Fits has just accepted.  A pod that
  // StaysUnplaced is not placed in the snapshot: only its room is taken and its counters
  // incremented.  Returns whether it stays unplaced.
  bool Place(PodId pod, NodeId node) {
    EBB_DCHECK(run_.id == catalog_->shape_id(pod));
    placed_since_fork_ = true;
    if ((run_.traits & kUnplaced) != 0) {
      run_.room.Take(node);
      return true;
    }
    snapshot_->AddPod(pod, node);
    return false;
  }
  // Takes the room of a pod of the run, without a placement.  REQUIRES: NeedsOnlyRoom(its shape).
  void TakeRoom(NodeId node) { run_.room.Take(node); }
  // FindNode and Place for `pods`, which are pods of the run, one after the other, as long as the
  // next node of the last search's word takes the next pod.  Writes their nodes to `nodes`, which
  // has room for all.  Returns their number: 0 if pods of the run need more than room.
  size_t PlaceNext(std::span<const PodId> pods, NodeId* nodes) {
    if (!MayPlaceNext()) return 0;
    EBB_DCHECK(RestIsSound() && NextTake(pods));
    const size_t placed = run_.room.TakeEach(run_.word, run_.rest, pods.size(), nodes);
    if (placed == 0) return 0;
    evaluations_ += placed;
    placed_since_fork_ = true;
    last_node_ = nodes[placed - 1];
    return placed;
  }
  // Undoes a Place of a pod that StaysUnplaced; the snapshot's Revert undoes the others.
  // REQUIRES: BeginRun was called with the pod's shape.
  void TakeBack(NodeId node) {
    EBB_DCHECK(run_.id != kNoShape);
    if ((run_.traits & kUnplaced) != 0) run_.room.Give(node);
  }

  // Must be called after room was given back outside of attempts.
  void OnRoomGiven() { ForgetRuledOut(); }

  // Must be called together with the snapshot's own functions: after a fork in which `ghost` became
  // the ghost, after the fork was reverted, and after the ghost was removed.
  void OnGhost(NodeId ghost);
  void OnRevert();
  void OnNodeRemoved(NodeId ghost);

  static constexpr PodShapeId kNoShape{~uint32_t{0}};

  // What a search must check for pods of a shape, where ShortCutsOf does not allow to skip it.
  enum Trait : uint8_t {
    kKnown = 1,
    kMoreThanRequests = 2,  // A node with enough room may still be refused.
    kPreFilter = 4,         // PreFilter may refuse the pod on all nodes.
    kOwnStatics = 8,        // Static verdicts belong to the shape, not to its fit class.
    kUnplaced = 16,         // StaysUnplaced.
    kNodeName = 32,         // Verdicts of nodes of one shape may differ.
    kTopologyAlone = 64,  // Of the filters beyond room, only TopologyFits can refuse an open node.
    kCompactAsks = 128,   // As kTopologyAlone, and ShapeRow::asks has what it tests.
  };

  // A bit for each word of a NodeSet, so that a search can skip words without candidates.
  class WordSet {
   public:
    void Reset(size_t words, bool members) {
      bits_.assign((words + 63) / 64, members ? ~uint64_t{0} : 0);
    }
    void Insert(size_t word) { bits_[word / 64] |= uint64_t{1} << (word % 64); }
    void Erase(size_t word) { bits_[word / 64] &= ~(uint64_t{1} << (word % 64)); }
    [[nodiscard]] bool Contains(size_t word) const { return bits_[word / 64] >> (word % 64) & 1; }
    // The first word in [from, end) that is in both sets; `end`: no word is.
    static size_t NextOfBoth(const WordSet& a, const WordSet& b, size_t from, size_t end);

   private:
    std::vector<uint64_t> bits_;
  };

  enum class Verdict : uint8_t { kUnknown, kNo, kYes };
  // The verdicts of the static filters.
  struct StaticBits {
    NodeSet passed;  // By word, for schedulable nodes; kOwnStatics: for the nodes in `asked`.
    NodeSet asked;   // kOwnStatics: evaluated node by node, because these filters are expensive.
    std::vector<uint8_t> known;     // Words of `passed` that are filled.
    std::vector<Verdict> of_shape;  // By NodeShapeId, unless a node's name matters.
  };
  // The nodes that may take a pod of one fit class.  Kept between passes only to reuse the memory.
  struct Candidates {
    NodeSet maybe;
    std::vector<uint8_t> known;       // Words of `maybe` that are filled.
    WordSet live;                     // Words that are not filled, or have a candidate.
    uint64_t pass = 0;                // The pass in which the above was filled.
    const PodShape* shape = nullptr;  // One shape of the class, for assertions.
  };
  // The state of the search for pods of one shape.  Pods of one shape often come in a row.
  struct Run {
    PodShapeId id = kNoShape;
    uint8_t traits = 0;
    bool is_charged_as_fits = false;
    FitClassId fit_class{};
    const PodShape* shape = nullptr;
    const ShapeRow* row = nullptr;
    StaticBits* statics = nullptr;
    Candidates* candidates = nullptr;  // Null: no search was made yet.
    ShapeRoom room;
    // The candidates after the pointer in its word.  Valid as long as no other search has moved the
    // pointer and no node was opened or closed.
    size_t word = 0;
    uint64_t rest = 0;
  };
  struct Forgotten {  // A change that a revert must undo.
    Candidates* candidates;
    uint32_t word;
    uint64_t bits;  // The bits that were cleared; 0: the whole word was filled.
  };

  [[nodiscard]] size_t CandidatesIndex(const PodShape& shape, PodShapeId id);
  Candidates& CandidatesOf(const PodShape& shape, PodShapeId id);
  StaticBits& StaticsOf(const PodShape& shape, PodShapeId id);
  uint64_t StaticWord(StaticBits& statics, const PodShape& shape, size_t word);
  bool PassesStatics(StaticBits& statics, const PodShape& shape, NodeId node);
  void FillWord(Candidates& candidates, const PodShape& shape, size_t word);
  void SetRun(PodShapeId id);
  [[nodiscard]] bool FitsBeyondRoom(NodeId node) const;
  NodeId FirstFit(size_t word, uint64_t bits);
  [[nodiscard]] uint64_t AdmittedByDomains(size_t word) const;
  NodeId FirstFitOfWord(size_t word, uint64_t mask);
  NodeId FirstFitUnlisted(size_t word, uint64_t mask);
  NodeId Search();
  template <NodeId (PodScan::*kFirstFitOfWord)(size_t, uint64_t)>
  NodeId SearchFrom(size_t start, const WordSet& live);
  static NodeId NodeOfBit(size_t word, uint64_t bits) {
    return NodeId{static_cast<uint32_t>(word * kNodesPerWord + std::countr_zero(bits))};
  }
  // The bits after that of `node` in its word.
  static uint64_t After(NodeId node) { return ~uint64_t{1} << (Index(node) % kNodesPerWord); }
  void ForgetPass();
  // Forgets which nodes lack room.
  void ForgetRuledOut();
  // The invariants that pod_scan.cc states, for assertions.
  [[nodiscard]] bool LacksNoFit(const Candidates& candidates, size_t word) const;
  [[nodiscard]] bool RestIsSound() const;
  // Whether the filters, evaluated one by one, let each of `pods` run on its node of `rest`, up to
  // the first node without the room.
  [[nodiscard]] bool NextTake(std::span<const PodId> pods);
  [[nodiscard]] bool TopologyRefusesAll(size_t word, uint64_t nodes) const;
  uint8_t TraitsOf(PodShapeId id) { return RowOf(id).traits; }
  void LearnRow(PodShapeId id);

  ClusterSnapshot* snapshot_ = nullptr;
  NodeSet open_;
  WordSet open_words_;      // Where open_ has a node.
  NodeId ghost_ = kNoNode;  // The most recent ghost.
  bool ghost_was_open_ = false;
  std::shared_ptr<const Catalog> catalog_;  // The catalog of the static verdicts.
  uint64_t catalog_revision_ = 0;
  bool matches_os_ = false;
  NodeSet schedulable_;                   // Nodes without spec.unschedulable.
  std::vector<NodeShapeId> node_shapes_;  // By NodeId.
  std::vector<std::unique_ptr<StaticBits>> statics_;
  std::vector<std::unique_ptr<Candidates>> candidates_;
  // As candidates_: the last bits of the number of the pass in which pods of the class were last
  // searched for.  A wrong answer costs time only.
  std::vector<uint32_t> searched_;
  std::vector<Forgotten> forgotten_;  // Changes since the last fork, from its first placed pod on.
  bool placed_since_fork_ = false;
  uint64_t pass_ = 0;  // The number of this pass.
  Run run_;
  // For the current search: how many nodes topology has refused so far, and the verdicts for whole
  // domains, which are computed once there are kRefusalsMax refusals.  A lower limit tests fewer
  // nodes; a higher limit avoids computing the verdicts for searches that end soon.  Measured only
  // with other changes of its step (docs/performance.md, ColdPass/topology:5000: 46.7 to 34.5 ms);
  // other values were not compared.
  static constexpr uint32_t kRefusalsMax = 16;
  uint32_t refused_ = 0;
  TopologyWords topology_words_;

  std::vector<ShapeRow> rows_;  // By PodShapeId.

  // The pointer is kept as a node where possible; its index is computed on demand.
  NodeId last_node_ = kNoNode;
  uint64_t last_index_ = 0;  // The pointer, if last_node_ is kNoNode.
  uint64_t evaluations_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_POD_SCAN_H_
