#include "snapshot/formats/write_objects.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/objects/volume_ids.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;
using objects::Text;

// Sets a member unless its value is empty.
void Put(Json& to, Text key, Text value) {
  if (!value.empty()) to[std::string(key)] = value;
}
void Put(Json& to, Text key, bool value) {
  if (value) to[std::string(key)] = true;
}
template <typename T>
void Put(Json& to, Text key, const std::optional<T>& value) {
  if (value) to[std::string(key)] = *value;
}
void Put(Json& to, Text key, Json value) {
  if (!value.empty()) to[std::string(key)] = std::move(value);
}
void Put(Json& to, Text key, const char*) = delete;

Json Map(const objects::KeyValues& values) {
  Json map = Json::object();
  for (const auto& [name, value] : values) map[std::string(name)] = value;
  return map;
}

Json Texts(const std::vector<Text>& texts) {
  Json array = Json::array();
  for (const Text text : texts) array.push_back(text);
  return array;
}

// A quantity as Kubernetes prints it: milli-CPU, and binary units where they divide the amount.
std::string Quantity(Text name, int64_t amount) {
  if (name == "cpu") {
    return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  }
  constexpr std::pair<int64_t, const char*> kUnits[] = {
      {int64_t{1} << 30, "Gi"}, {int64_t{1} << 20, "Mi"}, {int64_t{1} << 10, "Ki"}};
  for (const auto& [unit, suffix] : kUnits) {
    if (amount != 0 && amount % unit == 0) return std::to_string(amount / unit) + suffix;
  }
  return std::to_string(amount);
}

