#include "snapshot/import/completeness.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/catalog.h"
#include "snapshot/devices.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/import/advice.h"
#include "snapshot/import/object_content.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

constexpr std::string_view kNoSystem = "NoKubeSystemPods";
constexpr std::string_view kNamespaceName = "kubernetes.io/metadata.name";
// The annotation of a node that names its Machine, "namespace/name".
constexpr std::string_view kMachineOfOpenShift = "machine.openshift.io/machine";
// The numbers below are estimates of what clusters do; no statistics of real dumps are on
// record for them.  Stricter ones warn of complete dumps, more lenient ones accept incomplete
// dumps.

// A node runs the pods of its DaemonSets within minutes after it joined.
constexpr int64_t kOldNodeSeconds = int64_t{15} * 60;
// A new namespace is filled within a day, or stays empty.
constexpr int64_t kOldNamespaceSeconds = int64_t{24} * 60 * 60;
// kubectl lists one kind after the other, within about this time.
constexpr int64_t kListingSeconds = 60;

// One object in this many may differ because the cluster changed between two lists, or between
// the events of two watches.
constexpr int64_t kPartsPerChange = 50;
constexpr int64_t kPartsOfWatches = 10;

// More missing objects than kFew plus one in kPartsThatMustBeMissing have no other explanation: no
// cluster has so many broken nodes, or changes so much while it is listed.  For watches both are
// doubled, and for hand-written clusters kFew is.
constexpr uint64_t kFew = 5;
constexpr uint64_t kPartsThatMustBeMissing = 10;
// At least this many namespaces that contain nothing are not a coincidence.
constexpr size_t kManyEmptyNamespaces = 10;
// Some namespaces of users may be empty: fewer than kSomeEmpty, or less than one in
// kPartsThatMayBeEmpty.
constexpr size_t kSomeEmpty = 2;
constexpr size_t kPartsThatMayBeEmpty = 3;
// At least this many empty namespaces, and none with content, mean a dump of the system alone.
constexpr size_t kAllEmptyNamespaces = 3;
// A single change does not explain that the pods of this many controllers are all gone.
constexpr size_t kSeveralControllers = 2;

// Prefixes of namespaces that platforms create; many of these are empty.
constexpr std::string_view kMadeByPlatforms[] = {"kube-",   "openshift", "gke-",   "gmp-",
                                                 "aks-",    "cattle-",   "fleet-", "cluster-fleet-",
                                                 "amazon-", "azure-"};
bool IsMadeByPlatform(std::string_view name) {
  return name == "default" ||
         std::any_of(std::begin(kMadeByPlatforms), std::end(kMadeByPlatforms),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// "a, b, c and 4 more": the first few of many.
std::string Some(std::span<const std::string> names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Printable(names[i]));
  }
  if (names.size() > kShown) {
    absl::StrAppend(&text, " and ", WithCommas(names.size() - kShown), " more");
  }
  return text;
}

// " and 4 more", to follow the first of `all`.
std::string AndMore(uint64_t all) {
  return all > 1 ? absl::StrCat(" and ", WithCommas(all - 1), " more") : "";
}

// Kinds of controllers, with the names that owner references and kubectl use.
struct KnownOwner {
  objects::ControllerKind kind;
  std::string_view name;
  std::string_view group;
  std::string_view resource;
};
constexpr auto kKnownOwners = std::to_array<KnownOwner>({
    {objects::ControllerKind::kReplicaSet, "ReplicaSet", "apps", "rs"},
    {objects::ControllerKind::kStatefulSet, "StatefulSet", "apps", "sts"},
    {objects::ControllerKind::kDaemonSet, "DaemonSet", "apps", "ds"},
    {objects::ControllerKind::kJob, "Job", "batch", "jobs"},
    {objects::ControllerKind::kReplicationController, "ReplicationController", "", "rc"},
});

std::string_view ApiGroupOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : api_version.substr(0, slash);
}

// Pods from before Kubernetes 1.16 still name `extensions/v1beta1`, which is `apps` today.
std::string_view GroupOfToday(std::string_view group) {
  return group == "extensions" ? "apps" : group;
}

const KnownOwner* KindOf(std::string_view api_version, std::string_view kind) {
  for (const KnownOwner& known : kKnownOwners) {
    if (known.name == kind && known.group == GroupOfToday(ApiGroupOf(api_version))) return &known;
  }
  return nullptr;
}

const KnownOwner* KindOf(const Catalog& catalog, const Owner& owner) {
  return KindOf(catalog.Text(owner.api_version), catalog.Text(owner.kind));
}

// "Pod shop/web".
std::string ObjectText(std::string_view kind, const objects::ObjectMeta& meta) {
  return absl::StrCat(Absl(kind), " ", Printable(NameOf(meta)));
}

bool IsOfOpenShift(std::string_view name) { return name.starts_with("openshift-"); }

std::string ControllerKey(std::string_view kind, std::string_view namespace_name,
                          std::string_view name) {
  return absl::StrCat(Absl(kind), "/", Absl(namespace_name), "/", Absl(name));
}

// Whether any controller that pods name is in the input, among those of the kind of `owner`.
bool AnyFound(const Catalog& catalog, const KnownOwner& kind, const Owner& owner) {
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    const PodShape& shape = catalog.shape(PodShapeId{s});
    if (!shape.has_controller || shape.controller.kind != owner.kind) continue;
    if (catalog.FindController(kind.kind, shape.namespace_name, shape.controller.name)) return true;
  }
  return false;
}

// Labels of nodes that usually run no DaemonSet's pod: virtual nodes, nodes whose system the
// provider runs, and Windows nodes.
constexpr std::pair<std::string_view, std::string_view> kWithoutDaemonSets[] = {
    {"type", "virtual-kubelet"},
    {"eks.amazonaws.com/compute-type", "auto"},
    {"eks.amazonaws.com/compute-type", "fargate"},
    {"kubernetes.io/os", "windows"}};
bool MayBeWithoutPods(const Catalog& catalog, const NodeInfo& node) {
  for (const Taint& taint : node.taints) {
    if (catalog.Text(taint.key) == "virtual-kubelet.io/provider") return true;
  }
  return std::any_of(node.labels.begin(), node.labels.end(), [&](const auto& label) {
    const std::pair text(catalog.Text(label.key), catalog.Text(label.value));
    return std::find(std::begin(kWithoutDaemonSets), std::end(kWithoutDaemonSets), text) !=
           std::end(kWithoutDaemonSets);
  });
}

// Which version of Karpenter created a node; nodes of a Provisioner have no NodeClaim.
enum class NodeMaker : uint8_t { kOther, kProvisioner, kNodeClaim };
NodeMaker MakerOf(const Catalog& catalog, const NodeInfo& node) {
  NodeMaker maker = NodeMaker::kOther;
  for (const auto& label : node.labels) {
    const std::string_view key = catalog.Text(label.key);
    if (key == kNodePoolLabel) return NodeMaker::kNodeClaim;
    if (key == "karpenter.sh/provisioner-name") maker = NodeMaker::kProvisioner;
  }
  return maker;
}

// Whether the result of a selector depends on labels of namespaces other than the name.
bool AsksForLabels(const objects::LabelSelector& selector) {
  const auto asks = [](const auto& each) { return each.key != kNamespaceName; };
  return !selector.nil &&
         (std::any_of(selector.match_labels.begin(), selector.match_labels.end(), asks) ||
          std::any_of(selector.match_expressions.begin(), selector.match_expressions.end(), asks));
}

// Whether a second reading of an input gives the same bytes.
bool CanBeReadTwice(const std::string& input) {
  std::error_code error;
  const auto type = std::filesystem::status(input, error).type();
  return input != "-" && (type == std::filesystem::file_type::regular ||
                          type == std::filesystem::file_type::directory);
}

// Whether resourceVersion `a` is newer than `b`; both are of one object.  nullopt if they cannot
// be compared, because they are not both decimal numbers, as Kubernetes specifies.
// Source: KEP-5504, "Comparable Resource Version".
std::optional<bool> IsNewer(std::string_view a, std::string_view b) {
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text[0] != '0' &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

}  // namespace

// ---------------------------------------------------------------------------
// Reading objects

void InputCensus::Begin(ObjectSink& to, bool may_read_again) {
  const bool is_second = MustReadAgain();
  auto newest = std::move(newer_);
  const bool takes_pages = takes_pages_;
  *this = InputCensus(expendable_pods_priority_cutoff_);
  takes_pages_ = takes_pages;
  newest_ = std::move(newest);
  to_ = &to;
  may_read_again_ = may_read_again && !is_second;
}

absl::Status InputCensus::Read(std::span<const std::string> inputs, ObjectSink& to,
                               ImportStats& stats, const Parallelism& parallelism,
                               const InputLimits& limits, ReadAgain again) {
  Begin(to,
        again == ReadAgain::kIfNeeded && std::all_of(inputs.begin(), inputs.end(), CanBeReadTwice));
  absl::Status read;
  for (const std::string& input : inputs) {
    ++input_;
    read = ReadInput(input, *this, stats, parallelism, limits);
    if (!read.ok()) break;
  }
  to_ = nullptr;
  return read;
}

