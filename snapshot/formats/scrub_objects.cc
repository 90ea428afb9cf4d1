#include "snapshot/formats/scrub_objects.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/key_values.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/unevaluated_kinds.h"
#include "snapshot/objects/visit_fields.h"
#include "snapshot/objects/well_known_names.h"
#include "snapshot/room_objects.h"

namespace ebb {
namespace {

using objects::KeyValue;
using objects::KeyValues;
using objects::Text;

template <size_t kCount>
bool IsOneOf(const std::array<Text, kCount>& words, Text text) {
  return std::ranges::find(words, text) != words.end();
}

// Domains of keys that are the same in many clusters, with all of their subdomains.
constexpr auto kPublicDomains = std::to_array<Text>({
    "alibabacloud.com", "amazonaws.com", "amd.com",        "argoproj.io",     "azure.com",
    "civo.com",         "cloud.com",     "coreos.com",     "coreweave.com",   "digitalocean.com",
    "eksctl.io",        "exoscale.net",  "gardener.cloud", "gke.io",          "google.com",
    "habana.ai",        "helm.sh",       "ibm.com",        "intel.com",       "istio.io",
    "k3s.io",           "k8s.aws",       "k8s.io",         "karpenter.sh",    "knative.dev",
    "kubernetes.io",    "kruise.io",     "linode.com",     "longhorn.io",     "nebius.com",
    "nvidia.com",       "openshift.io",  "openstack.org",  "oraclecloud.com", "rancher.io",
    "ray.io",           "scaleway.com",  "scw.cloud",      "tencent.com",     "volcano.sh",
    "vultr.com",        "x-k8s.io",      "yandex.cloud",   "cattle.io",       "virtual-kubelet.io",
    "aws.com",
});

// Domains below which the part after the slash is a name that a user chose.
constexpr auto kUserNamed = std::to_array<Text>({
    "node-role.kubernetes.io",
    "node-restriction.kubernetes.io",
    "startup-taint.cluster-autoscaler.kubernetes.io",
    "ignore-taint.cluster-autoscaler.kubernetes.io",
    "status-taint.cluster-autoscaler.kubernetes.io",
    "deviceclass.resource.kubernetes.io",
});

// Keys with and without a slash that are kept beside those of kPublicDomains.
constexpr auto kCommonKeys = std::to_array<Text>({
    "app",
    "agentpool",
    "baidu/nvidia_name",
    "batch.kubernetes.io/job-name",
    "chart",
    "cluster-api/accelerator",
    "component",
    "controller-revision-hash",
    "controller-uid",
    "cpu",
    "env",
    "environment",
    "ephemeral-storage",
    "hcloud/gpu-node",
    "hcloud/node-group",
    "heritage",
    "job-name",
    "k8s-app",
    "memory",
    "metadata.name",
    "name",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/controlplane",
    "node-role.kubernetes.io/etcd",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    "nodegroup",
    "nodepool",
    "owner",
    "pod-template-generation",
    "pod-template-hash",
    "pods",
    "pool",
    "project",
    "release",
    "role",
    "service",
    "stage",
    "storage",
    "team",
    "tenant",
    "tier",
    "type",
    "version",
    "zone",
    "workload",
    "statefulset.kubernetes.io/pod-name",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "attachable-volumes-aws-ebs",
    "attachable-volumes-azure-disk",
    "attachable-volumes-cinder",
    "attachable-volumes-gce-pd",
});

// Keys whose values are kept: rules and prices read them, and clouds choose them.
constexpr auto kPlainValues = std::to_array<Text>({
    kZoneLabel,
    kRegionLabel,
    kBetaZoneLabel,
    kBetaRegionLabel,
    kOsLabel,
    kArchitectureLabel,
    kBetaOsLabel,
    kBetaArchitectureLabel,
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "karpenter.sh/capacity-type",
    kRegisteredLabel,
    kInitializedLabel,
    "eks.amazonaws.com/capacityType",
    "eks.amazonaws.com/compute-type",
    "cloud.google.com/gke-spot",
    "cloud.google.com/gke-preemptible",
    "cloud.google.com/gke-provisioning",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-max-shared-clients-per-gpu",
    "cloud.google.com/gke-gpu-sharing-strategy",
    "cloud.google.com/gke-gpu-partition-size",
    "cloud.google.com/gke-gpu-dra-driver",
    "kubernetes.azure.com/scalesetpriority",
    "kubernetes.azure.com/mode",
    "virtual-kubelet.io/provider",
    "pod-template-generation",
    "zone",
    kHardTaint,
    kSoftTaint,
});
constexpr auto kPlaces =
    std::to_array<Text>({kZoneLabel, kRegionLabel, kBetaZoneLabel, kBetaRegionLabel});

// Texts that stay themselves wherever a name may stand.
constexpr auto kPlainNames = std::to_array<Text>({
    "",
    "*",
    "true",
    "false",
    "default",
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "default-scheduler",
    "latest",
    "rbd",
    "virtual-kubelet",
    "fargate",
    "spot",
    "0.0.0.0",
    "127.0.0.1",
    "projects",
    "zones",
    "regions",
    "disks",
    "UNSPECIFIED",
    "subscriptions",
    "resourceGroups",
    "providers",
    "Microsoft.Compute",
    "virtualMachineScaleSets",
    "virtualMachines",
    "kubernetes.io/no-provisioner",
});

// Fields that have Kubernetes' own words.
constexpr auto kPlainFields = std::to_array<Text>({
    "op",
    "effect",
    "phase",
    "restart_policy",
    "protocol",
    "source",
    "medium",
    "when_unsatisfiable",
    "node_affinity_policy",
    "node_taints_policy",
    "type",
    "status",
    "operating_system",
    "architecture",
    "kubelet_version",
    "declared_features",
    "access_modes",
    "volume_mode",
    "volume_binding_mode",
    "disk_kind",
    "os_name",
    "not_understood",
    "group",
    "mode",
    "match_attribute",
    "distinct_attribute",
    "counter_set",
    "selectors",
    "resource",
    "target_kind",
    "update_mode",
    "strategy",
});
// Fields that have a key of a label, or the name of a driver, which is a domain.
constexpr auto kKeyFields =
    std::to_array<Text>({"topology_key", "match_label_keys", "driver", "provisioner", "attacher",
                         "extended_resource_name", "controlled"});
// Fields whose parts between slashes are names, and fields that are dropped.
constexpr auto kPathFields = std::to_array<Text>({"provider_id", "id"});
constexpr auto kDroppedFields = std::to_array<Text>({"sync_message"});

// Annotations that rules read, by what becomes of their values.
enum class NoteValue : uint8_t { kWord, kName, kNames, kKeys };
struct Note {
  Text key;
  NoteValue value;
};
constexpr auto kNotes = std::to_array<Note>({
    {kSafeToEvictAnnotation, NoteValue::kWord},
    {kSafeToEvictLocalVolumesAnnotation, NoteValue::kNames},
    {"cluster-autoscaler.kubernetes.io/daemonset-pod", NoteValue::kWord},
    {"cluster-autoscaler.kubernetes.io/enable-ds-eviction", NoteValue::kWord},
    {"cluster-autoscaler.kubernetes.io/scale-down-disabled", NoteValue::kWord},
    {"cluster-autoscaler.k8s.io/upcoming-node", NoteValue::kWord},
    {kDoNotDisruptAnnotation, NoteValue::kWord},
    {kDoNotEvictAnnotation, NoteValue::kWord},
    {"karpenter.sh/do-not-consolidate", NoteValue::kWord},
    {"kubernetes.io/config.mirror", NoteValue::kName},
    {"kubernetes.io/config.source", NoteValue::kWord},
    {"pv.kubernetes.io/bind-completed", NoteValue::kWord},
    {"volume.kubernetes.io/selected-node", NoteValue::kName},
    {"volume.beta.kubernetes.io/storage-class", NoteValue::kName},
    {"storage.alpha.kubernetes.io/migrated-plugins", NoteValue::kKeys},
});

bool HasPublicDomain(Text domain) {
  return std::ranges::any_of(kPublicDomains, [domain](Text each) {
    return domain == each || (domain.size() > each.size() && domain.ends_with(each) &&
                              domain[domain.size() - each.size() - 1] == '.');
  });
}

// SipHash-2-4, the keyed hash of Aumasson and Bernstein.  To test a guessed text one needs the key.
class SipHash {
 public:
  explicit SipHash(std::array<uint64_t, 2> key) : key_(key) {}

