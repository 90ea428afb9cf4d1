// LiveSnapshot: changes of objects of all kinds except pods.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "snapshot/builder.h"
#include "snapshot/builder_sink.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/live/live_snapshot.h"
#include "snapshot/topology_tables.h"

namespace ebb {
namespace {

// Removed nodes leave their ids, domains and shapes in the catalog.  Above this many, the catalog
// is rebuilt when most ids belong to removed nodes.  A higher number rebuilds small clusters less
// often and keeps more dead ids.  Not tuned: other values were not compared.
constexpr size_t kGoneNodesKept = 64;

const objects::StorageObject& StorageObjectOf(const UnpackedObject& unpacked) {
  return *std::get<const objects::StorageObject*>(unpacked.ref());
}

}  // namespace

void LiveSnapshot::Put(const Change& change, OlderObjects older) {
  const uint64_t version = VersionOf(change.resource_version);
  std::string packed = PackObject(change.object);
  HeldObject* held = objects_.Find(change.object);
  const bool is_new = held == nullptr;
  if (is_new) {
    held = &objects_.Add(change.object);
    held->order = next_order_++;
  } else if (older == OlderObjects::kIgnore && IsOlderVersion(version, held->version)) {
    ++counts_.older;
    return;
  }
  held->version = version;
  const bool as_ready = std::exchange(held->pods_ready, change.pods_ready) == change.pods_ready;
  if (held->packed == packed) {  // A new object has nothing packed yet, so it never equals.
    ++counts_.unchanged;
    counts_.ready += as_ready ? 0 : 1;
    return;
  }
  const int64_t newest_time = objects::NewestTimeOf(change.object);
  NoteTime(std::exchange(held->newest_time, newest_time), newest_time);
  held->uid = symbols_->Intern(objects::MetaOf(change.object).uid);
  const std::string old = std::exchange(held->packed, std::move(packed));
  ++counts_.put;
  if (stale_) return;
  struct {
    LiveSnapshot& live;
    bool is_new;
    const std::string& old;
    void operator()(const objects::Node* o) { live.PutInPlace(*o); }
    void operator()(const objects::PodDisruptionBudget* o) { live.PutInPlace(*o, is_new); }
    void operator()(const objects::Controller* o) { live.PutInPlace(*o); }
    void operator()(const objects::Namespace* o) { live.PutInPlace(*o); }
    void operator()(const objects::StorageObject* o) { live.PutInPlace(*o, old); }
    void operator()(const objects::Pod*) {}
  } put{*this, is_new, old};
  std::visit(put, change.object);
}

void LiveSnapshot::Delete(const Change& change) {
  const objects::ObjectMeta& meta = objects::MetaOf(change.object);
  HeldObject* const held = objects_.Find(change.object);
  if (held == nullptr || (!meta.uid.empty() && symbols_->Text(held->uid) != meta.uid)) {
    ++counts_.unknown_deletes;
    return;
  }
  if (IsLateDelete(meta.uid, VersionOf(change.resource_version), held->version)) {
    ++counts_.older;
    return;
  }
  const std::string old = std::move(held->packed);
  NoteTime(held->newest_time, 0);
  objects_.Erase(change.object);
  ++counts_.deleted;
  if (stale_) return;
  struct {
    LiveSnapshot& live;
    const std::string& old;
    void operator()(const objects::Node* o) { live.DeleteInPlace(*o); }
    void operator()(const objects::PodDisruptionBudget* o) { live.DeleteInPlace(*o); }
    void operator()(const objects::Controller* o) { live.DeleteInPlace(*o); }
    void operator()(const objects::Namespace* o) { live.DeleteInPlace(*o); }
    void operator()(const objects::StorageObject* o) { live.DeleteInPlace(*o, old); }
    void operator()(const objects::Pod*) {}
  } gone{*this, old};
  std::visit(gone, change.object);
}

std::string_view LiveSnapshot::UidOfNamespace(std::string_view name) {
  objects::Namespace named;
  named.meta.name = name;
  const HeldObject* const held = objects_.Find(&named);
  return held == nullptr ? "" : symbols_->Text(held->uid);
}

void LiveSnapshot::Changed() {
  ++catalog_->revision_;
  snapshot_.state_id_ = 0;
}

// --- Nodes ----------------------------------------------------------------------------------

void LiveSnapshot::PutInPlace(const objects::Node& node) {
  if (!builder_->MayTakeNodes()) return BecomeStale(RebuildCause::kAmounts);
  const bool had_nodes_of_two_os = builder_->has_nodes_of_two_os();
  NodeInfo info = builder_->CompileNode(node);
  if (builder_->has_nodes_of_two_os() != had_nodes_of_two_os || ChangesWhatPodsAre(info)) {
    return BecomeStale(RebuildCause::kNode);
  }
  if (!builder_->MayTakeNodes()) return BecomeStale(RebuildCause::kAmounts);
  if (catalog_->node_shapes() > 2 * catalog_->nodes() + kGoneNodesKept) {
    return BecomeStale(RebuildCause::kGoneNodes);
  }
  const NodeId id = catalog_->FindNode(info.name);
  id == kNoNode ? AddNode(std::move(info)) : ChangeNode(id, std::move(info));
}

void LiveSnapshot::DeleteInPlace(const objects::Node& node) {
  if (!builder_->MayTakeNodes()) return BecomeStale(RebuildCause::kAmounts);
  const NodeId id = *catalog_->FindNode(node.meta.name);
  const bool was_newest = catalog_->node(id).version == KubernetesVersion::k137;
  RemoveNode(id);
  if (was_newest && builder_->VersionNow() != catalog_->kubernetes_version()) {
    BecomeStale(RebuildCause::kNode);
  }
  if (++nodes_gone_ > kGoneNodesKept + catalog_->nodes() / 2) BecomeStale(RebuildCause::kGoneNodes);
}

// Whether pods would get other shapes than they have because of the node, which is new or changes:
// by its operating system, or by the version whose rules apply.
bool LiveSnapshot::ChangesWhatPodsAre(const NodeInfo& info) const {
  const NodeId id = catalog_->FindNode(info.name);
  if (!options_.kubernetes_version) {
    const bool was_newest = id != kNoNode && catalog_->node(id).version == KubernetesVersion::k137;
    const bool is_newest = info.version == KubernetesVersion::k137;
    if (was_newest && !is_newest) return true;
    if (is_newest && catalog_->kubernetes_version() < KubernetesVersion::k137) return true;
  }
  if (!builder_->has_nodes_of_two_os()) return false;
  if (id != kNoNode) return info.os != catalog_->node(id).os;
  // Pods that came before the node, or were on a node of its name with another operating system.
  for (auto it = unplaced_.lower_bound({info.name, 0});
       it != unplaced_.end() && it->first.first == info.name; ++it) {
    const HeldPod& pod = pods_[it->second];
    const Constraints& asks = catalog_->constraints(catalog_->shape(pod.shape).constraints);
    if (!pod.named.is_nominated && !asks.names_os && asks.os != info.os) return true;
  }
  return false;
}

// A new node gets an id that no node has had.
void LiveSnapshot::AddNode(NodeInfo info) {
  if (!builder_->tables_->Allows(info)) return BecomeStale(RebuildCause::kNode);
  const NodeId id{static_cast<uint32_t>(catalog_->nodes())};
  catalog_->nodes_by_name_.emplace(info.name, id);
  Log(NodeChangeLog::Change{.id = id, .key = info.name, .came = true});
  catalog_->nodes_.push_back(std::move(info));
  builder_->tables_->AddNode(id);
  snapshot_.Grow();
  snapshot_.AddNode(id);
  FindPodsOf(id);
  NoteDeviceNode(id);
  Changed();
}

// Places the pods that want the node, in the order in which they came.
void LiveSnapshot::FindPodsOf(NodeId node) {
  const TextId name = catalog_->node(node).name;
  const auto first = unplaced_.lower_bound({name, 0});
  auto end = first;
  for (; end != unplaced_.end() && end->first.first == name; ++end) {
    catalog_->SetHome(pods_[end->second].id, node);
    snapshot_.AddPod(pods_[end->second].id, node);
  }
  unplaced_.erase(first, end);
}

void LiveSnapshot::RemoveNode(NodeId node) {
  NoteDeviceNode(node);
  while (!snapshot_.PodsOn(node).empty()) {
    const PodId pod = snapshot_.PodsOn(node).back();
    const uint32_t place = held_of_[Index(pod)];
    unplaced_.emplace(std::pair(pods_[place].named.wanted_node, pods_[place].order), place);
    snapshot_.RemovePod(pod);
  }
  snapshot_.RemoveNode(node);
  builder_->tables_->RemoveNode(node);
  NodeInfo& info = catalog_->nodes_[Index(node)];
  SetAmounts(node, info.allocatable, -1);
  Log(NodeChangeLog::Change{.id = node, .key = info.name, .came = false});
  catalog_->nodes_by_name_.erase(info.name);
  info = NodeInfo();
  Changed();
}

void LiveSnapshot::ChangeNode(NodeId node, NodeInfo info) {
  const NodeInfo& old = catalog_->node(node);
  // Domains depend on labels; the nodes of a spread constraint depend on labels and taints.
  const bool in_topology =
      info.labels != old.labels ||
      (info.taints != old.taints &&
       std::ranges::any_of(catalog_->registries_, &DomainRegistry::honor_taints));
  if (in_topology && !builder_->tables_->Allows(info)) return BecomeStale(RebuildCause::kNode);
  if (catalog_->resources() > snapshot_.free_.size()) snapshot_.Grow();
  SetAmounts(node, old.allocatable, -1);
  SetAmounts(node, info.allocatable, +1);
  if (in_topology) {
    ChangeTopology(node, std::move(info));
  } else {
    catalog_->nodes_[Index(node)] = std::move(info);
  }
  Changed();
}

// The node leaves its domains with all of its pods and enters its new domains with all of them.
void LiveSnapshot::ChangeTopology(NodeId node, NodeInfo info) {
  const std::vector<PodId> pods(snapshot_.PodsOn(node).begin(), snapshot_.PodsOn(node).end());
  snapshot_.RemoveNode(node);
  builder_->tables_->RemoveNode(node);
  catalog_->nodes_[Index(node)] = std::move(info);
  builder_->tables_->AddNode(node);
  snapshot_.Grow();
  snapshot_.AddNode(node);
  for (const PodId pod : pods) snapshot_.AddPod(pod, node);
  NoteDeviceNode(node);
}

void LiveSnapshot::SetAmounts(NodeId node, const std::vector<ResourceQuantity>& amounts, int sign) {
  for (const auto& [resource, amount] : amounts) {
    snapshot_.free_[Index(resource)].Mutable(Index(node)) += sign * amount;
  }
}

// --- Budgets --------------------------------------------------------------------------------

void LiveSnapshot::PutInPlace(const objects::PodDisruptionBudget& pdb, bool is_new) {
  absl::StatusOr<Pdb> budget = SnapshotBuilder::CompileBudget(pdb, *symbols_);
  EBB_CHECK(budget.ok());  // Take() has checked it.
  const bool taken = is_new ? builder_->AddBudget(*std::move(budget))
                            : builder_->ReplaceBudget(FindBudget(pdb), *std::move(budget));
  if (!taken) return BecomeStale(RebuildCause::kBudget);
  Changed();
}

void LiveSnapshot::DeleteInPlace(const objects::PodDisruptionBudget& pdb) {
  if (!builder_->RemoveBudget(FindBudget(pdb))) return BecomeStale(RebuildCause::kBudget);
  Changed();
}

PdbId LiveSnapshot::FindBudget(const objects::PodDisruptionBudget& pdb) const {
  const std::optional<TextId> namespace_name = symbols_->Find(pdb.meta.namespace_name);
  const std::optional<TextId> name = symbols_->Find(pdb.meta.name);
  const auto it = std::ranges::find_if(catalog_->pdbs_, [&](const Pdb& each) {
    return each.namespace_name == namespace_name && each.name == name;
  });
  EBB_CHECK(it != catalog_->pdbs_.end());
  return PdbId{static_cast<uint32_t>(it - catalog_->pdbs_.begin())};
}

// --- Controllers and namespaces -------------------------------------------------------------

bool LiveSnapshot::SpreadDependsOn(const objects::Controller& controller) const {
  if (catalog_->scheduler() == nullptr) return false;
  const std::optional<TextId> namespace_name = symbols_->Find(controller.meta.namespace_name);
  const std::optional<TextId> name = symbols_->Find(controller.meta.name);
  return std::ranges::any_of(catalog_->shapes_, [&](const PodShape& shape) {
    return shape.namespace_name == namespace_name && shape.has_controller &&
           shape.controller.name == name && ebb::SpreadDependsOn(*catalog_, shape);
  });
}

bool LiveSnapshot::SpreadDependsOn(const objects::Service& service) const {
  if (catalog_->scheduler() == nullptr) return false;
  const std::optional<TextId> namespace_name = symbols_->Find(service.meta.namespace_name);
  const LabelSet selector = InternLabels(service.selector, *symbols_);
  // Without any Service, the pods of all namespaces may lack theirs.
  const bool some = !catalog_->storage().services().empty();
  return std::ranges::any_of(catalog_->shapes_, [&](const PodShape& shape) {
    return ebb::SpreadDependsOn(*catalog_, shape) &&
           (!some ||
            (shape.namespace_name == namespace_name && SelectsLabels(selector, shape.labels)));
  });
}

void LiveSnapshot::PutInPlace(const objects::Controller& controller) {
  const auto find = [&] {
    return catalog_->FindController(controller.kind,
                                    symbols_->Intern(controller.meta.namespace_name),
                                    symbols_->Intern(controller.meta.name));
  };
  const auto owner = [&] {
    const ControllerStatus* const status = find();
    return status == nullptr ? std::pair(kNoText, kNoText)
                             : std::pair(status->owner_kind, status->owner_name);
  };
  const auto has_other_selector = [&] {
    const ControllerStatus* const status = find();
    return status == nullptr ||
           status->selector != SnapshotBuilder::SelectorOf(controller, *symbols_);
  };
  if (catalog_->scheduler() != nullptr && has_other_selector() && SpreadDependsOn(controller)) {
    return BecomeStale(RebuildCause::kStorage);
  }
  const auto before = owner();
  const absl::Status added = builder_->AddController(controller);
  EBB_CHECK(added.ok());
  // A Deployment's name follows from its ReplicaSet's, so that its arrival changes nothing.
  if (catalog_->storage().room().HasVpas() && owner() != before &&
      symbols_->Text(owner().first) != "Deployment") {
    return BecomeStale(RebuildCause::kStorage);
  }
  Changed();
}

void LiveSnapshot::DeleteInPlace(const objects::Controller& controller) {
  if (SpreadDependsOn(controller)) return BecomeStale(RebuildCause::kStorage);
  catalog_->controllers_.erase({controller.kind, symbols_->Intern(controller.meta.namespace_name),
                                symbols_->Intern(controller.meta.name)});
  Changed();
}

void LiveSnapshot::PutInPlace(const objects::Namespace& namespace_object) {
  const TextId name = symbols_->Intern(namespace_object.meta.name);
  const LabelSet labels = InternLabels(namespace_object.meta.labels, *symbols_);
  const LabelSet* const held = catalog_->FindNamespaceLabels(name);
  // A namespace that is not held differs from one without labels.
  const bool same = held != nullptr && !builder_->guessed_namespaces_ && *held == labels;
  if (!same && builder_->tables_->asks_for_namespaces() &&
      (builder_->guessed_namespaces_ || !builder_->tables_->PutNamespace(name, labels))) {
    return BecomeStale(RebuildCause::kNamespace);
  }
  namespaces_gone_.erase(name);
  const absl::Status added = builder_->AddNamespace(namespace_object);
  EBB_CHECK(added.ok());
  Changed();
}

// While no term selects namespaces by labels, no code reads these labels.  The first shape that has
// such a term causes a rebuild.  With such terms, counters keep the namespace; that makes no
// difference while it has no pods.
void LiveSnapshot::DeleteInPlace(const objects::Namespace& namespace_object) {
  const TextId name = symbols_->Intern(namespace_object.meta.name);
  if (builder_->tables_->asks_for_namespaces()) {
    if (builder_->guessed_namespaces_) return BecomeStale(RebuildCause::kNamespace);
    namespaces_gone_.insert(name);
    check_namespaces_gone_ = true;
  }
  catalog_->namespace_labels_.erase(name);
  Changed();
}

// Watches of two kinds are not ordered: the last pods of a namespace may go after it.
bool LiveSnapshot::HasPodsInNamespacesGone() const {
  for (uint32_t s = 0; s < shapes_.size(); ++s) {
    if (shapes_[s].pods == 0) continue;
    if (namespaces_gone_.contains(catalog_->shape(PodShapeId{s}).namespace_name)) return true;
  }
  return false;
}

// --- Storage --------------------------------------------------------------------------------

void LiveSnapshot::PutInPlace(const objects::StorageObject& object, std::string_view old) {
  switch (Storage::EffectOf(object)) {
    case Storage::Effect::kShapes:
      return BecomeStale(RebuildCause::kStorage);
    case Storage::Effect::kAnew:
      storage_is_old_ = true;
      return Changed();
    case Storage::Effect::kInPlace:
      break;
  }
  NoteDevices(object, /*is_gone=*/false);
  if (storage_is_old_) return;
  std::optional<UnpackedObject> unpacked;
  if (!old.empty()) unpacked.emplace(old);
  if (const auto* const service = std::get_if<objects::Service>(&object)) {
    const objects::Service* const before =
        unpacked ? &std::get<objects::Service>(StorageObjectOf(*unpacked)) : nullptr;
    if (SpreadDependsOn(*service) || (before != nullptr && SpreadDependsOn(*before))) {
      return BecomeStale(RebuildCause::kStorage);
    }
  }
  catalog_->storage_->Replace(unpacked ? &StorageObjectOf(*unpacked) : nullptr, object, *symbols_);
  Changed();
}

void LiveSnapshot::DeleteInPlace(const objects::StorageObject& object, std::string_view old) {
  if (Storage::EffectOf(object) != Storage::Effect::kInPlace) return PutInPlace(object, "");
  NoteDevices(object, /*is_gone=*/true);
  if (storage_is_old_) return;
  const UnpackedObject unpacked(old);
  const auto* const service = std::get_if<objects::Service>(&StorageObjectOf(unpacked));
  // Without the last one, Services may be missing.
  if (service != nullptr && catalog_->scheduler() != nullptr) {
    return BecomeStale(RebuildCause::kStorage);
  }
  catalog_->storage_->Remove(StorageObjectOf(unpacked), *symbols_);
  Changed();
}

void LiveSnapshot::FillStorage() {
  RebuildObserver* const observer = options_.rebuild_observer;
  if (observer != nullptr) observer->OnBegin();
  ++counts_.storage_rebuilds;
  ReadStorageAgain();
  if (observer != nullptr) observer->OnEnd({});
}

// Volumes, claims, classes and drivers refer to each other, so all of them are resolved again.
void LiveSnapshot::ReadStorageAgain() {
  storage_is_old_ = false;
  auto storage = std::make_shared<Storage>(catalog_->storage_->WithoutObjects());
  for (const HeldObject* const held : objects_.InOrder<objects::StorageObject>()) {
    const UnpackedObject unpacked(held->packed);
    const absl::Status added = storage->Add(StorageObjectOf(unpacked), *symbols_);
    EBB_CHECK(added.ok());
  }
  storage->Connect(*symbols_);
  catalog_->storage_ = std::move(storage);
  Changed();
}

}  // namespace ebb
