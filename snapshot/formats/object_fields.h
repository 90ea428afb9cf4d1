// ObjectFields turns the fields of one Kubernetes object into a struct of objects.h.  The code that
// reads a field is the same for every form (JSON, protobuf): the parameter Fields walks the bytes,
// as JsonFields (json_fields.h) or ProtoFields (proto_fields.h) does.  So one place defines what is
// read, what is harmless and what makes a pod "not understood".
//
// Only the .cc files of the two readers (object_reader.cc, object_protobuf.cc) include this file.
// Each gets its own copy of these functions, which the compiler optimizes for its Fields.
//
// To read another kind: write a Read function, add a line to the table kKinds, and add the field
// numbers to wire/kubernetes.proto.
//
// Errors:    a wrong field is reported with its path and what was expected (field_problem.h).
// Threads:   not thread-safe.
// Source:    fields and defaults of k8s.io/api core/v1, apps/v1, batch/v1, policy/v1, storage/v1,
//            resource/v1; amounts follow resource.Quantity.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_FIELDS_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_FIELDS_H_

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "snapshot/formats/form_error.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_name.h"
#include "snapshot/formats/object_place.h"
#include "snapshot/matching.h"
#include "snapshot/objects/disruption_protection.h"
#include "snapshot/objects/quantity.h"
#include "snapshot/objects/unevaluated_kinds.h"
#include "snapshot/objects/visit_fields.h"
#include "snapshot/objects/volume_ids.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {  // Each reader has its own copy, see above.

using objects::KeyValues;
using objects::ResourceList;
using objects::Text;

// The reason of the condition PodScheduled that ebb writes where it does not know whether the pod
// has that condition (write_objects.cc).
constexpr Text kNotRecordedReason = "NotRecorded";

// The annotation with which ebb writes the digest of a spec of which it kept only a part
// (write_objects.cc).
constexpr Text kDigestAnnotation = "ebb/spec-digest";

// Members of a PodSpec that no filter reads, sorted.  A member that is neither listed here nor
// read below may be a constraint that ebb does not know.
constexpr auto kHarmlessPodSpec = std::to_array<Text>({
    "activeDeadlineSeconds",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "evictionResponders",  // Who responds to an EvictionRequest; no scheduler reads it.
    "hostAliases",
    "hostIPC",
    "hostPID",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "preemptionPolicy",
    "priorityClassName",
    "readinessGates",
    "runtimeClassName",  // Admission merges its restrictions into the pod.
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
});
static_assert(std::is_sorted(kHarmlessPodSpec.begin(), kHarmlessPodSpec.end()));

// Known sources of a volume.  Another source may be one that not every node can mount.
constexpr auto kVolumeSources = std::to_array<Text>({
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
});
static_assert(std::is_sorted(kVolumeSources.begin(), kVolumeSources.end()));

// The sources that a PersistentVolume may have.
constexpr auto kPersistentSources = std::to_array<Text>({
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
});
static_assert(std::is_sorted(kPersistentSources.begin(), kPersistentSources.end()));

// A bit for each member that every Kubernetes object may have; 0 for all others.
uint32_t PartOf(Text key) {
  // Called for every member of every object, so the quick check of the size comes first.
  const auto is = [&key](const char* part) {
    return std::memcmp(key.data(), part, key.size()) == 0;
  };
  switch (key.size()) {
    case 4:
      return is("kind") ? 1 : is("spec") ? 2 : 0;
    case 6:
      return is("status") ? 4 : 0;
    case 8:
      return is("metadata") ? 8 : 0;
    case 10:
      return is("apiVersion") ? 16 : 0;
    default:
      return 0;
  }
}

constexpr Text kDeviceGroup = "resource.k8s.io";

Text GroupOf(Text api_version) {
  const size_t slash = api_version.find('/');
  return slash == Text::npos ? Text() : api_version.substr(0, slash);
}

// Keeps only the last of several entries with equal names, as a Go map does.  Always returns true.
// Cost: one comparison per entry if the names ascend, as Kubernetes writes them.
template <typename Entry>
bool KeepLast(std::vector<Entry>& entries, Text Entry::* name) {
  const auto falls = [name](const Entry& a, const Entry& b) { return a.*name >= b.*name; };
  if (std::adjacent_find(entries.begin(), entries.end(), falls) == entries.end()) return true;
  // Up to this many entries are compared one by one; more need a hash set, so that odd input does
  // not cost the square of its size.  Not tuned: other values were not compared.
  constexpr size_t kFew = 32;
  absl::flat_hash_set<std::string_view> seen;
  size_t kept = entries.size();
  for (size_t i = entries.size(); i-- > 0;) {
    const Text key = entries[i].*name;
    const bool again =
        entries.size() > kFew
            ? !seen.insert(std::string_view(key.data(), key.size())).second
            : std::any_of(entries.begin() + static_cast<ptrdiff_t>(kept), entries.end(),
                          [&](const Entry& later) { return later.*name == key; });
    if (!again && --kept != i) entries[kept] = entries[i];
  }
  entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(kept));
  return true;
}

// Empties a vector but keeps its memory.
template <typename T>
std::vector<T> Emptied(std::vector<T>& vector) {
  vector.clear();
  return std::move(vector);
}

// Renew resets an object, keeps the memory of its lists, and leaves out containers and their
// statuses (see RenewPod).  No member of Node, Pod or ObjectMeta has a default other than its
// type's.
template <typename Field>
void Renew(Field& field) {
  static_assert(!objects::HasFields<Field>, "a struct may have other defaults than its members");
  field = {};
}
template <typename T>
void Renew(std::vector<T>& list) {
  list.clear();
}
void Renew(std::vector<objects::Container>& /*kept*/) {}
void Renew(std::vector<objects::ContainerStatus>& /*kept*/) {}
void Renew(objects::NodeSelector& selector) {
  selector.nil = true;
  selector.terms.clear();
}
void Renew(objects::ObjectMeta& meta) {
  objects::VisitFields(meta, [](Text, auto& field) { Renew(field); });
}
void Renew(objects::Node& node) {
  objects::VisitFields(node, [](Text, auto& field) { Renew(field); });
}
void Renew(objects::Pod& pod) {
  objects::VisitFields(pod, [](Text, auto& field) { Renew(field); });
}

// `quantity` multiplied by `times`, exactly.
ExactQuantity Times(const ExactQuantity& quantity, int64_t times) {
  if (quantity.amount == kUncountable && times > 0) return quantity;
  const __int128 nanos =
      (static_cast<__int128>(quantity.amount) * kNanosPerUnit - quantity.excess) * times;
  const __int128 amount = (nanos + kNanosPerUnit - 1) / kNanosPerUnit;
  if (amount >= kUncountable) return {.amount = kUncountable, .excess = 0};
  return {.amount = static_cast<int64_t>(amount),
          .excess = static_cast<int32_t>(amount * kNanosPerUnit - nanos)};
}

// The functions that read each kind.  Fields is JsonFields or ProtoFields.
template <typename Fields>
class ObjectFields {
 public:
  static std::string KindProblem(Text api_version, Text kind);
  Text last_name() const { return meta_ != nullptr ? meta_->name : Text(); }

 protected:
  using Key = typename Fields::Key;  // Can be compared with a name as a Text can.
  using Value = typename Fields::Value;
  using Type = ObjectBatch::Type;

  struct Kind {
    Text group;
    Text kind;
    bool namespaced;
    ObjectBatch::Type type;
    // Fills a new object of the batch; returns false if a field is wrong.
    bool (ObjectFields::*read)();
  };
  static const Kind kKinds[];

  static const Kind* RuleFor(Text api_version, Text kind);

  void Begin(ObjectBatch& batch) {
    batch_ = &batch;
    meta_ = nullptr;
  }
  // Reads the object that fields_ was opened on as this kind, and appends it to the batch.
  void ReadAs(const Kind& rule, const ObjectPlace& place);
  void FieldError(Text kind, const ObjectPlace& place);
  void StatusError(const ObjectPlace& place);
  static bool IsPartial(Text api_version, Text kind);
  void PartialError(Text kind, Text json, const ObjectPlace& place);
  // Appends an object of a kind that no decision reads; with its name if the object may matter.
  void AddIgnored(Text api_version, Text kind);
  bool IsOddKind(Text api_version, Text kind) {
    std::string problem = KindProblem(api_version, kind);
    return !problem.empty() && !fields_.FailAt(".kind", std::move(problem));
  }
  // Calls field(key, value) for each member of the object.  Rejects an object in which one of the
  // members that every object has occurs twice, because readers differ in which one they use.
  template <typename Field>
  bool EachPart(Field&& field) {
    uint32_t seen = 0;
    return fields_.Members([&](Key key, Value& value) {
      const uint32_t part = PartOf(key);
      if ((seen & part) != 0) return fields_.Fail("occurs twice in one object");
      seen |= part;
      return field(key, value);
    });
  }

  Fields fields_;
  ObjectBatch* batch_ = nullptr;

 private:
  std::string NameFor(Text kind, const ObjectPlace& place) const;
  void FindName();
  static std::string Where(const ObjectPlace& place);
  bool CheckNames();

  // --- A function for each kind
  bool ReadNode();
  bool ReadPod();
  bool ReadPodDisruptionBudget();
  template <objects::ControllerKind kKind>
  bool ReadController();
  bool ReadNamespace();

  // --- Storage
  bool ReadPersistentVolume();
  bool ReadPersistentVolumeClaim();
  bool ReadStorageClass();
  bool ReadCsiDriver();
  bool ReadCsiNode();
  bool ReadVolumeAttachment();
  bool ReadCsiStorageCapacity();
  bool ReadDeviceClass();
  bool ReadResourceClaim();
  bool ReadResourceClaimTemplate();
  bool ReadResourceSlice();
  bool ReadDeviceTaintRule();
  void CheckDeviceVersion(Text api_version, bool allows_alpha = false);
  bool DeviceVersion(Value& value, bool allows_alpha = false) {
    Text api_version;
    if (!fields_.String(value, api_version)) return false;
    CheckDeviceVersion(api_version, allows_alpha);
    return true;
  }
  void CheckPodGroupVersion(Text group, Text api_version);
  // --- Machines
  bool ReadMachine(Text group);
  bool ReadClusterApiMachine() { return ReadMachine("cluster.x-k8s.io"); }
  bool ReadOpenShiftMachine() { return ReadMachine("machine.openshift.io"); }
  bool ReadNodeClaim();
  bool ReadNodePool();
  void CheckPoolVersion(Text api_version);
  bool PoolTemplate(Value& value, objects::NodePool& pool);
  bool PoolRequirement(Value& value, objects::NodePool::Requirement& requirement);
  bool Disruption(Value& value, objects::NodePool& pool);
  bool DisruptionBudget(Value& value, objects::NodePool::Budget& budget);

  // --- Groups of pods, and the room that pods will need
  bool ReadPodGroup(Text group);
  bool ReadKubernetesPodGroup() { return ReadPodGroup("scheduling.k8s.io"); }
  bool ReadPluginsPodGroup() { return ReadPodGroup("scheduling.x-k8s.io"); }
  bool ReadVolcanoPodGroup() { return ReadPodGroup("scheduling.volcano.sh"); }
  bool ReadPodTemplate();
  bool ReadCapacityBuffer();
  bool ReadEvictionRequest();
  bool EvictionRequestSpec(Value& value, objects::EvictionRequest& request);
  bool ReadVerticalPodAutoscaler();
  bool ReadService();
  bool DisruptionMode(Value& value, Text& mode);
  // Calls use(type, status) for each of status.conditions.
  template <typename Use>
  bool Conditions(Value& value, Use use) {
    return fields_.Elements(value, [&](Value& each) {
      Text type;
      Text status;
      const bool read = fields_.Members(each, [&](Key key, Value& text) {
        if (key == "type") return fields_.String(text, type);
        return key != "status" || fields_.String(text, status);
      });
      use(type, status);
      return read;
    });
  }
  bool ContainerPolicy(Value& value, objects::VerticalPodAutoscaler::Policy& policy);
  bool Recommendations(Value& value, objects::VerticalPodAutoscaler& vpa);
  // --- Dynamic resource allocation
  bool DeviceSelectors(Value& value, Text where, std::vector<Text>& selectors);
  bool DeviceAskMember(Key key, Value& member, Text where, objects::DeviceAsk& ask);
  bool DeviceRequest(Value& value, objects::DeviceRequest& request);
  bool ClaimedDevices(Value& value, objects::ResourceClaim& claim);
  bool ClaimAllocation(Value& value, objects::ResourceClaim& claim);
  bool AllocatedDevices(Value& value, std::vector<objects::ResourceClaim::Device>& devices);
  bool DeviceStatus(Value& value, objects::ResourceClaim& claim);
  bool DeviceAmounts(Value& value, std::vector<objects::DeviceQuantity>& amounts);
  bool DeviceCapacities(Value& value, std::vector<objects::DeviceCapacity>& capacities);
  bool RequestPolicy(Value& value, objects::DeviceCapacity& capacity);
  bool DeviceAttributes(Value& value, std::vector<objects::DeviceAttribute>& attributes);
  bool DeviceQuantities(Value& value, Text where, std::vector<objects::DeviceQuantity>& quantities);
  bool CounterSets(Value& value, Text where, std::vector<objects::DeviceCounters>& sets);
  bool DeviceMember(Key key, Value& member, objects::Device& device);
  bool Devices(Value& value, std::vector<objects::Device>& devices);
  bool PersistentVolumeSpec(Value& value, objects::PersistentVolume& volume);
  bool PersistentVolumeSource(Value& value, objects::PersistentVolume& volume);
  bool PersistentVolumeClaimSpec(Value& value, objects::PersistentVolumeClaim& claim);
  bool AllowedTopologies(Value& value, std::vector<objects::TopologyTerm>& terms);
  bool CsiNodeDrivers(Value& value, std::vector<objects::CsiNode::Driver>& drivers);
  bool Bytes(Value& value, int64_t& bytes) {
    ExactQuantity exact;
    if (!fields_.Amount(value, QuantityUnit::kWhole, exact)) return false;
    bytes = exact.amount;
    return true;
  }
  // The bytes of `storage` in a resource list.
  bool StorageAmount(Value& value, std::optional<int64_t>& bytes);
  bool Phase(Value& status, Text& phase);

