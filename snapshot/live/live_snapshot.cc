#include "snapshot/live/live_snapshot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/builder_sink.h"
#include "snapshot/devices.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/gangs.h"
#include "snapshot/objects/key_values.h"
#include "snapshot/objects/quantity.h"
#include "snapshot/topology_tables.h"

// How a change is applied.
//
// The LiveSnapshot holds
//   objects_  every object except pods, packed;
//   pods_     each pod as a shape, names, times, and the node that it wants (HeldPod);
//   shapes_   one packed pod for each shape.
// From these the builder, its catalog and the snapshot over it can be rebuilt at any time.
//
// A pod that is put: ShapeOf finds its shape, usually without summing amounts, because a pod with
// the same fields came recently.  A new shape is connected to the catalog.  Leave() takes the
// previous version of the pod out of the snapshot, Enter() adds the new one, and RestorePlace()
// moves it to its previous place among the pods of its node.  live_objects.cc applies changes of
// all other objects, and live_devices.cc those of devices and of the claims of pods.
//
// A change that cannot be applied in place makes the catalog stale (BecomeStale).  The rebuild
// waits until Snapshot() is called, so that many such changes cost one rebuild.  While the catalog
// is stale, Leave() still takes pods out of the snapshot, but Enter() adds none.  So the snapshot's
// lists stay in order, and PodsInOrder() merges into them the pods that came or changed meanwhile,
// by HeldPod::order.
//
// Ids: the id of a removed pod is reused.  Followers of Catalog::pod_changes() recognize pods by
// their keys, so the key of a removed pod is held for as long as the log lists its removal.  The id
// of a removed node is not used again before the next rebuild.
//
// Readers: a LiveBranch shares the catalog.  The first Take() while a branch is in use leaves the
// catalog to its readers and continues with a copy (CopyCatalogIfRead).  A Pin keeps the
// texts that the old catalog's ids stand for.

namespace ebb {
namespace {

constexpr uint32_t kNoPlace = ~uint32_t{0};

// Shapes without pods are kept, because such pods may come again.  Above this many, the catalog is
// rebuilt when most shapes have no pods.  A higher number rebuilds small clusters less often and
// keeps more dead shapes.  Not tuned: other values were not compared.
constexpr size_t kDeadShapesKept = 64;
// While no caller asks for the snapshot, a stale catalog may hold more dead shapes: this many, plus
// half of the shapes and one for every 16 pods.  Not tuned.
constexpr size_t kShapesKept = 4096;
constexpr size_t kPodsPerDeadShape = 16;

// The log of pod changes may hold this many changes, plus one for each pod.  A planner that is
// further behind drops its hints.  Not tuned.
constexpr size_t kChangesKept = 1024;

absl::Status Check(const Change& change) {
  if (change.type == Change::Type::kPut) {
    return std::visit([](const auto* object) { return SnapshotBuilder::Check(*object); },
                      change.object);
  }
  return CheckNamed(change.object);
}

}  // namespace

std::string_view ToString(RebuildCause cause) {
  switch (cause) {
    case RebuildCause::kFirst:
      return "first";
    case RebuildCause::kNode:
      return "node";
    case RebuildCause::kShape:
      return "shape";
    case RebuildCause::kBudget:
      return "budget";
    case RebuildCause::kNamespace:
      return "namespace";
    case RebuildCause::kStorage:
      return "storage";
    case RebuildCause::kAmounts:
      return "amounts";
    case RebuildCause::kDeadShapes:
      return "dead-shapes";
    case RebuildCause::kGoneNodes:
      return "gone-nodes";
    case RebuildCause::kDeadTexts:
      return "dead-texts";
  }
  return "";
}

std::string_view ToString(const Rebuilt& rebuilt) {
  return rebuilt.cause ? ToString(*rebuilt.cause) : "volumes";
}

LiveSnapshot::LiveSnapshot(Options options, std::shared_ptr<Symbols> symbols)
    : options_(std::move(options)),
      symbols_(std::move(symbols)),
      objects_(*symbols_),
      builder_(std::make_unique<SnapshotBuilder>(symbols_)),
      catalog_(builder_->catalog_.get()),
      snapshot_(builder_->catalog_),
      stale_(RebuildCause::kFirst) {}

LiveSnapshot::~LiveSnapshot() {
  // Take() ran out of memory half way, so the members may be inconsistent.
  if (is_changing_) return;
  LeaveCatalog();
  for (const auto& [name, place] : pods_by_name_) ReleaseName(pods_[place].named);
}

// A large cluster does not fit the caches, and what a pod's change touches is a chain of look-ups:
// its name's id, its place, its node.  Ahead loads each link some changes before it is needed.
class LiveSnapshot::Ahead {
 public:
  Ahead(const LiveSnapshot& live, std::span<const Change> changes)
      : live_(live), changes_(changes.size() < kFew ? std::span<const Change>() : changes) {
    for (size_t i = 0; i < kNames; ++i) Names(i);
    for (size_t i = 0; i < kIds; ++i) Ids(i);
    for (size_t i = 0; i < kPlaces; ++i) Place(i);
    for (size_t i = 0; i < kNodes; ++i) Node(i);
  }

  // Must be called before change `i` is applied.
  void Step(size_t i) {
    Names(i + kNames);
    Ids(i + kIds);
    Place(i + kPlaces);
    Node(i + kNodes);
  }

 private:
  // Batches with fewer changes are not loaded ahead.
  static constexpr size_t kFew = 8;
  // How many changes ahead each link is loaded: about three changes for each link of the chain.
  // Too few arrive late; too many leave the cache before their use.  The step that introduced
  // loading ahead made Live_Churn/uniform:5000 6.4 instead of 9.1 ms; other distances were not
  // compared.
  static constexpr size_t kNames = 12;
  static constexpr size_t kIds = 9;
  static constexpr size_t kPlaces = 6;
  static constexpr size_t kNodes = 3;
  static constexpr uint32_t kNowhere = ~uint32_t{0};