absl::Status InputCensus::Read(std::string_view name, std::string_view bytes, ObjectSink& to,
                               ImportStats& stats, const Parallelism& parallelism,
                               const InputLimits& limits) {
  Begin(to, /*may_read_again=*/true);
  ++input_;
  absl::Status read = ReadBytes(name, bytes, *this, stats, parallelism, limits);
  to_ = nullptr;
  return read;
}

absl::Status InputCensus::Look(const std::function<absl::Status(ObjectSink&)>& give,
                               ObjectSink& to) {
  *this = InputCensus(expendable_pods_priority_cutoff_);
  to_ = &to;
  of_one_moment_ = false;
  absl::Status given = give(*this);
  to_ = nullptr;
  return given;
}

InputCensus::Key InputCensus::KeyOf(std::string_view kind, const objects::ObjectMeta& meta) {
  key_.clear();
  for (const std::string_view part : {kind, meta.namespace_name, meta.name}) {
    key_ += part;
    key_ += '/';  // Does not occur in names.
  }
  const XXH128_hash_t hash = XXH3_128bits(key_.data(), key_.size());
  return {hash.high64, hash.low64};
}

template <typename Object>
absl::Status InputCensus::Meet(std::string_view kind, const objects::ObjectMeta& meta,
                               const Object& object, bool& is_new) {
  is_new = true;
  const Aside aside = std::exchange(aside_, {});
  // For the other kinds the sink keeps the last object.
  constexpr bool kSinkRefusesTheSecond =
      !std::is_same_v<Object, objects::Controller> && !std::is_same_v<Object, objects::Namespace>;
  if (kSinkRefusesTheSecond && aside.resource_version.empty()) {
    to_->OnAside(aside);
    return absl::OkStatus();
  }
  const Key key = KeyOf(kind, meta);
  if (!newest_.empty()) {
    const auto newest = newest_.find(key);
    if (newest != newest_.end() && IsNewer(newest->second, aside.resource_version) == true) {
      is_new = false;
      PassOver(kind, meta);
      return absl::OkStatus();
    }
  }
  const uint64_t content = ContentOf(object);
  const auto [it, added] = seen_.try_emplace(
      key, Seen{.content = content,
                .texts_at = texts_.size(),
                .uid_bytes = static_cast<uint32_t>(meta.uid.size()),
                .version_bytes = static_cast<uint32_t>(aside.resource_version.size()),
                .input = input_,
                .place = aside.place});
  if (added) {
    texts_.append(meta.uid).append(aside.resource_version);
    to_->OnAside(aside);
    return absl::OkStatus();
  }
  is_new = false;
  return MeetAgain(key, it->second, kind, meta, aside, content);
}

absl::Status InputCensus::MeetAgain(const Key& key, const Seen& first, std::string_view kind,
                                    const objects::ObjectMeta& meta, const Aside& aside,
                                    uint64_t content) {
  const std::string_view texts = texts_;
  const std::string_view uid = texts.substr(first.texts_at, first.uid_bytes);
  const std::string_view version =
      texts.substr(first.texts_at + first.uid_bytes, first.version_bytes);
  const std::string_view version_now = aside.resource_version;
  if (uid != meta.uid && !uid.empty() && !meta.uid.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "comes twice with different UIDs, ", Printable(uid), " and ", Printable(meta.uid),
        ": dumps of two clusters or of two moments are mixed; pass one dump"));
  }
  if (version.empty() || version_now.empty()) return absl::InvalidArgumentError("occurs twice");
  const bool of_one_dump = first.input == input_ && first.place != aside.place;
  if (content == first.content) {
    ++repeated_;
    if (version != version_now && !of_one_dump && of_two_moments_++ == 0) {
      first_of_two_moments_ = ObjectText(kind, meta);
    }
    return absl::OkStatus();
  }
  if (version == version_now) {
    return absl::InvalidArgumentError(
        absl::StrCat("comes twice with the same resourceVersion, ", Printable(version),
                     ", and different content, so that one of the two was changed by hand; pass "
                     "the dump as it was made"));
  }
  const std::optional<bool> is_newer = IsNewer(version_now, version);
  if (of_one_dump && is_newer == false) {
    PassOver(kind, meta);
    return absl::OkStatus();
  }
  if (of_one_dump && is_newer == true && may_read_again_) {
    std::string& newest = newer_[key];
    if (newest.empty() || IsNewer(version_now, newest) == true) newest = std::string(version_now);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "comes twice with different content, of resourceVersion ", Printable(version), " and ",
      Printable(version_now), ": dumps of two moments are mixed; pass one dump"));
}

// Counts an object that is skipped because a newer version of it exists.
void InputCensus::PassOver(std::string_view kind, const objects::ObjectMeta& meta) {
  ++repeated_;
  if (of_two_versions_++ > 0) return;
  first_of_two_versions_ = ObjectText(kind, meta);
}

absl::Status InputCensus::OnNode(const objects::Node& node) {
  bool is_new = true;
  const bool has_version = !aside_.resource_version.empty();
  newest_heartbeat_ = std::max(newest_heartbeat_, aside_.heartbeat_time);
  NotePlace("Node");
  if (absl::Status s = Meet("Node", node.meta, node, is_new); !s.ok() || !is_new) return s;
  NoteUid("Node", node.meta);
  ++nodes_;
  nodes_with_version_ += has_version;
  const bool is_machines = std::ranges::any_of(
      node.meta.annotations, [](const auto& each) { return each.key == kMachineOfOpenShift; });
  if (is_machines && nodes_of_machines_++ == 0) first_of_machines_ = std::string(node.meta.name);
  return to_->OnNode(node);
}

absl::Status InputCensus::OnPodsLike(const objects::Pod& first, uint64_t pods) {
  pods_now_ = pods;
  const absl::Status status = OnPod(first);
  pods_now_ = 1;
  return status;
}

absl::Status InputCensus::OnPod(const objects::Pod& pod) {
  bool is_new = true;
  const bool has_version = !aside_.resource_version.empty();
  NotePlace("Pod");
  if (absl::Status s = Meet("Pod", pod.meta, pod, is_new); !s.ok() || !is_new) return s;
  if (has_version) pods_with_version_ += pods_now_;
  NotePod(pod);
  return to_->OnPod(pod);
}

PodListing InputCensus::NotePod(const objects::Pod& pod) {
  NoteUid("Pod", pod.meta, pods_now_);
  if (pods_ == 0 || pod.meta.namespace_name != last_namespace_) {
    last_namespace_ = std::string(pod.meta.namespace_name);
    namespaces_of_pods_.insert(last_namespace_);
  }
  pods_ += pods_now_;
  has_pending_pods_ |= pod.phase == "Pending";
  const PodListing listing = ListingOf(pod, expendable_pods_priority_cutoff_);
  if (listing != PodListing::kListed) NoteIdle(pod, listing);
  if (listing != PodListing::kEnded) {
    NoteVolumes(pod);
    NoteSelectors(pod);
  }
  if (listing == PodListing::kListed && pod.containers.empty()) {
    if (pods_without_containers_ == 0) first_without_containers_ = NameOf(pod.meta);
    pods_without_containers_ += pods_now_;
  }
  return listing;
}

absl::Status InputCensus::OnTexts(const TextTable& texts) {
  table_ = texts;
  is_idle_.clear();
  return to_->OnTexts(texts);
}

absl::Status InputCensus::OnPodPattern(const objects::Pod& first, uint64_t pods) {
  pods_now_ = pods;
  is_idle_.push_back(NotePod(first) != PodListing::kListed);
  pods_now_ = 1;
  return to_->OnPodPattern(first, pods);
}

absl::Status InputCensus::OnPods(const PodColumns& pods) {
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!is_idle_[pods.pattern[i]] || pods.node_name[i] == 0) continue;
    nodes_of_idle_pods_.insert(std::string(table_[pods.node_name[i]]));
  }
  return to_->OnPods(pods);
}

void InputCensus::NoteUid(std::string_view kind, const objects::ObjectMeta& meta,
                          uint64_t objects) {
  if (!meta.uid.empty()) {
    with_uid_ += objects;
    return;
  }
  if (without_uid_ == 0) first_without_uid_ = ObjectText(kind, meta);
  without_uid_ += objects;
}

// Records the place of the current object, even if the object was read before.
void InputCensus::NotePlace(std::string_view kind) {
  const bool in_list = aside_.place == Aside::Place::kInList;
  if (kind == "Pod") {
    pods_in_list_ |= in_list;
    return;
  }
  if (kind == "Namespace") namespaces_in_list_ |= in_list;
  nodes_or_namespaces_alone_ |= aside_.place == Aside::Place::kAlone;
}

void InputCensus::NoteHolding(std::string_view namespace_name) {
  if (namespace_name.empty() || namespace_name == last_holding_) return;
  last_holding_ = std::string(namespace_name);
  namespaces_that_hold_.insert(last_holding_);
}

