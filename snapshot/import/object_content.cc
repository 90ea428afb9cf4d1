#include "snapshot/import/object_content.h"

#include <utility>
#include <variant>

#include "absl/hash/hash.h"

// Hashes each struct by all of its fields.  A static_assert on the size fails when a struct gains
// a field.
namespace ebb::objects {

#if defined(__GLIBCXX__) && defined(__x86_64__)
static_assert(sizeof(ObjectMeta) == 144, "hash the new field here");
static_assert(sizeof(Node) == 360, "hash the new field here");
static_assert(sizeof(Pod) == 840, "hash the new field here");
#endif

template <typename H>
H AbslHashValue(H h, const KeyValue& o) {
  return H::combine(std::move(h), o.key, o.value);
}
template <typename H>
H AbslHashValue(H h, const ResourceAmount& o) {
  return H::combine(std::move(h), o.name, o.amount, o.excess);
}

// A list that represents a map: the order of its entries does not matter.
template <typename List>
struct Map {
  const List& list;
  template <typename H>
  friend H AbslHashValue(H h, const Map& map) {
    return H::combine_unordered(std::move(h), map.list.begin(), map.list.end());
  }
};
template <typename List>
Map(const List&) -> Map<List>;

template <typename H>
H AbslHashValue(H h, const OwnerReference& o) {
  return H::combine(std::move(h), o.api_version, o.kind, o.name, o.uid, o.controller);
}
template <typename H>
H AbslHashValue(H h, const ObjectMeta& o) {
  return H::combine(std::move(h), o.name, o.namespace_name, o.uid, Map(o.labels),
                    Map(o.annotations), o.owners, o.creation_time, o.deletion_time);
}
template <typename H>
H AbslHashValue(H h, const Requirement& o) {
  return H::combine(std::move(h), o.key, o.op, o.values);
}
template <typename H>
H AbslHashValue(H h, const LabelSelector& o) {
  return H::combine(std::move(h), o.nil, Map(o.match_labels), o.match_expressions);
}
template <typename H>
H AbslHashValue(H h, const NodeSelectorTerm& o) {
  return H::combine(std::move(h), o.match_expressions, o.match_fields);
}
template <typename H>
H AbslHashValue(H h, const NodeSelector& o) {
  return H::combine(std::move(h), o.nil, o.terms);
}
template <typename H>
H AbslHashValue(H h, const Toleration& o) {
  return H::combine(std::move(h), o.key, o.op, o.value, o.effect);
}
template <typename H>
H AbslHashValue(H h, const Taint& o) {
  return H::combine(std::move(h), o.key, o.value, o.effect);
}
template <typename H>
H AbslHashValue(H h, const PodAffinityTerm& o) {
  return H::combine(std::move(h), o.label_selector, o.namespaces, o.namespace_selector,
                    o.topology_key);
}
template <typename H>
H AbslHashValue(H h, const PreferredNodeTerm& o) {
  return H::combine(std::move(h), o.weight, o.term);
}
template <typename H>
H AbslHashValue(H h, const PreferredPodTerm& o) {
  return H::combine(std::move(h), o.weight, o.term);
}
template <typename H>
H AbslHashValue(H h, const TopologySpreadConstraint& o) {
  return H::combine(std::move(h), o.max_skew, o.topology_key, o.when_unsatisfiable,
                    o.label_selector, o.match_label_keys, o.min_domains, o.node_affinity_policy,
                    o.node_taints_policy);
}
template <typename H>
H AbslHashValue(H h, const ContainerPort& o) {
  return H::combine(std::move(h), o.host_ip, o.host_port, o.protocol);
}
template <typename H>
H AbslHashValue(H h, const Container& o) {
  return H::combine(std::move(h), o.name, o.restart_policy, Map(o.requests), o.ports,
                    o.restarts_all_containers, o.image);
}
template <typename H>
H AbslHashValue(H h, const ContainerStatus& o) {
  return H::combine(std::move(h), o.name, o.has_resources, Map(o.requests), Map(o.allocated));
}
template <typename H>
H AbslHashValue(H h, const Volume& o) {
  return H::combine(std::move(h), o.name, o.source, o.medium, o.claim_name, o.id, o.pool,
                    o.monitors, o.driver, o.read_only);
}
template <typename H>
H AbslHashValue(H h, const PodResourceClaim& o) {
  return H::combine(std::move(h), o.name, o.claim_name, o.template_name);
}
template <typename H>
H AbslHashValue(H h, const Pod& o) {
  h = H::combine(std::move(h), o.meta, o.node_name, o.priority, o.restart_policy,
                 o.termination_grace_period_s, o.host_network, o.host_users, Map(o.node_selector),
                 o.has_node_selector, o.required_node_affinity, o.affinity, o.anti_affinity,
                 o.tolerations, o.spread, o.containers, o.init_containers, Map(o.overhead));
  return H::combine(std::move(h), o.has_pod_resources, Map(o.pod_requests), o.volumes,
                    o.resource_claims, o.scheduling_group, o.phase, o.nominated_node_name,
                    o.start_time, o.unready, o.resize_infeasible, o.container_statuses,
                    o.has_pod_status_resources, Map(o.pod_status_requests), Map(o.pod_allocated),
                    o.not_understood, o.preferred_nodes, o.preferred_affinity,
                    o.preferred_anti_affinity, o.os_name, o.has_bind_mount_options, Map(o.claimed),
                    o.node_name.empty() ? o.scheduling : Scheduling(),
                    o.node_name.empty() ? o.scheduler_name : Text(), o.spec_digest);
}
template <typename H>
H AbslHashValue(H h, const NodeCondition& o) {
  return H::combine(std::move(h), o.type, o.status);
}
template <typename H>
H AbslHashValue(H h, const NodeImage& o) {
  return H::combine(std::move(h), o.names, o.size_bytes);
}
template <typename H>
H AbslHashValue(H h, const Node& o) {
  return H::combine(std::move(h), o.meta, o.unschedulable, o.provider_id, o.taints,
                    Map(o.allocatable), Map(o.capacity), o.conditions, o.declared_features,
                    o.images, o.operating_system, o.architecture, o.kubelet_version);
}
template <typename H>
H AbslHashValue(H h, const PodDisruptionBudget& o) {
  return H::combine(std::move(h), o.meta, o.selector, o.disruptions_allowed,
                    o.always_allows_unready, o.sync_failed, o.sync_message, o.desired_healthy,
                    o.expected_pods);
}
template <typename H>
H AbslHashValue(H h, const Controller& o) {
  return H::combine(std::move(h), o.kind, o.meta, o.spec_replicas, o.completions, o.status_replicas,
                    o.succeeded);
}
template <typename H>
H AbslHashValue(H h, const Namespace& o) {
  return H::combine(std::move(h), o.meta);
}

// --- Storage

template <typename H>
H AbslHashValue(H h, const ClaimReference& o) {
  return H::combine(std::move(h), o.namespace_name, o.name, o.uid);
}
template <typename H>
H AbslHashValue(H h, const PersistentVolume& o) {
  return H::combine(std::move(h), o.meta, o.capacity_bytes, o.access_modes, o.storage_class_name,
                    o.volume_mode, o.volume_attributes_class_name, o.claim.has_value(),
                    o.claim.value_or(ClaimReference()), o.required_node_affinity, o.source,
                    o.driver, o.id, o.disk_kind, o.phase);
}
template <typename H>
H AbslHashValue(H h, const PersistentVolumeClaim& o) {
  return H::combine(std::move(h), o.meta, o.access_modes, o.storage_class_name, o.volume_mode,
                    o.volume_attributes_class_name, o.volume_name, o.selector, o.request_bytes,
                    o.phase);
}
template <typename H>
H AbslHashValue(H h, const TopologyRequirement& o) {
  return H::combine(std::move(h), o.key, o.values);
}
template <typename H>
H AbslHashValue(H h, const StorageClass& o) {
  return H::combine(std::move(h), o.meta, o.provisioner, o.volume_binding_mode,
                    o.allowed_topologies);
}
template <typename H>
H AbslHashValue(H h, const CsiDriver& o) {
  return H::combine(std::move(h), o.meta, o.storage_capacity, o.prevents_scheduling);
}
template <typename H>
H AbslHashValue(H h, const CsiNode::Driver& o) {
  return H::combine(std::move(h), o.name, o.volumes_max);
}
template <typename H>
H AbslHashValue(H h, const CsiNode& o) {
  return H::combine(std::move(h), o.meta, o.drivers);
}
template <typename H>
H AbslHashValue(H h, const VolumeAttachment& o) {
  return H::combine(std::move(h), o.meta, o.attacher, o.node_name, o.volume_name);
}
template <typename H>
H AbslHashValue(H h, const CsiStorageCapacity& o) {
  return H::combine(std::move(h), o.meta, o.storage_class_name, o.node_topology, o.capacity_bytes,
                    o.maximum_volume_size_bytes);
}
template <typename H>
H AbslHashValue(H h, const DeviceClass& o) {
  return H::combine(std::move(h), o.meta, o.extended_resource_name);
}
template <typename H>
H AbslHashValue(H h, const ResourceClaim::Device& o) {
  return H::combine(std::move(h), o.driver, o.pool, o.name);
}
template <typename H>
H AbslHashValue(H h, const ResourceClaim& o) {
  return H::combine(std::move(h), o.meta, o.allocated, o.devices);
}
template <typename H>
H AbslHashValue(H h, const ResourceClaimTemplate& o) {
  return H::combine(std::move(h), o.meta);
}
template <typename H>
H AbslHashValue(H h, const ResourceSlice& o) {
  return H::combine(std::move(h), o.meta, o.driver, o.pool, o.node_name);
}
template <typename H>
H AbslHashValue(H h, const Machine& o) {
  return H::combine(std::move(h), o.meta, o.group, o.node_name, o.provider_id);
}
template <typename H>
H AbslHashValue(H h, const NodeClaim& o) {
  return H::combine(std::move(h), o.meta, o.node_name, o.provider_id);
}

}  // namespace ebb::objects

namespace ebb {

uint64_t ContentOf(const objects::Node& node) { return absl::HashOf(node); }
uint64_t ContentOf(const objects::Pod& pod) { return absl::HashOf(pod); }
uint64_t ContentOf(const objects::PodDisruptionBudget& budget) { return absl::HashOf(budget); }
uint64_t ContentOf(const objects::Controller& controller) { return absl::HashOf(controller); }
uint64_t ContentOf(const objects::Namespace& namespace_object) {
  return absl::HashOf(namespace_object);
}
uint64_t ContentOf(const objects::StorageObject& object) {
  return std::visit([](const auto& o) { return uint64_t{absl::HashOf(o)}; }, object);
}

}  // namespace ebb