  struct Coming {
    std::pair<TextId, TextId> name{};
    TextId node = kNoText;  // The node of a pod that is put.
    uint32_t place = kNowhere;
  };
  Coming& Of(size_t i) { return coming_[i % coming_.size()]; }

  [[nodiscard]] const objects::Pod* PodOf(size_t i) const {
    if (i >= changes_.size()) return nullptr;
    const auto* const pod = std::get_if<const objects::Pod*>(&changes_[i].object);
    return pod == nullptr ? nullptr : *pod;
  }

  void Names(size_t i) const {
    const objects::Pod* const pod = PodOf(i);
    if (pod == nullptr) return;
    live_.symbols_->Prefetch(pod->meta.name);
    if (changes_[i].type == Change::Type::kDelete) return;
    live_.symbols_->Prefetch(pod->meta.uid);
    live_.symbols_->Prefetch(pod->node_name);
  }

  void Ids(size_t i) {
    const objects::Pod* const pod = PodOf(i);
    if (pod == nullptr) return;
    Coming& coming = Of(i);
    coming.node = kNoText;
    if (changes_[i].type == Change::Type::kPut) {
      coming.node = live_.symbols_->Guess(pod->node_name);
      if (coming.node != kNoText) live_.symbols_->PrefetchPlace(coming.node);
    }
    const TextId name = live_.symbols_->Guess(pod->meta.name);
    if (pod->meta.namespace_name != namespace_) {
      namespace_ = pod->meta.namespace_name;
      namespace_id_ = live_.symbols_->Guess(namespace_);
    }
    coming.name = {namespace_id_, name};
    if (name == kNoText) return;
    live_.symbols_->PrefetchPlace(name);
    live_.pods_by_name_.prefetch(coming.name);
  }

  void Place(size_t i) {
    if (PodOf(i) == nullptr) return;
    Coming& coming = Of(i);
    coming.place = kNowhere;
    if (coming.node != kNoText) live_.symbols_->PrefetchText(coming.node);
    if (coming.name.second == kNoText) return;
    live_.symbols_->PrefetchText(coming.name.second);
    const auto it = live_.pods_by_name_.find(coming.name);
    if (it == live_.pods_by_name_.end()) return;
    coming.place = it->second;
    const auto* const held = reinterpret_cast<const char*>(&live_.pods_[coming.place]);
    __builtin_prefetch(held, 1);
    __builtin_prefetch(held + sizeof(HeldPod) - 1, 1);
  }

  void Node(size_t i) {
    if (PodOf(i) == nullptr) return;
    const Coming& coming = Of(i);
    if (coming.node != kNoText) PrefetchPodsOf(live_.catalog_->FindNode(coming.node));
    const uint32_t place = coming.place;
    if (place == kNowhere) return;
    const HeldPod& held = live_.pods_[place];
    live_.symbols_->PrefetchPlace(held.named.key);
    if (Index(held.id) >= live_.held_of_.size()) return;
    __builtin_prefetch(&live_.catalog_->pods_[Index(held.id)], 1);
    __builtin_prefetch(&live_.held_of_[Index(held.id)], 1);
    live_.snapshot_.Prefetch(held.id);
    PrefetchPodsOf(live_.catalog_->FindNode(held.named.wanted_node));
  }

  void PrefetchPodsOf(NodeId node) const {
    if (node != kNoNode) __builtin_prefetch(live_.snapshot_.PodsOn(node).data(), 1);
  }

