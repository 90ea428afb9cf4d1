#include "snapshot/cluster_snapshot.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/device_allocator.h"
#include "snapshot/devices.h"

namespace ebb {
ClusterSnapshot::ClusterSnapshot() : ClusterSnapshot(std::make_shared<Catalog>()) {}

ClusterSnapshot::ClusterSnapshot(std::shared_ptr<Catalog> catalog) : catalog_(std::move(catalog)) {
  Grow();
}

size_t ClusterSnapshot::PositionOf(NodeId node) const {
  const std::span<const uint64_t> words = alive_.words();
  const size_t word = Index(node) / kNodesPerWord;
  size_t position = 0;
  for (size_t w = 0; w < word; ++w) position += std::popcount(words[w]);
  const uint64_t below = (uint64_t{1} << (Index(node) % kNodesPerWord)) - 1;
  return position + std::popcount(words[word] & below);
}

NodeId ClusterSnapshot::NodeAt(size_t position) const {
  EBB_CHECK(position < alive_nodes_);
  const std::span<const uint64_t> words = alive_.words();
  size_t w = 0;
  for (size_t here; position >= (here = std::popcount(words[w])); ++w) position -= here;
  uint64_t word = words[w];
  for (; position > 0; --position) word &= word - 1;
  return NodeId{static_cast<uint32_t>(w * kNodesPerWord + std::countr_zero(word))};
}

int64_t ClusterSnapshot::Allocatable(ResourceId resource, NodeId node) const {
  return AmountOf(catalog_->node(node).allocatable, resource);
}

template <int kSign, ClusterSnapshot::Tables kTables>
inline void ClusterSnapshot::Count(const PodShape& shape, NodeId node) {
  if (kTables == Tables::kCount && !shape.feeds.empty()) {
    topology_.Count(*catalog_, shape, node, kSign);
  }
  for (const ClaimId claim : shape.claims) claim_uses_.Mutable(Index(claim)) += kSign;
}

template <int kSign, ClusterSnapshot::Tables kTables>
void ClusterSnapshot::CountAll(const PodList& pods, NodeId node) {
  placed_pods_ += kSign * pods.size();
  const bool counts = kTables != Tables::kLeave && !catalog_->tables().empty();
  if (!counts && catalog_->claims() == 0) return;
  for (const PodId pod : pods) Count<kSign, kTables>(catalog_->shape_of(pod), node);
}

template <int kSign, ClusterSnapshot::Tables kTables>
[[gnu::always_inline]] inline void ClusterSnapshot::Charge(PodId pod, NodeId node) {
  const PodShape& shape = catalog_->shape_of(pod);
  const size_t n = Index(node);
  for (const auto& [resource, amount] : catalog_->ChargeOn(pod, node)) {
    free_[Index(resource)].Mutable(n) -= kSign * amount;
  }
  free_[Index(kPods)].Mutable(n) -= kSign;
  Count<kSign, kTables>(shape, node);
  placed_pods_ += kSign;
}

uint32_t ClusterSnapshot::TakeFromList(PodId pod, NodeId node) {
  PodList& list = pods_on_.Mutable(Index(node));
  const auto it = std::find(list.begin(), list.end(), pod);
  EBB_CHECK(it != list.end());
  const auto index = static_cast<uint32_t>(it - list.begin());
  *it = list.back();
  list.pop_back();
  return index;
}

void ClusterSnapshot::PutBackInList(PodId pod, NodeId node, uint32_t index) {
  PodList& list = pods_on_.Mutable(Index(node));
  list.push_back(pod);
  std::swap(list[index], list.back());
}

void ClusterSnapshot::AddPod(PodId pod, NodeId node) {
  NodeId& place = node_of_.Mutable(Index(pod));
  EBB_CHECK((place == kNoNode || place == ghost_) && node != ghost_ && Contains(node));
  Log({.op = Op::kAddPod, .index = static_cast<uint32_t>(Index(place)), .pod = pod, .node = node});
  place = node;
  pods_on_.Mutable(Index(node)).push_back(pod);
  Charge<+1>(pod, node);
  if (has_device_claims_) TakeDevices(pod, node);
}

void ClusterSnapshot::TakeDevices(PodId pod, NodeId node) {
  const PodShape& shape = catalog_->shape_of(pod);
  if (shape.device_claims.empty()) return;
  // A pod may be placed where its claims find no devices.
  std::vector<std::vector<HeldDevice>> found;
  if (!FindDevices(*catalog_, devices_, shape, node, &found)) found.clear();
  devices_.Take(shape, std::move(found), !marks_.empty());
}

void ClusterSnapshot::ReleaseDevices(PodId pod) {
  const PodShape& shape = catalog_->shape_of(pod);
  if (!shape.device_claims.empty()) devices_.Release(*catalog_, shape, !marks_.empty());
}

void ClusterSnapshot::UndoDevices(PodId pod) {
  const PodShape& shape = catalog_->shape_of(pod);
  if (!shape.device_claims.empty()) devices_.Undo(shape);
}

void ClusterSnapshot::RemovePod(PodId pod) {
  const NodeId node = NodeOf(pod);
  EBB_CHECK(node != kNoNode);
  const uint32_t index = TakeFromList(pod, node);
  node_of_.Mutable(Index(pod)) = kNoNode;
  Charge<-1>(pod, node);
  if (has_device_claims_) ReleaseDevices(pod);
  Log({.op = Op::kRemovePod, .index = index, .pod = pod, .node = node});
}

void ClusterSnapshot::MovePod(PodId pod, NodeId node) {
  RemovePod(pod);
  AddPod(pod, node);
}

template <ClusterSnapshot::Tables kTables>
void ClusterSnapshot::SetAlive(NodeId node, bool alive) {
  alive_.Set(node, alive);
  alive_nodes_ += alive ? 1 : -1;
  if (kTables == Tables::kLeave) return;
  topology_.CountNode(*catalog_, node, alive ? +1 : -1, /*as_ghost=*/false);
}

void ClusterSnapshot::RemoveNode(NodeId node) {
  EBB_CHECK(Contains(node));
  if (IsGhost(node)) ClearGhost();
  while (!PodsOn(node).empty()) RemovePod(PodsOn(node).back());
  SetAlive(node, false);
  Log({.op = Op::kRemoveNode, .index = 0, .pod = kNoPod, .node = node});
}

void ClusterSnapshot::AddNode(NodeId node) {
  EBB_CHECK(!Contains(node));
  SetAlive(node, true);
  Log({.op = Op::kAddNode, .index = 0, .pod = kNoPod, .node = node});
}

void ClusterSnapshot::SetGhost(NodeId node, GhostPods pods) {
  EBB_CHECK(ghost_ == kNoNode && Contains(node));
  if (pods == GhostPods::kUncounted) {
    CountAll<-1>(pods_on_[Index(node)], node);
  } else {
    CountAll<-1, Tables::kLeave>(pods_on_[Index(node)], node);
  }
  if (has_device_claims_) {
    for (const PodId pod : pods_on_[Index(node)]) ReleaseDevices(pod);
  }
  for (auto& column : free_) {
    int64_t& free = column.Mutable(Index(node));
    if (!marks_.empty()) ghost_free_.push_back(free);
    free = 0;
  }
  for (const auto& [resource, amount] : catalog_->node(node).allocatable) {
    free_[Index(resource)].Mutable(Index(node)) = amount;
  }
  ghost_ = node;
  ghost_counts_ = pods;
  topology_.CountNode(*catalog_, node, -1, /*as_ghost=*/true);
  Log({.op = Op::kSetGhost, .index = static_cast<uint32_t>(pods), .pod = kNoPod, .node = node});
}

void ClusterSnapshot::ClearGhost() {
  EBB_CHECK(ghost_ != kNoNode);
  const NodeId node = std::exchange(ghost_, kNoNode);
  const GhostPods counts = std::exchange(ghost_counts_, GhostPods::kUncounted);
  PodList& list = pods_on_.Mutable(Index(node));
  for (const PodId pod : list) {
    if (node_of_[Index(pod)] == node) node_of_.Mutable(Index(pod)) = kNoNode;
  }
  if (!marks_.empty()) ghost_pods_.push_back(std::move(list));
  list.clear();  // NOLINT(bugprone-use-after-move): a moved-from list may be cleared.
  topology_.CountNode(*catalog_, node, +1, /*as_ghost=*/true);
  Log({.op = Op::kClearGhost, .index = static_cast<uint32_t>(counts), .pod = kNoPod, .node = node});
}

uint64_t ClusterSnapshot::StateId() {
  // Shared by the snapshots of all threads.
  static std::atomic<uint64_t> last = 0;
  if (state_id_ == 0) state_id_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return state_id_;
}

void ClusterSnapshot::Fork() { marks_.push_back({.log_size = log_.size(), .state_id = StateId()}); }

void ClusterSnapshot::Revert() { UndoLayer<Tables::kCount>(); }

void ClusterSnapshot::RevertTo(TopologyCounts counts) {
  UndoLayer<Tables::kLeave>();
  topology_ = std::move(counts);
}

template <ClusterSnapshot::Tables kTables>
void ClusterSnapshot::UndoLayer() {
  EBB_CHECK(!marks_.empty());
  // The entries to undo may be anywhere in memory, but the log names them in advance.  Too few
  // ahead arrive late; too many leave the cache before their use.  Not tuned: other values were not
  // compared.
  constexpr size_t kAhead = 12;
  const auto [mark, state_id] = marks_.back();
  while (log_.size() > mark) {
    if (log_.size() > mark + kAhead) {
      const Change& coming = log_[log_.size() - 1 - kAhead];
      if (coming.pod != kNoPod) __builtin_prefetch(&node_of_[Index(coming.pod)], 1);
      __builtin_prefetch(&pods_on_[Index(coming.node)], 1);
    }
    Undo<kTables>(log_.back());
    log_.pop_back();
  }
  state_id_ = state_id;
  marks_.pop_back();
}

void ClusterSnapshot::Commit() {
  EBB_CHECK(!marks_.empty());
  marks_.pop_back();
  if (!marks_.empty()) return;
  log_.clear();
  devices_.ClearLog();
  ghost_free_.clear();
  ghost_pods_.clear();
}

void ClusterSnapshot::SaveFree(std::vector<int64_t>& amounts) const {
  const size_t rows = alive_.words().size() * kNodesPerWord;
  amounts.resize(free_.size() * rows);
  auto out = amounts.begin();
  for (const auto& column : free_) {
    for (size_t n = 0; n < rows; n += kNodesPerWord) {
      out = std::copy_n(column.Run(n), kNodesPerWord, out);
    }
  }
}

void ClusterSnapshot::RestoreFree(const std::vector<int64_t>& amounts) {
  const size_t rows = alive_.words().size() * kNodesPerWord;
  EBB_CHECK(amounts.size() == free_.size() * rows);
  auto in = amounts.begin();
  for (auto& column : free_) {
    for (size_t n = 0; n < rows; n += kNodesPerWord, in += kNodesPerWord) {
      // Unchanged words stay shared with copies.
      if (std::equal(in, in + kNodesPerWord, column.Run(n))) continue;
      std::copy_n(in, kNodesPerWord, &column.Mutable(n));
    }
  }
}

template <ClusterSnapshot::Tables kTables>
void ClusterSnapshot::Undo(const Change& change) {
  constexpr bool kCounts = kTables == Tables::kCount;
  switch (change.op) {
    case Op::kAddPod:
      pods_on_.Mutable(Index(change.node)).pop_back();
      node_of_.Mutable(Index(change.pod)) = NodeId{change.index};
      Charge<-1, kTables>(change.pod, change.node);
      if (has_device_claims_) UndoDevices(change.pod);
      return;
    case Op::kRemovePod:
      PutBackInList(change.pod, change.node, change.index);
      node_of_.Mutable(Index(change.pod)) = change.node;
      Charge<+1, kTables>(change.pod, change.node);
      if (has_device_claims_) UndoDevices(change.pod);
      return;
    case Op::kRemoveNode:
      SetAlive<kTables>(change.node, true);
      return;
    case Op::kAddNode:
      SetAlive<kTables>(change.node, false);
      return;
    case Op::kSetGhost:
      ghost_ = kNoNode;
      ghost_counts_ = GhostPods::kUncounted;
      if (kCounts) topology_.CountNode(*catalog_, change.node, +1, /*as_ghost=*/true);
      for (size_t r = free_.size(); r-- > 0; ghost_free_.pop_back()) {
        free_[r].Mutable(Index(change.node)) = ghost_free_.back();
      }
      if (GhostPods(change.index) == GhostPods::kCounted) {
        CountAll<+1, Tables::kLeave>(pods_on_[Index(change.node)], change.node);
      } else {
        CountAll<+1, kTables>(pods_on_[Index(change.node)], change.node);
      }
      if (has_device_claims_) {
        const PodList& pods = pods_on_[Index(change.node)];
        for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod) UndoDevices(*pod);
      }
      return;
    case Op::kClearGhost: {
      ghost_ = change.node;
      ghost_counts_ = GhostPods(change.index);
      if (kCounts) topology_.CountNode(*catalog_, change.node, -1, /*as_ghost=*/true);
      PodList& list = pods_on_.Mutable(Index(change.node));
      list = std::move(ghost_pods_.back());
      ghost_pods_.pop_back();
      for (const PodId pod : list) {
        if (node_of_[Index(pod)] == kNoNode) node_of_.Mutable(Index(pod)) = change.node;
      }
      return;
    }
  }
}

