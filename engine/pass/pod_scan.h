// PodScan finds nodes for pods, one after the other: for each the first that passes
// every filter, looking round the list of nodes from where the last search ended.
//
// What makes it fast:
// - Pods of one fit class (constraints and requests) share a bit set of the nodes that
//   may still take them.  It is filled 64 nodes at a time, on first use.  The next
//   candidate is the next set bit.
// - While pods are placed, free room only shrinks.  So the bit of a node that is full is
//   cleared for the rest of the pass.  Only a trial that is undone gives room back, and
//   with it come the bits that were cleared in that trial.
// - The bit set never lacks a node that fits, and every node that it names is tested
//   before it is the answer.  So it cannot change an answer.  pod_scan.cc says why.
// - Words without a bit are skipped, 64 of them at a time.
// - Static verdicts (taints, affinity) are kept per set of constraints for as long as the
//   catalog is the same.  Nodes that differ in their names alone share them.
//
// The pointer is an index into the list of nodes, as in the autoscaler: it stays
// when a node goes, so it then means another node.  It starts at 0, and the first
// search therefore at index 1.
//
// Threads: none.
// Source:  cluster-autoscaler simulator/clustersnapshot/predicate/plugin_runner.go,
//          RunFiltersUntilPassingNode with parallelism 1.

#ifndef EBB_ENGINE_PASS_POD_SCAN_H_
#define EBB_ENGINE_PASS_POD_SCAN_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "predicates/topology_words.h"
#include "snapshot/cluster_snapshot.h"
#include "snapshot/shape_room.h"

namespace ebb {

class PodScan {
 public:
  // Whether the node is in the cluster, may take pods and is not the ghost.
  [[nodiscard]] bool IsOpen(NodeId node) const { return open_.Contains(node); }

  // What a pass reads of a shape for every pod that moves, together in memory.
  struct ShapeRow {
    uint8_t traits = 0;               // Trait; 0: not learned yet.
    bool has_controller = false;      // As in PodShape, and so the rest.
    bool is_charged_as_fits = false;  // charge_requests are fit_requests.
    int32_t priority = 0;
    FitClassId fit_class{};
    FamilyId family = kNoFamily;
  };
  [[nodiscard]] const ShapeRow& RowOf(PodShapeId shape) {
    const ShapeRow& row = rows_[Index(shape)];
    if (row.traits == 0) [[unlikely]]
      LearnRow(shape);
    return row;
  }

  // The pods that are asked about from here on are of `shape`, and not placed.
  void BeginRun(PodShapeId shape) {
    if (shape != run_.id) SetRun(shape);
  }