  const LiveSnapshot& live_;
  const std::span<const Change> changes_;  // Empty if there are too few changes to prefetch for.
  std::array<Coming, 16> coming_{};  // More than kNames; a power of two for a cheap remainder.
  std::string_view namespace_;       // The namespace of the last pod.
  TextId namespace_id_ = kNoText;
};

absl::Status LiveSnapshot::Take(std::span<const Change> changes, OlderObjects older) {
  EBB_CHECK(snapshot_.depth() == 0);
  for (const Change& change : changes) {
    if (absl::Status s = Check(change); !s.ok()) return s;
  }
  CopyCatalogIfRead();
  is_changing_ = true;
  Ahead ahead(*this, changes);
  for (size_t i = 0; i < changes.size(); ++i) {
    ahead.Step(i);
    const Change& change = changes[i];
    const auto* const pod = std::get_if<const objects::Pod*>(&change.object);
    const bool put = change.type == Change::Type::kPut;
    if (pod != nullptr) {
      const uint64_t version = VersionOf(change.resource_version);
      put ? PutPod(**pod, version, older) : DeletePod(**pod, version);
    } else {
      put ? Put(change, older) : Delete(change);
    }
  }
  StayInBounds();
  is_changing_ = false;
  // ClusterSnapshot::CheckInvariants, for tests, recounts the snapshot itself.
  EBB_DCHECK(stale_ || CountsAgree());
  return absl::OkStatus();
}

bool LiveSnapshot::CountsAgree() const {
  const size_t left_out = PodsLeftOut(PodListing::kEnded) + PodsLeftOut(PodListing::kExpendable);
  return snapshot_.ghost() == kNoNode && snapshot_.nodes() == Nodes() &&
         snapshot_.placed_pods() + unplaced_.size() + left_out == Pods() &&
         held_of_.size() == catalog_->pods() &&
         snapshot_.placed_pods() + unplaced_.size() + free_ids_.size() +
                 catalog_->BufferPods().size() ==
             held_of_.size();
}

void LiveSnapshot::StayInBounds() {
  if (HasManyDeadTexts()) BecomeStale(RebuildCause::kDeadTexts);
  if (catalog_->devices().HasMuchGone()) BecomeStale(RebuildCause::kStorage);
  // While the snapshot is stale, neither shapes nor texts are dropped.
  const bool shapes = dead_shapes_ > kShapesKept + shapes_.size() / 2 + Pods() / kPodsPerDeadShape;
  if (stale_ && (shapes || HasManyDeadTexts())) Rebuild();
}

void LiveSnapshot::SetVersion(std::optional<KubernetesVersion> version) {
  EBB_DCHECK(snapshot_.depth() == 0);
  options_.kubernetes_version = version;
  if (stale_) return;
  builder_->SetVersion(version);
  if (builder_->VersionNow() != catalog_->kubernetes_version()) BecomeStale(RebuildCause::kNode);
}

void LiveSnapshot::NoteTime(int64_t before, int64_t now) {
  if (now >= newest_time_) {
    newest_time_ = now;
    newest_went_ = false;
  } else if (before == newest_time_) {
    newest_went_ = true;
  }
}

int64_t LiveSnapshot::NewestTime() {
  if (std::exchange(newest_went_, false)) {
    newest_time_ = objects_.NewestTime();
    for (const HeldPod& pod : pods_) newest_time_ = std::max(newest_time_, pod.named.creation_time);
  }
  return newest_time_;
}

// --- Pods -----------------------------------------------------------------------------------

void LiveSnapshot::PutPod(const objects::Pod& pod, uint64_t version, OlderObjects older) {
  SnapshotBuilder::NamedPod named =
      SnapshotBuilder::NameOf(pod, *symbols_, SnapshotBuilder::Texts::kHeld);
  const bool has_ended =
      ListingOf(pod, options_.expendable_pods_priority_cutoff) == PodListing::kEnded;
  const bool is_void = IsNominationVoid(pod) && !has_ended && !options_.keep_ended_pods;
  if (is_void) {
    named.wanted_node = kNoText;
    named.is_nominated = false;
  }
  const auto [it, is_new] = pods_by_name_.try_emplace({named.namespace_name, named.name}, kNoPlace);
  if (is_new) {
    if (free_pods_.empty()) {
      free_pods_.push_back(static_cast<uint32_t>(pods_.size()));
      pods_.emplace_back();
    }
    it->second = free_pods_.back();
    free_pods_.pop_back();
  }
  const uint32_t place = it->second;
  if (!is_new && older == OlderObjects::kIgnore && IsOlderVersion(version, pods_[place].version)) {
    ++counts_.older;
    ReleaseName(named);
    return;
  }
  PodListing listing = ListingOf(pod, options_.expendable_pods_priority_cutoff);
  if (listing == PodListing::kEnded && options_.keep_ended_pods) listing = PodListing::kListed;
  const PodShapeId shape = listing == PodListing::kListed ? ShapeOf(pod) : kNoShape;
  const bool is_packed = listing == PodListing::kExpendable ||
                         (listing == PodListing::kEnded && PodShapes::NamesGang(pod));
  std::string packed = is_packed ? PackObject(&pod) : "";
  HeldPod& held = pods_[place];
  held.version = version;
  const PodWait wait = WaitOf(pod, options_.bypassed_schedulers);
  if (!is_new && held.shape == shape && held.listing == listing && held.named == named &&
      held.scheduling == pod.scheduling && held.wait == wait && PackedLeftOut(place) == packed) {
    ++counts_.unchanged;
    ReleaseName(named);
    return;
  }
  ++counts_.put;
  NoteTime(held.named.creation_time, named.creation_time);
  const bool stays = !is_new && held.named.wanted_node == named.wanted_node &&
                     (held.shape == kNoShape) == (shape == kNoShape);
  Standing before;
  if (!is_new) {
    before = Leave(place);
    ReleaseName(held.named);
  }
  if (!stays) held.order = next_order_++;
  held.named = named;
  held.shape = shape;
  held.listing = listing;
  held.has_uid = !pod.meta.uid.empty();
  held.scheduling = pod.scheduling;
  held.wait = wait;
  if (is_packed) packed_left_out_.emplace(place, std::move(packed));
  Enter(place);
  RestorePlace(held.id, before);
}

bool LiveSnapshot::HasCondition(const HeldPod& held) {
  return HasScheduledCondition(held.scheduling);
}

// REQUIRES: Enter() has just made the pod the last of its node.
void LiveSnapshot::RestorePlace(PodId pod, const Standing& before) {
  if (before.node == kNoNode || pod == kNoPod || snapshot_.NodeOf(pod) != before.node) return;
  auto& pods = snapshot_.pods_on_.Mutable(Index(before.node));
  EBB_DCHECK(pods.back() == pod);
  std::rotate(pods.begin() + static_cast<ptrdiff_t>(before.index), pods.end() - 1, pods.end());
}

// RemovePod() moves the last pod of the node to the removed pod's place.  This function moves that
// pod to the end again.
LiveSnapshot::Standing LiveSnapshot::TakeFromNode(PodId pod) {
  const NodeId node = snapshot_.NodeOf(pod);
  const std::span<const PodId> before = snapshot_.PodsOn(node);
  const auto index = std::ranges::find(before, pod) - before.begin();
  snapshot_.RemovePod(pod);
  auto& pods = snapshot_.pods_on_.Mutable(Index(node));
  if (index < std::ssize(pods)) {
    std::rotate(pods.begin() + index, pods.begin() + index + 1, pods.end());
  }
  return {.node = node, .index = static_cast<size_t>(index)};
}

LiveSnapshot::PodsByName::const_iterator LiveSnapshot::FindName(
    const objects::ObjectMeta& meta) const {
  // A name that was never seen is not interned just because of a look-up.
  const std::optional<TextId> namespace_name = symbols_->Find(meta.namespace_name);
  const std::optional<TextId> name = symbols_->Find(meta.name);
  if (!namespace_name || !name) return pods_by_name_.end();
  return pods_by_name_.find({*namespace_name, *name});
}

PodId LiveSnapshot::FindPod(std::string_view namespace_name, std::string_view name) {
  (void)Snapshot();
  objects::ObjectMeta meta;
  meta.namespace_name = namespace_name;
  meta.name = name;
  const auto it = FindName(meta);
  return it == pods_by_name_.end() ? kNoPod : pods_[it->second].id;
}

bool LiveSnapshot::VisitNode(
    std::string_view name,
    const std::function<void(const objects::Node& node, uint64_t version)>& visit) {
  objects::Node named;
  named.meta.name = name;
  const HeldObject* const held = objects_.Find(&named);
  if (held == nullptr) return false;
  const UnpackedObject unpacked(held->packed);
  visit(*std::get<const objects::Node*>(unpacked.ref()), held->version);
  return true;
}

bool LiveSnapshot::Holds(const objects::ObjectRef& object) {
  const auto* const pod = std::get_if<const objects::Pod*>(&object);
  return pod != nullptr ? FindName((*pod)->meta) != pods_by_name_.end()
                        : objects_.Find(object) != nullptr;
}

void LiveSnapshot::DeletePod(const objects::Pod& pod, uint64_t version) {
  const auto found = FindName(pod.meta);
  if (found == pods_by_name_.end() ||
      (!pod.meta.uid.empty() && symbols_->Text(pods_[found->second].named.key) != pod.meta.uid)) {
    ++counts_.unknown_deletes;
    return;
  }
  const uint32_t place = found->second;
  if (IsLateDelete(pod.meta.uid, version, pods_[place].version)) {
    ++counts_.older;
    return;
  }
  pods_by_name_.erase(found);
  NoteTime(pods_[place].named.creation_time, 0);
  Leave(place);
  ReleaseName(pods_[place].named);
  pods_[place] = HeldPod();
  free_pods_.push_back(place);
  ++counts_.deleted;
}

// The pod's shape.  A new shape is connected to the catalog if possible; else the catalog is stale.
PodShapeId LiveSnapshot::ShapeOf(const objects::Pod& pod) {
  TextId node_os = kNoText;
  if (builder_->has_nodes_of_two_os() && !pod.node_name.empty()) {
    node_os = builder_->OsOfNode(symbols_->Intern(pod.node_name), /*is_nominated=*/false);
  }
  if (const auto known = builder_->shapes_->FindAlike(pod, node_os)) return *known;
  builder_->SumRequests(pod);
  const PodShapeId id = builder_->shapes_->Intern(*catalog_, pod, builder_->requests_, node_os);
  builder_->shapes_->RememberAlike(id);
  if (Index(id) < shapes_.size()) return id;
  shapes_.push_back({.packed = PackObject(&pod), .pods = 0});
  ++dead_shapes_;
  if (stale_) return id;
  const TableId first_new{static_cast<uint32_t>(catalog_->tables().size())};
  if (!builder_->ConnectLastShape()) BecomeStale(RebuildCause::kShape);
  // Needed even if connecting failed: other shapes may feed the new tables, and pods still leave.
  snapshot_.Grow();
  const std::vector<TableId> parted = builder_->tables_->TakeParted();
  if (Index(first_new) < catalog_->tables().size() || !parted.empty()) {
    snapshot_.CountInNewTables(first_new, parted);
    Changed();
  }
  return id;
}

// Counts the pod from now on and, unless the snapshot is stale, adds it to the snapshot.
void LiveSnapshot::Enter(uint32_t place) {
  HeldPod& held = pods_[place];
  if (held.shape == kNoShape) {
    ++left_out_[static_cast<size_t>(held.listing)];
    CountLeftOut(place, 1);
    return;
  }
  if (HasCondition(held)) ++pods_with_condition_;
  HeldShape& shape = shapes_[Index(held.shape)];
  if (shape.pods++ == 0) {
    --dead_shapes_;
    check_namespaces_gone_ = check_namespaces_gone_ ||
                             namespaces_gone_.contains(catalog_->shape(held.shape).namespace_name);
  }
  if (stale_) return;
  if (builder_->bounded_charges_ || !Charge(held.shape, +1)) {
    BecomeStale(RebuildCause::kAmounts);
    return;
  }
  const SnapshotBuilder::NamedPod& named = held.named;
  held.id = TakeId();
  held_of_[Index(held.id)] = place;
  catalog_->pods_[Index(held.id)] = {
      .name = named.name, .key = named.key, .creation_time = named.creation_time};
  catalog_->shape_ids_[Index(held.id)] = held.shape;
  if (named.deletion_time) catalog_->deletion_times_.emplace(held.id, *named.deletion_time);
  if (named.unready) catalog_->unready_pods_.insert(held.id);
  if (catalog_->shape(held.shape).counts_otherwise) {
    catalog_->pods_counted_otherwise_.push_back(held.id);
  }
  Log(PodChangeLog::Change{.id = held.id, .key = named.key, .came = true});
  snapshot_.state_id_ = 0;
  const NodeId node = catalog_->FindNode(named.wanted_node);
  if (node == kNoNode) {
    unplaced_.emplace(std::pair(named.wanted_node, held.order), place);
  } else {
    catalog_->SetHome(held.id, node);
    snapshot_.AddPod(held.id, node);
  }
  AddDeviceUser(place);
}

LiveSnapshot::Standing LiveSnapshot::Leave(uint32_t place) {
  HeldPod& held = pods_[place];
  if (held.shape == kNoShape) {
    --left_out_[static_cast<size_t>(held.listing)];
    CountLeftOut(place, -1);
    packed_left_out_.erase(place);
    return {};
  }
  if (HasCondition(held)) --pods_with_condition_;
  HeldShape& shape = shapes_[Index(held.shape)];
  if (--shape.pods == 0) {
    ++dead_shapes_;
    // Pods of this shape may be why other pods had to keep their nodes; that must end now.
    if (!stale_ && builder_->guessed_namespaces_ && builder_->tables_->asks_for_namespaces()) {
      BecomeStale(RebuildCause::kNamespace);
    }
  }
  if (held.id == kNoPod) return {};
  RemoveDeviceUser(place);
  Charge(held.shape, -1);
  const PodId id = std::exchange(held.id, kNoPod);
  Standing before;
  if (snapshot_.NodeOf(id) == kNoNode) {
    unplaced_.erase({held.named.wanted_node, held.order});
  } else {
    before = TakeFromNode(id);
  }
  snapshot_.state_id_ = 0;
  Log(PodChangeLog::Change{.id = id, .key = held.named.key, .came = false});
  if (catalog_->shape(held.shape).counts_otherwise) {
    std::erase(catalog_->pods_counted_otherwise_, id);
  }
  catalog_->deletion_times_.erase(id);
  catalog_->unready_pods_.erase(id);
  catalog_->homes_.erase(id);
  catalog_->pods_[Index(id)] = PodInfo();
  held_of_[Index(id)] = kNoPlace;
  free_ids_.push_back(id);
  if (stale_) return before;
  if (builder_->bounded_charges_) BecomeStale(RebuildCause::kAmounts);
  if (dead_shapes_ > kDeadShapesKept + shapes_.size() / 2) BecomeStale(RebuildCause::kDeadShapes);
  return before;
}

std::string_view LiveSnapshot::PackedLeftOut(uint32_t place) const {
  const auto it = packed_left_out_.find(place);
  return it == packed_left_out_.end() ? std::string_view() : it->second;
}

void LiveSnapshot::CountLeftOut(uint32_t place, int64_t pods) {
  const std::string_view packed = PackedLeftOut(place);
  if (stale_ || packed.empty()) return;
  const UnpackedObject object(packed);
  builder_->CountLeftOut(*std::get<const objects::Pod*>(object.ref()), pods);
  gangs_counted_ = 0;
}

PodId LiveSnapshot::TakeId() {
  if (free_ids_.empty()) {
    const PodId id{static_cast<uint32_t>(catalog_->pods())};
    catalog_->pods_.emplace_back();
    catalog_->shape_ids_.emplace_back();
    held_of_.push_back(kNoPlace);
    snapshot_.node_of_.Resize(catalog_->pods());
    snapshot_.node_of_.Mutable(Index(id)) = kNoNode;
    return id;
  }
  const PodId id = free_ids_.back();
  free_ids_.pop_back();
  return id;
}

void LiveSnapshot::ReleaseName(const SnapshotBuilder::NamedPod& named) {
  symbols_->Release(named.name);
  symbols_->Release(named.key);
}

// If the log is full, its older half is dropped at once, so that a planner that follows the log a
// few changes behind misses none.  The keys of removed pods are held while they are in the log.
void LiveSnapshot::Log(const PodChangeLog::Change& change) {
  PodChangeLog& log = catalog_->pod_changes_;
  if (log.changes.size() > catalog_->pods() + kChangesKept) {
    log.Forget(log.changes.size() / 2);
    for (const TextId key : keys_forgotten_) symbols_->Release(key);  // Usually none is left.
    // The newest keys belong to the changes that are kept; ReleaseKeys() may have left fewer keys.
    const auto kept =
        static_cast<size_t>(std::ranges::count(log.changes, false, &PodChangeLog::Change::came));
    const size_t old = keys_gone_.size() - std::min(kept, keys_gone_.size());
    const auto first_kept = keys_gone_.begin() + static_cast<ptrdiff_t>(old);
    keys_forgotten_.assign(keys_gone_.begin(), first_kept);
    keys_gone_.erase(keys_gone_.begin(), first_kept);
  }
  if (!keys_forgotten_.empty()) {
    symbols_->Release(keys_forgotten_.back());
    keys_forgotten_.pop_back();
  }
  log.changes.push_back(change);
  if (change.came) return;
  symbols_->Hold(change.key);
  keys_gone_.push_back(change.key);
}

void LiveSnapshot::Log(const NodeChangeLog::Change& change) {
  NodeChangeLog& log = catalog_->node_changes_;
  if (log.changes.size() > catalog_->nodes() + kChangesKept) log.Forget(log.changes.size() / 2);
  log.changes.push_back(change);
}

void LiveSnapshot::ReleaseKeys() {
  for (std::vector<TextId>* const keys : {&keys_gone_, &keys_forgotten_}) {
    for (const TextId key : *keys) symbols_->Release(key);
    keys->clear();
  }
}

// Texts of labels, controllers, nodes and claims are at most about one per pod, and there were
// texts_built_ of them at the last rebuild.  Texts beyond twice that number are mostly dead.
bool LiveSnapshot::HasManyDeadTexts() const {
  return options_.renew_texts && symbols_->kept() > options_.texts_kept + 2 * texts_built_ + Pods();
}

// Adds or subtracts the charges of a pod.  Returns false if they can no longer be added up.
bool LiveSnapshot::Charge(PodShapeId shape, int sign) {
  bool in_bounds = true;
  if (charged_.size() < catalog_->resources()) charged_.resize(catalog_->resources());
  const PodShape& of = catalog_->shape(shape);
  for (const Requests* const list : {&of.charge_requests, &of.home_requests}) {
    for (const auto& [resource, amount] : *list) {
      // Stays between 0 and the sum of two amounts: a sum out of bounds leads to a rebuild.
      int64_t& sum = charged_[Index(resource)];
      if (__builtin_add_overflow(sum, sign * amount, &sum)) sum = kUncountable;
      in_bounds &= sum <= kChargedMax;
    }
  }
  return in_bounds;
}

// --- Rebuilding -----------------------------------------------------------------------------

void LiveSnapshot::BecomeStale(RebuildCause cause) {
  if (!stale_) stale_ = cause;
}

ClusterSnapshot& LiveSnapshot::Snapshot() {
  if (std::exchange(check_namespaces_gone_, false) && !stale_ && HasPodsInNamespacesGone()) {
    BecomeStale(RebuildCause::kNamespace);
  }
  if (stale_) Rebuild();
  if (storage_is_old_) FillStorage();
  if (!device_changes_.IsEmpty()) UpdateDevices();
  if (!catalog_->gangs().empty()) UpdateGangs();
  return snapshot_;
}

void LiveSnapshot::UpdateGangs() {
  if (snapshot_.depth() > 0 || snapshot_.StateId() == gangs_counted_) return;
  GangStates states = CountGangs(snapshot_);
  if (states != catalog_->gang_states()) {
    CopyCatalogIfRead();
    catalog_->gang_states_ = std::move(states);
    Changed();
  }
  gangs_counted_ = snapshot_.StateId();
}

// Places in pods_ of the pods that have a shape: first the pods of each node of the snapshot by
// HeldPod::order, then the others by HeldPod::order.  The lists of the snapshot are in order.  Pods
// that came to a node, or changed there, while the snapshot was stale are on no list yet.
std::vector<uint32_t> LiveSnapshot::PodsInOrder() const {
  const auto is_earlier = [this](uint32_t a, uint32_t b) {
    return pods_[a].order < pods_[b].order;
  };
  std::vector<uint32_t> others;
  absl::flat_hash_map<NodeId, std::vector<uint32_t>> unlisted;
  for (uint32_t place = 0; place < pods_.size(); ++place) {
    const HeldPod& pod = pods_[place];
    if (pod.shape == kNoShape) continue;
    if (pod.id != kNoPod && snapshot_.NodeOf(pod.id) != kNoNode) continue;
    const NodeId node = catalog_->FindNode(pod.named.wanted_node);
    (node == kNoNode ? others : unlisted[node]).push_back(place);
  }
  std::ranges::sort(others, is_earlier);

  std::vector<uint32_t> order;
  order.reserve(pods_by_name_.size());
  snapshot_.alive().ForEach([&](NodeId node) {
    const auto first = static_cast<ptrdiff_t>(order.size());
    for (const PodId pod : snapshot_.PodsOn(node)) order.push_back(held_of_[Index(pod)]);
    const auto more = unlisted.find(node);
    if (more == unlisted.end()) return;
    order.insert(order.end(), more->second.begin(), more->second.end());
    std::sort(order.begin() + first, order.end(), is_earlier);
  });
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

absl::Status LiveSnapshot::GiveHeld(const HeldObject& held, ObjectSink& sink) {
  if (held.pods_ready != 0) sink.OnAside({.pods_ready = held.pods_ready});
  return Give(UnpackedObject(held.packed).ref(), sink);
}

absl::Status LiveSnapshot::GiveObjects(ObjectSink& sink) const {
  const auto give = [&](const std::vector<const HeldObject*>& list) {
    for (const HeldObject* const held : list) {
      if (absl::Status s = GiveHeld(*held, sink); !s.ok()) return s;
    }
    return absl::OkStatus();
  };
  absl::Status status = give(objects_.InOrder<objects::Namespace>());
  if (status.ok()) status = give(objects_.InOrder<objects::Node>());
  if (status.ok()) status = give(objects_.InOrder<objects::Controller>());
  if (status.ok()) status = give(objects_.InOrder<objects::PodDisruptionBudget>());
  if (status.ok()) status = give(objects_.InOrder<objects::StorageObject>());
  return status;
}

// Namespaces of later shapes are added by the rebuild that they cause, if a term selects
// namespaces by labels (TopologyTables::ConnectLast).
void LiveSnapshot::NameUnknownNamespaces(SnapshotBuilder& builder) const {
  Catalog& catalog = *builder.catalog_;
  const TextId key = symbols_->Intern("kubernetes.io/metadata.name");
  for (const PodShape& shape : catalog.shapes_) {
    const TextId name = shape.namespace_name;
    catalog.namespace_labels_.try_emplace(name, LabelSet{{key, name}});
  }
}

// Gives everything that is held the ids of new symbols.  Readers of the catalog keep the old ones.
void LiveSnapshot::RenewTexts() {
  ++counts_.renewals;
  auto symbols = std::make_shared<Symbols>();
  objects_.MoveTo(*symbols);
  PodsByName by_name;
  by_name.reserve(pods_by_name_.size());
  for (const auto& [unused, place] : pods_by_name_) {
    SnapshotBuilder::NamedPod& named = pods_[place].named;
    const SnapshotBuilder::NamedPod old = named;
    named.namespace_name = symbols->Intern(symbols_->Text(old.namespace_name));
    named.name = symbols->Hold(symbols_->Text(old.name));
    named.key = symbols->Hold(symbols_->Text(old.key));
    named.wanted_node = symbols->Intern(symbols_->Text(old.wanted_node));
    ReleaseName(old);
    by_name.emplace(std::pair(named.namespace_name, named.name), place);
  }
  pods_by_name_ = std::move(by_name);
  symbols_ = std::move(symbols);
}

void LiveSnapshot::Rebuild() {
  RebuildObserver* const observer = options_.rebuild_observer;
  if (observer != nullptr) observer->OnBegin();
  Rebuilt rebuilt{.cause = std::exchange(stale_, std::nullopt)};
  ++counts_.rebuilds[static_cast<size_t>(*rebuilt.cause)];
  rebuilt.renewed_texts = BuildAgain();
  if (observer != nullptr) observer->OnEnd(rebuilt);
}

bool LiveSnapshot::BuildAgain() {
  storage_is_old_ = false;
  const std::vector<uint32_t> pods_in_order = PodsInOrder();
  LeaveCatalog();
  const bool renews_texts = HasManyDeadTexts();
  if (renews_texts) RenewTexts();
  auto builder = std::make_unique<SnapshotBuilder>(symbols_);
  using enum Options::UnknownNamespaces;
  if (options_.unknown_namespaces == kKeepPods) builder->KeepWhereNamespacesAreUnknown();
  builder->SetVersion(options_.kubernetes_version);
  builder->SetVpa(options_.vpa);
  builder->SetScheduler(options_.scheduler);
  builder->SetUnhealthyPods(options_.unhealthy_pods);
  BuilderSink sink(*builder);
  const absl::Status given = GiveObjects(sink);
  EBB_CHECK(given.ok());

  std::vector<HeldShape> shapes;
  std::vector<PodShapeId> shape_of(shapes_.size(), kNoShape);  // By the shape's previous id.
  absl::flat_hash_map<std::pair<PodShapeId, TextId>, PodShapeId> shape_on_os;
  std::vector<uint32_t> held_of;
  for (const uint32_t place : pods_in_order) {
    HeldPod& pod = pods_[place];
    const TextId node_os = builder->OsOfNode(pod.named.wanted_node, pod.named.is_nominated);
    PodShapeId& shape = node_os == kNoText
                            ? shape_of[Index(pod.shape)]
                            : shape_on_os.try_emplace({pod.shape, node_os}, kNoShape).first->second;
    if (shape == kNoShape) {
      const std::string& packed = shapes_[Index(pod.shape)].packed;
      const UnpackedObject unpacked(packed);
      const objects::Pod& object = *std::get<const objects::Pod*>(unpacked.ref());
      builder->SumRequests(object);
      shape = builder->shapes_->Intern(*builder->catalog_, object, builder->requests_, node_os);
      if (Index(shape) == shapes.size()) shapes.push_back({.packed = packed, .pods = 0});
    }
    pod.shape = shape;
    pod.id = PodId{static_cast<uint32_t>(held_of.size())};
    ++shapes[Index(shape)].pods;
    builder->Register(pod.named, shape);
    held_of.push_back(place);
  }
  for (const auto& [place, packed] : packed_left_out_) {
    const UnpackedObject object(packed);
    builder->CountLeftOut(*std::get<const objects::Pod*>(object.ref()));
  }
  if (options_.unknown_namespaces == kHaveNames) NameUnknownNamespaces(*builder);
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(*builder).Build();
  EBB_CHECK(snapshot.ok());

  builder_ = std::move(builder);
  catalog_ = builder_->catalog_.get();
  snapshot_ = *std::move(snapshot);
  snapshot_.SetMatchOs(options_.match_os);
  // The pods of CapacityBuffers come last, and only the catalog has them and their shapes.
  held_of.resize(catalog_->pods(), kNoPlace);
  shapes.resize(catalog_->pod_shapes());
  held_of_ = std::move(held_of);
  shapes_ = std::move(shapes);
  dead_shapes_ = 0;
  free_ids_.clear();
  nodes_gone_ = 0;
  namespaces_gone_.clear();
  unplaced_.clear();
  charged_.clear();
  for (const uint32_t place : held_of_) {
    if (place == kNoPlace) continue;
    const HeldPod& pod = pods_[place];
    if (snapshot_.NodeOf(pod.id) == kNoNode) {
      unplaced_.emplace(std::pair(pod.named.wanted_node, pod.order), place);
    }
    Charge(pod.shape, +1);
  }
  FindDeviceUsers();
  texts_built_ = symbols_->kept();
  EBB_DCHECK(CountsAgree());
  return renews_texts;
}

// --- Readers --------------------------------------------------------------------------------

LiveBranch::LiveBranch(ClusterSnapshot snapshot, std::shared_ptr<Readers> readers,
                       const std::shared_ptr<Symbols>& symbols)
    : texts_(symbols), readers_(std::move(readers)), snapshot_(std::move(snapshot)) {
  readers_->fetch_add(1, std::memory_order_relaxed);
}

// Release: everything that was read has been read before the catalog changes.
LiveBranch::~LiveBranch() {
  if (readers_ != nullptr) readers_->fetch_sub(1, std::memory_order_release);
}

// Releases what this branch read before, as its destructor would.
LiveBranch& LiveBranch::operator=(LiveBranch&& other) noexcept {
  const LiveBranch before(std::move(*this));
  texts_ = std::move(other.texts_);
  readers_ = std::move(other.readers_);
  snapshot_ = std::move(other.snapshot_);
  pending_ = std::move(other.pending_);
  pods_on_unknown_nodes_ = other.pods_on_unknown_nodes_;
  return *this;
}

LiveBranch LiveSnapshot::Branch() {
  std::vector<PodId> pending = Pending();
  symbols_->ShareWithThreads();
  LiveBranch branch(snapshot_, readers_, symbols_);
  branch.pending_ = std::move(pending);
  branch.pods_on_unknown_nodes_ = PodsOnUnknownNodes();
  return branch;
}

// While a branch reads the catalog, the catalog stays unchanged and changes are made to a copy.
void LiveSnapshot::CopyCatalogIfRead() {
  if (readers_->load(std::memory_order_acquire) == 0) return;
  const std::shared_ptr<Catalog> copy(new Catalog(*catalog_));
  builder_->tables_->MoveTo(*copy);
  LeaveCatalog();
  snapshot_.catalog_ = copy;
  builder_->catalog_ = copy;
  catalog_ = copy.get();
  shares_devices_ = true;
  FillStorage();
}

// Branches may keep the catalog and read texts of pods that are removed from now on.
void LiveSnapshot::LeaveCatalog() {
  catalog_->texts_ = std::make_shared<Symbols::Pin>(symbols_);
  readers_ = std::make_shared<LiveBranch::Readers>(0);
  ReleaseKeys();
}

// --- Queries --------------------------------------------------------------------------------

std::vector<PodId> LiveSnapshot::Pending() {
  (void)Snapshot();
  std::vector<uint32_t> places;
  for (const auto& [wanted, place] : unplaced_) {
    const HeldPod& held = pods_[place];
    if (IsPending(held) && TakesRoom(held.wait, SchedulingRecorded())) places.push_back(place);
  }
  std::ranges::sort(places, {}, [this](uint32_t place) { return pods_[place].order; });
  std::vector<PodId> pending;
  pending.reserve(places.size());
  for (const uint32_t place : places) pending.push_back(pods_[place].id);
  const std::vector<PodId> buffers = catalog_->BufferPods();
  pending.insert(pending.end(), buffers.begin(), buffers.end());
  return pending;
}

std::array<LiveSnapshot::WithoutNode, kPodWaits> LiveSnapshot::PodsWithoutNode() {
  (void)Snapshot();
  std::array<WithoutNode, kPodWaits> all;
  std::array<const HeldPod*, kPodWaits> first{};
  for (const auto& [wanted, place] : unplaced_) {
    const HeldPod& held = pods_[place];
    if (!IsPending(held)) continue;
    const auto w = static_cast<size_t>(held.wait);
    ++all[w].pods;
    if (first[w] == nullptr || held.order < first[w]->order) first[w] = &held;
  }
  for (size_t w = 0; w < kPodWaits; ++w) {
    if (first[w] != nullptr) all[w].first = catalog_->PodName(first[w]->id);
  }
  return all;
}

// A nomination to a node that is gone is void: the pod waits for a place like other pods.
bool LiveSnapshot::IsPending(const HeldPod& unplaced) {
  return unplaced.named.wanted_node == kNoText || unplaced.named.is_nominated;
}

size_t LiveSnapshot::PodsOnUnknownNodes() {
  (void)Snapshot();
  return static_cast<size_t>(std::ranges::count_if(
      unplaced_, [this](const auto& entry) { return !IsPending(pods_[entry.second]); }));
}

std::string LiveSnapshot::FirstPodOnUnknownNode() {
  (void)Snapshot();
  const HeldPod* first = nullptr;
  for (const auto& [wanted, place] : unplaced_) {
    const HeldPod& pod = pods_[place];
    if (!IsPending(pod) && (first == nullptr || pod.order < first->order)) first = &pod;
  }
  if (first == nullptr) return "";
  return absl::StrCat(catalog_->PodName(first->id), " on ",
                      Absl(catalog_->Text(first->named.wanted_node)));
}

absl::Status LiveSnapshot::ExportLeftOut(ObjectSink& sink) const {
  std::vector<uint32_t> left_out;
  for (const auto& [name, place] : pods_by_name_) {
    if (pods_[place].shape == kNoShape) left_out.push_back(place);
  }
  std::ranges::sort(left_out, {}, [this](uint32_t place) { return pods_[place].order; });
  for (const uint32_t place : left_out) {
    const HeldPod& held = pods_[place];
    absl::Status given;
    if (const std::string_view packed = PackedLeftOut(place); !packed.empty()) {
      given = Give(UnpackedObject(packed).ref(), sink);
    } else {
      objects::Pod pod;
      pod.meta.namespace_name = symbols_->Text(held.named.namespace_name);
      pod.phase = "Succeeded";
      NamePod(held, pod);
      given = sink.OnPod(pod);
    }
    if (!given.ok()) return given;
  }
  return absl::OkStatus();
}

void LiveSnapshot::NamePod(const HeldPod& held, objects::Pod& like) const {
  const SnapshotBuilder::NamedPod& named = held.named;
  const objects::Text wanted_node = symbols_->Text(named.wanted_node);
  like.meta.name = symbols_->Text(named.name);
  like.meta.uid = held.has_uid ? symbols_->Text(named.key) : "";
  like.meta.creation_time = named.creation_time;
  like.meta.deletion_time = named.deletion_time;
  like.unready = named.unready;
  like.node_name = named.is_nominated ? "" : wanted_node;
  like.nominated_node_name = named.is_nominated ? wanted_node : "";
  like.scheduling = held.scheduling;
}

absl::Status LiveSnapshot::Export(ObjectSink& sink) {
  (void)Snapshot();
  if (absl::Status s = GiveObjects(sink); !s.ok()) return s;
  // A pod of the shape, which gets the names of one pod after the other.
  struct OfShape {
    explicit OfShape(const std::string& packed)
        : unpacked(packed), pod(*std::get<const objects::Pod*>(unpacked.ref())) {}
    UnpackedObject unpacked;  // Owns the texts.
    objects::Pod pod;
  };
  std::vector<std::optional<OfShape>> shapes(shapes_.size());
  for (const uint32_t place : PodsInOrder()) {
    const HeldPod& held = pods_[place];
    std::optional<OfShape>& shape = shapes[Index(held.shape)];
    if (!shape) shape.emplace(shapes_[Index(held.shape)].packed);
    NamePod(held, shape->pod);
    if (absl::Status s = sink.OnPod(shape->pod); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status LiveSnapshot::ExportOne(const objects::ObjectRef& object, ObjectSink& sink) {
  (void)Snapshot();
  const auto* const pod = std::get_if<const objects::Pod*>(&object);
  if (pod == nullptr) {
    const HeldObject* const held = objects_.Find(object);
    return held == nullptr ? absl::OkStatus() : GiveHeld(*held, sink);
  }
  const auto found = FindName((*pod)->meta);
  if (found == pods_by_name_.end()) return absl::OkStatus();
  const HeldPod& held = pods_[found->second];
  if (held.shape == kNoShape) return absl::OkStatus();
  const UnpackedObject unpacked(shapes_[Index(held.shape)].packed);
  objects::Pod named = *std::get<const objects::Pod*>(unpacked.ref());
  NamePod(held, named);
  return sink.OnPod(named);
}

absl::Status LiveSnapshot::ExportAlike(
    ObjectSink& sink,
    const std::function<absl::Status(const objects::Pod& first, uint64_t pods)>& pods) {
  (void)Snapshot();
  if (absl::Status s = GiveObjects(sink); !s.ok()) return s;
  struct Alike {
    uint32_t first;  // The first pod's place in pods_.
    uint64_t pods;
  };
  std::vector<Alike> all;
  // By shape, and by whether the pod has a UID: the place in `all` plus 1, or 0.
  std::vector<std::array<uint32_t, 2>> place_of(shapes_.size());
  for (const uint32_t place : PodsInOrder()) {
    const HeldPod& held = pods_[place];
    uint32_t& alike = place_of[Index(held.shape)][held.has_uid ? 1 : 0];
    if (alike == 0) {
      all.push_back({.first = place, .pods = 0});
      alike = static_cast<uint32_t>(all.size());
    }
    ++all[alike - 1].pods;
  }
  for (const auto& [first, count] : all) {
    const HeldPod& held = pods_[first];
    const UnpackedObject unpacked(shapes_[Index(held.shape)].packed);
    objects::Pod pod = *std::get<const objects::Pod*>(unpacked.ref());
    NamePod(held, pod);
    if (absl::Status s = pods(pod, count); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace ebb