void ClusterSnapshot::Grow() {
  const size_t known_nodes = alive_.range();
  alive_.Resize(catalog_->nodes());
  pods_on_.Resize(catalog_->nodes());
  const size_t known_pods = node_of_.size();
  node_of_.Resize(catalog_->pods());
  for (size_t p = known_pods; p < catalog_->pods(); ++p) node_of_.Mutable(p) = kNoNode;
  free_.resize(catalog_->resources());
  // Whole words, so that a scan can always read 64 contiguous amounts.
  const size_t rows = alive_.words().size() * kNodesPerWord;
  for (auto& column : free_) column.Resize(rows);
  for (size_t n = known_nodes; n < catalog_->nodes(); ++n) {
    for (const auto& [resource, amount] :
         catalog_->node(NodeId{static_cast<uint32_t>(n)}).allocatable) {
      free_[Index(resource)].Mutable(n) = amount;
    }
  }
  claim_uses_.Resize(catalog_->claims());
  if (devices_.claims() != catalog_->devices().claims()) {
    devices_.Reset(catalog_->devices());
    has_device_claims_ = true;
  }
  topology_.Grow(*catalog_, alive_);
}

void ClusterSnapshot::CountInNewTables(TableId first, std::span<const TableId> others) {
  alive_.ForEach([&](NodeId node) {
    for (const PodId pod : PodsOn(node)) {
      const std::vector<TableId>& feeds = catalog_->shape_of(pod).feeds;
      auto table = feeds.rbegin();
      for (; table != feeds.rend() && *table >= first; ++table) {
        topology_.CountOne(*catalog_, *table, node);
      }
      if (others.empty()) continue;
      for (; table != feeds.rend(); ++table) {
        if (std::ranges::binary_search(others, *table)) {
          topology_.CountOne(*catalog_, *table, node);
        }
      }
    }
  });
}

