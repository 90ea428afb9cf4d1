#include "snapshot/formats/binary_snapshot.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/formats/column_snapshot.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_name.h"
#include "snapshot/formats/packed_fields.h"
#include "snapshot/formats/wire/snapshot.pb.h"
#include "snapshot/objects/object_ref.h"

namespace ebb {
namespace {

using objects::KeyValues;
using objects::ResourceList;
using objects::Text;

constexpr std::string_view kMagic("EBBSNAP\x01", 8);
// What objects of dynamic resource allocation lack in files of older versions.
constexpr Text kLacksDevices =
    "spec: the snapshot file was made by an older ebb, which kept no devices";
constexpr uint32_t kChunkVersion = 2;
constexpr uint32_t kUncheckedVersion = 1;    // Has no checksums.
constexpr uint32_t kFewerFieldsVersion = 3;  // From here on columns, before 6 with fewer fields.
// A longer chunk means a damaged file.  Without the limit its length would be allocated before
// the checksum is verified.
constexpr size_t kChunkBytesMax = size_t{1} << 30;

uint64_t Checksum(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// Numbers in files are little-endian.
// REQUIRES: `bytes` is long enough.
template <typename Number>
Number Fixed(std::string_view bytes) {
  EBB_DCHECK(bytes.size() >= sizeof(Number));
  Number value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) {
    value |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

using Ids = google::protobuf::RepeatedField<uint32_t>;

// ---------------------------------------------------------------------------
// Writing

// Turns the structs of one object into a message, and its texts into numbers.  The texts must
// outlive the encoder.
class Encoder {
 public:
  // The memory must outlive the encoder.
  explicit Encoder(std::pmr::memory_resource* memory)
      : texts_(memory), ids_(/*bucket_count=*/0, IdAllocator(memory)) {
    // As many as most objects have, so that the table rarely grows.
    constexpr size_t kTexts = 64;
    texts_.reserve(kTexts);
    ids_.reserve(kTexts);
  }

  // The text with number n is texts()[n - 1].
  [[nodiscard]] std::span<const Text> texts() const { return texts_; }

  uint32_t Id(Text text) {
    if (text.empty()) return 0;
    const auto next = static_cast<uint32_t>(texts_.size()) + 1;
    const auto [it, is_new] = ids_.try_emplace(Absl(text), next);
    if (is_new) texts_.push_back(text);
    return it->second;
  }

  void Put(const objects::ObjectMeta& from, wire::Meta& to) {
    to.set_name(Id(from.name));
    to.set_namespace_name(Id(from.namespace_name));
    to.set_uid(Id(from.uid));
    Put(from.labels, *to.mutable_labels());
    Put(from.annotations, *to.mutable_annotations());
    for (const objects::OwnerReference& owner : from.owners) {
      wire::Owner& each = *to.add_owners();
      each.set_api_version(Id(owner.api_version));
      each.set_kind(Id(owner.kind));
      each.set_name(Id(owner.name));
      each.set_uid(Id(owner.uid));
      each.set_controller(owner.controller);
    }
    to.set_creation_time(from.creation_time);
    if (from.deletion_time.has_value()) to.set_deletion_time(*from.deletion_time);
  }

  void Put(const objects::Node& from, wire::Node& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_unschedulable(from.unschedulable);
    to.set_provider_id(Id(from.provider_id));
    for (const objects::Taint& taint : from.taints) {
      wire::Toleration& each = *to.add_taints();
      each.set_key(Id(taint.key));
      each.set_value(Id(taint.value));
      each.set_effect(Id(taint.effect));
    }
    Put(from.allocatable, *to.mutable_allocatable());
    Put(from.capacity, *to.mutable_capacity());
    for (const objects::NodeCondition& condition : from.conditions) {
      to.add_conditions(Id(condition.type));
      to.add_conditions(Id(condition.status));
    }
    Put(from.declared_features, *to.mutable_declared_features());
    for (const objects::NodeImage& image : from.images) {
      wire::NodeImage& each = *to.add_images();
      Put(image.names, *each.mutable_names());
      each.set_size_bytes(image.size_bytes);
    }
    to.set_operating_system(Id(from.operating_system));
    to.set_architecture(Id(from.architecture));
    to.set_kubelet_version(Id(from.kubelet_version));
  }

  void Put(const objects::Pod& from, wire::Pod& to) {
    Put(from.meta, *to.mutable_meta());
    PutPodSpec(from, to);
    PutPodConstraints(from, to);
    PutPodStatus(from, to);
    to.set_not_understood(Id(from.not_understood));
  }

  void Put(const objects::PodDisruptionBudget& from, wire::PodDisruptionBudget& to) {
    Put(from.meta, *to.mutable_meta());
    if (!from.selector.nil) Put(from.selector, *to.mutable_selector());
    to.set_disruptions_allowed(from.disruptions_allowed);
    to.set_always_allows_unready(from.always_allows_unready);
    to.set_sync_failed(from.sync_failed);
    to.set_sync_message(Id(from.sync_message));
    if (from.desired_healthy.has_value()) to.set_desired_healthy(*from.desired_healthy);
    if (from.expected_pods.has_value()) to.set_expected_pods(*from.expected_pods);
    if (from.current_healthy.has_value()) to.set_current_healthy(*from.current_healthy);
  }

  void Put(const objects::Controller& from, wire::Controller& to) {
    to.set_kind(static_cast<wire::ControllerKind>(from.kind));
    Put(from.meta, *to.mutable_meta());
    if (from.spec_replicas.has_value()) to.set_spec_replicas(*from.spec_replicas);
    if (from.completions.has_value()) to.set_completions(*from.completions);
    to.set_status_replicas(from.status_replicas);
    to.set_succeeded(from.succeeded);
    if (!from.selector.nil) Put(from.selector, *to.mutable_selector());
  }

  void Put(const objects::Service& from, wire::Service& to) {
    Put(from.meta, *to.mutable_meta());
    Put(from.selector, *to.mutable_selector());
  }

  void Put(const objects::Namespace& from, wire::Namespace& to) {
    Put(from.meta, *to.mutable_meta());
  }

  void Put(const objects::PersistentVolume& from, wire::PersistentVolume& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_capacity_bytes(from.capacity_bytes);
    Put(from.access_modes, *to.mutable_access_modes());
    to.set_storage_class_name(Id(from.storage_class_name));
    to.set_volume_mode(Id(from.volume_mode));
    to.set_volume_attributes_class_name(Id(from.volume_attributes_class_name));
    if (from.claim.has_value()) {
      to.mutable_claim()->set_namespace_name(Id(from.claim->namespace_name));
      to.mutable_claim()->set_name(Id(from.claim->name));
      to.mutable_claim()->set_uid(Id(from.claim->uid));
    }
    if (!from.required_node_affinity.nil) {
      Put(from.required_node_affinity, *to.mutable_required_node_affinity());
    }
    to.set_source(Id(from.source));
    to.set_driver(Id(from.driver));
    to.set_id(Id(from.id));
    to.set_disk_kind(Id(from.disk_kind));
    to.set_phase(Id(from.phase));
  }

  void Put(const objects::PersistentVolumeClaim& from, wire::PersistentVolumeClaim& to) {
    Put(from.meta, *to.mutable_meta());
    Put(from.access_modes, *to.mutable_access_modes());
    to.set_storage_class_name(Id(from.storage_class_name));
    to.set_volume_mode(Id(from.volume_mode));
    to.set_volume_attributes_class_name(Id(from.volume_attributes_class_name));
    to.set_volume_name(Id(from.volume_name));
    if (!from.selector.nil) Put(from.selector, *to.mutable_selector());
    if (from.request_bytes.has_value()) to.set_request_bytes(*from.request_bytes);
    to.set_phase(Id(from.phase));
  }

  void Put(const objects::StorageClass& from, wire::StorageClass& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_provisioner(Id(from.provisioner));
    to.set_volume_binding_mode(Id(from.volume_binding_mode));
    for (const objects::TopologyTerm& term : from.allowed_topologies) {
      wire::TopologyTerm& each = *to.add_allowed_topologies();
      for (const objects::TopologyRequirement& requirement : term) {
        wire::TopologyRequirement& one = *each.add_requirements();
        one.set_key(Id(requirement.key));
        Put(requirement.values, *one.mutable_values());
      }
    }
  }

  void Put(const objects::CsiDriver& from, wire::CsiDriver& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_storage_capacity(from.storage_capacity);
    to.set_prevents_scheduling(from.prevents_scheduling);
  }

  void Put(const objects::CsiNode& from, wire::CsiNode& to) {
    Put(from.meta, *to.mutable_meta());
    for (const objects::CsiNode::Driver& driver : from.drivers) {
      wire::CsiNodeDriver& each = *to.add_drivers();
      each.set_name(Id(driver.name));
      if (driver.volumes_max.has_value()) each.set_volumes_max(*driver.volumes_max);
    }
  }

  void Put(const objects::VolumeAttachment& from, wire::VolumeAttachment& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_attacher(Id(from.attacher));
    to.set_node_name(Id(from.node_name));
    if (from.volume_name.has_value()) to.set_volume_name(Id(*from.volume_name));
  }

  void Put(const objects::CsiStorageCapacity& from, wire::CsiStorageCapacity& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_storage_class_name(Id(from.storage_class_name));
    if (!from.node_topology.nil) Put(from.node_topology, *to.mutable_node_topology());
    if (from.capacity_bytes.has_value()) to.set_capacity_bytes(*from.capacity_bytes);
    if (from.maximum_volume_size_bytes.has_value()) {
      to.set_maximum_volume_size_bytes(*from.maximum_volume_size_bytes);
    }
  }

  void Put(const objects::DeviceClass& from, wire::DeviceClass& to) { PutPacked(from, to); }
  void Put(const objects::ResourceClaim& from, wire::ResourceClaim& to) { PutPacked(from, to); }

  void Put(const objects::ResourceClaimTemplate& from, wire::ResourceClaimTemplate& to) {
    Put(from.meta, *to.mutable_meta());
  }

  void Put(const objects::ResourceSlice& from, wire::ResourceSlice& to) { PutPacked(from, to); }

  void Put(const objects::DeviceTaintRule& from, wire::DeviceTaintRule& to) { PutPacked(from, to); }

  void Put(const objects::Machine& from, wire::Machine& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_group(Id(from.group));
    to.set_node_name(Id(from.node_name));
    to.set_provider_id(Id(from.provider_id));
  }

  void Put(const objects::NodeClaim& from, wire::NodeClaim& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_node_name(Id(from.node_name));
    to.set_provider_id(Id(from.provider_id));
    for (const auto& [type, status, since] : from.conditions) {
      auto& each = *to.add_conditions();
      each.set_type(Id(type));
      each.set_status(Id(status));
      each.set_since(since);
    }
    if (from.last_pod_event) to.set_last_pod_event(*from.last_pod_event);
  }

  void Put(const objects::NodePool& from, wire::NodePool& to) { PutPacked(from, to); }

  void Put(const objects::PodGroup& from, wire::PodGroup& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_group(Id(from.group));
    if (from.min_count.has_value()) to.set_min_count(*from.min_count);
    to.set_whole(from.whole);
    to.set_not_understood(Id(from.not_understood));
  }

  void Put(const objects::PodTemplate& from, wire::PodTemplate& to) {
    Put(from.meta, *to.mutable_meta());
    Put(from.pod, *to.mutable_pod());
  }

  void Put(const objects::EvictionRequest& from, wire::EvictionRequest& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_pod(Id(from.pod));
    to.set_uid(Id(from.uid));
    to.set_requester(Id(from.requester));
    to.set_active(from.active);
  }

  void Put(const objects::CapacityBuffer& from, wire::CapacityBuffer& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_strategy(Id(from.strategy));
    to.set_template_name(Id(from.template_name));
    if (from.replicas.has_value()) to.set_replicas(*from.replicas);
    to.set_ready(from.ready);
  }

  void Put(const objects::VerticalPodAutoscaler& from, wire::VerticalPodAutoscaler& to) {
    Put(from.meta, *to.mutable_meta());
    to.set_target_kind(Id(from.target_kind));
    to.set_target_name(Id(from.target_name));
    to.set_update_mode(Id(from.update_mode));
    for (const objects::VerticalPodAutoscaler::Policy& policy : from.policies) {
      auto& each = *to.add_policies();
      each.set_container(Id(policy.container));
      each.set_mode(Id(policy.mode));
      Put(policy.min_allowed, *each.mutable_min_allowed());
      Put(policy.max_allowed, *each.mutable_max_allowed());
      each.set_has_controlled(policy.has_controlled);
      Put(policy.controlled, *each.mutable_controlled());
    }
    to.set_not_understood(Id(from.not_understood));
    to.set_has_recommendation(from.has_recommendation);
    for (const auto& [container, target] : from.recommendations) {
      auto& each = *to.add_recommendations();
      each.set_container(Id(container));
      Put(target, *each.mutable_target());
    }
  }

  void Put(const objects::ObjectRef& from, wire::Object& to) {
    struct Choose {
      Encoder& put;
      wire::Object& to;
      void operator()(const objects::Node* o) { put.Put(*o, *to.mutable_node()); }
      void operator()(const objects::Pod* o) { put.Put(*o, *to.mutable_pod()); }
      void operator()(const objects::PodDisruptionBudget* o) {
        put.Put(*o, *to.mutable_pod_disruption_budget());
      }
      void operator()(const objects::Controller* o) { put.Put(*o, *to.mutable_controller()); }
      void operator()(const objects::Namespace* o) { put.Put(*o, *to.mutable_namespace_()); }
      void operator()(const objects::StorageObject* o) { std::visit(*this, *o); }
      void operator()(const objects::PersistentVolume& o) {
        put.Put(o, *to.mutable_persistent_volume());
      }
      void operator()(const objects::PersistentVolumeClaim& o) {
        put.Put(o, *to.mutable_persistent_volume_claim());
      }
      void operator()(const objects::StorageClass& o) { put.Put(o, *to.mutable_storage_class()); }
      void operator()(const objects::CsiDriver& o) { put.Put(o, *to.mutable_csi_driver()); }
      void operator()(const objects::CsiNode& o) { put.Put(o, *to.mutable_csi_node()); }
      void operator()(const objects::VolumeAttachment& o) {
        put.Put(o, *to.mutable_volume_attachment());
      }
      void operator()(const objects::CsiStorageCapacity& o) {
        put.Put(o, *to.mutable_csi_storage_capacity());
      }
      void operator()(const objects::DeviceClass& o) { put.Put(o, *to.mutable_device_class()); }
      void operator()(const objects::ResourceClaim& o) { put.Put(o, *to.mutable_resource_claim()); }
      void operator()(const objects::ResourceClaimTemplate& o) {
        put.Put(o, *to.mutable_resource_claim_template());
      }
      void operator()(const objects::ResourceSlice& o) { put.Put(o, *to.mutable_resource_slice()); }
      void operator()(const objects::DeviceTaintRule& o) {
        put.Put(o, *to.mutable_device_taint_rule());
      }
      void operator()(const objects::Machine& o) { put.Put(o, *to.mutable_machine()); }
      void operator()(const objects::NodeClaim& o) { put.Put(o, *to.mutable_node_claim()); }
      void operator()(const objects::NodePool& o) { put.Put(o, *to.mutable_node_pool()); }
      void operator()(const objects::PodGroup& o) { put.Put(o, *to.mutable_pod_group()); }
      void operator()(const objects::PodTemplate& o) { put.Put(o, *to.mutable_pod_template()); }
      void operator()(const objects::EvictionRequest& o) {
        put.Put(o, *to.mutable_eviction_request());
      }
      void operator()(const objects::CapacityBuffer& o) {
        put.Put(o, *to.mutable_capacity_buffer());
      }
      void operator()(const objects::VerticalPodAutoscaler& o) {
        put.Put(o, *to.mutable_vertical_pod_autoscaler());
      }
      void operator()(const objects::Service& o) { put.Put(o, *to.mutable_service()); }
    };
    std::visit(Choose{*this, to}, from);
  }

 private:
  // Puts an object with deep fields: all of them but meta as words.
  template <typename Kind, typename Message>
  void PutPacked(const Kind& from, Message& to) {
    Put(from.meta, *to.mutable_meta());
    Kind rest = from;
    rest.meta = {};
    std::vector<uint32_t> words;
    const auto number = [this](std::string_view text) { return Id(text); };
    packed::PackedWriter(words, number).Put(rest);  // It refers to `number`.
    to.mutable_packed()->Add(words.begin(), words.end());
  }

  void PutPodSpec(const objects::Pod& from, wire::Pod& to) {
    to.set_node_name(Id(from.node_name));
    if (from.priority.has_value()) to.set_priority(*from.priority);
    to.set_restart_policy(Id(from.restart_policy));
    if (from.termination_grace_period_s.has_value()) {
      to.set_termination_grace_period_s(*from.termination_grace_period_s);
    }
    to.set_host_network(from.host_network);
    if (from.host_users.has_value()) to.set_host_users(*from.host_users);
    to.set_os_name(Id(from.os_name));
    to.set_has_bind_mount_options(from.has_bind_mount_options);
    for (const objects::Container& each : from.containers) Put(each, *to.add_containers());
    for (const objects::Container& each : from.init_containers)
      Put(each, *to.add_init_containers());
    if (!from.overhead.empty()) Put(from.overhead, *to.mutable_overhead());
    if (from.has_pod_resources) Put(from.pod_requests, *to.mutable_pod_requests());
    for (const objects::Volume& each : from.volumes) Put(each, *to.add_volumes());
    for (const auto& [name, claim_name, template_name] : from.resource_claims) {
      to.add_resource_claims(Id(name));
      wire::ClaimSource& source = *to.add_resource_claim_sources();
      source.set_claim_name(Id(claim_name));
      source.set_template_name(Id(template_name));
    }
    to.set_scheduling_group(Id(from.scheduling_group));
  }

  void PutPodConstraints(const objects::Pod& from, wire::Pod& to) {
    to.set_scheduler_name(Id(from.scheduler_name));
    to.set_spec_digest(from.spec_digest);
    Put(from.node_selector, *to.mutable_node_selector());
    to.set_has_node_selector(from.has_node_selector);
    if (!from.required_node_affinity.nil) {
      Put(from.required_node_affinity, *to.mutable_required_node_affinity());
    }
    for (const objects::PodAffinityTerm& each : from.affinity) Put(each, *to.add_affinity());
    for (const objects::PodAffinityTerm& each : from.anti_affinity) {
      Put(each, *to.add_anti_affinity());
    }
    for (const auto& [weight, term] : from.preferred_nodes) {
      wire::PreferredNodeTerm& each = *to.add_preferred_nodes();
      each.set_weight(weight);
      Put(term, *each.mutable_term());
    }
    for (const objects::PreferredPodTerm& each : from.preferred_affinity) {
      Put(each, *to.add_preferred_affinity());
    }
    for (const objects::PreferredPodTerm& each : from.preferred_anti_affinity) {
      Put(each, *to.add_preferred_anti_affinity());
    }
    for (const objects::Toleration& toleration : from.tolerations) {
      wire::Toleration& each = *to.add_tolerations();
      each.set_key(Id(toleration.key));
      each.set_op(Id(toleration.op));
      each.set_value(Id(toleration.value));
      each.set_effect(Id(toleration.effect));
    }
    for (const objects::TopologySpreadConstraint& each : from.spread) Put(each, *to.add_spread());
  }

  void PutPodStatus(const objects::Pod& from, wire::Pod& to) {
    to.set_phase(Id(from.phase));
    to.set_nominated_node_name(Id(from.nominated_node_name));
    if (from.start_time.has_value()) to.set_start_time(*from.start_time);
    to.set_unready(from.unready);
    to.set_resize_infeasible(from.resize_infeasible);
    to.set_scheduling(static_cast<uint32_t>(from.scheduling));
    for (const objects::ContainerStatus& status : from.container_statuses) {
      wire::ContainerStatus& each = *to.add_container_statuses();
      each.set_name(Id(status.name));
      each.set_has_resources(status.has_resources);
      Put(status.requests, *each.mutable_requests());
      Put(status.allocated, *each.mutable_allocated());
    }
    if (from.has_pod_status_resources) {
      Put(from.pod_status_requests, *to.mutable_pod_status_requests());
    }
    if (!from.pod_allocated.empty()) Put(from.pod_allocated, *to.mutable_pod_allocated());
    if (!from.claimed.empty()) Put(from.claimed, *to.mutable_claimed());
  }

  void Put(const KeyValues& from, Ids& to) {
    for (const objects::KeyValue& each : from) {
      to.Add(Id(each.key));
      to.Add(Id(each.value));
    }
  }

  void Put(const std::vector<Text>& from, Ids& to) {
    for (const Text each : from) to.Add(Id(each));
  }

  void Put(const ResourceList& from, wire::Resources& to) {
    for (const objects::ResourceAmount& each : from) {
      to.add_names(Id(each.name));
      to.add_amounts(each.amount);
    }
    if (std::ranges::any_of(from, [](const auto& each) { return each.excess != 0; })) {
      for (const objects::ResourceAmount& each : from) {
        to.add_excesses(static_cast<uint32_t>(each.excess));
      }
    }
  }

  void Put(const objects::Requirement& from, wire::Requirement& to) {
    to.set_key(Id(from.key));
    to.set_op(Id(from.op));
    Put(from.values, *to.mutable_values());
  }

  void Put(const objects::LabelSelector& from, wire::LabelSelector& to) {
    Put(from.match_labels, *to.mutable_match_labels());
    for (const objects::Requirement& each : from.match_expressions) {
      Put(each, *to.add_match_expressions());
    }
  }

  void Put(const objects::NodeSelector& from, wire::NodeSelector& to) {
    for (const objects::NodeSelectorTerm& term : from.terms) Put(term, *to.add_terms());
  }

  void Put(const objects::NodeSelectorTerm& from, wire::NodeSelectorTerm& to) {
    for (const objects::Requirement& requirement : from.match_expressions) {
      Put(requirement, *to.add_match_expressions());
    }
    for (const objects::Requirement& requirement : from.match_fields) {
      Put(requirement, *to.add_match_fields());
    }
  }

  void Put(const objects::PreferredPodTerm& from, wire::PreferredPodTerm& to) {
    to.set_weight(from.weight);
    Put(from.term, *to.mutable_term());
  }

  void Put(const objects::PodAffinityTerm& from, wire::PodAffinityTerm& to) {
    if (!from.label_selector.nil) Put(from.label_selector, *to.mutable_label_selector());
    Put(from.namespaces, *to.mutable_namespaces());
    if (!from.namespace_selector.nil) {
      Put(from.namespace_selector, *to.mutable_namespace_selector());
    }
    to.set_topology_key(Id(from.topology_key));
  }

  void Put(const objects::TopologySpreadConstraint& from, wire::TopologySpreadConstraint& to) {
    to.set_max_skew(from.max_skew);
    to.set_topology_key(Id(from.topology_key));
    to.set_when_unsatisfiable(Id(from.when_unsatisfiable));
    if (!from.label_selector.nil) Put(from.label_selector, *to.mutable_label_selector());
    Put(from.match_label_keys, *to.mutable_match_label_keys());
    if (from.min_domains.has_value()) to.set_min_domains(*from.min_domains);
    to.set_node_affinity_policy(Id(from.node_affinity_policy));
    to.set_node_taints_policy(Id(from.node_taints_policy));
  }

  void Put(const objects::Container& from, wire::Container& to) {
    to.set_name(Id(from.name));
    to.set_restart_policy(Id(from.restart_policy));
    Put(from.requests, *to.mutable_requests());
    for (const objects::ContainerPort& port : from.ports) {
      wire::ContainerPort& each = *to.add_ports();
      each.set_host_ip(Id(port.host_ip));
      each.set_host_port(port.host_port);
      each.set_protocol(Id(port.protocol));
    }
    to.set_restarts_all_containers(from.restarts_all_containers);
    to.set_image(Id(from.image));
  }

  void Put(const objects::Volume& from, wire::Volume& to) {
    to.set_name(Id(from.name));
    to.set_source(Id(from.source));
    to.set_medium(Id(from.medium));
    to.set_claim_name(Id(from.claim_name));
    to.set_id(Id(from.id));
    to.set_pool(Id(from.pool));
    Put(from.monitors, *to.mutable_monitors());
    to.set_driver(Id(from.driver));
    to.set_read_only(from.read_only);
  }

  using IdAllocator = std::pmr::polymorphic_allocator<std::pair<const absl::string_view, uint32_t>>;
  using IdMap = absl::flat_hash_map<absl::string_view, uint32_t, absl::Hash<absl::string_view>,
                                    std::equal_to<>, IdAllocator>;

  std::pmr::vector<Text> texts_;
  IdMap ids_;
};

// ---------------------------------------------------------------------------
// Reading

// Turns messages into structs and numbers into texts.  A number outside its table, or a list of
// odd length, makes ok() false.
class Decoder {
 public:
  bool ok() const { return ok_; }

  // Copies the texts.  Returns false if one of them is not UTF-8.
  template <typename Texts>
  bool AddStrings(const Texts& texts) {
    size_t size = 0;
    for (const Text each : texts) size += each.size();
    char* const block = blocks_.emplace_back(std::make_unique<char[]>(size)).get();
    char* at = block;
    bool whole =
        true;  // If the block is UTF-8 and no text begins within a character, every text is UTF-8.
    for (const Text each : texts) {
      each.copy(at, each.size());
      whole = whole && (each.empty() || (static_cast<unsigned char>(each[0]) & 0xc0) != 0x80);
      table_.emplace_back(at, each.size());
      at += each.size();
    }
    return whole && FirstInvalidUtf8({block, size}) == size;
  }

  void Get(const wire::Meta& from, objects::ObjectMeta& to) {
    to.name = At(from.name());
    to.namespace_name = At(from.namespace_name());
    to.uid = At(from.uid());
    Get(from.labels(), to.labels);
    Get(from.annotations(), to.annotations);
    for (const wire::Owner& owner : from.owners()) {
      to.owners.push_back({At(owner.api_version()), At(owner.kind()), At(owner.name()),
                           At(owner.uid()), owner.controller()});
    }
    to.creation_time = from.creation_time();
    if (from.has_deletion_time()) to.deletion_time = from.deletion_time();
  }

  void Get(const wire::Node& from, objects::Node& to) {
    Get(from.meta(), to.meta);
    to.unschedulable = from.unschedulable();
    to.provider_id = At(from.provider_id());
    for (const wire::Toleration& taint : from.taints()) {
      to.taints.push_back({At(taint.key()), At(taint.value()), At(taint.effect())});
    }
    Get(from.allocatable(), to.allocatable);
    Get(from.capacity(), to.capacity);
    KeyValues conditions;
    Get(from.conditions(), conditions);
    for (const objects::KeyValue& each : conditions)
      to.conditions.push_back({each.key, each.value});
    Get(from.declared_features(), to.declared_features);
    for (const wire::NodeImage& each : from.images()) {
      objects::NodeImage& image = to.images.emplace_back();
      Get(each.names(), image.names);
      image.size_bytes = each.size_bytes();
    }
    to.operating_system = At(from.operating_system());
    to.architecture = At(from.architecture());
    to.kubelet_version = At(from.kubelet_version());
  }

  void Get(const wire::Pod& from, objects::Pod& to) {
    Get(from.meta(), to.meta);
    GetPodSpec(from, to);
    GetPodConstraints(from, to);
    GetPodStatus(from, to);
    to.not_understood = At(from.not_understood());
  }

  void Get(const wire::PersistentVolume& from, objects::PersistentVolume& to) {
    Get(from.meta(), to.meta);
    to.capacity_bytes = from.capacity_bytes();
    Get(from.access_modes(), to.access_modes);
    to.storage_class_name = At(from.storage_class_name());
    to.volume_mode = At(from.volume_mode());
    to.volume_attributes_class_name = At(from.volume_attributes_class_name());
    if (from.has_claim()) {
      to.claim = {At(from.claim().namespace_name()), At(from.claim().name()),
                  At(from.claim().uid())};
    }
    if (from.has_required_node_affinity()) {
      Get(from.required_node_affinity(), to.required_node_affinity);
    }
    to.source = At(from.source());
    to.driver = At(from.driver());
    to.id = At(from.id());
    to.disk_kind = At(from.disk_kind());
    to.phase = At(from.phase());
  }

  void Get(const wire::PersistentVolumeClaim& from, objects::PersistentVolumeClaim& to) {
    Get(from.meta(), to.meta);
    Get(from.access_modes(), to.access_modes);
    to.storage_class_name = At(from.storage_class_name());
    to.volume_mode = At(from.volume_mode());
    to.volume_attributes_class_name = At(from.volume_attributes_class_name());
    to.volume_name = At(from.volume_name());
    if (from.has_selector()) Get(from.selector(), to.selector);
    if (from.has_request_bytes()) to.request_bytes = from.request_bytes();
    to.phase = At(from.phase());
  }

  void Get(const wire::StorageClass& from, objects::StorageClass& to) {
    Get(from.meta(), to.meta);
    to.provisioner = At(from.provisioner());
    to.volume_binding_mode = At(from.volume_binding_mode());
    for (const wire::TopologyTerm& term : from.allowed_topologies()) {
      objects::TopologyTerm& each = to.allowed_topologies.emplace_back();
      for (const wire::TopologyRequirement& requirement : term.requirements()) {
        objects::TopologyRequirement& one = each.emplace_back();
        one.key = At(requirement.key());
        Get(requirement.values(), one.values);
      }
    }
  }

  void Get(const wire::CsiDriver& from, objects::CsiDriver& to) {
    Get(from.meta(), to.meta);
    to.storage_capacity = from.storage_capacity();
    to.prevents_scheduling = from.prevents_scheduling();
  }

  void Get(const wire::CsiNode& from, objects::CsiNode& to) {
    Get(from.meta(), to.meta);
    for (const wire::CsiNodeDriver& driver : from.drivers()) {
      objects::CsiNode::Driver& each = to.drivers.emplace_back();
      each.name = At(driver.name());
      if (driver.has_volumes_max()) each.volumes_max = driver.volumes_max();
    }
  }

  void Get(const wire::VolumeAttachment& from, objects::VolumeAttachment& to) {
    Get(from.meta(), to.meta);
    to.attacher = At(from.attacher());
    to.node_name = At(from.node_name());
    if (from.has_volume_name()) to.volume_name = At(from.volume_name());
  }

  void Get(const wire::CsiStorageCapacity& from, objects::CsiStorageCapacity& to) {
    Get(from.meta(), to.meta);
    to.storage_class_name = At(from.storage_class_name());
    if (from.has_node_topology()) Get(from.node_topology(), to.node_topology);
    if (from.has_capacity_bytes()) to.capacity_bytes = from.capacity_bytes();
    if (from.has_maximum_volume_size_bytes()) {
      to.maximum_volume_size_bytes = from.maximum_volume_size_bytes();
    }
  }

  void Get(const wire::DeviceClass& from, objects::DeviceClass& to) {
    if (!GetPacked(from, to)) to.extended_resource_name = At(from.extended_resource_name());
    Get(from.meta(), to.meta);
  }

  void Get(const wire::ResourceClaim& from, objects::ResourceClaim& to) {
    if (!GetPacked(from, to)) {
      to.allocated = from.allocated();
      for (int i = 0; i + 2 < from.devices_size(); i += 3) {
        objects::ResourceClaim::Device& device = to.devices.emplace_back();
        device.driver = At(from.devices(i));
        device.pool = At(from.devices(i + 1));
        device.name = At(from.devices(i + 2));
      }
      to.not_understood = kLacksDevices;
    }
    Get(from.meta(), to.meta);
  }

  void Get(const wire::ResourceClaimTemplate& from, objects::ResourceClaimTemplate& to) {
    Get(from.meta(), to.meta);
  }

  void Get(const wire::ResourceSlice& from, objects::ResourceSlice& to) {
    if (!GetPacked(from, to)) {
      to.driver = At(from.driver());
      to.pool = At(from.pool());
      to.node_name = At(from.node_name());
      to.not_understood = kLacksDevices;
    }
    Get(from.meta(), to.meta);
  }

  void Get(const wire::DeviceTaintRule& from, objects::DeviceTaintRule& to) {
    if (!GetPacked(from, to)) to.not_understood = kLacksDevices;
    Get(from.meta(), to.meta);
  }

  void Get(const wire::Machine& from, objects::Machine& to) {
    Get(from.meta(), to.meta);
    to.group = At(from.group());
    to.node_name = At(from.node_name());
    to.provider_id = At(from.provider_id());
  }

  void Get(const wire::NodeClaim& from, objects::NodeClaim& to) {
    Get(from.meta(), to.meta);
    to.node_name = At(from.node_name());
    to.provider_id = At(from.provider_id());
    for (const auto& each : from.conditions()) {
      to.conditions.push_back({At(each.type()), At(each.status()), each.since()});
    }
    if (from.has_last_pod_event()) to.last_pod_event = from.last_pod_event();
  }

  void Get(const wire::NodePool& from, objects::NodePool& to) {
    if (!GetPacked(from, to)) GetOlder(from, to);
    Get(from.meta(), to.meta);
  }

  // Of an ebb that did not read what decides which nodes may be bought.
  void GetOlder(const wire::NodePool& from, objects::NodePool& to) {
    to.not_bought = "spec.template";
    to.is_static = from.is_static();
    to.policy = At(from.policy());
    to.consolidate_after = At(from.consolidate_after());
    to.has_budgets = from.has_budgets();
    for (const auto& each : from.budgets()) {
      objects::NodePool::Budget& budget = to.budgets.emplace_back();
      budget.has_reasons = each.has_reasons();
      Get(each.reasons(), budget.reasons);
      budget.nodes = At(each.nodes());
      if (each.has_schedule()) budget.schedule = At(each.schedule());
      if (each.has_duration()) budget.duration = At(each.duration());
    }
    to.not_understood = At(from.not_understood());
  }

  void Get(const wire::PodGroup& from, objects::PodGroup& to) {
    Get(from.meta(), to.meta);
    to.group = At(from.group());
    if (from.has_min_count()) to.min_count = from.min_count();
    to.whole = from.whole();
    to.not_understood = At(from.not_understood());
  }

  void Get(const wire::PodTemplate& from, objects::PodTemplate& to) {
    Get(from.meta(), to.meta);
    Get(from.pod(), to.pod);
  }

  void Get(const wire::EvictionRequest& from, objects::EvictionRequest& to) {
    Get(from.meta(), to.meta);
    to.pod = At(from.pod());
    to.uid = At(from.uid());
    to.requester = At(from.requester());
    to.active = from.active();
  }

  void Get(const wire::CapacityBuffer& from, objects::CapacityBuffer& to) {
    Get(from.meta(), to.meta);
    to.strategy = At(from.strategy());
    to.template_name = At(from.template_name());
    if (from.has_replicas()) to.replicas = from.replicas();
    to.ready = from.ready();
  }

  void Get(const wire::VerticalPodAutoscaler& from, objects::VerticalPodAutoscaler& to) {
    Get(from.meta(), to.meta);
    to.target_kind = At(from.target_kind());
    to.target_name = At(from.target_name());
    to.update_mode = At(from.update_mode());
    for (const auto& each : from.policies()) {
      objects::VerticalPodAutoscaler::Policy& policy = to.policies.emplace_back();
      policy.container = At(each.container());
      policy.mode = At(each.mode());
      Get(each.min_allowed(), policy.min_allowed);
      Get(each.max_allowed(), policy.max_allowed);
      policy.has_controlled = each.has_controlled();
      Get(each.controlled(), policy.controlled);
    }
    to.not_understood = At(from.not_understood());
    to.has_recommendation = from.has_recommendation();
    for (const auto& each : from.recommendations()) {
      objects::VerticalPodAutoscaler::Recommendation& one = to.recommendations.emplace_back();
      one.container = At(each.container());
      Get(each.target(), one.target);
    }
  }

  void Get(const wire::PodDisruptionBudget& from, objects::PodDisruptionBudget& to) {
    Get(from.meta(), to.meta);
    if (from.has_selector()) Get(from.selector(), to.selector);
    to.disruptions_allowed = from.disruptions_allowed();
    to.always_allows_unready = from.always_allows_unready();
    to.sync_failed = from.sync_failed();
    to.sync_message = At(from.sync_message());
    if (from.has_desired_healthy()) to.desired_healthy = from.desired_healthy();
    if (from.has_expected_pods()) to.expected_pods = from.expected_pods();
    if (from.has_current_healthy()) to.current_healthy = from.current_healthy();
  }

  void Get(const wire::Controller& from, objects::Controller& to) {
    if (!wire::ControllerKind_IsValid(from.kind())) ok_ = false;
    to.kind = static_cast<objects::ControllerKind>(from.kind());
    Get(from.meta(), to.meta);
    if (from.has_spec_replicas()) to.spec_replicas = from.spec_replicas();
    if (from.has_completions()) to.completions = from.completions();
    to.status_replicas = from.status_replicas();
    to.succeeded = from.succeeded();
    if (from.has_selector()) Get(from.selector(), to.selector);
  }

  void Get(const wire::Service& from, objects::Service& to) {
    Get(from.meta(), to.meta);
    Get(from.selector(), to.selector);
  }

  void Get(const wire::Namespace& from, objects::Namespace& to) { Get(from.meta(), to.meta); }

 private:
  // The table as PackedReader uses it.
  struct Texts {
    const std::vector<Text>& table;
    [[nodiscard]] size_t size() const { return table.size(); }
    Text operator[](uint32_t id) const { return id == 0 ? Text() : table[id - 1]; }
  };
  // Reads what PutPacked wrote.  Returns false if an older ebb wrote the message.
  template <typename Message, typename Kind>
  bool GetPacked(const Message& from, Kind& to) {
    if (from.packed().empty()) return false;
    const Texts texts{table_};
    packed::ReaderOfPacked<Texts> reader(
        {from.packed().data(), static_cast<size_t>(from.packed_size())}, texts);
    reader.Get(to);
    ok_ = ok_ && reader.ok() && reader.AtEnd();
    return true;
  }

  Text At(uint32_t id) {
    if (id == 0) return {};
    if (id <= table_.size()) return table_[id - 1];
    ok_ = false;
    return {};
  }

  void GetPodSpec(const wire::Pod& from, objects::Pod& to) {
    to.node_name = At(from.node_name());
    if (from.has_priority()) to.priority = from.priority();
    to.restart_policy = At(from.restart_policy());
    if (from.has_termination_grace_period_s()) {
      to.termination_grace_period_s = from.termination_grace_period_s();
    }
    to.host_network = from.host_network();
    if (from.has_host_users()) to.host_users = from.host_users();
    to.os_name = At(from.os_name());
    to.has_bind_mount_options = from.has_bind_mount_options();
    for (const wire::Container& each : from.containers()) Get(each, to.containers.emplace_back());
    for (const wire::Container& each : from.init_containers()) {
      Get(each, to.init_containers.emplace_back());
    }
    Get(from.overhead(), to.overhead);
    to.has_pod_resources = from.has_pod_requests();
    Get(from.pod_requests(), to.pod_requests);
    for (const wire::Volume& each : from.volumes()) Get(each, to.volumes.emplace_back());
    for (int i = 0; i < from.resource_claims_size(); ++i) {
      objects::PodResourceClaim& claim = to.resource_claims.emplace_back();
      claim.name = At(from.resource_claims(i));
      if (i >= from.resource_claim_sources_size()) continue;
      claim.claim_name = At(from.resource_claim_sources(i).claim_name());
      claim.template_name = At(from.resource_claim_sources(i).template_name());
    }
    to.scheduling_group = At(from.scheduling_group());
  }

  void GetPodConstraints(const wire::Pod& from, objects::Pod& to) {
    to.scheduler_name = At(from.scheduler_name());
    to.spec_digest = from.spec_digest();
    Get(from.node_selector(), to.node_selector);
    to.has_node_selector = from.has_node_selector();
    if (from.has_required_node_affinity()) {
      Get(from.required_node_affinity(), to.required_node_affinity);
    }
    for (const wire::PodAffinityTerm& each : from.affinity()) Get(each, to.affinity.emplace_back());
    for (const wire::PodAffinityTerm& each : from.anti_affinity()) {
      Get(each, to.anti_affinity.emplace_back());
    }
    for (const wire::PreferredNodeTerm& each : from.preferred_nodes()) {
      objects::PreferredNodeTerm& preferred = to.preferred_nodes.emplace_back();
      preferred.weight = each.weight();
      Get(each.term(), preferred.term);
    }
    for (const wire::PreferredPodTerm& each : from.preferred_affinity()) {
      Get(each, to.preferred_affinity.emplace_back());
    }
    for (const wire::PreferredPodTerm& each : from.preferred_anti_affinity()) {
      Get(each, to.preferred_anti_affinity.emplace_back());
    }
    for (const wire::Toleration& each : from.tolerations()) {
      to.tolerations.push_back(
          {At(each.key()), At(each.op()), At(each.value()), At(each.effect())});
    }
    for (const wire::TopologySpreadConstraint& each : from.spread()) {
      Get(each, to.spread.emplace_back());
    }
  }

  void GetPodStatus(const wire::Pod& from, objects::Pod& to) {
    to.phase = At(from.phase());
    to.nominated_node_name = At(from.nominated_node_name());
    if (from.has_start_time()) to.start_time = from.start_time();
    to.unready = from.unready();
    to.resize_infeasible = from.resize_infeasible();
    // A newer ebb may write values that this one does not know; they count as not recorded.
    constexpr auto kLast = static_cast<uint32_t>(objects::Scheduling::kOther);
    if (from.scheduling() <= kLast) to.scheduling = objects::Scheduling(from.scheduling());
    for (const wire::ContainerStatus& each : from.container_statuses()) {
      objects::ContainerStatus& status = to.container_statuses.emplace_back();
      status.name = At(each.name());
      status.has_resources = each.has_resources();
      Get(each.requests(), status.requests);
      Get(each.allocated(), status.allocated);
    }
    to.has_pod_status_resources = from.has_pod_status_requests();
    Get(from.pod_status_requests(), to.pod_status_requests);
    Get(from.pod_allocated(), to.pod_allocated);
    Get(from.claimed(), to.claimed);
  }

  void Get(const Ids& from, KeyValues& to) {
    if (from.size() % 2 != 0) {
      ok_ = false;
      return;
    }
    to.reserve(static_cast<size_t>(from.size() / 2));
    for (int i = 0; i < from.size(); i += 2) to.push_back({At(from[i]), At(from[i + 1])});
  }

  void Get(const Ids& from, std::vector<Text>& to) {
    to.reserve(static_cast<size_t>(from.size()));
    for (const uint32_t id : from) to.push_back(At(id));
  }

  void Get(const wire::Resources& from, ResourceList& to) {
    const bool exact = from.excesses_size() > 0;
    if (from.names_size() != from.amounts_size() ||
        (exact && from.excesses_size() != from.names_size())) {
      ok_ = false;
      return;
    }
    constexpr uint32_t kExcessEnd = 1'000'000'000;
    to.reserve(static_cast<size_t>(from.names_size()));
    for (int i = 0; i < from.names_size(); ++i) {
      const uint32_t excess = exact ? from.excesses(i) : 0;
      if (from.amounts(i) < 0 || excess >= kExcessEnd) ok_ = false;
      to.push_back({At(from.names(i)), from.amounts(i), static_cast<int32_t>(excess)});
    }
  }

  void Get(const wire::Requirement& from, objects::Requirement& to) {
    to.key = At(from.key());
    to.op = At(from.op());
    Get(from.values(), to.values);
  }

  void Get(const wire::LabelSelector& from, objects::LabelSelector& to) {
    to.nil = false;
    Get(from.match_labels(), to.match_labels);
    for (const wire::Requirement& each : from.match_expressions()) {
      Get(each, to.match_expressions.emplace_back());
    }
  }

  void Get(const wire::NodeSelector& from, objects::NodeSelector& to) {
    to.nil = false;
    for (const wire::NodeSelectorTerm& each : from.terms()) Get(each, to.terms.emplace_back());
  }

  void Get(const wire::NodeSelectorTerm& from, objects::NodeSelectorTerm& to) {
    for (const wire::Requirement& requirement : from.match_expressions()) {
      Get(requirement, to.match_expressions.emplace_back());
    }
    for (const wire::Requirement& requirement : from.match_fields()) {
      Get(requirement, to.match_fields.emplace_back());
    }
  }

  void Get(const wire::PreferredPodTerm& from, objects::PreferredPodTerm& to) {
    to.weight = from.weight();
    Get(from.term(), to.term);
  }

  void Get(const wire::PodAffinityTerm& from, objects::PodAffinityTerm& to) {
    if (from.has_label_selector()) Get(from.label_selector(), to.label_selector);
    Get(from.namespaces(), to.namespaces);
    if (from.has_namespace_selector()) Get(from.namespace_selector(), to.namespace_selector);
    to.topology_key = At(from.topology_key());
  }

  void Get(const wire::TopologySpreadConstraint& from, objects::TopologySpreadConstraint& to) {
    to.max_skew = from.max_skew();
    to.topology_key = At(from.topology_key());
    to.when_unsatisfiable = At(from.when_unsatisfiable());
    if (from.has_label_selector()) Get(from.label_selector(), to.label_selector);
    Get(from.match_label_keys(), to.match_label_keys);
    if (from.has_min_domains()) to.min_domains = from.min_domains();
    to.node_affinity_policy = At(from.node_affinity_policy());
    to.node_taints_policy = At(from.node_taints_policy());
  }

  void Get(const wire::Container& from, objects::Container& to) {
    to.name = At(from.name());
    to.restart_policy = At(from.restart_policy());
    Get(from.requests(), to.requests);
    for (const wire::ContainerPort& port : from.ports()) {
      to.ports.push_back({At(port.host_ip()), port.host_port(), At(port.protocol())});
    }
    to.restarts_all_containers = from.restarts_all_containers();
    to.image = At(from.image());
  }

  void Get(const wire::Volume& from, objects::Volume& to) {
    to.name = At(from.name());
    to.source = At(from.source());
    to.medium = At(from.medium());
    to.claim_name = At(from.claim_name());
    to.id = At(from.id());
    to.pool = At(from.pool());
    Get(from.monitors(), to.monitors);
    to.driver = At(from.driver());
    to.read_only = from.read_only();
  }

  bool ok_ = true;
  std::deque<std::unique_ptr<char[]>> blocks_;
  std::vector<Text> table_;
};

// Calls `visit` with the message's struct in objects.h, as a type, and the message.  Returns
// false if the object has no kind.
template <typename Visit>
bool VisitMessage(const wire::Object& object, Visit&& visit) {
  switch (object.object_case()) {
    case wire::Object::kNode:
      visit(std::type_identity<objects::Node>(), object.node());
      return true;
    case wire::Object::kPod:
      visit(std::type_identity<objects::Pod>(), object.pod());
      return true;
    case wire::Object::kPodDisruptionBudget:
      visit(std::type_identity<objects::PodDisruptionBudget>(), object.pod_disruption_budget());
      return true;
    case wire::Object::kController:
      visit(std::type_identity<objects::Controller>(), object.controller());
      return true;
    case wire::Object::kNamespace:
      visit(std::type_identity<objects::Namespace>(), object.namespace_());
      return true;
    case wire::Object::kPersistentVolume:
      visit(std::type_identity<objects::PersistentVolume>(), object.persistent_volume());
      return true;
    case wire::Object::kPersistentVolumeClaim:
      visit(std::type_identity<objects::PersistentVolumeClaim>(), object.persistent_volume_claim());
      return true;
    case wire::Object::kStorageClass:
      visit(std::type_identity<objects::StorageClass>(), object.storage_class());
      return true;
    case wire::Object::kCsiDriver:
      visit(std::type_identity<objects::CsiDriver>(), object.csi_driver());
      return true;
    case wire::Object::kCsiNode:
      visit(std::type_identity<objects::CsiNode>(), object.csi_node());
      return true;
    case wire::Object::kVolumeAttachment:
      visit(std::type_identity<objects::VolumeAttachment>(), object.volume_attachment());
      return true;
    case wire::Object::kCsiStorageCapacity:
      visit(std::type_identity<objects::CsiStorageCapacity>(), object.csi_storage_capacity());
      return true;
    case wire::Object::kDeviceClass:
      visit(std::type_identity<objects::DeviceClass>(), object.device_class());
      return true;
    case wire::Object::kResourceClaim:
      visit(std::type_identity<objects::ResourceClaim>(), object.resource_claim());
      return true;
    case wire::Object::kResourceClaimTemplate:
      visit(std::type_identity<objects::ResourceClaimTemplate>(), object.resource_claim_template());
      return true;
    case wire::Object::kResourceSlice:
      visit(std::type_identity<objects::ResourceSlice>(), object.resource_slice());
      return true;
    case wire::Object::kDeviceTaintRule:
      visit(std::type_identity<objects::DeviceTaintRule>(), object.device_taint_rule());
      return true;
    case wire::Object::kMachine:
      visit(std::type_identity<objects::Machine>(), object.machine());
      return true;
    case wire::Object::kNodeClaim:
      visit(std::type_identity<objects::NodeClaim>(), object.node_claim());
      return true;
    case wire::Object::kNodePool:
      visit(std::type_identity<objects::NodePool>(), object.node_pool());
      return true;
    case wire::Object::kPodGroup:
      visit(std::type_identity<objects::PodGroup>(), object.pod_group());
      return true;
    case wire::Object::kPodTemplate:
      visit(std::type_identity<objects::PodTemplate>(), object.pod_template());
      return true;
    case wire::Object::kCapacityBuffer:
      visit(std::type_identity<objects::CapacityBuffer>(), object.capacity_buffer());
      return true;
    case wire::Object::kVerticalPodAutoscaler:
      visit(std::type_identity<objects::VerticalPodAutoscaler>(), object.vertical_pod_autoscaler());
      return true;
    case wire::Object::kService:
      visit(std::type_identity<objects::Service>(), object.service());
      return true;
    case wire::Object::kEvictionRequest:
      visit(std::type_identity<objects::EvictionRequest>(), object.eviction_request());
      return true;
    case wire::Object::OBJECT_NOT_SET:
      break;
  }
  return false;
}

// What an ObjectRef to a Struct points to: all storage objects share one variant type.
template <typename Struct>
using Holder = std::conditional_t<std::is_constructible_v<objects::StorageObject, Struct>,
                                  objects::StorageObject, Struct>;

template <typename Struct>
Struct& Held(Holder<Struct>& holder) {
  if constexpr (std::is_same_v<Holder<Struct>, Struct>) {
    return holder;
  } else {
    return holder.template emplace<Struct>();
  }
}

class FileReader {
 public:
  FileReader(std::string_view name, std::string_view bytes, ObjectSink& sink, ImportStats& stats)
      : name_(name), bytes_(bytes), sink_(sink), stats_(stats) {}

  absl::Status Read(SnapshotVersions versions, std::shared_ptr<const void> owner) {
    if (!IsBinarySnapshot(bytes_)) return Error("is not a snapshot of ebb's");
    const absl::StatusOr<uint32_t> version = ReadHeader(versions);
    if (!version.ok()) return version.status();
    if (*version != kColumnVersion) return ReadChunks();
    return ReadColumnSnapshot({.name = name_,
                               .bytes = bytes_,
                               .owner = std::move(owner),
                               .checks_checksum = versions == SnapshotVersions::kChecked},
                              sink_, stats_);
  }

 private:
  absl::Status ReadChunks() {
    wire::SnapshotChunk chunk;
    while (!chunk.end()) {
      if (absl::Status next = NextChunk(chunk); !next.ok()) return next;
      if (!decoder_.AddStrings(chunk.strings())) {
        return Error(
            absl::StrCat("the chunk that ends at byte ", at_, " has a text that is not UTF-8"));
      }
      for (const wire::Object& object : chunk.objects()) {
        if (absl::Status handed = HandOver(object); !handed.ok()) return handed;
      }
      for (const std::string& kind : chunk.empty_lists()) {
        if (absl::Status handed = sink_.OnList(kind, 0); !handed.ok()) return handed;
      }
      for (const wire::UnevaluatedObject& each : chunk.unevaluated()) {
        if (absl::Status handed = HandOver(each); !handed.ok()) return handed;
      }
    }
    if (chunk.objects_total() != index_ || at_ != bytes_.size()) return Damaged();
    return absl::OkStatus();
  }

  // Returns the version.
  absl::StatusOr<uint32_t> ReadHeader(SnapshotVersions versions) {
    at_ = kMagic.size();
    wire::SnapshotHeader header;
    if (absl::Status next = Next(header); !next.ok()) return next;
    const uint32_t version = header.version();
    checked_ = version == kChunkVersion;
    checksum_ = Checksum(bytes_.substr(0, at_), 0);
    if (version == kUncheckedVersion && versions == SnapshotVersions::kChecked) {
      return Error("was made by an older ebb, without checksums; import the dump again");
    }
    if (version >= kFewerFieldsVersion && version < kColumnVersion) {
      return Error("was made by an older ebb, with fewer fields; import the dump again");
    }
    if (version >= kUncheckedVersion && version <= kColumnVersion) return version;
    return Error(absl::StrCat("is a snapshot of version ", version,
                              ", where this ebb reads version ", kColumnVersion));
  }

  absl::Status NextChunk(wire::SnapshotChunk& chunk) {
    if (!checked_) return Next(chunk);
    uint64_t expected = 0;
    if (bytes_.size() - at_ < sizeof(expected)) return Error("is cut off");
    expected = Fixed<uint64_t>(bytes_.substr(at_));
    at_ += sizeof(expected);
    const size_t begin = at_;
    const absl::StatusOr<uint32_t> length = Length();
    if (!length.ok()) return length.status();
    checksum_ = Checksum(bytes_.substr(begin, at_ + *length - begin), checksum_);
    if (checksum_ != expected) {
      return Error(absl::StrCat("is damaged: the checksum of bytes ", begin, " to ", at_ + *length,
                                " is another"));
    }
    at_ = begin;
    return Next(chunk);
  }

  // Reads a message's length, and checks that as many bytes follow.
  absl::StatusOr<uint32_t> Length() {
    if (bytes_.size() - at_ < sizeof(uint32_t)) return Error("is cut off");
    const uint32_t length = Fixed<uint32_t>(bytes_.substr(at_));
    at_ += sizeof(length);
    if (length > kChunkBytesMax) return Damaged();
    if (bytes_.size() - at_ < length) return Error("is cut off");
    return length;
  }

  template <typename Message>
  absl::Status Next(Message& message) {
    const absl::StatusOr<uint32_t> length = Length();
    if (!length.ok()) return length.status();
    if (!message.ParseFromArray(bytes_.data() + at_, static_cast<int>(*length))) return Damaged();
    at_ += *length;
    return absl::OkStatus();
  }

  absl::Status HandOver(const wire::Object& object) {
    absl::Status handed = Damaged();
    VisitMessage(object, [&]<typename Struct>(std::type_identity<Struct>, const auto& message) {
      handed = HandOver<Struct>(message);
    });
    return handed;
  }

  absl::Status HandOver(const wire::UnevaluatedObject& object) {
    const auto is_text = [](std::string_view text) {
      return FirstInvalidUtf8(text) == text.size();
    };
    const auto is_name = [](std::string_view name) { return name.empty() || IsName(name); };
    if (!is_text(object.api_version()) || !is_text(object.kind()) ||
        !is_name(object.namespace_name()) || !is_name(object.name())) {
      return Damaged();
    }
    return sink_.OnUnevaluated({.api_version = object.api_version(),
                                .kind = object.kind(),
                                .namespace_name = object.namespace_name(),
                                .name = object.name()});
  }

  template <typename Struct, typename Message>
  absl::Status HandOver(const Message& message) {
    Holder<Struct> holder;
    Struct& object = Held<Struct>(holder);
    decoder_.Get(message, object);
    if (!decoder_.ok() || object.meta.name.empty()) return Damaged();
    const objects::ObjectRef ref = &holder;
    if (absl::Status names = CheckNames(KindOf(ref), object); !names.ok()) return names;
    ++index_;
    ++stats_.objects;
    if constexpr (std::is_same_v<Struct, objects::Controller>) {
      sink_.OnAside({.pods_ready = message.pods_ready()});
    }
    if constexpr (std::is_same_v<Struct, objects::Node>) {
      if (message.heartbeat_time() != 0) {
        sink_.OnAside({.heartbeat_time = message.heartbeat_time()});
      }
    }
    absl::Status taken = Give(ref, sink_);
    if (taken.ok()) return taken;
    return ObjectError(name_, KindOf(ref), object.meta, taken);
  }

  template <typename Struct>
  absl::Status CheckNames(std::string_view kind, const Struct& object) const {
    Text wrong;
    const auto check = [&wrong](Text name) {
      if (wrong.empty() && !name.empty() && !IsName(name)) wrong = name;
    };
    check(object.meta.name);
    check(object.meta.namespace_name);
    if constexpr (std::is_same_v<Struct, objects::Pod>) check(object.node_name);
    if (wrong.empty()) return absl::OkStatus();
    return Error(absl::StrCat(Absl(kind), ": ", NameProblem(wrong)));
  }

  absl::Status Error(std::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(Absl(name_), ": ", Absl(problem)));
  }
  absl::Status Damaged() const {
    return Error(absl::StrCat("is damaged near byte ", at_, ", at object ", index_));
  }

  const std::string_view name_;
  const std::string_view bytes_;
  ObjectSink& sink_;
  ImportStats& stats_;
  Decoder decoder_;
  bool checked_ = true;
  uint64_t checksum_ = 0;  // Over everything read so far.
  size_t at_ = 0;
  uint64_t index_ = 0;
};

}  // namespace

// ---------------------------------------------------------------------------

struct BinarySnapshotWriter::Impl {
  Output output;
  ColumnSnapshotWriter writer;
};

BinarySnapshotWriter::BinarySnapshotWriter(Output output)
    : impl_(std::make_unique<Impl>(std::move(output))) {}
BinarySnapshotWriter::~BinarySnapshotWriter() = default;

void BinarySnapshotWriter::OnAside(const Aside& aside) {
  pods_ready_ = aside.pods_ready;
  heartbeat_time_ = aside.heartbeat_time;
}

absl::Status BinarySnapshotWriter::OnObject(const objects::ObjectRef& object) {
  Aside aside;
  if (std::holds_alternative<const objects::Node*>(object)) {
    aside.heartbeat_time = std::exchange(heartbeat_time_, 0);
  } else if (std::holds_alternative<const objects::Controller*>(object)) {
    aside.pods_ready = std::exchange(pods_ready_, 0);
  }
  impl_->writer.Add(object, aside);
  return absl::OkStatus();
}
absl::Status BinarySnapshotWriter::OnList(std::string_view kind, uint64_t items) {
  if (items == 0 && !kind.empty()) impl_->writer.AddEmptyList(kind);
  return absl::OkStatus();
}
absl::Status BinarySnapshotWriter::OnUnevaluated(const Unevaluated& object) {
  impl_->writer.AddUnevaluated(object);
  return absl::OkStatus();
}
absl::Status BinarySnapshotWriter::Finish() { return impl_->writer.Finish(impl_->output); }

// ---------------------------------------------------------------------------
// A single object

namespace {

using google::protobuf::Arena;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Packing and unpacking work here, unless an object is unusually large.
using WorkMemory = std::array<char, 8192>;

// The tag of a field whose length precedes its content.
constexpr uint32_t TagOf(int field) { return static_cast<uint32_t>(field) << 3 | 2; }
constexpr uint32_t kStringsTag = TagOf(wire::SnapshotChunk::kStringsFieldNumber);
constexpr uint32_t kObjectsTag = TagOf(wire::SnapshotChunk::kObjectsFieldNumber);
static_assert(kStringsTag < 0x80 && kObjectsTag < 0x80, "a tag takes one byte");

size_t FieldSize(size_t content) {
  return 1 + CodedOutputStream::VarintSize32(static_cast<uint32_t>(content)) + content;
}

uint8_t* WriteLength(uint32_t tag, size_t length, uint8_t* at) {
  at = CodedOutputStream::WriteVarint32ToArray(tag, at);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(length), at);
}

// The content of the next field, whose tag was read; nullopt if the input ends before.
std::optional<Text> ReadContent(CodedInputStream& in) {
  uint32_t size = 0;
  if (!in.ReadVarint32(&size)) return std::nullopt;
  const void* rest = nullptr;
  int rest_size = 0;
  in.GetDirectBufferPointerInline(&rest, &rest_size);
  if (size > static_cast<uint32_t>(rest_size) || !in.Skip(static_cast<int>(size))) {
    return std::nullopt;
  }
  return Text(static_cast<const char*>(rest), size);
}

}  // namespace

// A SnapshotChunk of the same content would copy each text several times.
std::string PackObject(const objects::ObjectRef& object) {
  WorkMemory memory;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  Arena arena(memory.data(), memory.size());
  auto& message = *Arena::CreateMessage<wire::Object>(&arena);
  WorkMemory memory_of_texts;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::pmr::monotonic_buffer_resource texts(memory_of_texts.data(), memory_of_texts.size());
  Encoder encoder(&texts);
  encoder.Put(object, message);
  const size_t message_size = message.ByteSizeLong();
  size_t size = FieldSize(message_size);
  for (const Text text : encoder.texts()) size += FieldSize(text.size());

  std::string bytes(size, '\0');
  auto* at = reinterpret_cast<uint8_t*>(bytes.data());
  for (const Text text : encoder.texts()) {
    at = WriteLength(kStringsTag, text.size(), at);
    at = std::copy(text.begin(), text.end(), at);
  }
  at = WriteLength(kObjectsTag, message_size, at);
  at = message.SerializeWithCachedSizesToArray(at);
  EBB_CHECK(at == reinterpret_cast<uint8_t*>(bytes.data()) + bytes.size());
  return bytes;
}

struct UnpackedObject::Impl {
  Decoder decoder;
  std::variant<objects::Node, objects::Pod, objects::PodDisruptionBudget, objects::Controller,
               objects::Namespace, objects::StorageObject>
      object;
  objects::ObjectRef ref;
};

UnpackedObject::UnpackedObject(std::string_view packed) : impl_(std::make_unique<Impl>()) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(packed.data()),
                      static_cast<int>(packed.size()));
  std::vector<Text> texts;
  uint32_t tag = in.ReadTag();
  std::optional<Text> content = ReadContent(in);
  for (; tag == kStringsTag && content; content = ReadContent(in)) {
    texts.push_back(*content);
    tag = in.ReadTag();
  }
  EBB_CHECK(tag == kObjectsTag && content && in.ReadTag() == 0);
  WorkMemory memory;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  Arena arena(memory.data(), memory.size());
  auto& message = *Arena::CreateMessage<wire::Object>(&arena);
  const bool parsed = message.ParseFromArray(content->data(), static_cast<int>(content->size()));
  EBB_CHECK(parsed && impl_->decoder.AddStrings(texts));
  const bool known =
      VisitMessage(message, [&]<typename Struct>(std::type_identity<Struct>, const auto& from) {
        Holder<Struct>& holder = impl_->object.emplace<Holder<Struct>>();
        impl_->decoder.Get(from, Held<Struct>(holder));
        impl_->ref = &holder;
      });
  EBB_CHECK(known && impl_->decoder.ok());
}

UnpackedObject::~UnpackedObject() = default;
UnpackedObject::UnpackedObject(UnpackedObject&&) noexcept = default;
UnpackedObject& UnpackedObject::operator=(UnpackedObject&&) noexcept = default;

const objects::ObjectRef& UnpackedObject::ref() const { return impl_->ref; }

// ---------------------------------------------------------------------------

bool IsBinarySnapshot(std::string_view bytes) { return bytes.starts_with(kMagic); }

absl::Status ReadBinarySnapshot(std::string_view name, std::string_view bytes, ObjectSink& sink,
                                ImportStats& stats, SnapshotVersions versions,
                                std::shared_ptr<const void> owner) {
  stats.bytes += bytes.size();
  return FileReader(name, bytes, sink, stats).Read(versions, std::move(owner));
}

}  // namespace ebb