void InputCensus::NoteIdle(const objects::Pod& pod, PodListing listing) {
  if (!pod.node_name.empty()) nodes_of_idle_pods_.insert(std::string(pod.node_name));
  namespaces_of_idle_pods_.insert(std::string(pod.meta.namespace_name));
  if (listing == PodListing::kEnded) return;
  for (const objects::OwnerReference& owner : pod.meta.owners) {
    if (!owner.controller) continue;
    const KnownOwner* const kind = KindOf(owner.api_version, owner.kind);
    if (kind == nullptr) return;
    expendable_pods_[ControllerKey(kind->name, pod.meta.namespace_name, owner.name)] +=
        static_cast<int64_t>(pods_now_);
    return;
  }
}

void InputCensus::NoteVolumes(const objects::Pod& pod) {
  for (const objects::Volume& volume : pod.volumes) {
    if (volume.source != "persistentVolumeClaim" && volume.source != "ephemeral") continue;
    if (volume.source == "ephemeral") pods_with_ephemeral_claims_ += pods_now_;
    if (pods_with_claims_ == 0) first_with_claims_ = NameOf(pod.meta);
    pods_with_claims_ += pods_now_;
    return;
  }
}

InputCensus::Hash128 InputCensus::HashOf(std::string_view namespace_name, std::string_view name) {
  key_.clear();
  key_ += namespace_name;
  key_ += '/';
  key_ += name;
  const XXH128_hash_t hash = XXH3_128bits(key_.data(), key_.size());
  return {hash.high64, hash.low64};
}

void InputCensus::NoteStorage(const objects::StorageObject& object) {
  if (const auto* volume = std::get_if<objects::PersistentVolume>(&object)) {
    ++volumes_;
    if (!volume->claim || volume->phase != "Bound") return;
    if (volume->source == "csi") {
      ++bound_csi_volumes_;
      ++bound_volumes_of_driver_[std::string(volume->driver)];
    }
    const std::string_view namespace_name = volume->claim->namespace_name;
    bound_volumes_.push_back(
        {.claim = HashOf(namespace_name, volume->claim->name),
         .name = std::string(volume->meta.name),
         .claim_name = absl::StrCat(Absl(namespace_name), "/", Absl(volume->claim->name))});
  } else if (const auto* claim = std::get_if<objects::PersistentVolumeClaim>(&object)) {
    claims_.insert(HashOf(claim->meta.namespace_name, claim->meta.name));
    if (!claim->volume_name.empty()) {
      ++bound_claims_;
    } else if (!claim->storage_class_name.empty()) {
      ++unbound_of_class_[std::string(claim->storage_class_name)];
      if (unbound_with_class_++ == 0) first_unbound_ = NameOf(claim->meta);
    }
  } else if (const auto* each = std::get_if<objects::StorageClass>(&object)) {
    ++storage_classes_;
    if (each->volume_binding_mode == "WaitForFirstConsumer" &&
        !each->provisioner.starts_with("kubernetes.io/")) {
      waiting_classes_[std::string(each->meta.name)] = std::string(each->provisioner);
    }
  } else if (const auto* node = std::get_if<objects::CsiNode>(&object)) {
    ++csi_nodes_;
    for (const objects::CsiNode::Driver& driver : node->drivers) {
      if (driver.volumes_max) drivers_with_limit_.insert(std::string(driver.name));
    }
  } else if (const auto* driver = std::get_if<objects::CsiDriver>(&object)) {
    ++csi_drivers_;
    if (driver->storage_capacity) drivers_with_capacity_.insert(std::string(driver->meta.name));
  } else if (std::holds_alternative<objects::VolumeAttachment>(object)) {
    ++attachments_;
  } else if (std::holds_alternative<objects::CsiStorageCapacity>(object)) {
    ++capacities_;
  } else if (std::holds_alternative<objects::NodeClaim>(object)) {
    ++node_claims_;
  } else if (std::holds_alternative<objects::NodePool>(object)) {
    ++node_pools_;
  } else if (const auto* machine = std::get_if<objects::Machine>(&object)) {
    if (machine->group == "machine.openshift.io") ++openshift_machines_;
  }
}

void InputCensus::NoteSelectors(const objects::Pod& pod) {
  for (const auto* terms : {&pod.affinity, &pod.anti_affinity}) {
    for (const objects::PodAffinityTerm& term : *terms) {
      if (!AsksForLabels(term.namespace_selector)) continue;
      if (pods_that_ask_namespaces_ == 0) first_that_asks_namespaces_ = NameOf(pod.meta);
      pods_that_ask_namespaces_ += pods_now_;
      return;
    }
  }
}

absl::Status InputCensus::OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) {
  bool is_new = true;
  absl::Status met = Meet("PodDisruptionBudget", budget.meta, budget, is_new);
  if (!met.ok() || !is_new) return met;
  NoteUid("PodDisruptionBudget", budget.meta);
  NoteHolding(budget.meta.namespace_name);
  budgets_known_ = true;
  budgets_[std::string(budget.meta.namespace_name)].push_back(NameOf(budget.meta));
  return to_->OnPodDisruptionBudget(budget);
}

absl::Status InputCensus::OnController(const objects::Controller& controller) {
  const objects::ObjectMeta& meta = controller.meta;
  const std::string_view kind = objects::KindOf(controller.kind);
  const Aside aside = aside_;
  // A StatefulSet counts the pods of one revision, so this is a lower bound.
  const int64_t told = std::max(controller.status_replicas, aside.pods_ready);
  const int64_t pods = std::min<int64_t>(told, std::numeric_limits<int32_t>::max());
  bool is_new = true;
  if (absl::Status s = Meet(kind, meta, controller, is_new); !s.ok() || !is_new) return s;
  NoteUid(kind, meta);
  NoteHolding(meta.namespace_name);
  if (pods > 0) {
    workloads_.push_back({.kind = controller.kind,
                          .namespace_name = std::string(meta.namespace_name),
                          .name = std::string(meta.name),
                          .pods = pods,
                          .ready = std::min(aside.pods_ready, pods),
                          .creation_time = meta.creation_time});
  }
  return to_->OnController(controller);
}

absl::Status InputCensus::OnNamespace(const objects::Namespace& namespace_object) {
  const objects::ObjectMeta& meta = namespace_object.meta;
  bool is_new = true;
  NotePlace("Namespace");
  if (absl::Status s = Meet("Namespace", meta, namespace_object, is_new); !s.ok() || !is_new)
    return s;
  NoteUid("Namespace", meta);
  namespaces_.insert(std::string(meta.name));
  if (meta.name == kSystemNamespace) cluster_uid_ = std::string(meta.uid);
  if (!IsMadeByPlatform(meta.name) && !meta.deletion_time) {
    own_namespaces_.push_back({std::string(meta.name), meta.creation_time});
  }
  return to_->OnNamespace(namespace_object);
}

absl::Status InputCensus::OnStorageObject(const objects::StorageObject& object) {
  const std::string_view kind = objects::KindOf(object);
  const objects::ObjectMeta& meta = objects::MetaOf(&object);
  bool is_new = true;
  if (absl::Status s = Meet(kind, meta, object, is_new); !s.ok() || !is_new) return s;
  NoteUid(kind, meta);
  NoteHolding(meta.namespace_name);
  NoteStorage(object);
  return to_->OnStorageObject(object);
}

absl::Status InputCensus::OnList(std::string_view kind, uint64_t items) {
  if (kind == "PodDisruptionBudget") budgets_known_ = true;
  if (!kind.empty() && items == 0) empty_kinds_.insert(std::string(kind));
  if (kind.empty() && items == 0) empty_list_of_any_kind_ = true;
  return to_->OnList(kind, items);
}

absl::Status InputCensus::OnPartOfList(std::string_view why) {
  if (!takes_pages_) return ObjectSink::OnPartOfList(why);
  if (parts_of_lists_++ == 0) first_part_of_list_ = std::string(why);
  return absl::OkStatus();
}

// ---------------------------------------------------------------------------
// Checking the input

class InputCensus::LackFinder {
 public:
  LackFinder(const InputCensus& census, InputSource source, const ClusterSnapshot& cluster,
             int64_t newest_time, std::vector<InputWarning>& warnings)
      : census_(census),
        source_(source),
        cluster_(cluster),
        catalog_(cluster.catalog()),
        newest_time_(newest_time),
        warnings_(warnings),
        pods_of_(catalog_.pod_shapes()) {
    for (uint32_t p = 0; p < catalog_.pods(); ++p) {
      if (catalog_.IsThere(PodId{p})) ++pods_of_[Index(catalog_.shape_id(PodId{p}))];
    }
  }

  void NoPods() {
    if (census_.nodes_ == 0 || census_.pods_ > 0) return;
    Warn("NoPods",
         absl::StrCat(Input(), " has ", Count(census_.nodes_, "node", "nodes"),
                      " and not a single pod, so that it cannot be a whole cluster"),
         Lack::kPods);
  }