  [[nodiscard]] uint64_t operator()(std::string_view text) const {
    std::array<uint64_t, 4> v = {key_[0] ^ 0x736f6d6570736575, key_[1] ^ 0x646f72616e646f6d,
                                 key_[0] ^ 0x6c7967656e657261, key_[1] ^ 0x7465646279746573};
    const uint64_t length = uint64_t{text.size()} << 56;
    for (; text.size() >= 8; text.remove_prefix(8)) Mix(Word(text), v);
    Mix(Word(text) | length, v);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) Round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  }

 private:
  // The first eight bytes, little-endian.
  static uint64_t Word(std::string_view text) {
    uint64_t word = 0;
    for (size_t i = 0; i < std::min<size_t>(text.size(), 8); ++i) {
      word |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    }
    return word;
  }
  static void Round(std::array<uint64_t, 4>& v) {
    v[0] += v[1], v[2] += v[3];
    v[1] = std::rotl(v[1], 13) ^ v[0], v[3] = std::rotl(v[3], 16) ^ v[2];
    v[0] = std::rotl(v[0], 32);
    v[2] += v[1], v[0] += v[3];
    v[1] = std::rotl(v[1], 17) ^ v[2], v[3] = std::rotl(v[3], 21) ^ v[0];
    v[2] = std::rotl(v[2], 32);
  }
  static void Mix(uint64_t word, std::array<uint64_t, 4>& v) {
    v[3] ^= word;
    Round(v), Round(v);
    v[0] ^= word;
  }