namespace {

// Whether both have the same Fingerprint(); the texts of a large cluster take much longer to write.
// REQUIRES: they share a catalog.
bool AreAlike(const ClusterSnapshot& one, const ClusterSnapshot& other) {
  const Catalog& catalog = one.catalog();
  EBB_DCHECK(&catalog == &other.catalog());
  for (uint32_t n = 0; n < catalog.nodes(); ++n) {
    const NodeId node{n};
    if (one.Contains(node) != other.Contains(node) || one.IsGhost(node) != other.IsGhost(node) ||
        !std::ranges::equal(one.PodsOn(node), other.PodsOn(node))) {
      return false;
    }
    for (uint32_t r = 0; r < catalog.resources(); ++r) {
      if (one.Free(ResourceId{r}, node) != other.Free(ResourceId{r}, node)) return false;
    }
  }
  for (uint32_t c = 0; c < catalog.claims(); ++c) {
    if (one.ClaimUses(ClaimId{c}) != other.ClaimUses(ClaimId{c})) return false;
  }
  if (!one.devices().IsLike(other.devices())) return false;
  for (uint32_t t = 0; t < catalog.tables().size(); ++t) {
    const TableId table{t};
    const CounterTable& of = catalog.tables()[t];
    const TopologyCounts& mine = one.topology();
    const TopologyCounts& theirs = other.topology();
    if (mine.Total(table) != theirs.Total(table)) return false;
    if (of.kind == TableKind::kSpread &&
        (mine.Domains(catalog, table) != theirs.Domains(catalog, table) ||
         mine.MinCount(table) != theirs.MinCount(table))) {
      return false;
    }
    const size_t domains = catalog.topology_key(of.key).values.size();
    for (uint32_t d = 0; d < domains; ++d) {
      if (mine.Count(table, DomainId{d}) != theirs.Count(table, DomainId{d})) return false;
    }
  }
  return true;
}

}  // namespace