  void KubeSystem() {
    if (census_.pods_ == 0 && census_.nodes_ > 0) return;  // NoPods() warns about that.
    const auto& with_pods = census_.namespaces_of_pods_;
    if (with_pods.contains(Absl(kSystemNamespace))) return;
    // The namespaces were listed without kube-system: a cluster that is not quite Kubernetes, but
    // a whole one.
    if (!census_.namespaces_.empty() && !census_.namespaces_.contains(Absl(kSystemNamespace)))
      return;
    // OpenShift has its system in other namespaces.
    if (std::any_of(with_pods.begin(), with_pods.end(), IsOfOpenShift)) return;
    // EKS Auto Mode runs the system outside of pods.
    bool all_without = cluster_.nodes() > 0;
    for (uint32_t n = 0; n < catalog_.nodes() && all_without; ++n) {
      all_without =
          !catalog_.IsThere(NodeId{n}) || MayBeWithoutPods(catalog_, catalog_.node(NodeId{n}));
    }
    if (all_without) return;
    Warn(kNoSystem,
         with_pods.size() == 1
             ? absl::StrCat("all pods are of namespace ", Printable(*with_pods.begin()),
                            " and none of kube-system; ", Suspected(Suspicion::kOneNamespace))
             : absl::StrCat("there is no pod of kube-system; ",
                            Suspected(Suspicion::kMissingNamespaces)),
         IsOfApiServer() ? Lack::kPods : Lack::kNothing);
  }

  // kubectl without -A lists the current namespace; `kubectl cluster-info dump` also kube-system.
  void UnlistedNamespaces() {
    const auto& with_pods = census_.namespaces_of_pods_;
    if (std::any_of(with_pods.begin(), with_pods.end(), IsOfOpenShift) &&
        std::all_of(with_pods.begin(), with_pods.end(), IsMadeByPlatform) &&
        census_.own_namespaces_.empty()) {
      Warn("NamespacesNotListed",
           absl::StrCat("all pods and namespaces are OpenShift's own",
                        Suspected(Suspicion::kPlatformsNamespaces)),
           census_.of_one_moment_ && IsOfApiServer() ? Lack::kPods : Lack::kNothing, kAllKinds);
      return;
    }
    if (IsOfNamespacesOneByOne()) {
      Warn("NamespacesNotListed",
           "nodes or Namespaces come one by one, as `oc adm inspect` and must-gather write them, "
           "and no list of Namespaces says whether there are others",
           Lack::kKinds);
      return;
    }
    if (!census_.namespaces_.empty() || !with_pods.contains(Absl(kSystemNamespace))) return;
    if (with_pods.size() > 2) return;
    std::string others;
    for (const std::string& name : with_pods) {
      if (name != kSystemNamespace) absl::StrAppend(&others, " and ", Printable(name));
    }
    Warn("NamespacesNotListed",
         absl::StrCat("all pods are of kube-system", others,
                      ", and no Namespace says whether there are others"),
         Lack::kKinds);
  }

  void EmptyNamespaces() {
    std::vector<std::string> empty;
    size_t filled = 0;
    for (const ListedNamespace& each : census_.own_namespaces_) {
      if (census_.namespaces_of_pods_.contains(each.name) ||
          census_.namespaces_that_hold_.contains(each.name)) {
        ++filled;
      } else if (newest_time_ - each.creation_time >= kOldNamespaceSeconds ||
                 each.creation_time == 0) {
        empty.push_back(each.name);
      }
    }
    // A dump of kube-system has content for none of these namespaces, a dump of the current
    // namespace for one, and a dump by a restricted user for the namespaces that the user
    // may read.  In a big cluster some namespaces still wait for their first pods.
    const size_t all = empty.size() + filled;
    const bool are_some = empty.size() < kSomeEmpty || kPartsThatMayBeEmpty * empty.size() < all;
    if (empty.empty() || (filled > 0 && are_some)) return;
    const bool are_all = filled == 0 && empty.size() >= kAllEmptyNamespaces && IsOfApiServer();
    const bool are_many = filled <= 1 && empty.size() >= kManyEmptyNamespaces;
    std::sort(empty.begin(), empty.end());
    Warn("NamespacesWithoutObjects",
         absl::StrCat(empty.size(), " of ", Count(all, "namespace", "namespaces"),
                      empty.size() == 1 ? " holds" : " hold",
                      " no pod, controller, claim or budget; ",
                      Suspected(Suspicion::kSomeNamespaces), ": ", Some(empty)),
         are_all || are_many || (filled <= 1 && !HasSystemPods()) ? Lack::kPods : Lack::kNothing);
  }

  void Budgets() {
    if (census_.budgets_known_) return;
    Warn("NoPodDisruptionBudgets",
         absl::StrCat(
             Input(), " has no PodDisruptionBudget, so the plan may move pods that one protects",
             census_.empty_list_of_any_kind_ ? " (an empty List does not say what it is a list of)"
                                             : ""),
         Lack::kKinds);
  }

  // Budgets that count pods although the input has none that they select, and budgets of
  // namespaces that are not in the input.  They are of another cluster, or pods are missing.
  void BudgetsOfOthers() {
    if (!census_.of_one_moment_) return;
    BudgetsWithoutPods();
    BudgetsOfUnknownNamespaces();
  }

  void Controllers() {
    std::array<uint64_t, kKnownOwners.size()> missing{};
    std::array<bool, kKnownOwners.size()> found{};
    for (uint32_t s = 0; s < pods_of_.size(); ++s) {
      const PodShape& shape = catalog_.shape(PodShapeId{s});
      if (pods_of_[s] == 0 || !shape.has_controller) continue;
      const KnownOwner* const kind = KindOf(catalog_, shape.controller);
      if (kind == nullptr) continue;
      const auto k = static_cast<size_t>(kind - kKnownOwners.data());
      if (found[k]) continue;
      found[k] = catalog_.FindController(kind->kind, shape.namespace_name, shape.controller.name) !=
                 nullptr;
      missing[k] += static_cast<uint64_t>(pods_of_[s]);
    }
    std::string kinds;
    std::string resources;
    uint64_t pods = 0;
    bool all_listed = true;  // The controllers are gone; their kinds were listed as empty.
    for (size_t k = 0; k < kKnownOwners.size(); ++k) {
      if (missing[k] == 0 || found[k]) continue;
      all_listed = all_listed && IsKnownToBeEmpty(kKnownOwners[k].name);
      absl::StrAppend(&kinds, kinds.empty() ? "" : ", ", Absl(kKnownOwners[k].name));
      absl::StrAppend(&resources, resources.empty() ? "" : ",", Absl(kKnownOwners[k].resource));
      pods += missing[k];
    }
    if (pods == 0) return;
    Warn("NoControllers",
         absl::StrCat(Count(pods, "pod has an owner", "pods have owners"),
                      " of a kind that the input lacks, and will keep ",
                      pods == 1 ? "its node: " : "their nodes: ", kinds),
         all_listed ? Lack::kNothing : Lack::kKinds, resources);
  }

  // A controller that was deleted and created again has another UID.  Only few pods still name the
  // old one.  If many pods do, the controllers are of another cluster, which was installed from the
  // same charts.
  void ControllersOfOtherUids() {
    int64_t pods = 0;
    int64_t others = 0;
    std::vector<bool> is_other(pods_of_.size());  // By shape.
    for (uint32_t s = 0; s < pods_of_.size(); ++s) {
      const PodShape& shape = catalog_.shape(PodShapeId{s});
      if (pods_of_[s] == 0 || !shape.has_controller) continue;
      const KnownOwner* const kind = KindOf(catalog_, shape.controller);
      if (kind == nullptr || catalog_.Text(shape.controller.uid).empty()) continue;
      const ControllerStatus* const controller =
          catalog_.FindController(kind->kind, shape.namespace_name, shape.controller.name);
      if (controller == nullptr || catalog_.Text(controller->uid).empty()) continue;
      pods += pods_of_[s];
      if (controller->uid == shape.controller.uid) continue;
      is_other[s] = true;
      others += pods_of_[s];
    }
    if (others <= Tolerated(pods)) return;
    const std::string first = FirstPodOf(is_other);
    Warn("ControllersOfOtherUids",
         absl::StrCat(Count(static_cast<uint64_t>(others), "pod names", "pods name"),
                      " controllers by other UIDs than those of ", Input(), " (", Printable(first),
                      "): ", Suspected(Suspicion::kTwoClusters)));
  }

  // Every pod has containers: someone removed them, and with them the pod's requests.
  void PodsWithoutContainers() {
    if (census_.pods_without_containers_ == 0) return;
    Warn("PodsWithoutContainers",
         absl::StrCat(Count(census_.pods_without_containers_, "pod has", "pods have"),
                      " no containers, which counts as asking for nothing: ",
                      Printable(census_.first_without_containers_)),
         LackOfMany(static_cast<int64_t>(census_.pods_without_containers_),
                    static_cast<int64_t>(census_.pods_)) == Lack::kPods
             ? Lack::kKinds
             : Lack::kNothing);
  }

