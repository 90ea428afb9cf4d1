#include "engine/pass/pod_scan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "engine/pass/fits_word.h"
#include "predicates/filters.h"
#include "predicates/node_resources_fit.h"

// How the bit sets work together.
//
// For each fit class that was searched for in this pass (Candidates):
//   known  the words of `maybe` that were filled in this pass;
//   maybe  in these words, the nodes that may still take a pod of the class;
//   live   the words that are not known, or have a bit in `maybe`.
// For all classes together:
//   open_        the nodes that may take pods now: destinations in the cluster, without the ghost;
//   open_words_  the words in which open_ has a bit.
// For the run of pods that is being placed:
//   rest   the nodes of one word that are in `maybe` and open_ and come after the pointer.
//
// The first search for a class in a pass does without all this (FirstFitUnlisted): in a cluster
// where nearly every pod is of a class of its own, most classes are searched for once.
//
// The invariant: if a schedulable node in open_ has the room for a pod of the class and passes its
// static filters, its word is live, and its bit in `maybe` is set if the word is known.  So a clear
// bit means no.  A set bit proves nothing: the node is tested.
//
// Why it holds:
// - A word is filled from the free room of its nodes and their static verdicts.  Static verdicts do
//   not change during a pass.  A bit is cleared when the node turns out to lack the room or to fail
//   a static filter.
// - Placing pods takes room, so what was ruled out stays ruled out.  Only OnRevert gives room back.
//   forgotten_ lists what an attempt has ruled out since it placed its first pod: the bits that it
//   cleared, which OnRevert sets again, and the words that it filled, which OnRevert makes unknown
//   again.
// - Until an attempt places its first pod, it rules nodes out by the room that they will have again
//   after a revert.  So these verdicts need no undoing.  The ghost is the exception: during the
//   attempt it has more room than before or after.  So its bit may be set needlessly, but it is
//   never cleared wrongly.
// - `rest` is what a search found and has not used yet.  It is dropped when the next run is of
//   another shape, when open_ changes, and when an attempt begins or ends.

namespace ebb {
namespace {

// Storage filters may look at every volume of a class.  One of them counts as this many
// evaluations.  A higher cost checks the deadline more often.  Not tuned: an estimate.
constexpr uint64_t kOwnStaticsCost = 64;

// The first member after `node`, or kNoNode.
NodeId NextAfter(const NodeSet& set, NodeId node) {
  const std::span<const uint64_t> words = set.words();
  const size_t next = Index(node) + 1;
  size_t w = next / kNodesPerWord;
  if (w >= words.size()) return kNoNode;
  uint64_t bits = words[w] & (~uint64_t{0} << (next % kNodesPerWord));
  while (bits == 0) {
    if (++w == words.size()) return kNoNode;
    bits = words[w];
  }
  return NodeId{static_cast<uint32_t>(w * kNodesPerWord + std::countr_zero(bits))};
}

template <typename T>
T& Slot(std::vector<std::unique_ptr<T>>& slots, size_t index) {
  if (slots.size() <= index) slots.resize(index + 1);
  if (slots[index] == nullptr) slots[index] = std::make_unique<T>();
  return *slots[index];
}

}  // namespace

size_t PodScan::WordSet::NextOfBoth(const WordSet& a, const WordSet& b, size_t from, size_t end) {
  if (from >= end) return end;
  size_t i = from / 64;
  uint64_t bits = a.bits_[i] & b.bits_[i] & (~uint64_t{0} << (from % 64));
  while (bits == 0) {
    if (++i * 64 >= end) return end;
    bits = a.bits_[i] & b.bits_[i];
  }
  return std::min(end, i * 64 + std::countr_zero(bits));
}

void PodScan::BeginPass(ClusterSnapshot& snapshot, const NodeSet& destinations) {
  snapshot_ = &snapshot;
  // A catalog that gained shapes or nodes counts as another one, because verdicts on a shape may
  // change.
  if (catalog_ != snapshot.shared_catalog() || catalog_revision_ != catalog_->revision() ||
      rows_.size() != catalog_->pod_shapes() || schedulable_.range() != catalog_->nodes() ||
      matches_os_ != snapshot.matches_os()) {
    catalog_ = snapshot.shared_catalog();
    matches_os_ = snapshot.matches_os();
    catalog_revision_ = catalog_->revision();
    statics_.clear();
    candidates_.clear();
    searched_.assign(catalog_->fit_classes() + catalog_->pod_shapes(), 0);
    topology_words_.Reset(*catalog_);
    rows_.assign(catalog_->pod_shapes(), ShapeRow());
    schedulable_ = NodeSet(catalog_->nodes());
    node_shapes_.resize(catalog_->nodes());
    for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
      const NodeInfo& node = catalog_->node(NodeId{n});
      schedulable_.Set(NodeId{n}, catalog_->IsThere(NodeId{n}) && !node.unschedulable);
      node_shapes_[n] = node.shape;
    }
  }
  ForgetPass();
  SetDestinations(destinations);
}