  // Makes the next storage object of the batch a new T.
  template <typename T>
  T& Renewed() {
    T& object = batch_->storage.Next().emplace<T>();
    meta_ = &object.meta;
    return object;
  }

  // --- Parts of objects
  bool Meta(Value& value, objects::ObjectMeta& meta);
  bool Owner(Value& value, objects::OwnerReference& owner);
  bool Strings(Value& value, std::vector<Text>& strings);
  bool StringMap(Value& value, KeyValues& map);
  bool Annotations(Value& value, KeyValues& map);
  bool Resources(Value& value, ResourceList& list);
  bool Requirements(Value& value, Text where, std::vector<objects::Requirement>& requirements);
  bool Selector(Value& value, Text where, objects::LabelSelector& selector);
  // An empty `where`: unknown members do not matter.
  bool Taints(Value& value, Text where, std::vector<objects::Taint>& taints);
  bool Taint(Value& value, Text where, objects::Taint& taint);
  bool NodeSpec(Value& value);
  bool NodeStatus(Value& value);
  bool Heartbeat(Value& value);
  bool NodeSystemInfo(Value& value);
  bool Images(Value& value);
  bool PodSpec(Value& value);
  bool PodStatus(Value& value);
  bool Affinity(Value& value);
  bool NodeAffinity(Value& value);
  bool NodeSelector(Value& value, Text where, objects::NodeSelector& selector);
  bool NodeTerm(Value& value, Text where, objects::NodeSelectorTerm& term);
  bool PreferredNodeTerms(Value& value);
  bool PodAffinity(Value& value, Text where, std::vector<objects::PodAffinityTerm>& terms,
                   std::vector<objects::PreferredPodTerm>& preferred);
  bool PreferredPodTerms(Value& value, Text where, std::vector<objects::PreferredPodTerm>& terms);
  bool PodAffinityTerm(Value& value, Text where, objects::PodAffinityTerm& term);
  bool Toleration(Value& value, Text where, objects::Toleration& toleration);
  bool Spread(Value& value, objects::TopologySpreadConstraint& constraint);
  bool Containers(Value& value, std::vector<objects::Container>& containers);
  bool Container(Value& value, objects::Container& container);
  bool ContainerPorts(Value& value, std::vector<objects::ContainerPort>& ports);
  bool RestartRules(Value& value, bool& restarts_all);
  bool EphemeralContainer(Value& value);
  bool VolumeMounts(Value& value);
  bool NodeClaims(Value& value);
  bool NodeClaim(Value& value);
  bool ContainerStatuses(Value& value, std::vector<objects::ContainerStatus>& statuses);
  bool Volume(Value& value, objects::Volume& volume);
  bool VolumeSource(Value& value, objects::Volume& volume);
  bool PodCondition(Value& value);
  objects::Scheduling SchedulingOf(Text status, Text reason);
  void JudgeScheduling();
  void DigestSpec();
  bool BudgetSpec(Value& value);
  bool BudgetStatus(Value& value);
  bool BudgetCondition(Value& value);
  bool ResourceClaimStatus(Key key, Value& value);
  void NameMadeClaims();

  void RenewPod();
  void Spare(ResourceList& list) {
    if (list.capacity() > 0) spare_lists_.push_back(Emptied(list));
  }
  ResourceList SpareList() {
    if (spare_lists_.empty()) return {};
    ResourceList list = std::move(spare_lists_.back());
    spare_lists_.pop_back();
    return list;
  }
  std::vector<objects::Container> EmptiedContainers(std::vector<objects::Container>& containers);

  // Records an unknown member that may restrict where the pod runs.
  bool NotUnderstood(Text where, Text key) {
    if (!where.empty()) NotUnderstood(absl::StrCat(Absl(where), ".", Absl(key)));
    return true;
  }
  // Keeps the smallest of several, because forms differ in the order of members.
  void NotUnderstood(std::string what) {
    if (not_understood_.empty() || what < not_understood_) not_understood_ = std::move(what);
  }
  // Reads the member in which ebb writes what an object had of such members (kNotUnderstoodSpec).
  bool NotUnderstoodBefore(Value& value) {
    Text path;
    if (!fields_.String(value, path)) return false;
    NotUnderstood(std::string(path));
    return true;
  }

  // The object that is being read, in the batch.
  objects::Node* node_ = nullptr;
  objects::Pod* pod_ = nullptr;
  objects::PodDisruptionBudget* budget_ = nullptr;
  objects::Controller* controller_ = nullptr;
  objects::Namespace* namespace_ = nullptr;
  objects::ObjectMeta* meta_ = nullptr;
  ObjectSink::Aside aside_;
  std::string not_understood_;
  bool ready_is_untrue_ = false;  // The pod has a condition Ready that is not True.
  std::vector<objects::PodResourceClaim> made_claims_;  // status.resourceClaimStatuses.
  std::vector<objects::ContainerStatus> init_statuses_;
  // Of the pod that is being read:
  Text spec_;                              // The text from its spec on.
  std::string_view written_digest_;        // The value of kDigestAnnotation.
  bool has_gates_ = false;                 // spec.schedulingGates is not empty.
  bool has_scheduled_ = false;             // Has a condition PodScheduled.
  bool not_recorded_ = false;              // The condition's reason is kNotRecordedReason.
  std::vector<ResourceList> spare_lists_;  // Emptied lists of earlier objects, to reuse memory.
};

// Kinds that are read; objects of all other kinds are ignored and counted.
template <typename Fields>
const typename ObjectFields<Fields>::Kind ObjectFields<Fields>::kKinds[] = {
    {"", "Pod", true, Type::kPod, &ObjectFields::ReadPod},
    {"", "Node", false, Type::kNode, &ObjectFields::ReadNode},
    {"apps", "ReplicaSet", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kReplicaSet>},
    {"extensions", "ReplicaSet", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kReplicaSet>},
    {"apps", "StatefulSet", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kStatefulSet>},
    {"apps", "DaemonSet", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kDaemonSet>},
    {"extensions", "DaemonSet", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kDaemonSet>},
    {"batch", "Job", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kJob>},
    {"", "ReplicationController", true, Type::kController,
     &ObjectFields::template ReadController<objects::ControllerKind::kReplicationController>},
    {"policy", "PodDisruptionBudget", true, Type::kBudget, &ObjectFields::ReadPodDisruptionBudget},
    {"", "Namespace", false, Type::kNamespace, &ObjectFields::ReadNamespace},
    {"", "PersistentVolume", false, Type::kStorage, &ObjectFields::ReadPersistentVolume},
    {"", "PersistentVolumeClaim", true, Type::kStorage, &ObjectFields::ReadPersistentVolumeClaim},
    {"storage.k8s.io", "StorageClass", false, Type::kStorage, &ObjectFields::ReadStorageClass},
    {"storage.k8s.io", "CSIDriver", false, Type::kStorage, &ObjectFields::ReadCsiDriver},
    {"storage.k8s.io", "CSINode", false, Type::kStorage, &ObjectFields::ReadCsiNode},
    {"storage.k8s.io", "VolumeAttachment", false, Type::kStorage,
     &ObjectFields::ReadVolumeAttachment},
    {"storage.k8s.io", "CSIStorageCapacity", true, Type::kStorage,
     &ObjectFields::ReadCsiStorageCapacity},
    {"resource.k8s.io", "DeviceClass", false, Type::kStorage, &ObjectFields::ReadDeviceClass},
    {"resource.k8s.io", "ResourceClaim", true, Type::kStorage, &ObjectFields::ReadResourceClaim},
    {"resource.k8s.io", "ResourceClaimTemplate", true, Type::kStorage,
     &ObjectFields::ReadResourceClaimTemplate},
    {"resource.k8s.io", "ResourceSlice", false, Type::kStorage, &ObjectFields::ReadResourceSlice},
    {"resource.k8s.io", "DeviceTaintRule", false, Type::kStorage,
     &ObjectFields::ReadDeviceTaintRule},
    {"cluster.x-k8s.io", "Machine", true, Type::kStorage, &ObjectFields::ReadClusterApiMachine},
    {"machine.openshift.io", "Machine", true, Type::kStorage, &ObjectFields::ReadOpenShiftMachine},
    {"karpenter.sh", "NodeClaim", false, Type::kStorage, &ObjectFields::ReadNodeClaim},
    {"karpenter.sh", "NodePool", false, Type::kStorage, &ObjectFields::ReadNodePool},
    {"scheduling.k8s.io", "PodGroup", true, Type::kStorage, &ObjectFields::ReadKubernetesPodGroup},
    {"scheduling.x-k8s.io", "PodGroup", true, Type::kStorage, &ObjectFields::ReadPluginsPodGroup},
    {"scheduling.volcano.sh", "PodGroup", true, Type::kStorage, &ObjectFields::ReadVolcanoPodGroup},
    {"", "PodTemplate", true, Type::kStorage, &ObjectFields::ReadPodTemplate},
    {"autoscaling.x-k8s.io", "CapacityBuffer", true, Type::kStorage,
     &ObjectFields::ReadCapacityBuffer},
    {"autoscaling.k8s.io", "VerticalPodAutoscaler", true, Type::kStorage,
     &ObjectFields::ReadVerticalPodAutoscaler},
    {"", "Service", true, Type::kStorage, &ObjectFields::ReadService},
    {"lifecycle.k8s.io", "EvictionRequest", true, Type::kStorage,
     &ObjectFields::ReadEvictionRequest},
};

// ---------------------------------------------------------------------------
// Identifying the object

template <typename Fields>
void ObjectFields<Fields>::ReadAs(const Kind& rule, const ObjectPlace& place) {
  aside_ = {};
  aside_.place =
      place.list.empty() ? ObjectSink::Aside::Place::kAlone : ObjectSink::Aside::Place::kInList;
  not_understood_.clear();
  ready_is_untrue_ = false;
  made_claims_.clear();
  init_statuses_.clear();
  has_gates_ = has_scheduled_ = not_recorded_ = false;
  spec_ = written_digest_ = {};
  if (rule.group == kDeviceGroup && GroupOf(place.api_version) == kDeviceGroup) {
    // Items of a list may have no version of their own.
    CheckDeviceVersion(place.api_version, rule.kind == "DeviceTaintRule");
  }
  if (rule.kind == "PodGroup" && GroupOf(place.api_version) == rule.group) {
    CheckPodGroupVersion(rule.group, place.api_version);
  }
  if (rule.kind == "NodePool" && GroupOf(place.api_version) == rule.group) {
    CheckPoolVersion(place.api_version);
  }
  if (!(this->*rule.read)()) return FieldError(rule.kind, place);
  if (!CheckNames()) return FieldError(rule.kind, place);
  meta_->namespace_name = NamespaceAsRead(meta_->namespace_name, rule.namespaced);
  if (rule.type == Type::kPod) {
    if (!made_claims_.empty()) NameMadeClaims();
    // The statuses of init containers come last, in whichever order the two lists were read.
    std::move(init_statuses_.begin(), init_statuses_.end(),
              std::back_inserter(pod_->container_statuses));
    JudgeScheduling();
    pod_->not_understood = batch_->texts.Copy(not_understood_);
    pod_->unready = ready_is_untrue_ && pod_->phase == "Running";
    if (!AsksForStart(pod_->meta.annotations)) pod_->start_time.reset();
    if (place.on_node.has_value()) pod_->node_name = *place.on_node;
    if (pod_->node_name.empty()) DigestSpec();
  }
  batch_->Add(rule.type, rule.kind, aside_);
}