  std::array<uint64_t, 2> key_;
};

bool IsUuidText(Text text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : std::isxdigit(static_cast<unsigned char>(text[i])) == 0) {
      return false;
    }
  }
  return true;
}

// The first letters of a pseudonym: it sorts among the namespaces that keep their names as `text`
// does.
std::string_view FirstLetters(Text text) {
  if (text < "default") return "a";
  if (text < "kube-node-lease") return "e";
  if (text < "kube-public") return "kube-o";
  return text < "kube-system" ? "kube-q" : "x";
}

// `number` in base 36, with leading zeros.
std::string Digits(uint64_t number, size_t width) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string text(width, '0');
  for (size_t i = width; i > 0; --i, number /= 36) text[i - 1] = kDigits[number % 36];
  return text;
}

}  // namespace

// Both passes walk the same code: the first one notes each text that becomes a pseudonym, the
// second one replaces it.
struct Scrubber::Impl {
  explicit Impl(SipHash key) : hash(key), collecting(*this), writing(*this) {}

  class Sink : public AnyObjectSink {
   public:
    explicit Sink(Impl& impl) : impl_(impl) {}
    absl::Status OnList(std::string_view kind, uint64_t items) override {
      return to == nullptr ? absl::OkStatus() : to->OnList(kind, items);
    }
    absl::Status OnUnevaluated(const Unevaluated& object) override {
      Unevaluated scrubbed = object;
      impl_.DoUnevaluated(scrubbed);
      absl::Status status = to == nullptr ? absl::OkStatus() : to->OnUnevaluated(scrubbed);
      impl_.made.clear();
      return status;
    }
    void OnAside(const Aside& aside) override {
      Aside scrubbed = aside;
      scrubbed.resource_version = "";
      if (to != nullptr) to->OnAside(scrubbed);
    }

    ObjectSink* to = nullptr;  // Null: the first pass.