void PodScan::EndPass() {
  if (last_node_ != kNoNode) last_index_ = snapshot_->PositionOf(last_node_);
  ForgetPass();
  snapshot_ = nullptr;
}

void PodScan::ForgetPass() {
  ForgetRuledOut();
  last_node_ = kNoNode;
}

void PodScan::ForgetRuledOut() {
  ++pass_;
  forgotten_.clear();
  placed_since_fork_ = false;
  run_.id = kNoShape;
  run_.rest = 0;
}

void PodScan::SetDestinations(const NodeSet& destinations) {
  EBB_CHECK(snapshot_->ghost() == kNoNode);
  run_.rest = 0;
  open_ = destinations;
  const std::span<const uint64_t> alive = snapshot_->alive().words();
  open_words_.Reset(alive.size(), /*members=*/false);
  for (size_t w = 0; w < alive.size(); ++w) {
    open_.words()[w] &= alive[w];
    if (open_.words()[w] != 0) open_words_.Insert(w);
  }
}

void PodScan::LearnRow(PodShapeId id) {
  const PodShape& shape = catalog_->shape(id);
  const ShortCuts cuts = ShortCutsOf(PartsOf(*catalog_, shape));
  const bool more = !cuts.requests_alone || !cuts.statics_of_fit_class;
  ShapeRow row{.has_controller = shape.has_controller,
               .is_charged_as_fits = shape.charge_requests == shape.fit_requests,
               .priority = shape.priority,
               .fit_class = shape.fit_class,
               .family = shape.family};
  const bool compact = cuts.topology_alone && row.asks.Learn(shape);
  const int traits =
      kKnown | (more ? kMoreThanRequests : 0) | (cuts.passes_pre_filter ? 0 : kPreFilter) |
      (cuts.statics_of_fit_class ? 0 : kOwnStatics) | (cuts.only_room_and_counts ? kUnplaced : 0) |
      (cuts.topology_alone ? kTopologyAlone : 0) | (cuts.statics_of_node_shape ? 0 : kNodeName) |
      (compact ? kCompactAsks : 0);
  row.traits = static_cast<uint8_t>(traits);
  row.feed_count = ShapeRow::kManyFeeds;
  if (shape.feeds.size() <= row.feeds.size()) {
    row.feed_count = static_cast<uint8_t>(shape.feeds.size());
    std::ranges::copy(shape.feeds, row.feeds.begin());
  }
  rows_[Index(id)] = row;
}

PodScan::StaticBits& PodScan::StaticsOf(const PodShape& shape, PodShapeId id) {
  const bool own = (TraitsOf(id) & kOwnStatics) != 0;
  const size_t index = own ? catalog_->constraint_sets() + Index(id) : Index(shape.constraints);
  StaticBits& statics = Slot(statics_, index);
  if (statics.known.empty()) {
    statics.passed.Resize(catalog_->nodes());
    statics.known.resize(statics.passed.words().size());
    if (own) statics.asked.Resize(catalog_->nodes());
    if (!own && (TraitsOf(id) & kNodeName) == 0) {
      statics.of_shape.resize(catalog_->node_shapes());
    }
  }
  return statics;
}