  // The next node from the pointer that takes such a pod, and moves the pointer there;
  // kNoNode if there is none, and the pointer stays.  The ghost, and nodes with
  // spec.unschedulable, are passed over.
  NodeId FindNode() {
    // Most pods find their place in the word of the one before.
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

  // Every filter on one node (a hint).  The pointer stays.  REQUIRES: IsOpen(node).
  [[nodiscard]] bool Fits(NodeId node);

  // Whether pods of the shape matter to others by the room they take and the tables that
  // count them alone: no filter looks for them on their node (ShortCuts::only_room_and_counts).
  // They are not placed in the snapshot.
  [[nodiscard]] bool StaysUnplaced(PodShapeId shape) { return (TraitsOf(shape) & kUnplaced) != 0; }

  // Whether the filters themselves, one by one, let the pod run on the node: for assertions.
  // REQUIRES: a pass is under way.
  [[nodiscard]] bool JustFitted(PodId pod, NodeId node) const;

  // The pointer, between passes: all of a scan's memory that can change an answer.
  // It is what EndPass found, or SetPointer said.
  [[nodiscard]] uint64_t pointer() const { return last_index_; }
  void SetPointer(uint64_t pointer) {
    last_index_ = pointer;
    last_node_ = kNoNode;
  }

  // Filter evaluations so far: the unit in which a deadline is checked.
  [[nodiscard]] uint64_t evaluations() const { return evaluations_; }

 private:
  friend class Simulation;  // Alone may call what follows, in step with the snapshot.

  // Begins a pass over `snapshot`, which must live until EndPass; that finds nodes as
  // the pass left them.  `destinations`: nodes that may take pods.
  void BeginPass(ClusterSnapshot& snapshot, const NodeSet& destinations);
  void EndPass();

  // From here on the nodes that may take pods.  REQUIRES: there is no ghost.
  void SetDestinations(const NodeSet& destinations);

  // Places a pod of the run on a node that FindNode or Fits just said yes to: in the
  // snapshot; but one that StaysUnplaced takes its room, is counted, and no more.
  void Place(PodId pod, NodeId node) {
    placed_since_fork_ = true;
    if ((run_.traits & kUnplaced) != 0) {
      run_.room.Take(node);
    } else {
      snapshot_->AddPod(pod, node);
    }
  }
  // Undoes that, as far as the snapshot's Revert does not.  REQUIRES: BeginRun with the
  // pod's shape.
  void TakeBack(NodeId node) {
    if ((run_.traits & kUnplaced) != 0) run_.room.Give(node);
  }

  // To be told beside the snapshot's own calls: a fork that makes `ghost` one, and
  // what became of it.
  void OnGhost(NodeId ghost);
  void OnRevert();
  void OnNodeRemoved(NodeId ghost);

  static constexpr PodShapeId kNoShape{~uint32_t{0}};

  // What there is to look at for pods of a shape: what ShortCutsOf does not spare.
  enum Trait : uint8_t {
    kKnown = 1,
    kMoreThanRequests = 2,  // A candidate with room may still not fit.
    kPreFilter = 4,         // PreFilter may fail.
    kOwnStatics = 8,        // Static verdicts are the shape's own, not its fit class's.
    kUnplaced = 16,         // StaysUnplaced.
    kNodeName = 32,         // Nodes of one shape may differ.
    kTopologyAlone = 64,    // Beyond room, TopologyFits alone may say no of an open node.
  };

  // A bit for each word of a NodeSet, so that a search can skip words that have nothing.
  class WordSet {
   public:
    void Reset(size_t words, bool members) {
      bits_.assign((words + 63) / 64, members ? ~uint64_t{0} : 0);
    }
    void Insert(size_t word) { bits_[word / 64] |= uint64_t{1} << (word % 64); }
    void Erase(size_t word) { bits_[word / 64] &= ~(uint64_t{1} << (word % 64)); }
    [[nodiscard]] bool Contains(size_t word) const { return bits_[word / 64] >> (word % 64) & 1; }
    // The first in [from, end) that is in both; `end` if there is none.
    static size_t NextOfBoth(const WordSet& a, const WordSet& b, size_t from, size_t end);

   private:
    std::vector<uint64_t> bits_;
  };

  enum class Verdict : uint8_t { kUnknown, kNo, kYes };
  // What the static filters say of the nodes.
  struct StaticBits {
    NodeSet passed;                 // Of schedulable nodes, word by word; kOwnStatics: of `asked`.
    NodeSet asked;                  // kOwnStatics: one by one, as asking is expensive.
    std::vector<uint8_t> known;     // By word of `passed`.
    std::vector<Verdict> of_shape;  // By NodeShapeId, unless a node's name matters.
  };
  // Nodes that may take a pod of one fit class.  Kept from pass to pass for its
  // memory only.
  struct Candidates {
    NodeSet maybe;
    std::vector<uint8_t> known;       // By word.
    WordSet live;                     // Words that are not known, or have a candidate.
    uint64_t pass = 0;                // In which the rest was filled.
    const PodShape* shape = nullptr;  // One of the class, for assertions.
  };
  // What the search for pods of one shape needs; they come in runs.
  struct Run {
    PodShapeId id = kNoShape;
    uint8_t traits = 0;
    bool is_charged_as_fits = false;
    FitClassId fit_class{};
    const PodShape* shape = nullptr;
    StaticBits* statics = nullptr;
    Candidates* candidates = nullptr;  // Null: nobody has searched yet.
    ShapeRoom room;
    // Candidates that follow the pointer in its word, while nothing else has moved it
    // nor opened or closed a node.
    size_t word = 0;
    uint64_t rest = 0;
  };
  struct Forgotten {  // What a revert makes wrong.
    Candidates* candidates;
    uint32_t word;
    uint64_t bits;  // Bits that were cleared; 0: the whole word was filled.
  };

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
  NodeId Search();
  NodeId SearchWords(size_t from, size_t end);
  static NodeId NodeOfBit(size_t word, uint64_t bits) {
    return NodeId{static_cast<uint32_t>(word * kNodesPerWord + std::countr_zero(bits))};
  }
  // The bits behind that of the node in its word.
  static uint64_t After(NodeId node) { return ~uint64_t{1} << (Index(node) % kNodesPerWord); }
  void ForgetPass();
  // The invariants of pod_scan.cc, for assertions.
  [[nodiscard]] bool LacksNoFit(const Candidates& candidates, size_t word) const;
  [[nodiscard]] bool RestIsSound() const;
  [[nodiscard]] bool TopologyRefusesAll(size_t word, uint64_t nodes) const;
  uint8_t TraitsOf(PodShapeId id) { return RowOf(id).traits; }
  void LearnRow(PodShapeId id);

  ClusterSnapshot* snapshot_ = nullptr;
  NodeSet open_;
  WordSet open_words_;      // Where open_ has a node.
  NodeId ghost_ = kNoNode;  // The last one.
  bool ghost_was_open_ = false;
  std::shared_ptr<const Catalog> catalog_;  // Whose static verdicts are kept.
  uint64_t catalog_revision_ = 0;
  bool matches_os_ = false;
  NodeSet schedulable_;                   // Nodes without spec.unschedulable.
  std::vector<NodeShapeId> node_shapes_;  // By NodeId.
  std::vector<std::unique_ptr<StaticBits>> statics_;
  std::vector<std::unique_ptr<Candidates>> candidates_;
  std::vector<Forgotten> forgotten_;  // Since the last fork, once it placed something.
  bool placed_since_fork_ = false;
  uint64_t pass_ = 0;  // The number of this one.
  Run run_;
  // Of the search that is under way: nodes that topology refused so far, and what that of
  // whole domains tells, once there were kRefusalsMax.
  static constexpr uint32_t kRefusalsMax = 16;
  uint32_t refused_ = 0;
  TopologyWords topology_words_;

  std::vector<ShapeRow> rows_;  // By PodShapeId.

  // The pointer is kept as a node where it can be; its index is counted when it is
  // asked for.
  NodeId last_node_ = kNoNode;
  uint64_t last_index_ = 0;  // Where last_node_ is kNoNode.
  uint64_t evaluations_ = 0;
};

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_POD_SCAN_H_