   protected:
    absl::Status OnObject(const objects::ObjectRef& object) override {
      return std::visit(
          [this](const auto* each) {
            auto copy = *each;
            impl_.DoObject(copy);
            absl::Status status =
                to == nullptr ? absl::OkStatus() : Give(objects::ObjectRef(&copy), *to);
            impl_.made.clear();
            return status;
          },
          object);
    }

   private:
    Impl& impl_;
  };

  [[nodiscard]] bool is_writing() const { return writing.to != nullptr; }

  // --- Texts ---------------------------------------------------------------------------------

  Text Made(std::string text) { return made.emplace_back(std::move(text)); }
  Text Keep(const char* category, Text text) {
    if (is_writing() && !text.empty()) report.kept[category].emplace(text);
    return text;
  }

  Text Name(Text text) {
    if (IsOneOf(kPlainNames, text)) return text;
    if (!is_writing()) return names.emplace(text, ""), text;
    if (places.contains(text)) return text;
    if (const auto made_of = composed.find(text); made_of != composed.end()) {
      const size_t at = made_of->second;
      return Made(
          absl::StrCat(Absl(Name(text.substr(0, at))), "-", Absl(Name(text.substr(at + 1)))));
    }
    const auto found = names.find(text);
    EBB_CHECK(found != names.end());  // Otherwise the passes differ, and the text would be shown.
    return found->second;
  }

  // The key of a label, taint or resource; the name of a driver.
  Text Key(Text key) {
    constexpr Text kCsiVolumes = "attachable-volumes-csi-";
    if (KeepsKey(key)) return Keep("keys", key);
    if (key.starts_with("hugepages-")) return Keep("keys", key);
    if (key.starts_with(kCsiVolumes)) {
      return Made(absl::StrCat(Absl(kCsiVolumes), Absl(Key(key.substr(kCsiVolumes.size())))));
    }
    const size_t slash = key.find('/');
    if (slash == Text::npos) return Name(key);
    const Text domain = key.substr(0, slash);
    const Text prefix = HasPublicDomain(domain) ? Keep("keys", domain) : Name(domain);
    return Made(absl::StrCat(Absl(prefix), "/", Absl(Name(key.substr(slash + 1)))));
  }

  // The value of a label, taint or toleration.
  Text Value(Text key, Text value) {
    if (KeepsValuesOf(key)) {
      if (IsOneOf(kPlaces, key)) places.emplace(value);
      return Keep("values", value);
    }
    // An integer that a selector compares with others.
    if (is_writing() && numbers.contains(key) && ParseInt64(value)) return Keep("values", value);
    return Name(value);
  }

  // Parts between slashes, as of a provider's id: the scheme and zones stay.
  Text Path(Text path) {
    return Parts(path, '/', [this](Text part) { return PathPart(part); });
  }
  Text PathPart(Text part) { return part.ends_with(':') ? Keep("schemes", part) : Name(part); }

  template <typename Part>
  Text Parts(Text text, char separator, const Part& part) {
    std::string made_text;
    while (true) {
      const size_t end = text.find(separator);
      absl::StrAppend(&made_text, Absl(part(text.substr(0, end))));
      if (end == Text::npos) break;
      made_text += separator;
      text.remove_prefix(end + 1);
    }
    return Made(std::move(made_text));
  }

  // NAME[:TAG][@DIGEST].  A name without a tag means the tag latest.
  Text Image(Text image) {
    const size_t at = image.find('@');
    if (at != Text::npos) {
      return Made(absl::StrCat(Absl(Image(image.substr(0, at))),
                               "@sha256:", Absl(Name(image.substr(at + 1)))));
    }
    const size_t colon = image.rfind(':');
    const size_t slash = image.rfind('/');
    if (colon == Text::npos || (slash != Text::npos && colon < slash)) return Name(image);
    return Made(
        absl::StrCat(Absl(Name(image.substr(0, colon))), ":", Absl(Name(image.substr(colon + 1)))));
  }