size_t PodScan::CandidatesIndex(const PodShape& shape, PodShapeId id) {
  return (TraitsOf(id) & kOwnStatics) != 0 ? catalog_->fit_classes() + Index(id)
                                           : Index(shape.fit_class);
}

PodScan::Candidates& PodScan::CandidatesOf(const PodShape& shape, PodShapeId id) {
  Candidates& candidates = Slot(candidates_, CandidatesIndex(shape, id));
  if (candidates.pass == pass_) return candidates;
  candidates.pass = pass_;
  candidates.shape = &shape;
  candidates.maybe.Resize(catalog_->nodes());
  candidates.known.assign(candidates.maybe.words().size(), 0);
  candidates.live.Reset(candidates.known.size(), /*members=*/true);
  return candidates;
}

bool PodScan::PassesStatics(StaticBits& statics, const PodShape& shape, NodeId node) {
  if (statics.asked.range() > 0) {
    if (!statics.asked.Contains(node)) {
      evaluations_ += kOwnStaticsCost;
      statics.asked.Insert(node);
      statics.passed.Set(node, StaticFits(*snapshot_, shape, node));
    }
    return statics.passed.Contains(node);
  }
  if (statics.of_shape.empty()) return StaticFits(*snapshot_, shape, node);
  Verdict& verdict = statics.of_shape[Index(node_shapes_[Index(node)])];
  if (verdict == Verdict::kUnknown) {
    verdict = StaticFits(*snapshot_, shape, node) ? Verdict::kYes : Verdict::kNo;
  }
  return verdict == Verdict::kYes;
}

uint64_t PodScan::StaticWord(StaticBits& statics, const PodShape& shape, size_t word) {
  uint64_t& passed = statics.passed.words()[word];
  if (statics.known[word]) return passed;
  for (uint64_t rest = schedulable_.words()[word]; rest != 0; rest &= rest - 1) {
    const NodeId node = NodeOfBit(word, rest);
    if (PassesStatics(statics, shape, node)) statics.passed.Insert(node);
  }
  statics.known[word] = true;
  return passed;
}

void PodScan::FillWord(Candidates& candidates, const PodShape& shape, size_t word) {
  const uint64_t room = FitsWord(*snapshot_, shape, word) & schedulable_.words()[word];
  const bool own = (run_.traits & kOwnStatics) != 0;  // FirstFit evaluates these.
  candidates.maybe.words()[word] =
      room == 0 || own ? room : room & StaticWord(*run_.statics, shape, word);
  candidates.known[word] = 1;
  if (candidates.maybe.words()[word] == 0) candidates.live.Erase(word);
  if (placed_since_fork_) forgotten_.push_back({&candidates, static_cast<uint32_t>(word), 0});
}

void PodScan::SetRun(PodShapeId id) {
  const ShapeRow& row = RowOf(id);
  const PodShape& shape = catalog_->shape(id);
  // Pods of applications of one size often follow each other; then what belongs to the fit class is
  // kept.
  const bool goes_on = run_.id != kNoShape && run_.fit_class == row.fit_class &&
                       run_.is_charged_as_fits && row.is_charged_as_fits &&
                       ((run_.traits | row.traits) & kOwnStatics) == 0;
  run_.id = id;
  run_.traits = row.traits;
  run_.is_charged_as_fits = row.is_charged_as_fits;
  run_.fit_class = row.fit_class;
  run_.shape = &shape;
  run_.row = &row;
  run_.rest = 0;
  if (goes_on) {
    run_.room.GoOn(shape, FeedsOf(id));
    return;
  }
  run_.statics = &StaticsOf(shape, id);
  run_.candidates = nullptr;
  run_.room.Begin(*snapshot_, shape, FeedsOf(id));
}