template <typename Fields>
bool ObjectFields<Fields>::CheckNames() {
  if (meta_->name.empty()) return fields_.FailAt(".metadata.name", "is missing");
  // Troubleshoot writes this in place of redacted text.  Two objects would have the same name.
  if (meta_->name.find('*') != Text::npos && meta_->name.find("***HIDDEN***") != Text::npos) {
    return fields_.FailAt(".metadata.name",
                          "is redacted (***HIDDEN***), and ebb needs the names of objects; make "
                          "the bundle with --redact=false");
  }
  if (!IsName(meta_->name)) return fields_.FailAt(".metadata.name", NameProblem(meta_->name));
  const Text namespace_name = meta_->namespace_name;
  if (!namespace_name.empty() && !IsName(namespace_name)) {
    return fields_.FailAt(".metadata.namespace", NameProblem(namespace_name));
  }
  if (pod_ == nullptr || meta_ != &pod_->meta) return true;
  const Text node = pod_->node_name;
  return node.empty() || IsName(node) || fields_.FailAt(".spec.nodeName", NameProblem(node));
}

// A budget that is ignored because of its spelling protects nothing.  So these kinds are rejected
// instead of ignored: a kind that ebb reads, but in another case or in the plural, or under one
// of Kubernetes' own groups that does not have it; and a kind of Kubernetes' own groups that is not
// a word.  Custom resources may have such names: their groups contain a dot.
template <typename Fields>
std::string ObjectFields<Fields>::KindProblem(Text api_version, Text kind) {
  if (RuleFor(api_version, kind) != nullptr) return {};
  if (FindUnevaluatedKind(api_version, kind) != nullptr) return {};
  const Text group = GroupOf(api_version);
  const auto equal = [](Text a, Text b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
      return std::tolower(x) == std::tolower(y);
    });
  };
  const Text singular = kind.ends_with('s') ? kind.substr(0, kind.size() - 1) : kind;
  const Kind* meant = nullptr;
  // A list's apiVersion is raw text: if it has escapes, it may be any group.
  bool ours = group.find('.') == Text::npos || group.find('\\') != Text::npos;
  for (const Kind& rule : kKinds) {
    if (rule.group == group) ours = true;
    const bool same = equal(rule.kind, kind) || equal(rule.kind, singular);
    if (same && (meant == nullptr || rule.group == group)) meant = &rule;
  }
  const bool word = std::all_of(kind.begin(), kind.end(),
                                [](unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; });
  if (!ours || (meant == nullptr && word)) return {};
  std::string problem = absl::StrCat("\"", Printable(kind), "\" of apiVersion \"",
                                     Printable(api_version), "\" is not one of Kubernetes");
  if (meant != nullptr) {
    absl::StrAppend(&problem, "; ", Absl(meant->kind), " of ",
                    meant->group.empty() ? "v1" : Absl(meant->group), " is");
  }
  return problem;
}

template <typename Fields>
const typename ObjectFields<Fields>::Kind* ObjectFields<Fields>::RuleFor(Text api_version,
                                                                         Text kind) {
  for (const Kind& rule : kKinds) {
    // Other groups have kinds Job and Node too; ebb does not read those.
    if (rule.kind == kind && (api_version.empty() || rule.group == GroupOf(api_version))) {
      return &rule;
    }
  }
  return nullptr;
}

template <typename Fields>
std::string ObjectFields<Fields>::Where(const ObjectPlace& place) {
  return place.list.empty() ? "" : absl::StrCat(Absl(place.list), "[", place.index, "]");
}

template <typename Fields>
std::string ObjectFields<Fields>::NameFor(Text kind, const ObjectPlace& place) const {
  const std::string where = Where(place);
  if (meta_ == nullptr || meta_->name.empty()) {
    return where.empty() ? std::string(kind) : absl::StrCat(Absl(kind), " ", where);
  }
  return absl::StrCat(Absl(kind), " ", Printable(ebb::NameOf(*meta_)));
}

// Reads the name of an object whose wrong field precedes its metadata.
template <typename Fields>
void ObjectFields<Fields>::FindName() {
  if (meta_ == nullptr || !meta_->name.empty()) return;
  fields_.Rewind();
  fields_.Members([this](Key key, Value& value) {
    if (key != "metadata") return true;
    return fields_.Members(value, [this](Key member, Value& text) {
      if (member == "name") return fields_.String(text, meta_->name);
      if (member == "namespace") return fields_.String(text, meta_->namespace_name);
      return true;
    });
  });
}

template <typename Fields>
void ObjectFields<Fields>::FieldError(Text kind, const ObjectPlace& place) {
  const std::string problem = fields_.Problem();
  if (!fields_.malformed()) {
    FindName();
    return batch_->AddError(absl::InvalidArgumentError(
        absl::StrCat(Absl(place.file), ": ", NameFor(kind, place), ": ", problem)));
  }
  const std::string where = Where(place);
  const int64_t at = fields_.malformed_at();
  const uint64_t offset = place.offset + static_cast<uint64_t>(std::max<int64_t>(at, 0));
  batch_->AddError(MakeFormError(
      {.broken = true},
      absl::StrCat(Absl(place.file), ": ", at >= 0 ? "" : "after ",
                   BytePosition(place.text, offset),
                   where.empty() ? "" : absl::StrCat(" (", where, ")"), ": ", problem)));
}

template <typename Fields>
void ObjectFields<Fields>::AddIgnored(Text api_version, Text kind) {
  if (FindUnevaluatedKind(api_version, kind) == nullptr) return batch_->AddIgnored(kind);
  ObjectSink::Unevaluated object{api_version, kind, {}, {}};
  if (kind == "KubeSchedulerConfiguration") object.text = fields_.Whole();
  fields_.Members([&](Key key, Value& value) {
    if (key != "metadata") return true;
    return fields_.Members(value, [&](Key member, Value& text) {
      if (member == "name") return fields_.String(text, object.name);
      if (member == "namespace") return fields_.String(text, object.namespace_name);
      return true;
    });
  });
  // Leaves out names that cannot be read: ignored objects need not be valid.
  if (!IsName(object.name)) object.name = {};
  if (!IsName(object.namespace_name)) object.namespace_name = {};
  batch_->AddUnevaluated(object);
}

// metav1.Status: the API server returned an error instead of objects.
template <typename Fields>
void ObjectFields<Fields>::StatusError(const ObjectPlace& place) {
  Text status;
  Text reason;
  Text message;
  const bool read = fields_.Members([&](Key key, Value& value) {
    if (key == "status") return fields_.String(value, status);
    if (key == "reason") return fields_.String(value, reason);
    if (key == "message") return fields_.String(value, message);
    return true;
  });
  if (!read) return FieldError("Status", place);
  const std::string where = Where(place);
  batch_->AddError(absl::InvalidArgumentError(
      absl::StrCat(Absl(place.file), ": ", where, where.empty() ? "" : " ",
                   "is an answer of the API server instead of objects (kind Status): ",
                   Printable(message.empty() ? status : message.substr(0, 300)),
                   reason.empty() ? "" : absl::StrCat(" (", Printable(reason), ")"),
                   "; mend that and dump again")));
}

// Whether the kind is a table or metadata without the object: the API server returns these if a
// client asks for less than the objects.  Source: meta/v1 of apimachinery.
template <typename Fields>
bool ObjectFields<Fields>::IsPartial(Text api_version, Text kind) {
  return GroupOf(api_version) == "meta.k8s.io" &&
         (kind == "Table" || kind == "PartialObjectMetadata" ||
          kind == "PartialObjectMetadataList");
}

template <typename Fields>
void ObjectFields<Fields>::PartialError(Text kind, Text json, const ObjectPlace& place) {
  const std::string where = Where(place);
  const bool metadata = json.find("PartialObjectMetadata") != Text::npos;
  const std::string holds =
      kind == "Table"
          ? absl::StrCat(" (rows for people",
                         metadata ? ", each with a PartialObjectMetadata: name and labels)" : ")")
          : " (name and labels)";
  batch_->AddError(MakeFormError(
      {.matters = true},
      absl::StrCat(Absl(place.file), ": ", where, where.empty() ? "" : " ", "is of kind ",
                   Printable(kind), holds,
                   ", not the objects; fetch them with `kubectl get ... -A -o json`, or from the "
                   "API with the header `Accept: application/json`")));
}

// ---------------------------------------------------------------------------
// Parts that several kinds share

template <typename Fields>
bool ObjectFields<Fields>::Strings(Value& value, std::vector<Text>& strings) {
  strings.clear();
  return fields_.Elements(
      value, [&](Value& element) { return fields_.String(element, strings.emplace_back()); });
}

template <typename Fields>
bool ObjectFields<Fields>::StringMap(Value& value, KeyValues& map) {
  map.clear();
  return fields_.Members(value, [&](Text key, Value& text) {
    return fields_.String(text, map.emplace_back(objects::KeyValue{key, {}}).value);
  }) && KeepLast(map, &objects::KeyValue::key);
}

template <typename Fields>
bool ObjectFields<Fields>::Annotations(Value& value, KeyValues& map) {
  map.clear();
  return fields_.Members(value, [&](Text key, Value& text) {
    // A copy of the whole object as text; no decision reads it.
    if (key == "kubectl.kubernetes.io/last-applied-configuration") return true;
    if (key == kDigestAnnotation) return fields_.String(text, written_digest_);
    return fields_.String(text, map.emplace_back(objects::KeyValue{key, {}}).value);
  }) && KeepLast(map, &objects::KeyValue::key);
}

template <typename Fields>
bool ObjectFields<Fields>::Resources(Value& value, ResourceList& list) {
  list.clear();
  return fields_.Members(value, [&](Text name, Value& amount) {
    ExactQuantity exact;
    const bool ok = fields_.Amount(amount, UnitOfResource(name), exact);
    list.push_back({name, exact.amount, exact.excess});
    return ok;
  }) && KeepLast(list, &ResourceList::value_type::name);
}

template <typename Fields>
bool ObjectFields<Fields>::Owner(Value& value, objects::OwnerReference& owner) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "apiVersion") return fields_.String(member, owner.api_version);
    if (key == "kind") return fields_.String(member, owner.kind);
    if (key == "name") return fields_.String(member, owner.name);
    if (key == "uid") return fields_.String(member, owner.uid);
    if (key == "controller") return fields_.Bool(member, owner.controller);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Meta(Value& value, objects::ObjectMeta& meta) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "name") return fields_.String(member, meta.name);
    if (key == "namespace") return fields_.String(member, meta.namespace_name);
    if (key == "uid") return fields_.String(member, meta.uid);
    if (key == "resourceVersion") return fields_.String(member, aside_.resource_version);
    if (key == "labels") return StringMap(member, meta.labels);
    if (key == "annotations") return Annotations(member, meta.annotations);
    if (key == "creationTimestamp") return fields_.Time(member, meta.creation_time);
    if (key == "deletionTimestamp") return fields_.Time(member, meta.deletion_time.emplace());
    if (key == "ownerReferences") {
      meta.owners.clear();
      return fields_.Elements(member,
                              [&](Value& each) { return Owner(each, meta.owners.emplace_back()); });
    }
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Requirements(Value& value, Text where,
                                        std::vector<objects::Requirement>& requirements) {
  requirements.clear();
  return fields_.Elements(value, [&](Value& element) {
    objects::Requirement& requirement = requirements.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "key") return fields_.String(member, requirement.key);
      if (key == "operator") return fields_.String(member, requirement.op);
      if (key == "values") return Strings(member, requirement.values);
      return NotUnderstood(where, key);
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Selector(Value& value, Text where, objects::LabelSelector& selector) {
  selector.nil = false;
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "matchLabels") return StringMap(member, selector.match_labels);
    if (key == "matchExpressions") {
      return Requirements(member, where, selector.match_expressions);
    }
    return NotUnderstood(where, key);
  });
}

// ---------------------------------------------------------------------------
// Node

template <typename Fields>
bool ObjectFields<Fields>::ReadNode() {
  node_ = &batch_->nodes.Next();
  Renew(*node_);
  meta_ = &node_->meta;
  return EachPart([this](Key key, Value& value) {
    if (key == "metadata") return Meta(value, node_->meta);
    if (key == "spec") return NodeSpec(value);
    if (key == "status") return NodeStatus(value);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::NodeSpec(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == "unschedulable") return fields_.Bool(member, node_->unschedulable);
    if (key == "providerID") return fields_.String(member, node_->provider_id);
    if (key == "taints") return Taints(member, "", node_->taints);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Taints(Value& value, Text where, std::vector<objects::Taint>& taints) {
  taints.clear();
  return fields_.Elements(
      value, [&](Value& element) { return Taint(element, where, taints.emplace_back()); });
}

template <typename Fields>
bool ObjectFields<Fields>::Taint(Value& value, Text where, objects::Taint& taint) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "key") return fields_.String(member, taint.key);
    if (key == "value") return fields_.String(member, taint.value);
    if (key == "effect") return fields_.String(member, taint.effect);
    return key == "timeAdded" || NotUnderstood(where, key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::NodeStatus(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == "allocatable") return Resources(member, node_->allocatable);
    if (key == "capacity") return Resources(member, node_->capacity);
    if (key == "declaredFeatures") return Strings(member, node_->declared_features);
    if (key == "images") return Images(member);
    if (key == "nodeInfo") return NodeSystemInfo(member);
    if (key != "conditions") return true;
    node_->conditions.clear();
    return fields_.Elements(member, [this](Value& element) {
      objects::NodeCondition& condition = node_->conditions.emplace_back();
      return fields_.Members(element, [&](Key part, Value& text) {
        if (part == "type") return fields_.String(text, condition.type);
        if (part == "status") return fields_.String(text, condition.status);
        return part != "lastHeartbeatTime" || Heartbeat(text);
      });
    });
  });
}