  Text ApiVersion(Text version) {
    const size_t slash = version.find('/');
    const Text group = version.substr(0, slash);
    if (slash == Text::npos || group.find('.') == Text::npos || HasPublicDomain(group)) {
      return Keep("kinds", version);
    }
    // With a dot, as groups of custom resources have.
    return Made(absl::StrCat(Absl(Name(group)), ".example", Absl(version.substr(slash))));
  }
  [[nodiscard]] static bool IsPublicGroup(Text version) {
    const Text group = version.substr(0, version.find('/'));
    return group.find('.') == Text::npos || HasPublicDomain(group);
  }

  // --- Fields --------------------------------------------------------------------------------

  // A text of the field `name`.
  Text Field(Text name, Text text) {
    if (IsOneOf(kPlainFields, name)) return Keep("words", text);
    if (IsOneOf(kDroppedFields, name)) return "";
    if (IsOneOf(kKeyFields, name)) return Key(text);
    if (IsOneOf(kPathFields, name)) return Path(text);
    if (name == "image") return Image(text);
    return Name(text);
  }

  void Do(Text name, Text& text) { text = Field(name, text); }
  template <typename Each>
  void Do(Text name, std::vector<Each>& list) {
    for (Each& each : list) Do(name, each);
  }
  template <typename Each>
  void Do(Text name, std::optional<Each>& value) {
    if (value) Do(name, *value);
  }
  template <typename Struct>
    requires objects::HasFields<Struct>
  void Do(Text, Struct& value) {
    DoStruct(value);
  }
  template <typename Number>
    requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>)
  void Do(Text, Number&) {}

  template <typename Struct>
  void DoFields(Struct& value) {
    objects::VisitFields(value, [this](Text name, auto& field) { this->Do(name, field); });
  }
  template <typename Struct>
  void DoStruct(Struct& value) {
    DoFields(value);
  }

  void DoStruct(KeyValue& label) {
    label.value = Value(label.key, label.value);
    label.key = Key(label.key);
  }
  void DoStruct(objects::Requirement& asks) {
    if (asks.op == "Gt" || asks.op == "Lt") numbers.emplace(asks.key);
    for (Text& value : asks.values) value = Value(asks.key, value);
    asks.key = Key(asks.key);
  }
  void DoStruct(objects::TopologyRequirement& asks) {
    for (Text& value : asks.values) value = Value(asks.key, value);
    asks.key = Key(asks.key);
  }
  void DoStruct(objects::Toleration& toleration) {
    if (toleration.op == "Gt" || toleration.op == "Lt") numbers.emplace(toleration.key);
    toleration.value = Value(toleration.key, toleration.value);
    toleration.key = Key(toleration.key);
  }
  void DoStruct(objects::Taint& taint) {
    taint.value = Value(taint.key, taint.value);
    taint.key = Key(taint.key);
  }
  void DoStruct(objects::ResourceAmount& amount) { amount.name = Key(amount.name); }
  void DoStruct(objects::CsiNode::Driver& driver) { driver.name = Key(driver.name); }
  // What selectors, constraints and counters compare stays as it is: a pseudonym would change which
  // devices match.  No selector compares UUIDs.
  void DoStruct(objects::DeviceAttribute& attribute) {
    attribute.name = Keep("devices", attribute.name);
    attribute.value =
        IsUuidText(attribute.value) ? Name(attribute.value) : Keep("devices", attribute.value);
  }
  void DoStruct(objects::NodeClaim::Condition& condition) {
    condition.type = Keep("conditions", condition.type);
    condition.status = Keep("conditions", condition.status);
  }
  // What Karpenter's rules read are words, numbers and times.
  void DoStruct(objects::NodePool& pool) {
    Do("meta", pool.meta);
    pool.policy = Keep("rules", pool.policy);
    pool.consolidate_after = Keep("rules", pool.consolidate_after);
    for (objects::NodePool::Budget& budget : pool.budgets) {
      for (Text& reason : budget.reasons) reason = Keep("rules", reason);
      budget.nodes = Keep("rules", budget.nodes);
      if (budget.schedule) *budget.schedule = Keep("rules", *budget.schedule);
      if (budget.duration) *budget.duration = Keep("rules", *budget.duration);
    }
    Do("not_understood", pool.not_understood);
    Do("limits", pool.limits);
    Do("resources", pool.resources);
    Do("labels", pool.labels);
    Do("taints", pool.taints);
    Do("startup_taints", pool.startup_taints);
    for (objects::NodePool::Requirement& each : pool.requirements) {
      if (each.op.starts_with('G') || each.op.starts_with('L')) numbers.emplace(each.key);
      for (Text& value : each.values) value = Value(each.key, value);
      each.key = Key(each.key);
    }
    Do("not_bought", pool.not_bought);
  }
  void DoStruct(objects::DeviceQuantity& quantity) {
    quantity.name = Keep("devices", quantity.name);
    quantity.value = Keep("devices", quantity.value);
  }
  void DoStruct(objects::DeviceRequest& request) {
    request.name = Keep("devices", request.name);
    Do("asks", request.asks);
  }
  void DoStruct(objects::DeviceAsk& ask) {
    const Text name = Keep("devices", ask.name);
    DoFields(ask);
    ask.name = name;
  }
  void DoStruct(objects::DeviceConstraint& constraint) {
    for (Text& request : constraint.requests) request = Keep("devices", request);
    Do("match_attribute", constraint.match_attribute);
    Do("distinct_attribute", constraint.distinct_attribute);
  }
  void DoStruct(objects::DeviceCapacity& capacity) {
    for (Text* const text : {&capacity.name, &capacity.value, &capacity.standard,
                             &capacity.range_min, &capacity.range_max, &capacity.range_step}) {
      *text = Keep("devices", *text);
    }
    for (Text& value : capacity.valid_values) value = Keep("devices", value);
  }
  void DoStruct(objects::ResourceClaim::Device& device) {
    device.driver = Keep("devices", device.driver);
    device.pool = Name(device.pool);
    device.name = Name(device.name);
    device.share_id = Name(device.share_id);
    Do("consumed", device.consumed);
    for (Text& type : device.binding_conditions) type = Name(type);
    for (Text& type : device.binding_failure_conditions) type = Name(type);
  }
  void DoStruct(objects::ResourceClaim::DeviceStatus& status) {
    status.driver = Keep("devices", status.driver);
    status.pool = Name(status.pool);
    status.name = Name(status.name);
    Do("conditions", status.conditions);
  }
  void DoStruct(objects::ResourceClaim::DeviceStatus::Condition& condition) {
    condition.type = Name(condition.type);
    condition.status = Keep("conditions", condition.status);
  }
  void DoStruct(objects::NodeImage& image) {
    for (Text& name : image.names) name = Image(name);
  }
  void DoStruct(objects::OwnerReference& owner) {
    // Rules know these kinds in every group.
    constexpr auto kKinds = std::to_array<Text>(
        {"DaemonSet", "Job", "Node", "ReplicaSet", "ReplicationController", "StatefulSet"});
    const bool is_public = IsPublicGroup(owner.api_version) || IsOneOf(kKinds, owner.kind);
    owner.kind = is_public ? Keep("kinds", owner.kind) : Name(owner.kind);
    owner.api_version = ApiVersion(owner.api_version);
    owner.name = Name(owner.name);
    owner.uid = Name(owner.uid);
  }
  void DoStruct(objects::ObjectMeta& meta) {
    ComposeWorkload(meta);
    std::erase_if(meta.annotations, [this](KeyValue& note) { return !KeepNote(note); });
    for (KeyValue& note : meta.annotations) note.key = Keep("annotations", note.key);
    meta.name = Name(meta.name);
    meta.namespace_name = Name(meta.namespace_name);
    meta.uid = Name(meta.uid);
    Do("labels", meta.labels);
    Do("owners", meta.owners);
  }

  // The name of a ReplicaSet is that of its Deployment with the label pod-template-hash, and the
  // name of a CronJob's Job ends with a number: answers take them apart.
  void ComposeWorkload(const objects::ObjectMeta& meta) {
    if (is_writing()) return;
    const auto compose = [&](Text name, size_t at) {
      composed.emplace(name, at);
      Name(name.substr(0, at)), Name(name.substr(at + 1));
    };
    const Text hash_label = FindValue(meta.labels, "pod-template-hash").value_or("");
    const auto compose_with_hash = [&](Text name) {
      if (hash_label.empty() || name.size() < hash_label.size() + 2) return;
      const size_t at = name.size() - hash_label.size() - 1;
      if (name.ends_with(hash_label) && name[at] == '-') compose(name, at);
    };
    compose_with_hash(meta.name);
    for (const objects::OwnerReference& owner : meta.owners) {
      compose_with_hash(owner.name);
      const size_t dash = owner.name.rfind('-');
      if (owner.kind == "Job" && dash != Text::npos && dash > 0 &&
          ParseInt64(owner.name.substr(dash + 1))) {
        compose(owner.name, dash);
      }
    }
  }

  // The claim of an ephemeral volume is called POD-VOLUME.
  void ComposeClaims(const objects::Pod& pod) {
    if (is_writing()) return;
    for (const objects::Volume& volume : pod.volumes) {
      if (volume.source != "ephemeral") continue;
      composed.emplace(absl::StrCat(Absl(pod.meta.name), "-", Absl(volume.name)),
                       pod.meta.name.size());
    }
  }

  // Scrubs the value of an annotation; false: no rule reads it.
  bool KeepNote(KeyValue& note) {
    if (std::ranges::any_of(kGangKeys, [&](const auto& gang) { return gang.first == note.key; })) {
      note.value = Name(note.value);
      return true;
    }
    if (std::ranges::any_of(kGangSizeKeys,
                            [&](const auto& size) { return size.first == note.key; }) &&
        ParseInt64(note.value)) {
      return true;
    }
    const auto* const known = std::ranges::find(kNotes, note.key, &Note::key);
    if (known == kNotes.end()) {
      report.dropped[std::string(note.key)] += is_writing() ? 1 : 0;
      return false;
    }
    switch (known->value) {
      case NoteValue::kWord:
        // The words and durations that rules know are shorter.
        note.value = note.value.size() <= 16 ? Keep("annotations", note.value) : Name(note.value);
        break;
      case NoteValue::kName:
        note.value = Name(note.value);
        break;
      case NoteValue::kNames:
        note.value = Parts(note.value, ',', [this](Text part) { return Name(part); });
        break;
      case NoteValue::kKeys:
        note.value = Parts(note.value, ',', [this](Text part) { return Key(part); });
        break;
    }
    return true;
  }

  template <typename Object>
  void DoObject(Object& object) {
    if constexpr (std::is_same_v<Object, objects::StorageObject>) {
      std::visit([this](auto& each) { this->DoObject(each); }, object);
    } else {
      if constexpr (std::is_same_v<Object, objects::CsiDriver>) {
        const Text name = Key(object.meta.name);
        object.meta.name = "";
        DoFields(object);
        object.meta.name = name;
        return;
      }
      if constexpr (std::is_same_v<Object, objects::ResourceSlice> ||
                    std::is_same_v<Object, objects::DeviceTaintRule>) {
        const Text driver = Keep("devices", object.driver);
        object.driver = "";
        DoFields(object);
        object.driver = driver;
        return;
      }
      if constexpr (std::is_same_v<Object, objects::NodePool>) return DoStruct(object);
      if constexpr (std::is_same_v<Object, objects::Pod>) {
        ComposeClaims(object);
        if (object.spec_digest != 0) {
          object.spec_digest = std::max<uint64_t>(
              1, hash({reinterpret_cast<const char*>(&object.spec_digest), sizeof(uint64_t)}));
        }
      }
      DoFields(object);
    }
  }

  void DoUnevaluated(ObjectSink::Unevaluated& object) {
    const UnevaluatedKind* const row = FindUnevaluatedKind(object.api_version, object.kind);
    if (row != nullptr && row->group == "*" && !IsPublicGroup(object.api_version)) {
      object.kind = Made(absl::StrCat(Absl(Name(object.kind)), Absl(row->kind)));
    } else {
      object.kind = Keep("kinds", object.kind);
    }
    object.api_version = ApiVersion(object.api_version);
    object.namespace_name = Name(object.namespace_name);
    object.name = Name(object.name);
  }

  // Ends the first pass.
  void MakePseudonyms() {
    std::vector<std::pair<const std::string, std::string>*> sorted;
    sorted.reserve(names.size());
    for (auto& each : names) sorted.push_back(&each);
    std::ranges::sort(sorted, {},
                      [](const auto* each) -> const std::string& { return each->first; });
    size_t width = 1;
    for (size_t most = 36; most < sorted.size(); most *= 36) ++width;
    for (size_t i = 0; i < sorted.size(); ++i) {
      const uint64_t keyed = hash(sorted[i]->first);
      if (IsUuidText(sorted[i]->first)) {
        // Some rules tell a UUID from a name.
        const std::string digits =
            absl::StrCat(absl::Hex(i, absl::kZeroPad8), absl::Hex(keyed, absl::kZeroPad16),
                         absl::Hex(keyed >> 32, absl::kZeroPad8));
        sorted[i]->second =
            absl::StrCat(digits.substr(0, 8), "-", digits.substr(8, 4), "-", digits.substr(12, 4),
                         "-", digits.substr(16, 4), "-", digits.substr(20, 12));
      } else {
        // Without a dash, at which names of workloads are taken apart.
        sorted[i]->second =
            absl::StrCat(Absl(FirstLetters(sorted[i]->first)), Digits(i, width), Digits(keyed, 8));
      }
    }
    report.pseudonyms = names.size();
  }

  const SipHash hash;
  // Original text -> pseudonym.
  absl::flat_hash_map<std::string, std::string, TextHash, std::equal_to<>> names;
  absl::flat_hash_set<std::string, TextHash, std::equal_to<>> places;   // Zones and regions.
  absl::flat_hash_set<std::string, TextHash, std::equal_to<>> numbers;  // Keys that Gt and Lt read.
  // Names that are made of two -> the place of the dash between them.
  absl::flat_hash_map<std::string, size_t, TextHash, std::equal_to<>> composed;
  std::deque<std::string> made;  // Texts of the current object.
  Report report;
  Sink collecting;
  Sink writing;
};