// Whether a node that has the room passes the other filters of DynamicFits.
inline bool PodScan::FitsBeyondRoom(NodeId node) const {
  if ((run_.traits & kMoreThanRequests) == 0) return true;
  if ((run_.traits & kCompactAsks) != 0) {
    const bool fits = run_.row->asks.Fit(*snapshot_, node);
    EBB_DCHECK(fits == TopologyFits(*snapshot_, *run_.shape, node));
    return fits;
  }
  if ((run_.traits & kTopologyAlone) != 0) return TopologyFits(*snapshot_, *run_.shape, node);
  return DynamicFits(*snapshot_, *run_.shape, node);
}

// A bit for each of the 64 nodes that spread and affinity allow, judging by whole domains.
uint64_t PodScan::AdmittedByDomains(size_t word) const {
  const uint64_t admitted = topology_words_.Admitted(word);
  EBB_DCHECK(TopologyRefusesAll(word, open_.words()[word] & ~admitted));
  return admitted;
}

// Returns the first node of `bits` that fits.  After topology has refused several nodes, nodes of
// domains that it refuses as a whole are skipped.  They stay in `rest`, because the next placement
// may change that verdict.
[[gnu::always_inline]] inline NodeId PodScan::FirstFit(size_t word, uint64_t bits) {
  const PodShape& shape = *run_.shape;
  uint64_t full = 0;  // Nodes without the room, or that never fit.
  NodeId found = kNoNode;
  uint64_t tried = refused_ < kRefusalsMax ? bits : bits & AdmittedByDomains(word);
  for (; tried != 0; tried &= tried - 1) {
    const NodeId node = NodeOfBit(word, tried);
    ++evaluations_;
    if (!run_.room.IsOn(node) ||
        ((run_.traits & kOwnStatics) != 0 && !PassesStatics(*run_.statics, shape, node))) {
      full |= tried & -tried;
    } else if (FitsBeyondRoom(node)) {
      found = node;
      break;
    } else if (++refused_ == kRefusalsMax) [[unlikely]] {
      topology_words_.Begin(*snapshot_, shape);
      tried &= AdmittedByDomains(word) | (tried & -tried);
    }
  }
  run_.word = word;
  run_.rest = found == kNoNode ? 0 : bits & After(found);
  if (full != 0) {
    Candidates& candidates = *run_.candidates;
    candidates.maybe.words()[word] &= ~full;
    if (candidates.maybe.words()[word] == 0) candidates.live.Erase(word);
    if (placed_since_fork_) forgotten_.push_back({&candidates, static_cast<uint32_t>(word), full});
  }
  return found;
}

NodeId PodScan::FirstFitOfWord(size_t word, uint64_t mask) {
  mask &= open_.words()[word];
  if (mask == 0) return kNoNode;
  Candidates& candidates = *run_.candidates;
  if (candidates.known[word] == 0) [[unlikely]]
    FillWord(candidates, *run_.shape, word);
  mask &= candidates.maybe.words()[word];
  return mask == 0 ? kNoNode : FirstFit(word, mask);
}

// As FirstFitOfWord, without candidates of the class.
NodeId PodScan::FirstFitUnlisted(size_t word, uint64_t mask) {
  mask &= open_.words()[word] & schedulable_.words()[word];
  if (mask == 0) return kNoNode;
  const PodShape& shape = *run_.shape;
  mask &= FitsWord(*snapshot_, shape, word);
  if (refused_ >= kRefusalsMax) mask &= AdmittedByDomains(word);
  for (; mask != 0; mask &= mask - 1) {
    const NodeId node = NodeOfBit(word, mask);
    ++evaluations_;
    if (!PassesStatics(*run_.statics, shape, node)) continue;
    if (FitsBeyondRoom(node)) return node;
    if (++refused_ != kRefusalsMax) continue;
    topology_words_.Begin(*snapshot_, shape);
    mask &= AdmittedByDomains(word) | (mask & -mask);
  }
  return kNoNode;
}