  // Pods that controllers count and that are not in the input.
  void PodsOfControllers() {
    if (census_.workloads_.empty()) return;
    const auto pods = PodsByController();
    const auto terminating = TerminatingByController();
    int64_t too_many = 0;
    std::string first_beyond;
    std::vector<std::string> daemon_sets;  // DaemonSets without any pod.
    int64_t of_daemon_sets = 0;            // Pods that these DaemonSets count.
    // DaemonSets are counted separately: they have a pod on every node, which would hide that all
    // other pods are missing.
    int64_t missing = 0;
    int64_t counted = 0;
    int64_t missing_of_daemons = 0;
    int64_t counted_of_daemons = 0;
    std::string first;
    std::string first_of_daemons;
    for (const Workload& workload : census_.workloads_) {
      if (IsYoung(workload)) continue;
      const std::string_view kind = objects::KindOf(workload.kind);
      const int64_t there = PodsOf(workload, pods);
      if (CountsAllPods(workload.kind) && there > workload.pods) {
        const auto leaving = terminating.find(KeyOf(workload));
        const int64_t beyond =
            there - workload.pods - (leaving == terminating.end() ? 0 : leaving->second);
        if (beyond > 0 && first_beyond.empty()) {
          first_beyond =
              absl::StrCat(Absl(kind), " ", Printable(workload.namespace_name), "/",
                           Printable(workload.name), " has ", there, " of ", workload.pods);
        }
        too_many += std::max<int64_t>(beyond, 0);
      }
      const std::string name = absl::StrCat(workload.namespace_name, "/", workload.name);
      const bool is_daemon = workload.kind == objects::ControllerKind::kDaemonSet;
      if (there == 0 && is_daemon) {
        daemon_sets.push_back(name);
        of_daemon_sets += workload.pods;
        continue;
      }
      (is_daemon ? counted_of_daemons : counted) += workload.pods;
      if (there >= workload.pods) continue;
      (is_daemon ? missing_of_daemons : missing) += workload.pods - there;
      std::string& example = is_daemon ? first_of_daemons : first;
      if (example.empty()) {
        example =
            absl::StrCat(Absl(kind), " ", Printable(name), " has ", there, " of ", workload.pods);
      }
    }
    const Lack lack_of_daemons =
        LackOfMany(missing_of_daemons + of_daemon_sets, counted_of_daemons + of_daemon_sets);
    if (!daemon_sets.empty()) {
      std::sort(daemon_sets.begin(), daemon_sets.end());
      Warn("DaemonSetsWithoutPods",
           absl::StrCat(Count(daemon_sets.size(), "DaemonSet says", "DaemonSets say"),
                        " that pods of it are ready, and none is there: ", Some(daemon_sets)),
           lack_of_daemons);
    }
    const int64_t all_counted = counted + counted_of_daemons;
    const int64_t all_missing = missing + missing_of_daemons;
    if (too_many > Tolerated(all_counted)) {
      Warn("TooManyPods", absl::StrCat(Count(static_cast<uint64_t>(too_many), "pod is", "pods are"),
                                       " there beyond the ",
                                       Count(static_cast<uint64_t>(all_counted), "pod", "pods"),
                                       " that controllers count: ", first_beyond, "; ",
                                       Suspected(Suspicion::kPodsOfTwoMoments)));
    }
    const Doubt doubt = DoubtOfControllers(pods);
    const bool are_few = missing <= Tolerated(counted) &&
                         missing_of_daemons <= Tolerated(counted_of_daemons) &&
                         all_missing <= Tolerated(all_counted);
    if (are_few && doubt.text.empty()) return;
    const Lack lack = std::max({LackOfMany(missing, counted), lack_of_daemons, doubt.lack});
    std::string apart;  // Set where the share of all pods does not show what is missing.
    if (!are_few && lack != LackOfMany(all_missing, all_counted)) {
      apart = absl::StrCat(" (", WithCommas(static_cast<uint64_t>(missing)), " of ",
                           WithCommas(static_cast<uint64_t>(counted)), " without DaemonSets)");
    }
    const std::string& example = are_few ? doubt.text : missing > 0 ? first : first_of_daemons;
    Warn("PodsMissing",
         absl::StrCat(Count(static_cast<uint64_t>(all_missing), "pod is", "pods are"),
                      " missing of ", Count(static_cast<uint64_t>(all_counted), "pod", "pods"),
                      " that controllers count", apart, ": ", example),
         lack);
  }

  // Namespaces in which controllers count pods, but without any pod in the input: the user who made
  // the dump may not read them, or left them out.
  void NamespacesWithoutPods() {
    // Controllers that a watch reports, or that people write, may be ahead of their pods.
    if (!IsOfApiServer() || census_.pods_ == 0) return;
    struct Counts {
      size_t controllers = 0;
      int64_t pods = 0;
    };
    absl::flat_hash_map<std::string, Counts> counts;
    for (const Workload& workload : census_.workloads_) {
      if (census_.namespaces_of_pods_.contains(workload.namespace_name)) continue;
      if (IsNew(workload)) continue;
      Counts& of = counts[workload.namespace_name];
      ++of.controllers;
      of.pods += workload.pods;
    }
    std::vector<std::string> without;
    for (const auto& [name, of] : counts) {
      if (of.controllers >= kSeveralControllers && of.pods >= static_cast<int64_t>(kFew)) {
        without.push_back(name);
      }
    }
    if (without.empty()) return;
    std::sort(without.begin(), without.end());
    Warn("NamespacesWithoutPods",
         absl::StrCat("controllers of ", Count(without.size(), "namespace", "namespaces"),
                      " count pods, and no pod is there: ", Some(without)),
         Lack::kPods);
  }

  // A cluster allocates a pod's claims before it binds the pod.
  void DeviceClaims() {
    uint64_t with_claims = 0;
    std::vector<std::string> without;
    for (uint32_t p = 0; p < catalog_.pods(); ++p) {
      const PodShape& shape = catalog_.shape_of(PodId{p});
      if (shape.resource_claims.empty() || cluster_.NodeOf(PodId{p}) == kNoNode) continue;
      ++with_claims;
      const bool all_known = std::ranges::all_of(shape.resource_claims, [&](const auto& claim) {
        return catalog_.devices().IsAllocated(shape.namespace_name, claim.claim_name);
      });
      if (!all_known) without.push_back(catalog_.PodName(PodId{p}));
    }
    if (without.empty() || without.size() <= with_claims / kPartsPerChange) return;
    std::ranges::sort(without);
    Warn("DeviceClaimsMissing",
         absl::StrCat(Count(without.size(), "placed pod has", "placed pods have"),
                      " ResourceClaims that are not there, or not allocated: ", Some(without),
                      "; it is not known which devices they use; ",
                      Suspected(Suspicion::kMissingClaims)),
         Lack::kKinds);
  }

  // Volumes, claims and drivers to which objects of the input refer.
  void Storage() {
    if (census_.claims_.empty() && census_.pods_with_claims_ > 0) {
      Warn("NoPersistentVolumeClaims",
           absl::StrCat(Count(census_.pods_with_claims_, "pod mounts", "pods mount"), " claims (",
                        Printable(census_.first_with_claims_),
                        "), and no PersistentVolumeClaim is there, so that nothing is known of "
                        "where they can go"),
           Lack::kKinds);
    } else {
      ClaimsOfVolumes();
    }
    if (census_.volumes_ == 0 && census_.bound_claims_ > 0 &&
        !IsKnownToBeEmpty("PersistentVolume")) {
      Warn("NoPersistentVolumes",
           absl::StrCat(Count(census_.bound_claims_, "claim is", "claims are"),
                        " bound, and no PersistentVolume is there, so that nothing is known of "
                        "where pods that mount them can go"),
           Lack::kKinds);
    }
    if (census_.unbound_with_class_ > 0 && census_.storage_classes_ == 0 &&
        !IsKnownToBeEmpty("StorageClass")) {
      Warn("NoStorageClasses",
           absl::StrCat(Count(census_.unbound_with_class_, "claim waits", "claims wait"),
                        " for a volume of a StorageClass (", Printable(census_.first_unbound_),
                        "), and no StorageClass is there, so that no room is found for pods that "
                        "mount them"),
           Lack::kKinds);
    }
    if (census_.bound_csi_volumes_ > 0 && census_.pods_with_claims_ > 0 &&
        census_.csi_nodes_ == 0 && !IsKnownToBeEmpty("CSINode")) {
      Warn("NoCSINodes",
           absl::StrCat(Count(census_.bound_csi_volumes_, "volume is", "volumes are"),
                        " of CSI drivers, and no CSINode says how many of them a node can take"),
           Lack::kKinds);
    }
    Attachments();
    DriversOfWaitingClaims();
  }