absl::Status ClusterSnapshot::CheckInvariants() const {
  // Recount: place every pod again in an empty snapshot of the same catalog.
  ClusterSnapshot recount(catalog_);
  // Which devices were free depends on the order in which pods came, so they are not taken again.
  recount.has_device_claims_ = false;
  recount.devices_ = devices_;
  if (absl::Status s = devices_.Check(); !s.ok()) return s;
  alive_.ForEach([&](NodeId node) { recount.AddNode(node); });
  size_t listed = 0;
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    const NodeId node{n};
    if (!Contains(node) && !PodsOn(node).empty()) {
      return absl::InternalError(
          absl::StrCat("node ", Absl(catalog_->NodeName(node)), " is gone and runs pods"));
    }
    for (const PodId pod : PodsOn(node)) {
      if (NodeOf(pod) != node) {
        return absl::InternalError(absl::StrCat("pod ", catalog_->PodName(pod), " is listed on ",
                                                Absl(catalog_->NodeName(node)),
                                                " and placed elsewhere"));
      }
      recount.AddPod(pod, node);
      ++listed;
    }
  }
  if (listed != placed_pods_) {
    return absl::InternalError(absl::StrCat(placed_pods_, " pods placed, ", listed, " listed"));
  }
  if (ghost_ != kNoNode) recount.SetGhost(ghost_);
  if (recount.alive_nodes_ != alive_nodes_) {
    return absl::InternalError(
        absl::StrCat(alive_nodes_, " nodes noted, ", recount.alive_nodes_, " there"));
  }
  if (AreAlike(*this, recount)) return absl::OkStatus();
  const std::string mine = Fingerprint();
  const std::string theirs = recount.Fingerprint();
  const auto [at, other] = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
  const size_t line = mine.rfind('\n', at - mine.begin()) + 1;
  return absl::InternalError(absl::StrCat("differs from a recount: \"",
                                          mine.substr(line, mine.find('\n', line) - line), "\""));
}