NodeId PodScan::Search() {
  if ((run_.traits & kPreFilter) != 0 && !PreFilter(*snapshot_, *run_.shape).fits) return kNoNode;

  // The id to search from.  Later nodes of the cluster have larger ids.
  size_t start = Index(last_node_) + 1;
  if (last_node_ == kNoNode) {
    if (snapshot_->nodes() == 0) return kNoNode;
    start = Index(snapshot_->NodeAt((last_index_ + 1) % snapshot_->nodes()));
  } else if (start == open_.range()) {
    start = 0;
  }
  refused_ = 0;
  NodeId found = kNoNode;
  if (run_.candidates == nullptr) {
    uint32_t& searched = searched_[CandidatesIndex(*run_.shape, run_.id)];
    if (std::exchange(searched, static_cast<uint32_t>(pass_)) != static_cast<uint32_t>(pass_)) {
      found = SearchFrom<&PodScan::FirstFitUnlisted>(start, open_words_);
      if (found != kNoNode) last_node_ = found;
      return found;
    }
    run_.candidates = &CandidatesOf(*run_.shape, run_.id);
  }
  found = SearchFrom<&PodScan::FirstFitOfWord>(start, run_.candidates->live);
  if (found != kNoNode) last_node_ = found;
  return found;
}

// Returns the first node from `start` on, in a circle, that fits.  Words that are not in `live` are
// skipped.
template <NodeId (PodScan::*kFirstFitOfWord)(size_t, uint64_t)>
[[gnu::always_inline]] inline NodeId PodScan::SearchFrom(size_t start, const WordSet& live) {
  const size_t first = start / kNodesPerWord;
  const uint64_t from_start = ~uint64_t{0} << (start % kNodesPerWord);
  NodeId found =
      run_.rest != 0 ? FirstFit(run_.word, run_.rest) : (this->*kFirstFitOfWord)(first, from_start);
  const auto search_words = [&](size_t from, size_t end) {
    size_t word = WordSet::NextOfBoth(live, open_words_, from, end);
    while (word < end) {
      found = (this->*kFirstFitOfWord)(word, ~uint64_t{0});
      if (found != kNoNode) return;
      word = WordSet::NextOfBoth(live, open_words_, word + 1, end);
    }
  };
  if (found == kNoNode) search_words(first + 1, open_.words().size());
  if (found == kNoNode) search_words(0, first);
  // The search has come round to the part of its first word before the start.
  if (found == kNoNode) {
    found = (this->*kFirstFitOfWord)(first, ~from_start);
    run_.rest = 0;  // It would lack the nodes after the start.
  }
  return found;
}

bool PodScan::HasNoPlaceBut(NodeId node) {
  EBB_DCHECK(snapshot_->ghost() == kNoNode && NeedsOnlyRoom(run_.id));
  if (run_.candidates == nullptr) run_.candidates = &CandidatesOf(*run_.shape, run_.id);
  const WordSet& live = run_.candidates->live;
  const size_t end = open_.words().size();
  bool found = false;
  for (size_t word = WordSet::NextOfBoth(live, open_words_, 0, end); word < end && !found;
       word = WordSet::NextOfBoth(live, open_words_, word + 1, end)) {
    const bool is_own = word == Index(node) / kNodesPerWord;
    const uint64_t own = is_own ? uint64_t{1} << (Index(node) % kNodesPerWord) : 0;
    found = FirstFitOfWord(word, ~own) != kNoNode;
  }
  run_.rest = 0;
  return !found;
}

bool PodScan::Fits(NodeId node) {
  EBB_DCHECK(IsOpen(node));
  const PodShape& shape = *run_.shape;
  if (!run_.room.IsOn(node)) return false;
  if ((run_.traits & kPreFilter) != 0 && !PreFilter(*snapshot_, shape).fits) return false;
  if (!PassesStatics(*run_.statics, shape, node)) return false;
  return FitsBeyondRoom(node);
}