  // A volume stays attached for a while after its pod is gone, and counts against its driver's
  // limit for as long.
  void Attachments() {
    if (census_.attachments_ > 0 || census_.pods_with_claims_ == 0) return;
    if (IsKnownToBeEmpty("VolumeAttachment")) return;
    uint64_t volumes = 0;
    std::string first;
    for (const auto& [driver, count] : census_.bound_volumes_of_driver_) {
      if (!census_.drivers_with_limit_.contains(driver)) continue;
      if (first.empty() || driver < first) first = driver;
      volumes += count;
    }
    if (volumes == 0) return;
    Warn("NoVolumeAttachments",
         absl::StrCat(Count(volumes, "volume is", "volumes are"), " of a CSI driver with a limit (",
                      Printable(first),
                      "), and no VolumeAttachment says which nodes they are attached to, so that "
                      "more may be attached to a node than its pods mount"),
         Lack::kKinds);
  }

  // Claims that wait for their pod.  Such a claim needs room on the pod's node if the driver's
  // CSIDriver says that it reports its capacity.
  void DriversOfWaitingClaims() {
    uint64_t waiting = 0;
    uint64_t with_capacity = 0;
    std::string first;
    for (const auto& [name, provisioner] : census_.waiting_classes_) {
      const auto claims = census_.unbound_of_class_.find(name);
      const uint64_t unbound = claims == census_.unbound_of_class_.end() ? 0 : claims->second;
      if (unbound == 0 && census_.pods_with_ephemeral_claims_ == 0) continue;
      ++waiting;
      if (census_.drivers_with_capacity_.contains(provisioner)) ++with_capacity;
      if (first.empty() || name < first) first = name;
    }
    if (waiting == 0) return;
    if (census_.csi_drivers_ == 0 && !IsKnownToBeEmpty("CSIDriver")) {
      Warn("NoCSIDrivers",
           absl::StrCat("claims wait for their pods' nodes (StorageClass ", Printable(first),
                        "), and no CSIDriver says whether the room on a node counts"),
           Lack::kKinds);
    }
    if (with_capacity > 0 && census_.capacities_ == 0 && !IsKnownToBeEmpty("CSIStorageCapacity")) {
      Warn("NoCSIStorageCapacities",
           absl::StrCat("claims wait for room on their pods' nodes (StorageClass ",
                        Printable(first), "), and no CSIStorageCapacity says where there is any"),
           Lack::kKinds);
    }
  }

  // A page of a list, or another part of it.
  void PartsOfLists() {
    if (census_.parts_of_lists_ == 0) return;
    Warn("PartOfAList", census_.first_part_of_list_, Lack::kPods);
  }