// A quantity that is not a whole number of units, exact to the billionth.
std::string Broken(const objects::ResourceAmount& quantity) {
  std::string billionths = std::to_string(1'000'000'000 - quantity.excess);
  billionths.insert(0, 9 - billionths.size(), '0');
  billionths.erase(billionths.find_last_not_of('0') + 1);
  return std::to_string(quantity.amount - 1) + "." + billionths +
         (quantity.name == "cpu" ? "m" : "");
}

Json Resources(const objects::ResourceList& list) {
  Json map = Json::object();
  for (const auto& each : list) {
    map[std::string(each.name)] =
        each.excess == 0 ? Quantity(each.name, each.amount) : Broken(each);
  }
  return map;
}

Json Meta(const objects::ObjectMeta& meta) {
  Json json = Json::object();
  Put(json, "name", meta.name);
  Put(json, "namespace", meta.namespace_name);
  Put(json, "uid", meta.uid);
  if (meta.creation_time != 0) json["creationTimestamp"] = FormatRfc3339(meta.creation_time);
  if (meta.deletion_time) json["deletionTimestamp"] = FormatRfc3339(*meta.deletion_time);
  Put(json, "labels", Map(meta.labels));
  Put(json, "annotations", Map(meta.annotations));
  for (const objects::OwnerReference& owner : meta.owners) {
    Json reference = Json::object();
    Put(reference, "apiVersion", owner.api_version);
    Put(reference, "kind", owner.kind);
    Put(reference, "name", owner.name);
    Put(reference, "uid", owner.uid);
    Put(reference, "controller", owner.controller);
    json["ownerReferences"].push_back(std::move(reference));
  }
  return json;
}

Json Requirements(const std::vector<objects::Requirement>& requirements) {
  Json array = Json::array();
  for (const objects::Requirement& requirement : requirements) {
    Json json = {{"key", requirement.key}, {"operator", requirement.op}};
    Put(json, "values", Texts(requirement.values));
    array.push_back(std::move(json));
  }
  return array;
}

// Writes a selector that is not nil even if it is empty: it matches everything.
void PutSelector(Json& to, const char* key, const objects::LabelSelector& selector) {
  if (selector.nil) return;
  Json json = Json::object();
  Put(json, "matchLabels", Map(selector.match_labels));
  Put(json, "matchExpressions", Requirements(selector.match_expressions));
  to[key] = std::move(json);
}

Json PodTerm(const objects::PodAffinityTerm& term) {
  Json json = Json::object();
  PutSelector(json, "labelSelector", term.label_selector);
  Put(json, "namespaces", Texts(term.namespaces));
  PutSelector(json, "namespaceSelector", term.namespace_selector);
  Put(json, "topologyKey", term.topology_key);
  return json;
}

Json PodTerms(const std::vector<objects::PodAffinityTerm>& terms) {
  Json array = Json::array();
  for (const objects::PodAffinityTerm& term : terms) array.push_back(PodTerm(term));
  return array;
}

Json PodTerms(const std::vector<objects::PreferredPodTerm>& terms) {
  Json array = Json::array();
  for (const auto& [weight, term] : terms) {
    array.push_back({{"weight", weight}, {"podAffinityTerm", PodTerm(term)}});
  }
  return array;
}

constexpr char kRequiredKey[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferredKey[] = "preferredDuringSchedulingIgnoredDuringExecution";

Json NodeTerm(const objects::NodeSelectorTerm& term) {
  Json json = Json::object();
  Put(json, "matchExpressions", Requirements(term.match_expressions));
  Put(json, "matchFields", Requirements(term.match_fields));
  return json;
}

Json NodeTerms(const objects::NodeSelector& selector) {
  Json terms = Json::array();
  for (const objects::NodeSelectorTerm& term : selector.terms) terms.push_back(NodeTerm(term));
  return terms;
}

Json NodeTerms(const std::vector<objects::PreferredNodeTerm>& terms) {
  Json array = Json::array();
  for (const auto& [weight, term] : terms) {
    array.push_back({{"weight", weight}, {"preference", NodeTerm(term)}});
  }
  return array;
}

Json Affinity(const objects::Pod& pod) {
  Json json = Json::object();
  if (!pod.required_node_affinity.nil) {
    json["nodeAffinity"][kRequiredKey]["nodeSelectorTerms"] = NodeTerms(pod.required_node_affinity);
  }
  if (!pod.preferred_nodes.empty()) {
    json["nodeAffinity"][kPreferredKey] = NodeTerms(pod.preferred_nodes);
  }
  if (!pod.affinity.empty()) json["podAffinity"][kRequiredKey] = PodTerms(pod.affinity);
  if (!pod.preferred_affinity.empty()) {
    json["podAffinity"][kPreferredKey] = PodTerms(pod.preferred_affinity);
  }
  if (!pod.anti_affinity.empty()) {
    json["podAntiAffinity"][kRequiredKey] = PodTerms(pod.anti_affinity);
  }
  if (!pod.preferred_anti_affinity.empty()) {
    json["podAntiAffinity"][kPreferredKey] = PodTerms(pod.preferred_anti_affinity);
  }
  return json;
}

Json Spread(const std::vector<objects::TopologySpreadConstraint>& constraints) {
  Json array = Json::array();
  for (const objects::TopologySpreadConstraint& constraint : constraints) {
    Json json = {{"maxSkew", constraint.max_skew}};
    Put(json, "topologyKey", constraint.topology_key);
    Put(json, "whenUnsatisfiable", constraint.when_unsatisfiable);
    PutSelector(json, "labelSelector", constraint.label_selector);
    Put(json, "matchLabelKeys", Texts(constraint.match_label_keys));
    Put(json, "minDomains", constraint.min_domains);
    Put(json, "nodeAffinityPolicy", constraint.node_affinity_policy);
    Put(json, "nodeTaintsPolicy", constraint.node_taints_policy);
    array.push_back(std::move(json));
  }
  return array;
}

Json Tolerations(const std::vector<objects::Toleration>& tolerations) {
  Json array = Json::array();
  for (const objects::Toleration& toleration : tolerations) {
    Json json = Json::object();
    Put(json, "key", toleration.key);
    Put(json, "operator", toleration.op);
    Put(json, "value", toleration.value);
    Put(json, "effect", toleration.effect);
    array.push_back(std::move(json));
  }
  return array;
}

Json Ports(const std::vector<objects::ContainerPort>& ports) {
  Json array = Json::array();
  for (const objects::ContainerPort& port : ports) {
    Json json = Json::object();
    if (port.host_port != 0) json["hostPort"] = port.host_port;
    Put(json, "hostIP", port.host_ip);
    Put(json, "protocol", port.protocol);
    array.push_back(std::move(json));
  }
  return array;
}

Json Containers(const std::vector<objects::Container>& containers) {
  Json array = Json::array();
  for (const objects::Container& container : containers) {
    Json json = Json::object();
    Put(json, "name", container.name);
    Put(json, "image", container.image);
    Put(json, "restartPolicy", container.restart_policy);
    if (!container.requests.empty()) json["resources"]["requests"] = Resources(container.requests);
    Put(json, "ports", Ports(container.ports));
    if (container.restarts_all_containers) {
      json["restartPolicyRules"] = Json::array({{{"action", "RestartAllContainers"}}});
    }
    array.push_back(std::move(json));
  }
  return array;
}

Json Volumes(const std::vector<objects::Volume>& volumes) {
  Json array = Json::array();
  for (const objects::Volume& volume : volumes) {
    Json source = Json::object();
    Put(source, "medium", volume.medium);
    Put(source, "claimName", volume.claim_name);
    if (const Text field = VolumeIdFieldOf(volume.source); !field.empty()) {
      Put(source, field, volume.id);
    }
    if (volume.source == "rbd") {
      Put(source, "pool", volume.pool);
      Put(source, "monitors", Texts(volume.monitors));
    }
    Put(source, "driver", volume.driver);
    Put(source, "readOnly", volume.read_only);
    Json json = Json::object();
    Put(json, "name", volume.name);
    if (!volume.source.empty()) json[std::string(volume.source)] = std::move(source);
    array.push_back(std::move(json));
  }
  return array;
}

Json PodSpec(const objects::Pod& pod) {
  Json json = Json::object();
  Put(json, "nodeName", pod.node_name);
  Put(json, "priority", pod.priority);
  Put(json, "restartPolicy", pod.restart_policy);
  Put(json, "terminationGracePeriodSeconds", pod.termination_grace_period_s);
  Put(json, "hostNetwork", pod.host_network);
  Put(json, "hostUsers", pod.host_users);
  Put(json, "schedulerName", pod.scheduler_name);
  if (!pod.os_name.empty()) json["os"]["name"] = pod.os_name;
  if (pod.has_node_selector) json["nodeSelector"] = Map(pod.node_selector);
  Put(json, "affinity", Affinity(pod));
  Put(json, "tolerations", Tolerations(pod.tolerations));
  Put(json, "topologySpreadConstraints", Spread(pod.spread));
  Put(json, "containers", Containers(pod.containers));
  Put(json, "initContainers", Containers(pod.init_containers));
  // Only the pod matters, so an arbitrary container gets them.
  if (pod.has_bind_mount_options) {
    Json mounts = Json::array({{{"bindMountOptions", Json::array({"noexec"})}}});
    json["ephemeralContainers"].push_back({{"volumeMounts", std::move(mounts)}});
  }
  Put(json, "overhead", Resources(pod.overhead));
  if (pod.has_pod_resources) json["resources"]["requests"] = Resources(pod.pod_requests);
  Put(json, "volumes", Volumes(pod.volumes));
  if (!pod.scheduling_group.empty()) {
    json["schedulingGroup"] = {{"podGroupName", pod.scheduling_group}};
  }
  for (const auto& [name, claim_name, template_name] : pod.resource_claims) {
    if (name.empty()) continue;  // A claim that only the status names.
    Json claim = {{"name", name}};
    Put(claim, "resourceClaimTemplateName", template_name);
    if (template_name.empty()) Put(claim, "resourceClaimName", claim_name);
    json["resourceClaims"].push_back(std::move(claim));
  }
  return json;
}

// Writes the condition PodScheduled from which a reader gets pod.scheduling again.
void PutScheduled(const objects::Pod& pod, Json& status) {
  const auto put = [&](const char* value, const char* reason) {
    Json condition = {{"type", "PodScheduled"}, {"status", value}};
    if (*reason != '\0') condition["reason"] = reason;
    status["conditions"].push_back(std::move(condition));
  };
  switch (pod.scheduling) {
    case objects::Scheduling::kNotRecorded:
      // A reader infers this from a missing phase, and ignores the value of a pod on a node.
      if (!pod.phase.empty() && pod.node_name.empty()) put("Unknown", "NotRecorded");
      break;
    case objects::Scheduling::kUnprocessed:
      if (pod.phase.empty()) put("False", "");
      break;
    case objects::Scheduling::kUnschedulable:
      put("False", "Unschedulable");
      break;
    case objects::Scheduling::kGated:
      put("False", "SchedulingGated");
      break;
    case objects::Scheduling::kOther:
      put("True", "");
      break;
  }
}

Json PodStatus(const objects::Pod& pod) {
  Json json = Json::object();
  Put(json, "phase", pod.phase);
  Put(json, "nominatedNodeName", pod.nominated_node_name);
  if (pod.start_time) json["startTime"] = FormatRfc3339(*pod.start_time);
  if (pod.unready) json["conditions"].push_back({{"type", "Ready"}, {"status", "False"}});
  if (pod.resize_infeasible) {
    json["conditions"].push_back(
        {{"type", "PodResizePending"}, {"status", "True"}, {"reason", "Infeasible"}});
  }
  PutScheduled(pod, json);
  for (const objects::ContainerStatus& status : pod.container_statuses) {
    Json each = Json::object();
    Put(each, "name", status.name);
    if (status.has_resources) each["resources"]["requests"] = Resources(status.requests);
    Put(each, "allocatedResources", Resources(status.allocated));
    json["containerStatuses"].push_back(std::move(each));
  }
  if (pod.has_pod_status_resources) {
    json["resources"]["requests"] = Resources(pod.pod_status_requests);
  }
  Put(json, "allocatedResources", Resources(pod.pod_allocated));
  // Several claims may have an amount of the same name, so each amount gets an entry.
  for (const objects::ResourceAmount& each : pod.claimed) {
    json["nodeAllocatableResourceClaimStatuses"].push_back({{"resources", Resources({each})}});
  }
  for (const auto& [name, claim_name, template_name] : pod.resource_claims) {
    if (claim_name.empty()) continue;
    if (name.empty()) {
      json["extendedResourceClaimStatus"] = {{"resourceClaimName", claim_name}};
    } else if (!template_name.empty()) {
      json["resourceClaimStatuses"].push_back({{"name", name}, {"resourceClaimName", claim_name}});
    }
  }
  return json;
}

struct ControllerNames {
  const char* api_version;
  const char* kind;
  const char* wanted;   // Field of spec.
  const char* present;  // Fields of status.
  const char* ready;
};

ControllerNames NamesOf(objects::ControllerKind kind) {
  switch (kind) {
    case objects::ControllerKind::kReplicationController:
      return {"v1", "ReplicationController", "replicas", "replicas", "readyReplicas"};
    case objects::ControllerKind::kReplicaSet:
      return {"apps/v1", "ReplicaSet", "replicas", "replicas", "readyReplicas"};
    case objects::ControllerKind::kStatefulSet:
      return {"apps/v1", "StatefulSet", "replicas", "currentReplicas", "readyReplicas"};
    case objects::ControllerKind::kDaemonSet:
      return {"apps/v1", "DaemonSet", nullptr, nullptr, "numberReady"};
    case objects::ControllerKind::kJob:
      return {"batch/v1", "Job", "parallelism", "active", nullptr};
  }
  return {};
}

Json Object(const char* api_version, const char* kind, const objects::ObjectMeta& meta) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", Meta(meta)}};
}

Json VolumeSource(const objects::PersistentVolume& volume) {
  Json source = Json::object();
  const bool csi = volume.source == "csi";
  Put(source, "driver", volume.driver);
  if (const Text field = csi ? "volumeHandle" : VolumeIdFieldOf(volume.source); !field.empty()) {
    Put(source, field, volume.id);
  }
  Put(source, "kind", volume.disk_kind);
  return source;
}

Json ToJson(const objects::PersistentVolume& volume) {
  Json json = Object("v1", "PersistentVolume", volume.meta);
  Json spec = Json::object();
  spec["capacity"]["storage"] = Quantity("storage", volume.capacity_bytes);
  Put(spec, "accessModes", Texts(volume.access_modes));
  Put(spec, "storageClassName", volume.storage_class_name);
  Put(spec, "volumeMode", volume.volume_mode);
  Put(spec, "volumeAttributesClassName", volume.volume_attributes_class_name);
  if (volume.claim) {
    Json claim = Json::object();
    Put(claim, "namespace", volume.claim->namespace_name);
    Put(claim, "name", volume.claim->name);
    Put(claim, "uid", volume.claim->uid);
    spec["claimRef"] = std::move(claim);
  }
  if (!volume.required_node_affinity.nil) {
    spec["nodeAffinity"]["required"]["nodeSelectorTerms"] =
        NodeTerms(volume.required_node_affinity);
  }
  if (!volume.source.empty()) spec[std::string(volume.source)] = VolumeSource(volume);
  json["spec"] = std::move(spec);
  Put(json["status"], "phase", volume.phase);
  return json;
}

Json ToJson(const objects::PersistentVolumeClaim& claim) {
  Json json = Object("v1", "PersistentVolumeClaim", claim.meta);
  Json spec = Json::object();
  Put(spec, "accessModes", Texts(claim.access_modes));
  Put(spec, "storageClassName", claim.storage_class_name);
  Put(spec, "volumeMode", claim.volume_mode);
  Put(spec, "volumeAttributesClassName", claim.volume_attributes_class_name);
  Put(spec, "volumeName", claim.volume_name);
  PutSelector(spec, "selector", claim.selector);
  if (claim.request_bytes) {
    spec["resources"]["requests"]["storage"] = Quantity("storage", *claim.request_bytes);
  }
  json["spec"] = std::move(spec);
  Put(json["status"], "phase", claim.phase);
  return json;
}

Json ToJson(const objects::StorageClass& storage_class) {
  Json json = Object("storage.k8s.io/v1", "StorageClass", storage_class.meta);
  Put(json, "provisioner", storage_class.provisioner);
  Put(json, "volumeBindingMode", storage_class.volume_binding_mode);
  for (const objects::TopologyTerm& term : storage_class.allowed_topologies) {
    Json requirements = Json::array();
    for (const objects::TopologyRequirement& each : term) {
      requirements.push_back({{"key", each.key}, {"values", Texts(each.values)}});
    }
    json["allowedTopologies"].push_back({{"matchLabelExpressions", std::move(requirements)}});
  }
  return json;
}

Json ToJson(const objects::CsiDriver& driver) {
  Json json = Object("storage.k8s.io/v1", "CSIDriver", driver.meta);
  json["spec"]["storageCapacity"] = driver.storage_capacity;
  Put(json["spec"], "preventPodSchedulingIfMissing", driver.prevents_scheduling);
  return json;
}

Json ToJson(const objects::CsiNode& node) {
  Json json = Object("storage.k8s.io/v1", "CSINode", node.meta);
  json["spec"]["drivers"] = Json::array();
  for (const objects::CsiNode::Driver& driver : node.drivers) {
    Json each = {{"name", driver.name}};
    if (driver.volumes_max) each["allocatable"]["count"] = *driver.volumes_max;
    json["spec"]["drivers"].push_back(std::move(each));
  }
  return json;
}

Json ToJson(const objects::VolumeAttachment& attachment) {
  Json json = Object("storage.k8s.io/v1", "VolumeAttachment", attachment.meta);
  Json spec = Json::object();
  Put(spec, "attacher", attachment.attacher);
  Put(spec, "nodeName", attachment.node_name);
  if (attachment.volume_name) spec["source"]["persistentVolumeName"] = *attachment.volume_name;
  json["spec"] = std::move(spec);
  return json;
}

Json ToJson(const objects::CsiStorageCapacity& capacity) {
  Json json = Object("storage.k8s.io/v1", "CSIStorageCapacity", capacity.meta);
  Put(json, "storageClassName", capacity.storage_class_name);
  PutSelector(json, "nodeTopology", capacity.node_topology);
  if (capacity.capacity_bytes) json["capacity"] = Quantity("storage", *capacity.capacity_bytes);
  if (capacity.maximum_volume_size_bytes) {
    json["maximumVolumeSize"] = Quantity("storage", *capacity.maximum_volume_size_bytes);
  }
  return json;
}

// --- Dynamic resource allocation

Json DeviceSelectors(const std::vector<Text>& selectors) {
  Json array = Json::array();
  for (const Text text : selectors) array.push_back({{"cel", {{"expression", text}}}});
  return array;
}

Json ToJson(const objects::DeviceClass& device_class) {
  Json json = Object("resource.k8s.io/v1", "DeviceClass", device_class.meta);
  json["spec"] = Json::object();
  Put(json["spec"], "selectors", DeviceSelectors(device_class.selectors));
  Put(json["spec"], "extendedResourceName", device_class.extended_resource_name);
  Put(json["spec"], kNotUnderstoodSpec, device_class.not_understood);
  return json;
}

Json DeviceAmounts(const std::vector<objects::DeviceQuantity>& amounts) {
  Json json = Json::object();
  for (const auto& [name, value] : amounts) json[std::string(name)] = value;
  return json;
}

Json DeviceAsk(const objects::DeviceAsk& ask) {
  Json json = Json::object();
  Put(json, "name", ask.name);
  Put(json, "deviceClassName", ask.class_name);
  Put(json, "selectors", DeviceSelectors(ask.selectors));
  Put(json, "allocationMode", ask.mode);
  if (ask.count != 0) json["count"] = ask.count;
  Put(json, "adminAccess", ask.admin_access);
  Put(json, "tolerations", Tolerations(ask.tolerations));
  if (!ask.capacity.empty()) json["capacity"]["requests"] = DeviceAmounts(ask.capacity);
  return json;
}

Json DeviceRequest(const objects::DeviceRequest& request) {
  Json json = {{"name", request.name}};
  if (request.first_available) {
    json["firstAvailable"] = Json::array();
    for (const objects::DeviceAsk& ask : request.asks) {
      json["firstAvailable"].push_back(DeviceAsk(ask));
    }
  } else if (!request.asks.empty()) {
    json["exactly"] = DeviceAsk(request.asks.front());
  }
  return json;
}

void PutNodes(Json& to, Text key, const objects::NodeSelector& selector) {
  if (!selector.nil) to[std::string(key)]["nodeSelectorTerms"] = NodeTerms(selector);
}

Json ClaimSpec(const objects::ResourceClaim& claim) {
  Json devices = Json::object();
  for (const objects::DeviceRequest& request : claim.requests) {
    devices["requests"].push_back(DeviceRequest(request));
  }
  for (const auto& [requests, match, distinct] : claim.constraints) {
    Json each = Json::object();
    Put(each, "requests", Texts(requests));
    Put(each, "matchAttribute", match);
    Put(each, "distinctAttribute", distinct);
    devices["constraints"].push_back(std::move(each));
  }
  Json spec = Json::object();
  Put(spec, "devices", std::move(devices));
  Put(spec, kNotUnderstoodSpec, claim.not_understood);
  return spec;
}

Json ToJson(const objects::ResourceClaim& claim) {
  Json json = Object("resource.k8s.io/v1", "ResourceClaim", claim.meta);
  Put(json, "spec", ClaimSpec(claim));
  if (claim.allocated) {
    Json results = Json::array();
    for (const objects::ResourceClaim::Device& device : claim.devices) {
      Json each = {{"driver", device.driver}, {"pool", device.pool}, {"device", device.name}};
      Put(each, "adminAccess", device.admin_access);
      Put(each, "shareID", device.share_id);
      Put(each, "consumedCapacity", DeviceAmounts(device.consumed));
      Put(each, "bindingConditions", Texts(device.binding_conditions));
      Put(each, "bindingFailureConditions", Texts(device.binding_failure_conditions));
      results.push_back(std::move(each));
    }
    Json& allocation = json["status"]["allocation"];
    allocation["devices"]["results"] = std::move(results);
    PutNodes(allocation, "nodeSelector", claim.allocated_on);
  }
  for (const objects::ResourceClaim::DeviceStatus& status : claim.statuses) {
    Json each = {{"driver", status.driver}, {"pool", status.pool}, {"device", status.name}};
    for (const auto& [type, value] : status.conditions) {
      each["conditions"].push_back({{"type", type}, {"status", value}});
    }
    json["status"]["devices"].push_back(std::move(each));
  }
  for (const auto& [resource, name, uid] : claim.reserved_for) {
    Json each = Json::object();
    Put(each, "resource", resource);
    Put(each, "name", name);
    Put(each, "uid", uid);
    json["status"]["reservedFor"].push_back(std::move(each));
  }
  return json;
}

Json ToJson(const objects::ResourceClaimTemplate& from) {
  return Object("resource.k8s.io/v1", "ResourceClaimTemplate", from.meta);
}

Json DeviceQuantities(const std::vector<objects::DeviceQuantity>& quantities) {
  Json json = Json::object();
  for (const auto& [name, value] : quantities) json[std::string(name)] = {{"value", value}};
  return json;
}

Json DeviceCapacities(const std::vector<objects::DeviceCapacity>& capacities) {
  Json json = Json::object();
  for (const objects::DeviceCapacity& capacity : capacities) {
    Json& each = json[std::string(capacity.name)] = {{"value", capacity.value}};
    if (!capacity.has_policy) continue;
    Json& policy = each["requestPolicy"] = Json::object();
    Put(policy, "default", capacity.standard);
    Put(policy, "validValues", Texts(capacity.valid_values));
    if (!capacity.has_range) continue;
    Json& range = policy["validRange"] = Json::object();
    Put(range, "min", capacity.range_min);
    Put(range, "max", capacity.range_max);
    Put(range, "step", capacity.range_step);
  }
  return json;
}

Json CounterSets(Text name, const std::vector<objects::DeviceCounters>& sets) {
  Json array = Json::array();
  for (const auto& [counter_set, counters] : sets) {
    array.push_back({{std::string(name), counter_set}, {"counters", DeviceQuantities(counters)}});
  }
  return array;
}

Json DeviceAttribute(const objects::DeviceAttribute& attribute) {
  const std::string type(attribute.type);
  // A snapshot file may hold any text.
  const std::optional<int64_t> number = ParseInt64(attribute.value);
  if (type == "int" && number) return {{type, *number}};
  if (type == "bool") return {{type, attribute.value == "true"}};
  Json json = Json::object();
  if (!type.empty()) json[type] = attribute.value;
  return json;
}

Json Taint(const objects::Taint& taint) {
  Json json = {{"key", taint.key}};
  Put(json, "value", taint.value);
  Put(json, "effect", taint.effect);
  return json;
}

Json Taints(const std::vector<objects::Taint>& taints) {
  Json array = Json::array();
  for (const objects::Taint& taint : taints) array.push_back(Taint(taint));
  return array;
}

Json Device(const objects::Device& device) {
  Json json = {{"name", device.name}};
  for (const objects::DeviceAttribute& each : device.attributes) {
    json["attributes"][std::string(each.name)] = DeviceAttribute(each);
  }
  Put(json, "capacity", DeviceCapacities(device.capacity));
  Put(json, "taints", Taints(device.taints));
  Put(json, "consumesCounters", CounterSets("counterSet", device.consumes));
  Put(json, "nodeName", device.node_name);
  PutNodes(json, "nodeSelector", device.node_selector);
  Put(json, "allNodes", device.all_nodes);
  Put(json, "allowMultipleAllocations", device.allow_multiple);
  Put(json, "bindsToNode", device.binds_to_node);
  Put(json, "bindingConditions", Texts(device.binding_conditions));
  return json;
}

Json ToJson(const objects::ResourceSlice& slice) {
  Json json = Object("resource.k8s.io/v1", "ResourceSlice", slice.meta);
  Json& spec = json["spec"];
  spec = {{"driver", slice.driver}, {"pool", {{"name", slice.pool}}}};
  if (slice.generation != 0) spec["pool"]["generation"] = slice.generation;
  if (slice.slice_count != 0) spec["pool"]["resourceSliceCount"] = slice.slice_count;
  Put(spec, "nodeName", slice.node_name);
  PutNodes(spec, "nodeSelector", slice.node_selector);
  Put(spec, "allNodes", slice.all_nodes);
  Put(spec, "perDeviceNodeSelection", slice.per_device_nodes);
  for (const objects::Device& device : slice.devices) spec["devices"].push_back(Device(device));
  Put(spec, "sharedCounters", CounterSets("name", slice.shared_counters));
  Put(spec, kNotUnderstoodSpec, slice.not_understood);
  return json;
}

Json ToJson(const objects::DeviceTaintRule& rule) {
  Json json = Object("resource.k8s.io/v1", "DeviceTaintRule", rule.meta);
  Json& spec = json["spec"];
  Json selector = Json::object();
  Put(selector, "driver", rule.driver);
  Put(selector, "pool", rule.pool);
  Put(selector, "device", rule.device);
  Put(spec, "deviceSelector", std::move(selector));
  spec["taint"] = Taint(rule.taint);
  Put(spec, kNotUnderstoodSpec, rule.not_understood);
  return json;
}

Json ToJson(const objects::Machine& machine) {
  const bool is_openshift = machine.group == "machine.openshift.io";
  Json json = Object(is_openshift ? "machine.openshift.io/v1beta1" : "cluster.x-k8s.io/v1beta1",
                     "Machine", machine.meta);
  json["spec"] = Json::object();
  Put(json["spec"], "providerID", machine.provider_id);
  if (!machine.node_name.empty()) json["status"]["nodeRef"]["name"] = machine.node_name;
  return json;
}

Json ToJson(const objects::NodeClaim& claim) {
  Json json = Object("karpenter.sh/v1", "NodeClaim", claim.meta);
  json["status"] = Json::object();
  Put(json["status"], "nodeName", claim.node_name);
  Put(json["status"], "providerID", claim.provider_id);
  for (const auto& [type, status, since] : claim.conditions) {
    Json condition = {{"type", type}, {"status", status}};
    if (since != 0) condition["lastTransitionTime"] = FormatRfc3339(since);
    json["status"]["conditions"].push_back(std::move(condition));
  }
  if (claim.last_pod_event) {
    json["status"]["lastPodEventTime"] = FormatRfc3339(*claim.last_pod_event);
  }
  return json;
}

Json ToJson(const objects::NodePool& pool) {
  Json json = Object("karpenter.sh/v1", "NodePool", pool.meta);
  Json& spec = json["spec"] = Json::object();
  // How many nodes a static NodePool has, no decision reads.
  if (pool.is_static) spec["replicas"] = 1;
  Put(spec, kNotUnderstoodSpec, pool.not_understood);
  Json& disruption = spec["disruption"] = Json::object();
  Put(disruption, "consolidationPolicy", pool.policy);
  Put(disruption, "consolidateAfter", pool.consolidate_after);
  Json budgets = Json::array();
  for (const objects::NodePool::Budget& budget : pool.budgets) {
    Json each = Json::object();
    Put(each, "nodes", budget.nodes);
    if (budget.schedule) each["schedule"] = *budget.schedule;
    if (budget.duration) each["duration"] = *budget.duration;
    if (budget.has_reasons) each["reasons"] = Texts(budget.reasons);
    budgets.push_back(std::move(each));
  }
  if (pool.has_budgets) disruption["budgets"] = std::move(budgets);
  Put(spec, "weight", pool.weight);
  Put(spec, "limits", Resources(pool.limits));
  Json made = Json::object();
  Put(made, kNotUnderstoodSpec, pool.not_bought);
  Put(made, "taints", Taints(pool.taints));
  Put(made, "startupTaints", Taints(pool.startup_taints));
  for (const objects::NodePool::Requirement& each : pool.requirements) {
    Json requirement = {{"key", each.key}, {"operator", each.op}};
    Put(requirement, "values", Texts(each.values));
    Put(requirement, "minValues", each.min_values);
    made["requirements"].push_back(std::move(requirement));
  }
  if (!made.empty()) spec["template"]["spec"] = std::move(made);
  if (!pool.labels.empty()) spec["template"]["metadata"]["labels"] = Map(pool.labels);
  if (!pool.resources.empty()) json["status"]["resources"] = Resources(pool.resources);
  return json;
}

Json ToJson(const objects::PodGroup& pods) {
  const bool is_kubernetes = pods.group == "scheduling.k8s.io";
  const char* const version = is_kubernetes ? "scheduling.k8s.io/v1beta1"
                              : pods.group == "scheduling.volcano.sh"
                                  ? "scheduling.volcano.sh/v1beta1"
                                  : "scheduling.x-k8s.io/v1alpha1";
  Json json = Object(version, "PodGroup", pods.meta);
  Json& spec = json["spec"] = Json::object();
  if (!is_kubernetes) {
    Put(spec, "minMember", pods.min_count);
  } else if (pods.min_count.has_value()) {
    spec["schedulingPolicy"]["gang"]["minCount"] = *pods.min_count;
  } else {
    spec["schedulingPolicy"]["basic"] = Json::object();
  }
  if (pods.whole) spec["disruptionMode"]["all"] = Json::object();
  Put(spec, kNotUnderstoodSpec, pods.not_understood);
  return json;
}

Json ToJson(const objects::PodTemplate& from) {
  Json json = Object("v1", "PodTemplate", from.meta);
  json["template"] = {{"metadata", Meta(from.pod.meta)}, {"spec", PodSpec(from.pod)}};
  return json;
}

Json ToJson(const objects::EvictionRequest& request) {
  Json json = Object("lifecycle.k8s.io/v1alpha1", "EvictionRequest", request.meta);
  Json& spec = json["spec"];
  spec["target"]["pod"] = Json::object();
  Put(spec["target"]["pod"], "name", request.pod);
  Put(spec["target"]["pod"], "uid", request.uid);
  Put(spec, "requester", request.requester);
  spec["intent"] = request.active ? "Eviction" : "Withdrawn";
  return json;
}

Json ToJson(const objects::CapacityBuffer& buffer) {
  Json json = Object("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", buffer.meta);
  Json& status = json["status"] = Json::object();
  Put(status, "provisioningStrategy", buffer.strategy);
  if (!buffer.template_name.empty()) status["podTemplateRef"]["name"] = buffer.template_name;
  Put(status, "replicas", buffer.replicas);
  status["conditions"].push_back(
      {{"type", "ReadyForProvisioning"}, {"status", buffer.ready ? "True" : "False"}});
  return json;
}

Json ToJson(const objects::VerticalPodAutoscaler& vpa) {
  Json json = Object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", vpa.meta);
  Json& spec = json["spec"] = Json::object();
  if (!vpa.target_kind.empty()) spec["targetRef"]["kind"] = vpa.target_kind;
  if (!vpa.target_name.empty()) spec["targetRef"]["name"] = vpa.target_name;
  if (!vpa.update_mode.empty()) spec["updatePolicy"]["updateMode"] = vpa.update_mode;
  for (const objects::VerticalPodAutoscaler::Policy& policy : vpa.policies) {
    Json each = Json::object();
    Put(each, "containerName", policy.container);
    Put(each, "mode", policy.mode);
    Put(each, "minAllowed", Resources(policy.min_allowed));
    Put(each, "maxAllowed", Resources(policy.max_allowed));
    if (policy.has_controlled) each["controlledResources"] = Texts(policy.controlled);
    spec["resourcePolicy"]["containerPolicies"].push_back(std::move(each));
  }
  Put(spec, kNotUnderstoodSpec, vpa.not_understood);
  if (!vpa.has_recommendation) return json;
  Json& recommendation = json["status"]["recommendation"] = Json::object();
  for (const auto& [container, target] : vpa.recommendations) {
    Json each = Json::object();
    Put(each, "containerName", container);
    Put(each, "target", Resources(target));
    recommendation["containerRecommendations"].push_back(std::move(each));
  }
  return json;
}

Json ToJson(const objects::Service& service) {
  Json json = Object("v1", "Service", service.meta);
  json["spec"] = Json::object();
  Put(json["spec"], "selector", Map(service.selector));
  return json;
}

std::string ToText(ObjectFormat format, const Json& object) {
  return format == ObjectFormat::kYamlDocuments ? Yaml(object) : CompactJson(object);
}

std::string StartOfYaml() { return absl::StrCat(Absl(kYamlStart), "\n"); }

}  // namespace

