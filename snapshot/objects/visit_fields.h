// VisitFields: the fields of each struct of objects.h and storage_objects.h, from one table.
//
// Code that handles all fields of an object alike (hashes, prints, resets) visits the table and
// names no field.  VisitFields(object, visit) calls visit(name, member) for each member, in the
// order of declaration, with the member's name ("node_name").  A member that is a struct, a list or
// an optional is passed as it is; `visit` calls VisitFields for a struct within (see HasFields).
// KeyValues and ResourceList represent maps: the order of their entries has no meaning.  The order
// of other lists may have one.
//
// Complete: a new member of a struct does not compile until it is in the struct's row.  A row
//           becomes a structured binding, `auto& [key, value, effect] = taint`, and the language
//           requires a structured binding to name as many variables as the struct has members.
//           The variables are bound by position, so the names are right only if a row is in the
//           order of declaration.  No compiler checks the order; a wrong one only swaps names.
//           A struct without a row does not compile where a visitor reaches it.
// Cost:     the calls are expanded at compile time; names are constants.
// Threads:  pure functions.

#ifndef EBB_SNAPSHOT_OBJECTS_VISIT_FIELDS_H_
#define EBB_SNAPSHOT_OBJECTS_VISIT_FIELDS_H_

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "snapshot/objects/objects.h"
#include "snapshot/objects/storage_objects.h"