// No decision reads a heartbeat, so a text that is not a time is skipped.
template <typename Fields>
bool ObjectFields<Fields>::Heartbeat(Value& value) {
  Text text;
  if (!fields_.String(value, text)) return false;
  aside_.heartbeat_time =
      std::max(aside_.heartbeat_time, ParseRfc3339(text).value_or(aside_.heartbeat_time));
  return true;
}

template <typename Fields>
bool ObjectFields<Fields>::NodeSystemInfo(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == "operatingSystem") return fields_.String(member, node_->operating_system);
    if (key == "architecture") return fields_.String(member, node_->architecture);
    if (key == "kubeletVersion") return fields_.String(member, node_->kubelet_version);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Images(Value& value) {
  node_->images.clear();
  return fields_.Elements(value, [this](Value& element) {
    objects::NodeImage& image = node_->images.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "names") return Strings(member, image.names);
      if (key == "sizeBytes") return fields_.Int(member, image.size_bytes);
      return true;
    });
  });
}

// ---------------------------------------------------------------------------
// Pod

template <typename Fields>
std::vector<objects::Container> ObjectFields<Fields>::EmptiedContainers(
    std::vector<objects::Container>& containers) {
  for (objects::Container& container : containers) {
    Spare(container.requests);
  }
  return Emptied(containers);
}

template <typename Fields>
void ObjectFields<Fields>::RenewPod() {
  Renew(*pod_);
  for (objects::ContainerStatus& status : pod_->container_statuses) {
    Spare(status.requests);
    Spare(status.allocated);
  }
  pod_->container_statuses.clear();
  pod_->containers = EmptiedContainers(pod_->containers);
  pod_->init_containers = EmptiedContainers(pod_->init_containers);
}