bool Scrubber::KeepsKey(std::string_view key) {
  if (IsOneOf(kCommonKeys, key) || key.empty()) return true;
  const Text domain = key.substr(0, key.find('/'));
  if (domain.size() == key.size() && key.find('.') == Text::npos) return false;
  return HasPublicDomain(domain) && !(domain.size() < key.size() && IsOneOf(kUserNamed, domain));
}

bool Scrubber::KeepsValuesOf(std::string_view key) {
  return IsOneOf(kPlainValues, key) || key.starts_with("nvidia.com/") ||
         key.starts_with("feature.node.kubernetes.io/") ||
         std::ranges::any_of(kGangSizeKeys, [&](const auto& size) { return size.first == key; });
}

Scrubber::Scrubber(std::string_view key) {
  EBB_CHECK(key.size() >= kKeyBytesMin);
  // Two keys of 64 bits that depend on every byte.
  const uint64_t first = SipHash({0, 0})(key);
  const uint64_t second = SipHash({1, 0})(key);
  impl_ = std::make_unique<Impl>(SipHash({first, second}));
}

Scrubber::~Scrubber() = default;

ObjectSink& Scrubber::Collecting() { return impl_->collecting; }

ObjectSink& Scrubber::Writing(ObjectSink& to) {
  impl_->MakePseudonyms();
  impl_->writing.to = &to;
  return impl_->writing;
}

const Scrubber::Report& Scrubber::report() const { return impl_->report; }

}  // namespace ebb