  // Whatever created nodes also deletes them, and its own objects are the first to show it.
  void MakersOfNodes() {
    uint64_t karpenters = 0;
    uint64_t with_claims = 0;
    std::string first;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      if (!catalog_.IsThere(NodeId{n})) continue;
      const NodeMaker maker = MakerOf(catalog_, catalog_.node(NodeId{n}));
      if (maker == NodeMaker::kOther) continue;
      if (karpenters++ == 0) first = catalog_.NodeName(NodeId{n});
      with_claims += maker == NodeMaker::kNodeClaim ? 1 : 0;
    }
    const std::string nodes =
        absl::StrCat(Count(karpenters, "node is", "nodes are"), " Karpenter's (", Printable(first),
                     AndMore(karpenters), ")");
    bool has_pools = census_.node_pools_ > 0 || IsKnownToBeEmpty("NodePool");
    census_.unevaluated_
        .ForEach([&](const ObjectSink::Unevaluated& object) {
          has_pools |= object.kind == "Provisioner";
          return absl::OkStatus();
        })
        .IgnoreError();
    if (karpenters > 0 && !has_pools) {
      Warn("NoNodePools",
           absl::StrCat(nodes,
                        ", and no NodePool is there: nodepools may forbid that nodes are removed "
                        "(disruption budgets, consolidationPolicy, consolidateAfter)"),
           Lack::kKinds);
    }
    if (with_claims > 0 && census_.node_claims_ == 0 && !IsKnownToBeEmpty("NodeClaim")) {
      Warn("NoNodeClaims",
           absl::StrCat(nodes,
                        ", and no NodeClaim is there: which nodes Karpenter is deleting is not "
                        "known, so that the plan may count on their room"),
           Lack::kKinds);
    }
    if (census_.nodes_of_machines_ > 0 && census_.openshift_machines_ == 0 &&
        !IsKnownToBeEmpty("Machine")) {
      Warn("NoMachines",
           absl::StrCat(
               Count(census_.nodes_of_machines_, "node has a Machine", "nodes have Machines"), " (",
               Printable(census_.first_of_machines_), AndMore(census_.nodes_of_machines_),
               "), and no Machine is there: which nodes are being deleted with their Machines is "
               "not known, so that the plan may count on their room"),
           Lack::kKinds);
    }
  }

  // Nodes without a pod of a DaemonSet of the system, while most other nodes have one.
  void NodesWithoutDaemons() {
    const std::vector<bool> has_daemon = NodesWithDaemons();
    uint64_t with = 0;
    std::vector<std::string> without;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      const NodeInfo& node = catalog_.node(NodeId{n});
      if (!catalog_.IsThere(NodeId{n}) || !IsOldAndReady(node)) continue;
      if (has_daemon[n]) {
        ++with;
      } else if (!cluster_.PodsOn(NodeId{n}).empty()) {
        // NodesWithoutPods() reports nodes that are empty.
        without.emplace_back(catalog_.Text(node.name));
      }
    }
    constexpr uint64_t kOthers = 2;  // Nodes with daemons that are needed for each one without.
    const auto all = static_cast<int64_t>(with + without.size());
    if (with < kOthers * without.size() ||
        LackOfMany(static_cast<int64_t>(without.size()), all) == Lack::kNothing) {
      return;
    }
    Warn("NodesWithoutDaemons",
         absl::StrCat(Count(without.size(), "node has", "nodes have"),
                      " pods and none of a DaemonSet of the system, as ",
                      Count(with, "other has", "others have"), ": ", Some(without)),
         Lack::kPods);
  }

  void Manifests() {
    if (census_.without_uid_ == 0 || census_.with_uid_ < census_.without_uid_) return;
    Warn("ObjectsWithoutUid",
         absl::StrCat(
             Count(census_.without_uid_, "object has", "objects have"),
             " no metadata.uid, which every object of a cluster has: ", census_.first_without_uid_,
             census_.without_uid_ > 1 ? ", ..." : "", "; ", Suspected(Suspicion::kManifests)));
  }

  void NodesWithoutPods() {
    if (census_.pods_ == 0) return;
    const std::vector<bool> has_daemon = NodesWithDaemons();
    std::vector<std::string> empty;
    int64_t old_nodes = 0;
    int64_t with_daemons = 0;
    for (uint32_t n = 0; n < catalog_.nodes(); ++n) {
      const NodeInfo& node = catalog_.node(NodeId{n});
      if (!catalog_.IsThere(NodeId{n}) || !IsOldAndReady(node)) continue;
      ++old_nodes;
      if (has_daemon[n]) ++with_daemons;
      if (!cluster_.PodsOn(NodeId{n}).empty()) continue;
      const std::string_view name = catalog_.Text(node.name);
      if (!census_.nodes_of_idle_pods_.contains(Absl(name))) empty.emplace_back(name);
    }
    if (empty.empty()) return;
    Warn("NodesWithoutPods",
         absl::StrCat(Count(empty.size(), "node is", "nodes are"),
                      " Ready for long and without any pod, even a DaemonSet's: ", Some(empty)),
         LackOfEmptyNodes(empty.size(), old_nodes, with_daemons));
  }

  void Namespaces() {
    if (census_.pods_that_ask_namespaces_ == 0) return;
    std::vector<std::string> unknown;
    for (const std::string& name : census_.namespaces_of_pods_) {
      if (!census_.namespaces_.contains(name)) unknown.push_back(name);
    }
    if (unknown.empty()) return;
    std::sort(unknown.begin(), unknown.end());
    Warn("NoNamespaces",
         absl::StrCat(Count(census_.pods_that_ask_namespaces_, "pod selects", "pods select"),
                      " namespaces by labels (", Printable(census_.first_that_asks_namespaces_),
                      "), and ",
                      Count(unknown.size(), "namespace of pods is", "namespaces of pods are"),
                      " not there, whose pods keep their nodes where it matters: ", Some(unknown)),
         Lack::kKinds);
  }

  void TwoVersions() {
    if (census_.of_two_moments_ > 0) {
      Warn("DumpsOfTwoMoments",
           absl::StrCat(Count(census_.of_two_moments_, "object", "objects"),
                        " came in two versions with the same content (",
                        census_.first_of_two_moments_,
                        "), so dumps of two moments seem to be mixed, and what went away between "
                        "them is still there"));
    }
    if (census_.of_two_versions_ == 0) return;
    Warn("ObjectsInTwoVersions", absl::StrCat(Count(census_.of_two_versions_, "object", "objects"),
                                              " came in two versions; the newer one counts: ",
                                              census_.first_of_two_versions_));
  }

 private:
  // Whether the input consists of lists of single namespaces, as `oc adm inspect` writes them, and
  // no list of the namespaces is in it.
  [[nodiscard]] bool IsOfNamespacesOneByOne() const {
    const auto& with_pods = census_.namespaces_of_pods_;
    return IsOfApiServer() && census_.nodes_or_namespaces_alone_ && !census_.namespaces_in_list_ &&
           (census_.pods_in_list_ ||
            std::any_of(with_pods.begin(), with_pods.end(), IsOfOpenShift));
  }

  using ControllerPods =
      absl::flat_hash_map<std::tuple<objects::ControllerKind, TextId, TextId>, int64_t>;

  // A doubt that single controllers raise although the counts of all controllers do not.
  struct Doubt {
    std::string text;  // Empty: nothing.
    Lack lack = Lack::kNothing;
  };

  // There are two such doubts: a controller lacks most of its pods; or the input has no pending pod
  // while controllers count more pods than there are.  Small numbers of pods are ignored.  So are
  // controllers created in the last minute, as in a rollout: their pods may have been created after
  // pods were listed.  But pods that are ready must have existed before.
  [[nodiscard]] Doubt DoubtOfControllers(const ControllerPods& pods) const {
    constexpr auto kFewPods = static_cast<int64_t>(kFew);
    Doubt doubt;
    if (!census_.of_one_moment_) return doubt;
    int64_t not_pending = 0;
    std::string first_not_pending;
    size_t without_most = 0;
    std::string first;
    for (const Workload& workload : census_.workloads_) {
      if (IsNew(workload)) continue;
      const int64_t there = PodsOf(workload, pods);
      const int64_t missing = workload.pods - there;
      if (missing <= 0) continue;
      const std::string text = absl::StrCat(
          Absl(objects::KindOf(workload.kind)), " ", Printable(workload.namespace_name), "/",
          Printable(workload.name), " has ", there, " of ", workload.pods);
      if (workload.kind != objects::ControllerKind::kDaemonSet) {
        if (not_pending == 0) first_not_pending = text;
        not_pending += missing;
      }
      const bool were_there = workload.ready - there > kFewPods;
      if (2 * missing <= workload.pods || (!were_there && missing <= 2 * kFewPods)) continue;
      if (without_most++ == 0) first = text;
      if (were_there) {
        doubt.lack = std::max(doubt.lack, LackOfMany(workload.ready - there, workload.ready));
      }
    }
    if (without_most > 0) {
      doubt.text = without_most == 1
                       ? first
                       : absl::StrCat(first, ", and ", without_most - 1,
                                      without_most == 2 ? " other lacks" : " others lack",
                                      " most of their pods");
    } else if (IsOfApiServer() && !census_.has_pending_pods_ && not_pending > kFewPods) {
      doubt.text = absl::StrCat(first_not_pending,
                                "; no pod is in phase Pending, as in a list of running pods alone "
                                "(--field-selector=status.phase=Running)");
      if (not_pending > 2 * kFewPods) doubt.lack = Lack::kPods;
    }
    return doubt;
  }

  // How many of `pods` pods may contradict their controllers.  In a small cluster one may come or
  // go between two lists, and several between the events of two watches.
  [[nodiscard]] int64_t Tolerated(int64_t pods) const {
    return census_.of_one_moment_ ? 1 + pods / kPartsPerChange : 5 + pods / kPartsOfWatches;
  }

  // kPods if `missing` of `all` are so many that they must be missing from the input.
  [[nodiscard]] Lack LackOfMany(int64_t missing, int64_t all) const {
    // Hand-written clusters often count replicas without having the pods.
    const auto few = static_cast<int64_t>(IsOfApiServer() ? kFew : 2 * kFew);
    const auto share = all / static_cast<int64_t>(kPartsThatMustBeMissing);
    const int64_t bound = few + (census_.of_one_moment_ ? share : 2 * share);
    return missing > bound ? Lack::kPods : Lack::kNothing;
  }

  // Nodes without any pod are a fault of the input only if their daemons' pods should be there: the
  // input has no pods of the system at all, or most other nodes have daemons' pods.  In a cluster
  // without daemons, such as k3s, nodes may really be empty.
  [[nodiscard]] Lack LackOfEmptyNodes(size_t empty, int64_t old_nodes, int64_t with_daemons) const {
    const bool others_have = 2 * with_daemons > old_nodes - static_cast<int64_t>(empty);
    if (HasSystemPods() && !others_have) return Lack::kNothing;
    return LackOfMany(static_cast<int64_t>(empty), old_nodes);
  }

  // For each node, whether it runs a pod of a DaemonSet of the system or of its own kubelet.  Other
  // DaemonSets may be for some nodes only.
  [[nodiscard]] std::vector<bool> NodesWithDaemons() const {
    std::vector<bool> is_daemon(pods_of_.size());  // By shape.
    for (uint32_t s = 0; s < pods_of_.size(); ++s) {
      const PodShape& shape = catalog_.shape(PodShapeId{s});
      if (!shape.has_controller) continue;
      const std::string_view in = catalog_.Text(shape.namespace_name);
      if (in != kSystemNamespace && !IsOfOpenShift(in)) continue;
      const std::string_view kind = catalog_.Text(shape.controller.kind);
      is_daemon[s] = kind == "DaemonSet" || kind == "Node";
    }
    std::vector<bool> has(catalog_.nodes());
    for (uint32_t p = 0; p < catalog_.pods(); ++p) {
      if (!catalog_.IsThere(PodId{p}) || !is_daemon[Index(catalog_.shape_id(PodId{p}))]) continue;
      const NodeId node = cluster_.NodeOf(PodId{p});
      if (node != kNoNode) has[Index(node)] = true;
    }
    return has;
  }

  [[nodiscard]] bool HasSystemPods() const {
    const auto& with_pods = census_.namespaces_of_pods_;
    return with_pods.contains(Absl(kSystemNamespace)) ||
           std::any_of(with_pods.begin(), with_pods.end(), IsOfOpenShift);
  }

  // Whether the objects were listed from an API server.  It gives each object a resourceVersion,
  // which people leave out who write a cluster by hand.
  [[nodiscard]] bool IsOfApiServer() const {
    return census_.of_one_moment_ && census_.nodes_with_version_ == census_.nodes_ &&
           census_.pods_with_version_ == census_.pods_;
  }

  [[nodiscard]] bool IsOldAndReady(const NodeInfo& node) const {
    return node.ready && node.creation_time != 0 &&
           newest_time_ - node.creation_time >= kOldNodeSeconds &&
           !MayBeWithoutPods(catalog_, node);
  }

  [[nodiscard]] bool IsKnownToBeEmpty(std::string_view kind) const {
    return census_.empty_kinds_.contains(Absl(kind));
  }

  // The number of pods of each controller, from the number of pods of each shape.
  [[nodiscard]] ControllerPods ByController(const std::vector<int64_t>& of_shape) const {
    ControllerPods pods;
    for (uint32_t s = 0; s < of_shape.size(); ++s) {
      const PodShape& shape = catalog_.shape(PodShapeId{s});
      if (of_shape[s] == 0 || !shape.has_controller) continue;
      const KnownOwner* const kind = KindOf(catalog_, shape.controller);
      if (kind == nullptr) continue;
      pods[{kind->kind, shape.namespace_name, shape.controller.name}] += of_shape[s];
    }
    return pods;
  }

  // Counts all pods except pods that have ended or are left out as expendable.
  [[nodiscard]] ControllerPods PodsByController() const { return ByController(pods_of_); }

  // "namespace/name" of the first pod with one of these shapes; empty if there is none.
  [[nodiscard]] std::string FirstPodOf(const std::vector<bool>& shapes) const {
    for (uint32_t p = 0; p < catalog_.pods(); ++p) {
      const PodId pod{p};
      if (catalog_.IsThere(pod) && shapes[Index(catalog_.shape_id(pod))]) {
        return catalog_.PodName(pod);
      }
    }
    return "";
  }

  // Counts pods that are being deleted, which controllers no longer count.
  [[nodiscard]] ControllerPods TerminatingByController() const {
    std::vector<int64_t> of_shape(catalog_.pod_shapes());
    for (const auto& [pod, time] : catalog_.deletion_times()) {
      ++of_shape[Index(catalog_.shape_id(pod))];
    }
    return ByController(of_shape);
  }

  // Whether such a controller's status counts all its pods except ended and deleted ones.
  static bool CountsAllPods(objects::ControllerKind kind) {
    return kind == objects::ControllerKind::kReplicaSet ||
           kind == objects::ControllerKind::kReplicationController;
  }

  // The controller's key; no pod has it if the catalog does not know the names.
  [[nodiscard]] ControllerPods::key_type KeyOf(const Workload& workload) const {
    return {workload.kind, catalog_.symbols().Find(workload.namespace_name).value_or(kNoText),
            catalog_.symbols().Find(workload.name).value_or(kNoText)};
  }

  [[nodiscard]] int64_t PodsOf(const Workload& workload, const ControllerPods& pods) const {
    const auto found = pods.find(KeyOf(workload));
    const int64_t there = found == pods.end() ? 0 : found->second;
    if (census_.expendable_pods_.empty()) return there;
    const auto expendable = census_.expendable_pods_.find(
        ControllerKey(objects::KindOf(workload.kind), workload.namespace_name, workload.name));
    return there + (expendable == census_.expendable_pods_.end() ? 0 : expendable->second);
  }

  // A Job counts its pods as soon as it creates them.  So a Job that began while the dump was made
  // counts pods that the list of pods could not contain.
  [[nodiscard]] bool IsYoung(const Workload& workload) const {
    return workload.kind == objects::ControllerKind::kJob && IsNew(workload);
  }

  void BudgetsWithoutPods() {
    const std::span<const Pdb> budgets = catalog_.pdbs();
    std::vector<bool> selects(budgets.size());
    for (uint32_t s = 0; s < pods_of_.size(); ++s) {
      if (pods_of_[s] == 0) continue;
      for (const PdbId budget : catalog_.shape(PodShapeId{s}).budgets) {
        selects[Index(budget)] = true;
      }
    }
    int64_t counted = 0;
    int64_t missing = 0;
    std::vector<std::string> without;
    for (size_t b = 0; b < budgets.size(); ++b) {
      const Pdb& budget = budgets[b];
      const int64_t expected = std::clamp<int64_t>(budget.expected_pods.value_or(0), 0, INT32_MAX);
      counted += expected;
      // Ended pods may be selected too; a status that cannot be computed is of another time.
      const std::string_view in = catalog_.Text(budget.namespace_name);
      if (expected == 0 || selects[b] || budget.sync_failed ||
          census_.namespaces_of_idle_pods_.contains(Absl(in))) {
        continue;
      }
      missing += expected;
      without.push_back(absl::StrCat(Absl(in), "/", Absl(catalog_.Text(budget.name))));
    }
    if (missing <= Tolerated(counted)) return;
    std::sort(without.begin(), without.end());
    Warn("BudgetsWithoutPods",
         absl::StrCat(
             Count(without.size(), "PodDisruptionBudget counts ", "PodDisruptionBudgets count "),
             Count(static_cast<uint64_t>(missing), "pod", "pods"),
             " (status.expectedPods), and no pod that ",
             without.size() == 1 ? "it selects" : "they select", " is there: ", Some(without),
             "; pods are missing, or the budgets are those of another cluster"),
         LackOfMany(missing, counted));
  }

  void BudgetsOfUnknownNamespaces() {
    if (census_.namespaces_.empty() || census_.nodes_or_namespaces_alone_) return;
    size_t all = 0;
    std::vector<std::string> others;
    for (const auto& [in, names] : census_.budgets_) {
      all += names.size();
      if (census_.namespaces_.contains(in) || census_.namespaces_of_pods_.contains(in)) continue;
      others.insert(others.end(), names.begin(), names.end());
    }
    if (others.empty()) return;
    Warn("BudgetsOfUnknownNamespaces",
         absl::StrCat(Count(others.size(), "PodDisruptionBudget is", "PodDisruptionBudgets are"),
                      " of namespaces that are not in ", Input(), ": ", Some(others),
                      "; the budgets seem to be those of another cluster"),
         2 * others.size() > all ? Lack::kKinds : Lack::kNothing);
  }

  // Whether the controller may have been created while the dump was made.
  [[nodiscard]] bool IsNew(const Workload& workload) const {
    return workload.creation_time != 0 && newest_time_ - workload.creation_time < kListingSeconds;
  }

  void ClaimsOfVolumes() {
    size_t missing = 0;
    size_t elsewhere = 0;  // Volumes whose claim's namespace has no pod.
    const BoundVolume* first = nullptr;
    for (const BoundVolume& volume : census_.bound_volumes_) {
      if (census_.claims_.contains(volume.claim)) continue;
      const std::string_view in = volume.claim_name;
      if (!census_.namespaces_of_pods_.contains(Absl(in.substr(0, in.find('/'))))) ++elsewhere;
      if (missing++ == 0) first = &volume;
    }
    if (missing == 0 || missing <= census_.bound_volumes_.size() / kPartsPerChange) return;
    const Lack namespaces = LackOfMany(static_cast<int64_t>(elsewhere),
                                       static_cast<int64_t>(census_.bound_volumes_.size()));
    Warn("ClaimsOfVolumesMissing",
         absl::StrCat(Count(missing, "volume is", "volumes are"),
                      " bound to claims that are not there (", Printable(first->name), " to ",
                      Printable(first->claim_name), "); ", Suspected(Suspicion::kMissingClaims)),
         std::max(namespaces, Lack::kKinds));
  }

  // If all kinds were listed, no kind can be missing, and the warning is an ordinary doubt.
  // `words`: the kinds to fetch or to feed, if the finding shows which (advice.h).
  void Warn(std::string_view code, std::string message, Lack lack = Lack::kNothing,
            std::string_view words = "") {
    if (census_.lists_all_kinds_ && lack == Lack::kKinds) lack = Lack::kNothing;
    InputWarning& warning = warnings_.emplace_back(
        InputWarning{std::string(code), std::move(message), /*command=*/"", lack});
    Advise(source_, warning, words);
  }

  // "the dump seems to ...", or the corresponding text for a feeder.
  [[nodiscard]] absl::string_view Suspected(Suspicion suspicion) const {
    return Absl(TextOf(suspicion, source_));
  }
  // How the warning calls the input.
  [[nodiscard]] absl::string_view Input() const { return Absl(NameOf(source_)); }

  const InputCensus& census_;
  const InputSource source_;
  const ClusterSnapshot& cluster_;
  const Catalog& catalog_;
  const int64_t newest_time_;
  std::vector<InputWarning>& warnings_;
  std::vector<int64_t> pods_of_;  // By shape.
};