std::string ClusterSnapshot::Fingerprint() const {
  std::string text;
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    const NodeId node{n};
    absl::StrAppend(&text, Absl(catalog_->NodeName(node)), Contains(node) ? "" : " gone",
                    IsGhost(node) ? " ghost" : "", " free");
    for (size_t r = 0; r < free_.size(); ++r) absl::StrAppend(&text, " ", free_[r][n]);
    absl::StrAppend(&text, " pods");
    for (const PodId pod : PodsOn(node)) absl::StrAppend(&text, " ", Index(pod));
    text += '\n';
  }
  for (size_t c = 0; c < claim_uses_.size(); ++c) {
    absl::StrAppend(&text, "claim ", c, " ", claim_uses_[c], "\n");
  }
  text += devices_.Fingerprint();
  for (size_t t = 0; t < catalog_->tables().size(); ++t) {
    const TableId table{static_cast<uint32_t>(t)};
    absl::StrAppend(&text, "table ", t, " total ", topology_.Total(table));
    if (catalog_->tables()[t].kind == TableKind::kSpread) {
      absl::StrAppend(&text, " domains ", topology_.Domains(*catalog_, table), " min ",
                      topology_.MinCount(table));
    }
    const size_t domains = catalog_->topology_key(catalog_->tables()[t].key).values.size();
    for (uint32_t d = 0; d < domains; ++d) {
      absl::StrAppend(&text, " ", topology_.Count(table, DomainId{d}));
    }
    text += '\n';
  }
  return text;
}

}  // namespace ebb