ObjectWriter::ObjectWriter(ObjectFormat format, Output output)
    : format_(format), output_(std::move(output)) {}

absl::Status ObjectWriter::OnNode(const objects::Node& node) {
  Json json = Object("v1", "Node", node.meta);
  Json spec = Json::object();
  Put(spec, "unschedulable", node.unschedulable);
  Put(spec, "providerID", node.provider_id);
  Put(spec, "taints", Taints(node.taints));
  json["spec"] = std::move(spec);
  Json status = Json::object();
  Put(status, "capacity", Resources(node.capacity));
  Put(status, "allocatable", Resources(node.allocatable));
  for (const auto& [type, value] : node.conditions) {
    status["conditions"].push_back({{"type", type}, {"status", value}});
  }
  const int64_t heartbeat_time = std::exchange(heartbeat_time_, 0);
  if (heartbeat_time != 0 && !node.conditions.empty()) {
    status["conditions"][0]["lastHeartbeatTime"] = FormatRfc3339(heartbeat_time);
  }
  Put(status, "declaredFeatures", Texts(node.declared_features));
  for (const objects::NodeImage& image : node.images) {
    Json each = Json::object();
    Put(each, "names", Texts(image.names));
    each["sizeBytes"] = image.size_bytes;
    status["images"].push_back(std::move(each));
  }
  Json info = Json::object();
  Put(info, "kubeletVersion", node.kubelet_version);
  Put(info, "operatingSystem", node.operating_system);
  Put(info, "architecture", node.architecture);
  Put(status, "nodeInfo", std::move(info));
  json["status"] = std::move(status);
  return Write(ToText(format_, json));
}