namespace ebb::objects {

// A row of the table.  Defined for the structs below only.
template <typename Struct>
struct FieldRow;

#define EBB_FIELDS(Struct, ...)                  \
  template <>                                    \
  struct FieldRow<Struct> {                      \
    static constexpr Text kNames = #__VA_ARGS__; \
    static constexpr auto Tie(Struct& o) {       \
      auto& [__VA_ARGS__] = o;                   \
      return std::tie(__VA_ARGS__);              \
    }                                            \
    static constexpr auto Tie(const Struct& o) { \
      const auto& [__VA_ARGS__] = o;             \
      return std::tie(__VA_ARGS__);              \
    }                                            \
  }

EBB_FIELDS(KeyValue, key, value);
EBB_FIELDS(ResourceAmount, name, amount, excess);
EBB_FIELDS(OwnerReference, api_version, kind, name, uid, controller);
EBB_FIELDS(ObjectMeta, name, namespace_name, uid, labels, annotations, owners, creation_time,
           deletion_time);
EBB_FIELDS(Requirement, key, op, values);
EBB_FIELDS(LabelSelector, nil, match_labels, match_expressions);
EBB_FIELDS(NodeSelectorTerm, match_expressions, match_fields);
EBB_FIELDS(NodeSelector, nil, terms);
EBB_FIELDS(Toleration, key, op, value, effect);
EBB_FIELDS(Taint, key, value, effect);
EBB_FIELDS(PodAffinityTerm, label_selector, namespaces, namespace_selector, topology_key);
EBB_FIELDS(PreferredNodeTerm, weight, term);
EBB_FIELDS(PreferredPodTerm, weight, term);
EBB_FIELDS(TopologySpreadConstraint, max_skew, topology_key, when_unsatisfiable, label_selector,
           match_label_keys, min_domains, node_affinity_policy, node_taints_policy);
EBB_FIELDS(ContainerPort, host_ip, host_port, protocol);
EBB_FIELDS(Container, name, restart_policy, image, requests, ports, restarts_all_containers);
EBB_FIELDS(ContainerStatus, name, has_resources, requests, allocated);
EBB_FIELDS(Volume, name, source, medium, claim_name, id, pool, monitors, driver, read_only);
EBB_FIELDS(PodResourceClaim, name, claim_name, template_name);
EBB_FIELDS(Pod, meta, node_name, priority, restart_policy, termination_grace_period_s, host_network,
           host_users, has_bind_mount_options, os_name, node_selector, has_node_selector,
           required_node_affinity, affinity, anti_affinity, preferred_nodes, preferred_affinity,
           preferred_anti_affinity, tolerations, spread, containers, init_containers, overhead,
           has_pod_resources, pod_requests, volumes, resource_claims, scheduler_name, spec_digest,
           scheduling_group, scheduling, phase, nominated_node_name, start_time, unready,
           resize_infeasible, container_statuses, has_pod_status_resources, pod_status_requests,
           pod_allocated, claimed, not_understood);
EBB_FIELDS(NodeCondition, type, status);
EBB_FIELDS(NodeImage, names, size_bytes);
EBB_FIELDS(Node, meta, unschedulable, provider_id, taints, allocatable, capacity, conditions,
           declared_features, images, operating_system, architecture, kubelet_version);
EBB_FIELDS(PodDisruptionBudget, meta, selector, disruptions_allowed, always_allows_unready,
           sync_failed, sync_message, desired_healthy, expected_pods, current_healthy);
EBB_FIELDS(Controller, kind, meta, spec_replicas, completions, status_replicas, succeeded,
           selector);
EBB_FIELDS(Namespace, meta);

EBB_FIELDS(ClaimReference, namespace_name, name, uid);
EBB_FIELDS(PersistentVolume, meta, capacity_bytes, access_modes, storage_class_name, volume_mode,
           volume_attributes_class_name, claim, required_node_affinity, source, driver, id,
           disk_kind, phase);
EBB_FIELDS(PersistentVolumeClaim, meta, access_modes, storage_class_name, volume_mode,
           volume_attributes_class_name, volume_name, selector, request_bytes, phase);
EBB_FIELDS(TopologyRequirement, key, values);
EBB_FIELDS(StorageClass, meta, provisioner, volume_binding_mode, allowed_topologies);
EBB_FIELDS(CsiDriver, meta, storage_capacity, prevents_scheduling);
EBB_FIELDS(CsiNode::Driver, name, volumes_max);
EBB_FIELDS(CsiNode, meta, drivers);
EBB_FIELDS(VolumeAttachment, meta, attacher, node_name, volume_name);
EBB_FIELDS(CsiStorageCapacity, meta, storage_class_name, node_topology, capacity_bytes,
           maximum_volume_size_bytes);
EBB_FIELDS(DeviceAttribute, name, type, value);
EBB_FIELDS(DeviceQuantity, name, value);
EBB_FIELDS(DeviceCapacity, name, value, has_policy, standard, valid_values, has_range, range_min,
           range_max, range_step);
EBB_FIELDS(DeviceCounters, counter_set, counters);
EBB_FIELDS(Device, name, attributes, capacity, taints, consumes, node_name, node_selector,
           all_nodes, allow_multiple, binds_to_node, binding_conditions);
EBB_FIELDS(DeviceAsk, name, class_name, selectors, mode, count, admin_access, tolerations,
           capacity);
EBB_FIELDS(DeviceRequest, name, first_available, asks);
EBB_FIELDS(DeviceConstraint, requests, match_attribute, distinct_attribute);
EBB_FIELDS(DeviceClass, meta, extended_resource_name, selectors, not_understood);
EBB_FIELDS(ResourceClaim::Device, driver, pool, name, admin_access, share_id, consumed,
           binding_conditions, binding_failure_conditions);
EBB_FIELDS(ResourceClaim::DeviceStatus::Condition, type, status);
EBB_FIELDS(ResourceClaim::DeviceStatus, driver, pool, name, conditions);
EBB_FIELDS(ResourceClaim::Consumer, resource, name, uid);
EBB_FIELDS(ResourceClaim, meta, allocated, devices, requests, constraints, allocated_on,
           reserved_for, not_understood, statuses);
EBB_FIELDS(ResourceClaimTemplate, meta);
EBB_FIELDS(ResourceSlice, meta, driver, pool, node_name, generation, slice_count, node_selector,
           all_nodes, per_device_nodes, devices, shared_counters, not_understood);
EBB_FIELDS(DeviceTaintRule, meta, driver, pool, device, taint, not_understood);
EBB_FIELDS(Machine, meta, group, node_name, provider_id);
EBB_FIELDS(NodeClaim::Condition, type, status, since);
EBB_FIELDS(NodeClaim, meta, node_name, provider_id, conditions, last_pod_event);
EBB_FIELDS(NodePool::Budget, has_reasons, reasons, nodes, schedule, duration);
EBB_FIELDS(NodePool::Requirement, key, op, values, min_values);
EBB_FIELDS(NodePool, meta, is_static, policy, consolidate_after, has_budgets, budgets,
           not_understood, weight, limits, resources, labels, requirements, taints, startup_taints,
           not_bought);
EBB_FIELDS(PodGroup, meta, group, min_count, whole, not_understood);
EBB_FIELDS(PodTemplate, meta, pod);
EBB_FIELDS(CapacityBuffer, meta, strategy, template_name, replicas, ready);
EBB_FIELDS(EvictionRequest, meta, pod, uid, requester, active);
EBB_FIELDS(VerticalPodAutoscaler::Policy, container, mode, min_allowed, max_allowed, has_controlled,
           controlled);
EBB_FIELDS(VerticalPodAutoscaler::Recommendation, container, target);
EBB_FIELDS(VerticalPodAutoscaler, meta, target_kind, target_name, update_mode, policies,
           has_recommendation, recommendations, not_understood);
EBB_FIELDS(Service, meta, selector);

#undef EBB_FIELDS

// Whether a type is a struct of the table.
template <typename Struct>
concept HasFields = requires { FieldRow<Struct>::kNames; };

// Splits "key, value, effect".
template <size_t kCount>
consteval std::array<Text, kCount> SplitNames(Text names) {
  std::array<Text, kCount> split;
  for (Text& name : split) {
    name = names.substr(0, names.find(','));
    names.remove_prefix(name.size() < names.size() ? name.size() + 2 : name.size());
  }
  return split;
}

// All fields as a tuple of references, without names.
template <typename Object>
  requires HasFields<std::remove_const_t<Object>>
constexpr auto TieFields(Object& object) {
  return FieldRow<std::remove_const_t<Object>>::Tie(object);
}

template <typename Object, typename Visit>
  requires HasFields<std::remove_const_t<Object>>
void VisitFields(Object& object, Visit&& visit) {
  std::apply(
      [&visit]<typename... Field>(Field&... field) {
        constexpr Text kRow = FieldRow<std::remove_const_t<Object>>::kNames;
        static constexpr auto kNames = SplitNames<sizeof...(Field)>(kRow);
        size_t at = 0;
        (visit(kNames[at++], field), ...);
      },
      TieFields(object));
}

}  // namespace ebb::objects

#endif  // EBB_SNAPSHOT_OBJECTS_VISIT_FIELDS_H_
