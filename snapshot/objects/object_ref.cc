#include "snapshot/objects/object_ref.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace objects {
namespace {

template <typename... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};

constexpr std::string_view kStorageKinds[] = {"PersistentVolume",
                                              "PersistentVolumeClaim",
                                              "StorageClass",
                                              "CSIDriver",
                                              "CSINode",
                                              "VolumeAttachment",
                                              "CSIStorageCapacity",
                                              "DeviceClass",
                                              "ResourceClaim",
                                              "ResourceClaimTemplate",
                                              "ResourceSlice",
                                              "DeviceTaintRule",
                                              "Machine",
                                              "NodeClaim",
                                              "PodGroup",
                                              "PodTemplate",
                                              "CapacityBuffer",
                                              "VerticalPodAutoscaler",
                                              "NodePool",
                                              "Service",
                                              "EvictionRequest"};
static_assert(std::size(kStorageKinds) == std::variant_size_v<StorageObject>);

template <typename Kind>
constexpr bool kIsNamespacedStorage =
    std::is_same_v<Kind, PersistentVolumeClaim> || std::is_same_v<Kind, CsiStorageCapacity> ||
    std::is_same_v<Kind, ResourceClaim> || std::is_same_v<Kind, ResourceClaimTemplate> ||
    std::is_same_v<Kind, Machine> || std::is_same_v<Kind, PodGroup> ||
    std::is_same_v<Kind, PodTemplate> || std::is_same_v<Kind, CapacityBuffer> ||
    std::is_same_v<Kind, VerticalPodAutoscaler> || std::is_same_v<Kind, Service> ||
    std::is_same_v<Kind, EvictionRequest>;

}  // namespace

const ObjectMeta& MetaOf(const ObjectRef& object) {
  return std::visit(
      Overloaded{[](const StorageObject* o) -> const ObjectMeta& {
                   return std::visit(
                       [](const auto& each) -> const ObjectMeta& { return each.meta; }, *o);
                 },
                 [](const auto* o) -> const ObjectMeta& { return o->meta; }},
      object);
}

int64_t NewestTimeOf(const ObjectRef& object) {
  const ObjectMeta& meta = MetaOf(object);
  if (std::holds_alternative<const Pod*>(object)) return meta.creation_time;
  return std::max(meta.creation_time, meta.deletion_time.value_or(0));
}

bool IsNamespaced(const ObjectRef& object) {
  return std::visit(
      Overloaded{[](const Node*) { return false; }, [](const Namespace*) { return false; },
                 [](const StorageObject* o) {
                   return std::visit(
                       []<typename Kind>(const Kind&) { return kIsNamespacedStorage<Kind>; }, *o);
                 },
                 [](const auto*) { return true; }},
      object);
}

std::string_view KindOf(ControllerKind kind) {
  switch (kind) {
    case ControllerKind::kReplicationController:
      return "ReplicationController";
    case ControllerKind::kReplicaSet:
      return "ReplicaSet";
    case ControllerKind::kStatefulSet:
      return "StatefulSet";
    case ControllerKind::kDaemonSet:
      return "DaemonSet";
    case ControllerKind::kJob:
      return "Job";
  }
  return "";
}

std::string_view KindOf(const StorageObject& object) { return kStorageKinds[object.index()]; }

std::string_view KindOf(const ObjectRef& object) {
  return std::visit(Overloaded{[](const Node*) -> std::string_view { return "Node"; },
                               [](const Pod*) -> std::string_view { return "Pod"; },
                               [](const PodDisruptionBudget*) -> std::string_view {
                                 return "PodDisruptionBudget";
                               },
                               [](const Controller* o) { return KindOf(o->kind); },
                               [](const Namespace*) -> std::string_view { return "Namespace"; },
                               [](const StorageObject* o) { return KindOf(*o); }},
                    object);
}

}  // namespace objects

absl::Status CheckNamed(const objects::ObjectRef& object) {
  const objects::ObjectMeta& meta = objects::MetaOf(object);
  if (meta.name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Absl(objects::KindOf(object)), ": metadata.name is empty"));
  }
  if (!meta.namespace_name.empty() && !objects::IsNamespaced(object)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Absl(objects::KindOf(object)), " ", Absl(meta.name), ": metadata.namespace: \"",
        Absl(meta.namespace_name), "\", where the kind has none"));
  }
  return absl::OkStatus();
}

absl::Status Give(const objects::ObjectRef& object, ObjectSink& sink) {
  return std::visit(
      objects::Overloaded{
          [&](const objects::Node* o) { return sink.OnNode(*o); },
          [&](const objects::Pod* o) { return sink.OnPod(*o); },
          [&](const objects::PodDisruptionBudget* o) { return sink.OnPodDisruptionBudget(*o); },
          [&](const objects::Controller* o) { return sink.OnController(*o); },
          [&](const objects::Namespace* o) { return sink.OnNamespace(*o); },
          [&](const objects::StorageObject* o) { return sink.OnStorageObject(*o); }},
      object);
}

}  // namespace ebb