template <typename Fields>
bool ObjectFields<Fields>::ReadPod() {
  pod_ = &batch_->pods.Next();
  RenewPod();
  meta_ = &pod_->meta;
  return EachPart([this](Key key, Value& value) {
    if (key == "metadata") return Meta(value, pod_->meta);
    if (key == "spec") {
      spec_ = fields_.From(value);
      return PodSpec(value);
    }
    if (key == "status") return PodStatus(value);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PodSpec(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == "nodeName") return fields_.String(member, pod_->node_name);
    if (key == "containers") return Containers(member, pod_->containers);
    if (key == "volumes") {
      pod_->volumes.clear();
      return fields_.Elements(
          member, [this](Value& each) { return Volume(each, pod_->volumes.emplace_back()); });
    }
    if (key == "tolerations") {
      pod_->tolerations.clear();
      return fields_.Elements(member, [this](Value& each) {
        return Toleration(each, "spec.tolerations[]", pod_->tolerations.emplace_back());
      });
    }
    if (key == "nodeSelector") {
      pod_->has_node_selector = true;
      return StringMap(member, pod_->node_selector);
    }
    if (key == "affinity") return Affinity(member);
    if (key == "topologySpreadConstraints") {
      pod_->spread.clear();
      return fields_.Elements(
          member, [this](Value& each) { return Spread(each, pod_->spread.emplace_back()); });
    }
    if (key == "restartPolicy") return fields_.String(member, pod_->restart_policy);
    if (key == "priority") return fields_.Int32(member, pod_->priority.emplace());
    if (key == "terminationGracePeriodSeconds") {
      return fields_.Int(member, pod_->termination_grace_period_s.emplace());
    }
    if (key == "initContainers") return Containers(member, pod_->init_containers);
    if (key == "hostNetwork") return fields_.Bool(member, pod_->host_network);
    if (key == "hostUsers") return fields_.Bool(member, pod_->host_users.emplace());
    if (key == "schedulerName") return fields_.String(member, pod_->scheduler_name);
    if (key == "schedulingGates") {
      return fields_.Elements(member, [this](Value&) { return has_gates_ = true; });
    }
    if (key == "os") {
      return fields_.Members(member, [this](Key part, Value& name) {
        return part != "name" || fields_.String(name, pod_->os_name);
      });
    }
    if (key == "ephemeralContainers") {
      return fields_.Elements(member, [this](Value& each) { return EphemeralContainer(each); });
    }
    if (key == "overhead") return Resources(member, pod_->overhead);
    if (key == "resources") {
      return fields_.Members(member, [this](Key part, Value& list) {
        if (part != "requests") return true;
        pod_->has_pod_resources = true;
        return Resources(list, pod_->pod_requests);
      });
    }
    if (key == "resourceClaims") {
      pod_->resource_claims.clear();
      return fields_.Elements(member, [this](Value& each) {
        objects::PodResourceClaim& claim = pod_->resource_claims.emplace_back();
        return fields_.Members(each, [&](Key part, Value& text) {
          if (part == "name") return fields_.String(text, claim.name);
          if (part == "resourceClaimName") return fields_.String(text, claim.claim_name);
          if (part == "resourceClaimTemplateName") return fields_.String(text, claim.template_name);
          return NotUnderstood("spec.resourceClaims[]", part);
        });
      });
    }
    if (key == "schedulingGroup" || key == "workloadRef") {
      const Text name = key == "schedulingGroup" ? "podGroupName" : "name";
      return fields_.Members(member, [&](Key part, Value& text) {
        return part != name || fields_.String(text, pod_->scheduling_group);
      });
    }
    if (std::binary_search(kHarmlessPodSpec.begin(), kHarmlessPodSpec.end(), Text(key)))
      return true;
    return NotUnderstood("spec", key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Toleration(Value& value, Text where, objects::Toleration& toleration) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "key") return fields_.String(member, toleration.key);
    if (key == "operator") return fields_.String(member, toleration.op);
    if (key == "value") return fields_.String(member, toleration.value);
    if (key == "effect") return fields_.String(member, toleration.effect);
    if (key == "tolerationSeconds") return true;
    return NotUnderstood(where, key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Affinity(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == "nodeAffinity") return NodeAffinity(member);
    if (key == "podAffinity")
      return PodAffinity(member, "spec.affinity.podAffinity", pod_->affinity,
                         pod_->preferred_affinity);
    if (key == "podAntiAffinity") {
      return PodAffinity(member, "spec.affinity.podAntiAffinity", pod_->anti_affinity,
                         pod_->preferred_anti_affinity);
    }
    return NotUnderstood("spec.affinity", key);
  });
}

constexpr Text kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr Text kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

template <typename Fields>
bool ObjectFields<Fields>::NodeAffinity(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == kRequired) {
      return NodeSelector(member, "spec.affinity.nodeAffinity", pod_->required_node_affinity);
    }
    if (key == kPreferred) return PreferredNodeTerms(member);
    return NotUnderstood("spec.affinity.nodeAffinity", key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PreferredNodeTerms(Value& value) {
  pod_->preferred_nodes.clear();
  return fields_.Elements(value, [this](Value& element) {
    objects::PreferredNodeTerm& preferred = pod_->preferred_nodes.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "weight") return fields_.Int32(member, preferred.weight);
      // An unknown field of a preference cannot exclude a node.
      return key != "preference" || NodeTerm(member, {}, preferred.term);
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::NodeSelector(Value& value, Text where, objects::NodeSelector& selector) {
  selector.nil = false;
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key != "nodeSelectorTerms") return NotUnderstood(where, key);
    selector.terms.clear();
    return fields_.Elements(member, [&](Value& element) {
      return NodeTerm(element, where, selector.terms.emplace_back());
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::NodeTerm(Value& value, Text where, objects::NodeSelectorTerm& term) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "matchExpressions") return Requirements(member, where, term.match_expressions);
    if (key == "matchFields") return Requirements(member, where, term.match_fields);
    return NotUnderstood(where, key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PodAffinity(Value& value, Text where,
                                       std::vector<objects::PodAffinityTerm>& terms,
                                       std::vector<objects::PreferredPodTerm>& preferred) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == kPreferred) return PreferredPodTerms(member, where, preferred);
    if (key != kRequired) return NotUnderstood(where, key);
    terms.clear();
    return fields_.Elements(member, [&](Value& element) {
      return PodAffinityTerm(element, where, terms.emplace_back());
    });
  });
}

// A preference cannot exclude a node, but the scheduler rejects a pod with a preference that does
// not parse.
template <typename Fields>
bool ObjectFields<Fields>::PreferredPodTerms(Value& value, Text where,
                                             std::vector<objects::PreferredPodTerm>& terms) {
  terms.clear();
  return fields_.Elements(value, [&](Value& element) {
    objects::PreferredPodTerm& preferred = terms.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "weight") return fields_.Int32(member, preferred.weight);
      if (key != "podAffinityTerm") return true;
      if (!PodAffinityTerm(member, where, preferred.term)) return false;
      for (const objects::LabelSelector* selector :
           {&preferred.term.label_selector, &preferred.term.namespace_selector}) {
        const absl::Status status = CheckSelector(*selector);
        if (!status.ok()) NotUnderstood(absl::StrCat(Absl(where), ": ", status.message()));
      }
      return true;
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PodAffinityTerm(Value& value, Text where,
                                           objects::PodAffinityTerm& term) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "labelSelector") return Selector(member, where, term.label_selector);
    if (key == "namespaces") return Strings(member, term.namespaces);
    if (key == "namespaceSelector") return Selector(member, where, term.namespace_selector);
    if (key == "topologyKey") return fields_.String(member, term.topology_key);
    // The API server has merged these into labelSelector; the scheduler does not read them.
    if (key == "matchLabelKeys" || key == "mismatchLabelKeys") return true;
    return NotUnderstood(where, key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Spread(Value& value, objects::TopologySpreadConstraint& constraint) {
  constexpr Text kWhere = "spec.topologySpreadConstraints[]";
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "maxSkew") return fields_.Int32(member, constraint.max_skew, 0);
    if (key == "topologyKey") return fields_.String(member, constraint.topology_key);
    if (key == "whenUnsatisfiable") return fields_.String(member, constraint.when_unsatisfiable);
    if (key == "labelSelector") return Selector(member, kWhere, constraint.label_selector);
    if (key == "matchLabelKeys") return Strings(member, constraint.match_label_keys);
    if (key == "minDomains") return fields_.Int32(member, constraint.min_domains.emplace(), 0);
    if (key == "nodeAffinityPolicy") return fields_.String(member, constraint.node_affinity_policy);
    if (key == "nodeTaintsPolicy") return fields_.String(member, constraint.node_taints_policy);
    return NotUnderstood(kWhere, key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Containers(Value& value, std::vector<objects::Container>& containers) {
  containers = EmptiedContainers(containers);
  return fields_.Elements(value, [&](Value& element) {
    objects::Container& container = containers.emplace_back();
    container.requests = SpareList();
    return Container(element, container);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Container(Value& value, objects::Container& container) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "name") return fields_.String(member, container.name);
    if (key == "image") return fields_.String(member, container.image);
    if (key == "resources") {
      return fields_.Members(member, [&](Key part, Value& list) {
        return part != "requests" || Resources(list, container.requests);
      });
    }
    if (key == "ports") return ContainerPorts(member, container.ports);
    if (key == "restartPolicy") return fields_.String(member, container.restart_policy);
    if (key == "restartPolicyRules") return RestartRules(member, container.restarts_all_containers);
    if (key == "volumeMounts") return VolumeMounts(member);
    return true;
  });
}

// The ports and requests of an ephemeral container do not count.
template <typename Fields>
bool ObjectFields<Fields>::EphemeralContainer(Value& value) {
  return fields_.Members(
      value, [&](Key key, Value& member) { return key != "volumeMounts" || VolumeMounts(member); });
}

template <typename Fields>
bool ObjectFields<Fields>::VolumeMounts(Value& value) {
  return fields_.Elements(value, [&](Value& element) {
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key != "bindMountOptions") return true;
      return fields_.Elements(member, [this](Value&) {
        pod_->has_bind_mount_options = true;
        return true;
      });
    });
  });
}

// Keeps only host ports, because only these conflict with one another.
template <typename Fields>
bool ObjectFields<Fields>::ContainerPorts(Value& value,
                                          std::vector<objects::ContainerPort>& ports) {
  ports.clear();
  return fields_.Elements(value, [&](Value& element) {
    objects::ContainerPort port;
    const bool read = fields_.Members(element, [&](Key key, Value& member) {
      if (key == "hostPort") return fields_.Int(member, port.host_port, 0, 65535);
      if (key == "hostIP") return fields_.String(member, port.host_ip);
      if (key == "protocol") return fields_.String(member, port.protocol);
      return true;
    });
    if (read && port.host_port > 0) ports.push_back(port);
    return read;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::RestartRules(Value& value, bool& restarts_all) {
  return fields_.Elements(value, [&](Value& element) {
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key != "action") return true;
      Text action;
      if (!fields_.String(member, action)) return false;
      restarts_all |= action == "RestartAllContainers";
      return true;
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Volume(Value& value, objects::Volume& volume) {
  const bool read = fields_.Members(value, [&](Key key, Value& member) {
    if (key == "name") return fields_.String(member, volume.name);
    volume.source = key;
    if (!std::binary_search(kVolumeSources.begin(), kVolumeSources.end(), Text(key))) {
      return NotUnderstood("spec.volumes[]", key);
    }
    return VolumeSource(member, volume);
  });
  // A volume without a source is an emptyDir (SetDefaults_Volume).
  if (volume.source.empty()) volume.source = "emptyDir";
  if (volume.source == "rbd" && volume.pool.empty()) volume.pool = "rbd";
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::VolumeSource(Value& value, objects::Volume& volume) {
  const Text id_field = VolumeIdFieldOf(volume.source);
  return fields_.Members(value, [&](Key key, Value& member) {
    if (!id_field.empty() && key == id_field) return fields_.String(member, volume.id);
    if (key == "readOnly") return fields_.Bool(member, volume.read_only);
    if (volume.source == "emptyDir") {
      return key != "medium" || fields_.String(member, volume.medium);
    }
    if (volume.source == "persistentVolumeClaim") {
      return key != "claimName" || fields_.String(member, volume.claim_name);
    }
    if (volume.source == "csi") return key != "driver" || fields_.String(member, volume.driver);
    if (volume.source == "azureDisk" && key == "kind") {
      Text kind;
      if (!fields_.String(member, kind)) return false;
      // Other kinds have no CSI equivalent, and the scheduler fails on them.
      return kind == "Managed" || NotUnderstood("spec.volumes[].azureDisk", key);
    }
    if (volume.source == "rbd") {
      if (key == "pool") return fields_.String(member, volume.pool);
      if (key == "monitors") return Strings(member, volume.monitors);
    }
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PodStatus(Value& value) {
  return fields_.Members(value, [this](Key key, Value& member) {
    if (key == "phase") return fields_.String(member, pod_->phase);
    if (key == "nominatedNodeName") return fields_.String(member, pod_->nominated_node_name);
    if (key == "startTime") return fields_.Time(member, pod_->start_time.emplace());
    if (key == "containerStatuses") return ContainerStatuses(member, pod_->container_statuses);
    if (key == "initContainerStatuses") return ContainerStatuses(member, init_statuses_);
    if (key == "conditions") {
      return fields_.Elements(member, [this](Value& each) { return PodCondition(each); });
    }
    if (key == "allocatedResources") return Resources(member, pod_->pod_allocated);
    if (key == "nodeAllocatableResourceClaimStatuses") return NodeClaims(member);
    if (key == "resourceClaimStatuses" || key == "extendedResourceClaimStatus") {
      return ResourceClaimStatus(key, member);
    }
    if (key == "resources") {
      pod_->has_pod_status_resources = true;
      return fields_.Members(member, [this](Key part, Value& list) {
        return part != "requests" || Resources(list, pod_->pod_status_requests);
      });
    }
    return true;
  });
}

// Reads which claims were created for the pod.
template <typename Fields>
bool ObjectFields<Fields>::ResourceClaimStatus(Key key, Value& value) {
  const auto read = [this](Value& each) {
    objects::PodResourceClaim& claim = made_claims_.emplace_back();
    return fields_.Members(each, [&](Key part, Value& text) {
      if (part == "name") return fields_.String(text, claim.name);
      return part != "resourceClaimName" || fields_.String(text, claim.claim_name);
    });
  };
  return key == "resourceClaimStatuses" ? fields_.Elements(value, read) : read(value);
}

template <typename Fields>
void ObjectFields<Fields>::NameMadeClaims() {
  std::vector<objects::PodResourceClaim>& claims = pod_->resource_claims;
  for (const objects::PodResourceClaim& made : made_claims_) {
    if (made.name.empty()) claims.push_back(made);
    for (objects::PodResourceClaim& claim : claims) {
      if (claim.name == made.name && claim.claim_name.empty()) claim.claim_name = made.claim_name;
    }
  }
  made_claims_.clear();
}

template <typename Fields>
objects::Scheduling ObjectFields<Fields>::SchedulingOf(Text status, Text reason) {
  not_recorded_ = reason == kNotRecordedReason;
  if (not_recorded_) return objects::Scheduling::kNotRecorded;
  if (status != "False") return objects::Scheduling::kOther;
  if (reason.empty()) return objects::Scheduling::kUnprocessed;
  if (reason == "Unschedulable") return objects::Scheduling::kUnschedulable;
  return reason == "SchedulingGated" ? objects::Scheduling::kGated : objects::Scheduling::kOther;
}

template <typename Fields>
bool ObjectFields<Fields>::PodCondition(Value& value) {
  Text type;
  Text status;
  Text reason;
  const bool read = fields_.Members(value, [&](Key key, Value& member) {
    if (key == "type") return fields_.String(member, type);
    if (key == "status") return fields_.String(member, status);
    if (key == "reason") return fields_.String(member, reason);
    return true;
  });
  if (type == "PodResizePending" && reason == "Infeasible") pod_->resize_infeasible = true;
  // If a pod has several conditions of a type, the first counts (GetPodCondition).
  if (type == "PodScheduled" && !has_scheduled_) {
    has_scheduled_ = true;
    pod_->scheduling = SchedulingOf(status, reason);
  }
  if (type == "Ready") ready_is_untrue_ = status != "True";
  return read;
}

// Only pods that have a controller can be similar to other pods.
template <typename Fields>
void ObjectFields<Fields>::DigestSpec() {
  if (std::ranges::none_of(pod_->meta.owners, &objects::OwnerReference::controller)) return;
  uint64_t written = 0;
  const char* const end = written_digest_.data() + written_digest_.size();
  if (!written_digest_.empty() &&
      std::from_chars(written_digest_.data(), end, written, 16).ec == std::errc()) {
    pod_->spec_digest = written;
  } else if (!spec_.empty()) {
    pod_->spec_digest = Fields::SpecDigest(spec_);
  }
}

// Without the condition, a pod with a status counts as not processed by a scheduler, and a pod with
// scheduling gates as gated; the API server would make the condition from the gates.
template <typename Fields>
void ObjectFields<Fields>::JudgeScheduling() {
  objects::Scheduling& scheduling = pod_->scheduling;
  const bool is_recorded = has_scheduled_ || !pod_->phase.empty();
  if (is_recorded && scheduling == objects::Scheduling::kNotRecorded && !not_recorded_) {
    scheduling = objects::Scheduling::kUnprocessed;
  }
  const bool is_open = scheduling == objects::Scheduling::kNotRecorded ||
                       scheduling == objects::Scheduling::kUnprocessed;
  if (has_gates_ && is_open) scheduling = objects::Scheduling::kGated;
}

template <typename Fields>
bool ObjectFields<Fields>::NodeClaims(Value& value) {
  return fields_.Elements(value, [this](Value& each) { return NodeClaim(each); });
}

// `resources` is what Kubernetes 1.36 wrote in place of `mapping` and `overhead`.
template <typename Fields>
bool ObjectFields<Fields>::NodeClaim(Value& value) {
  struct Entry {
    Text name;
    std::array<ExactQuantity, 2> amount{};         // By unit: milli, whole.
    std::array<ExactQuantity, 2> per_container{};  // Counts once for each container.
  };
  int64_t containers = 0;
  ResourceList resources;
  std::vector<Entry> entries;
  // The name, which determines the unit, may come after the amount.
  const auto amounts = [this](Value& member, std::array<ExactQuantity, 2>& both) {
    return fields_.Amount(member, QuantityUnit::kMilli, both[0]) &&
           fields_.Amount(member, QuantityUnit::kWhole, both[1]);
  };
  const bool read = fields_.Members(value, [&](Key key, Value& member) {
    if (key == "containers") {
      return fields_.Elements(member, [&](Value&) { return ++containers > 0; });
    }
    if (key == "resources") return Resources(member, resources);
    if (key != "mapping" && key != "overhead") return true;
    return fields_.Elements(member, [&](Value& element) {
      Entry& entry = entries.emplace_back();
      return fields_.Members(element, [&](Key part, Value& each) {
        if (part == "name") return fields_.String(each, entry.name);
        if (part == "quantity" || part == "perPod") return amounts(each, entry.amount);
        return part != "perContainer" || amounts(each, entry.per_container);
      });
    });
  });
  ResourceList& claimed = pod_->claimed;
  claimed.insert(claimed.end(), resources.begin(), resources.end());
  for (const Entry& entry : entries) {
    const size_t unit = UnitOfResource(entry.name) == QuantityUnit::kMilli ? 0 : 1;
    for (const ExactQuantity& each :
         {entry.amount[unit], Times(entry.per_container[unit], containers)}) {
      if (each.amount != 0) claimed.push_back({entry.name, each.amount, each.excess});
    }
  }
  return read;
}

// Drops a status without amounts; it does not change what a pod is charged.
template <typename Fields>
bool ObjectFields<Fields>::ContainerStatuses(Value& value,
                                             std::vector<objects::ContainerStatus>& statuses) {
  return fields_.Elements(value, [&](Value& element) {
    objects::ContainerStatus status;
    const bool read = fields_.Members(element, [&](Key key, Value& member) {
      if (key == "name") return fields_.String(member, status.name);
      if (key == "allocatedResources") {
        status.allocated = SpareList();
        return Resources(member, status.allocated);
      }
      if (key != "resources") return true;
      status.has_resources = true;
      status.requests = SpareList();
      return fields_.Members(member, [&](Key part, Value& list) {
        return part != "requests" || Resources(list, status.requests);
      });
    });
    if (read && (status.has_resources || !status.allocated.empty())) {
      statuses.push_back(std::move(status));
    }
    return read;
  });
}

// ---------------------------------------------------------------------------
// PodDisruptionBudget, controllers, Namespace

template <typename Fields>
bool ObjectFields<Fields>::ReadPodDisruptionBudget() {
  budget_ = &batch_->budgets.Next();
  *budget_ = {};
  meta_ = &budget_->meta;
  return EachPart([this](Key key, Value& value) {
    if (key == "metadata") return Meta(value, budget_->meta);
    if (key == "spec") return BudgetSpec(value);
    if (key == "status") return BudgetStatus(value);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::BudgetSpec(Value& value) {
  return fields_.Members(value, [this](Key part, Value& member) {
    if (part == "selector") return Selector(member, {}, budget_->selector);
    if (part != "unhealthyPodEvictionPolicy") return true;
    Text policy;
    if (!fields_.String(member, policy)) return false;
    budget_->always_allows_unready = policy == "AlwaysAllow";
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::BudgetStatus(Value& value) {
  return fields_.Members(value, [this](Key part, Value& member) {
    if (part == "disruptionsAllowed") {
      return fields_.Int32(member, budget_->disruptions_allowed, 0);
    }
    if (part == "desiredHealthy") return fields_.Int32(member, budget_->desired_healthy.emplace());
    if (part == "currentHealthy") return fields_.Int32(member, budget_->current_healthy.emplace());
    if (part == "expectedPods") return fields_.Int32(member, budget_->expected_pods.emplace());
    if (part != "conditions") return true;
    return fields_.Elements(member, [this](Value& each) { return BudgetCondition(each); });
  });
}

// The disruption controller sets this condition if it cannot count a budget's pods.
// Source: pkg/controller/disruption/disruption.go, failSafe.
template <typename Fields>
bool ObjectFields<Fields>::BudgetCondition(Value& value) {
  Text type;
  Text status;
  Text reason;
  Text message;
  const bool read = fields_.Members(value, [&](Key key, Value& member) {
    if (key == "type") return fields_.String(member, type);
    if (key == "status") return fields_.String(member, status);
    if (key == "reason") return fields_.String(member, reason);
    if (key == "message") return fields_.String(member, message);
    return true;
  });
  if (type == "DisruptionAllowed" && status == "False" && reason == "SyncFailed") {
    budget_->sync_failed = true;
    budget_->sync_message = message;
  }
  return read;
}

// The fields of `spec` and `status` with the number of wanted, present and ready pods.
struct ReplicaFields {
  Text wanted;
  Text present;
  Text ready;
};
constexpr ReplicaFields ReplicaFieldsOf(objects::ControllerKind kind) {
  switch (kind) {
    case objects::ControllerKind::kJob:
      return {"parallelism", "active", ""};
    case objects::ControllerKind::kStatefulSet:
      return {"replicas", "currentReplicas", "readyReplicas"};
    case objects::ControllerKind::kDaemonSet:
      return {"", "", "numberReady"};
    default:
      return {"replicas", "replicas", "readyReplicas"};
  }
}

template <typename Fields>
template <objects::ControllerKind kKind>
bool ObjectFields<Fields>::ReadController() {
  static constexpr ReplicaFields kFields = ReplicaFieldsOf(kKind);
  constexpr bool kIsJob = kKind == objects::ControllerKind::kJob;
  static constexpr bool kHasSelector = !kIsJob && kKind != objects::ControllerKind::kDaemonSet;
  controller_ = &batch_->controllers.Next();
  *controller_ = {};
  controller_->kind = kKind;
  meta_ = &controller_->meta;
  return EachPart([this](Key key, Value& value) {
    if (key == "metadata") return Meta(value, controller_->meta);
    if (key == "spec") {
      return fields_.Members(value, [this](Key part, Value& member) {
        if (part == kFields.wanted)
          return fields_.Int32(member, controller_->spec_replicas.emplace(), 0);
        if (kIsJob && part == "completions") {
          return fields_.Int32(member, controller_->completions.emplace(), 0);
        }
        if (!kHasSelector || part != "selector") return true;
        if (kKind != objects::ControllerKind::kReplicationController) {
          return Selector(member, {}, controller_->selector);
        }
        controller_->selector.nil = false;
        return StringMap(member, controller_->selector.match_labels);
      });
    }
    if (key == "status") {
      return fields_.Members(value, [this](Key part, Value& member) {
        if (part == kFields.present) return fields_.Int32(member, controller_->status_replicas, 0);
        if (kIsJob && part == "succeeded") return fields_.Int32(member, controller_->succeeded, 0);
        if (!kFields.ready.empty() && part == kFields.ready) {
          return fields_.Int32(member, aside_.pods_ready, 0);
        }
        return true;
      });
    }
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadNamespace() {
  namespace_ = &batch_->namespaces.Next();
  *namespace_ = {};
  meta_ = &namespace_->meta;
  return EachPart(
      [this](Key key, Value& value) { return key != "metadata" || Meta(value, namespace_->meta); });
}

// ---------------------------------------------------------------------------
// Storage

template <typename Fields>
bool ObjectFields<Fields>::StorageAmount(Value& value, std::optional<int64_t>& bytes) {
  return fields_.Members(value, [&](Text name, Value& amount) {
    return name != "storage" || Bytes(amount, bytes.emplace());
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Phase(Value& status, Text& phase) {
  return fields_.Members(status, [&](Key key, Value& member) {
    return key != "phase" || fields_.String(member, phase);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadPersistentVolume() {
  auto& volume = Renewed<objects::PersistentVolume>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, volume.meta);
    if (key == "spec") return PersistentVolumeSpec(value, volume);
    if (key == "status") return Phase(value, volume.phase);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PersistentVolumeSpec(Value& value, objects::PersistentVolume& volume) {
  bool understood = true;
  const bool read = fields_.Members(value, [&](Key key, Value& member) {
    if (key == "capacity") {
      std::optional<int64_t> bytes;
      if (!StorageAmount(member, bytes)) return false;
      volume.capacity_bytes = bytes.value_or(0);
      return true;
    }
    if (key == "accessModes") return Strings(member, volume.access_modes);
    if (key == "storageClassName") return fields_.String(member, volume.storage_class_name);
    if (key == "volumeMode") return fields_.String(member, volume.volume_mode);
    if (key == "volumeAttributesClassName") {
      return fields_.String(member, volume.volume_attributes_class_name);
    }
    if (key == "claimRef") {
      objects::ClaimReference& claim = volume.claim.emplace();
      return fields_.Members(member, [&](Key part, Value& text) {
        if (part == "namespace") return fields_.String(text, claim.namespace_name);
        if (part == "name") return fields_.String(text, claim.name);
        if (part == "uid") return fields_.String(text, claim.uid);
        return true;
      });
    }
    if (key == "nodeAffinity") {
      return fields_.Members(member, [&](Key part, Value& required) {
        return part != "required" || NodeSelector(required, {}, volume.required_node_affinity);
      });
    }
    if (key == "mountOptions" || key == "persistentVolumeReclaimPolicy") return true;
    if (!std::binary_search(kPersistentSources.begin(), kPersistentSources.end(), Text(key))) {
      understood = false;
      return true;
    }
    volume.source = key;
    return PersistentVolumeSource(member, volume);
  });
  // The unknown source may be one that only some nodes can mount.  A required affinity without
  // terms matches no node, so that pods with the volume stay where they are.  Every form in which
  // ebb writes the volume preserves such an affinity.
  if (!understood) {
    volume.required_node_affinity.nil = false;
    volume.required_node_affinity.terms.clear();
  }
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::PersistentVolumeSource(Value& value, objects::PersistentVolume& volume) {
  const Text id_field = volume.source == "csi" ? "volumeHandle" : VolumeIdFieldOf(volume.source);
  if (id_field.empty()) return true;
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == id_field) return fields_.String(member, volume.id);
    if (key == "driver" && volume.source == "csi") return fields_.String(member, volume.driver);
    if (key == "kind" && volume.source == "azureDisk") {
      return fields_.String(member, volume.disk_kind);
    }
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadPersistentVolumeClaim() {
  auto& claim = Renewed<objects::PersistentVolumeClaim>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, claim.meta);
    if (key == "spec") return PersistentVolumeClaimSpec(value, claim);
    if (key == "status") return Phase(value, claim.phase);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::PersistentVolumeClaimSpec(Value& value,
                                                     objects::PersistentVolumeClaim& claim) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "accessModes") return Strings(member, claim.access_modes);
    if (key == "storageClassName") return fields_.String(member, claim.storage_class_name);
    if (key == "volumeMode") return fields_.String(member, claim.volume_mode);
    if (key == "volumeName") return fields_.String(member, claim.volume_name);
    if (key == "selector") return Selector(member, {}, claim.selector);
    if (key == "volumeAttributesClassName") {
      return fields_.String(member, claim.volume_attributes_class_name);
    }
    if (key == "resources") {
      return fields_.Members(member, [&](Key part, Value& list) {
        return part != "requests" || StorageAmount(list, claim.request_bytes);
      });
    }
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadStorageClass() {
  auto& storage_class = Renewed<objects::StorageClass>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, storage_class.meta);
    if (key == "provisioner") return fields_.String(value, storage_class.provisioner);
    if (key == "volumeBindingMode") return fields_.String(value, storage_class.volume_binding_mode);
    if (key == "allowedTopologies")
      return AllowedTopologies(value, storage_class.allowed_topologies);
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::AllowedTopologies(Value& value,
                                             std::vector<objects::TopologyTerm>& terms) {
  return fields_.Elements(value, [&](Value& element) {
    objects::TopologyTerm& term = terms.emplace_back();
    return fields_.Members(element, [&](Key key, Value& list) {
      if (key != "matchLabelExpressions") return true;
      return fields_.Elements(list, [&](Value& each) {
        objects::TopologyRequirement& requirement = term.emplace_back();
        return fields_.Members(each, [&](Key part, Value& member) {
          if (part == "key") return fields_.String(member, requirement.key);
          if (part == "values") return Strings(member, requirement.values);
          return true;
        });
      });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadCsiDriver() {
  auto& driver = Renewed<objects::CsiDriver>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, driver.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "storageCapacity") return fields_.Bool(member, driver.storage_capacity);
      if (part != "preventPodSchedulingIfMissing") return true;
      return fields_.Bool(member, driver.prevents_scheduling);
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadCsiNode() {
  auto& node = Renewed<objects::CsiNode>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, node.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      return part != "drivers" || CsiNodeDrivers(member, node.drivers);
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::CsiNodeDrivers(Value& value,
                                          std::vector<objects::CsiNode::Driver>& drivers) {
  return fields_.Elements(value, [&](Value& element) {
    objects::CsiNode::Driver& driver = drivers.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "name") return fields_.String(member, driver.name);
      if (key != "allocatable") return true;
      return fields_.Members(member, [&](Key part, Value& count) {
        return part != "count" || fields_.Int32(count, driver.volumes_max.emplace(), 0);
      });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadVolumeAttachment() {
  auto& attachment = Renewed<objects::VolumeAttachment>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, attachment.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "attacher") return fields_.String(member, attachment.attacher);
      if (part == "nodeName") return fields_.String(member, attachment.node_name);
      if (part != "source") return true;
      return fields_.Members(member, [&](Key field, Value& text) {
        return field != "persistentVolumeName" ||
               fields_.String(text, attachment.volume_name.emplace());
      });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadCsiStorageCapacity() {
  auto& capacity = Renewed<objects::CsiStorageCapacity>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, capacity.meta);
    if (key == "storageClassName") return fields_.String(value, capacity.storage_class_name);
    if (key == "nodeTopology") return Selector(value, {}, capacity.node_topology);
    if (key == "capacity") return Bytes(value, capacity.capacity_bytes.emplace());
    if (key == "maximumVolumeSize") {
      return Bytes(value, capacity.maximum_volume_size_bytes.emplace());
    }
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::DeviceSelectors(Value& value, Text where, std::vector<Text>& selectors) {
  return fields_.Elements(value, [&](Value& element) {
    Text& expression = selectors.emplace_back();
    return fields_.Members(element, [&](Key key, Value& cel) {
      if (key != "cel") return NotUnderstood(where, key);
      return fields_.Members(cel, [&](Key part, Value& text) {
        if (part == "expression") return fields_.String(text, expression);
        return NotUnderstood(where, part);
      });
    });
  });
}

// In other versions, the same names may mean something else.  v1alpha3 still has DeviceTaintRule.
template <typename Fields>
void ObjectFields<Fields>::CheckDeviceVersion(Text api_version, bool allows_alpha) {
  const Text version = api_version.substr(std::min(kDeviceGroup.size() + 1, api_version.size()));
  if (api_version.empty() || version == "v1" || version == "v1beta2" || version == "v1beta1" ||
      (allows_alpha && version == "v1alpha3")) {
    return;
  }
  NotUnderstood(absl::StrCat("apiVersion ", Printable(api_version)));
}

template <typename Fields>
bool ObjectFields<Fields>::ReadDeviceClass() {
  auto& device_class = Renewed<objects::DeviceClass>();
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "apiVersion") return DeviceVersion(value);
    if (key == "metadata") return Meta(value, device_class.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "extendedResourceName") {
        return fields_.String(member, device_class.extended_resource_name);
      }
      if (part == "selectors") {
        return DeviceSelectors(member, "spec.selectors[]", device_class.selectors);
      }
      if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      return part == "config" || NotUnderstood("spec", part);
    });
  });
  device_class.not_understood = batch_->texts.Copy(not_understood_);
  return read;
}

// The members of `exactly`, of an alternative of `firstAvailable`, and of a request of v1beta1.
template <typename Fields>
bool ObjectFields<Fields>::DeviceAskMember(Key key, Value& member, Text where,
                                           objects::DeviceAsk& ask) {
  if (key == "deviceClassName") return fields_.String(member, ask.class_name);
  if (key == "selectors") return DeviceSelectors(member, where, ask.selectors);
  if (key == "allocationMode") return fields_.String(member, ask.mode);
  if (key == "count") return fields_.Int(member, ask.count, 0);
  if (key == "adminAccess") return fields_.Bool(member, ask.admin_access);
  if (key == "capacity") {
    return fields_.Members(member, [&](Key part, Value& requests) {
      if (part == "requests") return DeviceAmounts(requests, ask.capacity);
      return NotUnderstood(absl::StrCat(Absl(where), ".capacity"), part);
    });
  }
  if (key != "tolerations") return NotUnderstood(where, key);
  return fields_.Elements(
      member, [&](Value& each) { return Toleration(each, where, ask.tolerations.emplace_back()); });
}

template <typename Fields>
bool ObjectFields<Fields>::DeviceRequest(Value& value, objects::DeviceRequest& request) {
  constexpr Text kRequest = "spec.devices.requests[]";
  constexpr Text kExactly = "spec.devices.requests[].exactly";
  constexpr Text kAlternative = "spec.devices.requests[].firstAvailable[]";
  const bool read = fields_.Members(value, [&](Key key, Value& member) {
    if (key == "name") return fields_.String(member, request.name);
    if (key == "firstAvailable") {
      request.first_available = true;
      request.asks.clear();
      return fields_.Elements(member, [&](Value& each) {
        objects::DeviceAsk& ask = request.asks.emplace_back();
        return fields_.Members(each, [&](Key part, Value& field) {
          if (part == "name") return fields_.String(field, ask.name);
          return DeviceAskMember(part, field, kAlternative, ask);
        });
      });
    }
    if (request.first_available) return NotUnderstood(kRequest, key);
    if (request.asks.empty()) request.asks.emplace_back();
    if (key != "exactly") return DeviceAskMember(key, member, kRequest, request.asks.front());
    return fields_.Members(member, [&](Key part, Value& field) {
      return DeviceAskMember(part, field, kExactly, request.asks.front());
    });
  });
  // Protobuf has no field for what is empty, and JSON may have one.
  if (!request.first_available && request.asks.empty()) request.asks.emplace_back();
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ClaimedDevices(Value& value, objects::ResourceClaim& claim) {
  return fields_.Members(value, [&](Key key, Value& list) {
    if (key == "requests") {
      return fields_.Elements(
          list, [&](Value& each) { return DeviceRequest(each, claim.requests.emplace_back()); });
    }
    if (key == "constraints") {
      return fields_.Elements(list, [&](Value& each) {
        objects::DeviceConstraint& constraint = claim.constraints.emplace_back();
        return fields_.Members(each, [&](Key part, Value& member) {
          if (part == "requests") return Strings(member, constraint.requests);
          if (part == "matchAttribute") return fields_.String(member, constraint.match_attribute);
          if (part == "distinctAttribute") {
            return fields_.String(member, constraint.distinct_attribute);
          }
          return NotUnderstood("spec.devices.constraints[]", part);
        });
      });
    }
    return key == "config" || NotUnderstood("spec.devices", key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadResourceClaim() {
  auto& claim = Renewed<objects::ResourceClaim>();
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "apiVersion") return DeviceVersion(value);
    if (key == "metadata") return Meta(value, claim.meta);
    if (key == "spec") {
      return fields_.Members(value, [&](Key part, Value& devices) {
        if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(devices);
        return part == "devices" ? ClaimedDevices(devices, claim) : NotUnderstood("spec", part);
      });
    }
    if (key != "status") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "allocation") return ClaimAllocation(member, claim);
      if (part == "reservedFor") {
        return fields_.Elements(member, [&](Value& each) {
          objects::ResourceClaim::Consumer& consumer = claim.reserved_for.emplace_back();
          return fields_.Members(each, [&](Key field, Value& text) {
            if (field == "resource") return fields_.String(text, consumer.resource);
            if (field == "name") return fields_.String(text, consumer.name);
            if (field == "uid") return fields_.String(text, consumer.uid);
            return field == "apiGroup" || NotUnderstood("status.reservedFor[]", field);
          });
        });
      }
      if (part != "devices") return NotUnderstood("status", part);
      return fields_.Elements(member, [&](Value& each) { return DeviceStatus(each, claim); });
    });
  });
  claim.not_understood = batch_->texts.Copy(not_understood_);
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ClaimAllocation(Value& value, objects::ResourceClaim& claim) {
  claim.allocated = true;
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "devices") return AllocatedDevices(member, claim.devices);
    if (key == "nodeSelector") {
      return NodeSelector(member, "status.allocation.nodeSelector", claim.allocated_on);
    }
    return key == "allocationTimestamp" || NotUnderstood("status.allocation", key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::AllocatedDevices(Value& value,
                                            std::vector<objects::ResourceClaim::Device>& devices) {
  constexpr Text kResult = "status.allocation.devices.results[]";
  return fields_.Members(value, [&](Key key, Value& results) {
    if (key == "config") return true;
    if (key != "results") return NotUnderstood("status.allocation.devices", key);
    return fields_.Elements(results, [&](Value& each) {
      objects::ResourceClaim::Device& device = devices.emplace_back();
      return fields_.Members(each, [&](Key part, Value& text) {
        if (part == "driver") return fields_.String(text, device.driver);
        if (part == "pool") return fields_.String(text, device.pool);
        if (part == "device") return fields_.String(text, device.name);
        if (part == "adminAccess") return fields_.Bool(text, device.admin_access);
        if (part == "shareID") return fields_.String(text, device.share_id);
        if (part == "consumedCapacity") return DeviceAmounts(text, device.consumed);
        if (part == "bindingConditions") return Strings(text, device.binding_conditions);
        if (part == "bindingFailureConditions") {
          return Strings(text, device.binding_failure_conditions);
        }
        return part == "request" || part == "tolerations" || NotUnderstood(kResult, part);
      });
    });
  });
}

// Keeps only what binding conditions need.
template <typename Fields>
bool ObjectFields<Fields>::DeviceStatus(Value& value, objects::ResourceClaim& claim) {
  objects::ResourceClaim::DeviceStatus& status = claim.statuses.emplace_back();
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "driver") return fields_.String(member, status.driver);
    if (key == "pool") return fields_.String(member, status.pool);
    if (key == "device") return fields_.String(member, status.name);
    if (key != "conditions") return true;
    return fields_.Elements(member, [&](Value& each) {
      auto& condition = status.conditions.emplace_back();
      return fields_.Members(each, [&](Key part, Value& text) {
        if (part == "type") return fields_.String(text, condition.type);
        return part != "status" || fields_.String(text, condition.status);
      });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::DeviceAmounts(Value& value,
                                         std::vector<objects::DeviceQuantity>& amounts) {
  return fields_.Members(value, [&](Text name, Value& amount) {
    objects::DeviceQuantity& to = amounts.emplace_back();
    to.name = name;
    return fields_.Quantity(amount, to.value);
  }) && KeepLast(amounts, &objects::DeviceQuantity::name);
}

template <typename Fields>
bool ObjectFields<Fields>::ReadResourceClaimTemplate() {
  auto& from = Renewed<objects::ResourceClaimTemplate>();
  return fields_.Members(
      [&](Key key, Value& value) { return key != "metadata" || Meta(value, from.meta); });
}

template <typename Fields>
bool ObjectFields<Fields>::DeviceAttributes(Value& value,
                                            std::vector<objects::DeviceAttribute>& attributes) {
  return fields_.Members(value, [&](Text name, Value& attribute) {
    objects::DeviceAttribute& to = attributes.emplace_back();
    to.name = name;
    return fields_.Members(attribute, [&](Key key, Value& member) {
      if (key == "string" || key == "version") {
        to.type = key;
        return fields_.String(member, to.value);
      }
      if (key == "int") {
        int64_t number = 0;
        to.type = key;
        if (!fields_.Int(member, number)) return false;
        to.value = batch_->texts.Copy(absl::StrCat(number));
        return true;
      }
      if (key != "bool") {
        return NotUnderstood("spec.devices[].attributes[]", "a type that ebb does not know");
      }
      bool flag = false;
      to.type = key;
      if (!fields_.Bool(member, flag)) return false;
      to.value = flag ? "true" : "false";
      return true;
    });
  }) && KeepLast(attributes, &objects::DeviceAttribute::name);
}

template <typename Fields>
bool ObjectFields<Fields>::DeviceQuantities(Value& value, Text where,
                                            std::vector<objects::DeviceQuantity>& quantities) {
  return fields_.Members(value, [&](Text name, Value& quantity) {
    objects::DeviceQuantity& to = quantities.emplace_back();
    to.name = name;
    return fields_.Members(quantity, [&](Key key, Value& member) {
      if (key == "value") return fields_.Quantity(member, to.value);
      return NotUnderstood(where, key);
    });
  }) && KeepLast(quantities, &objects::DeviceQuantity::name);
}

template <typename Fields>
bool ObjectFields<Fields>::DeviceCapacities(Value& value,
                                            std::vector<objects::DeviceCapacity>& capacities) {
  return fields_.Members(value, [&](Text name, Value& capacity) {
    objects::DeviceCapacity& to = capacities.emplace_back();
    to.name = name;
    return fields_.Members(capacity, [&](Key key, Value& member) {
      if (key == "value") return fields_.Quantity(member, to.value);
      if (key == "requestPolicy") return RequestPolicy(member, to);
      return NotUnderstood("spec.devices[].capacity[]", key);
    });
  }) && KeepLast(capacities, &objects::DeviceCapacity::name);
}

template <typename Fields>
bool ObjectFields<Fields>::RequestPolicy(Value& value, objects::DeviceCapacity& capacity) {
  constexpr Text kPolicy = "spec.devices[].capacity[].requestPolicy";
  capacity.has_policy = true;
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "default") return fields_.Quantity(member, capacity.standard);
    if (key == "validValues") {
      return fields_.Elements(member, [&](Value& each) {
        return fields_.Quantity(each, capacity.valid_values.emplace_back());
      });
    }
    if (key != "validRange") return NotUnderstood(kPolicy, key);
    capacity.has_range = true;
    return fields_.Members(member, [&](Key part, Value& bound) {
      if (part == "min") return fields_.Quantity(bound, capacity.range_min);
      if (part == "max") return fields_.Quantity(bound, capacity.range_max);
      if (part == "step") return fields_.Quantity(bound, capacity.range_step);
      return NotUnderstood(kPolicy, part);
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::CounterSets(Value& value, Text where,
                                       std::vector<objects::DeviceCounters>& sets) {
  return fields_.Elements(value, [&](Value& element) {
    objects::DeviceCounters& set = sets.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "name" || key == "counterSet") return fields_.String(member, set.counter_set);
      if (key == "counters") return DeviceQuantities(member, where, set.counters);
      return NotUnderstood(where, key);
    });
  });
}

// A member of a device; in v1beta1 of the device's `basic`.
template <typename Fields>
bool ObjectFields<Fields>::DeviceMember(Key key, Value& member, objects::Device& device) {
  constexpr Text kDevice = "spec.devices[]";
  if (key == "attributes") return DeviceAttributes(member, device.attributes);
  if (key == "capacity") return DeviceCapacities(member, device.capacity);
  if (key == "consumesCounters") {
    return CounterSets(member, "spec.devices[].consumesCounters[]", device.consumes);
  }
  if (key == "nodeName") return fields_.String(member, device.node_name);
  if (key == "allNodes") return fields_.Bool(member, device.all_nodes);
  if (key == "nodeSelector") {
    return NodeSelector(member, "spec.devices[].nodeSelector", device.node_selector);
  }
  if (key == "taints") return Taints(member, "spec.devices[].taints[]", device.taints);
  if (key == "allowMultipleAllocations") return fields_.Bool(member, device.allow_multiple);
  if (key == "bindsToNode") return fields_.Bool(member, device.binds_to_node);
  if (key == "bindingConditions") return Strings(member, device.binding_conditions);
  // They matter with binding conditions only.
  return key == "bindingFailureConditions" || NotUnderstood(kDevice, key);
}

template <typename Fields>
bool ObjectFields<Fields>::Devices(Value& value, std::vector<objects::Device>& devices) {
  return fields_.Elements(value, [&](Value& element) {
    objects::Device& device = devices.emplace_back();
    return fields_.Members(element, [&](Key key, Value& member) {
      if (key == "name") return fields_.String(member, device.name);
      if (key != "basic") return DeviceMember(key, member, device);
      return fields_.Members(
          member, [&](Key part, Value& field) { return DeviceMember(part, field, device); });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadResourceSlice() {
  auto& slice = Renewed<objects::ResourceSlice>();
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "apiVersion") return DeviceVersion(value);
    if (key == "metadata") return Meta(value, slice.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "driver") return fields_.String(member, slice.driver);
      if (part == "nodeName") return fields_.String(member, slice.node_name);
      if (part == "allNodes") return fields_.Bool(member, slice.all_nodes);
      if (part == "perDeviceNodeSelection") return fields_.Bool(member, slice.per_device_nodes);
      if (part == "nodeSelector") {
        return NodeSelector(member, "spec.nodeSelector", slice.node_selector);
      }
      if (part == "devices") return Devices(member, slice.devices);
      if (part == "sharedCounters") {
        return CounterSets(member, "spec.sharedCounters[]", slice.shared_counters);
      }
      if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      if (part != "pool") return NotUnderstood("spec", part);
      return fields_.Members(member, [&](Key field, Value& text) {
        if (field == "name") return fields_.String(text, slice.pool);
        if (field == "generation") return fields_.Int(text, slice.generation);
        if (field == "resourceSliceCount") return fields_.Int(text, slice.slice_count);
        return NotUnderstood("spec.pool", field);
      });
    });
  });
  if (!read) return false;
  slice.not_understood = batch_->texts.Copy(not_understood_);
  if (slice.driver.empty()) return fields_.FailAt(".spec.driver", "is missing");
  if (slice.pool.empty()) return fields_.FailAt(".spec.pool.name", "is missing");
  return true;
}

template <typename Fields>
bool ObjectFields<Fields>::ReadDeviceTaintRule() {
  auto& rule = Renewed<objects::DeviceTaintRule>();
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "apiVersion") return DeviceVersion(value, /*allows_alpha=*/true);
    if (key == "metadata") return Meta(value, rule.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "taint") return Taint(member, "spec.taint", rule.taint);
      if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      if (part != "deviceSelector") return NotUnderstood("spec", part);
      return fields_.Members(member, [&](Key field, Value& text) {
        if (field == "driver") return fields_.String(text, rule.driver);
        if (field == "pool") return fields_.String(text, rule.pool);
        if (field == "device") return fields_.String(text, rule.device);
        return NotUnderstood("spec.deviceSelector", field);
      });
    });
  });
  rule.not_understood = batch_->texts.Copy(not_understood_);
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ReadMachine(Text group) {
  auto& machine = Renewed<objects::Machine>();
  machine.group = group;
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, machine.meta);
    if (key == "spec") {
      return fields_.Members(value, [&](Key part, Value& member) {
        return part != "providerID" || fields_.String(member, machine.provider_id);
      });
    }
    if (key != "status") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part != "nodeRef") return true;
      return fields_.Members(member, [&](Key field, Value& text) {
        return field != "name" || fields_.String(text, machine.node_name);
      });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadNodeClaim() {
  auto& claim = Renewed<objects::NodeClaim>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, claim.meta);
    if (key != "status") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "nodeName") return fields_.String(member, claim.node_name);
      if (part == "providerID") return fields_.String(member, claim.provider_id);
      if (part == "lastPodEventTime") return fields_.Time(member, claim.last_pod_event.emplace());
      if (part != "conditions") return true;
      return fields_.Elements(member, [&](Value& each) {
        auto& [type, status, since] = claim.conditions.emplace_back();
        return fields_.Members(each, [&](Key field, Value& text) {
          if (field == "type") return fields_.String(text, type);
          if (field == "status") return fields_.String(text, status);
          return field != "lastTransitionTime" || fields_.Time(text, since);
        });
      });
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadNodePool() {
  auto& pool = Renewed<objects::NodePool>();
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "apiVersion") {
      Text api_version;
      if (!fields_.String(value, api_version)) return false;
      CheckPoolVersion(api_version);
      return true;
    }
    if (key == "metadata") return Meta(value, pool.meta);
    if (key == "status") {
      return fields_.Members(value, [&](Key part, Value& member) {
        return part != "resources" || Resources(member, pool.resources);
      });
    }
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      if (part == "disruption") return Disruption(member, pool);
      if (part == "template") return PoolTemplate(member, pool);
      if (part == "limits") return Resources(member, pool.limits);
      if (part == "weight") return fields_.Int(member, pool.weight.emplace());
      pool.is_static |= part == "replicas";
      return true;
    });
  });
  pool.not_understood = batch_->texts.Copy(not_understood_);
  return read;
}

// The fields of other versions may mean something else.
template <typename Fields>
void ObjectFields<Fields>::CheckPoolVersion(Text api_version) {
  if (api_version.empty() || api_version == "karpenter.sh/v1") return;
  NotUnderstood(absl::StrCat("apiVersion ", Printable(api_version)));
}

// Fields of the template that ebb does not know matter to new nodes only.
template <typename Fields>
bool ObjectFields<Fields>::PoolTemplate(Value& value, objects::NodePool& pool) {
  constexpr Text kWhere = "spec.template.spec";
  std::string others = std::exchange(not_understood_, {});
  const bool read = fields_.Members(value, [&](Key part, Value& members) {
    return fields_.Members(members, [&](Key key, Value& member) {
      if (part == "metadata") return key != "labels" || StringMap(member, pool.labels);
      if (part != "spec") return NotUnderstood("spec.template", part);
      if (key == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      if (key == "taints") return Taints(member, "spec.template.spec.taints[]", pool.taints);
      if (key == "startupTaints") {
        return Taints(member, "spec.template.spec.startupTaints[]", pool.startup_taints);
      }
      if (key == "requirements") {
        return fields_.Elements(member, [&](Value& each) {
          return PoolRequirement(each, pool.requirements.emplace_back());
        });
      }
      const bool is_harmless =
          key == "nodeClassRef" || key == "expireAfter" || key == "terminationGracePeriod";
      return is_harmless || NotUnderstood(kWhere, key);
    });
  });
  pool.not_bought = batch_->texts.Copy(std::exchange(not_understood_, std::move(others)));
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::PoolRequirement(Value& value,
                                           objects::NodePool::Requirement& requirement) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "key") return fields_.String(member, requirement.key);
    if (key == "operator") return fields_.String(member, requirement.op);
    if (key == "values") return Strings(member, requirement.values);
    if (key == "minValues") return fields_.Int(member, requirement.min_values.emplace());
    return NotUnderstood("spec.template.spec.requirements[]", key);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Disruption(Value& value, objects::NodePool& pool) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "consolidationPolicy") return fields_.String(member, pool.policy);
    if (key == "consolidateAfter") return fields_.String(member, pool.consolidate_after);
    if (key != "budgets") return NotUnderstood("spec.disruption", key);
    pool.has_budgets = true;
    return fields_.Elements(
        member, [&](Value& each) { return DisruptionBudget(each, pool.budgets.emplace_back()); });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::DisruptionBudget(Value& value, objects::NodePool::Budget& budget) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "nodes") return fields_.String(member, budget.nodes);
    if (key == "schedule") return fields_.String(member, budget.schedule.emplace());
    if (key == "duration") return fields_.String(member, budget.duration.emplace());
    if (key != "reasons") return NotUnderstood("spec.disruption.budgets[]", key);
    budget.has_reasons = true;
    return Strings(member, budget.reasons);
  });
}

// Members of the specs of PodGroups that do not restrict which pods may leave or where they may
// run.  minResources counts when the gang is admitted.
inline constexpr Text kHarmlessInPodGroup[] = {
    "workloadRef", "podGroupTemplateRef",    "priorityClassName",
    "priority",    "preemptionPolicy",       "minResources",
    "queue",       "scheduleTimeoutSeconds",
};

// In other versions, the same names may mean something else.
template <typename Fields>
void ObjectFields<Fields>::CheckPodGroupVersion(Text group, Text api_version) {
  const Text version = api_version.substr(std::min(group.size() + 1, api_version.size()));
  const bool is_known = group == "scheduling.k8s.io"
                            ? version == "v1alpha2" || version == "v1alpha3" || version == "v1beta1"
                        : group == "scheduling.x-k8s.io" ? version == "v1alpha1"
                                                         : version == "v1beta1";
  if (!is_known && !version.empty())
    NotUnderstood(absl::StrCat("apiVersion ", Printable(api_version)));
}

template <typename Fields>
bool ObjectFields<Fields>::ReadPodGroup(Text group) {
  auto& pods = Renewed<objects::PodGroup>();
  pods.group = group;
  const bool has_policy = group == "scheduling.k8s.io";  // The other groups have a minMember.
  bool basic = false;
  Text mode;
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "apiVersion") {
      Text api_version;
      if (!fields_.String(value, api_version)) return false;
      CheckPodGroupVersion(group, api_version);
      return true;
    }
    if (key == "metadata") return Meta(value, pods.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      if (std::ranges::find(kHarmlessInPodGroup, Text(part)) != std::end(kHarmlessInPodGroup)) {
        return true;
      }
      if (!has_policy) {
        if (part == "minMember") return fields_.Int(member, pods.min_count.emplace());
        return NotUnderstood("spec", part);
      }
      if (part == "disruptionMode") return DisruptionMode(member, mode);
      if (part != "schedulingPolicy") return NotUnderstood("spec", part);
      return fields_.Members(member, [&](Key policy, Value& gang) {
        if (policy == "basic") {
          basic = true;
          return fields_.Members(gang, [&](Key field, Value&) {
            return NotUnderstood("spec.schedulingPolicy.basic", field);
          });
        }
        if (policy != "gang") return NotUnderstood("spec.schedulingPolicy", policy);
        pods.min_count = 0;
        return fields_.Members(gang, [&](Key field, Value& count) {
          if (field == "minCount") return fields_.Int(count, *pods.min_count);
          return NotUnderstood("spec.schedulingPolicy.gang", field);
        });
      });
    });
  });
  if (!read) return false;
  if (!not_understood_.empty()) {
    // A field that is not known says more than one that is missing beside it.
  } else if (!mode.empty() && mode != "Pod" && mode != "single" && mode != "PodGroup" &&
             mode != "all") {
    NotUnderstood("spec.disruptionMode");
  } else if (!has_policy && pods.min_count.value_or(0) < 1) {
    NotUnderstood("spec.minMember: is not a minimum of one pod or more");
  } else if (pods.min_count.value_or(1) < 1) {
    NotUnderstood("spec.schedulingPolicy.gang.minCount: is not a minimum of one pod or more");
  } else if (has_policy && !pods.min_count && !basic) {
    NotUnderstood("spec.schedulingPolicy: is missing");
  }
  pods.not_understood = batch_->texts.Copy(not_understood_);
  pods.whole = mode == "PodGroup" || mode == "all";
  // Each pod may be disrupted by itself: the minimum counts for scheduling only.
  if (mode == "Pod" || mode == "single" || !pods.not_understood.empty()) pods.min_count.reset();
  return true;
}

// A word until 1.36, an object with one member since 1.37.
template <typename Fields>
bool ObjectFields<Fields>::DisruptionMode(Value& value, Text& mode) {
  if (fields_.IsString(value)) return fields_.String(value, mode);
  return fields_.Members(value, [&](Key key, Value&) {
    mode = mode.empty() ? Text(key) : Text("both");
    return true;
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ReadPodTemplate() {
  auto& from = Renewed<objects::PodTemplate>();
  pod_ = &from.pod;
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, from.meta);
    if (key != "template") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "metadata") return Meta(member, from.pod.meta);
      return part != "spec" || PodSpec(member);
    });
  });
  from.pod.not_understood = batch_->texts.Copy(not_understood_);
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ReadEvictionRequest() {
  auto& request = Renewed<objects::EvictionRequest>();
  bool is_over = false;
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, request.meta);
    if (key == "spec") return EvictionRequestSpec(value, request);
    if (key != "status") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part != "conditions") return true;
      return Conditions(member, [&](Text type, Text status) {
        is_over = is_over || (status == "True" && (type == "TargetEvicted" || type == "Failed"));
      });
    });
  });
  request.active = request.active && !is_over;
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::EvictionRequestSpec(Value& value, objects::EvictionRequest& request) {
  Text intent;
  const bool read = fields_.Members(value, [&](Key part, Value& member) {
    if (part == "intent") return fields_.String(member, intent);
    if (part == "requester") return fields_.String(member, request.requester);
    if (part != "target") return true;
    return fields_.Members(member, [&](Key kind, Value& pod) {
      if (kind != "pod") return true;
      return fields_.Members(pod, [&](Key field, Value& text) {
        if (field == "name") return fields_.String(text, request.pod);
        return field != "uid" || fields_.String(text, request.uid);
      });
    });
  });
  request.active = intent == "Eviction";
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ReadCapacityBuffer() {
  auto& buffer = Renewed<objects::CapacityBuffer>();
  bool provisioned = false;
  bool is_not_ready = false;
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, buffer.meta);
    if (key != "status") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "provisioningStrategy") return fields_.String(member, buffer.strategy);
      if (part == "replicas") return fields_.Int(member, buffer.replicas.emplace());
      if (part == "podTemplateRef") {
        return fields_.Members(member, [&](Key field, Value& text) {
          return field != "name" || fields_.String(text, buffer.template_name);
        });
      }
      if (part != "conditions") return true;
      return Conditions(member, [&](Text type, Text status) {
        if (type == "Provisioning") provisioned = status == "True";
        if (type == "ReadyForProvisioning") {
          buffer.ready = status == "True";
          is_not_ready = status == "False";
        }
      });
    });
  });
  buffer.ready = buffer.ready || (provisioned && !is_not_ready);
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ReadVerticalPodAutoscaler() {
  auto& vpa = Renewed<objects::VerticalPodAutoscaler>();
  const bool read = EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, vpa.meta);
    if (key == "status") {
      return fields_.Members(value, [&](Key part, Value& member) {
        return part != "recommendation" || Recommendations(member, vpa);
      });
    }
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      if (part == "targetRef") {
        return fields_.Members(member, [&](Key field, Value& text) {
          if (field == "kind") return fields_.String(text, vpa.target_kind);
          return field != "name" || fields_.String(text, vpa.target_name);
        });
      }
      if (part == "updatePolicy") {
        return fields_.Members(member, [&](Key field, Value& text) {
          return field != "updateMode" || fields_.String(text, vpa.update_mode);
        });
      }
      if (part == kNotUnderstoodSpec) return NotUnderstoodBefore(member);
      if (part == "startupBoost") return NotUnderstood("spec", part);
      if (part != "resourcePolicy") return true;
      return fields_.Members(member, [&](Key field, Value& list) {
        if (field != "containerPolicies") return true;
        return fields_.Elements(
            list, [&](Value& each) { return ContainerPolicy(each, vpa.policies.emplace_back()); });
      });
    });
  });
  vpa.not_understood = batch_->texts.Copy(not_understood_);
  return read;
}