absl::Status ObjectWriter::OnPod(const objects::Pod& pod) {
  if (!pod.not_understood.empty()) {
    const Text field = pod.not_understood;
    return absl::UnimplementedError(
        absl::StrCat(absl::string_view(field.data(), field.size()),
                     ": ebb does not know this field and cannot write it; write a .pb snapshot"));
  }
  Json json = Object("v1", "Pod", pod.meta);
  // The spec is written in part, which cannot distinguish pods that differ in the rest.
  if (pod.spec_digest != 0) {
    json["metadata"]["annotations"]["ebb/spec-digest"] =
        absl::StrCat(absl::Hex(pod.spec_digest, absl::kZeroPad16));
  }
  json["spec"] = PodSpec(pod);
  json["status"] = PodStatus(pod);
  return Write(ToText(format_, json));
}

absl::Status ObjectWriter::OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) {
  Json json = Object("policy/v1", "PodDisruptionBudget", budget.meta);
  json["spec"] = Json::object();
  PutSelector(json["spec"], "selector", budget.selector);
  if (budget.always_allows_unready) json["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow";
  Json& status = json["status"];
  status["disruptionsAllowed"] = budget.disruptions_allowed;
  Put(status, "desiredHealthy", budget.desired_healthy);
  Put(status, "expectedPods", budget.expected_pods);
  Put(status, "currentHealthy", budget.current_healthy);
  if (budget.sync_failed) {
    status["conditions"].push_back({{"type", "DisruptionAllowed"},
                                    {"status", "False"},
                                    {"reason", "SyncFailed"},
                                    {"message", budget.sync_message}});
  }
  return Write(ToText(format_, json));
}

absl::Status ObjectWriter::OnController(const objects::Controller& controller) {
  const ControllerNames names = NamesOf(controller.kind);
  Json json = Object(names.api_version, names.kind, controller.meta);
  if (names.wanted != nullptr) {
    json["spec"] = Json::object();
    Put(json["spec"], names.wanted, controller.spec_replicas);
    Put(json["spec"], "completions", controller.completions);
    if (controller.kind == objects::ControllerKind::kReplicationController) {
      if (!controller.selector.nil)
        json["spec"]["selector"] = Map(controller.selector.match_labels);
    } else {
      PutSelector(json["spec"], "selector", controller.selector);
    }
    json["status"][names.present] = controller.status_replicas;
    if (controller.succeeded != 0) json["status"]["succeeded"] = controller.succeeded;
  }
  const int64_t pods_ready = std::exchange(pods_ready_, 0);
  if (pods_ready != 0 && names.ready != nullptr) json["status"][names.ready] = pods_ready;
  return Write(ToText(format_, json));
}

absl::Status ObjectWriter::OnNamespace(const objects::Namespace& namespace_object) {
  return Write(ToText(format_, Object("v1", "Namespace", namespace_object.meta)));
}

absl::Status ObjectWriter::OnStorageObject(const objects::StorageObject& object) {
  return Write(ToText(format_, std::visit([](const auto& o) { return ToJson(o); }, object)));
}

absl::Status ObjectWriter::OnList(std::string_view kind, uint64_t items) {
  if (kind != "PodDisruptionBudget" || items > 0) return absl::OkStatus();
  return Write(ToText(format_, Json{{"apiVersion", "policy/v1"},
                                    {"kind", "PodDisruptionBudgetList"},
                                    {"items", Json::array()}}));
}

// Writes only the object's names, unless the object is at hand.
absl::Status ObjectWriter::OnUnevaluated(const Unevaluated& object) {
  if (!object.text.empty()) return Write(ToText(format_, Json::parse(object.text)));
  Json json = {{"apiVersion", object.api_version}, {"kind", object.kind}};
  Put(json["metadata"], "name", object.name);
  Put(json["metadata"], "namespace", object.namespace_name);
  return Write(ToText(format_, json));
}

absl::Status ObjectWriter::Write(std::string_view object) {
  std::string text;
  if (format_ == ObjectFormat::kJsonList) {
    text = first_ ? "{\"apiVersion\":\"v1\",\"items\":[\n" : ",\n";
  } else {
    text = first_ ? StartOfYaml() : "---\n";
  }
  first_ = false;
  text.append(object);
  return output_(text);
}

absl::Status ObjectWriter::Finish() {
  if (format_ == ObjectFormat::kYamlDocuments) {
    return output_(absl::StrCat(first_ ? StartOfYaml() : "...\n", Absl(kYamlEnd), "\n"));
  }
  const char* start = first_ ? "{\"apiVersion\":\"v1\",\"items\":[" : "";
  return output_(std::string(start) + "\n],\"kind\":\"List\"}\n");
}

}  // namespace ebb