bool PodScan::LacksNoFit(const Candidates& candidates, size_t word) const {
  if (candidates.known[word] == 0) return candidates.live.Contains(word);
  const PodShape& shape = *candidates.shape;
  const uint64_t ruled_out = ~candidates.maybe.words()[word];
  uint64_t rest = open_.words()[word] & schedulable_.words()[word] & ruled_out;
  for (; rest != 0; rest &= rest - 1) {
    const NodeId node = NodeOfBit(word, rest);
    if (FitsNodeResources(*snapshot_, shape, node) && StaticFits(*snapshot_, shape, node)) {
      return false;
    }
  }
  return candidates.maybe.words()[word] == 0 || candidates.live.Contains(word);
}

bool PodScan::TopologyRefusesAll(size_t word, uint64_t nodes) const {
  for (; nodes != 0; nodes &= nodes - 1) {
    if (TopologyFits(*snapshot_, *run_.shape, NodeOfBit(word, nodes))) return false;
  }
  return true;
}

bool PodScan::RestIsSound() const {
  if (run_.rest == 0) return true;
  const uint64_t candidates = run_.candidates->maybe.words()[run_.word] & open_.words()[run_.word];
  return (run_.rest & ~candidates) == 0 && last_node_ != kNoNode &&
         last_node_ < NodeOfBit(run_.word, run_.rest);
}

bool PodScan::JustFitted(PodId pod, NodeId node) const {
  EBB_DCHECK(snapshot_ != nullptr);
  const PodShape& shape = catalog_->shape_of(pod);
  return run_.id == catalog_->shape_id(pod) && snapshot_->NodeOf(pod) == kNoNode && IsOpen(node) &&
         PreFilter(*snapshot_, shape).fits && StaticFits(*snapshot_, shape, node) &&
         DynamicFits(*snapshot_, shape, node);
}

bool PodScan::NextTake(std::span<const PodId> pods) {
  uint64_t rest = run_.rest;
  for (const PodId pod : pods) {
    if (rest == 0) break;
    const NodeId node = NodeOfBit(run_.word, rest);
    if (!run_.room.IsOn(node)) break;
    if (!JustFitted(pod, node)) return false;
    rest &= rest - 1;
  }
  return true;
}

void PodScan::OnGhost(NodeId ghost) {
  run_.rest = 0;
  forgotten_.clear();
  placed_since_fork_ = false;
  ghost_ = ghost;
  ghost_was_open_ = open_.Contains(ghost);
  open_.Erase(ghost);
  const size_t word = Index(ghost) / kNodesPerWord;
  if (open_.words()[word] == 0) open_words_.Erase(word);
}

void PodScan::OnRevert() {
  run_.rest = 0;
  for (auto it = forgotten_.rbegin(); it != forgotten_.rend(); ++it) {
    it->candidates->live.Insert(it->word);
    if (it->bits == 0) {
      it->candidates->known[it->word] = 0;
    } else {
      it->candidates->maybe.words()[it->word] |= it->bits;
    }
  }
  for (const Forgotten& forgotten : forgotten_) {
    EBB_DCHECK(LacksNoFit(*forgotten.candidates, forgotten.word));
  }
  forgotten_.clear();
  if (!ghost_was_open_) return;
  open_.Insert(ghost_);
  open_words_.Insert(Index(ghost_) / kNodesPerWord);
}

void PodScan::OnNodeRemoved(NodeId ghost) {
  run_.rest = 0;
  // The index stays.  If a node at or before it is removed, the index means the next node; if there
  // is no next node, it is one past the last.
  if (last_node_ == kNoNode || ghost > last_node_) return;
  last_node_ = NextAfter(snapshot_->alive(), last_node_);
  if (last_node_ == kNoNode) last_index_ = snapshot_->nodes();
}

}  // namespace ebb