template <typename Fields>
bool ObjectFields<Fields>::ReadService() {
  auto& service = Renewed<objects::Service>();
  return EachPart([&](Key key, Value& value) {
    if (key == "metadata") return Meta(value, service.meta);
    if (key != "spec") return true;
    return fields_.Members(value, [&](Key part, Value& member) {
      return part != "selector" || StringMap(member, service.selector);
    });
  });
}

template <typename Fields>
bool ObjectFields<Fields>::ContainerPolicy(Value& value,
                                           objects::VerticalPodAutoscaler::Policy& policy) {
  return fields_.Members(value, [&](Key key, Value& member) {
    if (key == "containerName") return fields_.String(member, policy.container);
    if (key == "mode") return fields_.String(member, policy.mode);
    if (key == "minAllowed") return Resources(member, policy.min_allowed);
    if (key == "maxAllowed") return Resources(member, policy.max_allowed);
    if (key == "startupBoost") {
      return NotUnderstood("spec.resourcePolicy.containerPolicies[]", key);
    }
    if (key != "controlledResources") return true;
    policy.has_controlled = true;
    return Strings(member, policy.controlled);
  });
}

template <typename Fields>
bool ObjectFields<Fields>::Recommendations(Value& value, objects::VerticalPodAutoscaler& vpa) {
  return fields_.Members(value, [&](Key key, Value& list) {
    if (key != "containerRecommendations") return true;
    return fields_.Elements(list, [&](Value& each) {
      vpa.has_recommendation = true;
      auto& [container, target] = vpa.recommendations.emplace_back();
      return fields_.Members(each, [&](Key part, Value& member) {
        if (part == "containerName") return fields_.String(member, container);
        return part != "target" || Resources(member, target);
      });
    });
  });
}

}  // namespace
}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_FIELDS_H_