bool InputCensus::MustBeMissing(uint64_t missing, uint64_t all) {
  return missing > kFew + all / kPartsThatMustBeMissing;
}

void InputCensus::FindLacks(InputUse use, const ClusterSnapshot& cluster, int64_t newest_time,
                            std::vector<InputWarning>& warnings, InputSource source) const {
  LackFinder finder(*this, source, cluster, newest_time, warnings);
  finder.NoPods();
  finder.PartsOfLists();
  finder.KubeSystem();
  finder.UnlistedNamespaces();
  finder.EmptyNamespaces();
  if (use == InputUse::kPlan) finder.Budgets();
  if (use == InputUse::kPlan) finder.Controllers();
  finder.ControllersOfOtherUids();
  finder.PodsWithoutContainers();
  finder.PodsOfControllers();
  finder.NamespacesWithoutPods();
  finder.NodesWithoutPods();
  finder.NodesWithoutDaemons();
  finder.Namespaces();
  if (use == InputUse::kPlan) finder.BudgetsOfOthers();
  if (use == InputUse::kPlan) finder.MakersOfNodes();
  finder.Storage();
  finder.DeviceClaims();
  finder.Manifests();
  finder.TwoVersions();
  // If pods are missing, this warning says which.
  const auto is_missing = [](const InputWarning& each) { return each.lack == Lack::kPods; };
  if (std::any_of(warnings.begin(), warnings.end(), is_missing)) {
    for (InputWarning& each : warnings) {
      if (each.code == kNoSystem) each.lack = Lack::kPods;
    }
  }
}

void WarnOfSeveralBudgets(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  std::vector<std::string> pods;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    const PodShape& shape = catalog.shape_of(PodId{p});
    if (shape.budgets.size() < 2 || cluster.NodeOf(PodId{p}) == kNoNode) continue;
    if (shape.has_controller && catalog.Text(shape.controller.kind) == "DaemonSet") continue;
    pods.push_back(catalog.PodName(PodId{p}));
  }
  if (pods.empty()) return;
  std::sort(pods.begin(), pods.end());
  InputWarning& warning = warnings.emplace_back(InputWarning{
      "PodsWithSeveralBudgets",
      absl::StrCat(Count(pods.size(), "pod is", "pods are"),
                   " selected by more than one PodDisruptionBudget, and the eviction API refuses "
                   "to evict such a pod, which the autoscaler's rules do not know: ",
                   Some(pods)),
      /*command=*/""});
  Advise(InputSource::kDump, warning);  // A feeder gets the same advice.
}

std::string MissingControllerDetail(const Catalog& catalog, PodId pod) {
  const PodShape& shape = catalog.shape_of(pod);
  if (!shape.has_controller) return "";
  const KnownOwner* const kind = KindOf(catalog, shape.controller);
  if (kind == nullptr || AnyFound(catalog, *kind, shape.controller)) return "";
  return absl::StrCat("the input has no ", Absl(kind->name), " of any pod and may lack the kind");
}

}  // namespace ebb
